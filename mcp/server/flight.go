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

// stream receives the notifications of one request: its own HTTP response, or the single
// stream of a connection.
type stream interface {
	// send writes one encoded message, which contains no line break.
	send(msg []byte) error
}

// requestContext is a request on its way through the server. It is also the context of
// its Source method, which saves an allocation.
type requestContext struct {
	parent context.Context
	server *Server
	public mcp.Request

	// Set by the surface.
	msg     message
	meta    requestMeta
	session *session
	header  http.Header // nil unless HTTP
	remote  string      // address of the client, or empty
	stream  stream      // nil: nothing can be sent before the answer
	// valid is HTTPOptions.Revalidate, for a request that waits.
	valid   func(context.Context) bool
	version mcp.Version // 0: not known yet
	// listChanged reports whether the surface can notify the client of list changes.
	listChanged bool
	// logging is the catalog's Logging.
	logging bool
	// standing means that the request stays open and its surface answers it later.
	standing bool
	// batched means that the request is one of several in a body.
	batched bool
	// detached means that the end of the parent does not cancel the request: up to
	// 2025-11-25, a disconnect is not a cancellation.
	detached bool
	// For the observer.
	toolError, panicked bool
	asked               bool // the answer is a question
	// progressed means that progress is set; guarded by sending.
	progressed bool
	// finished means that the answer is being sent, so no more notifications may be; guarded
	// by mu.
	finished bool

	// For the gate, the observer and the time limit.
	about    string // see Event.Name
	began    time.Time
	servedBy atomic.Pointer[string]

	// Parameters of the Source method.
	callTool mcp.CallToolParams
	read     mcp.ReadResourceParams

	// sending is locked while a notification is written, which takes as long as the client
	// likes. mu is not, so a request can always be cancelled.
	sending  sync.Mutex
	progress float64 // guarded by sending

	mu      sync.Mutex
	done    chan struct{}
	err     error
	because *mcp.Error // the answer to a request cancelled by the server
	after   []*afterFunc
	unlink  func() bool // stops waiting for the end of parent
	timer   *time.Timer // of the time limit
	rounds  rounds

	task    *task // the task that this context works for, or nil
	started *task // the task that the call has turned into, or nil
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

// limit returns the server's own deadline for the request.
func (rc *requestContext) limit() (time.Time, bool) {
	if rc.began.IsZero() || rc.server.opts.RequestTimeout <= 0 {
		return time.Time{}, false
	}
	return rc.began.Add(rc.server.opts.RequestTimeout), true
}

// Done implements context.Context. The channel is created on first use.
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
		rc.err = err // prevents a second close of the channel
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
	case (*mcp.Request)(nil):
		return &rc.public
	case clientKey{}:
		return rc.Client()
	}
	return rc.parent.Value(key)
}

// clientKey is the context key for the name of the client to which kept memory is
// charged.
type clientKey struct{}

// Client returns the client's name in the ledger.
func (rc *requestContext) Client() string {
	return accountName(mcp.PrincipalFrom(rc.parent), rc.remote)
}

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

// cancel ends the request because its client no longer wants the answer.
func (rc *requestContext) cancel() { rc.end(context.Canceled) }

