package router_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/mcptest"
	"github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/router"
)

func mustNew(t testing.TB, features ...router.Feature) *router.Router {
	t.Helper()
	r, err := router.New("x", "1", features...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func sent(t testing.TB, v any, err error) string {
	t.Helper()
	if err != nil {
		return "error: " + err.Error()
	}
	encoded, err := mcp.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}

// read reads a resource x://1 that returns out.
func read[Out any](t testing.TB, out Out, opts ...router.ResourceOption) string {
	t.Helper()
	r := mustNew(t, router.Options{MaxReadBytes: 10},
		router.Resource("r", "x://1", func(context.Context) (Out, error) { return out, nil }, opts...))
	result, err := r.ReadResource(context.Background(), &mcp.ReadResourceParams{URI: "x://1"})
	return sent(t, result, err)
}

// closing records whether it was closed.
type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error { c.closed = true; return nil }

func TestResource(t *testing.T) {
	body := &closing{Reader: strings.NewReader("abc")}
	for _, tt := range []struct{ name, got, want string }{
		{"text", read(t, "a"), `{"contents":[{"name":"r","uri":"x://1","mimeType":"text/plain","text":"a"}]}`},
		{"empty text", read(t, ""), `{"contents":[{"name":"r","uri":"x://1","mimeType":"text/plain","text":""}]}`},
		{"titled", read(t, "a", router.Title("T"), router.MIMEType("text/x")),
			`{"contents":[{"name":"r","uri":"x://1","mimeType":"text/x","text":"a","title":"T"}]}`},
		{"bytes", read(t, []byte{1}),
			`{"contents":[{"name":"r","uri":"x://1","mimeType":"application/octet-stream","blob":"AQ=="}]}`},
		{"no bytes", read(t, []byte(nil)),
			`{"contents":[{"name":"r","uri":"x://1","mimeType":"application/octet-stream","blob":""}]}`},
		{"bytes of text", read(t, []byte("a"), router.MIMEType("application/vnd.x+json; charset=utf-8")),
			`{"contents":[{"name":"r","uri":"x://1","mimeType":"application/vnd.x+json; charset=utf-8","text":"a"}]}`},
		{"bytes that are not text", read(t, []byte{0xff}, router.MIMEType("text/plain")),
			`{"contents":[{"name":"r","uri":"x://1","mimeType":"text/plain","blob":"/w=="}]}`},
		{"reader", read[io.Reader](t, body, router.MIMEType("text/plain")),
			`{"contents":[{"name":"r","uri":"x://1","mimeType":"text/plain","text":"abc"}]}`},
		{"reader of a type", read(t, strings.NewReader("abc"), router.MIMEType("text/plain")),
			`{"contents":[{"name":"r","uri":"x://1","mimeType":"text/plain","text":"abc"}]}`},
		{"reader beyond the limit", read[io.Reader](t, strings.NewReader("0123456789a")),
			`error: the resource is larger than 10 bytes`},
		{"no reader", read[io.Reader](t, nil), `error: resource not found`},
		{"struct", read(t, spot{"Lyon"}),
			`{"contents":[{"name":"r","uri":"x://1","mimeType":"application/json","text":"{\"city\":\"Lyon\"}"}]}`},
		{"contents", read(t, mcp.ResourceContents{Text: "a"}, router.MIMEType("a/b")),
			`{"contents":[{"uri":"x://1","mimeType":"a/b","text":"a"}]}`},
		{"several", read(t, []mcp.ResourceContents{{Text: "a"}, {URI: "x://2", MIMEType: "c/d", Text: "b"}}),
			`{"contents":[{"uri":"x://1","text":"a"},{"uri":"x://2","mimeType":"c/d","text":"b"}]}`},
		{"result", read(t, &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: "y://", Text: "a"}}}),
			`{"contents":[{"uri":"y://","text":"a"}]}`},
	} {
		if tt.got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.name, tt.got, tt.want)
		}
	}
	if !body.closed {
		t.Error("the reader was not closed")
	}
}

