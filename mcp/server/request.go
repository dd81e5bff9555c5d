package server

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// request is a request on its way through the server. It is also the context of its
// Source method, which saves an allocation. Its parts own their state: what the surface
// received, the life of the request, what is sent before the answer, the questions to the
// client, and what the observer reports.
type request struct {
	received
	requestContext
	sender
	rounds rounds
	observation

	// server answers the request, and public is what the Source sees of it.
	server *Server
	public mcp.Request

	// Parameters of the Source method.
	callTool mcp.CallToolParams
	read     mcp.ReadResourceParams
	listens  *listenFilter // of subscriptions/listen

	// memory is reserved for the message and its answer. The surface sets and releases it.
	memory *heldBody

	task    *task // the task that this request works for, or nil
	started *task // the task that the call has turned into, or nil
}

var _ context.Context = (*request)(nil)

// received is a message with what its surface knows about it. It does not change once the
// message has been admitted.
type received struct {
	// msg is the scanned message, and meta its _meta once that is read.
	msg     message
	meta    requestMeta
	session *session
	header  http.Header // nil unless HTTP
	remote  string      // address of the client, or empty
	// transport is the name of its surface, see Event.Transport.
	transport string
	stream    stream      // nil: nothing can be sent before the answer
	version   mcp.Version // 0: not known yet
	// listChanged reports whether the surface can notify the client of list changes.
	listChanged bool
	// batched means that the request is one of several in a body.
	batched  bool
	metaRead bool
}

// sender is what a request sends before its answer.
type sender struct {
	// sending is locked while a notification is written, or the client disconnected, which takes as
	// long as the client likes. requestContext.mu is not, so a request can always be cancelled.
	sending  sync.Mutex
	progress float64 // the last one, or -Inf; guarded by sending
}

// observation is what the gate and the observer see of a request.
type observation struct {
	known *method // nil until it has been found
	about string  // see Event.Name
	// shown is the catalog as the View shows it.
	shown *mcp.Catalog
	// noted is what the gate has reported, see [Note].
	noted    notes
	servedBy atomic.Pointer[string]
	// outcome is set by the method, if it is neither a plain result nor an error. After
	// OutcomeStream, the surface answers the request later.
	outcome Outcome
	// span is that of [Options.Tracer], or nil, and traced the context with its values.
	span   Span
	traced context.Context
}

// newRequest returns a request without a message, from the client at an address.
func (s *Server) newRequest(parent context.Context, remote, transport string) *request {
	rc := &request{
		server: s,
		received: received{
			remote:    remote,
			transport: transport,
		},
		requestContext: requestContext{
			parent:  parent,
			waiting: &s.waiting,
		},
		sender: sender{progress: math.Inf(-1)},
	}
	rc.public = mcp.NewRequest(rc)
	return rc
}

// stream receives the notifications of one request: its own HTTP response, or the single
// stream of a connection.
type stream interface {
	// send writes one encoded message, which contains no line break.
	send(msg []byte) error
}

// Value implements context.Context.
func (rc *request) Value(key any) any {
	switch key {
	case (*mcp.Request)(nil):
		return &rc.public
	case clientKey{}:
		return rc.Client()
	case noteKey{}:
		return &rc.noted
	case TransportKey{}:
		return rc.transport
	}
	return rc.values().Value(key)
}

// values returns the context with the values of the request and of its span.
func (rc *request) values() context.Context {
	if rc.traced != nil {
		return rc.traced
	}
	return rc.parent
}

// clientKey is the context key for the name of the client to which kept memory is
// charged.
type clientKey struct{}

// Client returns the client's name in the ledger.
func (rc *request) Client() string {
	return accountName(mcp.PrincipalFrom(rc.parent), rc.remote)
}

// finish records that the Source method has returned, which ends the context. It reports
// whether the client has cancelled the request, so that no answer is due. A request that
// the server has cancelled, or that has timed out, still gets an answer.
func (rc *request) finish() (cancelled bool) {
	rc.sending.Lock() // a notification being sent precedes the answer
	defer rc.sending.Unlock()
	rc.mu.Lock()
	defer rc.mu.Unlock()
	rc.finished = true
	if rc.err != nil {
		return rc.err != context.DeadlineExceeded && rc.because == nil
	}
	rc.releaseLocked()
	return false
}

// notify sends the message that encode appends, unless encode returns false or the request has ended. Those sent
// before finish reach the client before the answer. One that has no room until the client reads it is dropped, with
// an error.
func (rc *request) notify(encode func(dst []byte) ([]byte, bool)) error {
	if rc.stream == nil {
		return nil
	}
	if rc.valid != nil {
		rc.Done() // Done starts the revalidation, because the response becomes a stream
	}
	a := newAnswer()
	defer a.free()
	rc.sending.Lock()
	defer rc.sending.Unlock()
	if rc.Err() != nil {
		return nil
	}
	msg, ok := encode(a.buf)
	a.buf = msg
	if !ok {
		return nil
	}
	var unread heldBody
	defer rc.server.bodies.release(&unread)
	if !rc.server.bodies.reserve(rc.parent, rc.remote, &unread, int64(len(msg))) {
		return errBodies
	}
	// A failed write means that the client has disconnected, which ends its request elsewhere.
	_ = rc.stream.send(msg)
	return nil
}

