package staticmcp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/staticmcp"
)

func openManifest(t testing.TB, manifest string, opts *staticmcp.Options) (*staticmcp.Site, error) {
	t.Helper()
	site, err := staticmcp.Open(t.Context(), fstest.MapFS{"mcp.json": {Data: []byte(manifest)}}, opts)
	if err == nil {
		t.Cleanup(func() { site.Close() })
	}
	return site, err
}

func inCapabilities(lists string) string {
	return `{"protocolVersion":"2025-06-18","serverInfo":{"name":"n","version":"1"},"capabilities":{` + lists + `}}`
}

// TestDefinitionsPassThrough verifies that clients see what the author wrote, including
// unknown members and their order, plus the added members.
func TestDefinitionsPassThrough(t *testing.T) {
	const hints = `"annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}`
	for name, tt := range map[string]struct{ list, written, want string }{
		"a tool gets its hints": {"tools",
			`{ "name":"a","description":"é \u00e9 <b>", "x-own":[1.0, 1e3],"inputSchema":{"type":"object", "$defs":{}}}`,
			`{` + hints +
				`,"name":"a","description":"é \u00e9 <b>","x-own":[1.0,1e3],"inputSchema":{"type":"object","$defs":{}}}`},
		"a tool keeps its own": {"tools",
			`{"name":"a","description":"d","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":false}}`,
			`{"name":"a","description":"d","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":false}}`},
		"a tool without a schema": {"tools",
			`{"name":"a"}`,
			`{` + hints + `,"inputSchema":{"type":"object"},"name":"a"}`},
		"a resource": {"resources",
			`{"mimeType":"text/plain","uri":"r://a","_meta":{"ui":{"csp":{}}},"size":12,"name":"a","description":"d"}`,
			`{"mimeType":"text/plain","uri":"r://a","_meta":{"ui":{"csp":{}}},"size":12,"name":"a","description":"d"}`},
		"a resource without a name": {"resources", `{"uri":"r://a"}`, `{"name":"r://a","uri":"r://a"}`},
		"a template": {"resourceTemplates",
			`{"uriTemplate":"r://{x}","name":"t","y":null}`, `{"uriTemplate":"r://{x}","name":"t","y":null}`},
		"a prompt": {"prompts",
			`{"name":"p","arguments":[{"name":"x","enum":["a"]}]}`, `{"name":"p","arguments":[{"name":"x","enum":["a"]}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			site, err := openManifest(t, inCapabilities(`"`+tt.list+`":[`+tt.written+`]`), nil)
			if err != nil {
				t.Fatal(err)
			}
			c, err := site.Catalog(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			encoded, err := mcp.Marshal(map[string]any{
				"tools":             c.Tools,
				"resources":         c.Resources,
				"resourceTemplates": c.Templates,
				"prompts":           c.Prompts,
			}[tt.list])
			if err != nil {
				t.Fatal(err)
			}
			if got := string(encoded); got != "["+tt.want+"]" {
				t.Errorf("got  %s\nwant [%s]", got, tt.want)
			}
		})
	}
}

func TestCatalog(t *testing.T) {
	site, err := openManifest(t, `{"protocolVersion":"2025-06-18",
		"serverInfo":{"name":"n","title":"T","version":"1.2.3","websiteUrl":"https://example.org",`+
		`"icons":[{"src":"https://example.org/i.png"}],"description":"D"},
		"instructions":"Use it.",
		"capabilities":{"extensions":{"x/y":{}},
			"tools":[{"name":"b","description":"d","inputSchema":{"type":"object"}},{"name":"a","title":"A","description":"d",`+
		`"inputSchema":{"type":"object"}}],
			"resources":[{"uri":"r://b","name":"b","size":7,"annotations":{"priority":0.5}},{"uri":"r://a","name":"a",`+
		`"mimeType":"text/plain","description":"d\n"}],
			"prompts":[{"name":"p","arguments":[{"name":"x","required":true}]}]}}`, &staticmcp.Options{MaxAge: 90 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	c, err := site.Catalog(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := mcp.Implementation{
		Name:        "n",
		Title:       "T",
		Version:     "1.2.3",
		Description: "D",
		WebsiteURL:  "https://example.org",
		Icons:       []mcp.Icon{{Src: "https://example.org/i.png"}},
	}
	if diff := cmp.Diff(want, c.Server); diff != "" {
		t.Error(diff)
	}
	if c.Instructions != "Use it." || string(c.Extensions) != `{"x/y":{}}` || !c.Completions {
		t.Errorf("instructions %q, extensions %s, completions %v", c.Instructions, c.Extensions, c.Completions)
	}
	if c.Cache != (mcp.CacheHint{TTL: 90 * time.Second, Public: true}) {
		t.Errorf("clients may keep lists for %+v", c.Cache)
	}
	if len(c.Tools) != 2 || c.Tools[0].Name != "b" || c.Tools[1].Title != "A" {
		t.Errorf("tools = %+v, want them in the order of the manifest", c.Tools)
	}
	if h := c.Tools[0].Annotations; h == nil || !h.ReadOnlyHint || *h.OpenWorldHint {
		t.Errorf("the hints of a tool are %+v", h)
	}
	r := c.Resources
	if len(r) != 2 ||
		*r[0].Size != 7 ||
		*r[0].Annotations.Priority != 0.5 ||
		r[1].Description != "d\n" ||
		r[1].MIMEType != "text/plain" {
		t.Errorf("resources = %+v", r)
	}
	if len(site.Warnings()) != 0 {
		t.Errorf("warnings = %q, want none", site.Warnings())
	}
}

// TestManifestFaults lists what a tolerant reader warns about and skips, and a strict one
// rejects.
func TestManifestFaults(t *testing.T) {
	for name, tt := range map[string]struct {
		manifest string
		want     string // a part of the warning, or of the error
		fatal    bool   // also to a tolerant reader
		tools    int
	}{
		"not JSON":       {`{"a":}`, "not JSON", true, 0},
		"not an object":  {`"x"`, "not a JSON object", true, 0},
		"a member twice": {`{"serverInfo":{},"serverInfo":{}}`, `duplicate member "serverInfo"`, true, 0},
		"a list twice":   {inCapabilities(`"tools":[],"tools":[]`), `duplicate member "tools"`, true, 0},
		"no capabilities": {`{"protocolVersion":"2025-06-18","serverInfo":{"name":"n","version":"1"}}`, "no capabilities",
			false, 0},
		"no version": {`{"protocolVersion":"2025-06-18","serverInfo":{"name":"n"},"capabilities":{}}`,
			"no serverInfo.version", false, 0},
		"no name": {`{"protocolVersion":"2025-06-18","serverInfo":{"version":"1"},"capabilities":{}}`, `called "site"`,
			false, 0},
		"no protocol version": {`{"serverInfo":{"name":"n","version":"1"},"capabilities":{}}`, "no protocolVersion", false,
			0},
		"a tool without a name": {inCapabilities(`"tools":[{"description":"d"},` + plainTool("a") + `]`),
			"tools[0] is skipped: it has no name", false, 1},
		"a name taken": {inCapabilities(`"tools":[` + plainTool("a") + `,` + plainTool("a") + `]`),
			`tools[1] is skipped: the name "a" is taken`, false, 1},
		"a tool that is none": {inCapabilities(`"tools":[7,` + plainTool("a") + `]`),
			"tools[0] is skipped: not an object", false, 1},
		"a name that is none": {inCapabilities(`"tools":[{"name":7}]`), `member "name" is not a string`, false, 0},
		"a schema that is none": {inCapabilities(`"tools":[{"name":"a","description":"d","inputSchema":[]}]`),
			"is not an object", false, 0},
		"a member twice in it": {inCapabilities(`"tools":[{"name":"a","name":"b"}]`), `duplicate member "name"`,
			false, 0},
		"a URI taken": {inCapabilities(`"resources":[` + plainResource("r://a") + `,` + plainResource("r://a") + `]`),
			`the uri "r://a" is taken`, false, 0},
		"a resource without one": {inCapabilities(`"resources":[{"name":"a"}]`), "resources[0] is skipped: it has no uri",
			false, 0},
		"a template without one": {inCapabilities(`"resourceTemplates":[{"name":"a"}]`), "it has no uriTemplate", false,
			0},
		"a prompt with odd arguments": {inCapabilities(`"prompts":[{"name":"a","arguments":7}]`), `prompt "a": arguments`,
			false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := openManifest(t, tt.manifest, &staticmcp.Options{Strict: true})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("a strict reader says %v, want %q", err, tt.want)
			}
			site, err := openManifest(t, tt.manifest, nil)
			if tt.fatal {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("a tolerant reader says %v, want %q", err, tt.want)
				}
				return
			}
			if err != nil {
				// A site that offers nothing at all is not a site.
				if !strings.Contains(err.Error(), "neither") {
					t.Fatal(err)
				}
				return
			}
			if w := strings.Join(site.Warnings(), "\n"); !strings.Contains(w, tt.want) {
				t.Errorf("warnings are %q, want %q", w, tt.want)
			}
			if c, _ := site.Catalog(t.Context()); len(c.Tools) != tt.tools {
				t.Errorf("%d tools, want %d", len(c.Tools), tt.tools)
			}
		})
	}
}

func plainTool(name string) string {
	return fmt.Sprintf(`{"name":%q,"description":"d","inputSchema":{"type":"object"}}`, name)
}

func plainResource(uri string) string {
	return fmt.Sprintf(`{"uri":%q,"name":"n","description":"d","mimeType":"text/plain"}`, uri)
}

func TestManyWarnings(t *testing.T) {
	site, err := openManifest(t, inCapabilities(`"tools":[`+strings.Repeat(`7,`, 5000)+plainTool("a")+`]`), nil)
	if err != nil {
		t.Fatal(err)
	}
	if w := site.Warnings(); len(w) != 101 || w[100] != "and 4900 more" {
		t.Errorf("%d warnings, the last is %q", len(w), w[len(w)-1])
	}
}

// TestUnusableSchema verifies that a tool whose schema cannot be checked can still be
// called.
func TestUnusableSchema(t *testing.T) {
	site, err := staticmcp.Open(t.Context(), fstest.MapFS{
		"mcp.json": {
			Data: []byte(
				inCapabilities(
					`"tools":[{"name":"get","description":"d","inputSchema":{"type":"object",` +
						`"properties":{"x":{"$ref":"https://example.org/s"}},"required":["x"]}}]`)),
		},
		"tools/get/a.json": {Data: []byte(`{"content":[{"type":"text","text":"first"}]}`)},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer site.Close()
	wantText(t, site, "a", "first")
	if _, err := site.CallTool(t.Context(),
		&mcp.CallToolParams{Name: "get"}); err == nil || !strings.Contains(err.Error(), "x: required") {
		t.Errorf("got error %v, want one about x", err)
	}
}

// TestAnswersAreKept verifies that an answer reaches the client byte for byte.
func TestAnswersAreKept(t *testing.T) {
	const answer = `{"z":1.0,"content":[{"type":"text","text":"\u00e9 é \/ <b>","annotations":{"priority":1e0}},` +
		`{"type":"x-own","n":12345678901234567890}],"structuredContent":{"b":1,"a":2},"_meta":{"k":[ ]},"isError":true}`
	site, err := staticmcp.Open(t.Context(), fstest.MapFS{
		"mcp.json":         {Data: []byte(webManifest)},
		"tools/get/a.json": {Data: []byte(answer)},
		"resources/a.json": {Data: []byte("{\"uri\":\"r:\\/\\/a\",\n \"text\":\"\\u00e9\", \"own\": [1, 2.50]}")},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer site.Close()
	r, err := site.CallTool(t.Context(), &mcp.CallToolParams{Name: "get", Arguments: json.RawMessage(`{"x":"a"}`)})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(r.Raw.Bytes()), strings.Replace(answer, "[ ]", "[]", 1); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	read, err := site.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "r://a"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(read.Raw.Bytes()), `{"contents":[{"uri":"r:\/\/a","text":"\u00e9","own":[1,`+
		`2.50]}]}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