func TestResourceDefinition(t *testing.T) {
	half := 0.5
	r := mustNew(t, router.Resource("r", "x://1", func(context.Context) (string, error) { return "", nil },
		router.Title("T"), router.Description("D"), router.MIMEType("a/b"), router.Icon{Src: "https://i"},
		router.Annotations{Priority: &half}, router.Meta{Key: "k", Value: 1}, router.Cache{TTL: time.Minute, Public: true}))
	c, _ := r.Catalog(context.Background())
	if got, want := sent(t, c.Resources[0], nil),
		`{"name":"r","uri":"x://1","title":"T","description":"D","mimeType":"a/b","annotations":{"priority":0.5},`+
			`"icons":[{"src":"https://i"}],"_meta":{"k":1}}`; got != want {
		t.Errorf("definition\n got %s\nwant %s", got, want)
	}
	result, _ := r.ReadResource(context.Background(), &mcp.ReadResourceParams{URI: "x://1"})
	if result.Cache.TTL != time.Minute || !result.Cache.Public {
		t.Errorf("cache = %+v", result.Cache)
	}
}

func TestTemplate(t *testing.T) {
	type vars struct {
		Owner string     `json:"owner"`
		ID    int        `json:"id" minimum:"1"`
		Path  *string    `json:"path"`
		Since *time.Time `json:"since"`
		Deep  bool       `json:"deep,omitempty"`
		Kind  string     `json:"kind,omitempty" enum:"open,closed" default:"open"`
	}
	r := mustNew(t, router.Template("issue", "git://:owner/issues/{id}{/path}{?since,deep,kind}",
		func(_ context.Context, v vars) (string, error) {
			return sent(t, v, nil), nil
		}), router.Template("any", "map://{a}/{b}", func(_ context.Context, v map[string]string) (string, error) {
		return fmt.Sprint(v), nil
	}), router.Resource("fixed", "map://x/y", func(context.Context) (string, error) { return "fixed", nil }))
	for _, tt := range []struct{ uri, want string }{
		{"git://me/issues/7", `{"owner":"me","id":7,"path":null,"since":null,"kind":"open"}`},
		{"git://me%2Fyou/issues/7/a%20b?deep=true&kind=closed&since=2026-07-28T12:00:00Z",
			`{"owner":"me/you","id":7,"path":"a b","since":"2026-07-28T12:00:00Z","deep":true,"kind":"closed"}`},
		{"git://me/issues/x", `error: resource not found: id: must be an integer (got "x")`},
		{"git://me/issues/0", `error: resource not found: id: must be at least 1 (got 0)`},
		{"git://me/issues/7?kind=old", `error: resource not found: kind: must be one of "open", "closed" (got "old")`},
		{"git:///issues/7", `error: resource not found: owner: required`},
		{"git://me/issues/7?x=1", `error: resource not found`},
		{"map://1/2", `map[a:1 b:2]`},
		{"map://x/y", `fixed`},
	} {
		result, err := r.ReadResource(context.Background(), &mcp.ReadResourceParams{URI: tt.uri})
		got := ""
		if err != nil {
			got = "error: " + err.Error()
		} else {
			got = result.Contents[0].Text
		}
		if got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.uri, got, tt.want)
		}
	}
	c, _ := r.Catalog(context.Background())
	if got, want := c.Templates[0].URITemplate, "git://{owner}/issues/{id}{/path}{?since,deep,kind}"; got != want {
		t.Errorf("listed as %q, want %q", got, want)
	}
	got, err := r.Complete(context.Background(),
		&mcp.CompleteParams{URITemplate: c.Templates[0].URITemplate, Argument: "kind", Value: "c"})
	if err != nil || len(got.Completion.Values) != 1 || got.Completion.Values[0] != "closed" {
		t.Errorf("the enum completes to %+v, %v, want closed", got, err)
	}
}

