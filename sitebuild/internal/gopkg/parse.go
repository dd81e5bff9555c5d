package gopkg

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/doc"
	"go/format"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// pkg is a package.
type pkg struct {
	// path is the import path, and synopsis the first sentence of the package comment.
	path     string
	name     string
	synopsis string
	text     string // the package comment
	symbols  []*symbol
	examples []example // of the package as a whole
}

// kind is the kind of a symbol.
type kind string

// The kinds of symbols, as answers name them.
const (
	constant kind = "const"
	variable kind = "var"
	function kind = "func"
	typ      kind = "type"
	method   kind = "method"
)

// symbol is an exported symbol.
type symbol struct {
	name string // including the type for methods: Client.Do
	kind kind
	// declaration is Go source without comments and bodies, and text the comment.
	declaration string
	signature   string // on one line
	text        string
	file        string
	line        int
	members     []*symbol // of a type: constants, variables, functions that return it, methods
	examples    []example
}

// example is a tested example.
type example struct {
	name string
	text string
	// code is the body of the example, or the whole program where it needs one.
	code   string
	output string
}

// synopsis returns the first sentence of the comment.
func (s *symbol) synopsis() string {
	return new(doc.Package).Synopsis(s.text)
}

// read returns the package in a folder, or nil if there is none.
func (r *reader) read(dir, importPath string) (*pkg, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	var files, tests []*ast.File
	for _, e := range entries {
		if e.IsDir() || !isSource(e.Name()) {
			continue
		}
		fits, err := r.context.MatchFile(dir, e.Name())
		if err != nil || !fits {
			continue
		}
		f := r.parse(fset, filepath.Join(dir, e.Name()))
		switch {
		case f == nil:
		case strings.HasSuffix(e.Name(), "_test.go"):
			tests = append(tests, f)
		default:
			files = append(files, f)
		}
	}
	files = ofOnePackage(files)
	if len(files) == 0 {
		return nil, nil
	}
	return r.document(fset, files, tests, importPath)
}

// parse parses a file. If that fails, it adds a finding and returns nil.
func (r *reader) parse(fset *token.FileSet, path string) *ast.File {
	info, err := os.Stat(path)
	if err == nil && info.Size() > r.in.opts.MaxFileBytes {
		err = fmt.Errorf("the file is larger than %d bytes", r.in.opts.MaxFileBytes)
	}
	var f *ast.File
	if err == nil {
		f, err = parser.ParseFile(fset, path, nil,
			parser.ParseComments|parser.SkipObjectResolution)
	}
	var syntax scanner.ErrorList
	switch {
	case err == nil:
		return f
	case errors.As(err, &syntax) && len(syntax) > 0:
		r.about(path).AtLine(syntax[0].Pos.Line,
			syntax[0].Pos.Column).Add(ruleSyntax, "", "",
			"%s; the file is skipped", syntax[0].Msg)
	default:
		r.about(path).AtLine(0, 0).Add(ruleUnreadable, "", "",
			"%s; the file is skipped", err.Error())
	}
	return nil
}

// ofOnePackage returns the files of the package that most of the files belong to.
func ofOnePackage(files []*ast.File) []*ast.File {
	count := map[string]int{}
	best := ""
	for _, f := range files {
		name := f.Name.Name
		if count[name]++; best == "" || count[name] > count[best] {
			best = name
		}
	}
	return slices.DeleteFunc(files, func(f *ast.File) bool {
		return f.Name.Name != best
	})
}

// document builds a pkg from the files.
func (r *reader) document(
	fset *token.FileSet,
	files, tests []*ast.File,
	importPath string,
) (p *pkg, err error) {
	// go/doc can panic on files that parse without errors.
	defer func() {
		if recover() != nil {
			r.about(fset.File(files[0].Pos()).Name()).AtLine(0, 0).Add(ruleUnreadable, "", "",
				"the package cannot be documented and is skipped")
			p = nil
			err = nil
		}
	}()
	name := files[0].Name.Name
	tests = slices.DeleteFunc(tests, func(f *ast.File) bool {
		return f.Name.Name != name && f.Name.Name != name+"_test"
	})
	d, err := doc.NewFromFiles(fset, append(files, tests...), importPath)
	if err != nil {
		r.about(fset.File(files[0].Pos()).Name()).AtLine(0, 0).Add(ruleUnreadable, "", "",
			"%s; the package is skipped", err.Error())
		return nil, nil
	}
	w := &documenter{
		fset: fset,
		doc:  d,
	}
	p = &pkg{
		path:     importPath,
		name:     d.Name,
		synopsis: d.Synopsis(d.Doc),
		text:     w.text(d.Doc),
		examples: w.examples(d.Examples),
	}
	p.symbols = append(p.symbols, w.values(constant, d.Consts)...)
	p.symbols = append(p.symbols, w.values(variable, d.Vars)...)
	p.symbols = append(p.symbols, w.funcs(function, "", d.Funcs)...)
	for _, t := range d.Types {
		p.symbols = append(p.symbols, w.typeSymbols(t)...)
	}
	return p, nil
}

