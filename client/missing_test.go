package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/client"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// promptless is a server whose prompts/list fails while down is set, each time with another text.
type promptless struct {
	down, toolsDown atomic.Bool
	twoTools        atomic.Bool
	padding         string // of its errors
	conn            *pipeConn

	mu       sync.Mutex
	requests map[string]int // by method
}

// count returns how many requests with this method were received.
func (p *promptless) count(method string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests[method]
}

// answer answers requests until the connection ends.
func (p *promptless) answer(conn *pipeConn) {
	for {
		text, err := conn.ReadMessage(context.Background())
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
		p.mu.Lock()
		p.requests[m.Method]++
		p.mu.Unlock()
		failure := fmt.Sprintf(`"error":{"code":-32603,"message":"database down (request %s)%s"}`, m.ID, p.padding)
		result := `"result":{}`
		switch {
		case m.Method == "initialize":
			result = `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true},` +
				`"prompts":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}`
		case m.Method == "tools/list" && p.toolsDown.Load(), m.Method == "prompts/list" && p.down.Load():
			result = failure
		case m.Method == "tools/list":
			more := ""
			if p.twoTools.Load() {
				more = `,{"name":"new","inputSchema":{"type":"object"}}`
			}
			result = `"result":{"tools":[{"name":"good","inputSchema":{"type":"object"}}` + more + `]}`
		case m.Method == "prompts/list":
			result = `"result":{"prompts":[{"name":"ask"}]}`
		case m.Method == "server/discover":
			result = `"error":{"code":-32601,"message":"unknown"}`
		}
		_ = conn.WriteMessage(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, result)) // it ends at the next read
	}
}

// open opens a source for p, and returns it with the number of its warnings and of its changes,
// and a function that verifies its catalog.
func (p *promptless) open(t *testing.T) (
	src *client.Source,
	warnings, changes *atomic.Int32,
	verify func(when string, tools, prompts int, complete bool),
) {
	t.Helper()
	p.requests = map[string]int{}
	warnings, changes = new(atomic.Int32), new(atomic.Int32)
	src, err := client.Open(t.Context(), &client.Dialer{
		Name: "s",
		Dial: func(context.Context) (mcpserver.Conn, error) {
			ours, theirs := pipe()
			p.conn = theirs
			go p.answer(theirs)
			return ours, nil
		},
	}, &client.Options{Observe: func(e client.Event) {
		switch e.What {
		case client.EventWarning:
			warnings.Add(1)
		case client.EventChanged:
			changes.Add(1)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	return src, warnings, changes, func(when string, tools, prompts int, complete bool) {
		t.Helper()
		synctest.Wait()
		cat, err := src.Catalog(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(cat.Tools) != tools || len(cat.Prompts) != prompts || (cat.Incomplete() == nil) != complete {
			t.Errorf("%s: %d tools, %d prompts, %v; want %d, %d, complete %t",
				when, len(cat.Tools), len(cat.Prompts), cat.Incomplete(), tools, prompts, complete)
		}
	}
}

// notify announces that lists have changed.
func (p *promptless) notify(t *testing.T, list string) {
	t.Helper()
	text := `{"jsonrpc":"2.0","method":"notifications/` + list + `/list_changed"}`
	if err := p.conn.WriteMessage([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

// TestMissingList guards that a list that fails is requested again until it is complete, without
// the other lists and ever more rarely, and that its errors, all different, are neither changes
// nor repeated warnings.
func TestMissingList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &promptless{}
		p.down.Store(true)
		src, warnings, changes, verify := p.open(t)
		defer src.Close()
		verify("at the start", 1, 0, false)
		time.Sleep(time.Hour)
		verify("while it fails", 1, 0, false)
		if n := changes.Load(); n != 0 {
			t.Errorf("%d changes, want 0", n)
		}
		if tools, prompts := p.count("tools/list"), p.count("prompts/list"); tools != 1 || prompts < 6 || prompts > 13 {
			t.Errorf("%d and %d requests for tools and prompts in an hour, want 1 and about 10", tools, prompts)
		}
		p.down.Store(false)
		time.Sleep(10 * time.Minute)
		verify("afterwards", 1, 1, true)
		n := p.count("prompts/list")
		time.Sleep(time.Hour)
		if p.count("prompts/list") != n {
			t.Error("a complete list is requested again")
		}
		if w, c := warnings.Load(), changes.Load(); w != 1 || c != 1 {
			t.Errorf("%d warnings and %d changes, want 1 and 1", w, c)
		}
	})
}

// TestRefreshesPause guards that the lists of a server that announces changes without a pause are
// requested ever more rarely, the first time immediately, and that the last change is noticed.
func TestRefreshesPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &promptless{}
		src, _, _, verify := p.open(t)
		defer src.Close()
		verify("at the start", 1, 1, true)
		p.twoTools.Store(true)
		p.notify(t, "tools")
		verify("after the first change", 2, 1, true)
		for range 6000 { // a minute
			time.Sleep(10 * time.Millisecond)
			p.notify(t, "tools")
		}
		p.twoTools.Store(false)
		p.notify(t, "tools")
		time.Sleep(time.Minute)
		verify("after the last change", 1, 1, true)
		if n := p.count("tools/list"); n < 5 || n > 9 {
			t.Errorf("the tools were requested %d times, want about 9: pauses of 1, 2, 4, 8, and 16 s", n)
		}
		time.Sleep(time.Minute)
		p.twoTools.Store(true)
		p.notify(t, "tools")
		verify("after a quiet minute", 2, 1, true)
	})
}

// TestRareRefreshesDoNotPause guards that the pause is short again after some rare changes, here one every 20 s:
// the second of two quick ones is noticed after a second.
func TestRareRefreshesDoNotPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &promptless{}
		src, _, _, verify := p.open(t)
		defer src.Close()
		for range 120 { // as at the start of some servers
			time.Sleep(500 * time.Millisecond)
			p.notify(t, "tools")
		}
		for range 10 {
			time.Sleep(20 * time.Second)
			p.notify(t, "tools")
		}
		synctest.Wait()
		p.twoTools.Store(true)
		p.notify(t, "tools")
		time.Sleep(1100 * time.Millisecond)
		verify("1 s after the second of two quick changes", 2, 1, true)
	})
}

