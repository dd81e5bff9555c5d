package serve_test

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/serve"
	"github.com/slipway-mcp/slipway/ws"
)

// socket opens a WebSocket to a server on fake time.
func (r *running) socket(t *testing.T) *ws.Conn {
	t.Helper()
	c, err := ws.Dial(t.Context(), "ws://localhost/ws", &ws.DialOptions{Client: r.client})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// through sends a message over a WebSocket and returns the next one.
func through(t *testing.T, c *ws.Conn, msg string) string {
	t.Helper()
	if err := c.WriteMessage([]byte(msg)); err != nil {
		t.Fatal(err)
	}
	got, err := c.ReadMessage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

// statusOf returns the status of an upgrade: 101 if it succeeded.
func statusOf(t *testing.T, url string, opts *ws.DialOptions) (*ws.Conn, int, http.Header) {
	t.Helper()
	c, err := ws.Dial(t.Context(), url, opts)
	var refused *ws.HandshakeError
	switch {
	case err == nil:
		t.Cleanup(func() { _ = c.Close() })
		return c, http.StatusSwitchingProtocols, nil
	case errors.As(err, &refused):
		return nil, refused.Status, refused.Header
	}
	t.Fatal(err)
	return nil, 0, nil
}

func TestWebSocketPaths(t *testing.T) {
	tests := []struct {
		name, path string
		opts       serve.Options
		header     http.Header
		status     int
	}{
		{"its own path", "/ws", serve.Options{}, nil, 101},
		{"the endpoint", "/mcp", serve.Options{}, nil, 101},
		{"elsewhere", "/other", serve.Options{}, nil, 404},
		{"a foreign Origin", "/ws", serve.Options{}, http.Header{"Origin": {"https://evil.example.com"}}, 403},
		{"a foreign Origin at the endpoint", "/mcp", serve.Options{}, http.Header{"Origin": {"https://evil.example.com"}},
			403},
		{"an allowed Origin", "/ws",
			serve.Options{HTTP: mcpserver.HTTPOptions{AllowedOrigins: []string{"https://app.example.com"}}},
			http.Header{"Origin": {"https://app.example.com"}}, 101},
		{"the endpoint with POST only", "/mcp", serve.Options{HTTP: mcpserver.HTTPOptions{PostOnly: true}}, nil, 405},
		{"its own path with POST only", "/ws", serve.Options{HTTP: mcpserver.HTTPOptions{PostOnly: true}}, nil, 101},
		{"left out", "/ws", serve.Options{Features: serve.Features{NoWebSocket: true}}, nil, 404},
		{"left out at the endpoint", "/mcp", serve.Options{Features: serve.Features{NoWebSocket: true}}, nil, 405},
		{"over its own limits", "/ws", serve.Options{WebSocket: ws.Options{RequireSubprotocol: true}}, nil, 426},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(serve.NewHandler(newSource(), &tt.opts))
			defer server.Close()
			opts := &ws.DialOptions{Header: tt.header}
			if tt.opts.WebSocket.RequireSubprotocol {
				opts.Subprotocols = []string{}
			}
			c, status, _ := statusOf(t, server.URL+tt.path, opts)
			if status != tt.status {
				t.Fatalf("status = %d, want %d", status, tt.status)
			}
			if c != nil {
				if got := through(t, c, initialize); !strings.Contains(got, "2025-06-18") {
					t.Errorf("initialize: %s", got)
				}
			}
		})
	}
	t.Run("not an upgrade", func(t *testing.T) {
		h := serve.NewHandler(newSource(), nil)
		if got := do(h, "GET", "/ws", nil); got.StatusCode != 426 {
			t.Errorf("GET /ws = %d, want 426", got.StatusCode)
		}
		if got := do(h, "GET", "/mcp", nil); got.StatusCode != 405 {
			t.Errorf("GET /mcp = %d, want what it is without WebSockets", got.StatusCode)
		}
	})
}

