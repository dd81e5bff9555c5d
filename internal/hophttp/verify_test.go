package hophttp_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/internal/hophttp"
)

// revenant is a replica at the other end of one connection, which may die without ending it.
type revenant struct {
	dead   func(net.Conn) // what happens to what arrives then; nil for a live one
	served atomic.Int64   // requests that have arrived, but for pings
	pings  atomic.Int64
}

func (r *revenant) serve(conn net.Conn) {
	in := bufio.NewReader(conn)
	for {
		if _, err := in.Peek(1); err != nil {
			return
		}
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, req.Body)
		if req.URL.Path == hophttp.PingPath {
			r.pings.Add(1)
		} else {
			r.served.Add(1)
		}
		if r.dead != nil {
			r.dead(conn)
			continue
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
	}
}

// TestIdleConnectionToDeadReplica guards a request to a replica whose machine has lost its power, which ends no
// connection: it is not sent on a connection that was idle, so that it has certainly not run.
func TestIdleConnectionToDeadReplica(t *testing.T) {
	refused := errors.New("connection refused")
	lost := errors.New("the replica does not answer")
	for name, c := range map[string]struct {
		dead  func(net.Conn)
		cause error
	}{
		"the machine has started again": {func(c net.Conn) { _ = c.Close() }, refused},
		"the machine is gone":           {func(net.Conn) {}, lost},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, server := net.Pipe()
				defer server.Close()
				replica := new(revenant)
				go replica.serve(server)
				dialed := false
				transport := &hophttp.Transport{Dial: func(context.Context) (net.Conn, error) {
					if dialed {
						return nil, refused
					}
					dialed = true
					return client, nil
				}}
				defer transport.CloseIdleConnections()
				send := func() error {
					stop := new(hophttp.Canceler)
					defer time.AfterFunc(700*time.Millisecond, func() { stop.Cancel(lost) }).Stop()
					req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://replica/mcp",
						strings.NewReader("call"))
					if err != nil {
						t.Fatal(err)
					}
					resp, err := transport.Send(req, nil, stop)
					if err == nil {
						_ = resp.Body.Close()
					}
					return err
				}
				for _, idle := range []time.Duration{0, 500 * time.Millisecond, 10 * time.Second} {
					time.Sleep(idle)
					if err := send(); err != nil {
						t.Fatal(err)
					}
				}
				if served, pings := replica.served.Load(), replica.pings.Load(); served != 3 || pings != 1 {
					t.Errorf("a live replica served %d requests after %d pings, want 3 after 1", served, pings)
				}
				synctest.Wait()
				replica.dead = c.dead
				time.Sleep(10 * time.Second)
				err := send()
				var unsent *hophttp.NotSentError
				if !errors.As(err, &unsent) || !errors.Is(err, c.cause) {
					t.Errorf("the error is %v, want %v of a request that was not sent", err, c.cause)
				}
				if n := replica.served.Load(); n != 3 {
					t.Errorf("the dead connection carried %d requests", n-3)
				}
			})
		})
	}
}
