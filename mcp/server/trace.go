package server

import (
	"context"
	"errors"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
)

// Tracer starts the spans of a [Server], for distributed tracing by the conventions of
// OpenTelemetry for MCP. Its methods run on the goroutine of the request and must be
// safe for concurrent use.
type Tracer interface {
	// StartRequest starts the span of a client's request. e has the kind [EventRequest].
	// ctx gives access to the request, see [mcp.RequestFrom] and [mcp.Request.Trace]. The
	// returned context must be derived from parent; the context of the Source method
	// returns its values.
	StartRequest(ctx, parent context.Context, e Event) (context.Context, Span)
	// StartUpstream starts the span of a request to another server. ctx is the context
	// that the Source passed to [mcp.Request.StartUpstream], and the returned one must be
	// derived from it.
	StartUpstream(ctx context.Context, u *mcp.Upstream) (context.Context, Span)
}

// Span is a span started by a [Tracer].
type Span interface {
	// Trace returns the trace context of the span, for its children in other processes.
	Trace() mcp.Trace
	// Sampled reports whether the span is recorded, as Trace().Sampled at a lower cost.
	Sampled() bool
	// End ends the span. e has the kind [EventAnswer] or [EventUpstream].
	End(e Event)
}

// StartUpstream implements [mcp.Request.StartUpstream].
func (rc *request) StartUpstream(ctx context.Context, u *mcp.Upstream) context.Context {
	u.Began = time.Now()
	if t := rc.server.opts.Tracer; t != nil {
		traced, span := t.StartUpstream(ctx, u)
		if span != nil {
			u.Span = span
			u.Trace = span.Trace()
			return traced
		}
	}
	return ctx
}

// EndUpstream implements [mcp.Request.EndUpstream].
func (rc *request) EndUpstream(ctx context.Context, u *mcp.Upstream, err error, toolError bool) {
	span, _ := u.Span.(Span)
	if span == nil && rc.server.opts.Observer == nil {
		return
	}
	e := Event{
		Kind:      EventUpstream,
		Method:    u.Method,
		Name:      u.Name,
		Server:    u.Server,
		Transport: u.Transport,
		Version:   u.Version,
		Duration:  time.Since(u.Began),
		Outcome:   OutcomeOK,
		Span:      span,
	}
	switch {
	case errors.Is(err, mcp.ErrInputRequired):
		e.Outcome = OutcomeInputRequired
	case err != nil && ctx.Err() != nil:
		e.Outcome = OutcomeCancelled
	case err != nil:
		e.Outcome = OutcomeError
		if !errors.As(err, &e.Err) {
			e.Err = &mcp.Error{
				Code:    mcp.CodeInternalError,
				Message: "internal error",
				Cause:   err,
			}
		}
	case toolError:
		e.Outcome = OutcomeToolError
	}
	if span != nil {
		span.End(e)
	}
	rc.server.observe(rc, e)
}

// DurationBounds returns the upper bounds of the buckets for durations of requests, in
// seconds, by OpenTelemetry's conventions for MCP.
func DurationBounds() [14]float64 {
	return [...]float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300}
}

// Network returns OpenTelemetry's network.transport for a transport of an [Event]: "pipe"
// for stdio, "tcp" for others, or "other" for none.
func Network(transport string) string {
	switch transport {
	case "":
		return "other"
	case TransportStdio:
		return "pipe"
	}
	return "tcp"
}
