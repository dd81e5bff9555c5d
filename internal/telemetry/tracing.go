package telemetry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net"
	"net/http"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/slipway-mcp/slipway/internal/secrets"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
)

// tracing starts spans. The zero value starts none.
type tracing struct{ tracer trace.Tracer }

// propagator reads and writes traceparent, tracestate and baggage.
var propagator = propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})

// StartRequest implements [server.Tracer].
func (t *tracing) StartRequest(ctx, parent context.Context, e server.Event) (context.Context, server.Span) {
	if t.tracer == nil {
		return parent, nil
	}
	req := mcp.RequestFrom(ctx)
	options := serverOptions
	values := parent
	if sent, ok := contextIn(req.Meta()); ok {
		values = propagator.Extract(parent, sent)
		around := contextOf(context.Background(), req.Header())
		if c := trace.SpanContextFromContext(around); c.IsValid() {
			options = append(options[:1:1], trace.WithLinks(trace.Link{SpanContext: c}))
		}
	} else {
		values = contextOf(parent, req.Header())
	}
	values, started := t.tracer.Start(values, methodOf(&e), options...)
	if started.IsRecording() {
		started.SetAttributes(requestAttributes(req, &e)...)
	}
	return values, &span{Span: started}
}

// The options of spans that need no others. They are not modified.
var (
	serverOptions = []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer)}
	clientOptions = []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindClient)}
)

// contextOf returns parent with the trace context in the header of an HTTP request.
func contextOf(parent context.Context, h http.Header) context.Context {
	if len(h["Traceparent"]) == 0 {
		return parent
	}
	return propagator.Extract(parent, propagation.HeaderCarrier(h))
}

// contextIn returns the trace context in _meta. ok is false if it has no traceparent.
func contextIn(meta json.RawMessage) (c propagation.MapCarrier, ok bool) {
	if len(meta) == 0 {
		return nil, false
	}
	var sent struct {
		Traceparent string `json:"traceparent"`
		Tracestate  string `json:"tracestate"`
		Baggage     string `json:"baggage"`
	}
	if json.Unmarshal(meta, &sent) != nil || sent.Traceparent == "" {
		return nil, false
	}
	return propagation.MapCarrier{
		"traceparent": sent.Traceparent,
		"tracestate":  sent.Tracestate,
		"baggage":     sent.Baggage,
	}, true
}

// requestAttributes returns what is known of a request when it starts.
func requestAttributes(req *mcp.Request, e *server.Event) []attribute.KeyValue {
	all := make([]attribute.KeyValue, 0, 8)
	all = append(all,
		attribute.String("mcp.method.name", methodOf(e)),
		attribute.String("network.transport", server.Network(e.Transport)),
	)
	if e.Version != 0 {
		all = append(all, attribute.String("mcp.protocol.version", e.Version.String()))
	}
	if e.Session != nil && e.Session.ID() != "" {
		sum := sha256.Sum256([]byte(e.Session.ID())) // the id itself is the client's secret
		all = append(all, attribute.String("mcp.session.id", hex.EncodeToString(sum[:8])))
	}
	host, port, err := net.SplitHostPort(req.RemoteAddr())
	if err == nil {
		all = append(all, attribute.String("client.address", host))
		if n, err := strconv.Atoi(port); err == nil {
			all = append(all, attribute.Int("client.port", n))
		}
	}
	return all
}

// StartUpstream implements [server.Tracer].
func (t *tracing) StartUpstream(ctx context.Context, u *mcp.Upstream) (context.Context, server.Span) {
	if t.tracer == nil {
		return ctx, nil
	}
	ctx, started := t.tracer.Start(ctx, u.Method, clientOptions...)
	if started.IsRecording() {
		started.SetAttributes(
			attribute.String("mcp.method.name", u.Method),
			attribute.String("network.transport", server.Network(u.Transport)),
		)
	}
	return ctx, &span{Span: started}
}

// span is a [server.Span].
type span struct{ trace.Span }

// Trace implements [server.Span].
func (s *span) Trace() mcp.Trace {
	c := s.SpanContext()
	t := mcp.Trace{
		TraceID: c.TraceID().String(),
		SpanID:  c.SpanID().String(),
		Sampled: c.IsSampled(),
		State:   c.TraceState().String(),
	}
	t.Parent = "00-" + t.TraceID + "-" + t.SpanID + "-" + c.TraceFlags().String()
	return t
}

// Sampled implements [server.Span].
func (s *span) Sampled() bool { return s.SpanContext().IsSampled() }

// End implements [server.Span].
func (s *span) End(e server.Event) {
	if s.IsRecording() {
		s.describe(&e)
	}
	s.Span.End()
}

// describe adds what is known at the end.
func (s *span) describe(e *server.Event) {
	all := make([]attribute.KeyValue, 0, 8)
	method := methodOf(e)
	if target := targetOf(e); target != "" {
		s.SetName(method + " " + target)
	} else if method != e.Method {
		s.SetName(method)
		all = append(all, attribute.String("mcp.method.name", method))
	}
	switch {
	case e.Name == "":
	case e.Method == "tools/call":
		all = append(all,
			attribute.String("gen_ai.operation.name", "execute_tool"),
			attribute.String("gen_ai.tool.name", e.Name))
	case e.Method == "prompts/get":
		all = append(all, attribute.String("gen_ai.prompt.name", e.Name))
	default:
		all = append(all, attribute.String("mcp.resource.uri", shownURI(e.Name)))
	}
	if e.Server != "" {
		all = append(all, attribute.String("slipway.server", e.Server))
	}
	if e.Version != 0 {
		all = append(all, attribute.String("mcp.protocol.version", e.Version.String()))
	}
	if e.Status != 0 {
		all = append(all, attribute.Int("http.response.status_code", e.Status))
	}
	if e.Err != nil {
		all = append(all, attribute.String("rpc.response.status_code", strconv.Itoa(int(e.Err.Code))))
	}
	if failure := e.Failure(); failure != "" {
		all = append(all, attribute.String("error.type", failure))
		// Not the message of the error, which may quote arguments.
		s.SetStatus(codes.Error, failure)
	}
	s.SetAttributes(all...)
}

// maxURI is how much of a URI a span has, in bytes.
const maxURI = 512

// shownURI returns a URI without the parts that may be secret.
func shownURI(uri string) string {
	shown := secrets.URL(uri)
	if len(shown) > maxURI {
		shown = strings.ToValidUTF8(shown[:maxURI], "") + "…"
	}
	return shown
}

// methodOf returns the method of a request. A name that the client invented is not used,
// since the names of spans must be few.
func methodOf(e *server.Event) string {
	if e.Err != nil && e.Err.Code == mcp.CodeMethodNotFound {
		return "other"
	}
	return e.Method
}

// targetOf returns the tool or prompt of a request. URIs of resources are too many for
// the names of spans.
func targetOf(e *server.Event) string {
	if e.Method == "tools/call" || e.Method == "prompts/get" {
		return e.Name
	}
	return ""
}
