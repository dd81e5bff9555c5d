package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/apps"
	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/mcptest"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// answerAll answers every question to a client.
func answerAll(method string, _ json.RawMessage) (any, error) {
	switch method {
	case "elicitation/create":
		return map[string]any{"action": "accept", "content": map[string]any{"name": "Ann"}}, nil
	case "sampling/createMessage":
		return map[string]any{"role": "assistant", "model": "m", "content": map[string]any{"type": "text", "text": "yo"}}, nil
	case "roots/list":
		return map[string]any{"roots": []any{
			map[string]any{"uri": "file:///home/ann"},
			map[string]any{"uri": "file:///srv"},
		}}, nil
	}
	return nil, errors.New("what?")
}

// TestAnyClientToAnyServer tests every client version with every server version, over all
// transports.
func TestAnyClientToAnyServer(t *testing.T) {
	t.Parallel()
	for _, server := range mcp.Versions() {
		u := newUpstream(t, &world{})
		sources := map[string]*client.Source{
			"stdio": open(t, command(t, "server"), &client.Options{Version: server}),
			"http":  open(t, &client.Endpoint{URL: u.URL + "/mcp"}, &client.Options{Version: server}),
			"conn":  open(t, memory(t, &world{}), &client.Options{Version: server}),
		}
		if !server.Modern() {
			sources["sse"] = open(t, &client.Endpoint{URL: oldServer(t, &world{}).URL + "/sse"},
				&client.Options{Version: server})
		}
		for transport, src := range sources {
			for _, from := range mcp.Versions() {
				t.Run(fmt.Sprintf("%v client/%v server/%s", from, server, transport), func(t *testing.T) {
					c := mcptest.Connect(t, src, from, &mcptest.ConnectOptions{Answer: answerAll})
					tryEverything(t, c, server)
				})
			}
		}
	}
}

func tryEverything(t *testing.T, c *mcptest.Client, server mcp.Version) {
	t.Helper()
	textOf := func(tool string, args any) string {
		t.Helper()
		r := c.CallTool(tool, args)
		if len(r.Content) != 1 {
			t.Fatalf("%s = %+v", tool, r)
		}
		return r.Content[0].Text
	}
	if got := textOf("echo", map[string]any{"text": "hé"}); got != "hé" {
		t.Errorf("echo = %q", got)
	}
	if n := len(c.Tools()); n != len(worldCatalog.Tools) {
		t.Errorf("%d tools, want %d", n, len(worldCatalog.Tools))
	}
	if r := c.ReadResource("world://7"); len(r.Contents) != 1 || r.Contents[0].Text != "7" {
		t.Errorf("read = %+v", r)
	}
	_, e := c.Try("resources/read", map[string]any{"uri": "other://x"})
	if want := map[bool]mcp.Code{
		true:  mcp.CodeInvalidParams,
		false: mcp.CodeResourceNotFound,
	}[c.Version().Modern()]; e == nil || e.Code != want {
		t.Errorf("read of nothing: %v, want code %d", e, want)
	}
	if p := c.GetPrompt("greet", map[string]string{"name": "Ann"}); p.Messages[0].Content.Text != "Hello, Ann" {
		t.Errorf("prompt = %+v", p)
	}
	if server >= mcp.Version20250618 && c.Version() >= mcp.Version20250618 {
		if got := textOf("ask", nil); got != `accept {"name":"Ann"}` {
			t.Errorf("ask = %q", got)
		}
	}
	if got := textOf("sample", nil); got != "yo" {
		t.Errorf("sample = %q", got)
	}
	if got := textOf("roots", nil); got != "2" {
		t.Errorf("roots = %q", got)
	}
	if server >= mcp.Version20251125 && c.Version() >= mcp.Version20251125 {
		if got := textOf("visit", nil); got != "accept" {
			t.Errorf("visit = %q", got)
		}
	}
	const structured = `"structuredContent":{"n":12345678901234567890}`
	if r := c.Call("tools/call", map[string]any{"name": "structured"}); !strings.Contains(string(r), structured) {
		t.Errorf("structured = %s", r)
	}
	if _, e := c.Try("tools/call", map[string]any{"name": "fails"}); e == nil ||
		e.Code != -31042 ||
		e.Message != "it failed" ||
		string(e.Data) != `{"why":"because"}` {
		t.Errorf("fails = %+v", e)
	}
	c.Call("tools/call", map[string]any{
		"name":  "progress",
		"_meta": map[string]any{"progressToken": "tok", "io.modelcontextprotocol/logLevel": "info"},
	})
	steps, lines := 0, 0
	for _, n := range c.Notifications() {
		switch n.Method {
		case "notifications/progress":
			steps++
			if !strings.Contains(string(n.Params), `"progressToken":"tok"`) {
				t.Errorf("progress = %s, want the client's token", n.Params)
			}
		case "notifications/message":
			lines++
		}
	}
	if steps != 3 || lines != 1 {
		t.Errorf("%d notifications of progress and %d log lines, want 3 and 1", steps, lines)
	}
}

