package staticmcp_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/mcptest"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// TestContract verifies that every kind of site satisfies the contract of a Source.
func TestContract(t *testing.T) {
	opts := &mcptest.Options{
		Calls: []mcptest.Call{
			{Tool: "get", Args: `{"x":"a"}`, Want: `"text":"first"`},
			{Tool: "get", Args: `{"x":"none"}`, Want: "no stored answer", WantError: true},
			{Tool: "get", Args: `{"y":"a"}`, Want: "unknown argument", WantError: true},
		},
		Reads: []mcptest.Read{
			{URI: "r://a", Want: `"text":"first"`},
			{URI: "r://none", WantError: true},
		},
	}
	files := webFiles()
	files["mcp.json"].Data = []byte(inCapabilities(`"resources":[` + plainResource("r://a") + `],
		"resourceTemplates":[{"uriTemplate":"r://{x}","name":"t"}],
		"prompts":[{"name":"greet","arguments":[{"name":"who","required":true}]},{"name":"fill","arguments":[{"name":"x",` +
		`"enum":["go","rust"]}]}]`))
	files["prompts/greet/ann.json"] = &fstest.MapFile{Data: content("", "prompt")}
	files["prompts/fill.json"] = &fstest.MapFile{
		Data: []byte(
			`{"messages":[{"role":"user","content":{"type":"text","text":"about {{x}}"}}],` +
				`"_meta":{"io.github.slipway-mcp/template":true}}`),
	}
	rich := &mcptest.Options{
		Prompts: []mcptest.Prompt{
			{Name: "greet", Args: map[string]string{"who": "ann"}, Want: `"role":"user"`},
			{Name: "greet", Args: map[string]string{"who": "bob"}, WantError: true},
			{Name: "fill", Args: map[string]string{"x": "go"}, Want: "about go"},
		},
		Completions: []mcptest.Completion{
			{Params: mcp.CompleteParams{Prompt: "fill", Argument: "x"}, Want: []string{"go", "rust"}},
			{Params: mcp.CompleteParams{URITemplate: "r://{x}", Argument: "x"}, Want: []string{"a"}},
		},
	}
	for name, tt := range map[string]struct {
		open func(t *testing.T) (*staticmcp.Site, error)
		opts *mcptest.Options
	}{
		"dir": {func(t *testing.T) (*staticmcp.Site, error) { return staticmcp.OpenDir(t.Context(), siteDir(t), nil) }, opts},
		"zip": {func(t *testing.T) (*staticmcp.Site, error) {
			r := zipOf(t, webFiles())
			return staticmcp.OpenZipReader(t.Context(), r, r.Size(), nil)
		}, opts},
		"url": {
			func(t *testing.T) (*staticmcp.Site, error) { return openHostErr(t, newFakeHost(t, webFiles()), nil) },
			opts,
		},
		"prompts": {func(t *testing.T) (*staticmcp.Site, error) { return staticmcp.Open(t.Context(), files, nil) }, rich},
	} {
		t.Run(name, func(t *testing.T) {
			mcptest.TestSource(t, func(t *testing.T) mcp.Source {
				site, err := tt.open(t)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { site.Close() })
				return site
			}, tt.opts)
		})
	}
}

// TestContractOfChange verifies the part of the contract about changes.
func TestContractOfChange(t *testing.T) {
	dir := ""
	n := 0
	mcptest.TestSource(t, func(t *testing.T) mcp.Source {
		dir = siteDir(t)
		site, err := staticmcp.OpenDir(t.Context(), dir, &staticmcp.Options{Poll: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { site.Close() })
		return site
	}, &mcptest.Options{Change: func(t testing.TB, _ mcp.Source) {
		n++
		text := inCapabilities(`"resources":[` + plainResource("r://a") + `],"tools":[` + plainTool("get") + `,` +
			plainTool("new"+string(rune('a'+n))) + `]`)
		name := filepath.Join(dir, "mcp.json")
		if err := os.WriteFile(name+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(name+".new", name); err != nil {
			t.Fatal(err)
		}
	}})
}
