package server_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// watched is a Source whose tools end in every possible way.
type watched struct{ mcp.Unimplemented }

func (watched) Catalog(context.Context) (*mcp.Catalog, error) {
	c := &mcp.Catalog{
		Server:    mcp.Implementation{Name: "watched", Version: "1"},
		Prompts:   []mcp.Prompt{{Name: "greet"}},
		Resources: []mcp.Resource{{URI: "test://text", Name: "text"}},
	}
	for _, name := range []string{"fine", "bad", "rawbad", "fails", "crashes", "sleeps"} {
		c.Tools = append(c.Tools, mcp.Tool{Name: name})
	}
	return c, nil
}

func (watched) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	switch p.Name {
	case "bad":
		return nil, errors.New("no such city")
	case "rawbad":
		raw, err := mcp.ParseRaw([]byte(`{"content":[{"type":"text","text":"no"}],"isError":true}`))
		return &mcp.CallToolResult{Raw: raw}, err
	case "fails":
		return nil, mcp.Errorf(mcp.CodeToolUnavailable, "the weather service is away")
	case "crashes":
		panic("out of cheese")
	case "sleeps":
		for i := 0.0; ; i++ {
			mcp.RequestFrom(ctx).Progress(i, 0, "") // which must not extend its time
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(time.Second):
			}
		}
	}
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text("done")}}, nil
}

func (watched) GetPrompt(context.Context, *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
	return &mcp.GetPromptResult{}, nil
}

func (watched) ReadResource(ctx context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	return nil, context.DeadlineExceeded
}

// notes is an Observer that records events.
type notes struct {
	mu     sync.Mutex
	events []mcpserver.Event
	names  []string // of principals
}

func (n *notes) Observe(ctx context.Context, e mcpserver.Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.events = append(n.events, e)
	if p := mcp.PrincipalFrom(ctx); p != nil {
		n.names = append(n.names, p.Name)
	}
}

// take returns the events so far, without values that differ between runs.
func (n *notes) take() []mcpserver.Event {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := n.events
	n.events = nil
	for i := range all {
		e := &all[i]
		e.Session, e.Duration, e.Received, e.Sent = nil, 0, min(e.Received, 1), min(e.Sent, 1)
	}
	return all
}

func sameCode() cmp.Option {
	return cmp.Comparer(func(a, b *mcp.Error) bool {
		return a == nil && b == nil || a != nil && b != nil && a.Code == b.Code
	})
}

