package server

import (
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
)

// SSEHandler serves the HTTP+SSE transport of 2024-11-05, which later versions replaced,
// for clients that only support this one. A GET opens the event stream, whose first event
// contains the URL to POST messages to; all answers are sent on the stream.
type SSEHandler struct {
	http        *HTTPHandler
	messagePath string
	opts        ConnOptions

	streams registry[string, *sseConn] // by session id
}

var _ http.Handler = (*SSEHandler)(nil)

// SSEHandler returns the HTTP+SSE surface of s. Mount it at the path given to clients,
// usually /sse, and at messagePath, usually /message. It uses the options for hosts,
// origins, sizes and authentication, and the Budget of the server; opts may be nil.
func (s *Server) SSEHandler(messagePath string, opts *HTTPOptions) *SSEHandler {
	return &SSEHandler{
		http:        s.HTTPHandler(opts),
		messagePath: messagePath,
		opts: ConnOptions{
			Transport:   TransportSSE,
			cancelAtEnd: true,
		},
	}
}

// SetAccess is [HTTPHandler.SetAccess] for h.
func (h *SSEHandler) SetAccess(a HTTPAccess) { h.http.SetAccess(a) }

// ServeHTTP implements http.Handler.
func (h *SSEHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx := h.http.enter(w, r)
	if ctx == nil {
		return
	}
	r = r.WithContext(ctx)
	switch r.Method {
	case http.MethodGet:
		h.stream(w, r)
	case http.MethodPost:
		h.message(w, r)
	case http.MethodOptions:
		preflight(w)
	default:
		w.Header().Set("Allow", "GET, POST, OPTIONS")
		h.http.reject(w, http.StatusMethodNotAllowed,
			invalidRequest("GET opens the stream, POST sends a message"))
	}
}

// sseConn is the connection of one event stream. It receives messages by POST.
type sseConn struct {
	owner  *mcp.Principal
	in     chan []byte
	queued atomic.Int64 // bytes in it and waiting for room, which the entry of the connection includes
	posts  atomic.Int64 // that wait for room in it
	ledger *ledger
	kept   *kept
	out    *response
	gone   <-chan struct{} // the client has closed the stream
	broken chan struct{}
	once   sync.Once
}

const (
	queuedMessages = 64          // that a client may send ahead of the server
	waitingPosts   = 256         // that wait for room among them
	queueWait      = time.Second // after which a waiting message is refused
)

// ReadMessage implements Conn.
func (l *sseConn) ReadMessage(ctx context.Context) ([]byte, error) {
	select {
	case msg := <-l.in:
		l.unqueue(len(msg))
		return msg, nil
	case <-l.gone:
		return nil, io.EOF
	case <-l.broken:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// WriteMessage implements Conn.
func (l *sseConn) WriteMessage(msg []byte) error { return l.write(msg, nil) }

// write writes a message. rc is as for writeAnswer.
func (l *sseConn) write(msg []byte, rc *request) error {
	err := writeAnswer(l.out, appendEvent(nil, "", msg), rc)
	if err != nil {
		l.end()
	}
	return err
}

// belongsTo reports whether p may send messages, which are served with the scopes of the
// stream: p must be the same principal, and its token must have all of these scopes.
func (l *sseConn) belongsTo(p *mcp.Principal) bool {
	if principalID(l.owner) != principalID(p) {
		return false
	}
	lacks := func(scope string) bool {
		return !slices.Contains(p.Scopes, scope)
	}
	return p == nil || !slices.ContainsFunc(l.owner.Scopes, lacks)
}

// end ends the stream, which cancels the requests in flight.
func (l *sseConn) end() { l.once.Do(func() { close(l.broken) }) }

// stream serves a GET: it opens an event stream, announces the URL for messages, and
// returns when the stream ends.
func (h *SSEHandler) stream(w http.ResponseWriter, r *http.Request) {
	id := rand.Text()
	l := &sseConn{
		owner:  mcp.PrincipalFrom(r.Context()),
		in:     make(chan []byte, queuedMessages),
		out:    newResponse(w),
		gone:   r.Context().Done(),
		broken: make(chan struct{}),
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	defer cancel()
	defer context.AfterFunc(h.http.server.ending, cancel)()
	opts := h.opts
	opts.Remote = r.RemoteAddr
	c := h.http.server.newPipe(ctx, l, opts)
	if !c.book() {
		h.http.reject(w, errBudget.Status, errBudget)
		return
	}
	l.ledger = h.http.server.ledger
	l.kept = &c.session.kept
	defer l.ledger.release(l.kept)
	h.streams.add(id, l)
	defer h.streams.remove(id)
	defer l.out.leave()
	endpoint := h.messagePath + "?sessionId=" + url.QueryEscape(id)
	if l.out.writeEvents([]byte("event: endpoint\ndata: "+endpoint+"\n\n")) != nil {
		return
	}
	valid := h.http.revalidating(r.Context(), l.end)
	stop := repeat(keepAlive, func() bool {
		return valid() && l.out.writeEvents([]byte(":\n\n")) == nil
	})
	defer stop()
	_ = c.serve() // the client has received all errors
}

// message serves a POST: it passes the message to its stream, where the answer is sent.
func (h *SSEHandler) message(w http.ResponseWriter, r *http.Request) {
	l := h.streams.get(r.URL.Query().Get("sessionId"))
	if l == nil || !l.belongsTo(mcp.PrincipalFrom(r.Context())) {
		h.http.reject(w, http.StatusNotFound,
			invalidRequest("no such stream: open one by GET"))
		return
	}
	if !h.http.acceptsBody(w, r) {
		return
	}
	var held heldBody
	defer h.http.server.bodies.release(&held)
	body, ok := h.http.receive(r.Context(), w, r, &held)
	switch {
	case !ok:
	case h.queue(r.Context(), l, body):
		w.WriteHeader(http.StatusAccepted)
	default:
		h.http.reject(w, errQueueFull.Status, errQueueFull)
	}
}

var errQueueFull = unavailable("too many messages are waiting on this stream")

// queue passes a message to the stream. If too many messages are queued, it waits for room: a
// client that sends a hundred requests at once is not refused because the server was busy for a
// moment. It returns false if there was none within [queueWait], if [waitingPosts] others wait, if
// together the messages exceed the maximum size of one, if the budget does not allow it, or if the
// stream or the request ends.
func (h *SSEHandler) queue(ctx context.Context, l *sseConn, body []byte) bool {
	size := int64(len(body))
	waiting := l.queued.Add(size)
	if waiting > h.http.access.Load().maxBody && waiting > size {
		l.queued.Add(-size)
		return false
	}
	if !l.ledger.grow(l.kept, size) {
		l.queued.Add(-size)
		return false
	}
	select {
	case l.in <- body:
		return true
	default:
	}
	if l.wait(ctx, body) {
		return true
	}
	l.unqueue(len(body))
	return false
}

// wait is the part of queue for a message that has no room yet. Messages that wait keep their order.
func (l *sseConn) wait(ctx context.Context, body []byte) bool {
	defer l.posts.Add(-1)
	if l.posts.Add(1) > waitingPosts {
		return false
	}
	timeout := time.NewTimer(queueWait)
	defer timeout.Stop()
	select {
	case l.in <- body:
		return true
	case <-timeout.C:
	case <-l.gone:
	case <-l.broken:
	case <-ctx.Done():
	}
	return false
}

// unqueue records that a message of size bytes has left the queue.
func (l *sseConn) unqueue(size int) {
	l.queued.Add(-int64(size))
	l.ledger.grow(l.kept, -int64(size))
}