// cancelBecause ends the request on the server's initiative. Its client, which may still
// be waiting, gets e as the answer.
func (rc *requestContext) cancelBecause(e *mcp.Error) {
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

// releaseLocked notifies everything that waits for the end of the context.
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

// finish records that the Source method has returned, which ends the context. It reports
// whether the client has cancelled the request, so that no answer is due. A request that
// the server has cancelled, or that has timed out, still gets an answer.
func (rc *requestContext) finish() (cancelled bool) {
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

// notify sends the notification that encode appends, unless encode returns false.
// Notifications sent before finish reach the client before the answer.
func (rc *requestContext) notify(encode func(dst []byte) ([]byte, bool)) {
	if rc.stream == nil {
		return
	}
	if rc.valid != nil {
		rc.Done() // Done starts the revalidation, because the response becomes a stream
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
		// A failed write means that the client has disconnected, which ends its request
		// elsewhere.
		_ = rc.stream.send(msg)
	}
}

func (rc *requestContext) wantsLog(level mcp.LogLevel) bool {
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

// requestSet is a set of requests that can be cancelled together.
type requestSet struct {
	mu  sync.Mutex
	set map[*requestContext]struct{}
	// watching means that another revalidation is scheduled.
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

// form returns how results are encoded for the client. A result that requires credentials
// must not be kept in shared caches.
func (rc *requestContext) form() mcp.Form {
	return mcp.Form{
		Version:        rc.version,
		KeepSystemRole: rc.server.opts.KeepSystemRole,
		Private:        rc.version.Modern() && mcp.PrincipalFrom(rc.parent) != nil,
	}
}

// The following methods implement those of [mcp.Request].

func (rc *requestContext) Version() mcp.Version    { return rc.version }
func (rc *requestContext) Method() string          { return string(rc.msg.method) }
func (rc *requestContext) Params() json.RawMessage { return rc.msg.params }
func (rc *requestContext) Meta() json.RawMessage   { return rc.meta.raw }
func (rc *requestContext) Header() http.Header     { return rc.header }
func (rc *requestContext) RemoteAddr() string      { return rc.remote }
func (rc *requestContext) ServedBy(name *string)   { rc.servedBy.Store(name) }

// Session returns a nil interface, rather than a nil pointer, if there is no session.
func (rc *requestContext) Session() mcp.Session {
	if rc.session == nil {
		return nil
	}
	return rc.session
}

func (rc *requestContext) ClientCapabilities() json.RawMessage {
	switch {
	case rc.version.Modern():
		return rc.meta.capabilities
	case rc.session != nil:
		return rc.session.ClientCapabilities()
	}
	return nil
}

func (rc *requestContext) Share(limit int) int {
	if mcp.PrincipalFrom(rc.parent) == nil && rc.remote == "" {
		return limit
	}
	return int(rc.server.ledger.shareIn(int64(limit), "client"))
}

func (rc *requestContext) Progress(progress, total float64, message string) {
	if rc.meta.progressToken == nil || !jsonscan.IsID(rc.meta.progressToken) {
		return
	}
	if math.IsNaN(progress) || math.IsInf(progress, 0) {
		return // JSON cannot represent it
	}
	rc.notify(func(dst []byte) ([]byte, bool) {
		if rc.progressed && progress <= rc.progress {
			return dst, false
		}
		rc.progressed, rc.progress = true, progress
		dst = append(dst, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":`...)
		dst = append(append(dst, rc.meta.progressToken...), `,"progress":`...)
		dst = strconv.AppendFloat(dst, progress, 'g', -1, 64)
		if total > 0 && !math.IsInf(total, 1) {
			dst = strconv.AppendFloat(append(dst, `,"total":`...), total, 'g', -1, 64)
		}
		if message != "" && rc.version >= mcp.Version20250326 {
			dst = jsonscan.AppendQuote(append(dst, `,"message":`...), message)
		}
		return append(dst, '}', '}'), true
	})
}

func (rc *requestContext) Abandoned() bool {
	return rc.detached && rc.parent.Err() != nil
}

func (rc *requestContext) Disconnect(retry time.Duration) bool {
	if rc.version != mcp.Version20251125 {
		return false
	}
	d, ok := rc.stream.(interface{ disconnect(time.Duration) bool })
	return ok && d.disconnect(retry)
}

func (rc *requestContext) Log(level mcp.LogLevel, logger string, data any) {
	if !rc.wantsLog(level) {
		return
	}
	encoded, err := mcp.Marshal(data)
	if err != nil {
		return
	}
	rc.notify(func(dst []byte) ([]byte, bool) {
		dst = append(dst, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":`...)
		dst = jsonscan.AppendQuote(dst, level.String())
		if logger != "" {
			dst = jsonscan.AppendQuote(append(dst, `,"logger":`...), logger)
		}
		dst = append(append(dst, `,"data":`...), encoded...)
		return append(dst, '}', '}'), true
	})
}
