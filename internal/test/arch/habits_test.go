package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
)

// vague reports whether a name does not describe the purpose of a package.
func vague(name string) bool {
	return slices.Contains(
		[]string{"util", "utils", "common", "shared", "helper", "helpers", "model", "models", "pkg", "misc"}, name)
}

// checkRoot reports Go files next to go.mod, except doc.go with nothing but a package
// comment.
func checkRoot(t *tree, _ *Plan) []Problem {
	var problems []Problem
	for _, p := range t.packages {
		if p.dir != "." {
			continue
		}
		for _, f := range p.all() {
			if f.path != "doc.go" || len(f.syntax.Decls) > 0 {
				problems = append(problems, Problem{f.path, "root", "only documentation is at the root; move it to a package"})
			}
		}
	}
	return problems
}

// checkNames reports packages and folders with vague names.
func checkNames(t *tree, _ *Plan) []Problem {
	var problems []Problem
	for _, p := range t.packages {
		names := append(strings.Split(p.dir, "/"), p.name())
		if i := slices.IndexFunc(names, vague); i >= 0 {
			problems = append(problems, Problem{p.dir, "name",
				fmt.Sprintf("%q says nothing about what is inside", names[i])})
		}
	}
	return problems
}

// checkComments reports packages without exactly one package comment, and comments of
// libraries that do not begin as godoc expects. A package with only tests has its comment
// in one of them.
func checkComments(t *tree, _ *Plan) []Problem {
	var problems []Problem
	for _, p := range t.packages {
		files := p.files
		if len(files) == 0 {
			files = p.tests
		}
		var documented []string
		text := ""
		for _, f := range files {
			if doc := f.syntax.Doc.Text(); doc != "" {
				documented = append(documented, path.Base(f.path))
				text = doc
			}
		}
		switch {
		case len(documented) == 0:
			problems = append(problems, Problem{p.dir, "comment", "no file has a package comment"})
		case len(documented) > 1:
			problems = append(problems, Problem{p.dir, "comment",
				"several files have a package comment: " + strings.Join(documented, ", ")})
		case p.name() != "main" && !strings.HasPrefix(text, "Package "+p.name()+" "):
			problems = append(problems, Problem{p.dir, "comment",
				fmt.Sprintf("the package comment does not begin with \"Package %s\"", p.name())})
		}
	}
	return problems
}

// checkRegexps reports regular expressions that are compiled before main begins.
func checkRegexps(t *tree, _ *Plan) []Problem {
	var problems []Problem
	for _, p := range t.packages {
		if within(p.dir, "internal/test") {
			continue
		}
		for _, f := range p.files {
			for _, d := range f.syntax.Decls {
				if vars, ok := d.(*ast.GenDecl); ok && vars.Tok == token.VAR && compiles(vars) {
					problems = append(problems, Problem{f.path, "regexp",
						"a regular expression that is compiled at every start; use internal/lazyregexp"})
				}
			}
		}
	}
	return problems
}

// compiles reports whether a declaration calls regexp.MustCompile, other than in a function.
func compiles(vars *ast.GenDecl) bool {
	found := false
	ast.Inspect(vars, func(n ast.Node) bool {
		if name, ok := n.(*ast.SelectorExpr); ok && name.Sel.Name == "MustCompile" {
			found = true
		}
		_, inside := n.(*ast.FuncLit)
		return !inside
	})
	return found
}

// templateUsers are the packages that may import a package of templates: for types, and for
// functions that escape text.
var templateUsers = []string{"apps", "sitebuild/internal/data"}

// checkTemplates reports imports of packages that call methods by their names: a program that
// links them keeps every exported method of every type.
func checkTemplates(t *tree, _ *Plan) []Problem {
	var problems []Problem
	for _, p := range t.packages {
		if within(p.dir, "internal/test") || slices.Contains(templateUsers, p.dir) {
			continue
		}
		for _, f := range p.files {
			if slices.Contains(f.imports, "text/template") || slices.Contains(f.imports, "html/template") {
				problems = append(problems, Problem{f.path, "template",
					"a template makes the program a tenth larger; write the text, and escape it with package html"})
			}
		}
	}
	return problems
}

// checkInit reports init functions: startup code belongs in main.
func checkInit(t *tree, _ *Plan) []Problem {
	var problems []Problem
	for _, p := range t.packages {
		for _, f := range p.all() {
			for _, d := range f.syntax.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
					problems = append(problems, Problem{f.path, "init", "no init function; wire it explicitly"})
				}
			}
		}
	}
	return problems
}
