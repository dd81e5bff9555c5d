// Package lines cuts a stream into lines.
package lines

import (
	"bytes"
	"sync"
)

// Writer is an io.Writer that calls Line for every line written to it. It is safe
// for concurrent use, and Line is never called twice at a time.
type Writer struct {
	// Line receives a line without its end. Its error is returned by Write.
	Line func(line string) error
	// Max is how many bytes a line may have, 8 KiB if it is 0. A longer one arrives
	// in pieces.
	Max int

	mu   sync.Mutex
	held []byte // the line that has not ended yet
}

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	most := w.Max
	if most <= 0 {
		most = 8 << 10
	}
	for rest := p; len(rest) > 0; {
		n := bytes.IndexByte(rest, '\n')
		whole := n >= 0
		if !whole {
			n = len(rest)
		}
		room := most - len(w.held)
		tooLong := n > room
		if tooLong {
			n = room
			whole = false
		}
		w.held = append(w.held, rest[:n]...)
		rest = rest[n:]
		if whole {
			rest = rest[1:]
		}
		if whole || tooLong {
			if err := w.emit(); err != nil {
				return len(p) - len(rest), err
			}
		}
	}
	return len(p), nil
}

// Flush passes on a last line that has no end.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.held) == 0 {
		return nil
	}
	return w.emit()
}

func (w *Writer) emit() error {
	line := string(bytes.TrimSuffix(w.held, []byte{'\r'}))
	w.held = w.held[:0]
	return w.Line(line)
}
