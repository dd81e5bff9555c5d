package open_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/internal/test/authtest"
	"github.com/slipway-mcp/slipway/open"
)

// TestOpenWithLogin guards the error for a URL to which the user is logged in: that the login does not work is the
// reason, not that there is no site.
func TestOpenWithLogin(t *testing.T) {
	s := authtest.Start(http.NotFoundHandler())
	t.Cleanup(s.Close)
	store := identity.OpenStore(filepath.Join(t.TempDir(), "credentials"), &identity.StoreOptions{NoKeychain: true})
	logins := identity.New(&identity.Options{Store: store})
	s.SetLife(time.Millisecond)
	_, err := logins.Login(t.Context(), s.URL, &identity.LoginOptions{Interaction: &identity.Interaction{
		Show: func(*identity.Authorization) {},
		Open: func(_ context.Context, address string) error {
			go func() {
				if resp, err := http.Get(address); err == nil {
					_ = resp.Body.Close()
				}
			}()
			return nil
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	openIt := func() (e *open.Error) {
		t.Helper()
		_, err := open.Open(t.Context(), s.URL, &open.Options{Live: &open.LiveOptions{Identity: logins}})
		if !errors.As(err, &e) {
			t.Fatalf("Open = %v, want an Error", err)
		}
		return e
	}
	s.Break(authtest.Down)
	if e := openIt(); !strings.Contains(e.Why, "503") {
		t.Errorf("while the issuer is down: %v", e)
	}
	s.Break("")
	s.RevokeAll()
	for range 2 { // as found out, and as stored
		e := openIt()
		if !strings.Contains(e.Why, "no longer accepts it") || !strings.Contains(e.Hint, "slipway login "+s.URL) {
			t.Errorf("of a login that has ended: %v, hint %q", e, e.Hint)
		}
	}
}

// TestOpenServerThatIsDown guards the error for the URL of a server that cannot answer at present.
func TestOpenServerThatIsDown(t *testing.T) {
	for status, want := range map[int]string{
		http.StatusInternalServerError: "HTTP status 500",
		http.StatusServiceUnavailable:  "HTTP status 503",
		http.StatusMethodNotAllowed:    "there is no mcp.json", // as of any host of files
		http.StatusNotImplemented:      "there is no mcp.json",
	} {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				http.NotFound(w, r)
				return
			}
			w.WriteHeader(status)
		}))
		if _, err := open.Open(t.Context(), web.URL+"/mcp", nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a server that answers with %d: %v, want %q", status, err, want)
		}
		web.Close()
	}
}

// TestOpenServerWithUnreadableAnswers guards the error for a URL that refuses GET, so it is no
// site, and whose answers to POST are not the protocol's.
func TestOpenServerWithUnreadableAnswers(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			http.Error(w, "POST only", http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<html>Log in</html>"))
	}))
	defer web.Close()
	const want = "HTTP status 200 OK: it does not contain an answer to the request"
	// A query alone shows that the URL is no site, whatever GET is answered with.
	for _, path := range []string{"/mcp", "/mcp?profile=a"} {
		if _, err := open.Open(t.Context(), web.URL+path, nil); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("Open(%s) = %v, want an error that ends with %q", path, err, want)
		}
	}
}

// TestOpenURLThatIsNeither guards that the error for a URL whose host accepts messages, but answers
// none of them, says so: the absence of a site alone would hide why the server does not work.
func TestOpenURLThatIsNeither(t *testing.T) {
	const noAnswer = "the response has no body, so the request has no answer"
	for _, tt := range []struct {
		name, kind, body string
		status           int
		want             []string
	}{
		{"no content", "", "", http.StatusNoContent, []string{"HTTP status 204 No Content: " + noAnswer}},
		{"accepted", "", "", http.StatusAccepted, []string{"HTTP status 202 Accepted: " + noAnswer}},
		{"empty JSON", "application/json", "", http.StatusOK, []string{"HTTP status 200 OK: " + noAnswer}},
		{"other JSON", "application/json", `{"status":"ok"}`, http.StatusOK,
			[]string{"it is not a site (mcp.json: not a manifest: it has no protocolVersion, serverInfo or capabilities)",
				`HTTP status 200 OK: it does not contain an answer to the request: {"status":"ok"}`}},
		{"a stream that ends", "text/event-stream", "data: {}\n\n", http.StatusOK,
			[]string{"the server cannot be reached: server/discover: the server ended the stream without an answer"}},
		{"broken JSON", "application/json", `{"jsonrpc":"2.0","id":1,"result":`, http.StatusOK,
			[]string{"it is not a site (mcp.json: not JSON", "the server's answer cannot be read: unexpected end of input"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if tt.kind != "" {
					w.Header().Set("Content-Type", tt.kind)
				}
				w.WriteHeader(tt.status)
				if tt.body != "" {
					_, _ = w.Write([]byte(tt.body))
				}
			}))
			defer web.Close()
			src, err := open.Open(t.Context(), web.URL+"/mcp", nil)
			if err == nil {
				t.Fatalf("Open = %T, want an error", src)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("Open = %v, want %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "context canceled") {
				t.Errorf("Open = %v, which is about the probe", err)
			}
		})
	}
}
