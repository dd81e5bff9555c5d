package ws

import (
	"errors"
	"net"
	"sync"
	"syscall"
	"time"
)

// wire is the net.Conn between the framing library and the network connection. To the
// library it is a connection whose writes never block. To this package it is where
// messages are gathered to be sent together, and what lets an idle connection do with no
// buffer and a small stack.
//
// Bytes that the network connection does not accept at once are queued, and written by a
// goroutine that exists only while the queue is not empty. So a sender never waits, and
// reading continues however slowly the client reads.
type wire struct {
	net.Conn
	socket direct
	in     input

	limit   int           // bytes that may be queued
	timeout time.Duration // time without progress before giving up

	mu       sync.Mutex
	reserve  func(n int) bool // see limitMemory; nil: everything fits
	gathered *[]byte          // messages to be sent together
	closing  bool             // stop gathering
	queue    []byte           // written by flush
	counted  int              // what reserve has counted of the queue
	flushing bool
	done     chan struct{} // closed when flush returns
	deadline time.Time     // for flush, once the connection is closed
	err      error         // returned by all later writes
}

var (
	errSlow = errors.New("the client reads too slowly")
	errFull = errors.New("the answers that clients have yet to read have reached their memory limit")
)

const (
	// controlRoom is how far control frames, which answer the client's, may exceed the
	// limit.
	controlRoom = 4 << 10
	// flushSize is the number of bytes that must be accepted within the timeout.
	flushSize = 64 << 10
	// gatherSize is the number of bytes that may be gathered.
	gatherSize = 64 << 10
)

// buffers are the buffers for gathered messages.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

func newWire(limit int, timeout time.Duration) *wire {
	return &wire{
		limit:   limit,
		timeout: timeout,
		in:      input{lock: make(chan struct{}, 1)},
	}
}

// limitMemory makes reserve limit the queue from now on. It is called with the size of the queue while the wire is
// locked, and reports whether that fits.
func (w *wire) limitMemory(reserve func(n int) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reserve = reserve
}

func (w *wire) attach(conn net.Conn) {
	w.Conn = conn
	if c, ok := conn.(syscall.Conn); ok {
		w.socket.attach(c)
	}
}

// Write gathers, sends or queues p. While nothing is gathered, each frame must be passed
// in one piece, so that the frames of several goroutines do not mix.
func (w *wire) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.err != nil:
		return 0, w.err
	case len(w.queue) > w.limit+controlRoom:
		return 0, errSlow
	case w.gathered != nil:
		*w.gathered = append(*w.gathered, p...)
		return len(p), nil
	}
	return len(p), w.send(p)
}

// gather makes later writes wait for release. It fails if too much is queued already.
func (w *wire) gather() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.err != nil:
		return w.err
	case len(w.queue) > w.limit:
		return errSlow
	case w.gathered == nil && !w.closing:
		w.gathered = buffers.Get().(*[]byte)
	}
	return nil
}

// full reports whether the gathered messages should be sent.
func (w *wire) full() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.gathered != nil && len(*w.gathered) >= gatherSize
}

// release sends the gathered messages.
func (w *wire) release() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.releaseLocked()
}

// releaseLocked sends what has been gathered.
func (w *wire) releaseLocked() error {
	all := w.gathered
	w.gathered = nil
	err := w.err
	if all == nil {
		return err
	}
	if err == nil {
		err = w.send(*all)
	}
	if cap(*all) <= gatherSize {
		*all = (*all)[:0]
		buffers.Put(all)
	}
	return err
}

// gatherNoMore sends the gathered messages and stops gathering, so that the close frame
// that follows is sent at once.
func (w *wire) gatherNoMore() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closing = true
	_ = w.releaseLocked()
}

// send writes as much of p as the network connection accepts and queues the rest.
func (w *wire) send(p []byte) error {
	if !w.flushing {
		n, err := w.socket.write(p)
		if err != nil {
			w.err = err
			return err
		}
		if p = p[n:]; len(p) == 0 {
			return nil
		}
		if !w.fits(len(p)) {
			if n > 0 { // a close frame cannot follow part of a message
				w.err = errFull
				_ = w.Conn.Close()
			}
			return errFull
		}
		w.flushing = true
		w.done = make(chan struct{})
		go w.flush()
	} else if !w.fits(len(p)) {
		return errFull
	}
	w.queue = append(w.queue, p...)
	return nil
}

// fits reserves the memory of the queue with n more bytes, and reports whether it fits. Control frames have
// room beyond that, which is not counted, and a close frame always fits.
func (w *wire) fits(n int) bool {
	size := len(w.queue) + n
	if w.reserve == nil || w.reserve(size) {
		w.counted = size
		return true
	}
	return size-w.counted <= controlRoom || w.closing && n <= controlRoom
}

// flush writes the queue until it is empty.
func (w *wire) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer close(w.done)
	for len(w.queue) > 0 {
		part := w.queue[:min(len(w.queue), flushSize)]
		if err := w.flushPart(part); err != nil {
			w.err = errors.Join(w.err, err)
			break
		}
		w.queue = w.queue[len(part):]
	}
	w.flushing = false
	w.queue = nil
	w.counted = 0
	if w.reserve != nil {
		w.reserve(0)
	}
	if w.err != nil {
		_ = w.Conn.Close()
		return
	}
	_ = w.Conn.SetWriteDeadline(time.Time{})
}

// flushPart writes without holding the lock.
func (w *wire) flushPart(part []byte) error {
	deadline := w.deadline
	if deadline.IsZero() {
		deadline = time.Now().Add(w.timeout)
	}
	if err := w.Conn.SetWriteDeadline(deadline); err != nil {
		return err
	}
	w.mu.Unlock()
	defer w.mu.Lock()
	_, err := w.Conn.Write(part)
	return err
}

// flushed returns a channel that is closed when the queue is empty or the connection has
// failed.
func (w *wire) flushed() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.flushing {
		return w.done
	}
	none := make(chan struct{})
	close(none)
	return none
}

// Close closes the connection once the queue is written, for which it allows
// closePatience.
func (w *wire) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.releaseLocked()
	if w.err == nil {
		w.err = net.ErrClosed
	}
	if !w.flushing {
		return w.Conn.Close()
	}
	if w.deadline.IsZero() {
		w.deadline = time.Now().Add(closePatience)
	}
	return w.Conn.SetWriteDeadline(w.deadline) // flush closes it
}

// cut closes the connection now, which also ends flush.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = net.ErrClosed
	}
	_ = w.Conn.Close()
}
