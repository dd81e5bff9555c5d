package contract

import (
	"bufio"
	"bytes"
	"io"
)

// ServeLines answers line by line, and flushes when no complete line is buffered. answer
// appends the answer to a line, or nothing for a notification.
func ServeLines(in io.Reader, out io.Writer, answer func(dst, line []byte) ([]byte, error)) error {
	lines := bufio.NewReaderSize(in, 64<<10)
	w := bufio.NewWriterSize(out, 64<<10)
	var text []byte
	for {
		line, err := lines.ReadSlice('\n')
		if err == io.EOF {
			return nil
		}
		if err == nil {
			text, err = answer(text[:0], line)
		}
		if err != nil {
			return err
		}
		if len(text) > 0 {
			_, _ = w.Write(append(text, '\n')) // Flush returns the error
		}
		if waiting, _ := lines.Peek(lines.Buffered()); bytes.IndexByte(waiting, '\n') < 0 {
			if err := w.Flush(); err != nil {
				return err
			}
		}
	}
}
