package client_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/mcptest"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// upstream is an HTTP server whose handler can be replaced.
type upstream struct {
	*httptest.Server
	handler atomic.Pointer[http.Handler]
	mu      sync.Mutex
	heard   []*http.Request
}

func newUpstream(t testing.TB, source mcp.Source) *upstream {
	t.Helper()
	u := &upstream{}
	u.restart(t, source)
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u.mu.Lock()
		u.heard = append(u.heard, r)
		u.mu.Unlock()
		(*u.handler.Load()).ServeHTTP(w, r)
	}))
	t.Cleanup(u.Close)
	return u
}

// restart replaces the server with a new one that knows no sessions.
func (u *upstream) restart(t testing.TB, source mcp.Source) {
	t.Helper()
	server := mcpserver.New(source, nil)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			t.Error(err)
		}
	})
	u.serve(server.HTTPHandler(nil))
}

func (u *upstream) serve(h http.Handler) { u.handler.Store(&h) }

func TestSourceOverHTTP(t *testing.T) {
	race.SkipSlow(t)
	for _, v := range versions() {
		t.Run(v.String(), func(t *testing.T) {
			u := newUpstream(t, &world{})
			mcptest.TestSource(t, func(t *testing.T) mcp.Source {
				return open(t, &client.Endpoint{URL: u.URL + "/mcp"}, &client.Options{Version: v})
			}, suiteOptions())
		})
	}
}

func TestNegotiation(t *testing.T) {
	legacyOnly := func(next http.Handler, status int) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Mcp-Method") != "" {
				http.Error(w, "Bad Request: no valid session ID provided", status)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
	for _, tt := range []struct {
		name string
		wrap func(http.Handler) http.Handler
		want mcp.Version
	}{
		{"both eras", func(h http.Handler) http.Handler { return h }, mcp.Version20260728},
		{"400 to what is unknown", func(h http.Handler) http.Handler { return legacyOnly(h, 400) }, mcp.Version20251125},
		{"404", func(h http.Handler) http.Handler { return legacyOnly(h, 404) }, mcp.Version20251125},
		{"500", func(h http.Handler) http.Handler { return legacyOnly(h, 500) }, mcp.Version20251125},
	} {
		t.Run(tt.name, func(t *testing.T) {
			u := newUpstream(t, &world{})
			u.serve(tt.wrap(*u.handler.Load()))
			src := open(t, &client.Endpoint{URL: u.URL + "/mcp"}, nil)
			if got := src.State().Version; got != tt.want {
				t.Errorf("speaks %v, want %v", got, tt.want)
			}
			if got := mustCall(t, src, "echo", `{"text":"hi"}`); got != "hi" {
				t.Errorf("echo = %q", got)
			}
		})
	}
}

func TestForgottenSession(t *testing.T) {
	for _, status := range []int{404, 400, 410, 503} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			u := newUpstream(t, &world{})
			src := open(t, &client.Endpoint{URL: u.URL + "/mcp", NoListen: true}, &client.Options{Version: mcp.Version20251125})
			inner := *u.handler.Load()
			var once atomic.Bool
			u.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost && once.CompareAndSwap(false, true) {
					http.Error(w, "go away", status)
					return
				}
				inner.ServeHTTP(w, r)
			}))
			if got := mustCall(t, src, "pid", ""); got == "" {
				t.Error("no answer")
			}
			if !once.Load() || src.State().Starts != 2 {
				t.Errorf("State = %+v, want a second session", src.State())
			}
			once.Store(false)
			_, err := call(t, src, "env", `{"name":"HOME"}`) // a call that may do harm
			if again := err == nil; again != (status != 503) {
				t.Errorf("a call that is not known to be harmless ends with %v", err)
			}
			mustCall(t, src, "env", `{"name":"HOME"}`)
		})
	}
}

func TestRestartedUpstream(t *testing.T) {
	for _, v := range []mcp.Version{mcp.Version20260728, mcp.Version20251125, mcp.Version20250326} {
		t.Run(v.String(), func(t *testing.T) {
			u := newUpstream(t, &world{})
			src := open(t, &client.Endpoint{URL: u.URL + "/mcp"}, &client.Options{Version: v})
			mustCall(t, src, "echo", `{"text":"hi"}`)
			u.restart(t, &world{})
			if got := mustCall(t, src, "echo", `{"text":"hi"}`); got != "hi" {
				t.Errorf("echo = %q", got)
			}
		})
	}
}

func TestSecretsAndRedirects(t *testing.T) {
	var leaked atomic.Pointer[string]
	u := newUpstream(t, &world{})
	inner := *u.handler.Load()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if key := r.Header.Get("X-Api-Key") + r.Header.Get("Authorization"); key != "" {
			leaked.Store(&key)
		}
		inner.ServeHTTP(w, r)
	}))
	defer other.Close()
	u.serve(http.RedirectHandler(other.URL+"/mcp", http.StatusTemporaryRedirect))
	endpoint := &client.Endpoint{
		URL:    u.URL + "/mcp?key=hunter22",
		Header: http.Header{"X-Api-Key": {"hunter22"}, "Authorization": {"Bearer hunter22"}},
	}
	src := open(t, endpoint, nil)
	mustCall(t, src, "echo", `{"text":"hi"}`)
	if key := leaked.Load(); key != nil {
		t.Errorf("another host was sent %q", *key)
	}
	u.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "no good: "+r.Header.Get("Authorization")+", "+r.Header.Get("X-Api-Key"), http.StatusUnauthorized)
	}))
	_, err := client.Open(t.Context(), endpoint, nil)
	if err == nil ||
		!strings.Contains(err.Error(), "401 Unauthorized: no good: Bearer [redacted], [redacted]") ||
		strings.Contains(err.Error(), "hunter22") {
		t.Errorf("Open = %v, want 401 and no secrets", err)
	}
	if u.Close(); true {
		_, err = client.Open(t.Context(), endpoint, nil)
		if err == nil || !strings.Contains(err.Error(), "connection refused") || strings.Contains(err.Error(), "hunter22") {
			t.Errorf("Open = %v, want no secrets", err)
		}
	}
}

func TestPublicOnly(t *testing.T) {
	u := newUpstream(t, &world{})
	_, err := client.Open(t.Context(), &client.Endpoint{URL: u.URL, PublicOnly: true}, nil)
	var blocked *client.BlockedError
	if !errors.As(err, &blocked) || !strings.Contains(err.Error(), "this machine") {
		t.Errorf("Open = %v, want a BlockedError", err)
	}
}
