package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/internal/peer"
)

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
		r := peer.NewEventReader(resp.Body, l.endpoint.maxMessage())
		r.LastID = lastID
		err := l.readEvents(r, c, &found)
		if found != nil {
			return found.result, found.err
		}
		if errors.Is(err, peer.ErrTooLong) || ctx.Err() != nil {
			return nil, err
		}
		if r.LastID == "" {
			return nil, l.brokenStream(ctx, err)
		}
		if tries++; r.LastID != lastID {
			tries = 1
		}
		if r.Retry > 0 {
			wait = min(r.Retry, longestRetry)
		}
		if lastID = r.LastID; tries > maxResumes || !sleep(ctx, wait) {
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
func (l *httpLink) readEvents(r *peer.EventReader, c *call, found **reply) error {
	for {
		ev, err := r.Next()
		if err != nil {
			return err
		}
		if !ev.IsMessage() {
			continue
		}
		if c == nil {
			l.in.receive(ev.Data, nil)
			continue
		}
		if l.sort(ev.Data, c, found); *found != nil {
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
				r := peer.NewEventReader(resp.Body, l.endpoint.maxMessage())
				_ = l.readEvents(r, nil, nil) // reopened in any case
				lastID = r.LastID
				_ = resp.Body.Close()
			}
			if !sleep(l.quit, max(backoff(failures), defaultRetry)) {
				return
			}
		}
	})
}
