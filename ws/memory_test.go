package ws_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/ws"
)

// Long messages count against the budget while they arrive, and until they are answered.
// One that does not fit closes only its own connection.
func TestMessagesBeingReceivedCount(t *testing.T) {
	long := modern(1, "ping", `"x":"`+strings.Repeat("x", 300_000)+`"`)
	half := frame(opText, long)[:150_000]
	synctest.Test(t, func(t *testing.T) {
		w := withBudget(t, server.Budget{RequestBytes: 600_000}, nil)
		inUse := func() int64 {
			synctest.Wait()
			return w.server.Stats().RequestBytes
		}
		slow := w.connect()
		slow.send(half)
		if got := inUse(); got < 150_000 || got > 600_000 {
			t.Fatalf("%d bytes are counted for half a message of 300,000", got)
		}
		other := w.connect()
		other.say(modern(2, "ping", ""))
		other.wantMessage(`"id":2`)
		go func() { _, _ = other.Write(frame(opText, long)) }() // its end is never read
		other.wantClose(1013)
		_ = slow.Close()
		if got := inUse(); got != 0 {
			t.Fatalf("%d bytes are counted for a closed connection", got)
		}
		again := w.connect()
		again.say(long)
		again.wantMessage(`"id":1`)
		if got := inUse(); got != 0 {
			t.Errorf("%d bytes are counted after the answer", got)
		}
		if got := w.server.Stats().RequestsTooMany; got != 1 {
			t.Errorf("%d messages were refused, want 1", got)
		}
		_ = again.Close()
		_ = other.Close()
		synctest.Wait()
	})
}

// TestUnreadAnswers guards the memory of answers that are queued for clients that do not read them: each connection
// could queue one of any size.
func TestUnreadAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := withBudget(t, server.Budget{RequestBytes: 3 << 20, ClientRequestBytes: 3 << 20}, nil)
		var all []*rawConn
		for range 5 {
			c := w.legacy()
			c.say(call(1, "big", `{"size":1000000}`))
			synctest.Wait()
			all = append(all, c)
		}
		if got := w.server.Stats().RequestBytes; got > 3<<20 || got < 3_000_000 {
			t.Errorf("%d bytes are counted for unread answers, want those of three", got)
		}
		for i, c := range all {
			if i < 3 {
				c.wantMessage(`"id":1,`)
				continue
			}
			c.wantMessage(`"id":1,`, "its answer was dropped")
		}
		synctest.Wait()
		if got := w.server.Stats().RequestBytes; got != 0 {
			t.Errorf("%d bytes are counted after the answers", got)
		}
		for _, c := range all {
			_ = c.Close()
		}
		synctest.Wait()
	})
}

// TestUnreadQueue guards the memory of a queue of small answers, beyond which the client is disconnected.
func TestUnreadQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := withBudget(t, server.Budget{RequestBytes: 1 << 20}, &ws.Options{MaxQueue: 10 << 20})
		c := w.legacy()
		sent := 0
		for ; sent < 5000; sent++ {
			if _, err := c.Write(frame(opText, call(1, "big", `{"size":30000}`))); err != nil {
				break
			}
			synctest.Wait()
			if got := w.server.Stats().RequestBytes; got > 1<<20 {
				t.Fatalf("%d bytes are counted, want at most 1 MiB", got)
			}
			if w.server.Stats().RequestsTooMany > 0 && w.server.Stats().Kept[2].Count == 0 {
				break
			}
		}
		if sent == 5000 {
			t.Error("5,000 answers were queued")
		}
		for {
			op, payload := c.receive()
			if op == opText {
				continue
			}
			if op != opClose || int(payload[0])<<8|int(payload[1]) != 1013 {
				t.Errorf("received opcode %d with %q, want a close frame with 1013", op, payload)
			}
			break
		}
		_ = c.Close()
		synctest.Wait()
		if got := w.server.Stats().RequestBytes; got != 0 {
			t.Errorf("%d bytes are counted after the connection", got)
		}
	})
}

// TestPongWithoutMemory guards that a client that sends pings is not disconnected while the answers that others have
// yet to read leave no memory.
func TestPongWithoutMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := withBudget(t, server.Budget{RequestBytes: 1 << 20}, nil)
		c := w.legacy()
		c.say(call(1, "big", `{"size":1000000}`))
		synctest.Wait()
		var rest server.BodyMemory
		if !w.server.ReserveBody(t.Context(), "", &rest, 1<<20-w.server.Stats().RequestBytes) {
			t.Fatal("the rest of the memory does not fit")
		}
		c.send(frame(opPing, "hi"))
		synctest.Wait()
		c.wantMessage(`"id":1,`)
		if op, payload := c.receive(); op != opPong || string(payload) != "hi" {
			t.Errorf("received opcode %d with %q, want a pong", op, payload)
		}
		synctest.Wait()
		w.server.ReleaseBody(&rest)
		if got := w.server.Stats().RequestBytes; got != 0 {
			t.Errorf("%d bytes are counted after the answers", got)
		}
		_ = c.Close()
		synctest.Wait()
	})
}

// TestPingsWithoutMemory guards the memory of pongs that are not counted: their client is disconnected.
func TestPingsWithoutMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := withBudget(t, server.Budget{RequestBytes: 1 << 20}, nil)
		c := w.legacy()
		c.say(call(1, "big", `{"size":1000000}`))
		synctest.Wait()
		var rest server.BodyMemory
		if !w.server.ReserveBody(t.Context(), "", &rest, 1<<20-w.server.Stats().RequestBytes) {
			t.Fatal("the rest of the memory does not fit")
		}
		sent := 0
		for ; sent < 1000; sent++ {
			if _, err := c.Write(frame(opPing, strings.Repeat("p", 100))); err != nil {
				break
			}
			synctest.Wait()
		}
		if sent < 30 || sent > 50 {
			t.Errorf("%d pings were answered without memory, want those whose pongs have 4 KiB", sent)
		}
		_ = c.Close()
		synctest.Wait()
		w.server.ReleaseBody(&rest)
		if got := w.server.Stats().RequestBytes; got != 0 {
			t.Errorf("%d bytes are counted after the connection", got)
		}
	})
}
