package serve_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/serve"
	"github.com/slipway-mcp/slipway/ws"
)

// stop stops the server, and waits until it has ended.
func (r *running) stop(t *testing.T) {
	t.Helper()
	r.cancel()
	r.client.CloseIdleConnections()
	if err := <-r.done; err != nil {
		t.Error(err)
	}
}

// TestControl changes who may use a server while a WebSocket is open.
func TestControl(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		control := new(serve.Control)
		r := startWith(t, tools{}, serve.Options{Live: serve.Live{Control: control}})
		defer r.stop(t)
		synctest.Wait()
		status := func(want int, token string) {
			t.Helper()
			q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/mcp",
				strings.NewReader(toolCall("look")))
			if err != nil {
				t.Fatal(err)
			}
			q.Header.Set("Content-Type", "application/json")
			if token != "" {
				q.Header.Set("Authorization", "Bearer "+token)
			}
			got, err := r.client.Do(q)
			if err != nil {
				t.Fatal(err)
			}
			defer got.Body.Close()
			if _, err := io.Copy(io.Discard, got.Body); err != nil || got.StatusCode != want {
				t.Errorf("status %d, %v; want %d", got.StatusCode, err, want)
			}
		}
		apply := func(opts *serve.Options) {
			t.Helper()
			if err := control.Apply(t.Context(), opts); err != nil {
				t.Fatal(err)
			}
		}
		status(http.StatusOK, "")
		socket := r.socket(t)
		defer socket.Close()
		if got := through(t, socket, modernCall("look")); !strings.Contains(got, `"result"`) {
			t.Errorf("without auth: %s", got)
		}

		apply(&serve.Options{Auth: testAuth(t)})
		status(http.StatusUnauthorized, "")
		status(http.StatusOK, readerToken)
		if got := through(t, socket, modernCall("look")); !strings.Contains(got, "a bearer token is required") {
			t.Errorf("a connection from before, with auth: %s", got)
		}
		held, err := ws.Dial(t.Context(), "ws://localhost/ws", &ws.DialOptions{Client: r.client, Token: readerToken})
		if err != nil {
			t.Fatal(err)
		}
		defer held.Close()
		if got := through(t, held, modernCall("look")); !strings.Contains(got, `"result"`) {
			t.Errorf("with a token: %s", got)
		}
		demanding := testAuth(t)
		demanding.Scopes = []string{"write"}
		apply(&serve.Options{Auth: demanding})
		if got := through(t, held, modernCall("look")); !strings.Contains(got, "the token lacks a scope") {
			t.Errorf("a token that was just valid: %s", got)
		}
		apply(&serve.Options{Auth: testAuth(t)})
		if err := control.Apply(t.Context(), &serve.Options{PublicURL: "nonsense"}); err == nil {
			t.Error("an invalid public URL is accepted")
		}
		var scope *serve.ToolScopeError
		wrong := testAuth(t)
		wrong.ToolScopes = map[string][]string{"no_such_tool": {"x"}}
		if err := control.Apply(t.Context(), &serve.Options{Auth: wrong}); !errors.As(err, &scope) {
			t.Errorf("a pattern that matches nothing: %v", err)
		}
		status(http.StatusUnauthorized, "") // nothing has changed

		apply(&serve.Options{Limits: serve.Limits{Rate: 0.01, Burst: 1}})
		status(http.StatusOK, "")
		status(http.StatusTooManyRequests, "")
		apply(&serve.Options{Limits: serve.Limits{Rate: 100, Burst: 100}})
		time.Sleep(time.Second)
		status(http.StatusOK, "")
	})
}

// exposed starts a server with tokens that others can reach, and returns what changes it. It ends with the test.
func exposed(t *testing.T, files serve.TLSFiles) *serve.Control {
	t.Helper()
	ln, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	control := new(serve.Control)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	started := make(chan struct{})
	go func() {
		done <- serve.Serve(ctx, ln, tools{}, &serve.Options{
			Auth:     testAuth(t),
			TLS:      files,
			Live:     serve.Live{Control: control},
			Observer: serve.Observer{Started: func(*serve.Info) { close(started) }},
		})
	}()
	<-started
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return control
}

// TestControlKeepsOthersOut removes the tokens of a server that others can reach.
func TestControlKeepsOthersOut(t *testing.T) {
	control := exposed(t, serve.TLSFiles{})
	if err := control.Apply(t.Context(), nil); !errors.Is(err, serve.ErrExposed) {
		t.Errorf("without auth: %v, want ErrExposed", err)
	}
	if err := control.Apply(t.Context(), &serve.Options{RemoteWithoutAuth: true}); err != nil {
		t.Errorf("in so many words: %v", err)
	}
}

// TestControlBeforeStart verifies that a server starts with the options applied last.
func TestControlBeforeStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		control := new(serve.Control)
		if err := control.Apply(t.Context(), &serve.Options{Auth: testAuth(t)}); err != nil {
			t.Fatal(err)
		}
		r := startWith(t, tools{}, serve.Options{Live: serve.Live{Control: control}})
		defer r.stop(t)
		if got := <-r.call(); !strings.Contains(got, "a bearer token is required") {
			t.Errorf("got %s", got)
		}
	})
}

// TestControlOfCertificates uses other files for new connections, and keeps the old ones if
// they cannot be read.
func TestControlOfCertificates(t *testing.T) {
	dir := t.TempDir()
	named := func(name string) serve.TLSFiles {
		return serve.TLSFiles{Cert: filepath.Join(dir, name+".pem"), Key: filepath.Join(dir, name+".key")}
	}
	writeCertificate(t, named("first"), 1)
	writeCertificate(t, named("second"), 2)
	synctest.Test(t, func(t *testing.T) {
		control := new(serve.Control)
		r := startWith(t, newSource(), serve.Options{
			TLS:  named("first"),
			Live: serve.Live{Control: control},
		})
		defer r.stop(t)
		synctest.Wait()
		r.serial(t, 1)
		if err := control.Apply(t.Context(), &serve.Options{TLS: named("third")}); err == nil {
			t.Error("files that do not exist are accepted")
		}
		r.serial(t, 1)
		if err := control.Apply(t.Context(), &serve.Options{TLS: named("second")}); err != nil {
			t.Fatal(err)
		}
		r.serial(t, 2)
	})
}
