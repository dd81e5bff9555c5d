package edge_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/search"
)

// stemmers are the packages of the languages' stemmers, which Snowball's compiler wrote.
// Their Go is a small language of its own, which translates word for word.
var stemmers = map[string]string{
	"en": "english", "de": "german", "fr": "french", "es": "spanish", "it": "italian", "pt": "portuguese", "nl": "dutch",
	"sv": "swedish", "da": "danish", "no": "norwegian", "fi": "finnish", "ro": "romanian", "hu": "hungarian",
	"tr": "turkish", "ru": "russian",
}

const snowball = "github.com/blevesearch/snowballstem"

// The stemmers of the endpoint are those of the Go implementation.
func TestStemmers(t *testing.T) {
	root, err := exec.Command("go", "list", "-f", "{{.Dir}}", snowball).Output()
	if err != nil {
		t.Fatalf("find %s: %v", snowball, err)
	}
	dir := strings.TrimSpace(string(root))
	var table struct {
		Languages []struct {
			Code, Stops, Weak string
			Elides            bool
		}
	}
	text, err := os.ReadFile("../../internal/search/languages.json")
	if err == nil {
		err = json.Unmarshal(text, &table)
	}
	if err != nil {
		t.Fatal(err)
	}
	license, err := os.ReadFile(filepath.Join(dir, "COPYING"))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range table.Languages {
		var b bytes.Buffer
		fmt.Fprintf(&b, "// The stemmer is generated from %s/%s. Do not edit.\n\n", snowball, stemmers[l.Code])
		fmt.Fprintf(&b, "/*!\n%s*/\n\n", license)
		fmt.Fprintf(&b, "const LANGUAGE = { code: %s, stops: %s, weak: %s, related: %s, elides: %t };\n\n",
			script(l.Code), script(l.Stops), script(l.Weak), script(search.RelatedTerms(l.Code)), l.Elides)
		if stemmers[l.Code] == "" {
			t.Fatalf("language %s has no stemmer", l.Code)
		}
		translate(t, &b, filepath.Join(dir, stemmers[l.Code]))
		compareGenerated(t, "js/stems/"+l.Code+".js", b.Bytes())
	}
}

// translate writes the stemmer in a folder as JavaScript.
func translate(t *testing.T, b *bytes.Buffer, dir string) {
	names, err := filepath.Glob(filepath.Join(dir, "*_stemmer.go"))
	if err != nil || len(names) != 1 {
		t.Fatalf("%s: %d stemmers, %v", dir, len(names), err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), names[0], nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	b.WriteString("const stem = (() => {\n")
	w := &scriptWriter{out: b, t: t}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.GenDecl:
			w.declaration(d)
		case *ast.FuncDecl:
			w.function(d)
		}
	}
	b.WriteString("return (word) => {\n  machine.set(word);\n  Stem(machine);\n  return machine.s;\n};\n})();\n")
}

// scriptWriter translates the statements that occur in stemmers.
type scriptWriter struct {
	out *bytes.Buffer
	t   *testing.T
}

func (w *scriptWriter) printf(format string, args ...any) { fmt.Fprintf(w.out, format, args...) }

// declaration writes a table of suffixes or a set of letters. Types are left out.
func (w *scriptWriter) declaration(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		v, ok := spec.(*ast.ValueSpec)
		if !ok || len(v.Values) == 0 {
			continue
		}
		list := v.Values[0].(*ast.CompositeLit)
		var items []string
		for _, e := range list.Elts {
			entry, ok := e.(*ast.CompositeLit)
			if !ok {
				items = append(items, w.expression(e))
				continue
			}
			var members []string
			for _, kv := range entry.Elts {
				if value := w.expression(kv.(*ast.KeyValueExpr).Value); value != "nil" {
					members = append(members, value)
				}
			}
			items = append(items, "["+strings.Join(members, ",")+"]")
		}
		w.printf("const %s = [%s];\n", v.Names[0].Name, strings.Join(items, ","))
	}
}

func (w *scriptWriter) function(d *ast.FuncDecl) {
	if d.Name.Name == "init" {
		w.t.Fatalf("a stemmer has an init function")
	}
	parameters := "e, context"
	if d.Name.Name == "Stem" {
		parameters = "e"
	}
	w.printf("function %s(%s) {\n", d.Name.Name, parameters)
	w.statements(d.Body.List)
	w.printf("}\n")
}

func (w *scriptWriter) statements(list []ast.Stmt) {
	for _, s := range list {
		w.statement(s)
	}
}