// documenter builds symbols.
type documenter struct {
	// fset has the positions of the files, and doc their documentation.
	fset *token.FileSet
	doc  *doc.Package
}

// text returns a comment as plain text, with links and lists resolved.
func (w *documenter) text(comment string) string {
	return strings.TrimRight(string(w.doc.Text(comment)), "\n")
}

// print formats a node without its comment.
func (w *documenter) print(n any) string {
	var b bytes.Buffer
	if err := format.Node(&b, w.fset, n); err != nil {
		return ""
	}
	return b.String()
}

// manyNames is the block size above which each name is shown on its own.
const manyNames = 20

// values returns the exported constants or variables of declaration groups. Each name gets the
// whole group as its declaration, unless the group is large: then it gets its own line.
func (w *documenter) values(k kind, groups []*doc.Value) []*symbol {
	var list []*symbol
	for _, g := range groups {
		g.Decl.Doc = nil
		whole := ""
		if len(g.Names) <= manyNames {
			whole = w.print(g.Decl)
		}
		for _, s := range g.Decl.Specs {
			spec, ok := s.(*ast.ValueSpec)
			if !ok {
				continue
			}
			about := w.text(g.Doc)
			if own := spec.Doc.Text() + spec.Comment.Text(); own != "" {
				about = strings.TrimSpace(about + "\n\n" + w.text(own))
			}
			for _, id := range spec.Names {
				if !id.IsExported() {
					continue
				}
				v := &symbol{
					name:        id.Name,
					kind:        k,
					declaration: whole,
					text:        about,
					signature:   string(k) + " " + id.Name,
				}
				if whole == "" {
					v.declaration = string(k) + " " + w.print(spec)
				}
				w.place(v, id.Pos())
				list = append(list, v)
			}
		}
	}
	return list
}

// place sets the position of a symbol. Only the file's name is kept, so that no folder of the
// build machine is published.
func (w *documenter) place(s *symbol, pos token.Pos) {
	at := w.fset.Position(pos)
	s.file = filepath.Base(at.Filename)
	s.line = at.Line
}

// funcs returns functions, or the methods of owner. Comments and bodies are removed from the
// syntax tree before it is printed.
func (w *documenter) funcs(k kind, owner string, funcs []*doc.Func) []*symbol {
	var list []*symbol
	for _, f := range funcs {
		if f.Level > 0 {
			continue // promoted from an embedded type
		}
		pos := f.Decl.Name.Pos()
		f.Decl.Doc = nil
		f.Decl.Body = nil
		s := &symbol{
			name:        f.Name,
			kind:        k,
			declaration: w.print(f.Decl),
			text:        w.text(f.Doc),
			examples:    w.examples(f.Examples),
		}
		if owner != "" {
			s.name = owner + "." + f.Name
		}
		s.signature = oneLine(s.declaration)
		w.place(s, pos)
		list = append(list, s)
	}
	return list
}

// oneLine returns a declaration without its line breaks.
func oneLine(declaration string) string {
	return strings.NewReplacer("( ", "(", ", )", ")").Replace(strings.Join(strings.Fields(declaration), " "))
}

// typeSymbols returns a type and its constants, variables, functions and methods.
func (w *documenter) typeSymbols(t *doc.Type) []*symbol {
	t.Decl.Doc = nil
	s := &symbol{
		name:        t.Name,
		kind:        typ,
		declaration: w.print(t.Decl),
		text:        w.text(t.Doc),
		examples:    w.examples(t.Examples),
	}
	s.signature, _, _ = strings.Cut(s.declaration, "\n")
	s.signature = strings.TrimSuffix(s.signature, " {")
	for _, spec := range t.Decl.Specs {
		ts, ok := spec.(*ast.TypeSpec)
		if ok && ts.Name.Name == t.Name {
			w.place(s, ts.Name.Pos())
		}
	}
	s.members = append(s.members, w.values(constant, t.Consts)...)
	s.members = append(s.members, w.values(variable, t.Vars)...)
	s.members = append(s.members, w.funcs(function, "", t.Funcs)...)
	s.members = append(s.members, w.funcs(method, t.Name, t.Methods)...)
	return append([]*symbol{s}, s.members...)
}

// examples returns examples with the names that follow the underscore in their functions.
func (w *documenter) examples(list []*doc.Example) []example {
	var out []example
	for _, e := range list {
		var node any = e.Code
		if e.Play != nil {
			node = e.Play
		}
		code := w.print(node)
		block, ok := node.(*ast.BlockStmt)
		if ok && e.Play == nil {
			code = body(w.print(block))
		}
		out = append(out, example{
			name:   e.Suffix,
			text:   w.text(e.Doc),
			code:   strings.TrimRight(code, "\n"),
			output: strings.TrimRight(e.Output, "\n"),
		})
	}
	return out
}

// body removes the braces of a block and one level of indentation.
func body(code string) string {
	code = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(code), "{"), "}")
	var b strings.Builder
	for line := range strings.Lines(strings.Trim(code, "\n")) {
		b.WriteString(strings.TrimPrefix(line, "\t"))
	}
	return b.String()
}
