package staticmcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// watchedFS fails the test when a path other than a file of the site is opened.
type watchedFS struct {
	t     testing.TB
	files fstest.MapFS
}

func (w watchedFS) Open(name string) (fs.File, error) {
	inside := name == "mcp.json" || name == staticmcp.IndexPath
	for _, dir := range []string{"tools", "resources", "prompts", "completions"} {
		inside = inside || name == dir || strings.HasPrefix(name, dir+"/")
	}
	if !fs.ValidPath(name) || !inside || strings.ContainsAny(name, "\\\x00") {
		w.t.Errorf("the site asks for %q", name)
	}
	return w.files.Open(name)
}

func fuzzSite(f *testing.F) *staticmcp.Site {
	f.Helper()
	files := fstest.MapFS{
		"mcp.json": {Data: []byte(inCapabilities(`"tools":[
			{"name":"one","description":"d","inputSchema":{"type":"object","properties":{"v":{}}}},
			{"name":"three","description":"d","inputSchema":{"type":"object","properties":{"a":{},"b":{"default":1},"c":{}}}}],
			"resources":[` + plainResource("r://a") + `],"prompts":[{"name":"p","arguments":[{"name":"x"}]}]`))},
		"tools/one/a.json": {Data: []byte(`{"content":[]}`)},
	}
	site, err := staticmcp.Open(context.Background(), watchedFS{f, files}, &staticmcp.Options{Poll: -1})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { site.Close() })
	return site
}

// FuzzCandidates verifies that no URI and no argument leads outside the folders of a
// site, and that none makes the reader panic.
func FuzzCandidates(f *testing.F) {
	for _, seed := range []string{
		`"a"`, `"../../x"`, `"a/b/../c"`, `"x://../.."`, `"%2e%2e/%2f"`,
		`1e400`, `-0.0`, `[1,[2,{"a":null}]]`, `{"b":1,"a":[true]}`,
		`"\\..\\"`, `"\u0000"`, `"\ud800"`, `"` + strings.Repeat("é/", 300) + `"`,
		`null`, `""`, `"_schema"`, `"*?<>|"`, `1E+0005`,
	} {
		f.Add(seed)
	}
	site := fuzzSite(f)
	ctx := context.Background()
	fuzzbound.Fuzz(f, func(t *testing.T, text string) {
		if json.Valid([]byte(text)) {
			for _, arguments := range []string{`{"v":` + text + `}`, `{"a":` + text + `,"b":` + text + `,"c":` + text + `}`} {
				for _, tool := range []string{"one", "three"} {
					_, err := site.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
					wantCoded(t, err)
				}
			}
		}
		for _, uri := range []string{text, "r://" + text} {
			if _, err := site.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri}); err == nil {
				t.Errorf("there is a resource %q", uri)
			} else {
				wantCoded(t, err)
			}
		}
		_, err := site.GetPrompt(ctx, &mcp.GetPromptParams{Name: "p", Arguments: map[string]string{"x": text}})
		wantCoded(t, err)
		_, err = site.CallTool(ctx, &mcp.CallToolParams{Name: "one", Arguments: json.RawMessage(text)})
		wantCoded(t, err)
	})
}

func wantCoded(t *testing.T, err error) {
	t.Helper()
	var e *mcp.Error
	if err != nil && !errors.As(err, &e) {
		t.Errorf("error %v has no code", err)
	}
}

// FuzzManifest verifies that no manifest makes the reader panic, and that the resulting
// catalog is valid JSON.
func FuzzManifest(f *testing.F) {
	f.Add(webManifest)
	f.Add(`{"name":"x","tools":[{"name":"a"}],"resources":[{"uri":"\u0061:\/\/b"}]}`)
	f.Add(
		inCapabilities(
			`"prompts":[{"name":"p","arguments":[{"name":"x","enum":[1]}]}],"resourceTemplates":[{"uriTemplate":"{"}]`))
	fuzzbound.Fuzz(f, func(t *testing.T, manifest string) {
		for _, strict := range []bool{false, true} {
			site, err := openManifest(t, manifest, &staticmcp.Options{Strict: strict, Poll: -1})
			if err != nil {
				continue
			}
			c, err := site.Catalog(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			for _, list := range []any{c.Tools, c.Resources, c.Templates, c.Prompts, c.Server} {
				if encoded, err := mcp.Marshal(list); err != nil || !json.Valid(encoded) {
					t.Errorf("the catalog has %s: %v", encoded, err)
				}
			}
		}
	})
}