func TestFolder(t *testing.T) {
	files := fstest.MapFS{
		"big.bin":          {Data: make([]byte, 100)},
		"a/deep/x.unknown": {Data: []byte{0, 1}},
		"a/notes":          {Data: []byte("plain")},
	}
	for i := range 150 {
		files[fmt.Sprintf("many/%03d.txt", i)] = &fstest.MapFile{Data: []byte("x")}
	}
	r := mustNew(t, router.Options{MaxReadBytes: 50}, router.Folder("files", "file:///", files, router.Title("Files")))
	for _, tt := range []struct{ uri, want string }{
		{"file:///a/notes",
			`{"contents":[{"name":"notes","uri":"file:///a/notes","mimeType":"text/plain","text":"plain","title":"Files"}]}`},
		{"file:///a/deep/x.unknown",
			`{"contents":[{"name":"x.unknown","uri":"file:///a/deep/x.unknown","mimeType":"application/octet-stream",` +
				`"blob":"AAE=","title":"Files"}]}`},
		{"file:///big.bin", `error: the resource is larger than 50 bytes`},
		{"file:///", `error: resource not found`},
		{"file:///a", `error: resource not found`},
		{"file:///none", `error: resource not found`},
		{"file:///a/../big.bin", `error: resource not found`},
	} {
		result, err := r.ReadResource(context.Background(), &mcp.ReadResourceParams{URI: tt.uri})
		if got := sent(t, result, err); got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.uri, got, tt.want)
		}
	}
	got, err := r.Complete(context.Background(),
		&mcp.CompleteParams{URITemplate: "file:///{+path}", Argument: "path", Value: "many/"})
	if err != nil || len(got.Completion.Values) != 100 || !*got.Completion.HasMore {
		t.Errorf("completion of many = %d values, %v", len(got.Completion.Values), err)
	}
	got, err = r.Complete(context.Background(),
		&mcp.CompleteParams{URITemplate: "file:///{+path}", Argument: "path", Value: "a/d"})
	if err != nil || fmt.Sprint(got.Completion.Values) != "[a/deep/x.unknown]" {
		t.Errorf("completion = %v, %v", got, err)
	}
}

func TestMessages(t *testing.T) {
	first := router.System("Be brief.")
	both := first.User("100%% of %s", "it").Image([]byte{1}, "image/png").Audio([]byte{2}, "audio/wav").
		Resource(mcp.ResourceContents{URI: "x://1", Text: "t"}).Link(mcp.Resource{Name: "n", URI: "x://2"}).Assistant("50%")
	want := `[{"role":"system","content":{"type":"text","text":"Be brief."}},` +
		`{"role":"user","content":{"type":"text","text":"100% of it"}},` +
		`{"role":"user","content":{"type":"image","data":"AQ==","mimeType":"image/png"}},` +
		`{"role":"user","content":{"type":"audio","data":"Ag==","mimeType":"audio/wav"}},` +
		`{"role":"user","content":{"type":"resource","resource":{"uri":"x://1","text":"t"}}},` +
		`{"role":"user","content":{"type":"resource_link","name":"n","uri":"x://2"}},` +
		`{"role":"assistant","content":{"type":"text","text":"50%"}}]`
	got := sent(t, both, nil)
	if got != want {
		t.Errorf("messages\n got %s\nwant %s", got, want)
	}
	if len(first) != 1 || len(first.User("a")) != 2 || first.User("b")[1].Content.Text != "b" {
		t.Error("adding changed what was there")
	}
	if got := (router.Messages{}).Image(nil, "a/b")[0].Role; got != mcp.RoleUser {
		t.Errorf("a picture alone has the role %q, want user", got)
	}
}

