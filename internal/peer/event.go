package peer

import (
	"bufio"
	"bytes"
	"errors"
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

// line returns the next line without its newline, valid until the next call.
func (e *EventReader) line() ([]byte, error) {
	line, err := e.r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		long := bytes.Clone(line)
		for errors.Is(err, bufio.ErrBufferFull) && len(long) <= e.max {
			line, err = e.r.ReadSlice('\n')
			long = append(long, line...)
		}
		line = long
		if len(long) > e.max {
			return nil, TooLong(e.max)
		}
	}
	if err != nil {
		return nil, err
	}
	if !e.started {
		e.started = true
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	return bytes.TrimRight(line, "\r\n"), nil
}
