package client_test

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/mcp"
)

// TestErrorsOfGateways ensures that a body with a member error that is not one of JSON-RPC hides
// neither the status nor what the server asks for.
func TestErrorsOfGateways(t *testing.T) {
	for _, test := range []struct {
		status           int
		header, body     string
		want, recoversIn string
	}{
		{http.StatusUnauthorized, `Bearer error="invalid_token"`, `{"error":"invalid_token"}`,
			`HTTP status 401 Unauthorized: {"error":"invalid_token"}; WWW-Authenticate: Bearer error="invalid_token"`, ""},
		{http.StatusTooManyRequests, "", `{"error":"slow down"}`,
			`HTTP status 429 Too Many Requests: {"error":"slow down"}`, ""},
		{http.StatusTooManyRequests, "", `{"error":{"message":"slow down","type":"rate_limit"}}`,
			"HTTP status 429 Too Many Requests", ""},
		{http.StatusNotFound, "", `{"error":"session not found"}`, "", "a new session"},
	} {
		t.Run(test.body, func(t *testing.T) {
			u := newUpstream(t, &world{})
			src := open(t, &client.Endpoint{URL: u.URL + "/mcp", NoListen: true}, &client.Options{Version: mcp.Version20251125})
			inner := *u.handler.Load()
			var once atomic.Bool
			u.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodPost || !once.CompareAndSwap(false, true) {
					inner.ServeHTTP(w, r)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				if test.header != "" {
					w.Header().Set("WWW-Authenticate", test.header)
				}
				w.WriteHeader(test.status)
				_, _ = w.Write([]byte(test.body))
			}))
			got, err := call(t, src, "echo", `{"text":"hi"}`)
			if test.recoversIn != "" {
				if got != "hi" {
					t.Errorf("echo = %q, %v, want an answer in %s", got, err, test.recoversIn)
				}
				return
			}
			var status *client.StatusError
			if err == nil || !strings.Contains(err.Error(), test.want) || !errors.As(err, &status) {
				t.Errorf("echo = %q, %v, want a StatusError with %q", got, err, test.want)
			}
		})
	}
}

// TestClosedConnection ensures that a call without an answer says what happened, and does not
// promise to restart a remote server.
func TestClosedConnection(t *testing.T) {
	u := newUpstream(t, &world{})
	src := open(t, &client.Endpoint{URL: u.URL + "/mcp", NoListen: true}, nil)
	u.serve(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	_, err := call(t, src, "count", `{}`)
	const want = "the server closed the connection without answering: EOF (the request may have run; " +
		"the next one connects again)"
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("count = %v, want %q", err, want)
	}
}

// TestRedirectedPost verifies that the error of a call that is redirected in a way that is not followed names the URL
// to use, and says that the call may have run only where that is so. A server gets the call once, unless it asks for it
// again.
func TestRedirectedPost(t *testing.T) {
	const to = "https://new.example.com/mcp"
	for _, test := range []struct {
		name   string
		status int
		to     string // "" is the server itself
		want   string
		posts  int64
	}{
		{"moved", 301, to, `redirects to ` + to + `, which is not followed: use that URL`, 1},
		{"found", 302, to, `redirects to ` + to + `, which is not followed: use that URL`, 1},
		{"see other", 303, to, `redirects to ` + to + `, which is not followed: use that URL`, 1},
		{"loop", 307, "", `, which is not followed: the request was redirected 5 times before`, 7},
	} {
		t.Run(test.name, func(t *testing.T) {
			u := newUpstream(t, &world{})
			endpoint := &client.Endpoint{URL: u.URL + "/mcp", NoListen: true}
			src := open(t, endpoint, &client.Options{Name: "tickets"})
			location := test.to
			if location == "" {
				location = u.URL + "/mcp"
			}
			redirect := http.RedirectHandler(location, test.status)
			var posts atomic.Int64
			u.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost {
					posts.Add(1)
				}
				redirect.ServeHTTP(w, r)
			}))
			_, err := call(t, src, "count", `{}`)
			if err == nil || !strings.HasPrefix(err.Error(), `server "tickets" `) ||
				!strings.Contains(err.Error(), test.want) ||
				strings.Contains(err.Error(), "may have run") != (test.status == http.StatusSeeOther) {
				t.Errorf("count = %v, want %q", err, test.want)
			}
			if posts.Load() != test.posts {
				t.Errorf("the server got the call %d times, want %d", posts.Load(), test.posts)
			}
			_, err = client.Open(t.Context(), &client.Endpoint{URL: u.URL + "/mcp"}, nil)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Open = %v, want %q", err, test.want)
			}
		})
	}
}

// TestRedirectedPostOfOldSSE is TestRedirectedPost for a server of 2024-11-05: its stream stays open.
func TestRedirectedPostOfOldSSE(t *testing.T) {
	web := oldServer(t, &world{})
	served := web.Config.Handler
	var redirects atomic.Bool
	web.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && redirects.Load() {
			http.Redirect(w, r, "https://new.example.com/message", http.StatusFound)
			return
		}
		served.ServeHTTP(w, r)
	})
	src := open(t, &client.Endpoint{URL: web.URL + "/sse"}, nil)
	redirects.Store(true)
	_, err := call(t, src, "count", `{}`)
	const want = "the server redirects to https://new.example.com/message, which is not followed: use that URL"
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("count = %v, want %q", err, want)
	}
	redirects.Store(false)
	if got := mustCall(t, src, "echo", `{"text":"hi"}`); got != "hi" || src.State().Starts != 1 {
		t.Errorf("echo = %q after %d starts, want 1", got, src.State().Starts)
	}
}