func TestClientThatCannotBeAsked(t *testing.T) {
	for _, from := range []mcp.Version{mcp.Version20260728, mcp.Version20251125} {
		t.Run(from.String(), func(t *testing.T) {
			src := open(t, command(t, "server"), &client.Options{Version: mcp.Version20251125})
			c := mcptest.Connect(t, src, from, nil)
			r, e := c.Try("tools/call", map[string]any{"name": "ask"})
			if e == nil && !strings.Contains(string(r), `"isError":true`) {
				t.Errorf("ask = %s, want a failure", r)
			}
		})
	}
}

func TestProgramAnswers(t *testing.T) {
	for _, v := range []mcp.Version{mcp.Version20260728, mcp.Version20251125} {
		t.Run(v.String(), func(t *testing.T) {
			answer := func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
				r, err := answerAll(method, params)
				if err != nil {
					return nil, err
				}
				text, err := mcp.Marshal(r)
				return bytes.ReplaceAll(text, []byte(`:`), []byte(":\r\n")), err // a message on stdio is one line
			}
			src := open(t, command(t, "server"), &client.Options{Version: v, Questions: client.Questions{Answer: answer}})
			if got := mustCall(t, src, "ask", ""); got != `accept {"name":"Ann"}` {
				t.Errorf("ask = %q", got)
			}
		})
	}
}

// changing is a source whose lists and resources change.
type changing struct {
	world
	mu      sync.Mutex
	cat     *mcp.Catalog
	changed func(mcp.Change)
}

func (c *changing) Catalog(context.Context) (*mcp.Catalog, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cat, nil
}

func (c *changing) Watch(changed func(mcp.Change)) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changed = changed
	return func() { c.mu.Lock(); defer c.mu.Unlock(); c.changed = nil }
}

func (c *changing) tell(change mcp.Change, tools ...string) {
	c.mu.Lock()
	if tools != nil {
		c.cat = catalogOf(tools...)
	}
	changed := c.changed
	c.mu.Unlock()
	if changed != nil {
		changed(change)
	}
}

func catalogOf(tools ...string) *mcp.Catalog {
	cat := &mcp.Catalog{Server: mcp.Implementation{Name: "changing", Version: "1"}, Subscribe: true,
		Resources: []mcp.Resource{{URI: "world://one", Name: "one"}}}
	for _, name := range tools {
		cat.Tools = append(cat.Tools, mcp.Tool{Name: name, Description: "d"})
	}
	return cat
}

// until fails the test if ok does not become true in time.
func until(t *testing.T, what string, news <-chan mcp.Change, poke func(), ok func() bool) {
	t.Helper()
	deadline := time.After(15 * time.Second)
	for !ok() {
		if poke != nil {
			poke()
		}
		select {
		case <-news:
		case <-time.After(2 * time.Millisecond):
		case <-deadline:
			t.Fatalf("%s: it has not happened", what)
		}
	}
}

// memory connects to a source over an in-memory connection.
func memory(t *testing.T, src mcp.Source) client.Transport {
	t.Helper()
	server := mcpserver.New(src, nil)
	var serving sync.WaitGroup
	t.Cleanup(func() { _ = server.Shutdown(context.Background()); serving.Wait() })
	return &client.Dialer{Name: "memory", Dial: func(context.Context) (mcpserver.Conn, error) {
		ours, theirs := pipe()
		serving.Go(func() { _ = server.ServeConn(context.Background(), theirs, nil) })
		return ours, nil
	}}
}

func TestChangesAreRelayed(t *testing.T) {
	for _, v := range []mcp.Version{mcp.Version20260728, mcp.Version20251125} {
		for _, over := range []string{"http", "connection"} {
			t.Run(v.String()+"/"+over, func(t *testing.T) {
				c := &changing{cat: catalogOf("one")}
				transport := memory(t, c)
				if over == "http" {
					transport = &client.Endpoint{URL: newUpstream(t, c).URL + "/mcp"}
				}
				tryChanges(t, c, open(t, transport, &client.Options{Version: v}))
			})
		}
	}
}

func tryChanges(t *testing.T, c *changing, src *client.Source) {
	t.Helper()
	news := make(chan mcp.Change, 1000)
	stop := src.Watch(func(ch mcp.Change) { news <- ch })
	defer stop()
	until(t, "a tool that was added", news, func() { c.tell(mcp.Change{Tools: true}, "one", "two") }, func() bool {
		cat, err := src.Catalog(t.Context())
		return err == nil && cat.Tool("two") != nil
	})
	if err := src.Subscribe(t.Context(), "world://one"); err != nil {
		t.Fatal(err)
	}
	heard := false
	until(t, "a resource that changed", nil, func() {
		c.tell(mcp.Change{URI: "world://one"})
		for len(news) > 0 {
			heard = (<-news).URI == "world://one" || heard
		}
	}, func() bool { return heard })
}

