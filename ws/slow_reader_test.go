package ws_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/ws"
)

// A client that does not read its answers is still served, until too much is queued. If
// it resumes reading soon, it receives the reason.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := overMemory(t, &ws.Options{MaxQueue: 11_000})
		c := w.legacy()
		c.say(call(1, "slow", "{}"))
		<-w.entered
		for id := 2; id <= 11; id++ { // 10 answers of 1,193 bytes fit
			c.say(call(id, "big", `{"size":1100}`))
		}
		synctest.Wait()
		c.say(call(12, "slow", "{}"))
		select {
		case <-w.entered: // so it was read
		case <-time.After(time.Second):
			t.Fatal("reading stopped with the writing")
		}
		c.say(call(13, "big", `{"size":1100}`))
		for range 2 {
			if err := <-w.ended; err == nil {
				t.Error("a call in flight was not cancelled")
			}
		}
		for id := 2; id <= 11; id++ {
			c.wantMessage(fmt.Sprintf(`"id":%d,`, id))
		}
		c.wantClose(1008)
	})
}

// One answer may be larger than the queue, as it is in memory already.
func TestAnswerLargerThanTheQueue(t *testing.T) {
	onBoth(t, &ws.Options{MaxQueue: 1000}, func(t *testing.T, w *harness) {
		c := w.legacy()
		c.say(call(1, "big", `{"size":8000000}`))
		if got := c.hear(); len(got) < 8_000_000 {
			t.Errorf("the answer has %d bytes: %.100s", len(got), got)
		}
	})
}

// A client that reads nothing at all is disconnected.
func TestWriteTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := overMemory(t, &ws.Options{WriteTimeout: 7 * time.Second})
		c := w.legacy()
		c.say(call(1, "slow", "{}"))
		<-w.entered
		c.say(call(2, "echo", "{}"))
		begin := time.Now()
		if err := <-w.ended; err == nil {
			t.Error("the call in flight was not cancelled")
		}
		if took := time.Since(begin); took != 7*time.Second {
			t.Errorf("the connection ended after %v, want 7s", took)
		}
		c.wantEnd()
	})
}

// Pongs are answers, too, and use the same queue.
func TestSlowReaderThatPings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := overMemory(t, &ws.Options{MaxQueue: 1000}).legacy()
		sent := 0
		for ; sent < 1000; sent++ {
			if _, err := c.Write(frame(opPing, "are you there? are you there? are you there?")); err != nil {
				break
			}
		}
		if sent == 1000 {
			t.Error("1,000 pings were answered into the void")
		}
	})
}

// The same on a real socket, with whatever the system buffers in between.
func TestSlowReaderOverTheNetwork(t *testing.T) {
	w := overTCP(t, &ws.Options{MaxQueue: 100_000})
	c := w.legacy()
	c.say(call(1, "slow", "{}"))
	<-w.entered
	sent := make(chan int)
	go func() {
		for id := 2; ; id++ {
			if _, err := c.Write(frame(opText, call(id, "big", `{"size":100000}`))); err != nil {
				sent <- id
				return
			}
		}
	}()
	if err := <-w.ended; err == nil {
		t.Error("the call in flight was not cancelled")
	}
	c.Close()
	<-sent
}

// A socket that is full for a moment is no reason to disconnect.
func TestManyAnswersOverTheNetwork(t *testing.T) {
	w := overTCP(t, &ws.Options{MaxQueue: 100 << 20})
	c := w.legacy()
	const n = 1000
	go func() {
		for id := 1; id <= n; id++ {
			c.say(call(id, "big", `{"size":20000}`))
		}
	}()
	for id := 1; id <= n && !t.Failed(); id++ {
		if got := c.hear(); len(got) < 20_000 {
			t.Errorf("answer %d has %d bytes: %.100s", id, len(got), got)
		}
	}
}

// Requests over the limit are rejected, not left unread, so that the client can still
// cancel, and its leaving is noticed.
func TestMaxInFlight(t *testing.T) {
	onBoth(t, &ws.Options{MaxInFlight: 2}, func(t *testing.T, w *harness) {
		c := w.legacy()
		for id := 1; id <= 2; id++ {
			c.say(call(id, "slow", "{}"))
			<-w.entered
		}
		c.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		c.untilRefused("-31003")
		c.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		if err := <-w.ended; err == nil {
			t.Error("the call was not cancelled")
		}
		w.release <- struct{}{}
		c.wantMessage(`"id":2`, `"done"`)
		c.say(call(5, "slow", "{}"))
		<-w.entered
		c.Close()
		<-w.ended
		if err := <-w.ended; err == nil {
			t.Error("the call of a client that has left was not cancelled")
		}
	})
}

// untilRefused repeats a call until it is refused with that reason, for reasons that take
// some microseconds to arise.
func (c *rawConn) untilRefused(reason string) {
	c.tb.Helper()
	for !c.tb.Failed() {
		c.say(call(100, "echo", "{}"))
		got := c.hear()
		if strings.Contains(got, `"error"`) && strings.Contains(got, reason) {
			return
		}
	}
}
