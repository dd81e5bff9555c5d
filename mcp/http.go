package mcp

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// HTTPOptions configure an [HTTPHandler]. The zero value and nil are the defaults.
type HTTPOptions struct {
	// AllowedHosts are further values of the Host header to accept, such as
	// "mcp.example.com" or "mcp.example.com:8443"; without a port every port
	// matches, and "*" accepts any. A request that arrives on a loopback address
	// must otherwise name localhost, 127.0.0.1 or [::1], so that a web page
	// cannot reach the server by rebinding a name of its own. Requests that
	// arrive on other addresses are checked only if AllowedHosts is not empty.
	AllowedHosts []string
	// AllowedOrigins are origins, such as "https://app.example.com", whose web
	// pages may use the server, besides those on loopback names and the server's
	// own. "*" accepts any, which lets every page a user visits call the tools.
	AllowedOrigins []string
	// MaxBody is the largest request body in bytes; 0 stands for 4 MiB.
	MaxBody int64
	// NoSessions answers initialize without a session id. Clients up to
	// 2025-11-25 are then served statelessly: they cannot choose a log level,
	// cancel a request, be asked anything, or hear of changes.
	NoSessions bool
	// PostOnly refuses GET, so that no event stream stands open for a session.
	PostOnly bool
}

// defaultMaxBody bounds request bodies: large enough for a file in base64.
const defaultMaxBody = 4 << 20

// HTTPHandler serves the Streamable HTTP transport of every version at one URL.
// Mount it at the path that clients are told, usually /mcp.
type HTTPHandler struct {
	server *Server
	opts   HTTPOptions
	guard  guard
}

var _ http.Handler = (*HTTPHandler)(nil)

// HTTPHandler returns the HTTP surface of s. opts may be nil.
func (s *Server) HTTPHandler(opts *HTTPOptions) *HTTPHandler {
	h := &HTTPHandler{server: s}
	if opts != nil {
		h.opts = *opts
	}
	if h.opts.MaxBody <= 0 {
		h.opts.MaxBody = defaultMaxBody
	}
	h.guard = newGuard(h.opts.AllowedHosts, h.opts.AllowedOrigins)
	return h
}

// Header values that are set on every answer, kept so that setting them
// allocates nothing.
var (
	typeJSON   = []string{"application/json"}
	typeStream = []string{"text/event-stream"}
	noCache    = []string{"no-cache"}
	noBuffer   = []string{"no"}
)

// ServeHTTP is the door: it refuses what no method should see, reads the body
// once, and hands the message to the desk.
func (h *HTTPHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if reason := h.guard.refuses(r); reason != "" {
		h.reject(w, http.StatusForbidden, invalidRequest("%s", reason))
		return
	}
	if _, ok := first(r.Header, "Origin"); ok {
		allowOrigin(w.Header(), r.Header["Origin"])
	}
	switch r.Method {
	case http.MethodPost:
		h.post(w, r)
	case http.MethodGet:
		h.get(w, r)
	case http.MethodDelete:
		h.delete(w, r)
	case http.MethodOptions:
		preflight(w)
	default:
		h.methodNotAllowed(w)
	}
}

func (h *HTTPHandler) methodNotAllowed(w http.ResponseWriter) {
	allow := "POST, OPTIONS"
	switch {
	case h.opts.NoSessions:
	case h.opts.PostOnly:
		allow = "POST, DELETE, OPTIONS"
	default:
		allow = "POST, GET, DELETE, OPTIONS"
	}
	w.Header().Set("Allow", allow)
	h.reject(w, http.StatusMethodNotAllowed, invalidRequest("this is an MCP endpoint: POST JSON-RPC messages to it"))
}

// reject answers with an error that belongs to no request.
func (h *HTTPHandler) reject(w http.ResponseWriter, status int, e *Error) {
	a := newAnswer()
	defer a.free()
	a.failure(&requestContext{version: LatestVersion}, e)
	write(w, a, status)
}

