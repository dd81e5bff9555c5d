package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// eventReader reads an event stream (HTML, "Server-sent events").
type eventReader struct {
	r       *bufio.Reader
	max     int // maximum bytes of one event
	started bool

	lastID string        // of the last event with an id
	retry  time.Duration // the delay that the server requests before reconnecting; 0: none
}

func newEventReader(r io.Reader, maxEvent int) *eventReader {
	return &eventReader{r: bufio.NewReaderSize(r, 16<<10), max: maxEvent}
}

// event is one event with data, in separate memory.
type event struct {
	name string // empty stands for message
	data []byte
}

// next returns the next event with data. An incomplete event at the end of the stream is
// dropped, as the standard requires.
func (e *eventReader) next() (event, error) {
	var ev event
	size, hasData := 0, false
	for {
		line, err := e.line()
		if err != nil {
			return event{}, err
		}
		if size += len(line); size > e.max {
			return event{}, fmt.Errorf("%w: over %d bytes", errTooLong, e.max)
		}
		if len(line) == 0 {
			if hasData && len(ev.data) > 0 {
				return ev, nil
			}
			ev, size, hasData = event{}, 0, false
			continue
		}
		field, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimPrefix(value, []byte{' '})
		switch string(field) {
		case "data":
			if hasData {
				ev.data = append(ev.data, '\n')
			}
			ev.data, hasData = append(ev.data, value...), true
		case "event":
			ev.name = string(value)
		case "id":
			if bytes.IndexByte(value, 0) < 0 {
				e.lastID = string(value)
			}
		case "retry":
			if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
				e.retry = time.Duration(ms) * time.Millisecond
			}
		}
	}
}

// line returns the next line without its newline, valid until the next call.
func (e *eventReader) line() ([]byte, error) {
	line, err := e.r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		long := bytes.Clone(line)
		for errors.Is(err, bufio.ErrBufferFull) && len(long) <= e.max {
			line, err = e.r.ReadSlice('\n')
			long = append(long, line...)
		}
		line = long
		if len(long) > e.max {
			return nil, fmt.Errorf("%w: over %d bytes", errTooLong, e.max)
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

// How many times in a row a broken stream is resumed without new data, the default delay
// before that, and the maximum delay that a server can request.
const (
	maxResumes    = 5
	defaultRetry  = time.Second
	longestRetry  = 30 * time.Second
	eventStream   = "text/event-stream"
	headerEventID = "Last-Event-Id"
)

// events reads the answer to c from an event stream. It resumes a broken stream if
// possible.
func (l *httpLink) events(ctx context.Context, resp *http.Response, c *call) ([]byte, error) {
	var found *reply
	lastID, wait := "", defaultRetry
	for tries := 0; ; {
		r := newEventReader(resp.Body, l.endpoint.maxMessage())
		r.lastID = lastID
		err := l.readEvents(r, c, &found)
		if found != nil {
			return found.result, found.err
		}
		if errors.Is(err, errTooLong) || ctx.Err() != nil {
			return nil, err
		}
		if r.lastID == "" {
			return nil, l.brokenStream(ctx, err)
		}
		if tries++; r.lastID != lastID {
			tries = 1
		}
		if r.retry > 0 {
			wait = min(r.retry, longestRetry)
		}
		if lastID = r.lastID; tries > maxResumes || !sleep(ctx, wait) {
			return nil, l.brokenStream(ctx, err)
		}
		next, err := l.get(ctx, lastID)
		if err != nil {
			return nil, err
		}
		defer finishStream(next.Body)
		resp = next
	}
}

// brokenStream is broken for a stream that ended too early.
func (l *httpLink) brokenStream(ctx context.Context, err error) error {
	if errors.Is(err, io.EOF) {
		err = errors.New("the server ended the stream without an answer")
	}
	return l.broken(ctx, err)
}

// readEvents reads messages until the answer to c, or the end of the stream.
func (l *httpLink) readEvents(r *eventReader, c *call, found **reply) error {
	for {
		ev, err := r.next()
		if err != nil {
			return err
		}
		if ev.name != "" && ev.name != "message" {
			continue
		}
		if c == nil {
			l.in.receive(ev.data, nil)
			continue
		}
		if l.sort(ev.data, c, found); *found != nil {
			return nil
		}
	}
}

// sleep waits, and reports whether d has passed completely.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// get opens an event stream: a broken one from lastID on, or the standing one of the
// session.
func (l *httpLink) get(ctx context.Context, lastID string) (*http.Response, error) {
	header, inSession := l.header(nil)
	header["Accept"] = eventsOnly
	if lastID != "" {
		header[headerEventID] = []string{lastID}
	}
	resp, err := l.endpoint.do(l.endpoint.request(ctx, http.MethodGet, header, nil))
	if err != nil {
		return nil, l.broken(ctx, err)
	}
	if resp.StatusCode == http.StatusOK && strings.HasPrefix(resp.Header.Get("Content-Type"), eventStream) {
		return resp, nil
	}
	defer finishBody(resp.Body)
	status := &StatusError{Status: resp.StatusCode}
	if status.forgotten(inSession) && inSession && resp.StatusCode != http.StatusBadRequest {
		l.lose(status)
		return nil, &lostError{cause: status}
	}
	return nil, status
}

// listen keeps the standing stream of a session up to 2025-11-25 open, on which the
// server announces changes. again is called after each interruption.
func (l *httpLink) listen(again func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.endpoint.NoListen || l.closed || l.old != nil || l.version.Modern() {
		return
	}
	l.work.Go(func() {
		lastID, failures := "", 0
		for first := true; l.quit.Err() == nil; first = false {
			resp, err := l.get(l.quit, lastID)
			var status *StatusError
			switch {
			case errors.As(err, &status) && status.Status < 500:
				return // the server has no such stream, or the session is lost
			case err != nil:
				failures++
			default:
				if failures = 0; !first && lastID == "" {
					again()
				}
				r := newEventReader(resp.Body, l.endpoint.maxMessage())
				_ = l.readEvents(r, nil, nil) // reopened in any case
				lastID = r.lastID
				_ = resp.Body.Close()
			}
			if !sleep(l.quit, max(backoff(failures), defaultRetry)) {
				return
			}
		}
	})
}
