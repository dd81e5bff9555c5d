package mcp

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
)

// Request is the protocol request that a Source method is serving, and the way
// to talk back to its client while it runs. It is safe for concurrent use, and
// may be used after the method has returned: nothing is sent then.
type Request struct {
	rc *requestContext
}

type requestKey struct{}

// RequestFrom returns the request being served under ctx, or nil when the
// Source was called directly, by a program rather than by a client. All methods
// of a nil *Request work and do nothing.
func RequestFrom(ctx context.Context) *Request {
	r, _ := ctx.Value(requestKey{}).(*Request)
	return r
}

// Version returns the protocol version that the client speaks in this request;
// [LatestVersion] for a nil Request.
func (r *Request) Version() Version {
	if r == nil {
		return LatestVersion
	}
	return r.rc.version
}

// Method returns the method of the request, such as "tools/list"; "" for a nil
// Request.
func (r *Request) Method() string {
	if r == nil {
		return ""
	}
	return string(r.rc.msg.method)
}

// Session returns the session the request belongs to, or nil: 2026-07-28 has
// none, nor has a client that did not begin with initialize.
func (r *Request) Session() *Session {
	if r == nil {
		return nil
	}
	return r.rc.session
}

// Params returns the request's params as they were received, or nil.
func (r *Request) Params() json.RawMessage {
	if r == nil {
		return nil
	}
	return r.rc.msg.params
}

// Meta returns the _meta object of the params as it was received, or nil.
func (r *Request) Meta() json.RawMessage {
	if r == nil {
		return nil
	}
	return r.rc.meta.raw
}

// Header returns the header of the HTTP request, or nil on other surfaces. It
// must not be changed.
func (r *Request) Header() http.Header {
	if r == nil {
		return nil
	}
	return r.rc.header
}

// RemoteAddr returns the address that the request came from, which may be that of a
// proxy, or "" if the surface does not know one.
func (r *Request) RemoteAddr() string {
	if r == nil {
		return ""
	}
	return r.rc.remote
}

// ClientCapabilities returns what the client declared, a JSON object, or nil if
// it declared nothing.
func (r *Request) ClientCapabilities() json.RawMessage {
	switch {
	case r == nil:
		return nil
	case r.rc.version.Modern():
		return r.rc.meta.capabilities
	case r.rc.session != nil:
		return r.rc.session.ClientCapabilities()
	}
	return nil
}

// Client names who the request counts for in shared limits, as in [Budget]: its
// principal, or its network address. It is empty for a nil Request, and for the one
// client of a pair of streams.
func (r *Request) Client() string {
	if r == nil {
		return ""
	}
	return r.rc.client()
}

// Share returns how many of limit entries the client of the request may use, see
// [Budget.ClientPercent]: limit if [Request.Client] is empty.
func (r *Request) Share(limit int) int {
	if r == nil || PrincipalFrom(r.rc.parent) == nil && r.rc.remote == "" {
		return limit
	}
	return int(r.rc.server.ledger.shareIn(int64(limit), "client"))
}

// ServedBy notes which of several servers serves the request, for
// [Event.Server]. Of several names the last counts. The string must not change
// while the request lasts; nothing else is done with it.
func (r *Request) ServedBy(name *string) {
	if r != nil {
		r.rc.servedBy.Store(name)
	}
}

