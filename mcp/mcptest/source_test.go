package mcptest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
)

// The tests are inside the package because they check that single rules fail.

// library is a correct Source in which every method can be replaced.
type library struct {
	kept     *mcp.Catalog
	catalog  func(context.Context) (*mcp.Catalog, error)
	call     func(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error)
	read     func(context.Context, *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error)
	prompt   func(context.Context, *mcp.GetPromptParams) (*mcp.GetPromptResult, error)
	complete func(context.Context, *mcp.CompleteParams) (*mcp.CompleteResult, error)
	watch    func(func(mcp.Change)) func()
	close    func() error

	mu       sync.Mutex
	last     int
	watchers map[int]func(mcp.Change)
	version  atomic.Pointer[mcp.Catalog]
}

var (
	_ mcp.Source  = (*library)(nil)
	_ mcp.Watcher = (*library)(nil)
)

func (l *library) Catalog(ctx context.Context) (*mcp.Catalog, error) { return l.catalog(ctx) }
func (l *library) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return l.call(ctx, p)
}
func (l *library) ReadResource(ctx context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	return l.read(ctx, p)
}
func (l *library) GetPrompt(ctx context.Context, p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
	return l.prompt(ctx, p)
}
func (l *library) Complete(ctx context.Context, p *mcp.CompleteParams) (*mcp.CompleteResult, error) {
	return l.complete(ctx, p)
}
func (l *library) Watch(changed func(mcp.Change)) func() { return l.watch(changed) }
func (l *library) Close() error                          { return l.close() }

func newLibrary() *library {
	l := &library{watchers: make(map[int]func(mcp.Change))}
	l.kept = libraryCatalog()
	l.version.Store(l.kept)
	l.catalog = func(context.Context) (*mcp.Catalog, error) { return l.version.Load(), nil }
	l.call, l.read, l.prompt, l.complete = goodCall, goodRead, goodPrompt, goodComplete
	l.watch = l.goodWatch
	l.close = func() error { return nil }
	return l
}

func libraryCatalog() *mcp.Catalog {
	return &mcp.Catalog{
		Server: mcp.Implementation{Name: "library", Version: "1"},
		Tools: []mcp.Tool{
			{Name: "find", Description: "finds a book", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
				InputSchema:  json.RawMessage(`{"type":"object","properties":{"title":{"type":"string"}},"required":["title"]}`),
				OutputSchema: json.RawMessage(`{"type":"object","required":["shelf"]}`)},
			{Name: "wait", Description: "waits", InputSchema: json.RawMessage(`{"type":"object"}`)},
			{Name: "raw", Raw: json.RawMessage(`{"name":"raw","description":"as stored","inputSchema":{"type":"object"}}`)},
			{Name: "burn", Description: "acts on the world", InputSchema: json.RawMessage(`{"type":"object"}`)},
		},
		Resources: []mcp.Resource{{Name: "plan", URI: "library://plan"}, {Name: "cover", URI: "library://cover"}},
		Templates: []mcp.ResourceTemplate{{Name: "book", URITemplate: "library://book/{id}{?page,line*}"}},
		Prompts: []mcp.Prompt{{Name: "review", Description: "reviews a book", Arguments: []mcp.PromptArgument{
			{Name: "title", Required: true}, {Name: "tone"},
		}}},
		Completions: true,
		Subscribe:   true,
	}
}

func goodCall(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	switch p.Name {
	case "find":
		var in struct{ Title *string }
		if err := json.Unmarshal(p.Arguments, &in); err != nil || in.Title == nil {
			return nil, mcp.InvalidArguments("title: required")
		}
		return &mcp.CallToolResult{
			Content: []mcp.Content{mcp.Text("on shelf 3"), mcp.Image([]byte("x"), "image/png"),
				mcp.ResourceLink(mcp.Resource{Name: "plan", URI: "library://plan"})},
			StructuredContent: json.RawMessage(`{"shelf":3}`),
		}, nil
	case "wait":
		<-ctx.Done()
		return nil, ctx.Err()
	case "raw":
		raw, err := mcp.ParseRaw([]byte(`{"content":[{"type":"text","text":"stored"},{"type":"future"}]}`))
		return &mcp.CallToolResult{Raw: raw}, err
	case "burn":
		panic("the library burns")
	}
	return nil, mcp.UnknownTool(p.Name)
}

