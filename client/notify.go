package client

import (
	"context"
	"encoding/json"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// Notify receives what a server sends about the requests of a program, see [WithNotify].
// Its functions are called on the goroutine that reads from the server, in order, and
// before the answer is returned. They must return quickly, and must not keep params.
type Notify struct {
	// Progress receives the params of notifications/progress. Without it, the server is not
	// asked for progress.
	Progress func(params json.RawMessage)
	// Log receives the params of notifications/message that belong to the request.
	Log func(params json.RawMessage)
	// Level is the least severe log line wanted from a 2026-07-28 server, which sends none
	// unless asked. Nil means none.
	Level *mcp.LogLevel
	// Sent receives the id of each message that carries the request, just before it is
	// sent: one, or several if the server asks for input or was restarted.
	Sent func(id uint64)
}

// notifyKey is the key of a [Notify] in a context.
type notifyKey struct{}

// WithNotify returns a context for requests of a program, such as [Source.CallTool]. It
// reaches the server through sources that join or rename others. A request made for a
// client, see [mcp.RequestFrom], ignores it: its notifications are for that client.
func WithNotify(ctx context.Context, n *Notify) context.Context {
	return context.WithValue(ctx, notifyKey{}, n)
}

// NotifyFrom returns what [WithNotify] set, or nil. In [Questions.Answer] it identifies
// the request during which the server asks.
func NotifyFrom(ctx context.Context) *Notify {
	n, _ := ctx.Value(notifyKey{}).(*Notify)
	return n
}

// pass passes a letter on, if the program wants it.
func (n *Notify) pass(l letter) {
	switch {
	case l.log && n.Log != nil:
		n.Log(l.params)
	case !l.log && n.Progress != nil:
		n.Progress(l.params)
	}
}

// wantsProgress reports whether a request needs a progress token of its own.
func (n *Notify) wantsProgress() bool { return n != nil && n.Progress != nil }

// level returns the level to ask a server for.
func (n *Notify) level() (mcp.LogLevel, bool) {
	if n == nil || n.Level == nil {
		return 0, false
	}
	return *n.Level, true
}

// Do sends any request to the server, and returns the result of its response. params is
// an object or nil; its members are sent unchanged, also those of _meta that do not
// describe this client. Unlike [Source.CallTool], it never sends a request twice that
// the server may have seen. An error response is an [*mcp.Error].
func (s *Source) Do(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	e := &errand{
		method:      method,
		params:      params,
		unavailable: mcp.CodeToolUnavailable,
	}
	if err := e.check(true); err != nil {
		return nil, err
	}
	e.meta = jsonscan.Member(e.params, "_meta")
	e.arguments = jsonscan.Member(e.params, "arguments")
	for _, key := range []string{"name", "uri"} {
		if name := memberString(e.params, key); name != "" {
			e.name = name
			break
		}
	}
	e.params = withoutMeta(e.params)
	raw, err := s.forward(ctx, e)
	if err != nil {
		return nil, err
	}
	return raw.Bytes(), nil
}

// Handshake is what a server said of itself when the current connection began.
type Handshake struct {
	// Version is the negotiated version.
	Version      mcp.Version
	Server       json.RawMessage // serverInfo, or nil
	Capabilities json.RawMessage // or nil
	// Instructions are those of the server, cut after 64 KiB, or empty.
	Instructions string
}

// Handshake returns the handshake of the current connection, or nil without one.
func (s *Source) Handshake() *Handshake {
	ses := s.current.Load()
	if ses == nil || !ses.alive() {
		return nil
	}
	return &Handshake{
		Version:      ses.version,
		Server:       ses.info,
		Capabilities: ses.capabilities,
		Instructions: ses.instructions,
	}
}

// SetLogLevel asks a server up to 2025-11-25 for log lines of this severity and above.
// For a 2026-07-28 server it does nothing: see [Notify.Level].
func (s *Source) SetLogLevel(ctx context.Context, level mcp.LogLevel) error {
	ses, err := s.acquire(ctx)
	if err != nil {
		return s.unavailable(ctx, mcp.CodeToolUnavailable, err)
	}
	if ses.version.Modern() {
		return nil
	}
	_, err = ses.request(ctx, "logging/setLevel", []byte(`{"level":"`+level.String()+`"}`))
	if err != nil {
		return s.unavailable(ctx, mcp.CodeToolUnavailable, err)
	}
	ses.mu.Lock()
	defer ses.mu.Unlock()
	ses.level = level
	return nil
}

// NotifyRootsChanged tells the server that the answer to roots/list has changed.
func (s *Source) NotifyRootsChanged() {
	ses := s.current.Load()
	if ses != nil && !ses.version.Modern() {
		ses.goWork(func(ctx context.Context) {
			// A lost connection is detected elsewhere.
			_ = ses.link.tell(ctx, rootsListChanged())
		})
	}
}

// Unsubscribe ends a subscription that a program made with [Source.Subscribe]. The
// error is an [*mcp.Error] if the server is unavailable; the subscription then remains.
func (s *Source) Unsubscribe(ctx context.Context, uri string) error {
	ses, err := s.acquire(ctx)
	if err != nil {
		return s.unavailable(ctx, mcp.CodeResourceUnavailable, err)
	}
	s.mu.Lock()
	s.watched.remove(uri)
	s.mu.Unlock()
	ses.unwatch(ctx, []string{uri})
	return nil
}

// Capabilities returns the client capabilities that the server receives for requests of
// programs.
func (s *Source) Capabilities() json.RawMessage {
	return s.terms.Load().Capabilities
}
