package ws_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/ws"
)

// W6: pings are sent, and a client that answers stays connected.
func TestPing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := overMemory(t, nil)
		c := w.legacy()
		begin := time.Now()
		for range 5 {
			if op, _ := c.receive(); op != opPing {
				t.Fatalf("received opcode %d, want a ping", op)
			}
			c.send(frame(opPong, ""))
		}
		if took := time.Since(begin); took != 150*time.Second {
			t.Errorf("five pings took %v, want one every 30s", took)
		}
		c.say(call(1, "echo", "{}"))
		c.wantMessage(`"id":1`)
	})
}

// W6: a client that does not answer is dropped, and its requests in flight are cancelled.
func TestDropWithoutPong(t *testing.T) {
	tests := []struct {
		name  string
		opts  ws.Options
		after time.Duration
	}{
		{"by default", ws.Options{}, time.Minute},
		{"by option", ws.Options{PingInterval: 5 * time.Second}, 10 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := overMemory(t, &tt.opts)
				c := w.legacy()
				c.say(call(1, "slow", "{}"))
				<-w.entered
				begin := time.Now()
				if op, _ := c.receive(); op != opPing {
					t.Fatalf("received opcode %d, want a ping", op)
				}
				c.say(call(2, "echo", "{}")) // not a pong
				c.wantMessage(`"id":2`)
				c.wantEnd()
				if took := time.Since(begin); took != tt.after {
					t.Errorf("dropped after %v, want %v", took, tt.after)
				}
				if err := <-w.ended; err == nil {
					t.Error("the call in flight was not cancelled")
				}
			})
		})
	}
}

func TestNoPings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := overMemory(t, &ws.Options{PingInterval: -1})
		c := w.legacy()
		time.AfterFunc(time.Hour, func() { c.say(call(1, "echo", "{}")) })
		c.wantMessage(`"id":1`) // and nothing before it
	})
}

// A pong cannot be seen while the reader is busy, as while initialize runs, which
// everything else depends on.
func TestNoDropWhileReadingWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := overMemory(t, nil)
		c := w.connect()
		w.catalogs = make(chan struct{})
		go func() {
			c.say(initialize)
			<-time.After(5 * time.Minute)
			w.catalogs <- struct{}{}
		}()
		if op, _ := c.receive(); op != opPing {
			t.Errorf("received opcode %d, want a ping", op)
		}
		sent := make(chan struct{})
		go func() { c.send(frame(opPong, "")); close(sent) }()
		c.wantMessage(`"id":0`)
		<-sent
	})
}

// A pong cannot overtake a message that takes minutes to arrive.
func TestNoDropWhileAMessageArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := overMemory(t, nil).legacy()
		upload := frame(opText, call(1, "echo", `{"data":"some picture"}`))
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			for i := range upload {
				<-time.After(5 * time.Second)
				c.send(upload[i : i+1])
			}
			c.send(frame(opPong, ""))
		}()
		if op, _ := c.receive(); op != opPing {
			t.Errorf("received opcode %d, want a ping", op)
		}
		c.wantMessage(`some picture`)
		<-sent
	})
}

// A client that stops in the middle of a message is dropped like any other.
func TestDropInTheMidstOfAMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := overMemory(t, nil).legacy()
		begin := time.Now()
		c.send(frame(opText, "{}")[:7])
		c.receive()
		c.wantEnd()
		if took := time.Since(begin); took > 90*time.Second {
			t.Errorf("dropped after %v", took)
		}
	})
}
