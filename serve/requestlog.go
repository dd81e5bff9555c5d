package serve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
)

// requestLog logs a line for each served request and for each refused one. Lines never
// contain arguments, results, headers or URIs of resources.
type requestLog struct{ log *slog.Logger }

var _ server.Observer = requestLog{}

// Observe implements [server.Observer].
func (l requestLog) Observe(ctx context.Context, e server.Event) {
	if !l.log.Enabled(ctx, slog.LevelInfo) {
		return
	}
	switch e.Kind {
	case server.EventAnswer:
		l.line(ctx, "request", &e)
	case server.EventRefused:
		l.line(ctx, "refused", &e)
	}
}

// maxRequestID is the longest X-Request-Id that is logged.
const maxRequestID = 128

// line logs one request. Values that clients choose freely are left out or bounded, and
// the session id is hashed.
func (l requestLog) line(ctx context.Context, message string, e *server.Event) {
	attrs := make([]slog.Attr, 0, 18)
	add := func(name, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(name, value))
		}
	}
	method := e.Method
	if e.Err != nil && e.Err.Code == mcp.CodeMethodNotFound {
		method = otherName // chosen by the client
	}
	if e.Kind == server.EventAnswer {
		add("method", method)
	}
	switch method {
	case "tools/call":
		add("tool", e.Name)
	case "prompts/get":
		add("prompt", e.Name)
	}
	add("server", e.Server)
	add("version", e.Version.String())
	add("transport", e.Transport)
	if e.Status != 0 {
		attrs = append(attrs, slog.Int("status", e.Status))
	}
	switch e.Outcome {
	case server.OutcomeCancelled, server.OutcomeToolError, server.OutcomeInputRequired, server.OutcomeStream:
		add("outcome", string(e.Outcome))
	}
	if e.Err != nil {
		attrs = append(attrs, slog.Int("code", int(e.Err.Code)))
	}
	millis := float64(e.Duration.Microseconds()) / 1000
	attrs = append(attrs,
		slog.Float64("duration_ms", millis),
		slog.Int("received", e.Received),
		slog.Int("sent", e.Sent))
	if p := mcp.PrincipalFrom(ctx); p != nil {
		add("principal", p.Name)
	}
	add("remote", remoteOf(ctx))
	if e.Session != nil && e.Session.ID() != "" {
		sum := sha256.Sum256([]byte(e.Session.ID())) // the id itself is the client's secret
		add("session", hex.EncodeToString(sum[:8]))
	}
	id := mcp.RequestFrom(ctx).Header()["X-Request-Id"]
	if len(id) == 1 && len(id[0]) <= maxRequestID {
		add("request_id", id[0])
	}
	if t, ok := mcp.RequestFrom(ctx).Trace(); ok {
		add("trace_id", t.TraceID)
		add("span_id", t.SpanID)
	}
	l.log.LogAttrs(ctx, slog.LevelInfo, message, attrs...)
}

// observers combines several observers.
type observers []server.Observer

// Observe implements [server.Observer].
func (all observers) Observe(ctx context.Context, e server.Event) {
	for _, o := range all {
		o.Observe(ctx, e)
	}
}

// joinObservers returns one observer for those that are not nil, or nil if all are.
func joinObservers(all ...server.Observer) server.Observer {
	var some observers
	for _, o := range all {
		if o != nil {
			some = append(some, o)
		}
	}
	switch len(some) {
	case 0:
		return nil
	case 1:
		return some[0]
	}
	return some
}
