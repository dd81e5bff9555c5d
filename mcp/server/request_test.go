package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// asking is a source whose tool is a function of the test.
type asking struct {
	*demo
	tool func(context.Context) error
}

func (a asking) CallTool(ctx context.Context, _ *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return text("asked"), a.tool(ctx)
}

// The information about its request that is available to a Source.
func TestRequest(t *testing.T) {
	const params = `{"name":"echo","_meta":{"progressToken":1,` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{"roots":{}}}}`
	type facts struct {
		version      mcp.Version
		params, meta string
		capabilities string
		header       string
		session      bool
		client       string
	}
	var got facts
	source := asking{newDemo(), func(ctx context.Context) error {
		r := mcp.RequestFrom(ctx)
		got = facts{
			version:      r.Version(),
			params:       string(r.Params()),
			meta:         string(r.Meta()),
			capabilities: string(r.ClientCapabilities()),
			header:       r.Header().Get("Mcp-Method"), session: r.Session() != nil,
		}
		if s := r.Session(); s != nil {
			got.client = string(s.ClientInfo())
			if s.Version() != r.Version() || s.LogLevel() != mcp.LogInfo {
				t.Errorf("session of %v at level %v", s.Version(), s.LogLevel())
			}
		}
		return nil
	}}
	b := newBrowser(source, nil)
	const legacy = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","_meta":{"a/b":1}}}`

	b.open(t).post(t, legacy)
	want := facts{
		version:      mcp.Version20250618,
		params:       `{"name":"echo","_meta":{"a/b":1}}`,
		meta:         `{"a/b":1}`,
		capabilities: `{}`,
		session:      true,
		client:       `{"name":"t","version":"1"}`,
	}
	if got != want {
		t.Errorf("in a session: %+v, want %+v", got, want)
	}
	b.post(t, legacy)
	want = facts{version: mcp.Version20250326, params: want.params, meta: want.meta}
	if got != want {
		t.Errorf("without one: %+v, want %+v", got, want)
	}
	b.post(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+params+`}`)
	want = facts{
		version:      mcp.Version20260728,
		params:       params,
		meta:         params[len(`{"name":"echo","_meta":`) : len(params)-1],
		capabilities: `{"roots":{}}`,
		header:       "tools/call",
	}
	if got != want {
		t.Errorf("stateless: %+v, want %+v", got, want)
	}
	synctest.Test(t, func(t *testing.T) {
		p := startPipe(t, source, nil)
		p.send(call(1, "echo"))
		p.close()
	})
	if got.header != "" || got.session || got.version != mcp.Version20260728 {
		t.Errorf("over stdio: %+v", got)
	}
}

// Up to 2025-11-25, a disconnect is not a cancellation, and the source can detect it.
func TestAbandonedRequest(t *testing.T) {
	told := make(chan bool, 2)
	source := asking{newDemo(), func(ctx context.Context) error {
		r := mcp.RequestFrom(ctx)
		told <- r.Abandoned()
		for !r.Abandoned() {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			time.Sleep(time.Millisecond)
		}
		told <- ctx.Err() == nil
		return nil
	}}
	front := httptest.NewServer(mcpserver.New(source, nil).HTTPHandler(nil))
	defer front.Close()
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, front.URL,
		strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	go func() {
		if res, err := http.DefaultClient.Do(req); err == nil {
			_ = res.Body.Close()
		}
	}()
	if <-told {
		t.Error("abandoned before the client has gone")
	}
	cancel()
	if !<-told {
		t.Error("cancelled, and not abandoned, when the client has gone")
	}
}

func TestNoRequest(t *testing.T) {
	r := mcp.RequestFrom(t.Context())
	if r != nil ||
		r.Version() != mcp.LatestVersion ||
		r.Session() != nil ||
		r.Params() != nil ||
		r.Meta() != nil ||
		r.Header() != nil ||
		r.ClientCapabilities() != nil {
		t.Error("a request out of nothing")
	}
	r.Progress(1, 2, "")
	r.Log(mcp.LogError, "", "")
	if err := r.RequireCapability("sampling"); err != nil {
		t.Errorf("RequireCapability = %v", err)
	}
	if r.Disconnect(time.Second) {
		t.Error("did not disconnect")
	}
}

