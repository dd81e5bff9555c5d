package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/client"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// promptless is a server whose prompts/list fails while down is set.
type promptless struct {
	down atomic.Bool
	conn *pipeConn
}

// answer answers requests until the connection ends.
func (p *promptless) answer() {
	for {
		text, err := p.conn.ReadMessage(context.Background())
		if err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if json.Unmarshal(text, &m) != nil || m.ID == nil {
			continue
		}
		result := `"result":{}`
		switch {
		case m.Method == "initialize":
			result = `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{},` +
				`"prompts":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}`
		case m.Method == "tools/list":
			result = `"result":{"tools":[{"name":"good","inputSchema":{"type":"object"}}]}`
		case m.Method == "prompts/list" && p.down.Load():
			result = `"error":{"code":-32603,"message":"database down"}`
		case m.Method == "prompts/list":
			result = `"result":{"prompts":[{"name":"ask"}]}`
		case m.Method == "server/discover":
			result = `"error":{"code":-32601,"message":"unknown"}`
		}
		_ = p.conn.WriteMessage(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, result)) // it ends at the next read
	}
}

// TestMissingList guards that a list that fails is requested again until it is complete, and that
// a complete one is kept when a later request for it fails.
func TestMissingList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &promptless{}
		p.down.Store(true)
		var warnings atomic.Int32
		src, err := client.Open(t.Context(), &client.Dialer{
			Name: "s",
			Dial: func(context.Context) (mcpserver.Conn, error) {
				ours, theirs := pipe()
				p.conn = theirs
				go p.answer()
				return ours, nil
			},
		}, &client.Options{Observe: func(e client.Event) {
			if e.What == client.EventWarning {
				warnings.Add(1)
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		verify := func(when string, prompts int, complete bool) {
			t.Helper()
			synctest.Wait()
			cat, err := src.Catalog(t.Context())
			if err != nil || len(cat.Tools) != 1 || len(cat.Prompts) != prompts || (cat.Incomplete() == nil) != complete {
				t.Errorf("%s: %d tools, %d prompts, %v, %v; want 1 tool, %d prompts, complete %t",
					when, len(cat.Tools), len(cat.Prompts), cat.Incomplete(), err, prompts, complete)
			}
		}
		verify("at the start", 0, false)
		time.Sleep(10 * time.Minute)
		verify("while it fails", 0, false)
		p.down.Store(false)
		time.Sleep(time.Minute)
		verify("afterwards", 1, true)
		p.down.Store(true)
		changed := []byte(`{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}`)
		if err := p.conn.WriteMessage(changed); err != nil {
			t.Fatal(err)
		}
		verify("when a refresh fails", 1, true)
		if n := warnings.Load(); n != 1 {
			t.Errorf("%d warnings, want 1", n)
		}
	})
}
