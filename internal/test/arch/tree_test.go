package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// tree is a module on disk.
type tree struct {
	module   string
	requires []string // the modules that go.mod requires
	fset     *token.FileSet
	packages []*pkg // sorted by dir
}

// pkg contains the Go files of one folder.
type pkg struct {
	dir   string // relative to the module root; "." for the root itself
	files []*file
	tests []*file
}

// file is one parsed Go file.
type file struct {
	path    string
	syntax  *ast.File
	imports []string
}

// name returns the name in the package clauses, without the suffix _test.
func (p *pkg) name() string { return strings.TrimSuffix(p.all()[0].syntax.Name.Name, "_test") }

// all returns the files of the package, tests last.
func (p *pkg) all() []*file { return slices.Concat(p.files, p.tests) }

func load(fsys fs.FS) (*tree, error) {
	mod, err := fs.ReadFile(fsys, "go.mod")
	if err != nil {
		return nil, fmt.Errorf("read module: %w", err)
	}
	t := &tree{fset: token.NewFileSet()}
	t.module, t.requires = parseModule(string(mod))
	err = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !d.IsDir():
			return nil
		case skipped(fsys, name):
			return fs.SkipDir
		}
		return t.loadDir(fsys, name)
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

// skipped reports whether the go command excludes the folder from the packages of this
// module.
func skipped(fsys fs.FS, dir string) bool {
	if dir == "." {
		return false
	}
	base := path.Base(dir)
	if base == "testdata" || base == "vendor" || base == "node_modules" || base[0] == '.' || base[0] == '_' {
		return true
	}
	_, err := fs.Stat(fsys, path.Join(dir, "go.mod"))
	return err == nil
}

func (t *tree) loadDir(fsys fs.FS, dir string) error {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return err
	}
	p := &pkg{dir: dir}
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() || path.Ext(name) != ".go" || name[0] == '.' || name[0] == '_' {
			continue
		}
		f, err := t.loadFile(fsys, path.Join(dir, name))
		if err != nil {
			return err
		}
		if strings.HasSuffix(name, "_test.go") {
			p.tests = append(p.tests, f)
		} else {
			p.files = append(p.files, f)
		}
	}
	if len(p.files)+len(p.tests) > 0 {
		t.packages = append(t.packages, p)
	}
	return nil
}

func (t *tree) loadFile(fsys fs.FS, name string) (*file, error) {
	text, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, err
	}
	syntax, err := parser.ParseFile(t.fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f := &file{path: name, syntax: syntax}
	for _, spec := range syntax.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: import %s: %w", name, spec.Path.Value, err)
		}
		f.imports = append(f.imports, imported)
	}
	return f, nil
}

// ours returns the folder of an imported package of this module.
func (t *tree) ours(imported string) (dir string, ok bool) {
	if imported == t.module {
		return ".", true
	}
	return strings.CutPrefix(imported, t.module+"/")
}

// parseModule returns the module path and the required modules in a go.mod. It only
// supports the format that "go mod tidy" writes.
func parseModule(text string) (module string, requires []string) {
	inBlock := false
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "//")
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case words[0] == "module" && len(words) == 2:
			module = words[1]
		case words[0] == ")":
			inBlock = false
		case words[0] == "require" && len(words) == 2 && words[1] == "(":
			inBlock = true
		case words[0] == "require" && len(words) == 3:
			requires = append(requires, words[1])
		case inBlock && len(words) == 2:
			requires = append(requires, words[0])
		}
	}
	return module, requires
}