// wantsLog reports whether the client wants log lines of a level: in 2026-07-28 each
// request states it, earlier the session does.
func (rc *request) wantsLog(level mcp.LogLevel) bool {
	if !rc.logging {
		return false // the capability is not declared
	}
	if rc.version.Modern() {
		if rc.meta.logLevel == nil {
			return false
		}
		name, _ := jsonscan.Unquote(rc.meta.logLevel)
		least, ok := mcp.ParseLogLevel(name)
		return ok && level >= least
	}
	return rc.session != nil && level >= rc.session.LogLevel()
}

// form returns how results are encoded for the client. A result that requires credentials
// must not be kept in shared caches.
func (rc *request) form() mcp.Form {
	return mcp.Form{
		Version:        rc.version,
		KeepSystemRole: rc.server.opts.KeepSystemRole,
		Private:        rc.version.Modern() && mcp.PrincipalFrom(rc.parent) != nil,
	}
}

// The following methods implement those of [mcp.Request].

func (rc *request) Version() mcp.Version { return rc.version }
func (rc *request) Method() string       { return rc.methodName() }
func (rc *request) Params() json.RawMessage {
	return rc.msg.params
}
func (rc *request) Header() http.Header   { return rc.header }
func (rc *request) RemoteAddr() string    { return rc.remote }
func (rc *request) ServedBy(name *string) { rc.servedBy.Store(name) }

// Meta returns nil for a message that is refused before its _meta is read.
func (rc *request) Meta() json.RawMessage {
	if !rc.metaRead || string(rc.msg.meta) == "null" {
		return nil
	}
	return rc.msg.meta
}

// Session returns a nil interface, rather than a nil pointer, if there is no session.
func (rc *request) Session() mcp.Session {
	if rc.session == nil {
		return nil
	}
	return rc.session
}

// ClientCapabilities returns those declared with the request (2026-07-28) or at the
// handshake.
func (rc *request) ClientCapabilities() json.RawMessage {
	switch {
	case rc.version.Modern():
		return rc.meta.capabilities
	case rc.session != nil:
		return rc.session.ClientCapabilities()
	}
	return nil
}

func (rc *request) Share(limit int) int {
	if mcp.PrincipalFrom(rc.parent) == nil && rc.remote == "" {
		return limit
	}
	return int(rc.server.ledger.shareIn(int64(limit), "client"))
}

// Progress sends a notification, if the client asked for progress.
func (rc *request) Progress(progress, total float64, message string) {
	if math.IsNaN(progress) || math.IsInf(progress, 0) {
		return // JSON cannot represent it
	}
	rc.notifyProgress(progress, func(dst []byte) ([]byte, bool) {
		dst = strconv.AppendFloat(append(dst, `,"progress":`...), progress, 'g', -1, 64)
		if total > 0 && !math.IsInf(total, 1) {
			dst = strconv.AppendFloat(append(dst, `,"total":`...), total, 'g', -1, 64)
		}
		if message != "" && rc.version >= mcp.Version20250326 {
			dst = jsonscan.AppendQuote(append(dst, `,"message":`...), message)
		}
		return dst, true
	})
}

// notifyProgress sends a progress notification with the members that encode appends, if
// the client wants it and progress is more than before.
func (rc *request) notifyProgress(progress float64, encode func(dst []byte) ([]byte, bool)) {
	token := rc.meta.progressToken
	if token == nil || !jsonscan.IsID(token) {
		return
	}
	_ = rc.notify(func(dst []byte) ([]byte, bool) { // the next one says more
		if progress <= rc.progress {
			return dst, false
		}
		rc.progress = progress
		dst = append(dst, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":`...)
		dst, ok := encode(append(dst, token...))
		return append(dst, '}', '}'), ok
	})
}

func (rc *request) Abandoned() bool {
	return rc.detached && rc.parent.Err() != nil
}

// Disconnect closes the client's stream, which the client resumes after a time. Only
// 2025-11-25 permits that.
func (rc *request) Disconnect(retry time.Duration) bool {
	if rc.version != mcp.Version20251125 {
		return false
	}
	d, ok := rc.stream.(interface{ disconnect(time.Duration) bool })
	if !ok {
		return false
	}
	rc.sending.Lock()
	defer rc.sending.Unlock()
	return rc.Err() == nil && d.disconnect(retry)
}

func (rc *request) Log(level mcp.LogLevel, logger string, data any) {
	if !rc.wantsLog(level) {
		return
	}
	encoded, err := mcp.Marshal(data)
	if err != nil {
		return
	}
	_ = rc.notify(func(dst []byte) ([]byte, bool) { // without room, log lines are dropped
		dst = append(dst, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":`...)
		dst = jsonscan.AppendQuote(dst, level.String())
		if logger != "" {
			dst = jsonscan.AppendQuote(append(dst, `,"logger":`...), logger)
		}
		dst = append(append(dst, `,"data":`...), encoded...)
		return append(dst, '}', '}'), true
	})
}
