package server_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// news is a Source that reports changes on demand, with any catalog.
type news struct {
	mcp.Unimplemented
	catalog *mcp.Catalog

	mu       sync.Mutex
	watchers map[int]func(mcp.Change)
	n        int
}

func newNews() *news {
	return &news{watchers: make(map[int]func(mcp.Change)), catalog: &mcp.Catalog{
		Server:    mcp.Implementation{Name: "news", Version: "1"},
		Tools:     []mcp.Tool{{Name: "talk"}},
		Resources: []mcp.Resource{{Name: "a", URI: "news://a"}, {Name: "b", URI: "news://b"}},
		Prompts:   []mcp.Prompt{{Name: "p"}},
		Subscribe: true, Logging: true,
	}}
}

func (n *news) Catalog(context.Context) (*mcp.Catalog, error) { return n.catalog, nil }

// CallTool sends messages, to show where they go.
func (n *news) CallTool(ctx context.Context, _ *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	r := mcp.RequestFrom(ctx)
	r.Progress(1, 2, "")
	r.Log(mcp.LogError, "", "said")
	return text("done"), nil
}

func (n *news) Watch(changed func(mcp.Change)) (stop func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	id := n.n
	n.n++
	n.watchers[id] = changed
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.watchers, id)
	}
}

func (n *news) tell(c mcp.Change) {
	n.mu.Lock()
	all := make([]func(mcp.Change), 0, 1)
	for _, f := range n.watchers {
		all = append(all, f)
	}
	n.mu.Unlock()
	for _, f := range all {
		f(c)
	}
}

func (n *news) watched() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.watchers) > 0
}

var everything = mcp.Change{Tools: true, Resources: true, Prompts: true}

const (
	toolsChanged     = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n"
	resourcesChanged = `{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}` + "\n"
	promptsChanged   = `{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}` + "\n"
)

func updated(uri string) string {
	return `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"` + uri + `"}}` + "\n"
}

