package server_test

import (
	"context"
	"io"
	"math"
	"runtime/metrics"
	"testing"

	"github.com/slipway-mcp/slipway/internal/test/race"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// Tests of the cost of a request. None of them depends on the clock.

// repeated is an input of n equal lines.
type repeated struct {
	line string
	n    int
	rest string
}

func (r *repeated) Read(b []byte) (n int, err error) {
	for n < len(b) {
		if r.rest == "" {
			if r.n == 0 {
				return n, io.EOF
			}
			r.n--
			r.rest = r.line
		}
		k := copy(b[n:], r.rest)
		n, r.rest = n+k, r.rest[k:]
	}
	return n, nil
}

func serveLines(t *testing.T, server *mcpserver.Server, line string, n int) {
	t.Helper()
	if err := server.ServeStdio(context.Background(), &repeated{line: line + "\n", n: n}, io.Discard, nil); err != nil {
		t.Fatal(err)
	}
}

func stdioWorkloads() []workload {
	read := modern("resources/read", `"uri":"test://text"`)
	return []workload{
		{name: "echo-2026", body: call(1, "stored"), allocs: 4},
		{name: "list-2026", body: modernRequest, allocs: 3},
		{name: "read-2026", body: read, allocs: 6},
		{name: "ping", body: pingRequest, allocs: 3},
		{name: "notification", body: initializedNote, allocs: 2},
	}
}

func TestStdioAllocations(t *testing.T) {
	const n = 500
	slack := 0.5 // for allocations elsewhere
	if race.Enabled {
		slack = 5 // the race detector makes pools drop entries
	}
	for _, w := range stdioWorkloads() {
		t.Run(w.name, func(t *testing.T) {
			server := mcpserver.New(newDemo(), nil)
			each := math.Inf(1)
			for range 5 { // a busy machine delays leaders, and makes pools drop entries
				short := testing.AllocsPerRun(10, func() { serveLines(t, server, w.body, n) })
				long := testing.AllocsPerRun(10, func() { serveLines(t, server, w.body, 2*n) })
				// The cost of the connection itself is in both.
				if each = min(each, (long-short)/n); each <= w.allocs+slack {
					return
				}
			}
			t.Errorf("%.2f allocations for each request, want at most %v", each, w.allocs)
		})
	}
}

func goroutinesCreated() uint64 {
	sample := []metrics.Sample{{Name: "/sched/goroutines-created:goroutines"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// A request stays on the goroutine that received it.
func TestNoGoroutinePerRequest(t *testing.T) {
	const n = 1000
	check := func(t *testing.T, serve func()) {
		t.Helper()
		serve() // initialization
		var created uint64
		for range 5 {
			before := goroutinesCreated()
			serve()
			// A few are from the runtime, and successors of leaders delayed by a busy machine.
			if created = goroutinesCreated() - before; created <= n/10 {
				return
			}
		}
		t.Errorf("%d goroutines for %d requests", created, n)
	}
	h := mcpserver.New(newDemo(), nil).HTTPHandler(nil)
	for _, w := range workloads() {
		t.Run("http "+w.name, func(t *testing.T) {
			r := newRerun(h, w.body, w.header)
			check(t, func() {
				for range n {
					r.serve()
				}
			})
		})
	}
	server := mcpserver.New(newDemo(), nil)
	for _, w := range stdioWorkloads() {
		t.Run("stdio "+w.name, func(t *testing.T) {
			check(t, func() { serveLines(t, server, w.body, n) })
		})
	}
}

// Idle sessions and answered requests hold no goroutine.
func TestNoGoroutineStays(t *testing.T) {
	h := mcpserver.New(newDemo(), nil).HTTPHandler(nil)
	b := &browser{handler: h}
	b.open(t)
	before := goroutines()
	for range 200 {
		opened := b.open(t)
		opened.post(t,
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"progress","_meta":{"progressToken":1}}}`)
	}
	if now := goroutines(); now > before {
		t.Errorf("%d goroutines, before %d", now, before)
	}
}

func goroutines() uint64 {
	sample := []metrics.Sample{{Name: "/sched/goroutines:goroutines"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