func postTo(h http.Handler, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func callOf(tool string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `"}}`
}

func TestObserverIsToldOnceOfEachEnd(t *testing.T) {
	const v = mcp.Version20250326
	coded := func(c mcp.Code) *mcp.Error { return &mcp.Error{Code: c} }
	tests := []struct {
		name, body string
		want       mcpserver.Event
	}{
		{"fine", callOf("fine"), mcpserver.Event{Method: "tools/call", Name: "fine", Sent: 1}},
		{"isError", callOf("bad"),
			mcpserver.Event{Method: "tools/call", Name: "bad", Sent: 1, Outcome: mcpserver.OutcomeToolError}},
		{"isError in a stored answer", callOf("rawbad"),
			mcpserver.Event{Method: "tools/call", Name: "rawbad", Sent: 1, Outcome: mcpserver.OutcomeToolError}},
		{"error", callOf("fails"),
			mcpserver.Event{Method: "tools/call", Name: "fails", Sent: 1, Err: coded(mcp.CodeToolUnavailable)}},
		{"panic", callOf("crashes"),
			mcpserver.Event{Method: "tools/call", Name: "crashes", Sent: 1, Err: coded(mcp.CodeToolCrashed),
				Outcome: mcpserver.OutcomePanicked}},
		{"a tool that is not there", callOf("nosuch"),
			mcpserver.Event{Method: "tools/call", Sent: 1, Err: coded(mcp.CodeInvalidParams)}},
		{"a method that is not there", `{"jsonrpc":"2.0","id":1,"method":"x/y"}`,
			mcpserver.Event{Method: "x/y", Sent: 1, Err: coded(mcp.CodeMethodNotFound)}},
		{"prompt", `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"greet"}}`,
			mcpserver.Event{Method: "prompts/get", Name: "greet", Sent: 1}},
		{"resource", `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"test://text"}}`,
			mcpserver.Event{Method: "resources/read", Name: "test://text", Sent: 1,
				Err: coded(mcp.CodeResourceUnavailable)}},
		{"list", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, mcpserver.Event{Method: "tools/list", Sent: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := &notes{}
			h := mcpserver.New(watched{}, &mcpserver.Options{Observer: n}).HTTPHandler(nil)
			postTo(h, tt.body)
			tt.want.Kind, tt.want.Transport, tt.want.Version = mcpserver.EventAnswer, mcpserver.TransportHTTP, v
			tt.want.Status, tt.want.Received = 200, 1
			if tt.want.Outcome == "" {
				tt.want.Outcome = mcpserver.OutcomeOK
				if tt.want.Err != nil {
					tt.want.Outcome = mcpserver.OutcomeError
				}
			}
			begun := mcpserver.Event{
				Kind:      mcpserver.EventRequest,
				Method:    tt.want.Method,
				Transport: mcpserver.TransportHTTP,
				Version:   v,
				Received:  1,
			}
			if diff := cmp.Diff([]mcpserver.Event{begun, tt.want}, n.take(), sameCode()); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

func TestObserverIsToldOfWhatIsRefused(t *testing.T) {
	tests := []struct {
		name, body string
		header     []string
		status     int
		code       mcp.Code
	}{
		{"not JSON", "{", nil, 400, mcp.CodeParseError},
		{"no message", `{"id":1}`, nil, 400, mcp.CodeInvalidRequest},
		{"no session", callOf("fine"), []string{"Mcp-Session-Id", "gone"}, 404, mcp.CodeInvalidRequest},
		{"Origin", callOf("fine"), []string{"Origin", "https://evil.example.com"}, 403, mcp.CodeInvalidRequest},
		{"Content-Type", callOf("fine"), []string{"Content-Type", "text/plain"}, 415, mcp.CodeInvalidRequest},
		{"batch", `[]`, nil, 400, mcp.CodeInvalidRequest},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := &notes{}
			w := postTo(mcpserver.New(watched{}, &mcpserver.Options{Observer: n}).HTTPHandler(nil), tt.body,
				tt.header...)
			got := n.take()
			if len(got) != 1 ||
				got[0].Kind != mcpserver.EventRefused ||
				got[0].Err.Code != tt.code ||
				got[0].Transport != mcpserver.TransportHTTP {
				t.Fatalf("events = %+v, want one that is refused with %d", got, tt.code)
			}
			if w.Code != tt.status || got[0].Status != tt.status {
				t.Errorf("status %d, told %d, want %d", w.Code, got[0].Status, tt.status)
			}
		})
	}
}

func TestObserverIsToldOfSessions(t *testing.T) {
	kinds := func(events []mcpserver.Event) (all []string) {
		for _, e := range events {
			name := map[mcpserver.EventKind]string{
				mcpserver.EventRequest: "request", mcpserver.EventAnswer: "answer", mcpserver.EventNotification: "notification",
				mcpserver.EventRefused: "refused", mcpserver.EventSession: "session", mcpserver.EventSessionEnd: "end",
			}[e.Kind]
			all = append(all, strings.TrimSpace(e.Transport+" "+name+" "+e.Method))
		}
		return all
	}
	const initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	t.Run("http", func(t *testing.T) {
		n := &notes{}
		server := mcpserver.New(watched{}, &mcpserver.Options{Observer: n})
		h := server.HTTPHandler(nil)
		id := postTo(h, initialize).Header().Get("Mcp-Session-Id")
		postTo(h, initialized, "Mcp-Session-Id", id)
		if got := server.Stats(); got.Sessions != 1 {
			t.Errorf("Stats = %+v, want one session", got)
		}
		r := httptest.NewRequest(http.MethodDelete, "http://127.0.0.1/mcp", nil)
		r.Header.Set("Mcp-Session-Id", id)
		h.ServeHTTP(httptest.NewRecorder(), r)
		want := []string{"http request initialize", "http session initialize", "http answer initialize",
			"http notification notifications/initialized", "http end"}
		if diff := cmp.Diff(want, kinds(n.take())); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		if got := server.Stats(); got.Sessions != 0 {
			t.Errorf("Stats = %+v, want no session", got)
		}
	})
	t.Run("stdio", func(t *testing.T) {
		n := &notes{}
		server := mcpserver.New(watched{}, &mcpserver.Options{Observer: n})
		in := strings.NewReader(initialize + "\n" + initialized + "\nnonsense\n")
		if err := server.ServeStdio(t.Context(), in, io.Discard, nil); err != nil {
			t.Fatal(err)
		}
		want := []string{"stdio request initialize", "stdio session initialize", "stdio answer initialize",
			"stdio notification notifications/initialized", "stdio refused", "stdio end"}
		if diff := cmp.Diff(want, kinds(n.take())); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
	t.Run("no id, no session", func(t *testing.T) {
		n := &notes{}
		postTo(mcpserver.New(watched{}, &mcpserver.Options{Observer: n}).
			HTTPHandler(&mcpserver.HTTPOptions{NoSessions: true}),
			initialize)
		if got := kinds(n.take()); len(got) != 2 {
			t.Errorf("events = %v, want request and answer", got)
		}
	})
}

func TestRequestTimeoutEndsWhatReportsProgress(t *testing.T) {
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sleeps","_meta":{"progressToken":1}}}`
	opts := &mcpserver.Options{RequestTimeout: 90 * time.Second}
	check := func(t *testing.T, begin time.Time, answer string) {
		t.Helper()
		if took := time.Since(begin); took != opts.RequestTimeout {
			t.Errorf("the answer took %v, want %v", took, opts.RequestTimeout)
		}
		if !strings.Contains(answer, `"code":-31001`) || !strings.Contains(answer, `"id":1`) {
			t.Errorf("answer = %s, want the error -31001", answer)
		}
	}
	t.Run("http", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			w := postTo(mcpserver.New(watched{}, opts).HTTPHandler(nil), call, "Accept",
				"application/json, text/event-stream")
			check(t, begin, w.Body.String())
		})
	})
	t.Run("stdio", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			var out bytes.Buffer
			// The input ends long before the request, so the drain timeout must be longer.
			err := mcpserver.New(watched{}, opts).ServeStdio(t.Context(), strings.NewReader(initialize+"\n"+call+"\n"),
				&out,
				&mcpserver.StdioOptions{DrainTimeout: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			_, answer, _ := strings.Cut(out.String(), `"error"`)
			check(t, begin, `"id":1 "error"`+answer)
		})
	})
	t.Run("the deadline is the context's", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := gateFunc(func(ctx context.Context, _ mcpserver.Operation) error {
				if at, ok := ctx.Deadline(); !ok || time.Until(at) != opts.RequestTimeout {
					t.Errorf("Deadline = %v, %v", at, ok)
				}
				return nil
			})
			postTo(mcpserver.New(watched{}, &mcpserver.Options{RequestTimeout: opts.RequestTimeout,
				Gate: g}).HTTPHandler(nil),
				callOf("fine"))
		})
	})
}

// counts is an Observer that only counts.
type counts struct{ n int }

func (c *counts) Observe(context.Context, mcpserver.Event) { c.n++ }

func TestObserverAndGateAllocateNothing(t *testing.T) {
	open := gateFunc(func(context.Context, mcpserver.Operation) error { return nil })
	opts := &mcpserver.Options{Observer: &counts{}, Gate: open, RequestTimeout: time.Minute}
	h := mcpserver.New(newDemo(), opts).HTTPHandler(nil)
	for _, w := range workloads() {
		t.Run(w.name, func(t *testing.T) {
			r := newRerun(h, w.body, w.header)
			if r.serve() == 0 || r.w.status != 0 {
				t.Fatalf("status %d", r.w.status)
			}
			most := w.allocs
			if strings.HasPrefix(w.name, "read") {
				most++ // the URI, which the gate needs
			}
			if n := testing.AllocsPerRun(200, func() { r.serve() }); n > most {
				t.Errorf("%v allocations, want at most %v", n, most)
			}
		})
	}
}