func goodRead(_ context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	switch {
	case p.URI == "library://plan":
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: p.URI, Text: "two floors"}}}, nil
	case p.URI == "library://cover":
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: p.URI, Blob: []byte{1, 2}}}}, nil
	case strings.HasPrefix(p.URI, "library://book/"):
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: p.URI, Text: "Once upon a time"}}}, nil
	}
	return nil, mcp.ResourceNotFound(p.URI, "")
}

func goodPrompt(_ context.Context, p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
	if p.Name != "review" {
		return nil, mcp.UnknownPrompt(p.Name)
	}
	if p.Arguments["title"] == "" {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "title: required")
	}
	return &mcp.GetPromptResult{
		Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: mcp.Text("Review " + p.Arguments["title"])}},
	}, nil
}

func goodComplete(_ context.Context, p *mcp.CompleteParams) (*mcp.CompleteResult, error) {
	if p.Prompt == "review" && p.Argument == "tone" {
		return &mcp.CompleteResult{Completion: mcp.Completion{Values: []string{"kind", "harsh"}}}, nil
	}
	return &mcp.CompleteResult{}, nil
}

func (l *library) goodWatch(changed func(mcp.Change)) func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	id := l.last
	l.watchers[id] = changed
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.watchers, id)
	}
}

// change adds a resource and notifies all watchers.
func (l *library) change() {
	cat := libraryCatalog()
	cat.Resources = append(cat.Resources, mcp.Resource{
		Name: "new",
		URI:  fmt.Sprintf("library://new/%d", len(l.version.Load().Resources)),
	})
	l.version.Store(cat)
	l.tell(mcp.Change{Resources: true})
}

func (l *library) tell(c mcp.Change) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, changed := range l.watchers {
		changed(c)
	}
}

func libraryOptions() *Options {
	return &Options{
		Calls: []Call{
			{Tool: "find", Args: `{"title":"Ulysses"}`, Want: "shelf 3"},
			{Tool: "find", Args: `{}`, Want: "title: required", WantError: true},
			{Tool: "raw", Want: "stored"},
			{Tool: "wait", Blocks: true},
		},
		Reads: []Read{{URI: "library://book/1", Want: "Once"}, {URI: "library://nothing", WantError: true}},
		Prompts: []Prompt{
			{Name: "review", Args: map[string]string{"title": "Ulysses"}, Want: "Review Ulysses"},
			{Name: "review", Want: "required", WantError: true},
		},
		Completions: []Completion{{Params: mcp.CompleteParams{Prompt: "review", Argument: "tone"}, Want: []string{"kind"}}},
		SkipTools:   []string{"burn"},
		Change:      func(_ testing.TB, source mcp.Source) { source.(*library).change() },
	}
}

func TestGoodSource(t *testing.T) {
	TestSource(t, func(*testing.T) mcp.Source { return newLibrary() }, libraryOptions())
}

func TestEmptySource(t *testing.T) {
	TestSource(t, func(*testing.T) mcp.Source { return mcp.Unimplemented{} }, nil)
}

// broken is a correct source with one fault.
type broken struct {
	name  string
	rule  string // that must fail
	want  string // part of its report
	spoil func(l *library)
}

// editCatalog modifies the catalog.
func editCatalog(edit func(c *mcp.Catalog)) func(l *library) {
	return func(l *library) { edit(l.kept) }
}

