package server

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/slipway-mcp/slipway/mcp"
)

// bodies limits the memory of requests being received and served, and of their answers until they
// are written. While less than half of the total is in use, small requests only cost two atomic
// additions. Beyond that, and for large requests, each client is also restricted to its share, which
// its answers may exceed while less than half of the total is in use.
type bodies struct {
	// total and share are the limits in bytes, for all clients and for one.
	total, share int64
	// used counts bodies and answers; refused counts those refused or dropped because of a limit.
	used    atomic.Int64
	refused atomic.Int64

	mu      sync.Mutex
	clients map[string]int64 // bytes by accountName
}

// smallBody is the maximum size of a small request.
const smallBody = announcedBody

// heldBody is the memory reserved by one request. It is used by one goroutine.
type heldBody struct {
	// size is what has been reserved for the body and the answer so far.
	size   int64
	own    int64 // the part of size that is charged to client
	client string
}

var errBodies = unavailable("the requests in flight have reached their memory limit: try again later")

// newBodies returns the limits of o with their defaults.
func newBodies(o *Budget) *bodies {
	b := &bodies{
		total:   o.RequestBytes,
		share:   o.ClientRequestBytes,
		clients: make(map[string]int64),
	}
	if b.total <= 0 {
		b.total = 256 << 20
	}
	if b.share <= 0 {
		b.share = b.total / 4
	}
	return b
}

// reserve adds n bytes to h, and reports whether they fit. A client with a single request
// in flight is not restricted to its share.
func (b *bodies) reserve(ctx context.Context, remote string, h *heldBody, n int64) bool {
	return b.add(ctx, remote, h, n, b.share)
}

// reserveAnswer is reserve for an answer. Its request has run, so it is only dropped for the share of its
// client once half of the total is in use.
func (b *bodies) reserveAnswer(ctx context.Context, remote string, h *heldBody, n int64) bool {
	share := b.share
	if b.used.Load()+n <= b.total/2 {
		share = b.total
	}
	return b.add(ctx, remote, h, n, share)
}

// add is reserve for a client with the given share.
func (b *bodies) add(ctx context.Context, remote string, h *heldBody, n, share int64) bool {
	used := b.used.Add(n)
	h.size += n
	if used <= b.total &&
		(h.size <= smallBody && used <= b.total/2 || b.charge(ctx, remote, h, share)) {
		return true
	}
	b.used.Add(-n)
	h.size -= n
	b.refused.Add(1)
	return false
}

// charge charges all bytes of h to its client, and reports whether they fit into its share.
func (b *bodies) charge(ctx context.Context, remote string, h *heldBody, share int64) bool {
	if h.client == "" {
		if h.client = accountName(mcp.PrincipalFrom(ctx), remote); h.client == "" {
			return true // the share of a single client is the total
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	others := b.clients[h.client] - h.own
	if others > 0 && others+h.size > share {
		return false
	}
	b.clients[h.client] = others + h.size
	h.own = h.size
	return true
}

// release releases the bytes of h.
func (b *bodies) release(h *heldBody) { b.shrink(h, 0) }

// shrink releases all but size bytes of h.
func (b *bodies) shrink(h *heldBody, size int64) {
	if h.size <= size {
		return
	}
	b.used.Add(size - h.size)
	h.size = size
	if h.own > size {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.clients[h.client] -= h.own - size; b.clients[h.client] == 0 {
			delete(b.clients, h.client)
		}
		h.own = size
	}
}

// errUnread replaces an answer that has no room until its client reads it. It does not ask the client to try
// again, as the request has run.
var errUnread = mcp.Errorf(mcp.CodeInternalError, "the request has run, but its answer was dropped: the answers that "+
	"clients have yet to read have reached their memory limit")

// reserveAnswer reserves size bytes for a, until it is written. An answer that does not fit is replaced by an
// error, which is returned.
func (s *Server) reserveAnswer(rc *request, a *answer, size int) *mcp.Error {
	if rc.memory == nil || s.bodies.reserveAnswer(rc.parent, rc.remote, rc.memory, int64(size)) {
		return nil
	}
	a.buf = nil // it is not needed any more
	a.failure(rc, errUnread)
	return errUnread
}

// lineOf returns a as one line, and reserves the memory that this takes.
func (s *Server) lineOf(rc *request, a *answer) []byte {
	if a.body != nil {
		_ = s.reserveAnswer(rc, a, len(a.body)) // the answer contains the error
	}
	return a.line()
}

// BodyMemory is the memory of a message while a connection receives it, or of the messages that a
// connection queues for its client, see [Server.ReserveBody]. The zero value is empty. It is not
// safe for concurrent use.
type BodyMemory struct {
	held heldBody
}

// ReserveBody sets the size of m to size bytes of [Budget.RequestBytes], for a client
// with the principal of ctx, if any, and the network address remote. It reports whether
// they fit; if not, m is unchanged. A [Conn] calls it while it receives a long message,
// and calls [Server.ReleaseBody] before it returns the message, which the server then
// accounts for. A Conn that queues messages calls it for its queue, see [ConnOptions.Queues].
func (s *Server) ReserveBody(ctx context.Context, remote string, m *BodyMemory, size int64) bool {
	if size <= m.held.size {
		s.bodies.shrink(&m.held, size)
		return true
	}
	return s.bodies.reserve(ctx, remote, &m.held, size-m.held.size)
}

// ReleaseBody releases the memory of m.
func (s *Server) ReleaseBody(m *BodyMemory) {
	s.bodies.release(&m.held)
}
