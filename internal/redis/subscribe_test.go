package redis

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"
)

// answering is a connection for a subscription, whose server answers pings until it is silent.
type answering struct {
	redis.Conn

	answers chan any
	closed  chan struct{}
	silent  atomic.Bool
}

func (a *answering) Send(string, ...any) error {
	if !a.silent.Load() {
		a.answers <- []any{[]byte("pong"), []byte("")}
	}
	return nil
}

func (a *answering) Flush() error { return nil }

func (a *answering) Close() error {
	close(a.closed)
	return nil
}

func (a *answering) ReceiveWithTimeout(timeout time.Duration) (any, error) {
	if timeout != 0 {
		return nil, errors.New("a limit of time, which passes while a process is suspended")
	}
	select {
	case answer := <-a.answers:
		return answer, nil
	case <-a.closed:
		return nil, io.ErrClosedPipe
	}
}

func (a *answering) DoWithTimeout(time.Duration, string, ...any) (any, error) { return nil, nil }

// TestSilentServer guards that a subscription ends after three pings without an answer, and not before: pings, and not
// time, decide, since a process that was suspended has sent none.
func TestSilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := &answering{
			answers: make(chan any, 1),
			closed:  make(chan struct{}),
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		s := &subscription{
			conn: redis.PubSubConn{Conn: conn},
			stop: stop,
		}
		go s.ping(ctx, nil)
		ended := make(chan error, 1)
		go func() {
			_, err := s.Next(t.Context())
			ended <- err
		}()
		time.Sleep(time.Minute + pingEvery/2)
		select {
		case err := <-ended:
			t.Fatalf("a subscription whose server answers ended: %v", err)
		default:
		}
		conn.silent.Store(true)
		began := time.Now()
		if err := <-ended; !errors.Is(err, errSilent) {
			t.Errorf("the error is %v, want %v", err, errSilent)
		}
		if took, want := time.Since(began), maxSilent*pingEvery+pingEvery/2; took != want {
			t.Errorf("it ended after %v, want %v", took, want)
		}
	})
}