func uriRequest(id int, method, uri string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"uri":%q}}`, id, method, uri)
}

// Sessions of every version are notified of changed lists, and of the resources that they
// have subscribed to.
func TestSessionHearsOfChanges(t *testing.T) {
	for _, v := range legacyVersions(mcp.Version20241105) {
		t.Run(v.String(), func(t *testing.T) {
			onTransports(t, func(t *testing.T, transport string) {
				source := newNews()
				p := connect(t, transport, v, mcpserver.New(source, nil), "")
				p.listen()
				source.tell(everything)
				if got := p.heard(); got != toolsChanged+resourcesChanged+promptsChanged {
					t.Errorf("heard %s", got)
				}
				source.tell(mcp.Change{URI: "news://a"})
				if got := p.heard(); got != "" {
					t.Errorf("heard %s without a subscription", got)
				}
				if got := messages(t, p.call(uriRequest(1, "resources/subscribe", "news://a")),
					1)[0]; string(got.Result) != "{}" {
					t.Errorf("subscribe: %s", got.Result)
				}
				source.tell(mcp.Change{URI: "news://b"})
				source.tell(mcp.Change{URI: "news://a"})
				if got := p.heard(); got != updated("news://a") {
					t.Errorf("heard %s", got)
				}
				if got := messages(t, p.call(uriRequest(2, "resources/unsubscribe", "news://a")),
					1)[0]; string(got.Result) != "{}" {
					t.Errorf("unsubscribe: %s", got.Result)
				}
				source.tell(mcp.Change{URI: "news://a"})
				if got := p.heard() + p.received(); got != "" {
					t.Errorf("heard %s after the subscription", got)
				}
			})
		})
	}
}

// Each session is notified of a change once: on its GET stream or, if there is none, on
// the next one. Sessions without a subscription are not notified.
func TestSessionsHearEachForItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newNews()
		server := mcpserver.New(source, nil)
		one := connect(t, httpTransport, mcp.Version20250618, server, "")
		two := connect(t, httpTransport, mcp.Version20250326, server, "")
		one.call(uriRequest(1, "resources/subscribe", "news://a"))
		two.listen()
		source.tell(mcp.Change{Tools: true, URI: "news://a"})
		if got := two.heard(); got != toolsChanged {
			t.Errorf("the one who listens heard %s", got)
		}
		if got := one.received(); got != "" {
			t.Errorf("the one who does not listen heard %s", got)
		}
		source.tell(mcp.Change{Tools: true, URI: "news://a"})
		one.listen()
		if got := one.heard(); got != toolsChanged+updated("news://a") {
			t.Errorf("on opening its stream it heard %s", got)
		}
	})
}

func TestSubscribeRefused(t *testing.T) {
	deaf := newNews()
	deaf.catalog.Subscribe = false
	empty := &news{catalog: &mcp.Catalog{Subscribe: true}}
	for _, c := range []struct {
		name   string
		source mcp.Source
		body   string
		code   mcp.Code
	}{
		{"not declared", deaf, uriRequest(1, "resources/subscribe", "news://a"), noMethod},
		{"not declared, unsubscribe", deaf, uriRequest(1, "resources/unsubscribe", "news://a"), noMethod},
		{"no resources", empty, uriRequest(1, "resources/subscribe", "news://a"), noMethod},
		{"no uri", newNews(), `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe"}`, badParams},
		{"empty uri", newNews(), uriRequest(1, "resources/subscribe", ""), badParams},
		{"uri of a wrong type", newNews(), `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":7}}`,
			badParams},
		{"unsubscribe without uri", newNews(), `{"jsonrpc":"2.0","id":1,"method":"resources/unsubscribe"}`, badParams},
		{"no session", newNews(), uriRequest(1, "resources/subscribe", "news://a"), invalid},
		{"2026-07-28", newNews(), modern("resources/subscribe", `"uri":"news://a"`), noMethod},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBrowser(c.source, nil)
			if c.name != "no session" {
				b = b.open(t)
			}
			if got := b.post(t, c.body); got.code != c.code {
				t.Errorf("code %d, want %d: %s", got.code, c.code, got.body)
			}
		})
	}
	t.Run("too long", func(t *testing.T) {
		b := newBrowser(newNews(), nil).open(t)
		for size, want := range map[int]mcp.Code{8 << 10: 0, 8<<10 + 1: badParams} {
			uri := "news://" + strings.Repeat("x", size-len("news://"))
			if got := b.post(t, uriRequest(1, "resources/subscribe", uri)); got.code != want {
				t.Errorf("%d bytes: code %d, want %d", size, got.code, want)
			}
		}
	})
}