func TestWebSocketMaxBody(t *testing.T) {
	server := httptest.NewServer(serve.NewHandler(newSource(), &serve.Options{HTTP: mcpserver.HTTPOptions{MaxBody: 100}}))
	defer server.Close()
	c, _, _ := statusOf(t, server.URL+"/ws", nil)
	if err := c.WriteMessage([]byte(strings.Repeat(" ", 101))); err != nil {
		t.Fatal(err)
	}
	_, err := c.ReadMessage(t.Context())
	var closed *ws.CloseError
	if !errors.As(err, &closed) || closed.Code != 1009 {
		t.Errorf("after a message over MaxBody: %v, want the close code 1009", err)
	}
}

// The token of a WebSocket comes in the header or as a subprotocol, and the same tokens
// are valid as over HTTP.
func TestWebSocketAuth(t *testing.T) {
	offer := func(token string) []string { return []string{"mcp", "mcp.auth." + token} }
	encoded := base64.RawURLEncoding.EncodeToString([]byte(readerToken))
	tests := []struct {
		name      string
		opts      ws.DialOptions
		status    int
		challenge string
	}{
		{"none", ws.DialOptions{}, 401, "Bearer "},
		{"in the header", ws.DialOptions{Token: readerToken}, 101, ""},
		{"as subprotocol", ws.DialOptions{Subprotocols: offer(readerToken)}, 101, ""},
		{"as subprotocol, encoded", ws.DialOptions{Subprotocols: offer(encoded)}, 101, ""},
		{"unknown", ws.DialOptions{Token: unknownToken}, 401, "invalid_token"},
		{"unknown as subprotocol", ws.DialOptions{Subprotocols: offer(unknownToken)}, 401, "invalid_token"},
		{"that is none", ws.DialOptions{Subprotocols: offer("a|b")}, 401, "Bearer "},
		{"without a scope", ws.DialOptions{Token: powerlessToken}, 403, "insufficient_scope"},
		{"the header counts", ws.DialOptions{Token: unknownToken, Subprotocols: offer(readerToken)}, 401, "invalid_token"},
	}
	for _, path := range []string{"/ws", "/mcp"} {
		for _, tt := range tests {
			t.Run(tt.name+" at "+path, func(t *testing.T) {
				server := httptest.NewServer(serve.NewHandler(tools{}, &serve.Options{Auth: testAuth(t)}))
				defer server.Close()
				if _, status, _ := statusOf(t, server.URL+path+"?access_token="+readerToken, &tt.opts); status != 400 {
					t.Errorf("with a token in the address: %d, want 400", status)
				}
				c, status, header := statusOf(t, server.URL+path, &tt.opts)
				if status != tt.status || !strings.Contains(header.Get("WWW-Authenticate"), tt.challenge) {
					t.Fatalf("status = %d, WWW-Authenticate = %q, want %d and %q",
						status, header.Get("WWW-Authenticate"), tt.status, tt.challenge)
				}
				if c == nil {
					return
				}
				through(t, c, initialize)
				if got := through(t, c, toolCall("look")); !strings.Contains(got, "look by reader") {
					t.Errorf("call: %s", got)
				}
				if got := through(t, c, toolCall("sink")); !strings.Contains(got, "-31006") {
					t.Errorf("a call that needs another scope: %s", got)
				}
			})
		}
	}
}

// withdrawn is a verifier whose tokens can be revoked.
type withdrawn struct{ now atomic.Bool }

func (w *withdrawn) Verify(context.Context, string) (*mcp.Principal, error) {
	if w.now.Load() {
		return nil, serve.ErrToken
	}
	return &mcp.Principal{Name: "reader"}, nil
}

func TestWebSocketTokenIsCheckedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := new(withdrawn)
		r := start(t, serve.Options{Auth: &serve.Auth{Verifiers: []serve.Verifier{v}}})
		c, err := ws.Dial(t.Context(), "ws://localhost/ws", &ws.DialOptions{Client: r.client, Token: readerToken})
		if err != nil {
			t.Fatal(err)
		}
		through(t, c, initialize)
		v.now.Store(true)
		<-time.After(10 * time.Second)
		r.src.release <- struct{}{}
		if got := through(t, c, call); !strings.Contains(got, "not valid") {
			t.Errorf("a call with a token that was withdrawn: %s", got)
		}
		_ = c.Close()
		r.cancel()
		<-r.done
	})
}

