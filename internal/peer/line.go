package peer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// ErrTooLong is the error of a reader for a message beyond its limit, wrapped with that
// limit. Nothing can be read after it.
var ErrTooLong = errors.New("the server's message is too long")

// TooLong returns [ErrTooLong] with a limit in bytes.
func TooLong(limit int) error {
	return fmt.Errorf("%w: over %d bytes", ErrTooLong, limit)
}

// LineReader splits a stream into lines, each in separate memory.
type LineReader struct {
	r    io.Reader
	max  int
	buf  []byte
	have []byte // read but not yet returned, within buf
	long []byte // start of a line longer than buf
}

// NewLineReader returns a reader of lines with at most maxLine bytes.
func NewLineReader(r io.Reader, maxLine int) *LineReader {
	return &LineReader{
		r:   r,
		max: maxLine,
		buf: make([]byte, 64<<10),
	}
}

// Next returns the next line that is not blank, as it is but without its newline. The
// last line may lack a newline.
func (l *LineReader) Next() ([]byte, error) {
	for {
		if i := bytes.IndexByte(l.have, '\n'); i >= 0 {
			line := l.take(l.have[:i])
			l.have = l.have[i+1:]
			if len(line) > l.max {
				return nil, TooLong(l.max)
			}
			if len(bytes.TrimSpace(line)) > 0 {
				return line, nil
			}
			continue
		}
		if len(l.long)+len(l.have) > l.max {
			return nil, TooLong(l.max)
		}
		l.long = append(l.long, l.have...)
		n, err := l.r.Read(l.buf)
		l.have = l.buf[:n]
		if n == 0 && err != nil {
			if line := l.take(nil); len(bytes.TrimSpace(line)) > 0 {
				return line, nil
			}
			return nil, err
		}
	}
}

// take returns the stored start of a line together with its end.
func (l *LineReader) take(end []byte) []byte {
	line := append(l.long, end...)
	l.long = nil
	return line
}
