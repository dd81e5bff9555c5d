// Package load sends the requests of a workload to a peer and counts the answers. It is
// designed to be cheap: prebuilt requests over plain sockets and pipes, ids incremented
// in place, answers framed but not decoded. [Generator.Check] verifies the content of an
// answer beforehand; a run only verifies status and length.
package load

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/bench/fix"
)

// Plan is the schedule of a run. The measured time begins after Warmup, lasts at least
// Measure, and is extended up to four times that long while fewer than minRequests were
// answered.
type Plan struct {
	Warmup, Measure time.Duration
	// Begin and End are called when the measured time begins and ends, to read the clocks of
	// processes.
	Begin, End func() error
}

const (
	// A run is extended up to maxExtensions times until this many requests were answered.
	minRequests   = 32
	maxExtensions = 4
)

// Result is the result of one run.
type Result struct {
	// Requests were answered within Elapsed, which is at least Plan.Measure.
	Requests int64
	Elapsed  time.Duration
	Latency  Histogram // empty if more than one request was in flight on a connection
}

// The phases of a run, shared by its connections.
const (
	warming int32 = iota
	measuring
	stopping
)

// clock moves a run through its phases.
type clock struct {
	// count is the number of answers in the measured phase, of all connections.
	phase atomic.Int32
	count atomic.Int64
}

// run moves through the phases of plan and returns the measured time. It ends early if
// failed is closed.
func (c *clock) run(plan Plan, failed <-chan struct{}) (time.Duration, error) {
	defer c.phase.Store(stopping)
	if !wait(plan.Warmup, failed) {
		return 0, nil
	}
	if err := plan.Begin(); err != nil {
		return 0, err
	}
	start := time.Now()
	c.phase.Store(measuring)
	for range maxExtensions {
		if !wait(plan.Measure, failed) {
			return 0, nil
		}
		if c.count.Load() >= minRequests {
			break
		}
	}
	c.phase.Store(stopping)
	elapsed := time.Since(start)
	return elapsed, plan.End()
}

// wait reports whether d passed before a worker failed.
func wait(d time.Duration, failed <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-failed:
		return false
	}
}

// Run sends requests according to plan. The first failed request ends it.
func (g *Generator) Run(plan Plan) (Result, error) {
	var (
		clock  clock
		group  sync.WaitGroup
		once   sync.Once
		first  error
		failed = make(chan struct{})
	)
	workers := make([]*worker, max(g.Connections, 1))
	for i := range workers {
		w, err := g.newWorker(i)
		if err != nil {
			return Result{}, err
		}
		defer w.Close()
		workers[i] = w
	}
	for _, w := range workers {
		group.Go(func() {
			if err := w.run(&clock); err != nil {
				once.Do(func() {
					first = err
					close(failed)
				})
			}
		})
	}
	elapsed, err := clock.run(plan, failed)
	group.Wait()
	if first != nil {
		err = first
	}
	if err != nil {
		return Result{}, err
	}
	result := Result{
		Requests: clock.count.Load(),
		Elapsed:  elapsed,
	}
	for _, w := range workers {
		result.Latency.Merge(&w.latency)
	}
	return result, nil
}

// worker is one connection of a run.
type worker struct {
	transport
	g       *Generator
	request []byte // whole
	body    []byte // within request, from the first byte of the message
	// id is the number of the next request on the connection.
	id      int
	latency Histogram
}

// run keeps the window full: it sends a request for every answer. It only measures
// latency for a window of one: in larger windows, requests wait for each other.
func (w *worker) run(clock *clock) error {
	window := max(w.g.Workload.Window, 1)
	start := time.Now()
	if err := w.send(window); err != nil {
		return err
	}
	for {
		if err := w.receiveOne(); err != nil {
			return err
		}
		now := time.Now()
		switch clock.phase.Load() {
		case stopping:
			return nil
		case measuring:
			clock.count.Add(1)
			if window == 1 {
				w.latency.Add(now.Sub(start))
			}
		}
		start = now
		if err := w.send(1); err != nil {
			return err
		}
	}
}

// send sends n requests, each with a separate write, like independent callers.
func (w *worker) send(n int) error {
	for range n {
		fix.PutID(w.body, w.id)
		w.id++
		if _, err := w.Write(w.request); err != nil {
			return err
		}
	}
	return nil
}

// receiveOne receives an answer and checks its length, which costs less than comparing it.
func (w *worker) receiveOne() error {
	answer, length, err := w.receive(w.g.Each != nil)
	if err != nil {
		return err
	}
	if err := checkLength(length, w.g.length); err != nil {
		return err
	}
	if w.g.Each == nil {
		return nil
	}
	return w.g.Each(answer, w.id-1)
}