// Contexts derived from a request's context end with it.
func TestDerivedContexts(t *testing.T) {
	for _, c := range []struct{ name, call string }{
		{"2025-06-18", waitCall},
		{"2026-07-28", modern("tools/call", `"name":"wait"`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var after, stopped int
				begun := make(chan struct{})
				source := asking{newDemo(), func(ctx context.Context) error {
					if _, ok := ctx.Deadline(); ok {
						t.Error("an unexpected deadline")
					}
					derived, cancel := context.WithCancel(ctx)
					defer cancel()
					short, cancel := context.WithTimeout(ctx, time.Second)
					defer cancel()
					<-short.Done()
					if ctx.Err() != nil || derived.Err() != nil {
						t.Error("the end of one context ended others")
					}
					context.AfterFunc(ctx, func() { after++ })
					stop := context.AfterFunc(ctx, func() { stopped++ })
					if !stop() || stop() {
						t.Error("stop does not tell whether it stopped")
					}
					close(begun)
					<-derived.Done()
					return ctx.Err()
				}}
				server := mcpserver.New(source, nil)
				answer := (&browser{handler: server.HTTPHandler(nil)}).start(t, c.call)
				<-begun
				ended, end := context.WithCancel(t.Context())
				end()
				if err := server.Shutdown(ended); err != context.Canceled {
					t.Errorf("Shutdown = %v, want %v", err, context.Canceled)
				}
				<-answer
				synctest.Wait()
				if after != 1 || stopped != 0 {
					t.Errorf("functions for the end ran %d and %d times, want 1 and 0", after, stopped)
				}
			})
		})
	}
}

func TestUnimplemented(t *testing.T) {
	var u mcp.Unimplemented
	ctx := t.Context()
	if cat, err := u.Catalog(ctx); err != nil || cat.Server.Name == "" {
		t.Errorf("Catalog = %v, %v", cat, err)
	}
	if _, err := u.CallTool(ctx, &mcp.CallToolParams{Name: "x"}); code(err) != badParams {
		t.Errorf("CallTool: %v", err)
	}
	if _, err := u.ReadResource(ctx, &mcp.ReadResourceParams{URI: "x:"}); code(err) != mcp.CodeResourceNotFound {
		t.Errorf("ReadResource: %v", err)
	}
	if _, err := u.GetPrompt(ctx, &mcp.GetPromptParams{Name: "x"}); code(err) != badParams {
		t.Errorf("GetPrompt: %v", err)
	}
	if r, err := u.Complete(ctx, &mcp.CompleteParams{}); err != nil || len(r.Completion.Values) != 0 {
		t.Errorf("Complete = %v, %v", r, err)
	}
	b := newBrowser(u, nil)
	for _, method := range []string{
		"tools/list",
		"resources/list",
		"resources/read",
		"prompts/list",
		"completion/complete",
		"logging/setLevel",
	} {
		if got := b.post(t, modern(method, "")); got.status != http.StatusNotFound && got.code != mismatch {
			t.Errorf("%s of nothing: status %d, code %d", method, got.status, got.code)
		}
	}
	var discovered struct {
		Capabilities json.RawMessage
	}
	if err := json.Unmarshal([]byte(b.post(t, modern("server/discover", "")).result), &discovered); err != nil ||
		string(discovered.Capabilities) != `{}` {
		t.Errorf("capabilities of nothing: %s, %v", discovered.Capabilities, err)
	}
}

func code(err error) mcp.Code {
	e, _ := err.(*mcp.Error)
	if e == nil {
		return 0
	}
	return e.Code
}

// If the client has disconnected before the source uses its context, the request ends
// like any other, on every surface.
func TestGoneBeforeDone(t *testing.T) {
	for _, v := range []string{"2025-06-18", "2026-07-28"} {
		ctx, gone := context.WithCancel(t.Context())
		source := newAsker(func(ctx context.Context, _ *mcp.Request) (string, error) {
			gone()
			if v == "2026-07-28" {
				<-ctx.Done()
			}
			return "late", ctx.Err()
		})
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(askCall))
		if v == "2026-07-28" {
			r = httptest.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1/mcp",
				strings.NewReader(modern("tools/call", askTool)))
			r.Header = modernHeader("tools/call", "ask")
		}
		r.Header.Set("Content-Type", "application/json")
		mcpserver.New(source, nil).HTTPHandler(nil).ServeHTTP(httptest.NewRecorder(), r)
	}
}