// Capabilities for changes are declared for sources that can change, if the client can be
// notified.
func TestDeclaredCapabilities(t *testing.T) {
	still := struct{ mcp.Source }{newNews()}               // no Watch
	says := &neverChanges{newNews()}                       // has Watch, but Changes returns false
	quiet := &mcp.Catalog{Tools: []mcp.Tool{{Name: "t"}}}  // only tools
	all := &mcp.Catalog{Completions: true, Logging: true}  // no lists
	tasks := &mcp.Catalog{Tools: quiet.Tools, Tasks: true} // an extension of 2026-07-28
	const changes = `"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},` +
		`"tools":{"listChanged":true}`
	const nothing = `"prompts":{},"resources":{},"tools":{}`
	for _, c := range []struct {
		name    string
		source  mcp.Source
		opts    *mcpserver.HTTPOptions
		version mcp.Version
		want    string
	}{
		{"changes", newNews(), nil, mcp.Version20241105, `{"logging":{},` + changes + `}`},
		{"changes", newNews(), nil, mcp.Version20251125, `{"logging":{},` + changes + `}`},
		{"changes", newNews(), nil, mcp.Version20260728, `{"logging":{},` + changes + `}`},
		{"never changes", still, nil, mcp.Version20250618, `{"logging":{},` + nothing + `}`},
		{"never changes", still, nil, mcp.Version20260728, `{"logging":{},` + nothing + `}`},
		{"says that it never changes", says, nil, mcp.Version20250618, `{"logging":{},` + nothing + `}`},
		{"no GET", newNews(), &mcpserver.HTTPOptions{PostOnly: true}, mcp.Version20250618, `{"logging":{},` + nothing +
			`}`},
		{"no GET", newNews(), &mcpserver.HTTPOptions{PostOnly: true}, mcp.Version20260728, `{"logging":{},` + changes +
			`}`},
		{"no sessions", newNews(), &mcpserver.HTTPOptions{NoSessions: true}, mcp.Version20250618, `{"logging":{},` +
			nothing + `}`},
		{"tools alone", &news{catalog: quiet}, nil, mcp.Version20250618, `{"tools":{"listChanged":true}}`},
		{"no lists", &news{catalog: all}, nil, mcp.Version20241105, `{"logging":{}}`},
		{"no lists", &news{catalog: all}, nil, mcp.Version20250326, `{"completions":{},"logging":{}}`},
		{"no lists", &news{catalog: all}, nil, mcp.Version20260728, `{"completions":{},"logging":{}}`},
		{"tasks", &news{catalog: tasks}, nil, mcp.Version20251125, `{"tools":{"listChanged":true}}`},
		{"tasks", &news{catalog: tasks}, nil, mcp.Version20260728,
			`{"tools":{"listChanged":true},"extensions":{"io.modelcontextprotocol/tasks":{}}}`},
		{"nothing", &news{catalog: &mcp.Catalog{}}, nil, mcp.Version20260728, `{}`},
	} {
		t.Run(c.name+" "+c.version.String(), func(t *testing.T) {
			b := &browser{handler: mcpserver.New(c.source, nil).HTTPHandler(c.opts)}
			begin := strings.Replace(initRequest, "2025-06-18", c.version.String(), 1)
			if c.version.Modern() {
				begin = modern("server/discover", "")
			}
			got := b.post(t, begin)
			if !strings.Contains(got.result, `"capabilities":`+c.want+`,`) {
				t.Errorf("declared %s, want %s", got.body, c.want)
			}
		})
	}
}

type neverChanges struct{ *news }

func (neverChanges) Changes() bool { return false }

// Subscriptions of 2026-07-28.

func listenLine(id, filter string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"subscriptions/listen","params":{"notifications":%s}}`,
		id, filter)
}

// tagged is a notification of the subscription with that raw id.
func tagged(id, method, members string) string {
	if members != "" {
		members = "," + members
	}
	return fmt.Sprintf(
		`{"jsonrpc":"2.0","method":"notifications/%s",`+
			`"params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s}%s}}`+
			"\n",
		method, id, members)
}

func acknowledged(id, filter string) string {
	return tagged(id, "subscriptions/acknowledged", `"notifications":`+filter)
}

