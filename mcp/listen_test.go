package mcp_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
)

// A subscription of 2026-07-28, whose messages all carry the id of its request.
var (
	listenCall = strings.Replace(modern("subscriptions/listen", `"notifications":{"toolsListChanged":true,"future":true}`), `"id":1`, `"id":"ü"`, 1)

	listenAck     = `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"ü"},"notifications":{"toolsListChanged":true}}}` + "\n"
	listenChanged = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"ü"}}}` + "\n"
	listenResult  = `{"jsonrpc":"2.0","id":"ü","result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":"ü"}}}` + "\n"
	listenCancel  = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"ü"}}`
)

func TestStdioListen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDemo()
		p := startPipe(t, d, nil)
		want := func(step, want string) {
			t.Helper()
			if got := p.received(); got != want {
				t.Errorf("%s:\n%s\nwant\n%s", step, got, want)
			}
		}
		p.send(listenCall)
		want("first", listenAck)
		d.changed(mcp.Change{Prompts: true, Resources: true, URI: "test://text"})
		want("not asked for", "")
		d.changed(mcp.Change{Tools: true, Prompts: true})
		want("asked for", listenChanged)
		p.send(listenCancel)
		d.changed(mcp.Change{Tools: true})
		want("cancelled", "")
		p.send(listenCall)
		want("again", listenAck)
		if err := p.close(); err != nil {
			t.Errorf("ServeStdio = %v", err)
		}
		want("ended by the server", listenCancel+"\n"+listenResult)
	})
}

func TestHTTPListen(t *testing.T) {
	addr := serveHTTP(t, newDemo(), nil)
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	r := post(listenCall)
	if _, err := io.WriteString(conn, r.line+"\r\n"+strings.Join(r.fields, "\r\n")+"\r\n\r\n"+r.body); err != nil {
		t.Fatal(err)
	}
	w, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	for name, want := range map[string]string{"Content-Type": "text/event-stream", "X-Accel-Buffering": "no", "Cache-Control": "no-cache", "Mcp-Session-Id": ""} {
		if got := w.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	event := make([]byte, len("event: message\ndata: ")+len(listenAck))
	if _, err := io.ReadFull(w.Body, event); err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimPrefix(string(event), "event: message\ndata: "); got != listenAck {
		t.Errorf("first event:\n%s\nwant\n%s", got, listenAck)
	}
}

// A filter that cannot be read is refused, and a client that accepts no events.
func TestListenRefused(t *testing.T) {
	addr := serveHTTP(t, newDemo(), nil)
	for _, c := range []rung{
		{name: "no filter", send: post(modern("subscriptions/listen", "")), status: 200, code: badParams, id: "1"},
		{name: "filter that is no object", send: post(modern("subscriptions/listen", `"notifications":[]`)), status: 200, code: badParams, id: "1"},
		{name: "filter of the wrong types", send: post(modern("subscriptions/listen", `"notifications":{"toolsListChanged":"yes"}`)), status: 200, code: badParams, id: "1"},
		{name: "no events", send: post(modern("subscriptions/listen", `"notifications":{}`), "Accept: application/json"), status: 200, code: invalid, id: "1"},
		{name: "before 2026-07-28", send: post(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{}}}`), status: 200, code: noMethod, id: "1"},
	} {
		t.Run(c.name, func(t *testing.T) { c.check(t, c.send.do(t, addr)) })
	}
}
