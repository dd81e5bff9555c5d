package mcp

import (
	"context"
	"time"
)

// Upstream is a request that a Source makes to another server on behalf of a client's
// request. The server of the client's request measures it and, with a tracer, gives it a
// span of its own.
//
// A Source fills in the fields, passes it to [Request.StartUpstream], sends the request,
// and passes it to [Request.EndUpstream]. It must not be copied or shared in between.
type Upstream struct {
	// Server is the name of the other server, the same for all its requests, or "".
	Server string
	// Method is the method of the request, and Name the tool, prompt or resource URI as
	// the other server knows it, or "".
	Method, Name string
	// Transport is "http", "stdio", "websocket", "sse" or "".
	Transport string
	// Version is the protocol version spoken with the server; 0 if it is unknown. It may be
	// set after StartUpstream.
	Version Version

	// Trace is set by StartUpstream, if the request is traced: the trace context to send
	// in _meta in place of the client's (SEP-414).
	Trace Trace

	// Began and Span belong to the server between start and end.
	Began time.Time
	Span  any
}

// StartUpstream records that the Source starts a request to another server. It returns
// the context for that request. A nil Request returns ctx.
func (r *Request) StartUpstream(ctx context.Context, u *Upstream) context.Context {
	if r == nil {
		return ctx
	}
	return r.served.StartUpstream(ctx, u)
}

// EndUpstream records the outcome of a request passed to StartUpstream: err is nil if the
// server returned a result, and toolError reports whether that is a tool result with
// isError.
func (r *Request) EndUpstream(ctx context.Context, u *Upstream, err error, toolError bool) {
	if r != nil {
		r.served.EndUpstream(ctx, u, err, toolError)
	}
}
