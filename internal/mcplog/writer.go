package mcplog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/slipway-mcp/slipway/mcp/tap"
)

// WriterOptions configure a [Writer]. Nil and the zero value mean the defaults.
type WriterOptions struct {
	// Environment is searched for secrets, as NAME=value. Their values are redacted
	// wherever they occur, in addition to credentials in known formats.
	Environment []string
	// Redact are paths into messages whose values are redacted, such as
	// $.params.arguments.password. A * matches every member or element.
	Redact []string
	// MaxBytes is the maximum size of the recording, in the file and in the memory of a
	// program that reads it; 0 means 1 GiB. When it is reached, a [Gap] is written and
	// recording ends.
	MaxBytes int64
	// Failed, if not nil, is called once when recording has ended early: because of an
	// error of writing, or of MaxBytes.
	Failed func(error)
}

// ErrFull is the error for a recording that has reached [WriterOptions.MaxBytes].
var ErrFull = errors.New("the recording has reached its maximum size")

// Writer writes a recording. It is safe for concurrent use. The first error ends the
// recording, but not the conversation, and is reported to [WriterOptions.Failed].
type Writer struct {
	// opts are complete, and redactor is nil if nothing is redacted.
	opts     WriterOptions
	redactor *Redactor

	mu sync.Mutex
	w  io.Writer
	// seq and bytes count what has been written. After err, nothing more is.
	seq   uint64
	bytes int64
	err   error
}

// NewWriter writes the header to w and returns a Writer for the events. Every line is
// passed to w with one call of Write. opts may be nil.
func NewWriter(w io.Writer, h *Header, opts *WriterOptions) (*Writer, error) {
	l := &Writer{w: w}
	if opts != nil {
		l.opts = *opts
	}
	if l.opts.MaxBytes <= 0 {
		l.opts.MaxBytes = 1 << 30
	}
	var err error
	if l.redactor, err = NewRedactor(l.opts.Environment, l.opts.Redact); err != nil {
		return nil, err
	}
	first := *h
	first.Format = Version
	first.Redact = l.opts.Redact
	if err := l.line(&first); err != nil {
		return nil, err
	}
	return l, nil
}

// Tap returns a tap that redacts and records the events of a source. source is the number in
// [Event.Source].
func (l *Writer) Tap(source int) tap.Func {
	return func(t *tap.Event) {
		e := l.redactor.Event(t, source)
		l.Append(e)
	}
}

// Len returns the number of events that were appended.
func (l *Writer) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int(l.seq)
}

// Append appends an event without redacting it, and sets its Seq to the next number. It does
// nothing after the recording has ended.
func (l *Writer) Append(e *Event) {
	l.mu.Lock()
	if l.err != nil {
		l.mu.Unlock()
		return
	}
	l.seq++
	e.Seq = l.seq
	err := l.event(e)
	if err == nil && l.bytes >= l.opts.MaxBytes {
		err = ErrFull
		_ = l.line(&Event{
			Seq:         l.seq + 1,
			Nanoseconds: e.Nanoseconds,
			Kind:        Gap,
			Error:       err.Error(),
		})
	}
	l.err = err
	l.mu.Unlock()
	if err != nil && l.opts.Failed != nil {
		l.opts.Failed(err)
	}
}

// event writes the line of an event, or that of a gap if it is too long for a reader.
func (l *Writer) event(e *Event) error {
	before := l.bytes
	err := l.line(e)
	if errors.Is(err, errLongLine) {
		err = l.line(&Event{
			Seq:         e.Seq,
			Source:      e.Source,
			Nanoseconds: e.Nanoseconds,
			Kind:        Gap,
			Bytes:       e.Bytes,
			Error:       fmt.Sprintf("an event of kind %s was too large to record", e.Kind),
		})
	}
	l.bytes = max(l.bytes, before+int64(e.Memory()))
	return err
}

// errLongLine is the error for a line that a reader would refuse.
var errLongLine = fmt.Errorf("it has more than %d bytes", maxLine)

// line writes one line in a single call, so that a crash leaves at most one incomplete
// line.
func (l *Writer) line(value any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // HTML would take up to six times its size
	if err := encoder.Encode(value); err != nil {
		return err
	}
	if text.Len() > maxLine {
		return errLongLine
	}
	n, err := l.w.Write(text.Bytes())
	l.bytes += int64(n)
	return err
}
