package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

// StdioOptions configure [Server.ServeStdio]. The zero value and nil are the defaults.
type StdioOptions struct {
	// MaxLine is the longest message in bytes; 0 stands for 4 MiB. A longer one
	// is answered with an error and skipped.
	MaxLine int
	// MaxInFlight is how many requests may run at once; beyond it, reading waits.
	// 0 stands for 1,000.
	MaxInFlight int
	// DrainTimeout is how long requests in flight may take after the input has
	// ended or ctx is done, before they are cancelled; 0 stands for 10 seconds.
	DrainTimeout time.Duration
}

// ServeStdio serves one client over a pair of streams, one message on each
// line, until in ends or ctx is done. Then it waits for the requests in flight
// and returns nil, or the error that reading or writing met with. A message
// that is malformed gets an error for an answer; the stream goes on.
//
// A Read of in that is blocked when ctx ends is left behind, as there is no way
// to interrupt it: close in, or leave the process. opts may be nil.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer, opts *StdioOptions) error {
	var o StdioOptions
	if opts != nil {
		o = *opts
	}
	if o.MaxLine <= 0 {
		o.MaxLine = defaultMaxBody
	}
	return s.serveLink(ctx, &lines{
		in:      bufio.NewReaderSize(in, 64<<10),
		maxLine: o.MaxLine,
		w:       out,
		broken:  make(chan struct{}),
	}, ConnOptions{MaxInFlight: o.MaxInFlight, DrainTimeout: o.DrainTimeout, Transport: TransportStdio})
}

// lines is a pair of streams with a message on each line.
type lines struct {
	in      *bufio.Reader
	maxLine int
	broken  chan struct{} // closed when writing has failed

	mu  sync.Mutex
	w   io.Writer
	buf []byte // messages that wait for company
	err error
}

var errTooLong = errors.New("the message is too long")

// read returns the next line in memory of its own, so that a Source may keep
// what it is given.
func (l *lines) read(context.Context) (line []byte, err error) {
	tooLong := false
	for {
		part, err := l.in.ReadSlice('\n')
		switch {
		case tooLong:
		case len(line)+len(bytes.TrimSuffix(part, newline)) > l.maxLine:
			line, tooLong = nil, true
		default:
			line = append(line, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case tooLong && (err == nil || err == io.EOF):
			return nil, errTooLong
		case err == nil, err == io.EOF && len(line) > 0:
			return bytes.TrimRight(line, "\r\n"), nil
		}
		return nil, err
	}
}

var newline = []byte{'\n'}

// pending reports whether the next message is here already, so that its answer
// can leave together with those before it. A part of a line is not enough: the
// rest may take for ever.
func (l *lines) pending() bool {
	buffered, _ := l.in.Peek(l.in.Buffered())
	return bytes.IndexByte(buffered, '\n') >= 0
}

// gather is how many bytes may wait for company.
const gather = 64 << 10

func (l *lines) write(msg []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf = append(append(l.buf, msg...), '\n')
	if len(l.buf) >= gather {
		l.flushLocked()
	}
}

func (l *lines) flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flushLocked()
	return l.err
}

func (l *lines) flushLocked() {
	if len(l.buf) > 0 && l.err == nil {
		if _, l.err = l.w.Write(l.buf); l.err != nil {
			close(l.broken)
		}
	}
	l.buf = l.buf[:0]
	if cap(l.buf) > keepBuffer {
		l.buf = nil
	}
}

func (l *lines) failed() <-chan struct{} { return l.broken }
func (l *lines) limit() int              { return l.maxLine }
