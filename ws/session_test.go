package ws_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/ws"
)

// Both eras on one connection: the session belongs to the connection, and a modern
// request needs none.
func TestBothEras(t *testing.T) {
	onBoth(t, nil, func(t *testing.T, w *harness) {
		c := w.connect()
		c.say(call(1, "echo", `{}`))
		c.wantMessage(`"id":1`, `"error"`, `initialize`)
		c.say(modern(2, "tools/call", `"name":"echo","arguments":{"a":1}`))
		c.wantMessage(`"id":2`, `"resultType":"complete"`)
		c.say(initialize)
		c.wantMessage(`"id":0`, `"2025-06-18"`)
		c.say(call(3, "echo", `{"a":9007199254740993}`))
		c.wantMessage(`"id":3`, `9007199254740993`)
		c.say(modern(4, "server/discover", ""))
		c.wantMessage(`"id":4`, `"supportedVersions"`)
		c.say(`{"jsonrpc":"2.0","id":5,"method":"ping"}`)
		c.wantMessage(`"id":5`, `"result":{}`)
	})
}

// B4, W5: an array is a message in 2025-03-26 only.
func TestBatch(t *testing.T) {
	batch := "[" + call(1, "echo", `{}`) + `,{"jsonrpc":"2.0","method":"notifications/initialized"},` +
		call(2, "echo", `{}`) + "]"
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		t.Run(version, func(t *testing.T) {
			onBoth(t, nil, func(t *testing.T, w *harness) {
				c := w.connect()
				c.say(begin(version, "{}"))
				c.wantMessage(version)
				c.say(batch)
				if version == "2025-03-26" {
					got := c.hear()
					if !strings.HasPrefix(got, "[") || strings.Count(got, `"result"`) != 2 {
						t.Errorf("answer = %s, want an array of two results", got)
					}
					return
				}
				c.wantMessage("-32600")
			})
		})
	}
}

// Invalid messages are answered, and the connection stays open.
func TestMalformedMessage(t *testing.T) {
	onBoth(t, nil, func(t *testing.T, w *harness) {
		c := w.legacy()
		for _, msg := range []string{`{"jsonrpc":`, `"hello"`, `{}`} {
			c.say(msg)
			c.wantMessage(`"error"`)
		}
		c.say("")
		c.say(" \n")
		c.say(call(1, "echo", "{}"))
		c.wantMessage(`"id":1`, `"result"`)
	})
}

// P1: all progress arrives before the answer, however many calls run at once.
func TestProgressBeforeTheAnswer(t *testing.T) {
	onBoth(t, nil, func(t *testing.T, w *harness) {
		c := w.legacy()
		const calls = 20
		go func() {
			for id := 1; id <= calls; id++ {
				c.say(fmt.Sprintf(
					`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"count","_meta":{"progressToken":"p%d"}}}`,
					id, id))
			}
		}()
		told := make(map[string]int)
		for answered := 0; answered < calls && !t.Failed(); {
			got := c.hear()
			if token, ok := between(got, `"progressToken":"p`, `"`); ok {
				told[token]++
				continue
			}
			id, _ := between(got, `"id":`, `,`)
			if answered++; told[id] != 20 {
				t.Errorf("the answer to %s came after %d of 20 notifications", id, told[id])
			}
		}
	})
}

func between(s, before, after string) (string, bool) {
	_, s, found := strings.Cut(s, before)
	s, _, _ = strings.Cut(s, after)
	return s, found
}

// A slow call delays no other call.
func TestCallsRunAtOnce(t *testing.T) {
	onBoth(t, nil, func(t *testing.T, w *harness) {
		c := w.legacy()
		for id := 1; id <= 3; id++ {
			c.say(call(id, "slow", "{}"))
			<-w.entered
		}
		c.say(call(4, "echo", "{}"))
		c.wantMessage(`"id":4`)
		for range 3 {
			w.release <- struct{}{}
			c.wantMessage(`"done"`)
		}
	})
}

// P2: a cancelled request ends and is not answered.
func TestCancel(t *testing.T) {
	onBoth(t, nil, func(t *testing.T, w *harness) {
		for _, tt := range []struct{ name, call string }{
			{"session", call(7, "slow", "{}")},
			{"modern", modern(7, "tools/call", `"name":"slow"`)},
		} {
			c := w.legacy()
			c.say(tt.call)
			<-w.entered
			c.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
			if err := <-w.ended; err == nil {
				t.Errorf("%s: the call was not cancelled", tt.name)
			}
			c.say(call(8, "echo", "{}"))
			c.wantMessage(`"id":8`)
		}
	})
}

