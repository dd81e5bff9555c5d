package server

import (
	"net/http"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// surface is what serves the messages of one client: an HTTP request, or a connection.
type surface interface {
	newRequest() *request
	// admit determines the era, version and session of a scanned message.
	admit(rc *request) *mcp.Error
	// handle serves an admitted message that is part of a batch.
	handle(rc *request, a *answer)
}

// accept scans a message and admits it to a surface.
func (rc *request) accept(text []byte, s surface) *mcp.Error {
	if e := rc.msg.scan(text); e != nil {
		return e
	}
	return s.admit(rc)
}

const (
	// maxBatch limits the number of messages in a batch. Each is answered, so a body of very
	// short messages would produce an answer many times its size.
	maxBatch = 1000
	// maxBatchAnswers limits the size of a batch's answers in bytes. When it is reached, the
	// remaining requests are rejected. Short requests may have long answers.
	maxBatchAnswers = 4 << 20
)

// serveBatch serves an array of messages, which only 2025-03-26 allows, one after the
// other. It passes each answer to deliver, which returns the size of the answers held so
// far. The error is for the whole batch, of which nothing has been served.
func serveBatch(text []byte, s surface, a *answer, deliver func(msg []byte) (held int)) *mcp.Error {
	if e := checkBatch(text); e != nil {
		return e
	}
	held := 0
	eachElement(text, func(element []byte) {
		a.reset()
		rc := s.newRequest()
		defer rc.leave()
		e := rc.accept(element, s)
		if e == nil {
			e = rc.fitsBatch(held)
		}
		if e == nil {
			s.handle(rc, a)
		} else {
			a.failure(rc, e)
			rc.server.refused(rc, e, 0)
		}
		if msg := a.line(); len(msg) > 0 {
			held = deliver(msg)
		}
	})
	return nil
}

// checkBatch returns an error for a text that is not an array of messages, or of too many.
func checkBatch(text []byte) *mcp.Error {
	if err := jsonscan.Valid(text); err != nil {
		return parseError(err)
	}
	n := 0
	eachElement(text, func([]byte) { n++ })
	switch {
	case n == 0:
		return invalidRequest("empty batch")
	case n > maxBatch:
		return invalidRequest("a batch of %d messages, want at most %d", n, maxBatch)
	}
	return nil
}

// fitsBatch returns an error if an admitted message cannot be part of a batch. held is
// the size of the batch's answers so far.
func (rc *request) fitsBatch(held int) *mcp.Error {
	switch {
	case held > maxBatchAnswers && rc.msg.isRequest():
		return busy("the answers of this batch have more than %d bytes: send the request again",
			maxBatchAnswers)
	case rc.msg.is("initialize"):
		return invalidRequest("initialize cannot be part of a batch")
	case rc.version.Modern():
		return invalidRequest("a batch cannot contain requests of %s", rc.version)
	}
	return nil
}

// eachElement calls each for every element of the valid array text.
func eachElement(text []byte, each func(element []byte)) {
	_, _ = jsonscan.Array(text, 0, 0, func(i int) (int, error) {
		end, err := jsonscan.ValueAt(text, i, 1)
		if err == nil {
			each(text[i:end])
		}
		return end, err
	})
}

var errInFlight = invalidRequest("a request with this id is already in flight")

// handleTracked serves a request that can be cancelled by its id in the meantime.
func (s *Server) handleTracked(session *session, rc *request, a *answer) {
	if !session.track(rc) {
		a.failure(rc, errInFlight)
		s.refused(rc, errInFlight, http.StatusOK)
		return
	}
	defer session.untrack(rc)
	if session.hasEnded() { // since it was found; it has not cancelled the request
		rc.cancelBecause(errSessionOver)
	}
	s.handle(rc, a)
}
