package server

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"time"
)

// StdioOptions configures [Server.ServeStdio]. Nil and the zero value use the defaults.
type StdioOptions struct {
	// MaxLine is the maximum size of a message in bytes; 0 means 4 MiB. A longer one is
	// answered with an error and skipped.
	MaxLine int
	// MaxInFlight is the maximum number of concurrent requests; when it is reached, reading
	// waits. 0 means 1,000.
	MaxInFlight int
	// DrainTimeout is how long requests in flight may take after the input has ended or ctx
	// is done, before they are cancelled; 0 means 10 seconds.
	DrainTimeout time.Duration
}

// ServeStdio serves one client over a pair of streams, with one message per line, until
// in ends or ctx is done. Then it waits for the requests in flight, and returns nil or
// the error of reading or writing. A malformed message is answered with an error; the
// stream continues.
//
// A blocked Read of in cannot be interrupted, so it may still be running after ctx has
// ended: close in, or exit the process. opts may be nil.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer, opts *StdioOptions) error {
	var o StdioOptions
	if opts != nil {
		o = *opts
	}
	if o.MaxLine <= 0 {
		o.MaxLine = defaultMaxBody
	}
	conn := &lines{
		in:      bufio.NewReaderSize(in, 64<<10),
		maxLine: o.MaxLine,
		w:       out,
	}
	return s.newPipe(ctx, conn, ConnOptions{
		MaxInFlight:  o.MaxInFlight,
		DrainTimeout: o.DrainTimeout,
		Transport:    TransportStdio,
	}).serve()
}

// lines is a pair of streams with one message per line.
type lines struct {
	in      *bufio.Reader
	maxLine int

	mu  sync.Mutex
	w   io.Writer
	buf []byte // messages to be sent together
	err error  // of the first write that has failed
}

var _ BufferedConn = (*lines)(nil)

// tooLongError is the error of ReadMessage for a message that was skipped because of its
// size. The connection continues.
type tooLongError struct{ limit int }

func (e *tooLongError) Error() string {
	return fmt.Sprintf("the message is longer than %d bytes", e.limit)
}

// ReadMessage returns the next line in newly allocated memory, so that a Source may keep it.
func (l *lines) ReadMessage(context.Context) (line []byte, err error) {
	tooLong := false
	for {
		part, err := l.in.ReadSlice('\n')
		switch {
		case tooLong:
		case len(line)+len(bytes.TrimSuffix(part, newline)) > l.maxLine:
			line = nil
			tooLong = true
		default:
			line = append(line, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case tooLong && (err == nil || err == io.EOF):
			return nil, &tooLongError{l.maxLine}
		case err == nil, err == io.EOF && len(line) > 0:
			return bytes.TrimRight(line, "\r\n"), nil
		}
		return nil, err
	}
}

var newline = []byte{'\n'}

// Pending reports whether the next message has already been read, so that its answer can
// be sent together with earlier ones. A partial line is not enough, because the rest may
// never arrive.
func (l *lines) Pending() bool {
	buffered, _ := l.in.Peek(l.in.Buffered())
	return bytes.IndexByte(buffered, '\n') >= 0
}

// gather is how many bytes may be buffered before they are sent.
const gather = 64 << 10

// WriteMessage implements Conn.
func (l *lines) WriteMessage(msg []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf = append(append(l.buf, msg...), '\n')
	if len(l.buf) < gather {
		return l.err
	}
	return l.flushLocked()
}

// Flush implements BufferedConn.
func (l *lines) Flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.flushLocked()
}

func (l *lines) flushLocked() error {
	if len(l.buf) > 0 && l.err == nil {
		_, l.err = l.w.Write(l.buf)
	}
	l.buf = l.buf[:0]
	if cap(l.buf) > keepBuffer {
		l.buf = nil
	}
	return l.err
}