func TestPrompt(t *testing.T) {
	type in struct {
		City  string        `json:"city" doc:"where to" title:"City"`
		Days  int           `json:"days" minimum:"1"`
		Quiet *bool         `json:"quiet"`
		Every time.Duration `json:"every,omitempty"`
		Code  string        `json:"code,omitempty"`
	}
	r := mustNew(t, router.Prompt("p", "Plan", func(_ context.Context, in in) (string, error) {
		return sent(t, in, nil), nil
	}, router.Title("T"), router.Icon{Src: "https://i"}, router.Meta{Key: "k", Value: "v"}),
		router.Prompt("role", "", func(context.Context, router.Void) ([]mcp.PromptMessage, error) {
			return []mcp.PromptMessage{{Role: "robot", Content: mcp.Text("x")}}, nil
		}),
		router.Prompt("whole", "", func(context.Context, router.Void) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Description: "own", Messages: router.System("x")}, nil
		}),
		router.Prompt("fails", "", func(context.Context, router.Void) (string, error) { return "", errors.New("secret") }),
		router.Prompt("strict", "", func(context.Context, struct{}) (string, error) { return "", nil }, router.Strict),
	)
	c, _ := r.Catalog(context.Background())
	if got, want := sent(t, c.Prompts[0], nil), `{"name":"p","title":"T","description":"Plan","arguments":[`+
		`{"name":"city","title":"City","description":"where to","required":true},{"name":"days","description":"",`+
		`"required":true},`+
		`{"name":"quiet","description":"","required":false},{"name":"every","description":"","required":false},`+
		`{"name":"code","description":"","required":false}],`+
		`"icons":[{"src":"https://i"}],"_meta":{"k":"v"}}`; got != want {
		t.Errorf("definition\n got %s\nwant %s", got, want)
	}
	type args = map[string]string
	for _, tt := range []struct {
		name string
		args args
		want string
	}{
		{"p", args{"city": "Lyon", "days": "3", "quiet": "true", "every": "2h", "code": "007"},
			`"{\"city\":\"Lyon\",\"days\":3,\"quiet\":true,\"every\":7200000000000,\"code\":\"007\"}"`},
		{"p", args{"city": "5", "days": "03"}, `error: invalid arguments for p: days: must be an integer (got "03")`},
		{"p", args{"days": "0", "quiet": "yes"},
			`error: invalid arguments for p: days: must be at least 1 (got 0); quiet: must be a boolean (got "yes"); city: ` +
				`required`},
		{"role", nil, `error: prompt "role": messages[0] has the role "robot", want user, assistant or system`},
		{"whole", nil, `{"description":"own","messages":[{"role":"system","content":{"type":"text","text":"x"}}]}`},
		{"strict", args{"x": "1"}, `error: invalid arguments for strict: x: unknown argument (none is accepted)`},
		{"none", nil, `error: unknown prompt "none"`},
	} {
		result, err := r.GetPrompt(context.Background(), &mcp.GetPromptParams{Name: tt.name, Arguments: tt.args})
		if got := sent(t, result, err); !strings.Contains(got, tt.want) {
			t.Errorf("%s %v\n got %s\nwant %s", tt.name, tt.args, got, tt.want)
		}
	}
	client := mcptest.Connect(t, r, mcp.LatestVersion, nil)
	for name, code := range map[string]mcp.Code{
		"fails": mcp.CodeInternalError,
		"role":  mcp.CodeInternalError,
		"p":     mcp.CodeInvalidParams,
	} {
		if _, err := client.Try("prompts/get", map[string]string{"name": name}); err == nil || err.Code != code ||
			strings.Contains(err.Message, "secret") {
			t.Errorf("%s = %v, want %d", name, err, code)
		}
	}
	if got := client.GetPrompt("whole", nil).Messages[0].Role; got != mcp.RoleUser {
		t.Errorf("the role system arrives as %q, want user", got)
	}
}

