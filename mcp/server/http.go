package server

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/tap"
)

// HTTPOptions configures an [HTTPHandler]. Nil and the zero value use the defaults.
type HTTPOptions struct {
	// AllowedHosts are additional values of the Host header to accept, such as
	// "mcp.example.com" or "mcp.example.com:8443". A value without a port matches every
	// port, and "*" matches any host. By default, requests that arrive on a loopback address
	// must name localhost, 127.0.0.1 or [::1], which protects against DNS rebinding by web
	// pages. Requests that arrive on other addresses are checked only if AllowedHosts is not
	// empty.
	AllowedHosts []string
	// AllowedOrigins are origins, such as "https://app.example.com", whose web pages may use
	// the server, in addition to loopback names and the server's own origin. "*" allows any
	// origin, so every page a user visits can call the tools.
	AllowedOrigins []string
	// MaxBody is the maximum size of a request body in bytes; 0 means 4 MiB.
	MaxBody int64
	// NoSessions answers initialize without a session id. Clients up to 2025-11-25 are then
	// served statelessly: they cannot choose a log level, cancel a request, receive
	// questions, or be notified of changes.
	NoSessions bool
	// PostOnly rejects GET, so that sessions have no notification stream.
	PostOnly bool
	// Authenticate, if not nil, authenticates a request after its Host and Origin have been
	// checked and before its body is read. It returns the context for serving the request,
	// see [mcp.WithPrincipal]; or it answers the request itself and returns nil. It is not
	// called for the preflight requests of browsers, which carry no credentials.
	Authenticate func(http.ResponseWriter, *http.Request) context.Context
	// Revalidate, if not nil, reports whether a client may keep an open stream: the GET of a
	// session, subscriptions/listen, HTTP+SSE, and a request that waits for its Source. It
	// is called every 25 seconds with the values of the context returned by Authenticate.
	// False closes the stream and cancels the request with an error. Revalidate must be safe
	// for concurrent use and must limit its own duration.
	Revalidate func(context.Context) bool
}

// defaultMaxBody limits request bodies. It leaves room for a file in base64.
const defaultMaxBody = 4 << 20

// HTTPHandler serves the Streamable HTTP transport of every version at one URL. Mount it
// at the path given to clients, usually /mcp.
type HTTPHandler struct {
	// server answers the messages.
	server *Server
	opts   HTTPOptions // the initial access is in access
	access atomic.Pointer[access]
}

// HTTPAccess are the options of an [HTTPHandler] that can be changed while it serves. Their
// meaning is that of the fields of [HTTPOptions].
type HTTPAccess struct {
	// AllowedHosts, AllowedOrigins, MaxBody and PostOnly are as in [HTTPOptions], and
	// replace them while the handler runs.
	AllowedHosts, AllowedOrigins []string
	MaxBody                      int64
	PostOnly                     bool
}

// access is the state that follows from an HTTPAccess.
type access struct {
	guard    guard
	maxBody  int64
	postOnly bool
}

// SetAccess replaces the access for requests from now on. It is safe for concurrent use.
func (h *HTTPHandler) SetAccess(a HTTPAccess) {
	if a.MaxBody <= 0 {
		a.MaxBody = defaultMaxBody
	}
	h.access.Store(&access{
		guard:    newGuard(a.AllowedHosts, a.AllowedOrigins),
		maxBody:  a.MaxBody,
		postOnly: a.PostOnly,
	})
}

var _ http.Handler = (*HTTPHandler)(nil)

// HTTPHandler returns the HTTP surface of s. opts may be nil.
func (s *Server) HTTPHandler(opts *HTTPOptions) *HTTPHandler {
	h := &HTTPHandler{server: s}
	if opts != nil {
		h.opts = *opts
	}
	h.SetAccess(HTTPAccess{
		AllowedHosts:   h.opts.AllowedHosts,
		AllowedOrigins: h.opts.AllowedOrigins,
		MaxBody:        h.opts.MaxBody,
		PostOnly:       h.opts.PostOnly,
	})
	return h
}

// Header values that are set on every answer. As variables they can be set without an
// allocation.
var (
	typeJSON   = []string{"application/json"}
	typeStream = []string{"text/event-stream"}
	noCache    = []string{"no-cache"}
	noBuffer   = []string{"no"}
)

// ServeHTTP rejects requests that no method should see, and dispatches the others by HTTP
// method.
func (h *HTTPHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h.server.tap != nil {
		tapped := h.server.tapRequest(w, r)
		defer tapped.finish()
		w = tapped
	}
	ctx := h.enter(w, r)
	if ctx == nil {
		return
	}
	switch r.Method {
	case http.MethodPost:
		h.post(ctx, w, r)
	case http.MethodGet:
		h.get(w, r.WithContext(ctx))
	case http.MethodDelete:
		h.delete(w, r.WithContext(ctx))
	case http.MethodOptions:
		preflight(w)
	default:
		h.methodNotAllowed(w, r)
	}
}