// Progress tells the client how far the request is, if the client asked to be
// told. progress must grow from call to call; a value that does not is left
// out. total is the value at completion, or 0 if unknown. message may be empty.
func (r *Request) Progress(progress, total float64, message string) {
	if r == nil || r.rc.meta.progressToken == nil || !validID(r.rc.meta.progressToken) {
		return
	}
	if math.IsNaN(progress) || math.IsInf(progress, 0) {
		return // JSON has no such number
	}
	r.rc.notify(func(dst []byte) ([]byte, bool) {
		if r.rc.progressed && progress <= r.rc.progress {
			return dst, false
		}
		r.rc.progressed, r.rc.progress = true, progress
		dst = append(dst, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":`...)
		dst = append(append(dst, r.rc.meta.progressToken...), `,"progress":`...)
		dst = strconv.AppendFloat(dst, progress, 'g', -1, 64)
		if total > 0 && !math.IsInf(total, 1) {
			dst = strconv.AppendFloat(append(dst, `,"total":`...), total, 'g', -1, 64)
		}
		if message != "" && r.rc.version >= Version20250326 {
			dst = jsonscan.AppendQuote(append(dst, `,"message":`...), message)
		}
		return append(dst, '}', '}'), true
	})
}

// Abandoned reports whether the client has let go of the connection that the request
// came over without cancelling it, as clients up to 2025-11-25 may. It may come back
// for the answer; as a rule it has lost patience.
func (r *Request) Abandoned() bool {
	return r != nil && r.rc.detached && r.rc.parent.Err() != nil
}

// Disconnect ends the connection that the client waits on, and asks it to come
// back after retry for the rest: a way not to hold connections during long work
// (2025-11-25, "Streamable HTTP"). It reports whether that was possible: the
// client needs a session and an event stream that can be continued.
func (r *Request) Disconnect(retry time.Duration) bool {
	if r == nil || r.rc.version != Version20251125 {
		return false
	}
	d, ok := r.rc.stream.(interface{ disconnect(time.Duration) bool })
	return ok && d.disconnect(retry)
}

// Log sends a log line to the client, if it wants lines of that level: those it
// chose by logging/setLevel, or from 2026-07-28 on in the request itself. data
// is encoded as JSON and must not hold secrets. logger may be empty. Nothing is
// sent unless [Catalog.Logging] declares it.
func (r *Request) Log(level LogLevel, logger string, data any) {
	if r == nil || !r.rc.wantsLog(level) {
		return
	}
	encoded, err := Marshal(data)
	if err != nil {
		return
	}
	r.rc.notify(func(dst []byte) ([]byte, bool) {
		dst = append(dst, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":`...)
		dst = jsonscan.AppendQuote(dst, level.String())
		if logger != "" {
			dst = jsonscan.AppendQuote(append(dst, `,"logger":`...), logger)
		}
		dst = append(append(dst, `,"data":`...), encoded...)
		return append(dst, '}', '}'), true
	})
}

// stream is where the notifications of one request go: its own HTTP response,
// or the one stream of a connection.
type stream interface {
	// send writes one encoded message, without a line break in it.
	send(msg []byte) error
}

// requestContext is a request on its way through the server, and the context
// under which its Source method runs, in one allocation.
type requestContext struct {
	parent context.Context
	server *Server
	public Request

	// What the surface knows.
	msg     message
	meta    requestMeta
	session *Session
	header  http.Header // nil unless HTTP
	remote  string      // address of the client, or empty
	stream  stream      // nil: nothing can be sent before the answer
	// valid is HTTPOptions.Revalidate, for a request that waits.
	valid   func(context.Context) bool
	version Version // 0: not known yet
	// listChanged says that the surface can tell the client of a changed list.
	listChanged bool
	// logging says that the catalog declares log lines.
	logging bool
	// standing says that the request stays open: its surface answers it later.
	standing bool
	// batched says that the request is one of several in a body.
	batched bool
	// detached says that the parent's end does not cancel the request: up to
	// 2025-11-25 a client that goes away has not cancelled.
	detached bool
	// For the observer.
	toolError, panicked bool
	asked               bool // the answer is a question
	// progressed says that progress is set; guarded by sending.
	progressed bool
	// finished says that the answer is on its way, so that nothing more may be sent;
	// guarded by mu.
	finished bool

	// For the gate and the observer, and for the time limit.
	about    string // see Event.Name
	began    time.Time
	servedBy atomic.Pointer[string]

	// Parameters of the Source method.
	callTool CallToolParams
	read     ReadResourceParams

	// sending is held while a notification is written, which takes as long as
	// the client likes; mu is not, so that a request can always be cancelled.
	sending  sync.Mutex
	progress float64 // guarded by sending

	mu      sync.Mutex
	done    chan struct{}
	err     error
	because *Error // the answer to a request that the server has cancelled
	after   []*afterFunc
	unlink  func() bool // stops waiting for the end of parent
	timer   *time.Timer // of the time limit
	rounds  rounds

	task    *task // whose work this context belongs to, or nil
	started *task // what the call has become, or nil
}

var _ context.Context = (*requestContext)(nil)

// Deadline implements context.Context.
func (rc *requestContext) Deadline() (time.Time, bool) {
	own, limited := rc.limit()
	if rc.detached {
		return own, limited
	}
	given, ok := rc.parent.Deadline()
	if ok && (!limited || given.Before(own)) {
		return given, true
	}
	return own, limited
}

// limit returns when the server's own time limit ends the request.
func (rc *requestContext) limit() (time.Time, bool) {
	if rc.began.IsZero() || rc.server.opts.RequestTimeout <= 0 {
		return time.Time{}, false
	}
	return rc.began.Add(rc.server.opts.RequestTimeout), true
}

// Done implements context.Context. The channel is made when first asked for.
func (rc *requestContext) Done() <-chan struct{} {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	return rc.doneLocked()
}

func (rc *requestContext) doneLocked() chan struct{} {
	if rc.done != nil {
		return rc.done
	}
	rc.done = make(chan struct{})
	if err := rc.endedLocked(); err != nil {
		rc.err = err // so that nothing closes the channel a second time
		close(rc.done)
		return rc.done
	}
	rc.server.waiting.add(rc)
	if !rc.detached {
		rc.unlink = context.AfterFunc(rc.parent, func() { rc.end(rc.parent.Err()) })
	}
	if at, ok := rc.limit(); ok {
		rc.timer = time.AfterFunc(time.Until(at), func() { rc.end(context.DeadlineExceeded) })
	}
	return rc.done
}

// Err implements context.Context.
func (rc *requestContext) Err() error {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	return rc.endedLocked()
}

func (rc *requestContext) endedLocked() error {
	switch {
	case rc.err != nil:
		return rc.err
	case rc.finished:
		return context.Canceled
	}
	if at, ok := rc.limit(); ok && !time.Now().Before(at) {
		return context.DeadlineExceeded
	}
	if !rc.detached {
		return rc.parent.Err()
	}
	return nil
}

// Value implements context.Context.
func (rc *requestContext) Value(key any) any {
	switch key {
	case requestKey{}:
		return &rc.public
	case clientKey{}:
		return rc.client()
	}
	return rc.parent.Value(key)
}

// clientKey is the key under which a context names the client that pays for what is
// kept.
type clientKey struct{}

// client names the client in the ledger.
func (rc *requestContext) client() string { return accountName(PrincipalFrom(rc.parent), rc.remote) }

type afterFunc struct{ f func() }

// AfterFunc lets package context derive contexts without a goroutine each.
func (rc *requestContext) AfterFunc(f func()) (stop func() bool) {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	if rc.endedLocked() != nil {
		go f()
		return func() bool { return false }
	}
	rc.doneLocked()
	a := &afterFunc{f}
	rc.after = append(rc.after, a)
	return func() bool {
		rc.mu.Lock()
		defer rc.mu.Unlock()
		stopped := a.f != nil
		a.f = nil
		return stopped
	}
}

// cancel ends the request: its client does not want the answer any more.
func (rc *requestContext) cancel() { rc.end(context.Canceled) }

// cancelBecause ends the request on the server's initiative: its client, which may
// still wait, is answered with e.
func (rc *requestContext) cancelBecause(e *Error) {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	if rc.err == nil && !rc.finished {
		rc.because = e
	}
	rc.endLockedWith(context.Canceled)
}

func (rc *requestContext) end(reason error) {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	rc.endLockedWith(reason)
}

func (rc *requestContext) endLockedWith(reason error) {
	if rc.err != nil || rc.finished {
		return
	}
	rc.err = reason
	rc.releaseLocked()
}

// releaseLocked tells everybody who waits on the context that it has ended.
func (rc *requestContext) releaseLocked() {
	if rc.done == nil {
		return
	}
	close(rc.done)
	rc.server.waiting.remove(rc)
	if rc.unlink != nil {
		rc.unlink()
	}
	if rc.timer != nil {
		rc.timer.Stop()
	}
	for _, a := range rc.after {
		if a.f != nil {
			go a.f()
			a.f = nil
		}
	}
}

// finish says that the Source method has returned, which ends the context, and
// reports whether the client had cancelled the request before, so that no answer is
// due. To a request that the server has cancelled, or that has run out of time, there
// is.
func (rc *requestContext) finish() (cancelled bool) {
	rc.sending.Lock() // what is being sent goes before the answer
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

// notify sends the notification that encode appends, unless it returns false.
// Everything sent before finish reaches the client before the answer.
func (rc *requestContext) notify(encode func(dst []byte) ([]byte, bool)) {
	if rc.stream == nil {
		return
	}
	if rc.valid != nil {
		rc.Done() // it is revalidated from now on, as it makes the response a stream
	}
	a := newAnswer()
	defer a.free()
	rc.sending.Lock()
	defer rc.sending.Unlock()
	if rc.Err() != nil {
		return
	}
	msg, ok := encode(a.buf)
	a.buf = msg
	if ok {
		// A client that cannot be written to has gone; its request ends by other ways.
		_ = rc.stream.send(msg)
	}
}

func (rc *requestContext) wantsLog(level LogLevel) bool {
	if !rc.logging {
		return false // the capability is not declared
	}
	if rc.version.Modern() {
		if rc.meta.logLevel == nil {
			return false
		}
		name, _ := jsonscan.Unquote(rc.meta.logLevel)
		least, ok := ParseLogLevel(name)
		return ok && level >= least
	}
	return rc.session != nil && level >= rc.session.LogLevel()
}

// requestSet is a set of requests that can all be cancelled.
type requestSet struct {
	mu  sync.Mutex
	set map[*requestContext]struct{}
	// watching says that revalidate comes again.
	watching bool
}

func (s *requestSet) add(rc *requestContext) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.set == nil {
		s.set = make(map[*requestContext]struct{})
	}
	s.set[rc] = struct{}{}
	if rc.valid != nil {
		s.watch()
	}
}

func (s *requestSet) remove(rc *requestContext) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.set, rc)
}

func (s *requestSet) cancelAll() {
	s.mu.Lock()
	all := make([]*requestContext, 0, len(s.set))
	for rc := range s.set {
		all = append(all, rc)
	}
	s.mu.Unlock()
	for _, rc := range all {
		rc.cancelBecause(errEnding)
	}
}

// narrowed returns hint as the caller may hear it: what somebody needs a
// credential for is not for everybody's cache.
func (rc *requestContext) narrowed(hint CacheHint) CacheHint {
	hint.Public = hint.Public && rc.version.Modern() && PrincipalFrom(rc) == nil
	return hint
}
