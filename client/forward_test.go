package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/mcptest"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// upstreamText is a server whose every byte is written by a test.
type upstreamText struct {
	conn    *pipeConn
	version mcp.Version
	mu      sync.Mutex
	heard   []heardMessage
}

type heardMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func (u *upstreamText) send(format string, args ...any) {
	_ = u.conn.WriteMessage(fmt.Appendf(nil, format, args...))
}

func (u *upstreamText) result(m heardMessage, result string) {
	u.send(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

// find returns the first received message that ok accepts.
func (u *upstreamText) find(ok func(heardMessage) bool) (heardMessage, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, m := range u.heard {
		if ok(m) {
			return m, true
		}
	}
	return heardMessage{}, false
}

// strangeLists are the lists of an upstreamText, with unknown members.
var strangeLists = map[string]string{
	"tools/list": `{"tools":[{"inputSchema":{"type":"object","x-n":1e400},"name":"one",` +
		`"x":[12345678901234567890],"_meta":{"a/b":1.50}}],"x":1}`,
	"resources/list":           `{"resources":[{"uri":"r://1","name":"r","x":{"\u0061":"\/"}}]}`,
	"resources/templates/list": `{"resourceTemplates":[{"uriTemplate":"r://{n}","name":"t","x":null}]}`,
	"prompts/list":             `{"prompts":[{"name":"p","arguments":[{"name":"a","x":1.0}],"x":true}]}`,
}

const strangeCapabilities = `{"tools":{"listChanged":true},"resources":{"subscribe":true},"prompts":{},` +
	`"logging":{},"completions":{},"x":{}}`

// strange returns a server of one version whose calls are handled by serve.
func strange(
	t *testing.T,
	version mcp.Version,
	serve func(u *upstreamText, m heardMessage),
) (client.Transport, *upstreamText) {
	t.Helper()
	u := &upstreamText{version: version}
	var serving sync.WaitGroup
	t.Cleanup(serving.Wait)
	return &client.Dialer{Name: "strange", Dial: func(context.Context) (mcpserver.Conn, error) {
		ours, theirs := pipe()
		u.conn = theirs
		serving.Go(func() {
			for {
				text, err := theirs.ReadMessage(context.Background())
				if err != nil {
					return
				}
				u.hear(t, text, serve)
			}
		})
		return ours, nil
	}}, u
}

func (u *upstreamText) hear(t *testing.T, text []byte, serve func(u *upstreamText, m heardMessage)) {
	var m heardMessage
	if err := json.Unmarshal(text, &m); err != nil {
		t.Errorf("the server heard %s: %v", text, err)
		return
	}
	u.mu.Lock()
	u.heard = append(u.heard, m)
	u.mu.Unlock()
	list, known := strangeLists[m.Method]
	switch {
	case m.Method == "initialize" && !u.version.Modern():
		u.result(m,
			`{"protocolVersion":"`+u.version.String()+`","capabilities":`+strangeCapabilities+
				`,"serverInfo":{"name":"strange","version":"1"}}`)
	case m.Method == "server/discover" && u.version.Modern():
		u.result(m,
			`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":`+strangeCapabilities+
				`,"ttlMs":0,"cacheScope":"private"}`)
	case m.Method == "initialize" || m.Method == "server/discover":
		u.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID)
	case known:
		u.result(m, list)
	case m.Method == "subscriptions/listen", m.Method == "notifications/initialized":
	case m.Method == "logging/setLevel", m.Method == "ping", m.Method == "resources/subscribe":
		u.result(m, `{}`)
	default:
		serve(u, m)
	}
}

// across runs test with each combination of client and server version.
func across(t *testing.T, test func(t *testing.T, from, server mcp.Version)) {
	for _, server := range versions() {
		for _, from := range versions() {
			t.Run(fmt.Sprintf("%v client/%v server", from, server), func(t *testing.T) { test(t, from, server) })
		}
	}
}

// TestEverythingUnknownPassesThrough ensures that entries, results, notifications and
// errors reach the client as the server's bytes, whatever they contain.
func TestEverythingUnknownPassesThrough(t *testing.T) {
	const callResult = `{"x-first":1e400,"content":[{"type":"text","text":"\u0041\/","x":12345678901234567890}],` +
		`"_meta":{"a/b":[1.0]`
	const readResult = `{"contents":[{"uri":"r://1","text":"t","x":1.0}],"x":1}`
	const promptResult = `{"messages":[{"role":"user","content":{"type":"text","text":"t"},"x":1}],"x":1.0}`
	const completeResult = `{"completion":{"values":["v"],"x":1.0},"x":1}`
	const progress = `"progress":1.50,"total":3.00,"x-extra":{"n":12345678901234567890},"_meta":{"a/b":1.0}`
	const logLine = `{"level":"warning","logger":"l","data":{"k":1e400},"x":1.0}`
	results := map[string]string{
		"tools/call":          callResult + "}}",
		"resources/read":      readResult,
		"prompts/get":         promptResult,
		"completion/complete": completeResult,
	}
	across(t, func(t *testing.T, from, server mcp.Version) {
		transport, _ := strange(t, server, func(u *upstreamText, m heardMessage) {
			if m.Method == "tools/call" && strings.Contains(string(m.Params), `"fail"`) {
				u.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":4711,"message":"no \u0041","data":{"x":[1e400]}}}`, m.ID)
				return
			}
			if m.Method == "tools/call" {
				var p struct {
					Meta struct{ ProgressToken json.RawMessage } `json:"_meta"`
				}
				_ = json.Unmarshal(m.Params, &p)
				u.send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,%s}}`,
					p.Meta.ProgressToken, progress)
				u.send(`{"jsonrpc":"2.0","method":"notifications/message","params":%s}`, logLine)
			}
			result, asked := results[m.Method]
			if !asked {
				return // a notification, such as the end of a subscription
			}
			if server.Modern() {
				result = `{"resultType":"complete",` + result[1:]
			}
			u.result(m, result)
		})
		src := open(t, transport, nil)
		if got := src.State().Version; got != server {
			t.Fatalf("the server is spoken to in %v", got)
		}
		c := mcptest.Connect(t, src, from, nil)
		holds := func(what string, got []byte, parts ...string) {
			t.Helper()
			for _, part := range parts {
				if !strings.Contains(string(got), part) {
					t.Errorf("%s is %s\nwant %s in it", what, got, part)
				}
			}
		}
		if from >= mcp.Version20250618 { // earlier ones do not receive members that their schema lacks
			for method, list := range strangeLists {
				_, entry, _ := strings.Cut(list, "[")
				holds(method, c.Call(method, nil), entry[:strings.LastIndex(entry, "}]")])
			}
			holds("the call",
				c.Call("tools/call", map[string]any{
					"name":  "one",
					"_meta": map[string]any{"progressToken": "tok", "io.modelcontextprotocol/logLevel": "info"},
				}),
				callResult[1:])
			want := map[string]string{
				"notifications/progress": `{"progressToken":"tok",` + progress + `}`,
				"notifications/message":  logLine,
			}
			for _, n := range c.Notifications() {
				if want[n.Method] != string(n.Params) {
					t.Errorf("%s = %s, want %s", n.Method, n.Params, want[n.Method])
				}
				delete(want, n.Method)
			}
			if len(want) > 0 {
				t.Errorf("these have not come: %v", want)
			}
			holds("the resource", c.Call("resources/read", map[string]any{"uri": "r://1"}), readResult[1:len(readResult)-1])
			holds("the prompt", c.Call("prompts/get", map[string]any{"name": "p"}), promptResult[1:len(promptResult)-1])
			holds("the completion",
				c.Call("completion/complete", map[string]any{"ref": map[string]string{"type": "ref/prompt", "name": "p"},
					"argument": map[string]string{"name": "a", "value": "v"}}), completeResult[1:len(completeResult)-1])
		}
		_, e := c.Try("tools/call", map[string]any{"name": "one", "arguments": map[string]bool{"fail": true}})
		if e == nil || e.Code != 4711 || e.Message != "no A" || string(e.Data) != `{"x":[1e400]}` {
			t.Errorf("the error is %+v", e)
		}
	})
}

// TestIDsAreRestored ensures that a client gets its own request ids back, and that the
// server never sees them.
func TestIDsAreRestored(t *testing.T) {
	across(t, func(t *testing.T, from, server mcp.Version) {
		transport, u := strange(t, server, func(u *upstreamText, m heardMessage) {
			u.result(m, `{"resultType":"complete","content":[]}`)
		})
		c := mcptest.Connect(t, open(t, transport, nil), from, nil)
		meta := ""
		if from.Modern() {
			meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/` +
				`clientCapabilities":{}}`
		}
		for _, id := range []string{`9007199254740993`, `-18446744073709551616`, `"a\u0041\/\ud83d\ude00"`, `""`, `0`} {
			got := c.Raw([]byte(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"one"` + meta + `}}`))
			if !strings.HasPrefix(string(got), `{"jsonrpc":"2.0","id":`+id+`,"result":`) {
				t.Errorf("the answer to %s is %s", id, got)
			}
		}
		if m, ok := u.find(func(m heardMessage) bool { return strings.HasPrefix(string(m.ID), "9007") }); ok {
			t.Errorf("the server has heard %s %s", m.ID, m.Method)
		}
	})
}

// TestURLsFirst tests the 2025-11-25 error for requests that need a visit to a URL first.
// A client of that version gets it, and is notified of the end of the visit; a later one
// is asked; an earlier one gets an error that it knows.
func TestURLsFirst(t *testing.T) {
	const required = `{"code":-32042,"message":"sign ` +
		`in","data":{"elicitations":[{"mode":"url","message":"go","url":"https://example.com/1","elicitationId":"e ` +
		`1","x":1.0}]}}`
	for _, from := range mcp.Versions() {
		t.Run(from.String(), func(t *testing.T) {
			var asked []string
			transport, _ := strange(t, mcp.Version20251125, func(u *upstreamText, m heardMessage) {
				u.mu.Lock()
				visited := len(asked) > 0
				u.mu.Unlock()
				if visited {
					u.result(m, `{"content":[{"type":"text","text":"signed in"}]}`)
					return
				}
				u.send(`{"jsonrpc":"2.0","id":%s,"error":%s}`, m.ID, required)
				u.send(`{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"e 1"}}`)
			})
			src := open(t, transport, nil)
			c := mcptest.ConnectStdio(t, src, from,
				&mcptest.ConnectOptions{Answer: func(method string, params json.RawMessage) (any, error) {
					asked = append(asked, method+" "+string(params))
					return map[string]any{"action": "accept"}, nil
				}})
			r, e := c.Try("tools/call", map[string]any{"name": "one"})
			switch {
			case from == mcp.Version20251125:
				if e == nil || e.Code != -32042 || !strings.Contains(required, string(e.Data)) {
					t.Errorf("the call = %s, %+v, want the error as it is", r, e)
				}
				until(t, "the end of the visit", nil, nil, func() bool {
					n := c.Notifications()
					return len(n) == 1 &&
						n[0].Method == "notifications/elicitation/complete" &&
						string(n[0].Params) == `{"elicitationId":"e 1"}`
				})
			case from.Modern():
				if e != nil || !strings.Contains(string(r), "signed in") {
					t.Errorf("the call = %s, %+v", r, e)
				}
				if len(asked) != 1 ||
					!strings.Contains(asked[0], `"url":"https://example.com/1"`) ||
					!strings.Contains(asked[0], `"x":1.0`) ||
					strings.Contains(asked[0], "elicitationId") {
					t.Errorf("the client was asked %q", asked)
				}
			case e == nil || e.Code != mcp.CodeInternalError || e.Message != "sign in":
				t.Errorf("the call = %s, %+v", r, e)
			}
		})
	}
}

// talker is a client whose every byte is written by a test.
type talker struct {
	t    *testing.T
	conn *pipeConn
}

// talk connects a talker to a source.
func talk(t *testing.T, src mcp.Source, version mcp.Version) *talker {
	t.Helper()
	server := mcpserver.New(src, nil)
	ours, theirs := pipe()
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.ServeConn(context.Background(), theirs, nil) })
	t.Cleanup(func() { _ = ours.Close(); serving.Wait(); _ = server.Shutdown(context.Background()) })
	k := &talker{t, ours}
	if !version.Modern() {
		k.say(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + version.String() +
			`","capabilities":{"sampling":{},"elicitation":{},"roots":{}},"clientInfo":{"name":"t","version":"1"}}}`)
		k.await(`"id":0,"result"`)
		k.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	return k
}

func (k *talker) say(text string) {
	if err := k.conn.WriteMessage([]byte(text)); err != nil {
		k.t.Error(err)
	}
}

// await returns the next message that contains part.
func (k *talker) await(part string) string {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(k.t.Context(), patience)
	defer cancel()
	for {
		text, err := k.conn.ReadMessage(ctx)
		if err != nil {
			k.t.Fatalf("no message with %s: %v", part, err)
		}
		if strings.Contains(string(text), part) {
			return string(text)
		}
	}
}

// request returns a request in the format of a version.
func request(version mcp.Version, id, method, members string) string {
	if version.Modern() {
		if members != "" {
			members += ","
		}
		members += `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/` +
			`clientCapabilities":{"sampling":{}}}`
	}
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{` + members + `}}`
}

// TestCancelCrosses ensures that a request cancelled by the client, with its own id, is
// cancelled at the server with ours.
func TestCancelCrosses(t *testing.T) {
	across(t, func(t *testing.T, from, server mcp.Version) {
		began := make(chan heardMessage, 1)
		transport, u := strange(t, server, func(_ *upstreamText, m heardMessage) {
			if m.ID != nil {
				began <- m
			}
		})
		k := talk(t, open(t, transport, nil), from)
		k.say(request(from, `"mine"`, "tools/call", `"name":"one"`))
		m := <-began
		k.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"mine","reason":"bored"}}`)
		until(t, "the cancellation", nil, nil, func() bool {
			got, ok := u.find(func(m heardMessage) bool { return m.Method == "notifications/cancelled" })
			return ok && string(got.Params) == `{"requestId":`+string(m.ID)+`}`
		})
		u.result(m, `{"content":[]}`) // too late
		k.say(request(from, `"next"`, "resources/read", `"uri":"r://9"`))
		u.result(<-began, `{"resultType":"complete","contents":[]}`)
		k.await(`"id":"next","result"`)
	})
}

// TestServerTakesItsQuestionBack ensures that a client waiting for its user is notified
// when the server no longer needs the answer.
func TestServerTakesItsQuestionBack(t *testing.T) {
	for _, from := range []mcp.Version{mcp.Version20241105, mcp.Version20251125, mcp.Version20260728} {
		t.Run(from.String(), func(t *testing.T) {
			called := make(chan heardMessage, 1)
			transport, u := strange(t, mcp.Version20250618, func(u *upstreamText, m heardMessage) {
				switch {
				case m.Method == "tools/call":
					called <- m
					u.send(`{"jsonrpc":"2.0","id":"q/1","method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}`)
				case string(m.ID) == `"q/1"`:
					t.Errorf("the question is answered: %s %s", m.Result, m.Error)
				}
			})
			k := talk(t, open(t, transport, nil), from)
			k.say(request(from, `1`, "tools/call", `"name":"one"`))
			asked := k.await("sampling/createMessage")
			u.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q/1"}}`)
			u.send(`{"jsonrpc":"2.0","id":"after","method":"ping"}`)
			until(t, "the server is read", nil, nil, func() bool {
				_, ok := u.find(func(m heardMessage) bool { return string(m.ID) == `"after"` })
				return ok
			})
			if from.Modern() { // it cannot be notified before it retries
				var r struct {
					Result struct{ RequestState json.RawMessage }
				}
				if err := json.Unmarshal([]byte(asked), &r); err != nil {
					t.Fatal(err)
				}
				u.result(<-called, `{"content":[{"type":"text","text":"without"}]}`)
				k.say(request(from, `2`, "tools/call", `"name":"one","requestState":`+string(r.Result.RequestState)+
					`,"inputResponses":{"question-1":{"role":"assistant","model":"m","content":{"type":"text","text":"late"}}}`))
				k.await(`"text":"without"`)
				return
			}
			var q struct{ ID json.RawMessage }
			if err := json.Unmarshal([]byte(asked), &q); err != nil {
				t.Fatal(err)
			}
			got := k.await("notifications/cancelled")
			if !strings.Contains(got, `"params":{"requestId":`+string(q.ID)+`}`) {
				t.Errorf("%s was asked, %s was taken back", asked, got)
			}
			u.result(<-called, `{"content":[{"type":"text","text":"without"}]}`)
			k.await(`"id":1,"result":{"content":[{"type":"text","text":"without"}]`)
		})
	}
}

// TestQuestionToAClientWithoutSession ensures that a question to a client that does not
// send its session id is refused, and that the call continues.
func TestQuestionToAClientWithoutSession(t *testing.T) {
	for _, from := range []mcp.Version{mcp.Version20250326, mcp.Version20251125} {
		t.Run(from.String(), func(t *testing.T) {
			answers := make(chan string, 1)
			var call heardMessage
			transport, _ := strange(t, mcp.Version20251125, func(u *upstreamText, m heardMessage) {
				if m.Method == "tools/call" {
					call = m
					u.send(
						`{"jsonrpc":"2.0","id":5,"method":"elicitation/create","params":{"message":"who?",` +
							`"requestedSchema":{"type":"object","properties":{}}}}`)
					return
				}
				if m.Method == "" {
					answers <- string(m.Error)
					u.result(call, `{"content":[{"type":"text","text":"unknown"}]}`)
				}
			})
			server := mcpserver.New(open(t, transport, nil), nil)
			t.Cleanup(func() { _ = server.Shutdown(context.Background()) })
			h := server.HTTPHandler(nil)
			post := func(body string) string {
				r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", strings.NewReader(body))
				r.Header = http.Header{
					"Content-Type":         {"application/json"},
					"Accept":               {"application/json, text/event-stream"},
					"Mcp-Protocol-Version": {from.String()},
				}
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				return w.Body.String()
			}
			post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + from.String() +
				`","capabilities":{"elicitation":{}},"clientInfo":{"name":"t","version":"1"}}}`)
			if got := post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); !strings.Contains(got, `"name":"one"`) {
				t.Errorf("tools/list = %s", got)
			}
			if got := post(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"one"}}`); !strings.Contains(got,
				`"text":"unknown"`) {
				t.Errorf("tools/call = %s", got)
			}
			if got := <-answers; !strings.Contains(got, "names no session") {
				t.Errorf("the server received %s", got)
			}
		})
	}
}

// TestListsStayInStep ensures that clients of all versions see the new list when a
// running server changes it.
func TestListsStayInStep(t *testing.T) {
	across(t, func(t *testing.T, from, server mcp.Version) {
		c := &changing{cat: catalogOf("one")}
		src := open(t, memory(t, c), &client.Options{Version: server})
		k := talk(t, src, from)
		changed := `"notifications/tools/list_changed"`
		if from.Modern() {
			k.say(request(from, `"sub"`, "subscriptions/listen",
				`"notifications":{"toolsListChanged":true,"resourceSubscriptions":["world://one"]}`))
			k.await("notifications/subscriptions/acknowledged")
		} else {
			k.say(request(from, `"sub"`, "resources/subscribe", `"uri":"world://one"`))
			k.await(`"id":"sub","result"`)
		}
		until(t, "the server is watched", nil, nil, func() bool { c.mu.Lock(); defer c.mu.Unlock(); return c.changed != nil })
		c.tell(mcp.Change{Tools: true}, "one", "two")
		k.await(changed)
		k.say(request(from, `1`, "tools/list", ``))
		if got := k.await(`"id":1,"result"`); !strings.Contains(got, `"name":"two"`) {
			t.Errorf("tools/list = %s", got)
		}
		// A server of 2026-07-28 gets a new subscription with the added resource.
		news := make(chan struct{})
		var telling sync.WaitGroup
		telling.Go(func() {
			until(t, "the update", nil, func() { c.tell(mcp.Change{URI: "world://one"}) }, func() bool {
				select {
				case <-news:
					return true
				default:
					return false
				}
			})
		})
		got := k.await(`"notifications/resources/updated"`)
		close(news)
		telling.Wait()
		if !strings.Contains(got, `"uri":"world://one"`) {
			t.Errorf("the update is %s", got)
		}
	})
}

// TestChangeBeforeTheSubscription ensures that a change after the lists are first read
// and before the subscription is acknowledged is noticed.
func TestChangeBeforeTheSubscription(t *testing.T) {
	u := &upstreamText{version: mcp.Version20260728}
	var serving sync.WaitGroup
	t.Cleanup(serving.Wait)
	src := open(t, &client.Dialer{Name: "turning", Dial: func(context.Context) (mcpserver.Conn, error) {
		ours, theirs := pipe()
		u.conn = theirs
		serving.Go(func() {
			for turned := false; ; {
				text, err := theirs.ReadMessage(context.Background())
				var m heardMessage
				if err != nil || json.Unmarshal(text, &m) != nil {
					return
				}
				switch {
				case m.Method == "subscriptions/listen":
					turned = true
					u.send(
						`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged",`+
							`"params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{"toolsListChanged":true}}}`,
						m.ID)
				case m.Method == "tools/list" && turned:
					u.result(m,
						`{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"new",`+
							`"inputSchema":{"type":"object"}}]}`)
				default:
					u.hear(t, text, func(*upstreamText, heardMessage) {})
				}
			}
		})
		return ours, nil
	}}, &client.Options{Version: mcp.Version20260728})
	until(t, "the list is the new one", nil, nil, func() bool {
		cat, err := src.Catalog(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(cat.Tools) == 1 && cat.Tools[0].Name == "new"
	})
}

func TestRequestsKeepTheirWords(t *testing.T) {
	across(t, func(t *testing.T, from, server mcp.Version) {
		got := make(chan string, 1)
		transport, _ := strange(t, server, func(u *upstreamText, m heardMessage) {
			var p map[string]json.RawMessage
			_ = json.Unmarshal(m.Params, &p)
			var meta map[string]json.RawMessage
			_ = json.Unmarshal(p["_meta"], &meta)
			got <- string(p["arguments"]) + " " + string(meta["example.com/x"])
			u.result(m, `{"resultType":"complete","content":[]}`)
		})
		c := mcptest.Connect(t, open(t, transport, nil), from, nil)
		c.Call("tools/call", map[string]any{"name": "one",
			"arguments": json.RawMessage(`{"n":12345678901234567890,"s":"\u0041\/","f":1.0}`),
			"_meta":     json.RawMessage(`{"example.com/x":{"y":1e400}}`)})
		if diff := cmp.Diff(`{"n":12345678901234567890,"s":"\u0041\/","f":1.0} {"y":1e400}`, <-got); diff != "" {
			t.Errorf("the server hears (-want +got):\n%s", diff)
		}
	})
}
