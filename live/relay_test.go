package live_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/live"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/mcptest"
)

// answerAll answers whatever a client is asked.
func answerAll(method string, _ json.RawMessage) (any, error) {
	switch method {
	case "elicitation/create":
		return map[string]any{"action": "accept", "content": map[string]any{"name": "Ann"}}, nil
	case "sampling/createMessage":
		return map[string]any{"role": "assistant", "model": "m", "content": map[string]any{"type": "text", "text": "yo"}}, nil
	case "roots/list":
		return map[string]any{"roots": []any{}}, nil
	}
	return nil, errors.New("what?")
}

// TestAnyClientToAnyServer: every version on the one side, every version on the
// other, over both transports.
func TestAnyClientToAnyServer(t *testing.T) {
	for _, server := range mcp.Versions() {
		u := newUpstream(t, &world{})
		sources := map[string]*live.Source{
			"stdio": open(t, command(t, "server"), &live.Options{Version: server}),
			"http":  open(t, &live.Endpoint{URL: u.URL + "/mcp"}, &live.Options{Version: server}),
		}
		for transport, src := range sources {
			for _, client := range mcp.Versions() {
				t.Run(fmt.Sprintf("%v client/%v server/%s", client, server, transport), func(t *testing.T) {
					c := mcptest.Connect(t, src, client, &mcptest.ConnectOptions{Answer: answerAll})
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
	if want := map[bool]mcp.Code{true: mcp.CodeInvalidParams, false: mcp.CodeResourceNotFound}[c.Version().Modern()]; e == nil || e.Code != want {
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
	c.Call("tools/call", map[string]any{"name": "progress", "_meta": map[string]any{"progressToken": "tok", "io.modelcontextprotocol/logLevel": "info"}})
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
	for _, client := range []mcp.Version{mcp.Version20260728, mcp.Version20251125} {
		t.Run(client.String(), func(t *testing.T) {
			src := open(t, command(t, "server"), &live.Options{Version: mcp.Version20251125})
			c := mcptest.Connect(t, src, client, nil)
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
			src := open(t, command(t, "server"), &live.Options{Version: v, Answer: func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
				r, err := answerAll(method, params)
				if err != nil {
					return nil, err
				}
				return mcp.Marshal(r)
			}})
			if got := mustCall(t, src, "ask", ""); got != `accept {"name":"Ann"}` {
				t.Errorf("ask = %q", got)
			}
		})
	}
}

// changing is a source whose list and resources change.
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
		case <-time.After(50 * time.Millisecond):
		case <-deadline:
			t.Fatalf("%s: it has not happened", what)
		}
	}
}

func TestChangesAreRelayed(t *testing.T) {
	for _, v := range []mcp.Version{mcp.Version20260728, mcp.Version20251125} {
		t.Run(v.String(), func(t *testing.T) {
			c := &changing{cat: catalogOf("one")}
			u := newUpstream(t, c)
			src := open(t, &live.Endpoint{URL: u.URL + "/mcp"}, &live.Options{Version: v})
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
					heard = heard || (<-news).URI == "world://one"
				}
			}, func() bool { return heard })
		})
	}
}
