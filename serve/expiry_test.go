package serve_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/serve"
	"github.com/slipway-mcp/slipway/ws"
)

// lease is a verifier of one token whose lifetime the test controls.
type lease struct {
	principal atomic.Pointer[mcp.Principal]
	failure   atomic.Pointer[error]
}

func newLease(expires time.Time) *lease {
	l := &lease{}
	l.principal.Store(&mcp.Principal{Name: "ann", Scopes: []string{"read"}, Expires: expires})
	return l
}

func (l *lease) Verify(context.Context, string) (*mcp.Principal, error) {
	if err := l.failure.Load(); err != nil {
		return nil, *err
	}
	return l.principal.Load(), nil
}

func (l *lease) fail(err error) { l.failure.Store(&err) }

// streams are the ways to keep a connection open. Each returns when the server ends it.
var streams = map[string]func(t *testing.T, r *running){
	"GET of a session": func(t *testing.T, r *running) {
		w := r.ask(t, "POST", "/mcp",
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",`+
				`"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
		_, _ = io.Copy(io.Discard, w.Body)
		r.session = w.Header.Get("Mcp-Session-Id")
		w = r.ask(t, "GET", "/mcp", "")
		if w.StatusCode != http.StatusOK {
			t.Fatalf("GET = %s", w.Status)
		}
		_, _ = io.Copy(io.Discard, w.Body)
	},
	"subscriptions/listen": func(t *testing.T, r *running) {
		w := r.ask(t, "POST", "/mcp",
			`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen",`+
				`"params":{"notifications":{"toolsListChanged":true},"_meta":{`+
				`"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
				`"io.modelcontextprotocol/clientCapabilities":{}}}}`)
		if w.StatusCode != http.StatusOK {
			t.Fatalf("listen = %s", w.Status)
		}
		_, _ = io.Copy(io.Discard, w.Body)
	},
	"HTTP+SSE": func(t *testing.T, r *running) {
		w := r.ask(t, "GET", serve.LegacySSEPath, "")
		if w.StatusCode != http.StatusOK {
			t.Fatalf("GET = %s", w.Status)
		}
		_, _ = io.Copy(io.Discard, w.Body)
	},
	"WebSocket": func(t *testing.T, r *running) {
		c, err := ws.Dial(t.Context(), "ws://localhost/ws", &ws.DialOptions{Client: r.client, Token: readerToken})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for err == nil {
			_, err = c.ReadMessage(t.Context())
		}
	},
}

// ask sends a request with the token of the tests.
func (r *running) ask(t *testing.T, method, path, body string) *http.Response {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, "http://localhost"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+readerToken)
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Accept", "application/json, text/event-stream")
	if r.session != "" {
		q.Header.Set("Mcp-Session-Id", r.session)
	}
	if strings.Contains(body, "2026-07-28") {
		q.Header.Set("MCP-Protocol-Version", "2026-07-28")
		q.Header.Set("Mcp-Method", "subscriptions/listen")
	}
	w, err := r.client.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Body.Close() })
	return w
}

// TestStreamsEndWithTheirToken keeps streams open beyond the lifetime or the revocation
// of their token.
func TestStreamsEndWithTheirToken(t *testing.T) {
	ends := map[string]func(l *lease){
		"expired": func(*lease) {},
		"revoked": func(l *lease) { l.fail(serve.ErrToken) },
		"another holder": func(l *lease) {
			l.principal.Store(&mcp.Principal{Name: "bob",
				Scopes: []string{"read"}})
		},
		"a scope is lost":   func(l *lease) { l.principal.Store(&mcp.Principal{Name: "ann"}) },
		"cannot be checked": func(l *lease) { l.fail(errors.New("the issuer is down")) },
	}
	for surface, stream := range streams {
		for end, act := range ends {
			t.Run(surface+", "+end, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					const life = 10 * time.Minute
					l := newLease(time.Time{})
					if end == "expired" {
						l = newLease(time.Now().Add(life))
					}
					r := start(t, serve.Options{
						Features: serve.Features{LegacySSE: true},
						Auth:     &serve.Auth{Verifiers: []serve.Verifier{l}, Scopes: []string{"read"}},
					})
					defer func() {
						r.cancel()
						<-r.done
					}()
					began := time.Now()
					go func() {
						time.Sleep(life)
						act(l)
					}()
					stream(t, r)
					if took := time.Since(began); took < life || took > life+30*time.Second {
						t.Errorf("the stream ended after %v, want %v to 30s later", took, life)
					}
				})
			})
		}
	}
}

// Streams that are checked at the same moment all notice that a token was removed from
// its file.
func TestStreamsEndWithTheirTokenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	var others strings.Builder // so many that reading them takes a while
	for i := range 999 {
		fmt.Fprintf(&others, "bob 0123456789abcdef0123456789ab%04d read\n", i)
	}
	write("ann " + readerToken + " read\n" + others.String())
	synctest.Test(t, func(t *testing.T) {
		tokens, err := serve.OpenTokens(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := start(t, serve.Options{Features: serve.Features{LegacySSE: true},
			Auth: &serve.Auth{Verifiers: []serve.Verifier{tokens}}})
		defer func() {
			r.cancel()
			<-r.done
		}()
		const life = 10 * time.Minute
		began := time.Now()
		ended := make(chan time.Duration)
		const each = 10
		for range each {
			for _, stream := range streams {
				own := *r
				go func() {
					stream(t, &own)
					ended <- time.Since(began)
				}()
			}
		}
		time.Sleep(life)
		write(others.String())
		for range each * len(streams) {
			if took := <-ended; took < life || took > life+30*time.Second {
				t.Errorf("a stream ended after %v, want %v to 30s later", took, life)
			}
		}
	})
}
