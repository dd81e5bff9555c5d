package client_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// isolateSlow returns a server with a process for each principal, and the number of its processes. The
// time that a process takes to exit depends on how many were started before, without that for the catalog.
func isolateSlow(
	t *testing.T, options *client.IsolateOptions, all *client.Processes, exit func(nth int64) time.Duration,
) (i *client.Isolated, running *atomic.Int64) {
	t.Helper()
	free := make(chan struct{})
	close(free)
	held := memory(t, &holding{started: make(chan struct{}, 100), release: free}).(*client.Dialer)
	running = new(atomic.Int64)
	var started atomic.Int64
	src := open(t, &client.Dialer{Name: "slow", Dial: func(ctx context.Context) (mcpserver.Conn, error) {
		running.Add(1)
		conn, err := held.Dial(ctx)
		return &slowToClose{pipeConn: conn.(*pipeConn), running: running, time: exit(started.Add(1) - 2)}, err
	}}, &client.Options{Lazy: true, Processes: all})
	if _, err := src.Catalog(t.Context()); err != nil {
		t.Fatal(err)
	}
	options.By = client.ByPrincipal
	return client.Isolate(src, options), running
}

// callsAs calls the tool hold for several principals at once, and returns how many were refused.
func callsAs(t *testing.T, i mcp.Source, name string, callers int) (refused int64) {
	t.Helper()
	var all sync.WaitGroup
	var busy atomic.Int64
	for n := range callers {
		all.Go(func() {
			switch got := callAs(t.Context(), i, fmt.Sprintf("%s%d", name, n)); {
			case strings.Contains(got, `"code":-31003,`):
				busy.Add(1)
			case !strings.Contains(got, "held"):
				t.Errorf("the call of %s%d: %s", name, n, got)
			}
		})
	}
	all.Wait()
	return busy.Load()
}

// TestProcessesStopTogether guards that requests at a limit do not wait for one exit after the other: an
// idle process is stopped for each of them.
func TestProcessesStopTogether(t *testing.T) {
	for name, all := range map[string]*client.Processes{"of the server": {}, "of all servers": {Max: 20}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				i, running := isolateSlow(t, &client.IsolateOptions{MaxTotal: 20}, all,
					func(int64) time.Duration { return 5 * time.Second })
				defer i.Close()
				callsAs(t, i, "old", 20)
				begin := time.Now()
				if n := callsAs(t, i, "new", 20); n != 0 {
					t.Errorf("%d of 20 calls are refused, want none", n)
				}
				if took := time.Since(begin); took != 5*time.Second {
					t.Errorf("20 calls take %s, want 5 s, in which all processes stop", took)
				}
				if n := running.Load(); n != 21 {
					t.Errorf("%d processes run, want 20 and that for the catalog", n)
				}
			})
		})
	}
}

// TestOneStopForOneProcess guards that requests that will share a process stop only one other process together.
func TestOneStopForOneProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i, running := isolateSlow(t, &client.IsolateOptions{MaxTotal: 3}, &client.Processes{},
			func(int64) time.Duration { return 5 * time.Second })
		defer i.Close()
		callsAs(t, i, "old", 3)
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				if n := callsAs(t, i, "new", 1); n != 0 {
					t.Error("a call is refused")
				}
			})
		}
		all.Wait()
		if n := running.Load(); n != 4 {
			t.Errorf("%d processes run, want 3 and that for the catalog", n)
		}
	})
}

