package server

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/tap"
)

// exchange is one POST with its response.
type exchange struct {
	// handler and the following fields are what package http passed.
	handler *HTTPHandler
	ctx     context.Context
	w       http.ResponseWriter
	r       *http.Request
	accept  accepts
	out     *response // set once the response has become an event stream
	log     *eventLog // of that stream, if the client can resume it
	memory  heldBody  // of the body and the answers
	// session and version are found while the message is read.
	session *session
	version mcp.Version

	rc     *request // the request being served
	logged *request // the last one added to log

	// For batches: the size of the body, the previous requests, the answers held until the last
	// one, and whether an answer is due.
	batched   bool
	received  int64
	past      []*request
	held      [][]byte
	heldBytes int
	awaits    bool
}

// client returns the client's name in the ledger.
func (x *exchange) client() string {
	return accountName(mcp.PrincipalFrom(x.ctx), x.r.RemoteAddr)
}

// newRequest implements surface.
func (x *exchange) newRequest() *request {
	rc := x.handler.server.newRequest(x.ctx, x.r.RemoteAddr, TransportHTTP)
	rc.header = x.r.Header
	rc.valid = x.handler.opts.Revalidate
	rc.batched = x.batched
	rc.memory = &x.memory
	return rc
}

// single serves a body that contains one message.
func (x *exchange) single(body []byte) {
	a := newAnswer()
	defer a.free()
	rc := x.newRequest()
	defer rc.leave()
	if e := rc.msg.scan(body); e != nil {
		rc.version = x.headerVersion()
		x.fail(rc, a, e, http.StatusBadRequest)
		return
	}
	if e := x.admit(rc); e != nil {
		status := http.StatusOK
		if !rc.msg.isRequest() {
			// Otherwise the client would not notice the error.
			status = http.StatusBadRequest
		}
		x.fail(rc, a, e, status)
		return
	}
	x.handle(rc, a)
	x.finish(rc, a)
}

// fail answers with an error instead of serving the message. status is used unless the
// error has a status of its own.
func (x *exchange) fail(rc *request, a *answer, e *mcp.Error, status int) {
	a.failure(rc, e)
	status = cmp.Or(a.status, status)
	write(x.w, a, status, nil)
	x.handler.server.refused(rc, e, status)
}

// handle implements surface.
func (x *exchange) handle(rc *request, a *answer) {
	if x.accept&acceptsStream != 0 {
		rc.stream = x
	}
	if x.rc != nil && x.rc != x.logged {
		x.past = append(x.past, x.rc)
	}
	x.rc = rc
	x.session = rc.session
	x.version = rc.version
	x.awaits = x.awaits || rc.msg.isRequest()
	s := x.handler.server
	if rc.session == nil || !rc.msg.isRequest() || rc.msg.is("initialize") {
		s.handle(rc, a)
		return
	}
	s.handleTracked(rc.session, rc, a)
}

// finish writes the answer of a single message.
func (x *exchange) finish(rc *request, a *answer) {
	x.remember(rc)
	switch {
	case rc.outcome == OutcomeStream:
	case x.out != nil:
		x.end(x.handler.server.lineOf(rc, a), rc)
	case a.empty() && rc.msg.isRequest():
		x.cancelled()
	case a.empty():
		x.w.WriteHeader(http.StatusAccepted)
	case x.accept&prefersStream != 0 && a.status == 0:
		x.end(x.handler.server.lineOf(rc, a), rc)
	default:
		write(x.w, a, a.status, rc)
	}
}

// cancelled answers requests that the client has cancelled. No message is due, but the
// response to a request must be an event stream or JSON (2025-11-25, "Sending Messages to
// the Server"). An event stream without events comes closest.
func (x *exchange) cancelled() {
	if x.accept&acceptsStream == 0 {
		a := newAnswer()
		defer a.free()
		a.failure(&request{received: received{version: mcp.LatestLegacyVersion}}, errCancelled)
		write(x.w, a, http.StatusOK, nil)
		return
	}
	out := newResponse(x.w)
	_ = out.writeEvents(nil)
	out.leave()
}

