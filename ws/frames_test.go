package ws_test

import (
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/ws"
)

// W5: frames that a client must not send, and the close codes for them.
func TestClosesOnWhatIsNoMessage(t *testing.T) {
	race.SkipSlow(t)
	unmasked := []byte{final | opText, 2, '{', '}'}
	tests := []struct {
		name   string
		frames [][]byte
		code   int
	}{
		{"a binary frame", [][]byte{frame(opBinary, "{}")}, 1003},
		{"binary in fragments", [][]byte{part(opBinary, "{"), part(final|opContinuation, "}")}, 1003},
		{"invalid UTF-8", [][]byte{frame(opText, "\"\xff\"")}, 1007},
		{"a character cut in two", [][]byte{frame(opText, "\"\xc3")}, 1007},
		{"too big in one frame", [][]byte{frame(opText, strings.Repeat(" ", 1001))}, 1009},
		{"too big in fragments",
			[][]byte{part(opText, strings.Repeat(" ", 600)), part(final|opContinuation, strings.Repeat(" ", 600))}, 1009},
		{"a length that no message has", [][]byte{
			{final | opText, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4},
			frame(opText, strings.Repeat(" ", 2000)),
		}, 1009},
		{"a frame without mask", [][]byte{unmasked}, 1002},
		{"a reserved bit", [][]byte{part(final|0x40|opText, "{}")}, 1002},
		{"an unknown opcode", [][]byte{frame(3, "{}")}, 1002},
		{"a continuation of nothing", [][]byte{frame(opContinuation, "{}")}, 1002},
		{"a message within a message", [][]byte{part(opText, "{"), frame(opText, "{}")}, 1002},
		{"a ping in fragments", [][]byte{part(opPing, "")}, 1002},
		{"a ping that is too long", [][]byte{frame(opPing, strings.Repeat("x", 126))}, 1002},
		{"a pong that is too long", [][]byte{frame(opPong, strings.Repeat("x", 126))}, 1002},
		{"a pong without mask", [][]byte{{final | opPong, 0}}, 1002},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			onBoth(t, &ws.Options{MaxMessage: 1000}, func(t *testing.T, w *harness) {
				c := w.legacy()
				c.say(call(1, "slow", "{}"))
				<-w.entered
				go func() {
					for _, f := range tt.frames {
						_, _ = c.Write(f)
					}
				}()
				c.wantClose(tt.code)
				if err := <-w.ended; err == nil {
					t.Error("the call in flight was not cancelled")
				}
			})
		})
	}
}

func TestLargestMessage(t *testing.T) {
	onBoth(t, &ws.Options{MaxMessage: 70_000}, func(t *testing.T, w *harness) {
		c := w.legacy()
		around := len(call(1, "echo", `{"a":""}`))
		c.say(call(1, "echo", `{"a":"`+strings.Repeat("x", 70_000-around)+`"}`))
		if got := c.hear(); len(got) < 70_000-around {
			t.Errorf("the answer has %d bytes: %.100s", len(got), got)
		}
	})
}

// Messages may arrive in any pieces, and in as many frames as the client likes.
func TestFragments(t *testing.T) {
	msg := call(1, "echo", `{"word":"größe"}`)
	ping := frame(opPing, "still there?")
	tests := []struct {
		name   string
		frames [][]byte
		pongs  int
	}{
		{"one frame", [][]byte{frame(opText, msg)}, 0},
		{"two frames", [][]byte{part(opText, msg[:10]), part(final|opContinuation, msg[10:])}, 0},
		{"a character in two frames", [][]byte{part(opText, msg[:len(msg)-6]), part(final|opContinuation, msg[len(msg)-6:])},
			0},
		{"empty frames", [][]byte{part(opText, ""), part(opContinuation, msg), part(final|opContinuation, "")}, 0},
		{"a ping in between", [][]byte{part(opText, msg[:10]), ping, part(opContinuation, msg[10:20]), ping,
			part(final|opContinuation, msg[20:])}, 2},
		{"pings before", [][]byte{ping, ping, frame(opText, msg)}, 2},
		{"an unasked pong before", [][]byte{frame(opPong, ""), frame(opText, msg)}, 0},
	}
	sendings := []struct {
		name string
		send func(*rawConn, []byte)
	}{
		{"at once", (*rawConn).send},
		{"byte by byte", func(c *rawConn, b []byte) {
			for i := range b {
				c.send(b[i : i+1])
			}
		}},
	}
	for _, tt := range tests {
		for _, sending := range sendings {
			t.Run(tt.name+", "+sending.name, func(t *testing.T) {
				onBoth(t, nil, func(t *testing.T, w *harness) {
					c := w.legacy()
					var all []byte
					for _, f := range tt.frames {
						all = append(all, f...)
					}
					go sending.send(c, all)
					for range tt.pongs {
						if op, payload := c.receive(); op != opPong || string(payload) != "still there?" {
							t.Errorf("received opcode %d with %q, want the pong", op, payload)
						}
					}
					c.wantMessage(`"id":1`, `größe`)
				})
			})
		}
	}
}

