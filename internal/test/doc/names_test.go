package doc

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	godiff "github.com/google/go-cmp/cmp"
)

// members are the exported names of packages, by package name: "Options", and for fields
// and methods "Options.Field". The members of an embedded type, or of the type of a
// field, are found through types.
type members struct {
	names map[string]bool   // "pkg.Name" and "pkg.Name.Field"
	types map[string]string // the type of "pkg.Name.Field" in its short form, "pkg.Type"
	embed map[string][]string
}

// exported collects the names that the packages of fsys export.
func exported(fsys fs.FS) (*members, error) {
	m := &members{map[string]bool{}, map[string]string{}, map[string][]string{}}
	err := walk(fsys, func(name string) error {
		if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		m.add(file)
		return nil
	})
	return m, err
}

func (m *members) add(file *ast.File) {
	pkg := file.Name.Name + "."
	m.names[pkg] = true
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				m.names[pkg+d.Name.Name] = true
			} else {
				m.names[typeName(pkg, d.Recv.List[0].Type)+"."+d.Name.Name] = true
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				m.addSpec(pkg, spec)
			}
		}
	}
}

func (m *members) addSpec(pkg string, spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			m.names[pkg+name.Name] = true
		}
	case *ast.TypeSpec:
		owner := pkg + spec.Name.Name
		m.names[owner] = true
		var fields *ast.FieldList
		switch t := spec.Type.(type) {
		case *ast.StructType:
			fields = t.Fields
		case *ast.InterfaceType:
			fields = t.Methods
		default: // the methods and fields of an alias, and nothing of other types
			m.embed[owner] = append(m.embed[owner], typeName(pkg, t))
			return
		}
		for _, f := range fields.List {
			of := typeName(pkg, f.Type)
			if len(f.Names) == 0 {
				m.embed[owner] = append(m.embed[owner], of)
				_, short, _ := strings.Cut(of, ".")
				m.names[owner+"."+short] = true
				m.types[owner+"."+short] = of
			}
			for _, name := range f.Names {
				m.names[owner+"."+name.Name] = true
				m.types[owner+"."+name.Name] = of
			}
		}
	}
}

// typeName returns a type as "pkg.Name", or "" if it has no name.
func typeName(pkg string, t ast.Expr) string {
	switch t := t.(type) {
	case *ast.Ident:
		return pkg + t.Name
	case *ast.StarExpr:
		return typeName(pkg, t.X)
	case *ast.IndexExpr:
		return typeName(pkg, t.X)
	case *ast.IndexListExpr:
		return typeName(pkg, t.X)
	case *ast.SelectorExpr:
		if x, ok := t.X.(*ast.Ident); ok {
			return x.Name + "." + t.Sel.Name
		}
	}
	return ""
}

// resolve returns the "pkg.Type.Member" that declares a member of owner, or "".
func (m *members) resolve(owner, member string) string {
	if m.names[owner+"."+member] {
		return owner + "." + member
	}
	for _, embedded := range m.embed[owner] {
		if found := m.resolve(embedded, member); found != "" {
			return found
		}
	}
	return ""
}

// has reports whether a name such as "pkg.Options.Field" exists. A name of another
// package, such as "http.Handler", does.
func (m *members) has(name string) bool {
	parts := strings.Split(name, ".")
	if !m.names[parts[0]+"."] {
		return true
	}
	at := parts[0] + "." + parts[1]
	if !m.names[at] {
		return false
	}
	for _, member := range parts[2:] {
		found := m.resolve(at, member)
		if found == "" {
			return false
		}
		at = m.types[found]
	}
	return true
}

// checkGoNames reports inline code such as `serve.Options.Addr` that names a package of
// the repository, but nothing that it exports. It skips pages that name other code: the
// changelog old names, and a comparison those of other libraries.
func checkGoNames(fsys fs.FS, pages []Page) ([]Problem, error) {
	m, err := exported(fsys)
	if err != nil {
		return nil, err
	}
	named := regexp.MustCompile("`\\*?([a-z][a-z0-9]*(?:\\.[A-Z]\\w*)+)(?:\\([^`]*)?`")
	var problems []Problem
	for _, p := range pages {
		if strings.HasPrefix(p.Path, "changelog/") || p.Path == "docs/coming-from.md" {
			continue
		}
		p.fences(func(line int, text string, at fence, _ string) bool {
			if at != outside {
				return true
			}
			for _, found := range named.FindAllStringSubmatch(text, -1) {
				if !m.has(found[1]) {
					problems = append(problems, Problem{p.Path, line, fmt.Sprintf("%s does not exist", found[1])})
				}
			}
			return true
		})
	}
	return problems, nil
}

// TestGoNames checks the Go names on the pages of this repository.
func TestGoNames(t *testing.T) {
	fsys := os.DirFS("../../..")
	pages, err := Load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	problems, err := checkGoNames(fsys, pages)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Error(p)
	}
}

func TestCheckGoNames(t *testing.T) {
	fsys := fstest.MapFS{
		"core/core.go": {Data: []byte("package core\n\nfunc Run() {}\n\ntype Limits struct{ Bytes int }\n\n" +
			"type Options struct {\n\tLimits\n\tTime, Size *Limits\n}\n\nfunc (o *Options) Check() {}\n\n" +
			"type Alias = Options\n\nconst Most = 1\n")},
	}
	page := Page{Path: "p.md", Lines: []string{
		"`core.Run(ctx)`, `core.Options.Check`, `core.Options.Bytes`, `core.Options.Size.Bytes` and `*core.Alias.Time`",
		"`core.Most`, `http.Nothing`, `core.go` and core.Nothing",
		"```",
		"`core.Nothing`",
		"```",
		"`core.Nothing`",
		"`core.Options.Nothing`, `core.Options.Size.Nothing`",
	}}
	problems, err := checkGoNames(fsys, []Page{page})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range problems {
		got = append(got, p.String())
	}
	want := []string{
		"p.md:6: core.Nothing does not exist",
		"p.md:7: core.Options.Nothing does not exist",
		"p.md:7: core.Options.Size.Nothing does not exist",
	}
	if diff := godiff.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}
