// Package load sends the requests of a workload to a peer and counts the answers. It is
// designed to be cheap: prebuilt requests over plain sockets and pipes, ids incremented
// in place, answers framed but not decoded. The answers of a peer are checked beforehand,
// with [HTTP.Check] and [Stdio.Check], and by status and length during a run.
package load

import (
	"fmt"
	"math/bits"
	"sync/atomic"
	"time"
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
	minRequests = 32
	patience    = 4
)

// Result is the result of one run.
type Result struct {
	Requests int64
	Elapsed  time.Duration
	Latency  Histogram
}

// The phases of a run, shared by its connections.
const (
	warming int32 = iota
	measuring
	stopping
)

// clock moves a run through its phases.
type clock struct {
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
	for range patience {
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

// slack is the permitted difference in length between an answer and the checked one, in
// bytes: ids have a fixed width, but some peers add a time or a counter.
const slack = 16

func checkLength(got, want int) error {
	if got < want-slack || got > want+slack {
		return fmt.Errorf("answer of %d bytes, but the checked one had %d", got, want)
	}
	return nil
}

// Histogram counts durations with an error of at most 1.6 %. The zero value is empty. It
// is not safe for concurrent use.
type Histogram struct {
	counts [64 << subBits]int64
	total  int64
}

const subBits = 6

// Add counts d.
func (h *Histogram) Add(d time.Duration) {
	h.counts[slot(uint64(max(d, 0)))]++
	h.total++
}

// Merge adds the counts of other.
func (h *Histogram) Merge(other *Histogram) {
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.total += other.total
}

// Quantile returns the duration that a share q of the durations does not exceed, or 0 if
// there are none.
func (h *Histogram) Quantile(q float64) time.Duration {
	rank := int64(q * float64(h.total))
	var seen int64
	for i, n := range h.counts {
		if seen += n; seen > rank || seen == h.total && n > 0 {
			return time.Duration(lower(i))
		}
	}
	return 0
}

// slot returns the index of the counter for v. Counters are linear within each power of
// two.
func slot(v uint64) int {
	if v < 1<<subBits {
		return int(v)
	}
	shift := bits.Len64(v) - 1 - subBits
	return (shift+1)<<subBits | int(v>>shift)&(1<<subBits-1)
}

func lower(slot int) uint64 {
	if slot < 1<<subBits {
		return uint64(slot)
	}
	shift := slot>>subBits - 1
	return (1<<subBits | uint64(slot)&(1<<subBits-1)) << shift
}