// answer replaces the successful result of the tool find.
func answer(result *mcp.CallToolResult) func(l *library) {
	return func(l *library) {
		l.call = func(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
			if r, err := goodCall(ctx, p); p.Name != "find" || err != nil {
				return r, err
			}
			return result, nil
		}
	}
}

// contentsOf replaces the contents of the plan.
func contentsOf(c ...mcp.ResourceContents) func(l *library) {
	return func(l *library) {
		l.read = func(ctx context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
			if p.URI != "library://plan" {
				return goodRead(ctx, p)
			}
			return &mcp.ReadResourceResult{Contents: c}, nil
		}
	}
}

func rawRead(doc string) func(l *library) {
	return func(l *library) {
		l.read = func(ctx context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
			if p.URI != "library://plan" {
				return goodRead(ctx, p)
			}
			raw, err := mcp.ParseRaw([]byte(doc))
			return &mcp.ReadResourceResult{Raw: raw}, err
		}
	}
}

// headerAt sets the input schema of the first tool to one that begins with members.
func headerAt(members string) func(l *library) {
	return editCatalog(func(c *mcp.Catalog) { c.Tools[0].InputSchema = json.RawMessage(members + `,"type":"object"}`) })
}

var brokenSources = []broken{
	{"catalog fails", "catalog/is_kept", "want a catalog", func(l *library) {
		l.catalog = func(context.Context) (*mcp.Catalog, error) { return nil, errors.New("no") }
	}},
	{"catalog is nil", "catalog/is_kept", "neither a result nor an error", func(l *library) {
		l.catalog = func(context.Context) (*mcp.Catalog, error) { return nil, nil }
	}},
	{"catalog with an error", "catalog/is_kept", "a result and the error", func(l *library) {
		l.catalog = func(context.Context) (*mcp.Catalog, error) { return l.kept, errors.New("no") }
	}},
	{"catalog is rebuilt", "catalog/is_kept", "new value for the same offer", func(l *library) {
		l.catalog = func(context.Context) (*mcp.Catalog, error) { return libraryCatalog(), nil }
	}},
	{"catalog changes by itself", "catalog/is_kept", "changes from call to call", func(l *library) {
		l.catalog = func(context.Context) (*mcp.Catalog, error) { l.change(); return l.version.Load(), nil }
	}},
	{"catalog costs", "catalog/is_cheap", "allocates", func(l *library) {
		l.catalog = func(context.Context) (*mcp.Catalog, error) { _, _ = mcp.Marshal(l.kept.Tools); return l.kept, nil }
	}},
	{"order of a map", "catalog/is_deterministic", "opened again", editCatalog(func(c *mcp.Catalog) {
		for i := range 20 {
			c.Resources = append(c.Resources, mcp.Resource{Name: "r", URI: fmt.Sprint("library://r/", i)})
		}
		rand.Shuffle(len(c.Resources), func(i, j int) { c.Resources[i], c.Resources[j] = c.Resources[j], c.Resources[i] })
	})},
	{"no name", "catalog/server", "Server.Name is empty", editCatalog(func(c *mcp.Catalog) { c.Server.Name = "" })},
	{
		"no version",
		"catalog/server",
		"Server.Version is empty",
		editCatalog(func(c *mcp.Catalog) { c.Server.Version = "" }),
	},
	{"extensions", "catalog/server", "Extensions is not an object", editCatalog(func(c *mcp.Catalog) {
		c.Extensions = json.RawMessage(`[]`)
	})},
	{"instructions", "catalog/server", "not UTF-8", editCatalog(func(c *mcp.Catalog) { c.Instructions = "\xff" })},
	{"page size", "catalog/server", "PageSize", editCatalog(func(c *mcp.Catalog) { c.PageSize = -1 })},
	{
		"tool name",
		"catalog/definitions",
		"1 to 128",
		editCatalog(func(c *mcp.Catalog) { c.Tools[0].Name = "find a book" }),
	},
	{
		"tool twice",
		"catalog/definitions",
		"there are two of",
		editCatalog(func(c *mcp.Catalog) { c.Tools = append(c.Tools, c.Tools[0]) }),
	},
	{"resource twice", "catalog/definitions", "there are two of", editCatalog(func(c *mcp.Catalog) {
		c.Resources[1].URI = c.Resources[0].URI
	})},
	{"no URI", "catalog/definitions", "is empty", editCatalog(func(c *mcp.Catalog) { c.Resources[0].URI = "" })},
	{"URI with space", "catalog/definitions", "white space", editCatalog(func(c *mcp.Catalog) {
		c.Resources[0].URI = "library://a b"
	})},
	{
		"resource without name",
		"catalog/definitions",
		"is empty",
		editCatalog(func(c *mcp.Catalog) { c.Resources[0].Name = "" }),
	},
	{"template braces", "catalog/definitions", "not balanced", editCatalog(func(c *mcp.Catalog) {
		c.Templates[0].URITemplate = "library://{id"
	})},
	{"prompt twice", "catalog/definitions", "there are two of", editCatalog(func(c *mcp.Catalog) {
		c.Prompts = append(c.Prompts, c.Prompts[0])
	})},
	{"argument twice", "catalog/definitions", "twice", editCatalog(func(c *mcp.Catalog) {
		c.Prompts[0].Arguments[1].Name = "title"
	})},
	{"raw with another name", "catalog/entries", "the name on the wire", editCatalog(func(c *mcp.Catalog) {
		c.Tools[2].Name = "cooked"
	})},
	{"raw broken", "catalog/entries", "not valid JSON", editCatalog(func(c *mcp.Catalog) {
		c.Tools[2].Raw = json.RawMessage(`{"name":"raw"`)
	})},
	{"raw not compact", "catalog/entries", "white space", editCatalog(func(c *mcp.Catalog) {
		c.Tools[2].Raw = json.RawMessage(`{"name": "raw","inputSchema":{}}`)
	})},
	{"raw without schema", "catalog/entries", "inputSchema", editCatalog(func(c *mcp.Catalog) {
		c.Tools[2].Raw = json.RawMessage(`{"name":"raw"}`)
	})},
	{"raw resource", "catalog/entries", "the uri on the wire", editCatalog(func(c *mcp.Catalog) {
		c.Resources[0].Raw = json.RawMessage(`{"name":"plan","uri":"library://Plan"}`)
	})},
	{"schema is none", "catalog/definitions", "unknown type", editCatalog(func(c *mcp.Catalog) {
		c.Tools[0].InputSchema = json.RawMessage(`{"type":"object","properties":{"a":{"type":"strin"}}}`)
	})},
	{"schema of no object", "catalog/definitions", `is not "object"`, editCatalog(func(c *mcp.Catalog) {
		c.Tools[0].InputSchema = json.RawMessage(`{"type":"string"}`)
	})},
	{"output schema", "catalog/definitions", "outputSchema", editCatalog(func(c *mcp.Catalog) {
		c.Tools[0].OutputSchema = json.RawMessage(`{"$ref":"x.json"}`)
	})},
	{"icon of a foreign scheme", "catalog/fields", "neither https nor a data URI", editCatalog(func(c *mcp.Catalog) {
		c.Prompts[0].Icons = []mcp.Icon{{Src: "javascript:alert(1)"}}
	})},
	{"icon of the server over http", "catalog/fields", "neither https nor a data URI", editCatalog(func(c *mcp.Catalog) {
		c.Server.Icons = []mcp.Icon{{Src: "http://x.example/i.png"}}
	})},
	{"key of _meta", "catalog/fields", "_meta has the key", editCatalog(func(c *mcp.Catalog) {
		c.Resources[0].Meta = json.RawMessage(`{"1x.example/k":1}`)
	})},
	{"name in a key of _meta", "catalog/fields", "_meta has the key", editCatalog(func(c *mcp.Catalog) {
		c.Templates[0].Meta = json.RawMessage(`{"x.example/-k":1}`)
	})},
	{"header of an argument", "catalog/fields", "is not the name of a header",
		headerAt(`{"properties":{"a":{"type":"string","x-mcp-header":"a b"}}`)},
	{"header of an argument twice", "catalog/fields", "occurs twice",
		headerAt(`{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"properties":{"c":{"type":"integer",` +
			`"x-mcp-header":"a"}}}}`)},
	{"header of an object", "catalog/fields", "want string, integer or boolean",
		headerAt(`{"properties":{"a":{"type":"number","x-mcp-header":"A"}}`)},
	{"header of an item", "catalog/fields", "cannot be reached",
		headerAt(`{"properties":{"a":{"items":{"type":"string","x-mcp-header":"A"}}}`)},
	{"header of a choice", "catalog/fields", "cannot be reached",
		headerAt(`{"anyOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]`)},
	{"catalog is edited", "catalog/is_immutable", "after the source was used", func(l *library) {
		l.read = func(ctx context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
			l.kept.Tools[0].Description = "used"
			return goodRead(ctx, p)
		}
	}},
	{"unknown tool is an error of its own", "tools/unknown", "want an *mcp.Error", func(l *library) {
		l.call = func(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
			if l.kept.Tool(p.Name) == nil {
				return nil, errors.New("no such tool")
			}
			return goodCall(ctx, p)
		}
	}},
	{"tool names fold", "tools/unknown", `"RAW" succeeds`, func(l *library) {
		l.call = func(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
			p.Name = strings.ToLower(p.Name)
			return goodCall(ctx, p)
		}
	}},
	{"missing argument is nothing", "tools/missing_arguments", "succeeds without", func(l *library) {
		l.call = func(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
			if p.Name == "find" {
				return &mcp.CallToolResult{StructuredContent: json.RawMessage(`{"shelf":0}`)}, nil
			}
			return goodCall(ctx, p)
		}
	}},
	{"missing argument is an internal error", "tools/missing_arguments", "code -32603", func(l *library) {
		l.call = func(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
			r, err := goodCall(ctx, p)
			if err != nil && p.Name == "find" {
				return nil, mcp.Errorf(mcp.CodeInternalError, "oops")
			}
			return r, err
		}
	}},
	{"malformed arguments crash", "tools/malformed_arguments", "panics", func(l *library) {
		l.call = func(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
			if string(p.Arguments) == "[]" {
				panic("want an object")
			}
			return goodCall(ctx, p)
		}
	}},
	{"malformed arguments succeed", "tools/malformed_arguments", "that is not an object", func(l *library) {
		l.call = func(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
			if string(p.Arguments) == "null" {
				return &mcp.CallToolResult{}, nil
			}
			return goodCall(ctx, p)
		}
	}},
	{"arguments are changed", "tools/answers", "changes its arguments", func(l *library) {
		l.call = func(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
			r, err := goodCall(ctx, p)
			clear(p.Arguments)
			return r, err
		}
	}},
	{"another answer", "tools/answers", `want "shelf 3"`,
		answer(&mcp.CallToolResult{StructuredContent: json.RawMessage(`{"shelf":4}`)})},
	{"a failure", "tools/answers", "fails = true, want false",
		answer(&mcp.CallToolResult{Content: []mcp.Content{mcp.Text("shelf 3")}, IsError: true})},
	{"no structured content", "tools/answers", "no structuredContent",
		answer(&mcp.CallToolResult{Content: []mcp.Content{mcp.Text("shelf 3")}})},
	{"structured content", "tools/answers", "shelf: required", answer(&mcp.CallToolResult{
		Content: []mcp.Content{mcp.Text("shelf 3")}, StructuredContent: json.RawMessage(`{}`)})},
	{"broken content", "tools/answers", "cannot be encoded",
		answer(&mcp.CallToolResult{StructuredContent: json.RawMessage(`{`)})},
	{"unknown content", "tools/answers", "unknown content type",
		answer(&mcp.CallToolResult{Content: []mcp.Content{{Type: "video"}}})},
	{"image without type", "tools/answers", "mimeType: must not be empty",
		answer(&mcp.CallToolResult{Content: []mcp.Content{mcp.Image([]byte("shelf 3"), "")}})},
	{"link without URI", "tools/answers", "uri: must not be empty",
		answer(&mcp.CallToolResult{Content: []mcp.Content{mcp.ResourceLink(mcp.Resource{Name: "shelf 3"})}})},
	{"meta", "tools/answers", "_meta",
		answer(&mcp.CallToolResult{Content: []mcp.Content{mcp.Text("shelf 3")}, Meta: json.RawMessage(`[]`)})},
	{"read only, but counts", "tools/read_only", "has readOnlyHint", func(l *library) {
		var n atomic.Int64
		l.call = func(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
			r, err := goodCall(ctx, p)
			if err == nil && p.Name == "find" {
				r.Content = append(r.Content, mcp.Text(fmt.Sprint(n.Add(1))))
			}
			return r, err
		}
	}},
	{"unknown resource is empty", "resources/unknown", "contents: must have at least 1 item", func(l *library) {
		l.read = func(ctx context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
			if r, err := goodRead(ctx, p); err == nil {
				return r, nil
			}
			return &mcp.ReadResourceResult{}, nil
		}
	}},
	{"unknown resource, wrong code", "resources/unknown", "want -32002", func(l *library) {
		l.read = func(ctx context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
			if r, err := goodRead(ctx, p); err == nil {
				return r, nil
			}
			return nil, mcp.Errorf(mcp.CodeInvalidParams, "not found")
		}
	}},
	{"unknown resource, no data", "resources/unknown", "want the uri in it", func(l *library) {
		l.read = func(ctx context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
			if r, err := goodRead(ctx, p); err == nil {
				return r, nil
			}
			return nil, mcp.Errorf(mcp.CodeResourceNotFound, "not found")
		}
	}},
	{"URIs are normalized", "resources/unknown", "no contents carry that uri", func(l *library) {
		l.read = func(ctx context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
			return goodRead(ctx, &mcp.ReadResourceParams{URI: strings.ToLower(p.URI)})
		}
	}},
	{"listed, but not there", "resources/listed", "but it is listed", editCatalog(func(c *mcp.Catalog) {
		c.Resources[0].URI = "library://gone"
	})},
	{"contents of another", "resources/listed", "no contents carry that uri",
		contentsOf(mcp.ResourceContents{URI: "library://plan/1", Text: "x"})},
	{"contents without uri", "resources/listed", "uri: must not be empty", contentsOf(mcp.ResourceContents{Text: "x"})},
	{"no contents", "resources/listed", "contents: must have at least 1 item", contentsOf()},
	{"text and blob", "resources/listed", "must match exactly one of 2 forms",
		rawRead(`{"contents":[{"uri":"library://plan","text":"a","blob":"AA=="}]}`)},
	{"neither text nor blob", "resources/listed", "matches none of the 2 accepted forms",
		rawRead(`{"contents":[{"uri":"library://plan"}]}`)},
	{
		"no base64",
		"resources/listed",
		"illegal base64 data",
		rawRead(`{"contents":[{"uri":"library://plan","blob":"?"}]}`),
	},
	{"another content", "resources/answers", `want "Once"`, func(l *library) {
		l.read = func(ctx context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
			r, err := goodRead(ctx, p)
			if err == nil && strings.HasPrefix(p.URI, "library://book") {
				r.Contents[0].Text = "The end"
			}
			return r, err
		}
	}},
	{"unknown prompt", "prompts/unknown", "neither a result nor an error", func(l *library) {
		l.prompt = func(ctx context.Context, p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
			if p.Name != "review" {
				return nil, nil
			}
			return goodPrompt(ctx, p)
		}
	}},
	{"prompt without arguments crashes", "prompts/arguments", "panics", func(l *library) {
		l.prompt = func(ctx context.Context, p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
			if p.Name == "review" && p.Arguments == nil {
				p.Arguments["title"] = "x"
			}
			return goodPrompt(ctx, p)
		}
	}},
	{"role", "prompts/answers", `(got "narrator")`, func(l *library) {
		l.prompt = func(ctx context.Context, p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
			r, err := goodPrompt(ctx, p)
			if err == nil {
				r.Messages[0].Role = "narrator"
			}
			return r, err
		}
	}},
	{"no messages", "prompts/answers", "messages: must have at least 1 item", func(l *library) {
		l.prompt = func(ctx context.Context, p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
			r, err := goodPrompt(ctx, p)
			if err == nil {
				r.Messages = nil
			}
			return r, err
		}
	}},
	{"prompt argument is ignored", "prompts/answers", "Review Ulysses", func(l *library) {
		l.prompt = func(ctx context.Context, p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
			return goodPrompt(ctx, &mcp.GetPromptParams{Name: p.Name, Arguments: map[string]string{"title": "x"}})
		}
	}},
	{"completion fails", "completions", "possibly without values", func(l *library) {
		l.complete = func(context.Context, *mcp.CompleteParams) (*mcp.CompleteResult, error) {
			return nil, mcp.Errorf(mcp.CodeInvalidParams, "no")
		}
	}},
	{"completions are not announced", "completions", "says that there are none", editCatalog(func(c *mcp.Catalog) {
		c.Completions = false
	})},
	{"too many completions", "completions", "values: must have at most 100 items", func(l *library) {
		l.complete = func(context.Context, *mcp.CompleteParams) (*mcp.CompleteResult, error) {
			raw, err := mcp.ParseRaw([]byte(`{"completion":{"values":[` + strings.Repeat(`"a",`, 100) + `"a"]}}`))
			return &mcp.CompleteResult{Raw: raw}, err
		}
	}},
	{"total", "completions", "but a total of 1", func(l *library) {
		l.complete = func(context.Context, *mcp.CompleteParams) (*mcp.CompleteResult, error) {
			n := 1
			return &mcp.CompleteResult{Completion: mcp.Completion{Values: []string{"a", "b"}, Total: &n}}, nil
		}
	}},
	{"completes what is not there", "completions", "what does not exist", func(l *library) {
		l.complete = func(context.Context, *mcp.CompleteParams) (*mcp.CompleteResult, error) {
			return &mcp.CompleteResult{Completion: mcp.Completion{Values: []string{"kind"}}}, nil
		}
	}},
	{"crashes when cancelled", "context/cancelled", "panics", func(l *library) {
		l.read = func(ctx context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
			if err := ctx.Err(); err != nil {
				panic(err)
			}
			return goodRead(ctx, p)
		}
	}},
	{"does not block", "context/cancel", "want it to block", func(l *library) {
		l.call = func(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
			if p.Name == "wait" {
				return &mcp.CallToolResult{}, nil
			}
			return goodCall(ctx, p)
		}
	}},
	{"exits the goroutine", "concurrent", "exits its goroutine", func(l *library) {
		l.prompt = func(ctx context.Context, p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
			runtime.Goexit()
			return nil, nil
		}
	}},
	{"catalog changes with use", "concurrent", "has changed while the source was used", func(l *library) {
		l.call = func(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
			if p.Name == "find" {
				cat := libraryCatalog()
				cat.Instructions = "used"
				l.version.Store(cat)
			}
			return goodCall(ctx, p)
		}
	}},
	{"tells after stop", "watch", "after stop has returned", func(l *library) {
		l.watch = func(changed func(mcp.Change)) func() { l.goodWatch(changed); return func() {} }
	}},
	{"cannot stop twice", "watch", "panics", func(l *library) {
		l.watch = func(changed func(mcp.Change)) func() {
			stop, stopped := l.goodWatch(changed), make(chan struct{})
			return func() { close(stopped); stop() }
		}
	}},
	{"no stop", "watch", "no function to stop", func(l *library) {
		l.watch = func(changed func(mcp.Change)) func() { return nil }
	}},
	{"reports a change without one", "watch", "is unchanged", func(l *library) {
		l.catalog = func(context.Context) (*mcp.Catalog, error) { return l.kept, nil }
	}},
	{"close fails", "close", "Close = closed already", func(l *library) {
		var closed bool
		l.close = func() error {
			if closed {
				return errors.New("closed already")
			}
			closed = true
			return nil
		}
	}},
	{"crashes when closed", "close", "panics", func(l *library) {
		l.close = func() error { l.kept = nil; return nil }
		l.catalog = func(context.Context) (*mcp.Catalog, error) { _ = l.kept.Server; return l.kept, nil }
	}},
}

