package client

import (
	"errors"
	"io"
	"os"
	"sync"
)

// writer sends messages from one goroutine, all queued ones with a single write.
type writer struct {
	mu sync.Mutex // guards the following fields
	// queued is what is to be written next, and spare the buffer of the previous batch,
	// which is used again.
	queued  []byte
	spare   []byte
	err     error
	stopped bool
	taken   int64 // total bytes queued
	given   int64 // bytes of those that may have reached the server
	writing bool  // a batch is being written
	settled sync.Cond

	// wake has capacity 1, so that a signal is kept while a batch is written.
	wake   chan struct{}
	done   chan struct{}
	failed func() // called once when nothing more can be sent
}

// maxQueued is how many bytes may be queued for a server that does not read.
const maxQueued = 64 << 20

var errNotReading = errors.New("the server does not read its input")

// start starts the goroutine that writes to the server. failed is called if that is no
// longer possible.
func (w *writer) start(to io.Writer, failed func()) {
	w.failed = failed
	w.wake = make(chan struct{}, 1)
	w.settled.L = &w.mu
	w.done = make(chan struct{})
	go w.run(to)
}

// write queues msg with a newline, and returns its position for mayHaveSent.
func (w *writer) write(msg []byte) (position int64, err error) {
	w.mu.Lock()
	switch {
	case w.err != nil:
		err = w.err
	case w.stopped:
		err = os.ErrClosed
	case len(w.queued) > 0 && len(w.queued)+len(msg) > maxQueued:
		err = errNotReading
	}
	if err != nil {
		w.mu.Unlock()
		return 0, err
	}
	w.queued = append(append(w.queued, msg...), '\n')
	w.taken += int64(len(msg)) + 1
	position = w.taken
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
	return position, nil
}

// mayHaveSent reports whether a whole message may have reached the server. If not, it never
// will, because nothing is written after that. It is called when the server has stopped, so
// that a batch being written completes or fails.
func (w *writer) mayHaveSent(position int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.writing {
		w.settled.Wait()
	}
	if position <= w.given {
		return true
	}
	w.stopped = true
	w.queued = nil
	return false
}

// subtractUnread subtracts n bytes that were written but never read.
func (w *writer) subtractUnread(n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.given -= n
}

// run writes everything that was queued during a write in one go: under load, many
// messages share a system call.
func (w *writer) run(to io.Writer) {
	defer close(w.done)
	for range w.wake {
		for {
			w.mu.Lock()
			batch := w.queued
			w.queued = w.spare[:0]
			w.spare = nil
			stopped := w.stopped
			w.given += int64(len(batch)) // until proven otherwise
			w.writing = len(batch) > 0
			w.mu.Unlock()
			if len(batch) == 0 {
				if stopped {
					return
				}
				w.keep(batch)
				break
			}
			n, err := to.Write(batch)
			w.mu.Lock()
			w.err = err
			w.given -= int64(len(batch) - n)
			w.writing = false
			w.settled.Broadcast()
			w.mu.Unlock()
			if err != nil {
				w.failed()
				return
			}
			w.keep(batch)
		}
	}
}

// keep reuses a buffer, unless it has grown large.
func (w *writer) keep(buf []byte) {
	if cap(buf) > 1<<20 {
		return
	}
	w.mu.Lock()
	w.spare = buf[:0]
	w.mu.Unlock()
}

// stop ends the goroutine after it has written the queue, or failed to.
func (w *writer) stop() {
	w.mu.Lock()
	w.stopped = true
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *writer) wait() { <-w.done }
