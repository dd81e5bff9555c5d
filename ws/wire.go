package ws

import (
	"errors"
	"net"
	"sync"
	"syscall"
	"time"
)

// wire is a net.Conn between the socket and what frames messages. To that it is
// a connection on which writing never waits; to us it is where messages are
// gathered to leave as one, and where a connection at rest needs no buffer and
// little stack.
//
// What the socket does not take at once is queued, and a goroutine that exists
// only while something is queued writes it. So whoever has an answer is free
// again, and reading goes on however slowly the client reads.
type wire struct {
	net.Conn
	socket direct
	in     input

	limit   int           // bytes that may wait before no more is taken
	timeout time.Duration // for which the other side may take nothing

	mu       sync.Mutex
	gathered *[]byte // messages that wait for company
	closing  bool    // nothing is gathered any more
	queue    []byte  // for the flusher
	flushing bool
	done     chan struct{} // closed when the flusher ends
	deadline time.Time     // of the flusher, once the connection is closed
	err      error         // of whoever wants to write more
}

var errSlow = errors.New("the client reads too slowly")

const (
	// controlRoom is how far control frames, which answer the client's, may
	// exceed the limit.
	controlRoom = 4 << 10
	// flushSize is how much must be taken within the timeout.
	flushSize = 64 << 10
	// gatherSize is how much may wait for company.
	gatherSize = 64 << 10
)

// buffers are for what is gathered.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

func newWire(limit int, timeout time.Duration) *wire {
	return &wire{limit: limit, timeout: timeout, in: input{lock: make(chan struct{}, 1)}}
}

func (w *wire) attach(conn net.Conn) {
	w.Conn = conn
	if c, ok := conn.(syscall.Conn); ok {
		w.socket.attach(c)
	}
}

// Write takes p: it gathers it, sends it or queues it. While nothing is gathered
// a frame must come in one piece, so that those of several goroutines do not mix.
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

// gather makes what is written from now on wait for release. It fails if too
// much is waiting already.
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

// full reports whether what is gathered should leave.
func (w *wire) full() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.gathered != nil && len(*w.gathered) >= gatherSize
}

// release sends what has been gathered.
func (w *wire) release() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.releaseLocked()
}

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

// gatherNoMore sends what has been gathered, and lets the close frame that comes
// next leave at once.
func (w *wire) gatherNoMore() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closing = true
	_ = w.releaseLocked()
}

// send writes what the socket takes of p and queues the rest.
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
		w.flushing, w.done = true, make(chan struct{})
		go w.flush()
	}
	w.queue = append(w.queue, p...)
	return nil
}

// flush writes the queue until nothing is left of it.
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
	w.flushing, w.queue = false, nil
	if w.err != nil {
		_ = w.Conn.Close()
		return
	}
	_ = w.Conn.SetWriteDeadline(time.Time{})
}

// flushPart writes without the lock.
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

// flushed returns a channel that is closed when nothing waits any more, be it
// because the connection has ended.
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

// Close ends the connection once what waits is sent, for which there is little
// time.
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
	return w.Conn.SetWriteDeadline(w.deadline) // the flusher closes it
}

// cut ends the connection now, and with it the flusher.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = net.ErrClosed
	}
	_ = w.Conn.Close()
}