// enter checks the Host and the Origin of a request and authenticates it. It returns the
// context for serving the request, or nil if it has answered the request.
func (h *HTTPHandler) enter(w http.ResponseWriter, r *http.Request) context.Context {
	if reason := h.access.Load().guard.refuses(r); reason != "" {
		h.reject(w, http.StatusForbidden, invalidRequest("%s", reason))
		return nil
	}
	if origin, ok := r.Header["Origin"]; ok {
		allowOrigin(w.Header(), origin)
	}
	if h.opts.Authenticate == nil || r.Method == http.MethodOptions {
		return r.Context()
	}
	return h.opts.Authenticate(w, r)
}

// methodNotAllowed names the methods that this client could use instead: 2026-07-28 only
// has POST.
func (h *HTTPHandler) methodNotAllowed(w http.ResponseWriter, r *http.Request) {
	allow := "POST"
	version, _ := first(r.Header, headerVersion)
	if !h.opts.NoSessions && version < mcp.Version20260728.String() {
		if !h.access.Load().postOnly && r.Method != http.MethodGet {
			allow += ", GET"
		}
		allow += ", DELETE"
	}
	w.Header().Set("Allow", allow+", OPTIONS")
	h.reject(w, http.StatusMethodNotAllowed,
		invalidRequest("this is an MCP endpoint: POST JSON-RPC messages to it"))
}

// reject answers with an error that does not belong to a request.
func (h *HTTPHandler) reject(w http.ResponseWriter, status int, e *mcp.Error) {
	a := newAnswer()
	defer a.free()
	rc := h.server.newRequest(context.Background(), "", TransportHTTP)
	rc.version = mcp.LatestVersion
	a.failure(rc, e)
	write(w, a, status, nil)
	h.server.refused(rc, e, status)
}

