package serve_test

import (
	"bufio"
	"cmp"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/serve"
)

// diary is a Source whose tools report progress, and finish once finish is closed.
type diary struct {
	mcp.Unimplemented
	finish chan struct{}
}

func (d *diary) Catalog(context.Context) (*mcp.Catalog, error) {
	return &mcp.Catalog{Tools: []mcp.Tool{{Name: "build"}, {Name: "look"}}}, nil
}

func (d *diary) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	mcp.RequestFrom(ctx).Progress(1, 2, "the start of "+p.Name)
	select {
	case <-d.finish:
	case <-ctx.Done():
	}
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text("the plans of " + p.Name)}}, nil
}

// onlyBuilders is a custom gate without support for tasks: tokens with the scope build
// may call build, and follow such a call by any method.
type onlyBuilders struct{}

func (onlyBuilders) Enter(ctx context.Context, op server.Operation) error {
	if op.Method != "tools/call" || op.Name != "build" && op.Name != "yard_build" {
		return nil
	}
	if p := mcp.PrincipalFrom(ctx); p != nil && slices.Contains(p.Scopes, "build") {
		return nil
	}
	return &mcp.Error{Code: mcp.CodeToolDenied, Message: "for builders alone", Status: http.StatusForbidden}
}

func (onlyBuilders) Leave(context.Context, server.Operation) {}

