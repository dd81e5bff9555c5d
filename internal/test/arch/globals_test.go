package arch

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// checkGlobals reports package-level variables that change:
//
//   - those that a function assigns to (including through a field, an element or a
//     pointer), deletes from, or takes the address of;
//   - those with a mutable type, such as sync.Mutex and the types of sync/atomic.
//
// Taking the address of an element is permitted, since it is the way to read a table
// without a copy. A sync.Pool is permitted, since its content has no meaning, and so are
// the variables in [Plan.Globals]. Test files and helpers of tests are exempt, since their
// variables do not outlive the test.
//
// Types of imported packages are not resolved, so a variable that only changes in its own
// methods goes undetected.
func checkGlobals(t *tree, plan *Plan) []Problem {
	var problems []Problem
	for _, p := range t.packages {
		if len(p.files) == 0 || isTestHelper(p) {
			continue
		}
		g := newGlobals(t, p)
		for _, f := range p.files {
			ast.Inspect(f.syntax, g.visit)
		}
		for _, name := range slices.Compact(slices.Sorted(slices.Values(g.changed))) {
			if plan.Globals[p.dir+"."+name] != "" {
				continue
			}
			problems = append(problems, Problem{p.dir, "global",
				fmt.Sprintf("the package-level variable %s changes; make it a field of something that main owns", name)})
		}
	}
	return problems
}

// isTestHelper reports whether a package is only for tests: it is below internal/test and
// imports testing.
func isTestHelper(p *pkg) bool {
	return strings.HasPrefix(p.dir, "internal/test/") && slices.ContainsFunc(p.files, func(f *file) bool {
		return slices.ContainsFunc(f.syntax.Imports, func(s *ast.ImportSpec) bool {
			return s.Path.Value == `"testing"`
		})
	})
}

// globals collects the package-level variables of one package that change.
type globals struct {
	info    types.Info
	scope   *types.Scope
	changed []string
}

func newGlobals(t *tree, p *pkg) *globals {
	g := &globals{info: types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}}
	// Imports are not resolved, which causes errors; names are still bound.
	conf := types.Config{Error: func(error) {}, Importer: noImports{}, FakeImportC: true}
	var files []*ast.File
	for _, f := range p.files {
		files = append(files, f.syntax)
	}
	checked, _ := conf.Check(p.dir, t.fset, files, &g.info)
	g.scope = checked.Scope()
	return g
}

type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errors.New("not resolved") }

func (g *globals) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.AssignStmt:
		for _, left := range n.Lhs {
			g.note(left)
		}
	case *ast.IncDecStmt:
		g.note(n.X)
	case *ast.RangeStmt:
		if n.Tok == token.ASSIGN {
			g.note(n.Key)
			g.note(n.Value)
		}
	case *ast.UnaryExpr:
		if n.Op == token.AND && !indexed(n.X) {
			g.note(n.X)
		}
	case *ast.CallExpr:
		if fn, ok := n.Fun.(*ast.Ident); ok && (fn.Name == "delete" || fn.Name == "clear") && len(n.Args) > 0 {
			g.note(n.Args[0])
		}
	case *ast.ValueSpec:
		if restless(n.Type) || slices.ContainsFunc(n.Values, restlessValue) {
			for _, name := range n.Names {
				g.note(name)
			}
		}
	}
	return true
}

// note records the package-level variable at the root of an expression, if any.
func (g *globals) note(e ast.Expr) {
	for {
		switch x := e.(type) {
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		case *ast.Ident:
			if v, ok := g.object(x).(*types.Var); ok && v.Parent() == g.scope && x.Name != "_" {
				g.changed = append(g.changed, x.Name)
			}
			return
		default:
			return
		}
	}
}

// indexed reports whether the expression selects from an element.
func indexed(e ast.Expr) bool {
	switch x := e.(type) {
	case *ast.IndexExpr:
		return true
	case *ast.SelectorExpr:
		return indexed(x.X)
	case *ast.ParenExpr:
		return indexed(x.X)
	}
	return false
}

func (g *globals) object(id *ast.Ident) types.Object {
	if o := g.info.Uses[id]; o != nil {
		return o
	}
	return g.info.Defs[id]
}

// restless reports whether a type expression denotes a mutable type.
func restless(t ast.Expr) bool {
	switch t := t.(type) {
	case *ast.StarExpr:
		return restless(t.X)
	case *ast.IndexExpr: // atomic.Pointer[T]
		return restless(t.X)
	case *ast.SelectorExpr:
		room, ok := t.X.(*ast.Ident)
		if !ok {
			return false
		}
		return room.Name == "atomic" ||
			room.Name == "sync" && slices.Contains([]string{"Mutex", "RWMutex", "Map", "Once", "WaitGroup", "Cond"}, t.Sel.Name)
	case *ast.StructType:
		return slices.ContainsFunc(t.Fields.List, func(f *ast.Field) bool { return restless(f.Type) })
	}
	return false
}

// restlessValue reports whether a value is a literal of such a type, or a channel, which
// is always state.
func restlessValue(v ast.Expr) bool {
	switch v := v.(type) {
	case *ast.UnaryExpr:
		return restlessValue(v.X)
	case *ast.CompositeLit:
		return restless(v.Type)
	case *ast.CallExpr:
		fn, ok := v.Fun.(*ast.Ident)
		if !ok || len(v.Args) == 0 || !strings.HasPrefix(fn.Name, "make") && fn.Name != "new" {
			return false
		}
		_, isChan := v.Args[0].(*ast.ChanType)
		return isChan || restless(v.Args[0])
	}
	return false
}