// The first message contains the accepted filter, and all messages contain the id of the
// request as written. Then only the requested changes follow.
func TestListenFilter(t *testing.T) {
	deaf := newNews().catalog
	toolsOnly := &mcp.Catalog{Tools: deaf.Tools, Subscribe: true}
	notDeclared := &mcp.Catalog{Resources: newNews().catalog.Resources}
	const uriA = `"uri":"news://a"`
	for _, c := range []struct {
		name, id, filter, supported, heard string
		catalog                            *mcp.Catalog
	}{
		{"tools", `7`, `{"toolsListChanged":true}`, `{"toolsListChanged":true}`, "tools", nil},
		{"prompts", `"7"`, `{"promptsListChanged":true,"toolsListChanged":false}`, `{"promptsListChanged":true}`,
			"prompts", nil},
		{"resources", `-1`, `{"resourcesListChanged":true}`, `{"resourcesListChanged":true}`, "resources", nil},
		{"uris", `"ü\u0000"`, `{"resourceSubscriptions":["news://a","news://c"]}`,
			`{"resourceSubscriptions":["news://a","news://c"]}`, "a", nil},
		{
			"all",
			`9007199254740993`,
			`{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,` +
				`"resourceSubscriptions":["news://a"],"more":[1]}`,
			`{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,` +
				`"resourceSubscriptions":["news://a"]}`,
			"tools resources prompts a", nil,
		},
		{"nothing", `1`, `{}`, `{}`, "", nil},
		{
			"what is not offered",
			`1`,
			`{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,` +
				`"resourceSubscriptions":["news://a"]}`,
			`{"toolsListChanged":true}`,
			"tools",
			toolsOnly,
		},
		{"what is not declared", `1`, `{"resourcesListChanged":true,"resourceSubscriptions":["news://a"]}`,
			`{"resourcesListChanged":true}`, "resources", notDeclared},
	} {
		t.Run(c.name, func(t *testing.T) {
			onTransports(t, func(t *testing.T, transport string) {
				source := newNews()
				if c.catalog != nil {
					source.catalog = c.catalog
				}
				p := connect(t, transport, mcp.Version20260728, mcpserver.New(source, nil), "")
				if got := p.call(listenLine(c.id, c.filter)); got != acknowledged(c.id, c.supported) {
					t.Errorf("acknowledged %s, want %s", got, acknowledged(c.id, c.supported))
				}
				source.tell(everything)
				source.tell(mcp.Change{URI: "news://b"})
				source.tell(mcp.Change{URI: "news://a"})
				got, want := p.received(), ""
				for what := range strings.FieldsSeq(c.heard) {
					if what == "a" {
						want += tagged(c.id, "resources/updated", uriA)
						continue
					}
					want += tagged(c.id, what+"/list_changed", "")
				}
				if got != want {
					t.Errorf("heard %s, want %s", got, want)
				}
			})
		})
	}
}

// choosy is a Source that refuses subscriptions to most URIs.
type choosy struct {
	*news
	asked []string
}

func (c *choosy) Subscribe(_ context.Context, uri string) error {
	c.asked = append(c.asked, uri)
	switch uri {
	case "news://a", "news://b":
		return nil
	}
	return mcp.ResourceNotFound(uri, "")
}

// A subscription keeps each URI once, and only if the source accepts it: what is kept is what is
// acknowledged and booked.
func TestListenKeepsWhatItBooks(t *testing.T) {
	refused := "news://" + strings.Repeat("x", 400)
	filter := `{"resourceSubscriptions":["news://b"` + strings.Repeat(`,"`+refused+`","news://a"`, 1000) + `]}`
	onTransports(t, func(t *testing.T, transport string) {
		source := &choosy{news: newNews()}
		server := mcpserver.New(source, nil)
		p := connect(t, transport, mcp.Version20260728, server, "")
		before := server.Stats().Kept[3]
		want := acknowledged(`1`, `{"resourceSubscriptions":["news://b","news://a"]}`)
		if got := p.call(listenLine(`1`, filter)); got != want {
			t.Errorf("acknowledged %.300s, want %s", got, want)
		}
		if want := []string{"news://b", refused, "news://a"}; !slices.Equal(source.asked, want) {
			t.Errorf("the source was asked %d times, want once for each of 3 URIs", len(source.asked))
		}
		kept := server.Stats().Kept[3]
		if n := kept.Count - before.Count; kept.Kind != "subscription" || n != 2 {
			t.Errorf("%d entries of %s are booked, want 2 subscriptions", n, kept.Kind)
		}
		if n := kept.Bytes - before.Bytes; n < 2*int64(len("news://a")) || n > 500 {
			t.Errorf("%d bytes are booked, want those of two short URIs", n)
		}
		source.tell(mcp.Change{URI: refused})
		source.tell(mcp.Change{URI: "news://a"})
		if got, want := p.received(), tagged(`1`, "resources/updated", `"uri":"news://a"`); got != want {
			t.Errorf("received %s, want %s", got, want)
		}
	})
}