// twoTokens returns a stronger and a weaker token of one principal.
func twoTokens(t *testing.T) *serve.Tokens {
	t.Helper()
	tokens, err := serve.NewTokens(
		serve.Token{Name: "ann", Token: "strong-0123456789abcdef", Scopes: []string{"read", "build"}},
		serve.Token{Name: "ann", Token: "weak-0123456789abcdef", Scopes: []string{"read"}},
	)
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

// judges are the ways to restrict build to the stronger token.
var judges = map[string]func(o *serve.Options){
	"tool scopes": func(o *serve.Options) { o.Auth.ToolScopes = map[string][]string{"build": {"build"}} },
	"a gate":      func(o *serve.Options) { o.Server.Gate = onlyBuilders{} },
}

// A stream of a session is resumed only with a token that may make the calls in it.
func TestContinuedStreamsNeedTheScopesOfTheirCalls(t *testing.T) {
	for name, judge := range judges {
		t.Run(name, func(t *testing.T) {
			d := &diary{finish: make(chan struct{})}
			o := &serve.Options{Auth: &serve.Auth{Verifiers: []serve.Verifier{twoTokens(t)}, Scopes: []string{"read"}}}
			judge(o)
			site := httptest.NewServer(serve.NewHandler(d, o))
			t.Cleanup(site.Close)
			finish := sync.OnceFunc(func() { close(d.finish) })
			t.Cleanup(finish)
			r := &resuming{t: t, url: site.URL + "/mcp", client: site.Client()}
			for _, method := range []string{"initialize", "notifications/initialized"} {
				w := r.post("strong", sessionOf(method))
				_, _ = io.Copy(io.Discard, w.Body)
				r.session = max(r.session, w.Header.Get("Mcp-Session-Id"))
			}
			build, look := r.begin("build"), r.begin("look")
			w := r.get("weak", build.prime)
			if w.StatusCode != http.StatusForbidden {
				text := make([]byte, 160)
				n, _ := io.ReadAtLeast(w.Body, text, 100)
				t.Fatalf("the weaker token continues build: %s %s", w.Status, text[:n])
			}
			if name == "tool scopes" && !strings.Contains(w.Header.Get("WWW-Authenticate"), `scope="read build"`) {
				t.Errorf("the refusal has the header %v", w.Header)
			}
			if w = r.get("weak", look.prime); w.StatusCode != http.StatusOK {
				t.Errorf("the weaker token may not continue look: %s", w.Status)
			}
			weakLook := w
			finish()
			// The refused attempt has not disconnected the client of the stream.
			if text, _ := io.ReadAll(build.body); !strings.Contains(string(text), "the plans of build") {
				t.Errorf("the stream of build is %s", text)
			}
			if text, _ := io.ReadAll(weakLook.Body); !strings.Contains(string(text), "the plans of look") {
				t.Errorf("the stream of look is %s", text)
			}
			if w = r.get("strong", build.prime); w.StatusCode != http.StatusOK {
				t.Errorf("the stronger token may not continue build: %s", w.Status)
			}
			if text, _ := io.ReadAll(w.Body); !strings.Contains(string(text), "the plans of build") {
				t.Errorf("the continued stream of build is %s", text)
			}
			if w = r.get("weak", build.prime); w.StatusCode != http.StatusForbidden {
				t.Errorf("the weaker token continues what is done: %s", w.Status)
			}
		})
	}
}

// The calls of a batch are made one after the other: a token that may make only the first
// gets no output of the second.
func TestContinuedBatchesNeedTheScopesOfTheirCalls(t *testing.T) {
	d := &diary{finish: make(chan struct{})}
	o := &serve.Options{Auth: &serve.Auth{Verifiers: []serve.Verifier{twoTokens(t)}, Scopes: []string{"read"},
		ToolScopes: map[string][]string{"build": {"build"}}}}
	site := httptest.NewServer(serve.NewHandler(d, o))
	t.Cleanup(site.Close)
	r := &resuming{t: t, url: site.URL + "/mcp", client: site.Client(), version: "2025-03-26"}
	w := r.post("strong", strings.Replace(sessionOf("initialize"), "2025-11-25", "2025-03-26", 1))
	r.session = w.Header.Get("Mcp-Session-Id")
	body := bufio.NewReader(r.post("strong", `[`+callWithProgress("look")+`,`+callWithProgress("build")+`]`).Body)
	prime := firstEvent(t, body)
	if w = r.get("weak", prime); w.StatusCode != http.StatusOK {
		t.Fatalf("the weaker token may not continue look: %s", w.Status)
	}
	close(d.finish)
	text, _ := io.ReadAll(w.Body)
	if !strings.Contains(string(text), "the plans of look") || strings.Contains(string(text), "build") {
		t.Errorf("the weaker token got %s", text)
	}
	if w = r.get("weak", prime); w.StatusCode != http.StatusForbidden {
		t.Errorf("the weaker token continues build: %s", w.Status)
	}
	text, _ = io.ReadAll(r.get("strong", prime).Body)
	if !strings.Contains(string(text), "the plans of build") {
		t.Errorf("the stronger token got %s", text)
	}
}

func sessionOf(method string) string {
	if method != "initialize" {
		return `{"jsonrpc":"2.0","method":"` + method + `"}`
	}
	return `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
		`"clientInfo":{"name":"c","version":"1"}}}`
}

// resuming is a session used with two tokens.
type resuming struct {
	t            *testing.T
	url, session string
	client       *http.Client
	version      string // "" is 2025-11-25
}

func (r *resuming) send(q *http.Request, token string) *http.Response {
	r.t.Helper()
	q.Header.Set("Authorization", "Bearer "+token+"-0123456789abcdef")
	q.Header.Set("MCP-Protocol-Version", cmp.Or(r.version, "2025-11-25"))
	if r.session != "" {
		q.Header.Set("Mcp-Session-Id", r.session)
	}
	w, err := r.client.Do(q)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = w.Body.Close() })
	return w
}

func (r *resuming) post(token, body string) *http.Response {
	r.t.Helper()
	q, _ := http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.url, strings.NewReader(body))
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Accept", "application/json, text/event-stream")
	return r.send(q, token)
}

// get resumes the stream after an event.
func (r *resuming) get(token, after string) *http.Response {
	r.t.Helper()
	q, _ := http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.url, nil)
	q.Header.Set("Accept", "text/event-stream")
	q.Header.Set("Last-Event-Id", after)
	return r.send(q, token)
}

// stream is the response to a call, after its first message.
type stream struct {
	body  *bufio.Reader
	prime string // id of the preceding event
}

func (r *resuming) begin(tool string) stream {
	r.t.Helper()
	body := bufio.NewReader(r.post("strong", callWithProgress(tool)).Body)
	return stream{body, firstEvent(r.t, body)}
}

func callWithProgress(tool string) string {
	return `{"jsonrpc":"2.0","id":"` + tool + `","method":"tools/call","params":{"name":"` + tool +
		`","_meta":{"progressToken":1}}}`
}

// firstEvent reads a stream up to its first message, and returns the id of the first
// event.
func firstEvent(t *testing.T, body *bufio.Reader) (prime string) {
	t.Helper()
	for line := ""; !strings.Contains(line, "the start of"); {
		var err error
		if line, err = body.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		if id, ok := strings.CutPrefix(line, "id: "); ok && prime == "" {
			prime = strings.TrimSpace(id)
		}
	}
	return prime
}

// A gate judges requests that follow a task by the operation of the original call, with
// only the methods that every gate has.
func TestTasksAreJudgedByEveryGate(t *testing.T) {
	for _, renamed := range []bool{false, true} {
		y := &yard{finish: make(chan struct{})}
		handler := serve.NewHandler(y, &serve.Options{
			Auth:   &serve.Auth{Verifiers: []serve.Verifier{twoTokens(t)}, Scopes: []string{"read"}},
			Server: server.Options{Gate: onlyBuilders{}},
		})
		site := httptest.NewServer(handler)
		t.Cleanup(site.Close)
		strong := &tenant{url: site.URL, token: "strong-0123456789abcdef", http: site.Client()}
		weak := &tenant{url: site.URL, token: "weak-0123456789abcdef", http: site.Client()}
		m := taskID.FindStringSubmatch(strong.do(t, strong.modern("tools/call", "build", `"name":"build"`)).body)
		if m == nil {
			t.Fatal("build is not a task")
		}
		y.renamed.Store(renamed)
		if got := <-weak.listenTasks(t, m[1]); strings.Contains(got, m[1]) {
			t.Errorf("the weaker token subscribed to %s", got)
		}
		for method, members := range map[string]string{
			"tasks/get": "", "tasks/update": `,"inputResponses":{}`, "tasks/cancel": "",
		} {
			got := weak.do(t, weak.modern(method, m[1], `"taskId":"`+m[1]+`"`+members))
			if got.status != http.StatusForbidden || got.code() != int(mcp.CodeToolDenied) {
				t.Errorf("renamed %v: %s: %d %s", renamed, method, got.status, got.body)
			}
		}
		close(y.finish)
		if got := strong.state(t, m[1], server.TaskWorking); got != server.TaskCompleted {
			t.Errorf("the task is %s: it was cancelled with the weaker token", got)
		}
	}
}
