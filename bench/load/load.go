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
	query atomic.Int32 // of the next requests, as an index
}

// run warms up and measures as in plan, and returns the measured time. It ends early if failed is
// closed. Requests are sent until the phase is stopping.
func (c *clock) run(plan Plan, failed <-chan struct{}) (time.Duration, error) {
	defer c.phase.Store(warming)
	c.count.Store(0)
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
	c.phase.Store(warming)
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
	r, err := g.Start()
	if err != nil {
		return Result{}, err
	}
	result, err := r.Take(0, plan)
	if failure := r.Stop(); failure != nil {
		err = failure
	}
	if err != nil {
		return Result{}, err
	}
	for _, w := range r.workers {
		result.Latency.Merge(&w.latency)
	}
	return result, nil
}

// Running is a generator that sends requests until it is stopped, also while nothing is measured.
type Running struct {
	clock   clock
	workers []*worker
	group   sync.WaitGroup
	once    sync.Once
	first   error // that a worker returned
	failed  chan struct{}
}

// Start opens the connections and sends requests. The first failed request ends all.
func (g *Generator) Start() (*Running, error) {
	r := &Running{failed: make(chan struct{})}
	for i := range max(g.Connections, 1) {
		w, err := g.newWorker(i)
		if err != nil {
			r.close()
			return nil, err
		}
		r.workers = append(r.workers, w)
	}
	for _, w := range r.workers {
		r.group.Go(func() {
			if err := w.run(&r.clock); err != nil {
				r.once.Do(func() {
					r.first = err
					close(r.failed)
				})
			}
		})
	}
	return r, nil
}

// Take measures requests with the query of an index, except latencies. Those sent before it are
// answered during the warm-up, if that is long enough.
func (r *Running) Take(query int, plan Plan) (Result, error) {
	r.clock.query.Store(int32(query))
	elapsed, err := r.clock.run(plan, r.failed)
	select {
	case <-r.failed:
		err = r.first
	default:
	}
	return Result{
		Requests: r.clock.count.Load(),
		Elapsed:  elapsed,
	}, err
}

// Stop ends the run, and returns the error of the first failed request.
func (r *Running) Stop() error {
	r.clock.phase.Store(stopping)
	r.group.Wait()
	r.close()
	return r.first
}

func (r *Running) close() {
	for _, w := range r.workers {
		w.Close()
	}
}

// request is a request that is sent many times.
type request struct {
	whole []byte
	body  []byte // within whole, from the first byte of the message
}

// worker is one connection of a run.
type worker struct {
	transport
	g        *Generator
	requests []request // by query
	// id is the number of the next request on the connection.
	id      int
	latency Histogram
}

// run keeps the window full: it sends a request for every answer. It only measures
// latency for a window of one: in larger windows, requests wait for each other.
func (w *worker) run(clock *clock) error {
	window := max(w.g.Workload.Window, 1)
	start := time.Now()
	if err := w.send(clock, window); err != nil {
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
		if err := w.send(clock, 1); err != nil {
			return err
		}
	}
}

// send sends n requests, each with a separate write, like independent callers.
func (w *worker) send(clock *clock, n int) error {
	next := &w.requests[clock.query.Load()]
	for range n {
		fix.PutID(next.body, w.id)
		w.id++
		if _, err := w.Write(next.whole); err != nil {
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