// TestTimedRefreshesPause guards that a server cannot avoid the growth of the pause by announcing each change
// just after the first pause.
func TestTimedRefreshesPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &promptless{}
		src, _, _, _ := p.open(t)
		defer src.Close()
		for range 110 { // two minutes
			time.Sleep(1100 * time.Millisecond)
			p.notify(t, "tools")
		}
		if n := p.count("tools/list"); n > 12 {
			t.Errorf("the tools were requested %d times in two minutes, want at most 12", n)
		}
	})
}

// TestKeptList guards that a complete list remains when it fails later, while others change, and
// after a restart, and that what failed after a notification is requested again.
func TestKeptList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &promptless{}
		src, warnings, changes, verify := p.open(t)
		defer src.Close()
		verify("at the start", 1, 1, true)
		p.down.Store(true)
		p.twoTools.Store(true)
		p.notify(t, "tools")
		verify("when a refresh fails in part", 2, 1, true)
		p.conn.Close()
		if err := src.Reach(t.Context()); err != nil {
			t.Fatal(err)
		}
		verify("after a restart", 2, 1, true)
		if w, c := warnings.Load(), changes.Load(); w != 0 || c != 1 {
			t.Errorf("%d warnings and %d changes, want 0 and 1", w, c)
		}
		n := p.count("prompts/list")
		time.Sleep(time.Minute)
		if p.count("prompts/list") == n {
			t.Error("a list that failed after a restart is not requested again")
		}
		p.down.Store(false)
		p.toolsDown.Store(true)
		p.twoTools.Store(false)
		p.notify(t, "tools")
		verify("when a refresh fails", 2, 1, true)
		p.toolsDown.Store(false)
		time.Sleep(10 * time.Minute)
		verify("after another attempt", 1, 1, true)
	})
}

// TestLongReasonOfMissingList guards that a text of any size of a server says why a list is missing in its catalog.
func TestLongReasonOfMissingList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &promptless{padding: strings.Repeat("x", 1<<20)}
		p.down.Store(true)
		src, _, _, _ := p.open(t)
		defer src.Close()
		cat, err := src.Catalog(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(cat.Missing) != 1 {
			t.Fatalf("%d lists are missing, want 1", len(cat.Missing))
		}
		why := cat.Missing[0].Why
		if len(why) > 600 || !strings.Contains(why, "database down") || !strings.HasSuffix(why, "…") {
			t.Errorf("the reason has %d bytes: %.100s", len(why), why)
		}
	})
}
