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
			`HTTP status 401 Unauthorized: {"error":"invalid_token"}; it asks for Bearer error="invalid_token"`, ""},
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
