package ws

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// Handler serves MCP over WebSocket. Mount it at the path that clients use, usually /ws.
// It is safe for concurrent use.
type Handler struct {
	// server answers the messages of all connections.
	server  *mcpserver.Server
	opts    Options
	guard   *mcpserver.HTTPHandler // for its Host and Origin checks
	guarded http.Handler           // upgrade, after these checks
	// maxMessage is Options.MaxMessage for new connections.
	maxMessage atomic.Int64

	mu       sync.Mutex
	reserved int // open connections and pending upgrades
	// open are the connections to ping and to close.
	open map[*socket]struct{}
	// ending refuses new connections while the open ones are finished.
	ending   bool
	quiet    chan struct{} // closed when ending and nothing is reserved
	stopPing func()        // nil while no connection is open
	// stopRevalidating stops revalidate; nil while it is not running.
	stopRevalidating func()
}

var _ http.Handler = (*Handler)(nil)

// NewHandler returns a handler that serves MCP over WebSocket. opts may be nil.
func NewHandler(server *mcpserver.Server, opts *Options) *Handler {
	h := &Handler{
		server: server,
		opts:   opts.withDefaults(),
		open:   make(map[*socket]struct{}),
		quiet:  make(chan struct{}),
	}
	h.guard = server.HTTPHandler(nil)
	h.guarded = h.guard.Protect(http.HandlerFunc(h.upgrade))
	h.SetAccess(mcpserver.HTTPAccess{
		AllowedHosts:   h.opts.AllowedHosts,
		AllowedOrigins: h.opts.AllowedOrigins,
		MaxBody:        h.opts.MaxMessage,
	})
	return h
}

// SetAccess replaces AllowedHosts, AllowedOrigins and, by MaxBody, MaxMessage of the options
// for connections that are opened from now on. It is safe for concurrent use.
func (h *Handler) SetAccess(a mcpserver.HTTPAccess) {
	h.guard.SetAccess(a)
	h.maxMessage.Store(cmp.Or(max(a.MaxBody, 0), defaultMaxMessage))
}

// ServeHTTP implements [http.Handler]. It returns once the connection is upgraded;
// separate goroutines then serve the connection.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.guarded.ServeHTTP(w, r)
}

// upgrade authenticates the client, selects a subprotocol and opens the connection, or
// answers with an error.
func (h *Handler) upgrade(w http.ResponseWriter, r *http.Request) {
	if !IsUpgrade(r) {
		upgradeRequired(w, "this is a WebSocket endpoint: open a WebSocket")
		return
	}
	ctx := r.Context()
	if h.opts.Authenticate != nil {
		if ctx = h.opts.Authenticate(w, r); ctx == nil {
			return
		}
	}
	offer := offered(r)
	protocol := choose(offer)
	switch {
	case protocol == "" && len(offer) > 0:
		http.Error(w, "none of the offered subprotocols is known here; offer mcp.v1 or mcp", http.StatusBadRequest)
		return
	case protocol == "" && h.opts.RequireSubprotocol:
		w.Header().Set("Sec-WebSocket-Protocol", ProtocolV1)
		upgradeRequired(w, "Subprotocol required")
		return
	case !h.reserve():
		h.server.ShedConn()
		w.Header().Set("Retry-After", "1")
		http.Error(w, "no more connections are accepted", http.StatusServiceUnavailable)
		return
	}
	s := newSocket(h, r.RemoteAddr)
	if err := s.accept(w, r, protocol); err != nil {
		h.opts.Logger.Debug("upgrade failed", "error", err)
		h.release(s)
		return
	}
	s.start(context.WithoutCancel(ctx)) // net/http cancels ctx when this handler returns
}

func upgradeRequired(w http.ResponseWriter, reason string) {
	w.Header().Set("Connection", "Upgrade")
	w.Header().Set("Upgrade", "websocket")
	http.Error(w, reason, http.StatusUpgradeRequired)
}

// reserve reserves a connection, unless there are too many.
func (h *Handler) reserve() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ending || h.reserved >= h.opts.MaxConns {
		return false
	}
	h.reserved++
	return true
}

// add registers s for Shutdown, pings and revalidation.
func (h *Handler) add(s *socket) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open[s] = struct{}{}
	if h.stopPing == nil && h.opts.PingInterval > 0 {
		stop := make(chan struct{})
		h.stopPing = func() { close(stop) }
		go h.ping(stop)
	}
	if h.stopRevalidating == nil && h.opts.Revalidate != nil {
		stop := make(chan struct{})
		h.stopRevalidating = func() { close(stop) }
		go h.revalidate(stop)
	}
	if h.ending {
		s.cancel() // Shutdown has missed it
	}
}

// release undoes reserve and, if it was called, add.
func (h *Handler) release(s *socket) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.open, s)
	if len(h.open) == 0 && h.stopPing != nil {
		h.stopPing()
		h.stopPing = nil
	}
	if len(h.open) == 0 && h.stopRevalidating != nil {
		h.stopRevalidating()
		h.stopRevalidating = nil
	}
	h.reserved--
	if h.ending && h.reserved == 0 {
		close(h.quiet)
	}
}

// all returns the open connections.
func (h *Handler) all() []*socket {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.open))
}

// Shutdown rejects new upgrades, lets requests in flight finish, and closes each
// connection with 1001 once its answers are sent. If ctx ends first, Shutdown cuts the
// connections, which cancels the remaining requests, and returns ctx's error.
func (h *Handler) Shutdown(ctx context.Context) error {
	h.mu.Lock()
	if !h.ending {
		h.ending = true
		if h.reserved == 0 {
			close(h.quiet)
		}
	}
	h.mu.Unlock()
	for _, s := range h.all() {
		s.cancel()
	}
	select {
	case <-h.quiet:
		return nil
	case <-ctx.Done():
	}
	for _, s := range h.all() {
		s.wire.cut() // even if it is being closed
	}
	return ctx.Err()
}