func TestWebSocketRateLimit(t *testing.T) {
	server := httptest.NewServer(serve.NewHandler(tools{}, &serve.Options{Limits: serve.Limits{Rate: 0.001, Burst: 3}}))
	defer server.Close()
	c, _, _ := statusOf(t, server.URL+"/ws", nil) // one
	through(t, c, initialize)
	through(t, c, toolCall("look"))
	if got := through(t, c, toolCall("look")); !strings.Contains(got, "-31003") {
		t.Errorf("the fourth: %s", got)
	}
	if _, status, _ := statusOf(t, server.URL+"/ws", nil); status != 429 {
		t.Errorf("another connection: %d, want 429", status)
	}
}

func TestDrainClosesWebSockets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, serve.Options{})
		idle, busy := r.socket(t), r.socket(t)
		through(t, idle, initialize)
		through(t, busy, initialize)
		if err := busy.WriteMessage([]byte(call)); err != nil {
			t.Fatal(err)
		}
		<-r.src.entered
		begin := time.Now()
		r.cancel()
		if _, err := idle.ReadMessage(t.Context()); err != io.EOF {
			t.Errorf("the idle connection: %v, want its end", err)
		}
		r.src.release <- struct{}{}
		if got, err := busy.ReadMessage(t.Context()); !strings.Contains(string(got), `"done"`) {
			t.Errorf("the call in flight: %s, %v", got, err)
		}
		if _, err := busy.ReadMessage(t.Context()); err != io.EOF {
			t.Errorf("behind it: %v, want the end", err)
		}
		if err := <-r.done; err != nil {
			t.Errorf("Serve = %v, want nil", err)
		}
		if took := time.Since(begin); took > time.Second {
			t.Errorf("draining took %v", took)
		}
	})
}

func TestDrainOfWebSocketsEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, serve.Options{Connections: serve.Connections{DrainTimeout: 3 * time.Second}})
		c := r.socket(t)
		through(t, c, initialize)
		if err := c.WriteMessage([]byte(call)); err != nil {
			t.Fatal(err)
		}
		<-r.src.entered
		begin := time.Now()
		r.cancel()
		if err := <-r.done; err != nil {
			t.Errorf("Serve = %v, want nil", err)
		}
		if took := time.Since(begin); took != 3*time.Second {
			t.Errorf("draining took %v, want the timeout of 3s", took)
		}
	})
}

func TestDrainUnderLoadLosesNoAnswerOverWebSocket(t *testing.T) {
	src := &counting{source: newSource(), calls: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	started, done := make(chan string, 1), make(chan error, 1)
	go func() {
		done <- serve.Run(ctx, src, &serve.Options{
			Addr:     "127.0.0.1:0",
			Observer: serve.Observer{Started: func(i *serve.Info) { started <- i.WebSocket }},
		})
	}()
	url := <-started
	var clients sync.WaitGroup
	var received atomic.Int64
	for range 20 {
		c, err := ws.Dial(ctx, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		through(t, c, initialize)
		clients.Go(func() {
			defer c.Close()
			for range 4 { // concurrently
				_ = c.WriteMessage([]byte(call))
			}
			for {
				got, err := c.ReadMessage(context.Background())
				if err != nil {
					if err != io.EOF {
						t.Errorf("the connection ended with %v", err)
					}
					return
				}
				if strings.Contains(string(got), `"done"`) {
					received.Add(1)
				}
				_ = c.WriteMessage([]byte(call))
			}
		})
	}
	<-src.calls
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Run = %v, want nil", err)
	}
	clients.Wait()
	if called, got := src.n.Load(), received.Load(); called != got {
		t.Errorf("%d calls were made and %d answers arrived", called, got)
	}
}