var errCancelled = mcp.Errorf(mcp.CodeInternalError, "the client has cancelled the request")

// end sends the last message of an event stream, if there is one, which answers rc. A disconnect
// of the client is not an error of the request: the client may reconnect, or not need the
// answer.
func (x *exchange) end(last []byte, rc *request) {
	if len(last) > 0 {
		x.open()
		_ = x.write(last, rc)
	}
	if x.log != nil {
		x.log.finish()
	}
	x.out.leave()
}

// remember returns the session id of a successful initialize request in a header.
func (x *exchange) remember(rc *request) {
	s := rc.session
	if s != nil && s.id != "" && s.Version() != 0 && rc.msg.is("initialize") {
		x.w.Header()[headerSession] = []string{s.id}
	}
}

// assumedVersion is the version of HTTP requests without a session, an envelope or a
// version header (Streamable HTTP, "Protocol Version Header").
const assumedVersion = mcp.Version20250326

// admit implements surface.
func (x *exchange) admit(rc *request) *mcp.Error {
	header, hasHeader := first(x.r.Header, headerVersion)
	if e := rc.readMeta(); e != nil {
		if rc.isModern(header) {
			e.Status = http.StatusBadRequest // the required members of _meta are missing
		}
		return e
	}
	if rc.isModern(header) {
		rc.version = mcp.LatestVersion
		rc.listChanged = x.handler.server.hub.watched()
		if rc.msg.response {
			return statusError(invalidRequest("clients send no responses in %s", rc.version), http.StatusBadRequest)
		}
		return nil
	}
	rc.detached = true
	rc.version = assumedVersion
	rc.listChanged = x.handler.canNotify()
	if rc.msg.is("initialize") && rc.msg.id != nil {
		rc.session = x.handler.newSession()
		rc.session.owner = principalID(mcp.PrincipalFrom(x.ctx))
		return nil
	}
	if hasHeader {
		v, ok := mcp.ParseVersion(header)
		if !ok {
			e := statusError(invalidRequest("unsupported MCP-Protocol-Version %q", header), http.StatusBadRequest)
			e.Data = supportedData(header)
			return e
		}
		if v.Modern() {
			return headerMismatch("the MCP-Protocol-Version header is %q, but the body has another version", header)
		}
		rc.version = v
	}
	return x.join(rc)
}

// join finds the session that the request names.
func (x *exchange) join(rc *request) *mcp.Error {
	id, ok := first(x.r.Header, headerSession)
	if !ok || x.handler.opts.NoSessions {
		return nil
	}
	p := mcp.PrincipalFrom(x.ctx)
	if rc.session = x.handler.server.sessions.get(id, p); rc.session == nil {
		rc.session = guestOf(x.ctx, id, p)
	}
	if rc.session == nil {
		return statusError(invalidRequest("no such session, initialize again"), http.StatusNotFound)
	}
	rc.version = rc.session.Version()
	return x.handler.server.resubscribe(x.ctx, x.r.RemoteAddr, rc.session)
}

func statusError(e *mcp.Error, status int) *mcp.Error {
	e.Status = status
	return e
}

// isModern reports whether the message belongs to 2026-07-28. The body takes precedence
// over the header: a message whose _meta names a version of the handshake era, and any
// initialize without an envelope, is legacy.
func (rc *request) isModern(header string) bool {
	if rc.meta.version != nil {
		name, _ := jsonscan.UnquoteBytes(rc.meta.version)
		v, known := mcp.ParseVersion(string(name)) // does not allocate
		return !known || v.Modern()
	}
	return header >= mcp.Version20260728.String() && !rc.msg.is("initialize")
}

// headerVersion is the best guess for a body that could not be read.
func (x *exchange) headerVersion() mcp.Version {
	header, _ := first(x.r.Header, headerVersion)
	v, _ := mcp.ParseVersion(header)
	return v
}

