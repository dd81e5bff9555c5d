package server_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// gateFunc is a Gate that ignores Leave.
type gateFunc func(context.Context, mcpserver.Operation) error

func (f gateFunc) Enter(ctx context.Context, op mcpserver.Operation) error { return f(ctx, op) }
func (gateFunc) Leave(context.Context, mcpserver.Operation)                {}

func TestGateKnowsWhatIsAskedFor(t *testing.T) {
	const batch = `[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fine"}},{"jsonrpc":"2.0","id":2,` +
		`"method":"tools/list"}]`
	tests := []struct {
		name, body string
		header     []string
		want       []mcpserver.Operation
	}{
		{"tool", callOf("fine"), nil, []mcpserver.Operation{{Method: "tools/call", Name: "fine"}}},
		{"escaped tool", callOf(`f\u0069ne`), nil, []mcpserver.Operation{{Method: "tools/call", Name: "fine"}}},
		{"unknown tool", callOf("nosuch"), nil, []mcpserver.Operation{{Method: "tools/call"}}},
		{"prompt", `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"greet"}}`, nil,
			[]mcpserver.Operation{{Method: "prompts/get", Name: "greet"}}},
		{"resource", `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"a:b"}}`, nil,
			[]mcpserver.Operation{{Method: "resources/read", Name: "a:b"}}},
		{"unknown method", `{"jsonrpc":"2.0","id":1,"method":"x/y"}`, nil, nil},
		{"batch", batch, []string{"MCP-Protocol-Version", "2025-03-26"}, []mcpserver.Operation{
			{Method: "tools/call", Name: "fine", Batched: true}, {Method: "tools/list", Batched: true}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []mcpserver.Operation
			began := time.Now()
			g := gateFunc(func(_ context.Context, op mcpserver.Operation) error {
				if op.Transport != mcpserver.TransportHTTP {
					t.Errorf("Transport = %q", op.Transport)
				}
				if op.Catalog.Tool("fine") == nil {
					t.Error("the operation has no catalog")
				}
				if op.Time.Before(began) || time.Now().Before(op.Time) {
					t.Errorf("the message was read at %v", op.Time)
				}
				op.Transport, op.Catalog, op.Index, op.Time = "", nil, nil, time.Time{}
				got = append(got, op)
				return nil
			})
			postTo(mcpserver.New(watched{}, &mcpserver.Options{Gate: g}).HTTPHandler(nil), tt.body, tt.header...)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("operations (-want +got):\n%s", diff)
			}
		})
	}
}

func TestGateRefuses(t *testing.T) {
	denied := &mcp.Error{Code: mcp.CodeToolDenied, Message: "not for you", Status: 403,
		Header: http.Header{"Www-Authenticate": {`Bearer error="insufficient_scope"`}}}
	g := gateFunc(func(_ context.Context, op mcpserver.Operation) error {
		if op.Name == "fine" {
			return denied
		}
		return nil
	})
	h := mcpserver.New(watched{}, &mcpserver.Options{Gate: g}).HTTPHandler(nil)
	w := postTo(h, callOf("fine"), "Accept", "text/event-stream")
	if w.Code != 403 ||
		w.Header().Get("WWW-Authenticate") == "" ||
		!strings.Contains(w.Body.String(), `"id":1,"error":{"code":-31006`) {
		t.Errorf("answer = %d %v %s, want 403 with a challenge", w.Code, w.Header(), w.Body)
	}
	// The answer returns to a pool, so its header must be reset.
	if w = postTo(h, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); w.Code != 200 ||
		w.Header().Get("WWW-Authenticate") != "" {
		t.Errorf("the next answer = %d %v", w.Code, w.Header())
	}
	w = postTo(h, "["+callOf("fine")+","+callOf("bad")+"]", "MCP-Protocol-Version", "2025-03-26")
	if w.Code != 200 || w.Header().Get("WWW-Authenticate") != "" || !strings.Contains(w.Body.String(), "-31006") {
		t.Errorf("batch = %d %v %s, want the error in band", w.Code, w.Header(), w.Body)
	}
	var out strings.Builder
	server := mcpserver.New(watched{}, &mcpserver.Options{Gate: g})
	if err := server.ServeStdio(t.Context(),
		strings.NewReader(initialize+"\n"+callOf("fine")+"\n"), &out, nil); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "-31006") {
		t.Errorf("stdio = %s, want the error in band", out.String())
	}
}

// turnstile counts requests that have entered and left.
type turnstile struct{ entered, left atomic.Int64 }

func (s *turnstile) Enter(_ context.Context, op mcpserver.Operation) error {
	if op.Name == "fine" {
		return mcp.Errorf(mcp.CodeToolBusy, "busy")
	}
	s.entered.Add(1)
	return nil
}
func (s *turnstile) Leave(context.Context, mcpserver.Operation) { s.left.Add(1) }

func TestGateIsLeftByWhoeverEntered(t *testing.T) {
	s := &turnstile{}
	h := mcpserver.New(watched{}, &mcpserver.Options{Gate: s}).HTTPHandler(nil)
	for _, tool := range []string{"fine", "bad", "fails", "crashes", "nosuch"} {
		postTo(h, callOf(tool))
	}
	if s.entered.Load() != 4 || s.left.Load() != 4 {
		t.Errorf("%d entered and %d left, want 4 and 4", s.entered.Load(), s.left.Load())
	}
}

func TestAuthenticateComesAfterTheGuardAndBeforeTheBody(t *testing.T) {
	n := &notes{}
	asked := 0
	h := mcpserver.New(watched{}, &mcpserver.Options{Observer: n}).HTTPHandler(&mcpserver.HTTPOptions{
		Authenticate: func(w http.ResponseWriter, r *http.Request) context.Context {
			asked++
			if r.Header.Get("Authorization") == "" {
				mcpserver.WriteError(w, &mcp.Error{Code: mcp.CodeInvalidRequest, Message: "who are you", Status: 401})
				return nil
			}
			return mcp.WithPrincipal(r.Context(), &mcp.Principal{Name: "ann"})
		},
	})
	if w := postTo(h, callOf("fine"), "Origin", "https://evil.example.com"); w.Code != 403 || asked != 0 {
		t.Errorf("a foreign Origin = %d after %d questions, want 403 after none", w.Code, asked)
	}
	body := &untouched{}
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", body)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != 401 || body.reads != 0 || !strings.Contains(w.Body.String(), "who are you") {
		t.Errorf("answer = %d %s after %d reads of the body, want 401 after none", w.Code, w.Body, body.reads)
	}
	if w := postTo(h, callOf("fine"), "Authorization", "Bearer x"); w.Code != 200 ||
		len(n.names) == 0 ||
		n.names[0] != "ann" {
		t.Errorf("answer = %d as %v, want 200 as ann", w.Code, n.names)
	}
	asked = 0
	r = httptest.NewRequest(http.MethodOptions, "http://127.0.0.1/mcp", nil)
	w = httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != 204 || asked != 0 {
		t.Errorf("preflight = %d after %d questions, want 204 after none", w.Code, asked)
	}
}

// untouched is a body that counts reads.
type untouched struct{ reads int }

func (u *untouched) Read([]byte) (int, error) { u.reads++; return 0, http.ErrBodyReadAfterClose }