// A subscription that does not fit reaches no other server.
func TestListenIsBookedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &choosy{news: newNews()}
		server := mcpserver.New(source, &mcpserver.Options{Budget: mcpserver.Budget{Subscriptions: 1}})
		p := connect(t, stdioTransport, mcp.Version20260728, server, "")
		got := messages(t, p.call(listenLine(`1`, `{"resourceSubscriptions":["news://a","news://b"]}`)), 1)[0]
		if got.Error == nil || got.Error.Code != mcp.CodeToolBusy || len(source.asked) > 0 {
			t.Errorf("answered %v after asking the source for %q, want a refusal and no question", got.Error, source.asked)
		}
	})
}

func TestListenRefused(t *testing.T) {
	many := `{"resourceSubscriptions":["` + strings.Repeat(`u","`, 10_000) + `u"]}`
	for _, c := range []struct {
		name, params string
		code         mcp.Code
	}{
		{"no filter", ``, badParams},
		{"null", `"notifications":null`, badParams},
		{"array", `"notifications":[]`, badParams},
		{"list of the wrong type", `"notifications":{"toolsListChanged":"yes"}`, badParams},
		{"uris of the wrong type", `"notifications":{"resourceSubscriptions":"news://a"}`, badParams},
		{"a uri of the wrong type", `"notifications":{"resourceSubscriptions":[7]}`, badParams},
		{"too many uris", `"notifications":` + many, badParams},
		{"tasks without the extension", `"notifications":{"taskIds":["t"]}`, noCapability},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got := newBrowser(newNews(), nil).post(t, modern("subscriptions/listen", c.params))
				if got.code != c.code {
					t.Errorf("code %d, want %d: %.200s", got.code, c.code, got.body)
				}
			})
		})
	}
	if got := newBrowser(newNews(), nil).open(t).post(t, listenLine("1", "{}")); got.code != noMethod {
		t.Errorf("before 2026-07-28: %s", got.body)
	}
	body := modern("subscriptions/listen", `"notifications":{}`)
	if got := post(body, "Accept: application/json").do(t, serveHTTP(t, newNews(), nil)); got.code != invalid {
		t.Errorf("a client that takes no event stream: %s", got.body)
	}
}

