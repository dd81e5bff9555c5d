package serve_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/serve"
	"github.com/slipway-mcp/slipway/ws"
)

// waiting is a Source with slow tools: ask waits for the user, report sends progress and
// checks now and then whether it was cancelled, wait sends nothing, and nap takes five
// minutes.
type waiting struct{ mcp.Unimplemented }

func (waiting) Catalog(context.Context) (*mcp.Catalog, error) {
	return &mcp.Catalog{Tools: []mcp.Tool{{Name: "ask"}, {Name: "report"}, {Name: "wait"}, {Name: "nap"}}}, nil
}

func (waiting) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	done := &mcp.CallToolResult{Content: []mcp.Content{mcp.Text("the plans")}}
	switch p.Name {
	case "ask":
		form := []byte(`{"type":"object","properties":{}}`)
		_, err := mcp.RequestFrom(ctx).Elicit(ctx, &mcp.ElicitParams{Message: "who?", RequestedSchema: form})
		return done, err
	case "report":
		for n := 1.0; ctx.Err() == nil; n++ {
			mcp.RequestFrom(ctx).Progress(n, 0, "")
			time.Sleep(3 * time.Second)
		}
		return done, nil // the client does not get this result
	case "nap":
		select {
		case <-time.After(5 * time.Minute):
			return done, nil
		case <-ctx.Done():
		}
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientCapabilities":{},"progressToken":7}`

// initializeAsking starts a session of a client that supports elicitation.
const initializeAsking = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
	`"capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}`

func (r *running) begin(t *testing.T) {
	t.Helper()
	w := r.ask(t, "POST", "/mcp", initializeAsking)
	_, _ = io.Copy(io.Discard, w.Body)
	r.session = w.Header.Get("Mcp-Session-Id")
}

// calls are the ways to keep a call waiting. Each returns the output until it ended.
var calls = map[string]func(t *testing.T, r *running) string{
	"a question": func(t *testing.T, r *running) string {
		r.begin(t)
		return r.read(t, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask"}}`)
	},
	"a question whose client comes back": func(t *testing.T, r *running) string {
		r.begin(t)
		w := r.ask(t, "POST", "/mcp", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask"}}`)
		lines := bufio.NewReader(w.Body)
		id := ""
		for line := ""; !strings.Contains(line, "who?"); {
			line, _ = lines.ReadString('\n')
			if after, ok := strings.CutPrefix(line, "id: "); ok {
				id = strings.TrimSpace(after)
			}
		}
		_ = w.Body.Close()
		q, _ := http.NewRequestWithContext(t.Context(), "GET", "http://localhost/mcp", nil)
		q.Header = http.Header{"Authorization": {"Bearer " + readerToken}, "Accept": {"text/event-stream"},
			"Mcp-Session-Id": {r.session}, "Last-Event-Id": {id}}
		w, err := r.client.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Body.Close()
		text, _ := io.ReadAll(w.Body)
		return string(text)
	},
	"progress": func(t *testing.T, r *running) string {
		return r.readModern(t, "report")
	},
	"silence": func(t *testing.T, r *running) string {
		return r.readModern(t, "wait")
	},
	"a batch": func(t *testing.T, r *running) string {
		return r.read(t, `[{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wait"}}]`)
	},
}

func (r *running) read(t *testing.T, body string) string {
	t.Helper()
	w := r.ask(t, "POST", "/mcp", body)
	text, _ := io.ReadAll(w.Body)
	return string(text)
}

func (r *running) readModern(t *testing.T, tool string) string {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), "POST", "http://localhost/mcp", strings.NewReader(
		fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":%q,%s}}`, tool, modernMeta)))
	if err != nil {
		t.Fatal(err)
	}
	q.Header = http.Header{"Authorization": {"Bearer " + readerToken}, "Content-Type": {"application/json"},
		"Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {"2026-07-28"},
		"Mcp-Method": {"tools/call"}, "Mcp-Name": {tool}}
	w, err := r.client.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	text, _ := io.ReadAll(w.Body)
	return string(text)
}

// TestCallsEndWithTheirToken keeps calls waiting beyond the lifetime of their token.
func TestCallsEndWithTheirToken(t *testing.T) {
	ends := map[string]func(l *lease){
		"expired":         func(*lease) {},
		"revoked":         func(l *lease) { l.fail(serve.ErrToken) },
		"a scope is lost": func(l *lease) { l.principal.Store(&mcp.Principal{Name: "ann"}) },
	}
	for name, call := range calls {
		for end, act := range ends {
			t.Run(name+", "+end, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					const life = 5 * time.Minute // a request may take 10
					l := newLease(time.Time{})
					if end == "expired" {
						l = newLease(time.Now().Add(life))
					}
					auth := &serve.Auth{Verifiers: []serve.Verifier{l}, Scopes: []string{"read"}}
					r := startWith(t, waiting{}, serve.Options{Auth: auth})
					defer func() {
						r.cancel()
						<-r.done
					}()
					began := time.Now()
					go func() {
						time.Sleep(life)
						act(l)
					}()
					got := call(t, r)
					if took := time.Since(began); took < life || took > life+30*time.Second {
						t.Errorf("the call ended after %v, want %v to 30s later", took, life)
					}
					// A stream that is resumed elsewhere may end before the answer.
					resumed := strings.HasSuffix(name, "comes back") && got == ""
					const want = `"id":2,"error":{"code":-31006,"message":"the request was cancelled: its token`
					if !resumed && !strings.Contains(got, want) {
						t.Errorf("the answer is %s", got)
					}
				})
			})
		}
	}
}

// TestCallsEndWithTheirSocket keeps a call waiting on a WebSocket whose token is revoked.
func TestCallsEndWithTheirSocket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLease(time.Time{})
		src := newSource()
		r := startWith(t, src, serve.Options{Auth: &serve.Auth{Verifiers: []serve.Verifier{l}}})
		defer func() {
			r.cancel()
			<-r.done
		}()
		c, err := ws.Dial(t.Context(), "ws://localhost/ws", &ws.DialOptions{Client: r.client, Token: readerToken})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		msg := fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"slow",%s}}`, modernMeta)
		if err := c.WriteMessage([]byte(msg)); err != nil {
			t.Fatal(err)
		}
		<-src.entered
		l.fail(serve.ErrToken)
		began := time.Now()
		for err == nil {
			_, err = c.ReadMessage(t.Context())
		}
		synctest.Wait()
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("the connection ended after %v", took)
		}
		src.release <- struct{}{}
		if synctest.Wait(); len(src.release) != 1 {
			t.Error("the call goes on without its client")
		}
	})
}

// A call whose token stays valid is not interrupted, however often the token is checked.
func TestCallsOutlastChecks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := startWith(t, waiting{}, serve.Options{Auth: &serve.Auth{Verifiers: []serve.Verifier{newLease(time.Time{})}}})
		defer func() {
			r.cancel()
			<-r.done
		}()
		for range 2 { // checks stop in between, and start again
			if got := r.readModern(t, "nap"); !strings.Contains(got, "the plans") {
				t.Errorf("the answer is %s", got)
			}
			time.Sleep(90 * time.Second) // shorter than the idle timeout, which would race with the next request
		}
	})
}
