package server_test

import (
	"bytes"
	"cmp"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
)

// slowCatalog takes a second, or the time in it, to return its catalog.
type slowCatalog struct {
	mcp.Unimplemented
	takes time.Duration
}

func (s slowCatalog) Catalog(context.Context) (*mcp.Catalog, error) {
	<-time.After(cmp.Or(s.takes, time.Second))
	return &mcp.Catalog{Server: mcp.Implementation{Name: "slow", Version: "1"}, Tools: []mcp.Tool{{Name: "t"}}}, nil
}

// Scripts write the whole conversation at once. A request after initialize must not
// overtake it, however long it takes.
func TestStdioInitializeIsNotOvertaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := strings.NewReader(initRequest + `
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
`)
		var out bytes.Buffer
		if err := server.New(slowCatalog{}, nil).ServeStdio(t.Context(), in, &out, nil); err != nil {
			t.Fatal(err)
		}
		answers := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(answers) != 2 ||
			!strings.Contains(answers[0], `"id":1,"result"`) ||
			!strings.Contains(answers[1], `"id":2,"result"`) {
			t.Errorf("answers:\n%s", out.String())
		}
	})
}

// Nor can initialize be cancelled: the client would not know whether the session exists.
func TestInitializeCannotBeCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMailbox()
		ended := serveConn(t.Context(), slowCatalog{}, m, nil)
		m.in <- initRequest
		m.in <- `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`
		time.Sleep(2 * time.Second)
		m.in <- pingRequest
		time.Sleep(2 * time.Second)
		for _, got := range messages(t, m.came(), 2) {
			if got.Error != nil {
				t.Errorf("answered %v", got.Error)
			}
		}
		close(m.in)
		<-ended
	})
	synctest.Test(t, func(t *testing.T) { // over HTTP, no other request knows the session yet
		b := newBrowser(slowCatalog{}, nil)
		answer := b.start(t, initRequest)
		b.post(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		time.Sleep(2 * time.Second)
		if got := <-answer; got.status != 200 || got.header.Get("Mcp-Session-Id") == "" {
			t.Errorf("answered with status %d: %s", got.status, got.body)
		}
	})
}