// W7: requests in flight end with their connection.
func TestDisconnectCancels(t *testing.T) {
	onBoth(t, nil, func(t *testing.T, w *harness) {
		c := w.legacy()
		c.say(call(1, "slow", "{}"))
		c.say(modern(2, "tools/call", `"name":"slow"`))
		c.say(call(3, "slow", "{}"))
		for range 3 {
			<-w.entered
		}
		c.Close()
		for range 3 {
			if err := <-w.ended; err == nil {
				t.Error("a call was not cancelled")
			}
		}
	})
}

func TestListChanged(t *testing.T) {
	onBoth(t, nil, func(t *testing.T, w *harness) {
		c := w.connect()
		c.say(begin("2025-11-25", "{}"))
		c.wantMessage(`"listChanged":true`)
		c.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		c.say(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"x://1"}}`)
		c.wantMessage(`"id":1`, `"result"`)
		w.changed(mcp.Change{Tools: true})
		c.wantMessage(`"notifications/tools/list_changed"`)
		w.changed(mcp.Change{URI: "x://1"})
		c.wantMessage(`"notifications/resources/updated"`, `x://1`)
	})
}

const listen = `"notifications":{"toolsListChanged":true}`

// N2 to N5: a subscription of 2026-07-28, ended by the client.
func TestListen(t *testing.T) {
	onBoth(t, nil, func(t *testing.T, w *harness) {
		c := w.connect()
		c.say(modern(5, "subscriptions/listen", listen))
		c.wantMessage("notifications/subscriptions/acknowledged", `"io.modelcontextprotocol/subscriptionId":5`)
		w.changed(mcp.Change{Tools: true, Prompts: true})
		c.wantMessage("notifications/tools/list_changed", `"io.modelcontextprotocol/subscriptionId":5`)
		c.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`)
		c.say(modern(6, "tools/call", `"name":"echo"`))
		c.wantMessage(`"id":6`)
		w.changed(mcp.Change{Tools: true})
		c.say(modern(7, "tools/call", `"name":"echo"`))
		c.wantMessage(`"id":7`)
	})
}

// A question from the server is sent on the same connection.
func TestElicitation(t *testing.T) {
	onBoth(t, nil, func(t *testing.T, w *harness) {
		c := w.connect()
		c.say(begin("2025-11-25", `{"elicitation":{}}`))
		c.wantMessage(`2025-11-25`)
		c.say(call(1, "ask", "{}"))
		id, _ := between(c.hear(), `"id":`, `,`)
		c.say(`{"jsonrpc":"2.0","id":` + id + `,"result":{"action":"accept","content":{"name":"Ada"}}}`)
		c.wantMessage(`"id":1`, `Ada`)
	})
}

// Shutdown lets requests in flight finish, rejects later ones, and reports why it closes.
func TestShutdown(t *testing.T) {
	onBoth(t, nil, func(t *testing.T, w *harness) {
		var clients []*rawConn
		for range 5 {
			c := w.legacy()
			c.say(call(1, "slow", "{}"))
			<-w.entered
			clients = append(clients, c)
		}
		listener := w.connect()
		listener.say(modern(5, "subscriptions/listen", listen))
		listener.wantMessage("acknowledged")
		idle := w.connect()

		done := make(chan error, 1)
		go func() { done <- w.handler.Shutdown(t.Context()) }()
		idle.wantClose(1001)
		listener.wantMessage("notifications/cancelled", `"requestId":5`)
		listener.wantMessage(`"id":5`, `"resultType":"complete"`)
		listener.wantClose(1001)
		if _, response := w.handshake("GET", nil); response.StatusCode != 503 {
			t.Errorf("an upgrade while ending: status %d, want 503", response.StatusCode)
		}
		for _, c := range clients {
			c.untilRefused("the server is shutting down")
		}
		select {
		case err := <-done:
			t.Fatalf("Shutdown returned %v with calls in flight", err)
		default:
		}
		for range clients {
			w.release <- struct{}{}
		}
		for _, c := range clients {
			c.wantMessage(`"id":1`, `"done"`)
			c.wantClose(1001)
		}
		if err := <-done; err != nil {
			t.Errorf("Shutdown = %v, want nil", err)
		}
	})
}

// A call in flight may wait for the client, so its messages are still read.
func TestShutdownHearsAnswers(t *testing.T) {
	onBoth(t, nil, func(t *testing.T, w *harness) {
		c := w.connect()
		c.say(begin("2025-11-25", `{"elicitation":{}}`))
		c.wantMessage(`2025-11-25`)
		c.say(call(1, "ask", "{}"))
		id, _ := between(c.hear(), `"id":`, `,`)
		other := w.legacy()
		other.say(call(1, "slow", "{}"))
		<-w.entered // ask
		<-w.entered // slow
		done := make(chan error, 1)
		idle := w.connect()
		go func() { done <- w.handler.Shutdown(t.Context()) }()
		idle.wantClose(1001) // so it has begun
		c.say(`{"jsonrpc":"2.0","id":` + id + `,"result":{"action":"accept","content":{"name":"Ada"}}}`)
		c.wantMessage(`"id":1`, `Ada`)
		c.wantClose(1001)
		other.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		if err := <-w.ended; err == nil {
			t.Error("the call was not cancelled")
		}
		other.wantClose(1001)
		if err := <-done; err != nil {
			t.Errorf("Shutdown = %v, want nil", err)
		}
	})
}

func TestShutdownEndsInTime(t *testing.T) {
	tests := []struct {
		name  string
		opts  ws.Options
		limit time.Duration // of Shutdown's context
		want  error
		took  time.Duration
	}{
		{"by its own timeout", ws.Options{DrainTimeout: 3 * time.Second}, time.Minute, nil, 3 * time.Second},
		{"by the context", ws.Options{DrainTimeout: time.Minute}, 5 * time.Second, context.DeadlineExceeded, 5 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := overMemory(t, &tt.opts)
				c := w.legacy()
				c.say(call(1, "slow", "{}"))
				<-w.entered
				go func() { // a client that reads, and answers close frames
					for {
						op, payload, err := c.next()
						if err != nil {
							return
						}
						if op == opClose {
							_, _ = c.Write(frame(opClose, string(payload)))
						}
					}
				}()
				ctx, cancel := context.WithTimeout(t.Context(), tt.limit)
				defer cancel()
				begin := time.Now()
				if err := w.handler.Shutdown(ctx); err != tt.want {
					t.Errorf("Shutdown = %v, want %v", err, tt.want)
				}
				if took := time.Since(begin); took != tt.took {
					t.Errorf("Shutdown took %v, want %v", took, tt.took)
				}
				if err := <-w.ended; err == nil {
					t.Error("the call was not cancelled")
				}
				if took := time.Since(begin); took != tt.took {
					t.Errorf("the call was cancelled after %v, want %v", took, tt.took)
				}
			})
		})
	}
}

// If a client leaves during shutdown, its answers have no reader, so nothing waits for
// them.
func TestShutdownDoesNotWaitForWhoHasGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := overMemory(t, nil)
		c := w.legacy()
		c.say(call(1, "slow", "{}"))
		<-w.entered
		begin := time.Now()
		done := make(chan error, 1)
		go func() { done <- w.handler.Shutdown(t.Context()) }()
		synctest.Wait()
		c.Close()
		if err := <-done; err != nil {
			t.Errorf("Shutdown = %v, want nil", err)
		}
		if took := time.Since(begin); took > time.Second {
			t.Errorf("Shutdown took %v", took)
		}
	})
}

// A slow reader receives its answers before the close frame.
func TestShutdownWaitsForSlowReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := overMemory(t, nil)
		c := w.legacy()
		for id := 1; id <= 3; id++ {
			c.say(call(id, "big", `{"size":9000}`))
		}
		synctest.Wait()
		done := make(chan error, 1)
		go func() { done <- w.handler.Shutdown(t.Context()) }()
		for id := 1; id <= 3; id++ {
			<-time.After(8 * time.Second)
			c.wantMessage(fmt.Sprintf(`"id":%d,`, id))
		}
		c.wantClose(1001)
		if err := <-done; err != nil {
			t.Errorf("Shutdown = %v, want nil", err)
		}
	})
}