func TestCompletion(t *testing.T) {
	many := func(context.Context, string) (all []string, _ error) {
		for i := range 250 {
			all = append(all, fmt.Sprint(i))
		}
		return all, nil
	}
	r := mustNew(t,
		prompt[one](router.Complete("a", many)),
		router.Prompt("q", "", func(_ context.Context, in struct {
			Land string `json:"land"`
			City string `json:"city"`
			Mood string `json:"mood" enum:"good,great,bad"`
			Free string `json:"free"`
		}) (string, error) {
			return "", nil
		}, router.CompleteFrom("city", func(_ context.Context, p *mcp.CompleteParams) (*mcp.Completion, error) {
			total := 1000
			return &mcp.Completion{Values: []string{p.Arguments["land"] + ":" + p.Value}, Total: &total}, nil
		}), router.Complete("land", func(context.Context, string) ([]string, error) { return nil, errors.New("secret") })))
	complete := func(p mcp.CompleteParams) string {
		result, err := r.Complete(context.Background(), &p)
		return sent(t, result, err)
	}
	if got := complete(mcp.CompleteParams{Prompt: "p", Argument: "a"}); !strings.HasSuffix(got,
		`"98","99"],"total":250,"hasMore":true}}`) {
		t.Errorf("many = %s, want the first 100 of 250", got)
	}
	for _, tt := range []struct {
		name string
		p    mcp.CompleteParams
		want string
	}{
		{"by others", mcp.CompleteParams{Prompt: "q", Argument: "city", Value: "L", Arguments: map[string]string{
			"land": "fr",
		}}, `{"completion":{"values":["fr:L"],"total":1000,"hasMore":true}}`},
		{"by the enum", mcp.CompleteParams{Prompt: "q", Argument: "mood", Value: "g"},
			`{"completion":{"values":["good","great"],"total":2,"hasMore":false}}`},
		{"without completer", mcp.CompleteParams{Prompt: "q", Argument: "free"}, `{"completion":{"values":[]}}`},
		{"unknown argument", mcp.CompleteParams{Prompt: "q", Argument: "x"},
			`error: prompt "q" has no argument "x" (has land, city, mood, free)`},
		{"unknown prompt", mcp.CompleteParams{Prompt: "x", Argument: "x"}, `error: unknown prompt "x"`},
		{"unknown template", mcp.CompleteParams{URITemplate: "x://{a}", Argument: "a"},
			`error: unknown resource template "x://{a}"`},
		{"failing", mcp.CompleteParams{Prompt: "q", Argument: "land"}, `error: complete "land": secret`},
	} {
		if got := complete(tt.p); got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

// TestToolDefinition: the tool from the specification's example is encoded exactly as
// shown there.
func TestToolDefinition(t *testing.T) {
	type calculation struct {
		Operation string  `json:"operation" doc:"Operation to perform" enum:"add,subtract,multiply,divide"`
		A         float64 `json:"a" doc:"First operand"`
		B         float64 `json:"b" doc:"Second operand"`
	}
	r := mustNew(t, router.Tool("calculator", "Performs arithmetic operations",
		func(context.Context, calculation) (string, error) { return "", nil },
		router.ReadOnly, router.Idempotent, router.ClosedWorld, router.Lenient),
		router.Tool("plain", "", nothing, router.Title("Plain"), router.NonDestructive, router.TaskSupport("optional"),
			router.Icon{Src: "https://i"}, router.Meta{Key: "k", Value: true}))
	c, _ := r.Catalog(context.Background())
	want := `{"name":"calculator","description":"Performs arithmetic operations","inputSchema":{"type":"object",` +
		`"properties":{` +
		`"operation":{"type":"string","description":"Operation to perform","enum":["add","subtract","multiply","divide"]},` +
		`"a":{"type":"number","description":"First operand"},"b":{"type":"number","description":"Second operand"}},` +
		`"required":["operation","a","b"]},` +
		`"annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}`
	if got := sent(t, c.Tools[0], nil); got != want {
		t.Errorf("definition\n got %s\nwant %s", got, want)
	}
	client := mcptest.Connect(t, r, mcp.Version20251125, nil)
	if diff := cmp.Diff(
		`{"name":"plain","title":"Plain","description":"","inputSchema":{"type":"object","properties":{},`+
			`"additionalProperties":false},`+
			`"annotations":{"title":"Plain","readOnlyHint":false,"destructiveHint":false,"idempotentHint":false,`+
			`"openWorldHint":true},`+
			`"icons":[{"src":"https://i"}],"execution":{"taskSupport":"optional"},"_meta":{"k":true}}`,
		secondTool(t, client)); diff != "" {
		t.Errorf("definition (-want +got):\n%s", diff)
	}
}

func secondTool(t testing.TB, c *mcptest.Client) string {
	t.Helper()
	var list struct{ Tools []json.RawMessage }
	if err := json.Unmarshal(c.Call("tools/list", nil), &list); err != nil {
		t.Fatal(err)
	}
	return string(list.Tools[1])
}

func TestLogTo(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelInfo,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == "duration" {
				return slog.Attr{}
			}
			return a
		}}))
	r := mustNew(t, router.Options{Observer: router.LogTo(log)}, takes[one]())
	for _, arguments := range []string{`{"a":"x"}`, `{}`} {
		_, _ = r.CallTool(context.Background(), &mcp.CallToolParams{Name: "t", Arguments: json.RawMessage(arguments)})
	}
	want := `level=INFO msg=answer method=tools/call name=t
level=WARN msg=answer method=tools/call name=t code=-32602 error="invalid arguments for t: a: required"
`
	if got := out.String(); got != want {
		t.Errorf("log\n got %s\nwant %s", got, want)
	}
}

