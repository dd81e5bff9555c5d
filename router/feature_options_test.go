package router_test

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/test/race"
)

// TestOptionsOfOneKind type-checks programs: an option of another kind of feature must
// not compile.
func TestOptionsOfOneKind(t *testing.T) {
	if race.Short() {
		t.Skip("type-checks the standard library, which the race detector makes slow")
	}
	const head = `package p
import (
	"context"
	"github.com/slipway-mcp/slipway/router"
)
func get(context.Context) (string, error) { return "", nil }
func use(context.Context, struct{ A string }) (string, error) { return "", nil }
func list(context.Context, string) ([]string, error) { return nil, nil }
var app = router.App("ui://a/b", "")
var _ = `
	for _, tt := range []struct {
		name, expression string
		want             string // part of the error, or "" for a program that compiles
	}{
		{"title everywhere",
			`[]router.Feature{router.Tool("t", "", use, router.Title("x")), router.Prompt("t", "", use, router.Title("x")),` +
				` router.Resource("t", "", get, router.Title("x")), router.Template("t", "", use, router.Title("x")),` +
				` router.App("u", "", router.Title("x"))}`, ""},
		{"icon everywhere",
			`[]router.Feature{router.Tool("t", "", use, router.Icon{Src: "x"}), router.Prompt("t", "", use, router.Icon{}),` +
				` router.Resource("t", "", get, router.Icon{}), router.Template("t", "", use, router.Icon{}), router.App("u", "",` +
				` router.Icon{})}`, ""},
		{"read-only tool", `router.Tool("t", "", use, router.ReadOnly)`, ""},
		{"read-only prompt", `router.Prompt("t", "", use, router.ReadOnly)`, "does not implement router.PromptOption"},
		{"read-only resource", `router.Resource("t", "", get, router.ReadOnly)`, "does not implement router.ResourceOption"},
		{"read-only template", `router.Template("t", "", use, router.Idempotent)`,
			"does not implement router.TemplateOption"},
		{"strict resource", `router.Resource("t", "", get, router.Strict)`, "does not implement router.ResourceOption"},
		{"schema of a prompt", `router.Prompt("t", "", use, router.Schema("{}"))`, "does not implement router.PromptOption"},
		{"UI of a prompt", `router.Prompt("t", "", use, router.UI(app))`, "does not implement router.PromptOption"},
		{"completion of a tool", `router.Tool("t", "", use, router.Complete("a", list))`,
			"does not implement router.ToolOption"},
		{"completion of a resource", `router.Resource("t", "", get, router.Complete("a", list))`,
			"does not implement router.ResourceOption"},
		{"MIME type of a tool", `router.Tool("t", "", use, router.MIMEType("a/b"))`, "does not implement router.ToolOption"},
		{"CSP of a tool", `router.Tool("t", "", use, router.CSP{})`, "does not implement router.ToolOption"},
		{"description twice", `router.Tool("t", "", use, router.Description("x"))`, "does not implement router.ToolOption"},
		{"UI of what is no app", `router.Tool("t", "", use, router.UI(router.Resource("t", "", get)))`, "cannot use"},
		{"a function without context", `router.Tool("t", "", func(struct{}) (string, error) { return "", nil })`, "cannot"},
		{"a function without error", `router.Tool("t", "", func(context.Context, struct{}) string { return "" })`,
			"does not match"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := typeCheck(t, head+tt.expression)
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("does not compile: %v", err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("compiles with %v, want %q", err, tt.want)
			}
		})
	}
}

// fset and sources are shared by all programs, so that each package is read once.
var fset = token.NewFileSet()
var sources = importer.ForCompiler(fset, "source", nil)

func typeCheck(t *testing.T, program string) error {
	t.Helper()
	file, err := parser.ParseFile(fset, "p.go", program, 0)
	if err != nil {
		t.Fatal(err)
	}
	conf := types.Config{Importer: sources}
	_, err = conf.Check("p", fset, []*ast.File{file}, nil)
	return err
}