// delete ends the session that a DELETE names.
func (h *HTTPHandler) delete(w http.ResponseWriter, r *http.Request) {
	id, ok := first(r.Header, headerSession)
	version, _ := first(r.Header, headerVersion)
	switch {
	case h.opts.NoSessions || version >= mcp.Version20260728.String():
		h.methodNotAllowed(w, r)
	case !ok:
		h.reject(w, http.StatusBadRequest,
			invalidRequest("the Mcp-Session-Id header is missing"))
	case h.server.sessions.get(id, mcp.PrincipalFrom(r.Context())) == nil:
		h.reject(w, http.StatusNotFound, invalidRequest("no such session"))
	case h.server.forgetRecord(r.Context(), id) != nil:
		h.reject(w, errNotRecorded.Status, errNotRecorded)
	case !h.server.sessions.deleteOf(id, mcp.PrincipalFrom(r.Context())):
		h.reject(w, http.StatusNotFound, invalidRequest("no such session"))
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

// post serves r under ctx. Putting ctx into r would copy the whole request.
func (h *HTTPHandler) post(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	if !h.acceptsBody(w, r) {
		return
	}
	accept := acceptOf(r.Header["Accept"])
	if accept == 0 {
		h.reject(w, http.StatusNotAcceptable,
			invalidRequest("Accept must allow application/json or text/event-stream"))
		return
	}
	x := &exchange{
		handler: h,
		ctx:     ctx,
		w:       w,
		r:       r,
		accept:  accept,
	}
	defer h.server.bodies.release(&x.memory)
	body, ok := h.receive(ctx, w, r, &x.memory)
	if !ok {
		return
	}
	i := jsonscan.Space(body, 0)
	if i < len(body) && body[i] == '[' {
		x.batch(body)
		return
	}
	x.single(body)
}

// acceptsBody checks the type of a body, and that it is not compressed (RFC 9110, section
// 15.5.16). Otherwise it answers the request and returns false.
func (h *HTTPHandler) acceptsBody(w http.ResponseWriter, r *http.Request) bool {
	ct, ok := first(r.Header, "Content-Type")
	if !ok || !isJSON(ct) {
		h.reject(w, http.StatusUnsupportedMediaType,
			invalidRequest("the Content-Type must be application/json"))
		return false
	}
	encoding, _ := first(r.Header, "Content-Encoding")
	if encoding != "" && !strings.EqualFold(encoding, "identity") {
		w.Header().Set("Accept-Encoding", "identity")
		h.reject(w, http.StatusUnsupportedMediaType,
			invalidRequest("the Content-Encoding %s is not supported: send the body as it is", quoted(encoding)))
		return false
	}
	return true
}

// receive returns the body of a POST, whose memory it reserves in held. If it cannot, it
// answers the request and returns false.
func (h *HTTPHandler) receive(
	ctx context.Context, w http.ResponseWriter, r *http.Request, held *heldBody,
) (body []byte, ok bool) {
	body, err := h.readBody(ctx, r, held)
	if err != nil {
		h.bodyFailed(w, err)
		return nil, false
	}
	if x := h.server.tapOf(w); x != nil {
		x.Received(body, tap.Body)
	}
	return body, true
}

// isJSON reports whether a Content-Type is JSON, with any parameters. The first comparison
// decides almost every request.
func isJSON(contentType string) bool {
	if contentType == "application/json" {
		return true
	}
	media, _, _ := strings.Cut(contentType, ";")
	return strings.EqualFold(strings.TrimSpace(media), "application/json")
}

// accepts is the set of forms in which a client can read an answer.
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
			q := strings.ReplaceAll(parameters, " ", "")
			if q == "q=0" || q == "q=0.0" {
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

// announcedBody is the largest body size for which memory is allocated up front. For
// larger bodies it grows as data arrives, because announcing a size costs a client
// nothing.
const announcedBody = 64 << 10

// readBody reads the whole body into newly allocated memory. It is not pooled, because a
// Source may keep its arguments. The size is reserved in held, which the caller releases.
func (h *HTTPHandler) readBody(ctx context.Context, r *http.Request, held *heldBody) ([]byte, error) {
	n := r.ContentLength
	most := h.access.Load().maxBody
	switch {
	case n > most:
		return nil, errTooLarge
	case n > announcedBody:
		return h.readLong(ctx, r, held, announcedBody, n)
	case n < 0:
		return h.readLong(ctx, r, held, min(4<<10, most+1), most+1)
	case !h.server.bodies.reserve(ctx, r.RemoteAddr, held, n):
		return nil, errBodies
	}
	body := make([]byte, n)
	_, err := io.ReadFull(r.Body, body)
	return body, err
}

// readLong reads a body of at most limit bytes into a buffer of first bytes, which
// doubles whenever it is full.
func (h *HTTPHandler) readLong(
	ctx context.Context, r *http.Request, held *heldBody, first, limit int64,
) (body []byte, err error) {
	for size := first; ; size = min(2*size, limit) {
		if !h.server.bodies.reserve(ctx, r.RemoteAddr, held, size-held.size) {
			return nil, errBodies
		}
		body = append(make([]byte, 0, size), body...)
		n, err := io.ReadFull(r.Body, body[len(body):size])
		body = body[:len(body)+n]
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			if r.ContentLength >= 0 {
				return nil, io.ErrUnexpectedEOF
			}
			return body, nil
		case err != nil:
			return nil, err
		case size < limit:
		case r.ContentLength < 0:
			return nil, errTooLarge
		default:
			return body, nil
		}
	}
}

// bodyFailed answers a request whose body could not be read.
func (h *HTTPHandler) bodyFailed(w http.ResponseWriter, err error) {
	status := http.StatusBadRequest
	e := parseError(errors.New("the body is truncated"))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.Is(err, errTooLarge), errors.As(err, &tooLarge):
		status = http.StatusRequestEntityTooLarge
		e = invalidRequest("the body is larger than %d bytes", h.access.Load().maxBody)
	case errors.Is(err, errBodies):
		status = errBodies.Status
		e = errBodies
	case errors.Is(err, os.ErrDeadlineExceeded):
		status, e = http.StatusRequestTimeout, invalidRequest("the body did not arrive in time")
	}
	if status != http.StatusBadRequest {
		w.Header().Set("Connection", "close") // the rest of the body is not read
	}
	h.reject(w, status, e)
}

// canNotify reports whether sessions can be notified of changes.
func (h *HTTPHandler) canNotify() bool {
	return h.server.hub.watched() && !h.opts.NoSessions && !h.access.Load().postOnly
}

// newSession returns a session for an initialize request. The session is added to the
// store only when initialize has succeeded. With NoSessions it has no id.
func (h *HTTPHandler) newSession() *session {
	if h.opts.NoSessions {
		return newSession("")
	}
	return newSession(h.server.newSessionID())
}

// write sends a as the whole response. For small answers net/http sets the
// Content-Length, which saves an allocation. rc, if not nil, leaves the gate before the end of
// the answer, so that it has left when the client sends its next request.
func write(w http.ResponseWriter, a *answer, status int, rc *request) {
	header := w.Header()
	maps.Copy(header, a.header)
	header["Content-Type"] = typeJSON
	if a.size() > 2000 {
		header["Content-Length"] = []string{strconv.Itoa(a.size())}
	}
	if status != 0 && status != http.StatusOK {
		w.WriteHeader(status)
	}
	rest := a.buf
	var err error
	if rc != nil && rc.entered && a.body == nil {
		last := len(rest) - 1
		_, err = w.Write(rest[:last])
		rest = rest[last:]
		rc.leave()
	}
	if err == nil {
		_, err = w.Write(rest)
	}
	if err != nil || a.body == nil {
		return
	}
	_, err = w.Write(a.body)
	if rc != nil {
		rc.leave()
	}
	if err == nil {
		_, _ = w.Write(closingBrace)
	}
}

var closingBrace = []byte{'}'}