// TestStuckProcess guards that a process that does not exit takes its own place only: requests stop another
// one, or are refused.
func TestStuckProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i, _ := isolateSlow(t, &client.IsolateOptions{MaxTotal: 2}, &client.Processes{}, func(nth int64) time.Duration {
			if nth == 0 {
				return 24 * time.Hour
			}
			return time.Second
		})
		defer i.Close()
		for _, name := range []string{"stuck", "idle", "next", "last"} {
			begin := time.Now()
			if n := callsAs(t, i, name, 1); n != 0 || time.Since(begin) > time.Minute {
				t.Errorf("%d calls of %s refused after %s, want none", n, name, time.Since(begin))
			}
		}
	})
	synctest.Test(t, func(t *testing.T) {
		i, _ := isolateSlow(t, &client.IsolateOptions{MaxTotal: 1}, &client.Processes{},
			func(int64) time.Duration { return 24 * time.Hour })
		defer i.Close()
		callsAs(t, i, "stuck", 1)
		begin := time.Now()
		if n := callsAs(t, i, "next", 3); n != 3 || time.Since(begin) > time.Minute {
			t.Errorf("%d of 3 calls refused after %s, want 3 within a minute", n, time.Since(begin))
		}
	})
}

// intercepted passes calls on with a context whose Err calls a function first, and returns its error.
type intercepted struct {
	*client.Isolated
	intercept func() error
}

func (s *intercepted) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return s.Isolated.CallTool(&interceptedContext{ctx, s.intercept}, p)
}

type interceptedContext struct {
	context.Context
	intercept func() error
}

func (c *interceptedContext) Err() error {
	if err := c.intercept(); err != nil {
		return err
	}
	return c.Context.Err()
}

// TestRoomIsHandedOver guards that a request for which a process was stopped gets its place: a request to
// another server that arrives after the exit cannot take it.
func TestRoomIsHandedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := &client.Processes{Max: 1}
		second := func(int64) time.Duration { return time.Second }
		ours, running := isolateSlow(t, &client.IsolateOptions{}, all, second)
		defer ours.Close()
		theirs, _ := isolateSlow(t, &client.IsolateOptions{}, all, second)
		defer theirs.Close()
		callsAs(t, ours, "old", 1)
		taken := false
		refused := callsAs(t, &intercepted{ours, func() error {
			if !taken && running.Load() == 1 { // that for the catalog
				taken = true
				if callsAs(t, theirs, "thief", 1) == 0 {
					t.Error("the request to another server is served")
				}
			}
			return nil
		}}, "next", 1)
		if !taken || refused != 0 {
			t.Errorf("taken: %t; %d calls refused, want none", taken, refused)
		}
		// Room that its request no longer needs is free.
		refused = callsAs(t, &intercepted{ours, func() error {
			if running.Load() == 1 {
				return mcp.Errorf(mcp.CodeToolBusy, "gone")
			}
			return nil
		}}, "gone", 1)
		if refused != 1 {
			t.Error("a call that ends while it waits is served")
		}
		synctest.Wait()
		if n := all.Running(); n != 0 {
			t.Errorf("%d processes count after the request that waited has gone, want 0", n)
		}
		if n := callsAs(t, theirs, "next", 1); n != 0 {
			t.Error("the other server is refused a process that is free")
		}
	})
}

// TestCloseWithStuckProcess guards that Close does not wait without limit for a process that does not exit.
func TestCloseWithStuckProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, running := isolateSlow(t, &client.IsolateOptions{}, nil, func(nth int64) time.Duration {
			if nth < 0 {
				return 0 // the process of the catalog exits at once
			}
			return time.Hour
		})
		callsAs(t, src, "caller", 1)
		began := time.Now()
		if err := src.Close(); err == nil || !strings.Contains(err.Error(), "a process has not exited") {
			t.Errorf("Close = %v", err)
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("Close took %v", took)
		}
		if n := running.Load(); n != 1 {
			t.Errorf("%d processes run after Close, want only the one that does not exit", n)
		}
		time.Sleep(2 * time.Hour) // the process exits
	})
}

// TestCloseStopsTogether guards that Close does not report processes that have each exited in time.
func TestCloseStopsTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, running := isolateSlow(t, &client.IsolateOptions{}, nil,
			func(int64) time.Duration { return 8 * time.Second })
		callsAs(t, src, "caller", 2)
		began := time.Now()
		if err := src.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
		if took := time.Since(began); took != 8*time.Second {
			t.Errorf("Close took %v, want the 8 seconds of one process", took)
		}
		if n := running.Load(); n != 0 {
			t.Errorf("%d processes run after Close", n)
		}
	})
}
