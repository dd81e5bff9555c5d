package serve_test

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/serve"
)

// legacyStream is a client of HTTP+SSE.
type legacyStream struct {
	t        *testing.T
	base     string
	token    string
	endpoint string
	in       *bufio.Scanner
}

// openLegacy opens a stream and returns it with the response status.
func openLegacy(t *testing.T, base, token string) (*legacyStream, int) {
	t.Helper()
	ctx, leave := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(leave)
	s := &legacyStream{t: t, base: base, token: token}
	w := s.do(ctx, "GET", "/sse", "")
	t.Cleanup(func() { _ = w.Body.Close() })
	if w.StatusCode == http.StatusOK {
		s.in = bufio.NewScanner(w.Body)
		s.endpoint = s.next()
	}
	return s, w.StatusCode
}

func (s *legacyStream) do(ctx context.Context, method, path, body string) *http.Response {
	s.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, s.base+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if s.token != "" {
		r.Header.Set("Authorization", "Bearer "+s.token)
	}
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	return w
}

// next returns the data of the next event, or "" at the end of the stream.
func (s *legacyStream) next() string {
	for s.in.Scan() {
		if data, ok := strings.CutPrefix(s.in.Text(), "data: "); ok {
			return data
		}
	}
	return ""
}

// post sends a message and returns the response status.
func (s *legacyStream) post(body string) int {
	s.t.Helper()
	w := s.do(s.t.Context(), "POST", s.endpoint, body)
	_ = w.Body.Close()
	return w.StatusCode
}

func TestLegacySSE(t *testing.T) {
	t.Run("left out", func(t *testing.T) {
		h := serve.NewHandler(newSource(), nil)
		for _, path := range []string{serve.LegacySSEPath, serve.LegacyMessagePath} {
			if got := do(h, "GET", path, nil); got.StatusCode != 404 {
				t.Errorf("GET %s = %d, want 404", path, got.StatusCode)
			}
		}
	})
	t.Run("served", func(t *testing.T) {
		h := serve.NewHandler(newSource(), &serve.Options{Features: serve.Features{LegacySSE: true}})
		server := httptest.NewServer(h)
		t.Cleanup(server.Close) // after the streams
		s, status := openLegacy(t, server.URL, "")
		if status != 200 || !strings.HasPrefix(s.endpoint, "/message?sessionId=") {
			t.Fatalf("status %d, endpoint %q", status, s.endpoint)
		}
		if status := s.post(initialize); status != http.StatusAccepted {
			t.Errorf("initialize: status %d, want 202", status)
		}
		if got := s.next(); !strings.Contains(got, `"protocolVersion":"2025-06-18"`) {
			t.Errorf("initialize: %s", got)
		}
		if err := h.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if got := s.next(); got != "" {
			t.Errorf("after the end of the server came %s", got)
		}
	})
	t.Run("a foreign page", func(t *testing.T) {
		h := serve.NewHandler(newSource(), &serve.Options{Features: serve.Features{LegacySSE: true}})
		if got := do(h, "GET", "/sse",
			func(r *http.Request) { r.Header.Set("Origin", "https://evil.example.com") }); got.StatusCode != 403 {
			t.Errorf("status %d, want 403", got.StatusCode)
		}
	})
}

// The stream and each message need the token, and each message counts once.
func TestLegacySSEBehindTheDoor(t *testing.T) {
	const token, other = "0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"
	list, err := serve.ParseTokens([]byte("ann " + token + "\nbob " + other))
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := serve.NewTokens(list...)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(serve.NewHandler(newSource(), &serve.Options{
		Features: serve.Features{LegacySSE: true},
		Auth:     &serve.Auth{Verifiers: []serve.Verifier{tokens}},
		Limits:   serve.Limits{Rate: 0.001, Burst: 5},
	}))
	t.Cleanup(server.Close) // after the streams
	for token, want := range map[string]int{"": 401, "wrong-wrong-wrong-wrong-wrong-12": 401} {
		if _, status := openLegacy(t, server.URL, token); status != want {
			t.Errorf("with the token %q: status %d, want %d", token, status, want)
		}
	}
	s, status := openLegacy(t, server.URL, token)
	if status != 200 {
		t.Fatalf("status %d", status)
	}
	stolen := *s
	stolen.token = other
	if got := stolen.post(initialize); got != 404 {
		t.Errorf("bob on ann's stream: status %d, want 404", got)
	}
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for i, want := range []int{202, 202, 202, 202, 429} { // the stream was the first of five
		if got := s.post(ping); got != want {
			t.Errorf("message %d: status %d, want %d", i, got, want)
		}
		if want == 202 {
			if got := s.next(); got != `{"jsonrpc":"2.0","id":1,"result":{}}` {
				t.Errorf("message %d: %s", i, got)
			}
		}
	}
}
