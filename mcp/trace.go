package mcp

import "github.com/slipway-mcp/slipway/internal/jsonscan"

// Trace is the W3C trace context of a request: the trace it belongs to, and the client's
// span that is its parent.
type Trace struct {
	TraceID string // 32 hexadecimal digits
	SpanID  string // 16 hexadecimal digits
	Sampled bool
	// Parent and State are the values of traceparent and tracestate, to be passed on
	// unchanged.
	Parent, State string
}

// maxTraceState is the maximum length of a tracestate that is passed on.
const maxTraceState = 512

// Trace returns the trace context of the request, from its _meta (traceparent and
// tracestate, SEP-414) or else from the HTTP headers. ok is false if there is none, or if
// it is malformed.
func (r *Request) Trace() (t Trace, ok bool) {
	if r == nil {
		return Trace{}, false
	}
	if m := r.Meta(); m != nil {
		parent, _ := jsonscan.Unquote(jsonscan.Member(m, "traceparent"))
		if t, ok = parseTrace(parent); ok {
			state, _ := jsonscan.Unquote(jsonscan.Member(m, "tracestate"))
			return t.with(state), true
		}
	}
	parent := r.Header().Get("Traceparent")
	if t, ok = parseTrace(parent); ok {
		state := r.Header().Get("Tracestate")
		return t.with(state), true
	}
	return Trace{}, false
}

// with adds the trace state unless it exceeds the limit of W3C Trace Context (section
// 3.3.1.5), in which case it may be dropped.
func (t Trace) with(state string) Trace {
	if len(state) <= maxTraceState {
		t.State = state
	}
	return t
}

// parseTrace parses a traceparent: version, trace id, span id and flags. Later versions
// may have additional data after another hyphen.
func parseTrace(s string) (t Trace, ok bool) {
	const size = len("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	if len(s) < size || len(s) > 256 || s[2] != '-' || s[35] != '-' || s[52] != '-' {
		return Trace{}, false
	}
	version := s[:2]
	trace := s[3:35]
	span := s[36:52]
	flags := s[53:55]
	switch {
	case !isHex(version), version == "ff", version == "00" &&
		len(s) > size, len(s) > size && s[size] != '-':
		return Trace{}, false
	case !isHex(trace), !isHex(span), !isHex(flags), isZero(trace), isZero(span):
		return Trace{}, false
	}
	sampled := unhex(flags[1])&1 == 1
	return Trace{
		TraceID: trace,
		SpanID:  span,
		Sampled: sampled,
		Parent:  s,
	}, true
}

func isHex(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < '0' || '9' < c) && (c < 'a' || 'f' < c) {
			return false
		}
	}
	return true
}

func isZero(s string) bool {
	for i := range len(s) {
		if s[i] != '0' {
			return false
		}
	}
	return true
}

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c - 'a' + 10
}
