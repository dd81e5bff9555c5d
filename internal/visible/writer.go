package visible

import (
	"bytes"
	"io"
	"sync"
	"unicode/utf8"
)

// Writer forwards a stream, escaped as by [Text]. It is safe for concurrent use if every
// Write consists of whole lines.
type Writer struct {
	to io.Writer
	mu sync.Mutex
	// held is the end of the last Write that the next one may complete: the first bytes of a
	// character, or a carriage return that may belong to a line ending. It is shorter than
	// utf8.UTFMax bytes.
	held []byte
}

// NewWriter returns a Writer to w. Flush writes the last bytes.
func NewWriter(w io.Writer) *Writer { return &Writer{to: w} }

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	whole := append(w.held, p...)
	n := len(whole) - unfinished(whole)
	_, err := io.WriteString(w.to, Text(string(whole[:n])))
	w.held = append([]byte(nil), whole[n:]...)
	return len(p), err
}

// Flush writes an incomplete character at the end, escaped.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := io.WriteString(w.to, Text(string(w.held)))
	w.held = nil
	return err
}

// unfinished returns how many bytes at the end of p may be completed by the next bytes.
func unfinished(p []byte) int {
	if bytes.HasSuffix(p, []byte{'\r'}) {
		return 1
	}
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		if c := p[len(p)-n]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(p[len(p)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

// JSONWriter forwards documents, escaped as by [JSON]. Every Write must end between two
// characters, as those of encoding/json and log/slog do.
type JSONWriter struct{ To io.Writer }

// Write implements io.Writer.
func (w JSONWriter) Write(p []byte) (int, error) {
	_, err := w.To.Write(JSON(p))
	return len(p), err
}
