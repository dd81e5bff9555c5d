package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// The version of a catalog changes if and only if clients see a change.
func TestCatalogVersion(t *testing.T) {
	same := newGallery().catalog.Version()
	if again := newGallery().catalog.Version(); again != same || len(same) < 16 {
		t.Errorf("versions %q and %q of one offer", same, again)
	}
	for name, change := range map[string]func(*mcp.Catalog){
		"server":       func(c *mcp.Catalog) { c.Server.Version = "3" },
		"instructions": func(c *mcp.Catalog) { c.Instructions = "x" },
		"tool":         func(c *mcp.Catalog) { c.Tools[0].Description = "x" },
		"order":        func(c *mcp.Catalog) { c.Tools[0], c.Tools[1] = c.Tools[1], c.Tools[0] },
		"one less":     func(c *mcp.Catalog) { c.Tools = c.Tools[1:] },
		"schema":       func(c *mcp.Catalog) { c.Tools[0].OutputSchema = nil },
		"raw":          func(c *mcp.Catalog) { c.Tools[2].Raw = json.RawMessage(`{"name":"raw"}`) },
		"resource":     func(c *mcp.Catalog) { c.Resources[1].Title = "x" },
		"template":     func(c *mcp.Catalog) { c.Templates[1].Title = "x" },
		"prompt":       func(c *mcp.Catalog) { c.Prompts[0].Arguments[0].Required = false },
		"moved":        func(c *mcp.Catalog) { c.Prompts = nil },
		"completions":  func(c *mcp.Catalog) { c.Completions = false },
		"logging":      func(c *mcp.Catalog) { c.Logging = true },
		"extensions":   func(c *mcp.Catalog) { c.Extensions = nil },
	} {
		catalog := newGallery().catalog
		change(catalog)
		if catalog.Version() == same {
			t.Errorf("%s: the version is the same", name)
		}
	}
}

func TestCatalogLookup(t *testing.T) {
	c := &mcp.Catalog{
		Tools:   []mcp.Tool{{Name: "a", Title: "first"}, {Name: "b"}, {Name: "a", Title: "second"}},
		Prompts: []mcp.Prompt{{Name: "p", Title: "first"}, {Name: "p", Title: "second"}},
	}
	if tool := c.Tool("a"); tool == nil || tool.Title != "first" {
		t.Errorf("Tool(a) = %+v, want the first", tool)
	}
	if prompt := c.Prompt("p"); prompt == nil || prompt.Title != "first" {
		t.Errorf("Prompt(p) = %+v, want the first", prompt)
	}
	if c.Tool("A") != nil || c.Tool("") != nil || c.Prompt("a") != nil {
		t.Error("found what is not there")
	}
}

// TestListed: what lists show may be less than what can be used, which is what View returns.
func TestListed(t *testing.T) {
	without := func(cat *mcp.Catalog, name string) *mcp.Catalog {
		own := cat.Copy()
		own.Tools = slices.DeleteFunc(slices.Clone(cat.Tools), func(tool mcp.Tool) bool { return tool.Name == name })
		own.Instructions += " without " + name
		return own
	}
	var listed []string
	h := mcpserver.New(watched{}, &mcpserver.Options{
		View: func(_ context.Context, cat *mcp.Catalog) *mcp.Catalog { return without(cat, "crashes") },
		Listed: func(ctx context.Context, cat *mcp.Catalog) *mcp.Catalog {
			if cat.Tool("crashes") != nil {
				t.Error("the view comes after the list")
			}
			listed = append(listed, mcp.RequestFrom(ctx).Method())
			return without(cat, "fine")
		},
	}).HTTPHandler(nil)
	call := func(method, params string) string {
		return postTo(h, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`).Body.String()
	}
	for _, method := range []string{"tools/list", "resources/list", "resources/templates/list", "prompts/list"} {
		if got := call(method, `{}`); strings.Contains(got, `"fine"`) || strings.Contains(got, `"crashes"`) {
			t.Errorf("%s: %s", method, got)
		}
	}
	if got := call("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},`+
		`"clientInfo":{"name":"x","version":"1"}}`); !strings.Contains(got, "without crashes without fine") {
		t.Errorf("initialize: %s", got)
	}
	if got := call("tools/call", `{"name":"fine"}`); strings.Contains(got, "unknown tool") {
		t.Errorf("a tool that lists do not show: %s", got)
	}
	if got := call("tools/call", `{"name":"crashes"}`); !strings.Contains(got, "unknown tool") {
		t.Errorf("a tool that is not in the view: %s", got)
	}
	want := []string{"tools/list", "resources/list", "resources/templates/list", "prompts/list", "initialize"}
	if !slices.Equal(listed, want) {
		t.Errorf("Listed was asked for %q, want %q", listed, want)
	}
}

// TestPromptOfMissingList guards the error of a prompt while the list of prompts is missing: it was "unknown prompt".
func TestPromptOfMissingList(t *testing.T) {
	d := newDemo()
	d.catalog.Missing = []mcp.Missing{{Source: "crm", List: "prompts/list", Why: "prompts/list: database down"}}
	p := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"lost"}}`)
	r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", p)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	mcpserver.New(d, nil).HTTPHandler(nil).ServeHTTP(w, r)
	const want = `prompt \"lost\" is not known, because the list of prompts could not be read: ` +
		`crm: prompts/list: database down`
	if got := w.Body.String(); !strings.Contains(got, want) || !strings.Contains(got, "-31004") {
		t.Errorf("answer %s, want %s", got, want)
	}
}