// patient signals the begin and end of a call of block.
type patient struct {
	world
	began, ended chan struct{}
}

func (p *patient) CallTool(ctx context.Context, params *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	if params.Name != "block" {
		return p.world.CallTool(ctx, params)
	}
	p.began <- struct{}{}
	<-ctx.Done()
	close(p.ended)
	return nil, ctx.Err()
}

func TestCancelReachesTheServer(t *testing.T) {
	for _, v := range []mcp.Version{mcp.Version20260728, mcp.Version20251125} {
		for _, over := range []string{"http", "connection"} {
			t.Run(v.String()+"/"+over, func(t *testing.T) {
				p := &patient{began: make(chan struct{}), ended: make(chan struct{})}
				transport := memory(t, p)
				if over == "http" {
					transport = &client.Endpoint{URL: newUpstream(t, p).URL + "/mcp"}
				}
				src := open(t, transport, &client.Options{Version: v})
				ctx, cancel := context.WithCancel(t.Context())
				ended := startCall(src, ctx, "")
				<-p.began
				cancel()
				<-p.ended
				if err := <-ended; !errors.Is(err, context.Canceled) {
					t.Errorf("the call ends with %v", err)
				}
			})
		}
	}
}

// visiting sends its user to a URL, and announces the completion.
type visiting struct{ world }

func (v *visiting) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	req := mcp.RequestFrom(ctx)
	if _, err := req.Elicit(ctx, &mcp.ElicitParams{
		Mode:          "url",
		URL:           "https://example.com",
		Message:       "go",
		ElicitationID: "e-17",
	}); err != nil {
		return nil, err
	}
	req.Session().ElicitationComplete("e-17")
	return &mcp.CallToolResult{}, nil
}

func TestVisitsAreCompleted(t *testing.T) {
	src := open(t, memory(t, &visiting{}), &client.Options{Version: mcp.Version20251125})
	c := mcptest.ConnectStdio(t, src, mcp.Version20251125, &mcptest.ConnectOptions{Answer: answerAll})
	c.CallTool("pid", nil)
	until(t, "the end of a visit", nil, nil, func() bool {
		for _, n := range c.Notifications() {
			if n.Method == "notifications/elicitation/complete" && strings.Contains(string(n.Params), "e-17") {
				return true
			}
		}
		return false
	})
}

// pages has a tool that only clients with MCP Apps see.
type pages struct{ mcp.Unimplemented }

func (pages) Catalog(ctx context.Context) (*mcp.Catalog, error) {
	if mcp.RequestFrom(ctx) != nil && !apps.Supported(ctx) {
		return catalogOf("show"), nil
	}
	return catalogOf("show", "refresh"), nil
}

func (pages) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(fmt.Sprint(p.Name, " ", apps.Supported(ctx)))}}, nil
}

// TestAppsAreDeclared ensures that servers of all versions offer the tools of their
// pages, regardless of the client's declaration.
func TestAppsAreDeclared(t *testing.T) {
	declares := []string{`{}`, `{ }`, `{"roots":{}}`, `{"extensions":{"x/y":{}}}`,
		`{"extensions":{"x/y":{},"io.modelcontextprotocol/tasks":{}},"tasks":{}}`,
		`{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}`}
	for _, server := range mcp.Versions() {
		src := open(t, memory(t, pages{}), &client.Options{Version: server})
		if got := mustCall(t, src, "refresh", ""); got != "refresh true" {
			t.Errorf("%v: a program is answered %q", server, got)
		}
		for _, from := range []mcp.Version{mcp.Version20251125, mcp.Version20260728} {
			for _, caps := range declares {
				c := mcptest.Connect(t, src, from, &mcptest.ConnectOptions{Capabilities: json.RawMessage(caps)})
				if got := c.CallTool("refresh", nil); len(got.Content) != 1 || got.Content[0].Text != "refresh true" {
					t.Errorf("%v client that declares %s, %v server: %+v", from, caps, server, got)
				}
			}
		}
	}
}

// A server of 2026-07-28 that does not declare subscriptions has none: it would acknowledge them
// without the resource.
func TestSubscribeNeedsTheCapability(t *testing.T) {
	for _, v := range []mcp.Version{mcp.Version20260728, mcp.Version20251125} {
		src := open(t, memory(t, &world{}), &client.Options{Version: v})
		err := src.Subscribe(t.Context(), "world://one")
		var e *mcp.Error
		if !errors.As(err, &e) || e.Code != mcp.CodeMethodNotFound {
			t.Errorf("%s: Subscribe = %v, want that the method does not exist", v, err)
		}
		if got := src.Subscribed(); len(got) > 0 {
			t.Errorf("%s: subscribed to %q", v, got)
		}
	}
}