// TestLogToQuestions: a question to the client and a call cancelled by the client are not
// errors, whether the router or the server is observed; a failure is.
func TestLogToQuestions(t *testing.T) {
	type in struct {
		How string `json:"how"`
	}
	tool := func(gone func()) router.Feature {
		return router.Tool("t", "", func(ctx context.Context, in in) (string, error) {
			switch in.How {
			case "asks":
				if _, err := mcp.RequestFrom(ctx).Elicit(ctx,
					&mcp.ElicitParams{Message: "sure?",
						RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)}); err != nil {
					return "", fmt.Errorf("ask first: %w", err)
				}
			case "is cancelled":
				gone()
				<-ctx.Done()
				return "", fmt.Errorf("read: %w", ctx.Err())
			case "runs late":
				ctx, stop := context.WithTimeout(ctx, 0)
				defer stop()
				return "", fmt.Errorf("read: %w", ctx.Err())
			}
			return "done", nil
		})
	}
	for _, observed := range []string{"router", "server"} {
		for _, c := range []struct{ how, want, no string }{
			{"asks", "level=INFO msg=answer method=tools/call name=t", "rror"},
			{"is cancelled", "outcome=cancelled", "rror"},
			{"runs late", "level=WARN msg=answer method=tools/call name=t", "code="},
		} {
			t.Run(observed+"/"+c.how, func(t *testing.T) {
				var out bytes.Buffer
				observer := router.LogTo(slog.New(slog.NewTextHandler(&out, nil)))
				ctx, gone := context.WithCancel(t.Context())
				defer gone()
				features, opts := []router.Feature{tool(gone)}, &server.Options{}
				if observed == "router" {
					features = append(features, router.Options{Observer: observer})
				} else {
					opts.Observer = observer
				}
				body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"how":"` + c.how +
					`"},"_meta":{` +
					`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c",` +
					`"version":"1"},` +
					`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`
				req := httptest.NewRequestWithContext(ctx, "POST", "http://127.0.0.1/mcp", strings.NewReader(body))
				for name, value := range map[string]string{"Content-Type": "application/json", "Mcp-Method": "tools/call",
					"Mcp-Name": "t", "Mcp-Protocol-Version": "2026-07-28"} {
					req.Header.Set(name, value)
				}
				server.New(mustNew(t, features...), opts).HTTPHandler(nil).ServeHTTP(httptest.NewRecorder(), req)
				if got := out.String(); !strings.Contains(got, c.want) || strings.Contains(got, c.no) ||
					strings.Contains(got, "WARN") != (c.how == "runs late") {
					t.Errorf("logged %s, want %q and not %q", got, c.want, c.no)
				}
			})
		}
	}
}
