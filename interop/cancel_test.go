package interop_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A stuckHost serves a site but holds back its answer to wait(key=held) until it is
// released.
type stuckHost struct {
	*httptest.Server
	asked   chan struct{} // receives when the held answer is requested
	dropped chan struct{} // receives when the requester disconnects
	release chan struct{} // closed to send the answer
}

func startStuckHost(t *testing.T) *stuckHost {
	t.Helper()
	dir := t.TempDir()
	writeObject(t, filepath.Join(dir, "mcp.json"), object{
		"protocolVersion": v0618,
		"serverInfo":      object{"name": "stuck-site", "version": "1.0.0"},
		"capabilities": object{"resources": []object{}, "tools": []object{
			tool("wait", "Waits for some keys.", []string{"key"}, object{"key": object{"type": "string"}}),
		}},
	})
	writeObject(t, filepath.Join(dir, "tools", "wait", "held.json"), answer(text("held answer")))
	writeObject(t, filepath.Join(dir, "tools", "wait", "quick.json"), answer(text("quick answer")))
	h := &stuckHost{
		asked:   make(chan struct{}, 100),
		dropped: make(chan struct{}, 100),
		release: make(chan struct{}),
	}
	files := http.FileServer(http.Dir(dir))
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/held.json") {
			h.asked <- struct{}{}
			select {
			case <-h.release:
			case <-r.Context().Done():
				h.dropped <- struct{}{}
				return
			}
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(h.Close)
	return h
}

// TestCancel cancels a call whose answer is held back by a remote host. The call must
// return at once, the connection must keep working while the host still hangs, and the
// same call must succeed once the host has recovered.
func TestCancel(t *testing.T) {
	for _, kind := range sdks() {
		for _, transport := range transports() {
			for _, version := range []string{v0618, v1125, v0728} {
				t.Run(kind.name+"/"+transport+"/"+version, func(t *testing.T) {
					host := startStuckHost(t)
					to := target{source: []string{host.URL + "/"}}
					if transport == "http" {
						to = serve(t, host.URL+"/")
					}
					c := kind.connect(t, transport, to, version)
					checkCancel(t, c, host)
					// Before 2026-07-28, closing an HTTP response does not cancel the request, and
					// mcp-go sends nothing else.
					if !(kind.name == "mcp-go" && transport == "http" && !modern(version)) {
						await(t, host.dropped, "the host was not notified of the cancellation")
					}
					close(host.release)
					checkCall(t, c, exchange{"wait", object{"key": "held"}, object{
						"content": []any{object{"type": "text", "text": "held answer"}},
					}})
				})
			}
		}
	}
}

func checkCancel(t *testing.T, c client, host *stuckHost) {
	t.Helper()
	ctx, cancel := context.WithCancel(limited(t))
	ended := make(chan error, 1)
	go func() {
		_, err := c.call(ctx, "wait", object{"key": "held"})
		ended <- err
	}()
	await(t, host.asked, "the held answer was not asked for")
	cancel()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled call: %v, want %v", err, context.Canceled)
		}
	case <-time.After(patience):
		t.Fatal("the cancelled call did not come back")
	}
	checkCall(t, c, exchange{"wait", object{"key": "quick"}, object{
		"content": []any{object{"type": "text", "text": "quick answer"}},
	}})
}

func await(t *testing.T, c <-chan struct{}, otherwise string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		t.Error(otherwise)
	}
}
