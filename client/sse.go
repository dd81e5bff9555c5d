package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/internal/mediatype"
	"github.com/slipway-mcp/slipway/internal/peer"
	"github.com/slipway-mcp/slipway/mcp/tap"
)

// How many times in a row a broken stream is resumed without new data, the default delay
// before that, and the delays that a server can request: a standing stream is not opened again
// before the default delay.
const (
	maxResumes    = 5
	shortestRetry = 100 * time.Millisecond
	defaultRetry  = time.Second
	longestRetry  = 30 * time.Second
	headerEventID = "Last-Event-Id"
)

// readAnswer reads the answer to c from an event stream, which the caller closes. It resumes a broken
// stream if possible.
func (l *httpLink) readAnswer(ctx context.Context, resp *http.Response, c *call) (*reply, error) {
	lastID := ""
	wait := defaultRetry
	first := resp
	defer func() {
		if resp != first {
			drainAndCloseStream(resp.Body)
		}
	}()
	for tries := 0; ; {
		r := peer.NewEventReader(resp.Body, l.endpoint.maxMessage())
		r.LastID = lastID
		found, err := l.readEvents(r, c, l.tapOf(resp).On(tap.SSE))
		if found != nil {
			return found, nil
		}
		if errors.Is(err, peer.ErrTooLong) || ctx.Err() != nil {
			return nil, err
		}
		if tries++; r.LastID != lastID {
			tries = 1
		}
		if r.Retry > 0 {
			wait = min(max(r.Retry, shortestRetry), longestRetry)
		}
		lastID = r.LastID
		if lastID == "" || tries > maxResumes || !sleep(ctx, wait) {
			if errors.Is(err, io.EOF) {
				err = errors.New("the server ended the stream without an answer")
			}
			return nil, l.connectionError(ctx, err)
		}
		if resp != first {
			_ = resp.Body.Close() // it has ended
			resp = first
		}
		next, err := l.get(ctx, lastID)
		if err != nil {
			return nil, err
		}
		resp = next
	}
}

// readEvents reads messages until the answer to c, or the end of the stream. If c is nil,
// there is no answer.
func (l *httpLink) readEvents(r *peer.EventReader, c *call, x *tap.Stream) (*reply, error) {
	for {
		ev, err := r.Next()
		if err != nil {
			return nil, err
		}
		if x != nil && len(ev.Data) > 0 {
			x.Received(ev.Data, tap.Body)
		}
		switch {
		case !ev.IsMessage():
		case c == nil:
			l.ses.receive(ev.Data, nil)
		default:
			if found := l.takeAnswer(ev.Data, c); found != nil {
				return found, nil
			}
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
	header["Accept"] = []string{mediatype.EventStream}
	if lastID != "" {
		header[headerEventID] = []string{lastID}
	}
	resp, err := l.endpoint.do(l.endpoint.request(ctx, http.MethodGet, header),
		l.ses.src.tap)
	if err != nil {
		return nil, l.connectionError(ctx, err)
	}
	if resp.StatusCode == http.StatusOK && isEventStream(resp) {
		return resp, nil
	}
	status := l.refusal(resp)
	if inSession && status.mayForgetSession(true) &&
		resp.StatusCode != http.StatusBadRequest {
		l.endSession(status)
		return nil, &lostError{cause: status}
	}
	return nil, status
}

// listen keeps the standing stream of a session up to 2025-11-25 open, on which the
// server announces changes and may ask. refresh is called when changes may have been
// missed. Further calls have no effect.
func (l *httpLink) listen(refresh func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.endpoint.NoListen || l.opened != nil || l.closed || l.old != nil || l.version.Modern() {
		return
	}
	l.opened = make(chan struct{})
	settle := sync.OnceFunc(func() { close(l.opened) })
	time.AfterFunc(streamWait, settle)
	l.work.Go(func() {
		defer settle()
		l.keepListening(refresh, settle)
	})
}

// keepListening opens the standing stream again and again, until the link is closed or the server refuses it. opened is
// called after each attempt.
func (l *httpLink) keepListening(refresh, opened func()) {
	lastID := ""
	failures := 0
	wait := defaultRetry
	for first := true; l.quit.Err() == nil; first = false {
		resp, err := l.get(l.quit, lastID)
		opened()
		var status *StatusError
		switch {
		case errors.As(err, &status) && status.Status < 500 && !status.busy():
			if lastID == "" || !l.ses.alive() {
				l.reportNoStream(status)
				return // the server has no such stream, or the session is lost
			}
			lastID = "" // it may no longer keep the events after this one
		case err != nil:
			failures++
		default:
			if failures = 0; !first && lastID == "" {
				refresh()
			}
			r := peer.NewEventReader(resp.Body, l.endpoint.maxMessage())
			r.LastID = lastID // remains if the stream breaks before its first event
			// Reopened in any case.
			_, _ = l.readEvents(r, nil, l.tapOf(resp).On(tap.SSE))
			lastID = r.LastID
			_ = resp.Body.Close()
			if r.Retry > 0 {
				wait = min(max(r.Retry, defaultRetry), longestRetry)
			}
		}
		if !sleep(l.quit, max(backoff(failures), wait)) {
			return
		}
	}
}

// streamWait is how long the first call waits for the standing stream. Some servers drop
// questions while it is closed; others send its header only with the first message.
const streamWait = time.Second

// awaitStream waits until the standing stream is open or refused.
func awaitStream(ctx context.Context, opened <-chan struct{}) {
	select {
	case <-opened:
	case <-ctx.Done():
	}
}

// reportNoStream reports why the server refuses the standing stream, unless it has none or
// has lost the session.
func (l *httpLink) reportNoStream(status *StatusError) {
	switch status.Status {
	case http.StatusMethodNotAllowed, http.StatusNotFound:
		return
	}
	l.ses.src.report(Event{
		What:   EventLog,
		Err:    status,
		Detail: "no stream for changes",
	})
}
