package ws_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/slipway-mcp/slipway/mcp/server"
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