// Progress and log lines of other requests do not appear in a subscription.
func TestListenBesideRequests(t *testing.T) {
	onTransports(t, func(t *testing.T, transport string) {
		p := connect(t, transport, mcp.Version20260728, mcpserver.New(newNews(), nil), "")
		p.call(listenLine(`"s"`, `{"toolsListChanged":true}`))
		got := p.call(
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"talk","_meta":{"progressToken":"t",` +
				`"io.modelcontextprotocol/logLevel":"debug"}}}`)
		messages(t, got, 3)
		if strings.Contains(got, "subscriptionId") {
			t.Errorf("answered as if it were news: %s", got)
		}
	})
}

// A cancelled subscription sends nothing, and its id may be reused. Other subscriptions
// on the connection continue.
func TestListenCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newNews()
		p := connect(t, stdioTransport, mcp.Version20260728, mcpserver.New(source, nil), "")
		p.call(listenLine(`7`, `{"toolsListChanged":true}`))
		p.call(listenLine(`"7"`, `{"toolsListChanged":true}`))
		if got := messages(t, p.call(listenLine(`7`, `{}`)), 1)[0]; got.Error == nil || got.Error.Code != invalid {
			t.Errorf("an id in use: %s", got.Params)
		}
		p.call(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
		source.tell(everything)
		if got := p.received(); got != tagged(`"7"`, "tools/list_changed", "") {
			t.Errorf("heard %s", got)
		}
		if got := p.call(listenLine(`7`, `{"promptsListChanged":true}`)); got != acknowledged(
			`7`, `{"promptsListChanged":true}`,
		) {
			t.Errorf("again: %s", got)
		}
	})
	synctest.Test(t, func(t *testing.T) { // over HTTP by disconnecting
		source := newNews()
		p := connect(t, httpTransport, mcp.Version20260728, mcpserver.New(source, nil), "")
		p.call(listenLine(`7`, `{"toolsListChanged":true}`))
		if !source.watched() {
			t.Error("the source is not watched")
		}
		p.close()
		source.tell(everything)
		if got := p.received(); got != "" || source.watched() {
			t.Errorf("told %q after the client has gone; watched %v", got, source.watched())
		}
	})
}

// The server ends its subscriptions with the results of their requests.
func TestListenEnds(t *testing.T) {
	result := func(id string) string {
		return fmt.Sprintf(
			`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete",`+
				`"_meta":{"io.modelcontextprotocol/subscriptionId":%[1]s}}}`+"\n",
			id)
	}
	synctest.Test(t, func(t *testing.T) {
		source := newNews()
		server := mcpserver.New(source, nil)
		p := connect(t, httpTransport, mcp.Version20260728, server, "")
		p.call(listenLine(`"s"`, `{"toolsListChanged":true}`))
		if err := server.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if got := p.received(); got != result(`"s"`) {
			t.Errorf("ended with %s", got)
		}
		p.web.running.Wait() // the response must have ended, or the bubble deadlocks
		if source.watched() {
			t.Error("the source is watched still")
		}
		if got := messages(t, p.call(listenLine(`"late"`, `{}`)), 1)[0]; got.Error == nil {
			t.Errorf("after the end: %s", got.Params)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		p := connect(t, stdioTransport, mcp.Version20260728, mcpserver.New(newNews(), nil), "")
		p.call(listenLine(`5`, `{"toolsListChanged":true}`))
		p.close()
		want := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}` + "\n" + result(`5`)
		if got := p.received(); got != want {
			t.Errorf("ended with %s, want %s", got, want)
		}
	})
}

// On an idle stream, a comment is sent periodically to keep it open.
func TestNotificationStreamsAreKeptAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connect(t, httpTransport, mcp.Version20251125, mcpserver.New(newNews(), nil), "")
		p.listen()
		p.web.raw.take()
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := p.web.raw.take(); got != ":\n\n:\n\n" {
			t.Errorf("in a minute of silence it carried %q", got)
		}
	})
}

// The user may complete an elicitation elsewhere while no request waits for it. One
// version has a notification for that.
func TestElicitationComplete(t *testing.T) {
	for _, v := range mcp.Versions() {
		t.Run(v.String(), func(t *testing.T) {
			onTransports(t, func(t *testing.T, transport string) {
				var session mcp.Session
				source := newAsker(func(_ context.Context, r *mcp.Request) (string, error) {
					session = r.Session()
					return "", mcp.URLElicitationRequired("sign in first", mcp.ElicitParams{
						Mode: "url", Message: "sign in", URL: "https://sign.example/", ElicitationID: "e1",
					})
				})
				p := connect(t, transport, v, mcpserver.New(source, nil), "")
				if !v.Modern() {
					p.listen()
				}
				got := messages(t, p.call(askCall), 1)[0]
				if session != nil { // absent in 2026-07-28
					session.ElicitationComplete("e1")
					session.ElicitationComplete(strings.Repeat("e", mcpserver.MaxElicitationID+1)) // is dropped
				}
				heard := p.received()
				if !v.Modern() {
					heard += p.heard()
				}
				if v != mcp.Version20251125 {
					if got.Error == nil || got.Error.Code != mcp.CodeInternalError || got.Error.Data != nil || heard !=
						"" {
						t.Errorf("answered %v %s, then heard %q", got.Error, got.Result, heard)
					}
					return
				}
				if got.Error == nil || got.Error.Code != mcp.CodeURLElicitationRequired ||
					string(got.Error.Data) != `{"elicitations":[{"mode":"url","message":"sign in",`+
						`"url":"https://sign.example/","elicitationId":"e1"}]}` {
					t.Errorf("answered %v", got.Error)
				}
				if want := `{"jsonrpc":"2.0","method":"notifications/elicitation/complete",` +
					`"params":{"elicitationId":"e1"}}` +
					"\n"; heard != want {
					t.Errorf("heard %q, want %q", heard, want)
				}
			})
		})
	}
}