// batch serves an array of messages, which only 2025-03-26 allows.
func (x *exchange) batch(body []byte) {
	a := newAnswer()
	defer a.free()
	x.batched = true
	x.received = x.memory.size
	probe := x.newRequest()
	probe.version = x.headerVersion()
	var e *mcp.Error
	if err := jsonscan.Valid(body); err != nil {
		e = parseError(err)
	} else {
		e = x.admit(probe)
	}
	if e == nil && probe.version != mcp.Version20250326 {
		e = notAnObject()
	}
	if e == nil {
		e = serveBatch(body, x, a, x.deliver)
	}
	if e != nil {
		x.fail(probe, a, e, http.StatusBadRequest)
		return
	}
	x.finishBatch(a)
}

// deliver sends or holds an answer of a batch, and returns the size of those held.
func (x *exchange) deliver(msg []byte) (held int) {
	if x.out != nil || x.accept&prefersStream != 0 {
		_ = x.send(msg)
		x.handler.server.bodies.shrink(&x.memory, x.received)
		return x.heldBytes
	}
	x.held = append(x.held, bytes.Clone(msg))
	x.heldBytes += len(msg)
	return x.heldBytes
}

// finishBatch writes the held answers as one array, unless an element has turned the
// response into an event stream, which then contains all answers.
func (x *exchange) finishBatch(a *answer) {
	switch {
	case x.out != nil:
		x.end(nil, nil)
	case len(x.held) == 0 && x.awaits:
		x.cancelled()
	case len(x.held) == 0:
		x.w.WriteHeader(http.StatusAccepted)
	default:
		a.body = nil
		a.buf = append(slices.Grow(a.buf[:0], x.heldBytes+len(x.held)+1), '[')
		for _, held := range x.held {
			a.buf = append(append(a.buf, held...), ',')
		}
		a.buf[len(a.buf)-1] = ']'
		write(x.w, a, http.StatusOK, nil)
	}
}

// send implements stream. The first message turns the response into an event stream,
// starting with the held answers.
func (x *exchange) send(msg []byte) error {
	x.open()
	return x.write(msg, nil)
}

// open turns the response into an event stream, unless it is one.
func (x *exchange) open() {
	if x.out != nil {
		return
	}
	x.out = newResponse(x.w)
	if x.session != nil && x.session.id != "" && x.version >= mcp.Version20250326 {
		x.openLog()
		if x.version >= mcp.Version20251125 {
			_ = x.log.prime()
		}
	}
	for _, held := range x.held {
		_ = x.write(held, nil)
	}
	x.held = nil
}

// openLog starts logging the event stream, so that the client can resume it.
func (x *exchange) openLog() {
	x.log = x.session.newLog(x.handler.server.ledger, x.client())
	x.log.attach(x.out, 0) // first: a log whose requests the ledger refuses cannot be resumed
	for _, rc := range x.past {
		x.log.follow(rc, x.out)
	}
	x.note()
}

// note adds the request being served to the log.
func (x *exchange) note() {
	if x.rc != x.logged {
		x.log.follow(x.rc, x.out)
		x.logged = x.rc
	}
}

// write writes to the event stream that the response has become. rc is as for writeAnswer.
func (x *exchange) write(msg []byte, rc *request) error {
	if t := x.handler.server.tapOf(x.w); t != nil {
		t.On(tap.SSE).Sends(msg)
	}
	if x.log != nil {
		x.note()
		return x.log.appendAnswer(msg, rc)
	}
	return writeAnswer(x.out, appendEvent(nil, "", msg), rc)
}

// disconnect implements Request.Disconnect.
func (x *exchange) disconnect(retry time.Duration) bool {
	if x.session == nil || x.session.id == "" {
		return false
	}
	if x.out == nil {
		x.out = newResponse(x.w)
		x.openLog()
		_ = x.log.prime()
	}
	if !x.out.drop(retry) {
		return false
	}
	x.log.detach(x.out)
	return true
}
