// Package frugal bounds the garbage of work that allocates much and retains little.
package frugal

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

const (
	// usualPercent is Go's default of the heap growth after which garbage is collected.
	usualPercent = 100
	// minPercent and maxPercent bound what replaces it.
	minPercent = 15
	maxPercent = 400
)

// Run calls work, and collects garbage whenever the heap has grown by about growth bytes. A
// percentage, as GOGC is, collects a small heap too often, and leaves too much garbage in a large
// one. A program that sets GOGC, or another percentage by [debug.SetGCPercent], is left alone,
// also if it does so during the work. Of several calls at a time, only the first has an effect.
func Run(growth int, work func() error) error {
	if os.Getenv("GOGC") != "" {
		return work()
	}
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	default:
		return work()
	}
	p := &pacer{growth: growth, percent: percentFor(growth)}
	if before := debug.SetGCPercent(p.percent); before != usualPercent {
		debug.SetGCPercent(before)
		return work()
	}
	p.awaitCollection()
	defer p.stop()
	return work()
}

// Free returns unused memory to the system after [Run], which takes a garbage collection. It does nothing if the
// program sets the percentage, or while another call of Run has an effect.
func Free() {
	if os.Getenv("GOGC") == "" && read("/gc/gogc:percent") == usualPercent {
		debug.FreeOSMemory()
	}
}

// turn is held by the call of [Run] that has an effect: the percentage belongs to the process.
var turn = make(chan struct{}, 1)

// pacer adjusts the percentage to the size of the heap.
type pacer struct {
	growth int

	mu      sync.Mutex // guards what follows
	percent int
	stopped bool
}

// awaitCollection calls adjust after the next garbage collection.
func (p *pacer) awaitCollection() {
	type garbage struct{ of *pacer }
	runtime.AddCleanup(&garbage{p}, (*pacer).adjust, p)
}

// adjust sets the percentage for the heap that the last collection left.
func (p *pacer) adjust() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return
	}
	p.set(percentFor(p.growth))
	if !p.stopped {
		p.awaitCollection()
	}
}

// stop restores Go's default.
func (p *pacer) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.stopped {
		p.set(usualPercent)
		p.stopped = true
	}
}

// set sets the percentage, unless the program has set another.
func (p *pacer) set(percent int) {
	if now := debug.SetGCPercent(percent); now != p.percent {
		debug.SetGCPercent(now)
		p.stopped = true
	}
	p.percent = percent
}

// percentFor returns the percentage by which the heap grows by growth bytes.
func percentFor(growth int) int {
	live := max(1, read("/gc/heap/live:bytes"))
	return int(min(max(uint64(growth)*100/live, minPercent), maxPercent))
}

// read returns a metric of the runtime.
func read(name string) uint64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
