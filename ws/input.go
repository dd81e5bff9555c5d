package ws

import (
	"encoding/binary"
	"errors"
	"math"
	"sync"
	"sync/atomic"
)

// input is the reading side of a wire. It returns at most one frame at a time, so that
// between frames no other buffer holds part of the next one. Instead of blocking for a
// frame to begin, it returns errRest; await does the blocking, with no buffer and on a
// shallow stack. A goroutine that blocks inside the framing library keeps a stack of
// twice the size for as long as the client is silent.
type input struct {
	heard  atomic.Bool // something has been read since the last reset
	ponged atomic.Bool // a pong has been received
	hungry atomic.Bool // block for frames: the connection is being closed

	lock    chan struct{}    // held while blocking, which a Mutex is not meant for
	buf     *[inputSize]byte // nil while nothing is unread
	unread  []byte           // the unread part of buf
	left    uint64           // bytes left of the current frame
	length  uint64           // length of its payload
	between bool             // the message continues in the next frame
}

// inputSize holds many small messages at once.
const inputSize = 8 << 10

// inputs are the buffers. Only connections with unread bytes have one.
var inputs = sync.Pool{New: func() any { return new([inputSize]byte) }}

// errRest is returned by Read when no frame has begun.
var errRest = errors.New("no frame has begun")

func (in *input) acquire() { in.lock <- struct{}{} }
func (in *input) release() { <-in.lock }

// begin stores bytes that were read before the wire existed.
func (in *input) begin(early []byte) {
	in.buf = inputs.Get().(*[inputSize]byte)
	in.unread = in.buf[:copy(in.buf[:], early)]
}

// await blocks, between two messages, until a frame other than a pong has begun.
func (w *wire) await() error {
	w.in.acquire()
	defer w.in.release()
	for {
		if len(w.in.unread) == 0 {
			if err := w.fetch(); err != nil {
				return err
			}
		}
		if !w.in.takePong() {
			return nil
		}
	}
}

// takePong consumes a pong that has arrived completely. The framing library would, too,
// but at the cost of a kilobyte of garbage per connection and round of pings.
func (in *input) takePong() bool {
	h, ok := frameHeader(in.unread)
	if !ok || in.unread[0] != 0x8a || in.unread[1]&0x80 == 0 || h.payload > 125 ||
		h.size+h.payload > uint64(len(in.unread)) {
		return false
	}
	in.ponged.Store(true)
	in.take(int(h.size + h.payload))
	return true
}

// fetch reads into a new buffer. Nothing must be unread.
func (w *wire) fetch() error {
	buf, n, err := w.socket.read()
	if buf == nil && err == nil {
		buf = inputs.Get().(*[inputSize]byte)
		n, err = w.Conn.Read(buf[:])
	}
	if n > 0 {
		w.in.buf = buf
		w.in.unread = buf[:n]
		w.in.heard.Store(true)
		return nil
	}
	if buf != nil {
		inputs.Put(buf)
	}
	return err
}

// fetchMore appends to the unread bytes.
func (w *wire) fetchMore() error {
	kept := copy(w.in.buf[:], w.in.unread)
	n, err := w.Conn.Read(w.in.buf[kept:])
	w.in.unread = w.in.buf[:kept+n]
	if n > 0 {
		return nil
	}
	return err
}

// Read returns a frame, or part of one.
func (w *wire) Read(p []byte) (n int, err error) {
	in := &w.in
	in.acquire()
	defer in.release()
	if in.left == 0 {
		if err := w.nextFrame(); err != nil {
			return 0, err
		}
	}
	p = p[:min(uint64(len(p)), in.left)]
	switch {
	case len(in.unread) > 0:
		n = copy(p, in.unread)
	case len(p) >= inputSize:
		n, err = w.Conn.Read(p)
		in.heard.Store(true)
		in.left -= uint64(n)
		return n, err
	default:
		if err := w.fetch(); err != nil {
			return 0, err
		}
		n = copy(p, in.unread)
	}
	in.left -= uint64(n)
	in.take(n)
	return n, nil
}

// take removes n bytes, and returns the buffer to the pool when it is empty: an idle
// connection holds none.
func (in *input) take(n int) {
	if in.unread = in.unread[n:]; len(in.unread) == 0 {
		inputs.Put(in.buf)
		in.buf = nil
		in.unread = nil
	}
}

// nextFrame determines the length of the next frame.
func (w *wire) nextFrame() error {
	in := &w.in
	if len(in.unread) == 0 {
		if !in.between && !in.hungry.Load() {
			return errRest
		}
		if err := w.fetch(); err != nil {
			return err
		}
	}
	for {
		h, ok := frameHeader(in.unread)
		if ok {
			in.left = h.size + h.payload
			in.length = h.payload
			if !h.control {
				in.between = !h.final
			}
			return nil
		}
		if err := w.fetchMore(); err != nil {
			return err
		}
	}
}

// pending reports whether a whole message has arrived.
func (w *wire) pending() bool {
	w.in.acquire()
	defer w.in.release()
	h, ok := frameHeader(w.in.unread)
	atStart := w.in.left == 0 && !w.in.between
	whole := ok && h.final && !h.control && h.size+h.payload <= uint64(len(w.in.unread))
	return atStart && whole
}

// payload returns the payload length of the current frame.
func (w *wire) payload() uint64 {
	w.in.acquire()
	defer w.in.release()
	return w.in.length
}

type header struct {
	// final and control are bits of a frame's header (RFC 6455, section 5.2); size is that
	// of the header itself, payload that of what follows.
	final, control bool
	size, payload  uint64
}

// frameHeader parses the part of a frame's header that determines its length (RFC 6455,
// section 5.2). ok is false if b is too short for that. The frame is validated elsewhere.
func frameHeader(b []byte) (h header, ok bool) {
	if len(b) < 2 {
		return h, false
	}
	h.final = b[0]&0x80 != 0
	h.control = b[0]&0x08 != 0
	h.size = 2
	h.payload = uint64(b[1] & 0x7f)
	switch h.payload {
	case 126:
		if len(b) < 4 {
			return h, false
		}
		h.size, h.payload = 4, uint64(binary.BigEndian.Uint16(b[2:]))
	case 127:
		if len(b) < 10 {
			return h, false
		}
		h.size, h.payload = 10, min(binary.BigEndian.Uint64(b[2:]), math.MaxInt64)
	}
	if b[1]&0x80 != 0 {
		h.size += 4 // the mask
	}
	return h, true
}
