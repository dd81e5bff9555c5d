package peer

import (
	"bufio"
	"bytes"
	"io"
	"strconv"
	"time"
)

// EventReader reads an event stream (HTML, "Server-sent events").
type EventReader struct {
	// LastID is the id of the last event that had one. Set it to that of the stream to
	// resume.
	LastID string
	// Retry is the delay that the server requests before reconnecting; 0 means none.
	Retry time.Duration

	r       *bufio.Reader
	max     int
	started bool
	afterCR bool // the last line ended in CR: an LF that follows belongs to its end
}

// NewEventReader returns a reader of events with at most maxEvent bytes.
func NewEventReader(r io.Reader, maxEvent int) *EventReader {
	return &EventReader{
		r:   bufio.NewReaderSize(r, 16<<10),
		max: maxEvent,
	}
}

// Event is one event with data, in separate memory.
type Event struct {
	Name string // empty means message
	Data []byte
}

// IsMessage reports whether the event carries a message of the protocol.
func (e Event) IsMessage() bool {
	return e.Name == "" || e.Name == "message"
}

// Next returns the next event with data. An incomplete event at the end of the stream is
// dropped, as the standard requires.
func (e *EventReader) Next() (Event, error) {
	var ev Event
	size := 0
	hasData := false
	for {
		line, err := e.line()
		if err != nil {
			return Event{}, err
		}
		if size += len(line); size > e.max {
			return Event{}, TooLong(e.max)
		}
		if len(line) == 0 {
			if hasData && len(ev.Data) > 0 {
				return ev, nil
			}
			ev = Event{}
			size = 0
			hasData = false
			continue
		}
		field, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimPrefix(value, []byte{' '})
		switch string(field) {
		case "data":
			if hasData {
				ev.Data = append(ev.Data, '\n')
			}
			ev.Data = append(ev.Data, value...)
			hasData = true
		case "event":
			ev.Name = string(value)
		case "id":
			if bytes.IndexByte(value, 0) < 0 {
				e.LastID = string(value)
			}
		case "retry":
			if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
				e.Retry = time.Duration(ms) * time.Millisecond
			}
		}
	}
}

// line returns the next line without its end, valid until the next call. The standard
// permits CR, LF and CRLF. A line that ends in CR is complete before the byte after it has
// arrived: that may be the LF of a CRLF, which the next call drops.
func (e *EventReader) line() ([]byte, error) {
	var long []byte
	for {
		part, err := e.buffered()
		if err != nil {
			return nil, err
		}
		if e.afterCR {
			e.afterCR = false
			if part[0] == '\n' {
				_, _ = e.r.Discard(1) // is buffered
				continue
			}
		}
		end, whole := lineEnd(part)
		if len(long)+end > e.max {
			return nil, TooLong(e.max)
		}
		line := part[:end]
		if !whole {
			long = append(long, line...)
			_, _ = e.r.Discard(end) // is buffered
			continue
		}
		e.afterCR = part[end] == '\r'
		_, _ = e.r.Discard(end + 1) // leaves the bytes of line in place
		if long != nil {
			line = append(long, line...)
		}
		if !e.started {
			e.started = true
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		return line, nil
	}
}

// buffered returns what has arrived, which is at least one byte, without consuming it.
func (e *EventReader) buffered() ([]byte, error) {
	if _, err := e.r.Peek(1); err != nil {
		return nil, err
	}
	return e.r.Peek(e.r.Buffered())
}

// lineEnd returns the index of the first CR or LF. If there is none, whole is false and end
// is the length of text.
func lineEnd(text []byte) (end int, whole bool) {
	end = len(text)
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		end, whole = i, true
	}
	if i := bytes.IndexByte(text[:end], '\r'); i >= 0 {
		end, whole = i, true
	}
	return end, whole
}