func (h *HTTPHandler) delete(w http.ResponseWriter, r *http.Request) {
	id, ok := first(r.Header, headerSession)
	version, _ := first(r.Header, headerVersion)
	switch {
	case h.opts.NoSessions || version >= Version20260728.String():
		h.methodNotAllowed(w)
	case !ok:
		h.reject(w, http.StatusBadRequest, invalidRequest("the Mcp-Session-Id header is missing"))
	case !h.server.sessions.deleteOf(id, PrincipalFrom(r.Context())):
		h.reject(w, http.StatusNotFound, invalidRequest("no such session"))
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

func (h *HTTPHandler) post(w http.ResponseWriter, r *http.Request) {
	if ct, ok := first(r.Header, "Content-Type"); !ok || !isJSON(ct) {
		h.reject(w, http.StatusUnsupportedMediaType, invalidRequest("the Content-Type must be application/json"))
		return
	}
	accept := acceptOf(r.Header["Accept"])
	if accept == 0 {
		h.reject(w, http.StatusNotAcceptable, invalidRequest("Accept must allow application/json or text/event-stream"))
		return
	}
	body, err := h.readBody(r)
	if err != nil {
		h.bodyFailed(w, err)
		return
	}
	keepReading(w, r)
	x := &exchange{handler: h, w: w, r: r, accept: accept}
	if i := jsonscan.Space(body, 0); i < len(body) && body[i] == '[' {
		x.batch(body)
		return
	}
	x.single(body)
}

func isJSON(contentType string) bool {
	if contentType == "application/json" {
		return true
	}
	media, _, _ := strings.Cut(contentType, ";")
	return strings.EqualFold(strings.TrimSpace(media), "application/json")
}

// accepts says in which forms a client can read an answer.
type accepts uint8

const (
	acceptsJSON accepts = 1 << iota
	acceptsStream
	prefersStream // named before JSON, or alone
)

// acceptOf is lenient: a missing header accepts JSON, as plain HTTP clients expect.
func acceptOf(values []string) accepts {
	if len(values) == 0 {
		return acceptsJSON
	}
	if values[0] == "application/json, text/event-stream" {
		return acceptsJSON | acceptsStream
	}
	var a accepts
	for _, value := range values {
		for part := range strings.SplitSeq(value, ",") {
			media, parameters, _ := strings.Cut(part, ";")
			if q := strings.ReplaceAll(parameters, " ", ""); q == "q=0" || q == "q=0.0" {
				continue
			}
			switch strings.ToLower(strings.TrimSpace(media)) {
			case "*/*":
				a |= acceptsJSON | acceptsStream
			case "application/json", "application/*":
				a |= acceptsJSON
			case "text/event-stream", "text/*":
				if a&acceptsJSON == 0 {
					a |= prefersStream
				}
				a |= acceptsStream
			}
		}
	}
	return a
}

var errTooLarge = errors.New("body too large")

// readBody reads the whole body into memory of its own. It is not pooled: what
// a Source keeps of its arguments stays what it was.
func (h *HTTPHandler) readBody(r *http.Request) ([]byte, error) {
	if r.ContentLength > h.opts.MaxBody {
		return nil, errTooLarge
	}
	if n := r.ContentLength; n >= 0 {
		body := make([]byte, n)
		_, err := io.ReadFull(r.Body, body)
		return body, err
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, h.opts.MaxBody+1))
	if err == nil && int64(len(body)) > h.opts.MaxBody {
		return nil, errTooLarge
	}
	return body, err
}

func (h *HTTPHandler) bodyFailed(w http.ResponseWriter, err error) {
	var tooLarge *http.MaxBytesError
	if errors.Is(err, errTooLarge) || errors.As(err, &tooLarge) {
		w.Header().Set("Connection", "close") // the rest of the body is not read
		h.reject(w, http.StatusRequestEntityTooLarge, invalidRequest("the body is larger than %d bytes", h.opts.MaxBody))
		return
	}
	h.reject(w, http.StatusBadRequest, parseError(errors.New("the body ended early")))
}

// keepReading takes away the deadline that http.Server.ReadTimeout has set. It
// was for the body, which is here; net/http would otherwise take its passing for
// the client's leaving, and cancel what still runs.
func keepReading(w http.ResponseWriter, r *http.Request) {
	if server, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok && server.ReadTimeout > 0 {
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // a writer that has none needs none
	}
}

// exchange is one POST with its response.
type exchange struct {
	handler *HTTPHandler
	w       http.ResponseWriter
	r       *http.Request
	accept  accepts
	out     *response // set once the response has become an event stream
	log     *eventLog // of that stream, if the client can continue it elsewhere
	session *Session
	version Version
}

// single serves a body that is one message.
func (x *exchange) single(body []byte) {
	a := newAnswer()
	defer a.free()
	rc := &requestContext{parent: x.r.Context(), header: x.r.Header}
	if e := rc.msg.scan(body); e != nil {
		rc.version = x.headerVersion()
		a.failure(rc, e)
		write(x.w, a, http.StatusBadRequest)
		return
	}
	if e := x.admit(rc); e != nil {
		a.failure(rc, e)
		if a.status == 0 && !rc.msg.isRequest() {
			a.status = http.StatusBadRequest // nothing else tells the client
		}
		write(x.w, a, a.status)
		return
	}
	x.serve(rc, a)
	x.finish(rc, a)
}

// serve runs an admitted message through the desk.
func (x *exchange) serve(rc *requestContext, a *answer) {
	if x.accept&acceptsStream != 0 {
		rc.stream = x
	}
	x.session, x.version = rc.session, rc.version
	s := x.handler.server
	if rc.session == nil || !rc.msg.isRequest() || rc.msg.is("initialize") {
		s.handle(rc, a)
		return
	}
	if !rc.session.track(rc) {
		a.failure(rc, invalidRequest("a request with this id is in flight already"))
		return
	}
	rc.server = s
	defer rc.session.untrack(rc)
	s.handle(rc, a)
}

// finish writes the answer of a single message.
func (x *exchange) finish(rc *requestContext, a *answer) {
	x.remember(rc)
	switch {
	case rc.standing:
	case x.out != nil:
		x.end(a.line())
	case a.empty() && rc.msg.isRequest():
		x.w.WriteHeader(http.StatusNoContent) // cancelled: no answer is due
	case a.empty():
		x.w.WriteHeader(http.StatusAccepted)
	case x.accept&prefersStream != 0 && a.status == 0:
		x.end(a.line())
	default:
		write(x.w, a, a.status)
	}
}

// end sends the last message of an event stream, if there is one. A client that
// has gone is no concern of the request: it may come back, or it does not care.
func (x *exchange) end(last []byte) {
	if len(last) > 0 {
		_ = x.send(last)
	}
	if x.log != nil {
		x.log.finish()
	}
	x.out.leave()
}

// remember keeps the session that an initialize request has begun.
func (x *exchange) remember(rc *requestContext) {
	if s := rc.session; s != nil && s.id != "" && s.Version() != 0 && rc.msg.is("initialize") {
		x.handler.server.sessions.add(s)
		x.w.Header()[headerSession] = []string{s.id}
	}
}

// admit decides the era of a scanned message, and finds its version and session.
func (x *exchange) admit(rc *requestContext) *Error {
	header, hasHeader := first(x.r.Header, headerVersion)
	if e := rc.meta.scan(rc.msg.meta); e != nil {
		if rc.isModern(header) {
			e.status = http.StatusBadRequest // what it must say is missing
		}
		return e
	}
	if rc.isModern(header) {
		rc.version = LatestVersion
		rc.listChanged = x.handler.server.hub.watched()
		if rc.msg.response {
			return statusError(invalidRequest("a client sends no responses in %s", rc.version), http.StatusBadRequest)
		}
		return nil
	}
	rc.detached = true
	rc.version = assumedVersion
	rc.listChanged = x.handler.canNotify()
	if rc.msg.is("initialize") && rc.msg.id != nil {
		rc.session = x.handler.newSession()
		rc.session.owner = PrincipalFrom(x.r.Context()).id()
		return nil
	}
	if hasHeader {
		v, ok := ParseVersion(header)
		if !ok {
			e := statusError(invalidRequest("unsupported MCP-Protocol-Version %q", header), http.StatusBadRequest)
			e.Data = supportedData(header)
			return e
		}
		if v.Modern() {
			return headerMismatch("the MCP-Protocol-Version header says %q, the body another version", header)
		}
		rc.version = v
	}
	return x.join(rc)
}

// join finds the session that the request names.
func (x *exchange) join(rc *requestContext) *Error {
	id, ok := first(x.r.Header, headerSession)
	if !ok || x.handler.opts.NoSessions {
		return nil
	}
	if rc.session = x.handler.server.sessions.get(id, PrincipalFrom(x.r.Context())); rc.session == nil {
		return statusError(invalidRequest("no such session, initialize again"), http.StatusNotFound)
	}
	rc.version = rc.session.Version()
	return nil
}

func statusError(e *Error, status int) *Error {
	e.status = status
	return e
}

// canNotify reports whether a session can hear of changes.
func (h *HTTPHandler) canNotify() bool {
	return h.server.hub.watched() && !h.opts.NoSessions && !h.opts.PostOnly
}

// newSession returns a session for an initialize request. It is not in the
// store until that has succeeded. Without sessions it has no id.
func (h *HTTPHandler) newSession() *Session {
	if h.opts.NoSessions {
		return newSession("")
	}
	return newSession(h.server.newSessionID())
}

// isModern decides the era. The body decides first: a message whose _meta names
// a version of the handshake era, or any initialize without an envelope, is
// legacy whatever the header says.
func (rc *requestContext) isModern(header string) bool {
	if rc.meta.version != nil {
		name, _ := jsonscan.UnquoteBytes(rc.meta.version)
		v, known := parseVersion(name)
		return !known || v.Modern()
	}
	return header >= Version20260728.String() && !rc.msg.is("initialize")
}

// headerVersion is the best guess for a body that could not be read.
func (x *exchange) headerVersion() Version {
	header, _ := first(x.r.Header, headerVersion)
	v, _ := ParseVersion(header)
	return v
}

// batch serves an array of messages, which only 2025-03-26 has.
func (x *exchange) batch(body []byte) {
	a := newAnswer()
	defer a.free()
	var held [][]byte // answers that wait for the last one
	probe := &requestContext{parent: x.r.Context(), header: x.r.Header, version: x.headerVersion()}
	var e *Error
	if err := jsonscan.Valid(body); err != nil {
		e = parseError(err)
	} else {
		e = x.admit(probe)
	}
	if e == nil && probe.version != Version20250326 {
		e = notAnObject()
	}
	if e == nil {
		e = eachMessage(body, func(element []byte) {
			a.buf, a.body, a.status = a.buf[:0], nil, 0
			x.element(element, a)
			switch msg := a.line(); {
			case len(msg) == 0:
			case x.out != nil:
				_ = x.send(msg)
			default:
				held = append(held, bytes.Clone(msg))
			}
		})
	}
	if e != nil {
		a.failure(probe, e)
		status := e.status
		if status == 0 {
			status = http.StatusBadRequest
		}
		write(x.w, a, status)
		return
	}
	x.finishBatch(a, held)
}

// finishBatch writes the answers that are held as one array, or each for itself
// if an element has made the response an event stream.
func (x *exchange) finishBatch(a *answer, held [][]byte) {
	if x.out != nil {
		for _, msg := range held {
			_ = x.send(msg)
		}
		x.end(nil)
		return
	}
	if len(held) == 0 {
		x.w.WriteHeader(http.StatusAccepted)
		return
	}
	a.body = nil
	a.buf = append(append(append(a.buf[:0], '['), bytes.Join(held, []byte{','})...), ']')
	if x.accept&prefersStream != 0 {
		x.end(a.line())
		return
	}
	write(x.w, a, http.StatusOK)
}

// element serves one message of a batch.
func (x *exchange) element(text []byte, a *answer) {
	rc := &requestContext{parent: x.r.Context(), header: x.r.Header}
	e := rc.msg.scan(text)
	if e == nil {
		e = x.admit(rc)
	}
	if e == nil {
		e = rc.fitsBatch()
	}
	if e != nil {
		a.failure(rc, e)
		return
	}
	x.serve(rc, a)
}

// send implements stream: the first message turns the response into an event stream.
func (x *exchange) send(msg []byte) error {
	if x.out == nil {
		x.out = newResponse(x.w)
		if x.session != nil && x.session.id != "" && x.version >= Version20250326 {
			x.log = x.session.newLog(&x.handler.server.sessions.replay)
			x.log.attach(x.out, 0)
			if x.version >= Version20251125 {
				_ = x.log.prime()
			}
		}
	}
	if x.log != nil {
		return x.log.append(msg)
	}
	return x.out.writeEvents(appendEvent(nil, "", msg))
}

// disconnect implements what Request.Disconnect needs.
func (x *exchange) disconnect(retry time.Duration) bool {
	if x.session == nil || x.session.id == "" {
		return false
	}
	if x.out == nil {
		x.out = newResponse(x.w)
		x.log = x.session.newLog(&x.handler.server.sessions.replay)
		x.log.attach(x.out, 0)
		_ = x.log.prime()
	}
	if !x.out.drop(retry) {
		return false
	}
	x.log.detach(x.out)
	return true
}

// listen implements listenSurface.
func (x *exchange) listen(_ *requestContext, sub *subscription) error {
	h := x.handler.server.hub
	st := &standing{hub: h, messages: sub.messages, last: sub.end, closed: make(chan struct{})}
	st.send = func(msg []byte) error { return st.out.writeEvents(appendEvent(nil, "", msg)) }
	l := &subscriber{sub, func() { h.markDirty(st) }}
	st.onClose = func() { h.remove(l) }
	if !h.add(l) {
		return errEnding
	}
	wait, err := x.handler.open(x.w, x.r, st)
	if err == nil {
		err = st.send(sub.acknowledgment())
	}
	x.handler.hold(x.r, st, wait, err)
	return nil
}

// open makes the response of a request the connection of a standing stream. If
// the connection cannot be taken over, wait is not nil: the handler must wait.
func (h *HTTPHandler) open(w http.ResponseWriter, r *http.Request, st *standing) (wait *response, err error) {
	taken, err := takeOver(w, r)
	if taken != nil {
		st.out = taken
		return nil, err
	}
	keepReading(w, r)
	wait = newResponse(w)
	st.out = wait
	return wait, wait.writeEvents(nil)
}

// hold serves a standing stream from now on; err is what went wrong before.
func (h *HTTPHandler) hold(r *http.Request, st *standing, wait *response, err error) {
	if err != nil || !h.server.hub.hold(st) {
		st.close(err == nil)
		return
	}
	h.server.hub.markDirty(st) // for what changed meanwhile
	if wait != nil {
		wait.wait(r)
		st.close(false)
	}
}

// get opens the standing stream of a session, or continues a stream that the
// client has lost.
func (h *HTTPHandler) get(w http.ResponseWriter, r *http.Request) {
	id, ok := first(r.Header, headerSession)
	version, _ := first(r.Header, headerVersion)
	if !ok || h.opts.NoSessions || h.opts.PostOnly || version >= Version20260728.String() {
		h.methodNotAllowed(w)
		return
	}
	if acceptOf(r.Header["Accept"])&acceptsStream == 0 {
		h.reject(w, http.StatusNotAcceptable, invalidRequest("Accept must allow text/event-stream"))
		return
	}
	session := h.server.sessions.get(id, PrincipalFrom(r.Context()))
	if session == nil {
		h.reject(w, http.StatusNotFound, invalidRequest("no such session, initialize again"))
		return
	}
	last, ok := first(r.Header, "Last-Event-Id")
	if !ok {
		h.stand(w, r, session, -1)
		return
	}
	log, n, ok := session.logOf(last)
	switch {
	case ok && log.stream == 0:
		h.stand(w, r, session, n)
		return
	case ok:
		keepReading(w, r)
		out := newResponse(w)
		if log.attach(out, n) {
			_ = out.writeEvents(nil)
			out.wait(r)
			log.detach(out)
			return
		}
	}
	h.reject(w, http.StatusBadRequest, invalidRequest("the events after this Last-Event-ID are no longer kept"))
}

// stand serves the standing stream of a session, behind event after; a negative
// one stands for a new stream.
func (h *HTTPHandler) stand(w http.ResponseWriter, r *http.Request, session *Session, after int) {
	hub := h.server.hub
	log := session.standingLog(&h.server.sessions.replay)
	st := &standing{
		hub:      hub,
		messages: func() [][]byte { return session.news.messages("") },
		send:     log.append,
		touch:    func() { h.server.sessions.touch(session) },
		closed:   make(chan struct{}),
	}
	st.onClose = func() {
		log.detach(st.out)
		session.unstand(st)
	}
	if !hub.add(session) {
		h.reject(w, http.StatusServiceUnavailable, invalidRequest("the server is ending"))
		return
	}
	wait, err := h.open(w, r, st)
	if old := session.stand(st, func() { hub.markDirty(st) }); old != nil {
		old.close(false)
	}
	if err == nil && !log.attach(st.out, after) {
		log.attach(st.out, log.newest())
		if session.Version() >= Version20251125 {
			err = log.prime()
		}
	}
	h.hold(r, st, wait, err)
}

// write sends a as the whole response. Small answers leave the Content-Length
// to net/http, which knows it without an allocation.
func write(w http.ResponseWriter, a *answer, status int) {
	header := w.Header()
	header["Content-Type"] = typeJSON
	if a.size() > 2000 {
		header["Content-Length"] = []string{strconv.Itoa(a.size())}
	}
	if status != 0 && status != http.StatusOK {
		w.WriteHeader(status)
	}
	_, err := w.Write(a.buf)
	if err == nil && a.body != nil {
		if _, err = w.Write(a.body); err == nil {
			_, _ = w.Write(closingBrace)
		}
	}
}

var closingBrace = []byte{'}'}
