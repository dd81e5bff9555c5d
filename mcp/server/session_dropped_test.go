package server_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// forgetful is a client that never sends its session id.
func forgetful(t *testing.T, h http.Handler, method, body string, version mcp.Version) *eventStream {
	t.Helper()
	s := &eventStream{header: make(http.Header), status: 200, done: make(chan struct{})}
	ctx, leave := context.WithCancel(t.Context())
	s.leave = leave
	r := httptest.NewRequestWithContext(ctx, method, "http://localhost/mcp", strings.NewReader(body))
	r.Header = http.Header{"Accept": {"application/json, text/event-stream"}}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if version != 0 {
		r.Header.Set("Mcp-Protocol-Version", version.String())
	}
	go func() {
		h.ServeHTTP(s, r)
		close(s.done)
	}()
	synctest.Wait()
	return s
}

// TestClientThatDropsItsSession: such a client is served in the version it names in each
// request. Features that require a session are rejected with an explanation.
func TestClientThatDropsItsSession(t *testing.T) {
	for _, v := range []mcp.Version{mcp.Version20250326, mcp.Version20250618, mcp.Version20251125} {
		t.Run(v.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				source := newNews()
				server := mcpserver.New(source, nil)
				h := server.HTTPHandler(nil)
				post := func(body string) string {
					t.Helper()
					s := forgetful(t, h, "POST", body, v)
					if !s.over() || s.status > 299 {
						t.Fatalf("%s: status %d, over %v", body, s.status, s.over())
					}
					return s.came()
				}
				init := post(strings.Replace(initRequest, "2025-06-18", v.String(), 1))
				if !strings.Contains(init, `"listChanged":true`) {
					t.Errorf("initialize = %s", init)
				}
				post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
				if got := post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); !strings.Contains(got, `"name":"talk"`) {
					t.Errorf("tools/list = %s", got)
				}
				// Several clients may use the same id concurrently: they cannot be distinguished.
				got := post(`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"talk","_meta":{"progressToken":5}}}`)
				if !strings.Contains(got, `"progressToken":5`) ||
					!strings.Contains(got, `"id":"x","result":{"content":[{"type":"text","text":"done"}]`) {
					t.Errorf("tools/call = %s", got)
				}
				stream := forgetful(t, h, "GET", "", v)
				source.tell(mcp.Change{Tools: true})
				source.tell(mcp.Change{URI: "news://a"}) // there are no subscriptions
				if got, want := stream.came(), "event: message\ndata: "+strings.TrimSpace(toolsChanged)+"\n\n"; got != want ||
					stream.status != 200 {
					t.Errorf("the stream brings %q, want %q", got, want)
				}
				other := forgetful(t, h, "GET", "", v)
				if stream.over() {
					t.Error("the stream of one ends that of another")
				}
				if n := server.Stats(); n.Streams != 2 || n.Sessions != 1 {
					t.Errorf("there are %d streams and %d sessions", n.Streams, n.Sessions)
				}
				stream.end()
				other.end()
				if len(source.watchers) != 0 {
					t.Error("the source is watched still")
				}
				if err := server.Shutdown(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// curious asks in every call.
type curious struct{ *news }

func (curious) CallTool(ctx context.Context, _ *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	_, err := mcp.RequestFrom(ctx).Elicit(ctx,
		&mcp.ElicitParams{Message: "who?", RequestedSchema: []byte(`{"type":"object","properties":{}}`)})
	return nil, err
}

func TestQuestionToAClientThatDropsItsSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := mcpserver.New(curious{newNews()}, nil).HTTPHandler(nil)
		s := forgetful(t, h, "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"talk"}}`,
			mcp.Version20251125)
		if !s.over() {
			t.Fatal("the call hangs")
		}
		if got := s.came(); !strings.Contains(got, "names no session") {
			t.Errorf("the call = %s, want the reason", got)
		}
	})
}
