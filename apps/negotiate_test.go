package apps_test

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/slipway-mcp/slipway/apps"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/mcptest"
)

const withApps = `{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}`

func TestSupportedBy(t *testing.T) {
	for _, test := range []struct {
		name, capabilities string
		want               bool
	}{
		{"apps", withApps, true},
		{
			"apps among others",
			`{"sampling":{},"extensions":{"x/y":7,"io.modelcontextprotocol/ui":{"mimeTypes":["text/html+other",` +
				`"text/html;profile=mcp-app"]}}}`,
			true,
		},
		{
			"spaced and quoted",
			`{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html; profile=\"mcp-app\""]}}}`,
			true,
		},
		{"escaped", `{"extensions":{"io.modelcontextprotocol\/ui":{"mimeTypes":["text\/html;profile=mcp-app"]}}}`, true},
		{"nothing", ``, false},
		{"empty", `{}`, false},
		{"another extension", `{"extensions":{"x/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}`, false},
		{"no types", `{"extensions":{"io.modelcontextprotocol/ui":{}}}`, false},
		{"another type", `{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html"]}}}`, false},
		{"of the wrong form", `{"extensions":{"io.modelcontextprotocol/ui":["text/html;profile=mcp-app"]}}`, false},
		{
			"spaces",
			" { \"extensions\" : { \"io.modelcontextprotocol/ui\" : { \"mimeTypes\" : [ \"text/html\" , " +
				"\"text/html;profile=mcp-app\" ] } } } ",
			true,
		},
		{"no list", `{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":"text/html;profile=mcp-app"}}}`, false},
		{"numbers", `{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":[1,null]}}}`, false},
		{"cut off", `{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"`, false},
		{"no object", `["io.modelcontextprotocol/ui"]`, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := apps.SupportedBy(json.RawMessage(test.capabilities)); got != test.want {
				t.Errorf("SupportedBy(%s) = %t, want %t", test.capabilities, got, test.want)
			}
		})
	}
	if apps.Supported(context.Background()) {
		t.Error("Supported without a client = true, want false")
	}
}