func (w *scriptWriter) statement(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.LabeledStmt:
		w.printf("%s: ", s.Label.Name)
		w.statement(s.Stmt)
	case *ast.ForStmt:
		if s.Init != nil || s.Post != nil {
			w.t.Fatalf("unknown loop in a stemmer")
		}
		condition := "true"
		if s.Cond != nil {
			condition = w.expression(s.Cond)
		}
		w.printf("while (%s) {\n", condition)
		w.statements(s.Body.List)
		w.printf("}\n")
	case *ast.RangeStmt:
		// "for range [2]struct{}{}" has at most two rounds.
		rounds := w.expression(s.X.(*ast.CompositeLit).Type.(*ast.ArrayType).Len)
		w.printf("for (let round = 0; round < %s; round++) {\n", rounds)
		w.statements(s.Body.List)
		w.printf("}\n")
	case *ast.BlockStmt:
		w.printf("{\n")
		w.statements(s.List)
		w.printf("}\n")
	case *ast.IfStmt:
		w.printf("if (%s) {\n", w.expression(s.Cond))
		w.statements(s.Body.List)
		w.printf("}")
		if s.Else != nil {
			w.printf(" else ")
			w.statement(s.Else)
			return
		}
		w.printf("\n")
	case *ast.BranchStmt:
		w.printf("%s %s;\n", s.Tok, s.Label.Name)
	case *ast.ReturnStmt:
		w.printf("return %s;\n", w.expression(s.Results[0]))
	case *ast.ExprStmt:
		w.printf("%s;\n", w.expression(s.X))
	case *ast.IncDecStmt:
		w.printf("%s%s;\n", w.expression(s.X), s.Tok)
	case *ast.DeclStmt:
		v := s.Decl.(*ast.GenDecl).Specs[0].(*ast.ValueSpec)
		if len(v.Values) == 0 {
			w.printf("let %s = 0;\n", v.Names[0].Name)
			return
		}
		w.printf("let %s = %s;\n", v.Names[0].Name, w.expression(v.Values[0]))
	case *ast.AssignStmt:
		w.assignment(s)
	default:
		w.t.Fatalf("unknown statement %T in a stemmer", s)
	}
}

func (w *scriptWriter) assignment(s *ast.AssignStmt) {
	keyword := ""
	operator := s.Tok.String()
	if operator == ":=" {
		keyword, operator = "let ", "="
	}
	for i := range s.Lhs {
		left := w.expression(s.Lhs[i])
		_, isAssertion := s.Rhs[i].(*ast.TypeAssertExpr)
		if left != "_" && !isAssertion {
			w.printf("%s%s %s %s;\n", keyword, left, operator, w.expression(s.Rhs[i]))
		}
	}
}

// members are the names of the machine in JavaScript.
var members = map[string]string{
	"Cursor": "c", "Limit": "l", "LimitBackward": "lb", "Bra": "bra", "Ket": "ket",
	"ByteIndexForHop": "hop", "EqS": "eq", "EqSB": "eqB", "FindAmong": "among", "FindAmongB": "amongB",
	"InGrouping": "inGrouping", "InGroupingB": "inGroupingB", "OutGrouping": "outGrouping", "OutGroupingB": "outGroupingB",
	"Insert": "insert", "NextChar": "next", "PrevChar": "prev", "SliceDel": "sliceDel", "SliceFrom": "sliceFrom",
	"SliceTo": "sliceTo",
}

func (w *scriptWriter) expression(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		return e.Value
	case *ast.Ident:
		if e.Name == "env" {
			return "e"
		}
		return e.Name
	case *ast.ParenExpr:
		return "(" + w.expression(e.X) + ")"
	case *ast.UnaryExpr:
		if literal, ok := e.X.(*ast.CompositeLit); ok {
			return w.expression(literal)
		}
		return e.Op.String() + w.expression(e.X)
	case *ast.BinaryExpr:
		return w.expression(e.X) + " " + strict(e.Op) + " " + w.expression(e.Y)
	case *ast.SelectorExpr:
		owner := w.expression(e.X)
		if owner == "e" {
			name, ok := members[e.Sel.Name]
			if !ok {
				w.t.Fatalf("unknown member %s of the machine", e.Sel.Name)
			}
			return "e." + name
		}
		return owner + "." + e.Sel.Name
	case *ast.CallExpr:
		name := w.expression(e.Fun)
		var arguments []string
		for _, a := range e.Args {
			arguments = append(arguments, w.expression(a))
		}
		if name == "int32" || name == "int" {
			return arguments[0] // numbers have one type
		}
		return name + "(" + strings.Join(arguments, ", ") + ")"
	case *ast.CompositeLit:
		var list []string
		for _, kv := range e.Elts {
			pair := kv.(*ast.KeyValueExpr)
			list = append(list, w.expression(pair.Key)+": "+w.expression(pair.Value))
		}
		return "{ " + strings.Join(list, ", ") + " }"
	}
	w.t.Fatalf("unknown expression %T in a stemmer", e)
	return ""
}

func strict(op token.Token) string {
	switch op {
	case token.EQL:
		return "==="
	case token.NEQ:
		return "!=="
	}
	return op.String()
}