// Messages sent before the server has answered the upgrade must not be lost.
func TestMessageRightBehindTheUpgrade(t *testing.T) {
	onBoth(t, nil, func(t *testing.T, w *harness) {
		conn, err := w.dial()
		if err != nil {
			t.Fatal(err)
		}
		c := unupgraded(t, conn)
		go c.send(append([]byte(handshake), frame(opText, initialize)...))
		c.wantUpgrade()
		c.wantMessage(`"id":0`, `"2025-06-18"`)
	})
}

func TestClientCloses(t *testing.T) {
	tests := []struct{ name, payload, want string }{
		{"with a code", "\x03\xe8", "\x03\xe8"},
		{"with a reason", "\x03\xe9bye", "\x03\xe9bye"},
		{"with nothing", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			onBoth(t, nil, func(t *testing.T, w *harness) {
				c := w.legacy()
				c.say(call(1, "slow", "{}"))
				<-w.entered
				c.send(frame(opClose, tt.payload))
				if op, payload := c.receive(); op != opClose || string(payload) != tt.want {
					t.Errorf("received opcode %d with %q, want the close frame %q", op, payload, tt.want)
				}
				c.wantEnd()
				if err := <-w.ended; err == nil {
					t.Error("the call in flight was not cancelled")
				}
			})
		})
	}
}

// A client that does not answer the close frame does not delay anything.
func TestCloseWithoutAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := overMemory(t, nil).legacy()
		begin := time.Now()
		c.send(frame(opBinary, ""))
		c.receive()
		c.wantEnd()
		if took := time.Since(begin); took > 3*time.Second {
			t.Errorf("the connection was kept for %v", took)
		}
	})
}

// A running call does not keep earlier answers, or the reason for closing, from the
// client.
func TestCloseDoesNotWaitForCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := overMemory(t, nil)
		c := w.legacy()
		c.say(call(1, "stubborn", "{}"))
		<-w.entered
		begin := time.Now()
		go func() { _, _ = c.Write(append(frame(opText, call(2, "echo", "{}")), frame(opBinary, "")...)) }()
		c.wantMessage(`"id":2`)
		c.wantClose(1003)
		if took := time.Since(begin); took > time.Second {
			t.Errorf("closed after %v", took)
		}
		w.release <- struct{}{}
	})
}

// Frames of different kinds written by many goroutines must not mix.
func TestFramesDoNotMix(t *testing.T) {
	w := overTCP(t, &ws.Options{PingInterval: -1})
	c := w.legacy()
	const n = 300
	go func() {
		for i := range n {
			burst := frame(opText, call(3*i+1, "echo", `{"a":1}`))
			burst = append(burst, frame(opPing, strings.Repeat("p", 125))...)
			burst = append(burst, frame(opText, call(3*i+2, "big", `{"size":3000}`))...)
			burst = append(burst, frame(opText, call(3*i+3, "count", `{}`))...)
			c.send(burst)
			ws.PingAll(w.handler)
		}
	}()
	answers, pongs, pings := 0, 0, 0
	for answers < 3*n || pongs < n || pings < n {
		op, payload := c.receive()
		switch {
		case t.Failed():
			return
		case op == opText && strings.HasPrefix(string(payload), `{"jsonrpc":"2.0"`) &&
			strings.HasSuffix(string(payload), "}"):
			answers++
		case op == opPong && string(payload) == strings.Repeat("p", 125):
			pongs++
		case op == opPing && len(payload) == 0:
			pings++
		default:
			t.Fatalf("received opcode %d with %.100q", op, payload)
		}
	}
}

// The server survives any input, and cleans up the connection.
func TestSurvivesAnything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := overMemory(t, nil)
		random := rand.New(rand.NewPCG(1, 2))
		frames := [][]byte{
			frame(opText, initialize), frame(opText, call(1, "count", `{"a":1}`)), frame(opText, call(2, "slow", "{}")),
			part(opText, "{"), part(final|opContinuation, "}"), frame(opPing, "p"), frame(opPong, ""),
			frame(opClose, "\x03\xe8"),
		}
		for range 500 {
			var data []byte
			for range random.IntN(5) + 1 {
				data = append(data, frames[random.IntN(len(frames))]...)
			}
			for range random.IntN(3) {
				data[random.IntN(len(data))] ^= 1 << random.IntN(8)
			}
			data = data[:random.IntN(len(data))+1]
			c := w.connect()
			go func() {
				_, _ = c.Write(data)
				c.Close()
			}()
			_, _ = io.Copy(io.Discard, c.r)
		}
		if err := w.handler.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown = %v", err)
		}
	})
}
