package inspect_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/inspect"
	"github.com/slipway-mcp/slipway/internal/test/authtest"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
)

// at returns a source at a URL, and counts how often it is opened.
func at(url string, opened *atomic.Int32) *inspect.Source {
	return &inspect.Source{
		Name: "remote",
		URL:  url,
		Open: func(ctx context.Context, how *inspect.Connect) (mcp.Source, error) {
			opened.Add(1)
			return client.Open(ctx, &client.Endpoint{URL: url}, how.Options(nil))
		},
	}
}

// state waits for a state of the only source.
func (d *desk) state(what string, wanted func(*inspect.State) bool) *inspect.State {
	d.t.Helper()
	var all struct{ Sources []*inspect.State }
	for range 1000 {
		d.get("/api/state", &all)
		if wanted(all.Sources[0]) {
			return all.Sources[0]
		}
		time.Sleep(10 * time.Millisecond)
	}
	d.t.Fatalf("%s: the state is %+v with error %+v", what, all.Sources[0], all.Sources[0].Error)
	return nil
}

// A server that requires a login: its metadata is asked for, each request is a step, and the
// next command logs in.
func TestAuthorizationServer(t *testing.T) {
	s := authtest.Start(http.NotFoundHandler())
	defer s.Close()
	var opened atomic.Int32
	d := newDesk(t, nil, at(s.URL, &opened))
	hasLogin := func(s *inspect.State) bool { return s.Error != nil && s.Error.Login != nil }
	got := d.state("login", hasLogin)
	if login := got.Error.Login; login.Issuer != s.Issuer || login.Error != "" || !login.Registers {
		t.Errorf("login = %+v", login)
	}
	if got.Error.Command != "slipway login "+s.URL || got.Error.Status != http.StatusUnauthorized {
		t.Errorf("error = %+v", got.Error)
	}
	for name, answer := range map[string]string{
		"protected resource (RFC 9728)":   "/.well-known/oauth-protected-resource",
		"authorization server (RFC 8414)": "/.well-known/oauth-authorization-server",
	} {
		found := false
		for _, step := range got.Steps {
			found = found || step.Name == name && step.Seq > 0 && strings.Contains(step.Detail, answer) &&
				strings.Contains(step.Detail, "→ 200")
		}
		if !found {
			t.Errorf("no step %s in %+v", name, got.Steps)
		}
	}

	s.Break(authtest.NoRegistration)
	d.post("/api/reconnect", `{"source":1}`)
	got = d.state("no registration", func(s *inspect.State) bool { return hasLogin(s) && !s.Error.Login.Registers })
	if !strings.HasSuffix(got.Error.Command, " --client-id ID") {
		t.Errorf("command = %q", got.Error.Command)
	}
	s.Break(authtest.OtherIssuer)
	d.post("/api/reconnect", `{"source":1}`)
	got = d.state("other issuer", func(s *inspect.State) bool { return hasLogin(s) && s.Error.Login.Error != "" })
	if !strings.HasPrefix(got.Error.Command, "MCP_CLIENT_TOKEN=") {
		t.Errorf("command = %q", got.Error.Command)
	}
}

// What a server sends in place of a message answers the request of its exchange.
func TestHTTPErrorAnswers(t *testing.T) {
	const (
		html = "<h1>Bad Gateway</h1>"
		text = "text/html"
		json = "application/json"
	)
	tests := []struct {
		name   string
		status int
		kind   string // content type
		body   string
		frame  string // kind of the answer
		fault  string
	}{
		{"no id", 401, json, `{"error":"this server wants a token"}`, "response", "this server wants a token"},
		{"id null", 403, json, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no"}}`, "response", "no"},
		{"empty error", 502, text, "", "head", "HTTP status 502"},
		{"page", 502, text, html, "body", "HTTP status 502, not a message"},
		{"damaged JSON", 500, json, `{"error":`, "body", "HTTP status 500, not a message"},
		{"page of a proxy", 200, text, html, "body", "not a message"},
		{"empty", 200, json, "", "body", "empty response"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", test.kind)
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.body)
			}))
			defer web.Close()
			var opened atomic.Int32
			d := newDesk(t, nil, at(web.URL, &opened))
			d.state("failed", func(s *inspect.State) bool { return s.Error != nil })
			var found struct{ Frames, Answers []inspect.Frame }
			d.get("/api/search?q=is:open", &found)
			if len(found.Frames) != 0 {
				t.Errorf("open requests are %+v, want none", found.Frames)
			}
			d.get("/api/search?q="+url.QueryEscape("kind:request method:server/discover is:error"), &found)
			if len(found.Frames) == 0 || len(found.Answers) == 0 {
				t.Fatalf("found %+v, want the request and its answer", found)
			}
			request, got := found.Frames[0], found.Answers[0]
			if request.Pair != got.Seq || got.Pair != request.Seq || got.Kind != test.frame || got.Took <= 0 ||
				got.Failure == nil || got.Failure.Text != test.fault {
				t.Errorf("answer of %d is %+v (%+v), want %s with %q", request.Seq, got, got.Failure, test.frame, test.fault)
			}
			if status, text := d.do("GET", fmt.Sprintf("/api/frames/%d/copy?as=curl", got.Seq), ""); status != 200 ||
				!strings.Contains(string(text), "server/discover") {
				t.Errorf("copying the request of the answer: %d %s", status, text)
			}
		})
	}
}

// A request whose connection broke is not open.
func TestLostConnectionAnswers(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer web.Close()
	var opened atomic.Int32
	d := newDesk(t, nil, at(web.URL, &opened))
	d.state("failed", func(s *inspect.State) bool { return s.Error != nil })
	var found struct{ Frames, Answers []inspect.Frame }
	d.get("/api/search?q=is:open", &found)
	if len(found.Frames) != 0 {
		t.Errorf("open requests are %+v, want none", found.Frames)
	}
	d.get("/api/search?q="+url.QueryEscape("kind:request is:error"), &found)
	if len(found.Answers) == 0 || found.Answers[0].Kind != "step" || found.Answers[0].Error == "" {
		t.Errorf("found %+v, want a request that is answered by an error", found)
	}
}

// Another version reconnects the open source; connecting again opens it again, as it may have
// changed.
func TestReconnectKeepsSource(t *testing.T) {
	web := httptest.NewServer(server.New(newOffice(), nil).HTTPHandler(nil))
	defer web.Close()
	var opened atomic.Int32
	d := newDesk(t, nil, at(web.URL, &opened))
	d.ready("2026-07-28")
	d.post("/api/reconnect", `{"source":1,"version":"2025-06-18"}`)
	d.ready("2025-06-18")
	if n := opened.Load(); n != 1 {
		t.Errorf("opened %d times for another version, want 1", n)
	}
	d.post("/api/reconnect", `{"source":1,"version":"2025-06-18"}`)
	for range 500 {
		if opened.Load() == 2 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	d.ready("2025-06-18")
	if n := opened.Load(); n != 2 {
		t.Errorf("opened %d times after connecting again, want 2", n)
	}
}