// TestBrokenSources: each rule detects its fault.
func TestBrokenSources(t *testing.T) {
	for _, tt := range brokenSources {
		t.Run(tt.name, func(t *testing.T) {
			r := rules[slices.IndexFunc(rules, func(r rule) bool { return r.name == tt.rule })]
			open := func() mcp.Source {
				l := newLibrary()
				tt.spoil(l)
				return l
			}
			reports := failures(t, r, open, libraryOptions())
			if !slices.ContainsFunc(reports, func(report string) bool { return strings.Contains(report, tt.want) }) {
				t.Errorf("rule %s reports %q, want %q", tt.rule, reports, tt.want)
			}
		})
	}
}

// TestEveryRuleIsBroken: every rule has a source that breaks it.
func TestEveryRuleIsBroken(t *testing.T) {
	for _, r := range rules {
		if !slices.ContainsFunc(brokenSources, func(b broken) bool { return b.rule == r.name }) {
			t.Errorf("no broken source is there for the rule %s", r.name)
		}
	}
}

// TestSlowSource: a call that ignores the end of its context is reported.
func TestSlowSource(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	open := func() mcp.Source {
		l := newLibrary()
		l.call = func(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
			if p.Name == "wait" {
				<-release
			}
			return goodCall(ctx, p)
		}
		return l
	}
	opts := libraryOptions()
	opts.Timeout = 50 * time.Millisecond
	for _, name := range []string{"context/cancelled", "context/cancel"} {
		r := rules[slices.IndexFunc(rules, func(r rule) bool { return r.name == name })]
		if reports := failures(t, r, open, opts); len(reports) == 0 ||
			!strings.Contains(reports[0], "has not returned after 50ms") {
			t.Errorf("rule %s reports %q, want that the call has not returned", name, reports)
		}
	}
}

// recorder is a testing.TB that only records failures.
type recorder struct {
	testing.TB
	mu      sync.Mutex
	reports []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reports = append(r.reports, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

func (r *recorder) FailNow() { runtime.Goexit() }

// failures returns the reports of a rule about a source.
func failures(t *testing.T, r rule, open func() mcp.Source, opts *Options) []string {
	t.Helper()
	rec := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.check(newSuite(rec, open, opts))
	}()
	<-done
	return rec.reports
}

func TestVariables(t *testing.T) {
	for _, tt := range []struct {
		template string
		want     []string
		ok       bool
	}{
		{"a://b", nil, true},
		{"a://{b}/{+c}{?d,e*,f:3}", []string{"b", "c", "d", "e", "f"}, true},
		{"a://{b", nil, false},
		{"a://b}", nil, false},
		{"a://{b{c}}", nil, false},
	} {
		got, ok := variables(tt.template)
		if !slices.Equal(got, tt.want) || ok != tt.ok {
			t.Errorf("variables(%q) = %q, %t, want %q, %t", tt.template, got, ok, tt.want, tt.ok)
		}
	}
}
