package visible

import (
	"bytes"
	"io"
	"sync"
	"unicode/utf8"
)

// Writer passes a stream on as [Text] would. It is safe for concurrent use if every
// Write is whole lines.
type Writer struct {
	to io.Writer
	mu sync.Mutex
	// held is the end of the last Write that the next one may complete: the first
	// bytes of a character, or a return that may belong to a line end. It has less
	// than utf8.UTFMax bytes.
	held []byte
}

// NewWriter returns a Writer to w. Flush passes on the last bytes.
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

// Flush passes on, escaped, what waits for the rest of a character.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := io.WriteString(w.to, Text(string(w.held)))
	w.held = nil
	return err
}

// unfinished returns how many bytes at the end of p the next bytes may complete.
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

// JSONWriter passes on documents as [JSON] does. Every Write must end between two
// characters, as those of encoding/json and log/slog do.
type JSONWriter struct{ To io.Writer }

// Write implements io.Writer.
func (w JSONWriter) Write(p []byte) (int, error) {
	_, err := w.To.Write(JSON(p))
	return len(p), err
}
