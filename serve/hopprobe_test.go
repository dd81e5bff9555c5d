package serve

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
	"github.com/slipway-mcp/slipway/internal/hophttp"
)

// TestRequestToReplacedReplica guards a request in flight at a replica whose machine has lost its power and started
// again: nothing ends its connection, and the replica stays a member until its lease ends.
func TestRequestToReplacedReplica(t *testing.T) {
	e := cluster.NewMemory()
	a, b := newOwner(t, e), newOwner(t, e) // b keeps its lease, as in the first seconds after a loss of power
	peer := a.replica.Find(t.Context(), b.replica.ID())
	if peer == nil {
		t.Fatal("the other replica was not found")
	}
	const idle = 5 // connections that look alive until they are used
	var open sync.WaitGroup
	var broken atomic.Int32
	open.Add(idle)
	dead := &http.Server{
		Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path == hophttp.PingPath {
				broken.Add(1)
				panic(http.ErrAbortHandler)
			}
			open.Done()
			open.Wait()
		}),
		ErrorLog: log.New(io.Discard, "", 0),
	}
	go func() { _ = dead.Serve(b.replica.Listener()) }()
	t.Cleanup(func() { _ = dead.Close() })
	var requests sync.WaitGroup
	for range idle {
		requests.Go(func() {
			resp, err := askReplica(t.Context(), peer, "/")
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		})
	}
	requests.Wait()
	_ = b.replica.Listener().Close()
	started, err := cluster.Join(t.Context(), e, &cluster.Options{Listen: b.replica.Addr()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = started.Leave(t.Context()) })
	server := &http.Server{
		Handler:  http.NotFoundHandler(),
		ErrorLog: log.New(io.Discard, "", 0),
	}
	go func() { _ = server.Serve(started.Listener()) }()
	t.Cleanup(func() { _ = server.Close() })

	h := a.homes(&noProcesses{}).hop
	request := new(cluster.Canceler)
	watched := h.probes.watch(peer, request)
	defer h.probes.unwatch(watched, request)
	for deadline := time.Now().Add(10 * time.Second); request.Cause() == nil; {
		if time.Now().After(deadline) {
			t.Fatal("the request waits for the lease of the replica to end")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if n := broken.Load(); n != 1 {
		t.Errorf("%d probes on connections of the dead process, want 1", n)
	}
	if cause := request.Cause(); !errors.Is(cause, cluster.ErrGone) || h.probes.suspended(peer) {
		t.Errorf("the request ended with %v, suspended %v; want %v, false", cause, h.probes.suspended(peer), cluster.ErrGone)
	}
}

// TestProbeLedElsewhere guards a request in flight at a replica that others reach through a proxy: a probe that the
// proxy leads to another replica says nothing about the request.
func TestProbeLedElsewhere(t *testing.T) {
	e := cluster.NewMemory()
	a, other := newOwner(t, e), newOwner(t, e)
	proxy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	b, err := cluster.Join(t.Context(), e, &cluster.Options{Advertise: proxy.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Leave(context.Background()) })
	const elsewhere = 2 // connections, for one probe tries again on another
	var led, answered atomic.Int32
	for _, r := range []*cluster.Replica{other.replica, b} {
		server := &http.Server{
			Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				if r == b {
					answered.Add(1)
				}
			}),
			ErrorLog: log.New(io.Discard, "", 0),
		}
		go func() { _ = server.Serve(r.Listener()) }()
		t.Cleanup(func() { _ = server.Close() })
	}
	lead := func(c net.Conn) {
		defer c.Close()
		to := b
		if led.Add(1) <= elsewhere {
			to = other.replica
		}
		target, err := net.Dial("tcp", to.Listener().Addr().String())
		if err != nil {
			t.Error(err)
			return
		}
		defer target.Close()
		go func() { _, _ = io.Copy(target, c) }()
		_, _ = io.Copy(c, target)
	}
	go func() {
		for {
			c, err := proxy.Accept()
			if err != nil {
				return
			}
			go lead(c)
		}
	}()
	h := a.homes(&noProcesses{}).hop
	request := new(cluster.Canceler)
	defer h.probes.unwatch(h.probes.watch(a.replica.Find(t.Context(), b.ID()), request), request)
	for deadline := time.Now().Add(10 * time.Second); answered.Load() < 3; {
		if time.Now().After(deadline) {
			t.Fatalf("%d connections, %d probes were answered", led.Load(), answered.Load())
		}
		time.Sleep(10 * time.Millisecond)
	}
	if cause := request.Cause(); cause != nil {
		t.Errorf("the request ended with %v after a probe that had been led to another replica", cause)
	}
}
