package mcplog

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/slipway-mcp/slipway/internal/fsutil"
)

// Limits of a recording that is read.
const (
	// MaxBytes is the maximum size of a recording after decompression, and of the memory
	// for it. A [Writer] ends below, also with its last event.
	MaxBytes = 1<<30 + 2*maxLine
	// maxLine is the maximum size of one line: a message of 64 MiB in base64. That of the
	// header is maxHeader.
	maxLine   = 96 << 20
	maxHeader = 1 << 20
)

// Recording is a recording in memory.
type Recording struct {
	// Header is the first line, and Events are the others.
	Header Header
	Events []Event
	// Cut reports whether the last line is incomplete, as after a crash. Events lacks it.
	Cut bool
	// Memory is how much memory the events use, about, or the size of their text if that is
	// more.
	Memory int
}

// Incomplete returns what is missing, or "" if nothing is known to be.
func (rec *Recording) Incomplete() string {
	for i := range rec.Events {
		if e := &rec.Events[i]; e.Kind == Gap {
			return "messages are missing: " + e.Error
		}
	}
	if rec.Cut {
		return "the last line is incomplete and is ignored"
	}
	return ""
}

// FormatError is a fault in the text of a recording.
type FormatError struct {
	// Line counts from 1, and Err is what is wrong with it.
	Line int
	Err  error
}

// Error implements the error interface.
func (e *FormatError) Error() string {
	return fmt.Sprintf("not a readable recording: line %d: %v", e.Line, e.Err)
}

// Unwrap returns the cause.
func (e *FormatError) Unwrap() error { return e.Err }

// ReadFile reads the recording in a file, see [Read].
func ReadFile(name string) (*Recording, error) {
	f, err := fsutil.OpenRegular(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Read(f)
}

// Read reads a recording of at most [MaxBytes], which may be compressed with gzip, into
// memory, see [ReadMax].
func Read(r io.Reader) (*Recording, error) { return ReadMax(r, MaxBytes) }

// ErrTooLarge is the cause of a [*FormatError] for a recording above the limit of [ReadMax].
var ErrTooLarge = errors.New("the recording is too large")

// ReadMax reads a recording whose text and whose memory have at most maxBytes. An incomplete
// last line, as after a crash, is dropped and sets Cut. Any other fault is a
// [*FormatError] with the line; the rest of a damaged recording is not returned.
func ReadMax(r io.Reader, maxBytes int) (*Recording, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	start, _ := in.Peek(2)
	if bytes.Equal(start, []byte{0x1f, 0x8b}) {
		plain, err := gzip.NewReader(in)
		if err != nil {
			return nil, err
		}
		in = bufio.NewReaderSize(plain, 64<<10)
	}
	rec := &Recording{}
	for line := 1; ; line++ {
		text, whole, err := readLine(in)
		if err != nil {
			return nil, &FormatError{line, err}
		}
		if len(text) == 0 && !whole {
			break
		}
		err = rec.add(line, text)
		if rec.Memory > maxBytes {
			return nil, &FormatError{line, fmt.Errorf("%w: it needs more than %d bytes of memory", ErrTooLarge, maxBytes)}
		}
		if err != nil {
			if whole || line == 1 {
				return nil, &FormatError{line, err}
			}
			rec.Cut = true
		}
		if !whole {
			break
		}
	}
	if rec.Header.Format == 0 {
		return nil, &FormatError{1, errNoHeader}
	}
	return rec, nil
}

var errNoHeader = errors.New(`it does not begin with {"mcplog":1}`)

// add adds the event on a line, or the header on the first one.
func (rec *Recording) add(line int, text []byte) error {
	if line > 1 {
		var e Event
		err := json.Unmarshal(text, &e)
		rec.Memory += max(len(text), e.Memory())
		if err != nil {
			return err
		}
		rec.Events = append(rec.Events, e)
		return nil
	}
	if len(text) > maxHeader {
		return fmt.Errorf("the header has more than %d bytes", maxHeader)
	}
	rec.Memory = len(text)
	if json.Unmarshal(text, &rec.Header) != nil || rec.Header.Format == 0 {
		return errNoHeader
	}
	if rec.Header.Format > Version {
		return fmt.Errorf("version %d of the format is newer than this program", rec.Header.Format)
	}
	return nil
}

// readLine returns a line without its end. whole is false for a last line without one.
func readLine(in *bufio.Reader) (text []byte, whole bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		text = append(text, part...)
		switch {
		case len(text) > maxLine:
			return nil, false, fmt.Errorf("it has more than %d bytes", maxLine)
		case err == nil:
			return text[:len(text)-1], true, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF): // the latter from gzip
			return text, false, nil
		default:
			return nil, false, err
		}
	}
}