func TestExtensions(t *testing.T) {
	const ours = `"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}`
	for _, test := range []struct {
		name string
		in   json.RawMessage
		want string
	}{
		{"none", nil, `{` + ours + `}`},
		{"others", json.RawMessage(`{"x/y":{}}`), `{"x/y":{},` + ours + `}`},
		{"declared already", json.RawMessage(`{"io.modelcontextprotocol/ui":{}}`), `{"io.modelcontextprotocol/ui":{}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := apps.Extensions(test.in)
			if err != nil || string(got) != test.want {
				t.Errorf("Extensions(%s) = %s, %v, want %s", test.in, got, err, test.want)
			}
		})
	}
	if got, err := apps.Extensions(json.RawMessage(`[]`)); err == nil {
		t.Errorf("Extensions([]) = %s, want an error", got)
	}
}

// weather has a tool for all clients, one for user interfaces and one for the model.
type weather struct {
	mcp.Unimplemented
	views *apps.Views
}

func newWeather(t *testing.T) weather {
	t.Helper()
	extensions, err := apps.Extensions(nil)
	if err != nil {
		t.Fatal(err)
	}
	board := apps.App{URI: "ui://weather/board", Name: "board", HTML: "<!doctype html>"}
	return weather{views: apps.NewViews(&mcp.Catalog{
		Server:       mcp.Implementation{Name: "weather", Version: "1"},
		Instructions: "Ask.",
		Extensions:   extensions,
		Cache:        mcp.CacheHint{Public: true},
		Tools: []mcp.Tool{
			{Name: "get", Meta: apps.ToolMeta(apps.ToolUI{ResourceURI: board.URI})},
			{Name: "poll", Meta: apps.ToolMeta(apps.ToolUI{Visibility: []apps.Visibility{apps.VisibleToApp}})},
			{
				Name: "raw",
				Raw:  json.RawMessage(`{"name":"raw","inputSchema":{"type":"object"},"_meta":{"ui":{"visibility":["app"]}}}`),
			},
			{Name: "think", Meta: apps.ToolMeta(apps.ToolUI{Visibility: []apps.Visibility{apps.VisibleToModel}})},
			{Name: "odd", Meta: json.RawMessage(`{"ui":7}`)},
		},
		Resources: []mcp.Resource{board.Resource()},
	})}
}

func (w weather) Catalog(ctx context.Context) (*mcp.Catalog, error) { return w.views.For(ctx), nil }

func (w weather) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	text := "sunny"
	if apps.Supported(ctx) {
		text = "see the board"
	}
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(text)}}, nil
}

// TestViews: in both eras, a client with the extension sees every tool and gets the
// variant for it; one without sees the tools for models and gets text.
func TestViews(t *testing.T) {
	for _, version := range []mcp.Version{
		mcp.Version20241105,
		mcp.Version20250618,
		mcp.Version20251125,
		mcp.Version20260728,
	} {
		for _, test := range []struct {
			name, capabilities string
			tools              []string
			text               string
			poll               bool
		}{
			{"with apps", withApps, []string{"get", "poll", "raw", "think", "odd"}, "see the board", true},
			{"without", `{}`, []string{"get", "think", "odd"}, "sunny", false},
		} {
			t.Run(version.String()+" "+test.name, func(t *testing.T) {
				c := mcptest.Connect(t, newWeather(t), version,
					&mcptest.ConnectOptions{Capabilities: json.RawMessage(test.capabilities)})
				var tools []string
				for _, tool := range c.Tools() {
					tools = append(tools, tool.Name)
				}
				if !slices.Equal(tools, test.tools) {
					t.Errorf("tools = %q, want %q", tools, test.tools)
				}
				if got := c.CallTool("get", nil).Content[0].Text; got != test.text {
					t.Errorf("get = %q, want %q", got, test.text)
				}
				if _, err := c.Try("tools/call", map[string]any{"name": "poll"}); (err == nil) != test.poll {
					t.Errorf("call poll: %v, want it to work: %t", err, test.poll)
				}
				if want := version >= mcp.Version20251125; declares(c) != want {
					t.Errorf("the server says %s, want the extension in it: %t", c.Begun(), want)
				}
			})
		}
	}
}

func declares(c *mcptest.Client) bool {
	var begun struct{ Capabilities json.RawMessage }
	return json.Unmarshal(c.Begun(), &begun) == nil && apps.SupportedBy(begun.Capabilities)
}

func TestViewsWithoutAClient(t *testing.T) {
	c, err := newWeather(t).Catalog(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if got := len(c.Tools); got != 5 {
		t.Errorf("a program sees %d tools, want all 5", got)
	}
	if c.Cache.Public {
		t.Error("a list that differs from client to client may be shared by caches")
	}
}

// TestViewsOfOneKind: if no tool is hidden, there is one catalog, encoded once.
func TestViewsOfOneKind(t *testing.T) {
	c := &mcp.Catalog{
		Cache: mcp.CacheHint{Public: true},
		Tools: []mcp.Tool{{Name: "get", Meta: apps.ToolMeta(apps.ToolUI{ResourceURI: "ui://a"})}},
	}
	if got := apps.NewViews(c).For(context.Background()); got != c || !got.Cache.Public {
		t.Error("the view is another catalog, or not public any more")
	}
}

// TestToolFilter: a filter does not modify the catalogs of its Source, and follows their
// changes.
func TestToolFilter(t *testing.T) {
	button := mcp.Tool{Name: "poll", Meta: apps.ToolMeta(apps.ToolUI{Visibility: []apps.Visibility{apps.VisibleToApp}})}
	first := &mcp.Catalog{Cache: mcp.CacheHint{Public: true}, Tools: []mcp.Tool{{Name: "get"}, button}}
	var f apps.ToolFilter
	model := f.Undeclared(first)
	if len(model.Tools) != 1 || model.Cache.Public || f.Undeclared(first) != model {
		t.Errorf("the view is %+v, want one without poll, made once", model)
	}
	if whole := f.Client(t.Context(), first); len(whole.Tools) != 2 || whole.Cache.Public {
		t.Errorf("a program sees %d tools, public: %t", len(whole.Tools), whole.Cache.Public)
	}
	if len(first.Tools) != 2 || !first.Cache.Public {
		t.Error("the catalog of the source was changed")
	}
	second := &mcp.Catalog{Cache: mcp.CacheHint{Public: true}, Tools: []mcp.Tool{{Name: "put"}}}
	if f.Undeclared(second) != second || f.Undeclared(first).Tools[0].Name != "get" {
		t.Error("the view is not that of the catalog it was asked for")
	}
}

// TestViewsCopyEveryField: the views differ only in the tools and in cache sharing.
// Fields added to Catalog must be copied, too.
func TestViewsCopyEveryField(t *testing.T) {
	full := &mcp.Catalog{
		Server: mcp.Implementation{Name: "n"}, Instructions: "i",
		Tools: []mcp.Tool{{
			Name: "poll",
			Meta: apps.ToolMeta(apps.ToolUI{Visibility: []apps.Visibility{apps.VisibleToApp}}),
		}},
		Resources: []mcp.Resource{{URI: "a:b"}}, Templates: []mcp.ResourceTemplate{{URITemplate: "a:{b}"}},
		Prompts:     []mcp.Prompt{{Name: "p"}},
		Completions: true, Subscribe: true, Tasks: true, Logging: true, Growing: true,
		Extensions: json.RawMessage(`{}`), PageSize: 7, Cache: mcp.CacheHint{TTL: 9},
		Missing: []mcp.Missing{{List: "prompts/list"}},
		Sources: []mcp.JoinedSource{{Name: "s"}}, WithheldTools: map[string]string{"t": "why"},
		WithheldPrompts: map[string]string{"p": "why"}, PerCaller: true, Stateless: true, Restartable: true,
	}
	views := apps.NewViews(full)
	var model *mcp.Catalog
	mcptest.Connect(t, spy{catalog: func(ctx context.Context) *mcp.Catalog { model = views.For(ctx); return model }},
		mcp.LatestVersion, nil)
	if model == full || len(model.Tools) != 0 {
		t.Fatal("a client without the extension sees the whole catalog")
	}
	want, got := reflect.ValueOf(full).Elem(), reflect.ValueOf(model).Elem()
	for i := range want.NumField() {
		field := want.Type().Field(i)
		if !field.IsExported() || field.Name == "Tools" {
			continue
		}
		if want.Field(i).IsZero() {
			t.Errorf("Catalog.%s is not set in this test", field.Name)
		}
		if !reflect.DeepEqual(got.Field(i).Interface(), want.Field(i).Interface()) {
			t.Errorf("Catalog.%s is %v in the view, want %v", field.Name, got.Field(i), want.Field(i))
		}
	}
}

// spy is a Source that returns the catalog of a function.
type spy struct {
	mcp.Unimplemented
	catalog func(context.Context) *mcp.Catalog
}

func (s spy) Catalog(ctx context.Context) (*mcp.Catalog, error) { return s.catalog(ctx), nil }
