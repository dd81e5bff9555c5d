package telemetry

import (
	"context"
	"errors"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
)

// measuring records metrics. The zero value records none.
type measuring struct {
	requests, upstream, sessions metric.Float64Histogram
	inFlight                     metric.Int64UpDownCounter

	mu sync.RWMutex // guards sets
	// sets are the attributes of requests, because encoding them takes longer than the rest
	// of recording. There are at most maxSeries of them.
	sets map[operation]attribute.Set
}

// operation is what the attributes of a request are made from.
type operation struct {
	method, tool, failure, server, transport string
	version                                  mcp.Version
}

// maxSeries bounds the attribute sets of one metric; the SDK merges additional ones.
const maxSeries = 2000

// start creates the instruments.
func (m *measuring) start(meter metric.Meter) error {
	bounds := server.DurationBounds()
	seconds := []metric.Float64HistogramOption{
		metric.WithUnit("s"),
		metric.WithExplicitBucketBoundaries(bounds[:]...),
	}
	histogram := func(name, description string) (metric.Float64Histogram, error) {
		return meter.Float64Histogram(name, append(seconds, metric.WithDescription(description))...)
	}
	m.sets = make(map[operation]attribute.Set)
	var errs [4]error
	m.requests, errs[0] = histogram("mcp.server.operation.duration", "Duration of served requests.")
	m.upstream, errs[1] = histogram("mcp.client.operation.duration",
		"Duration of requests to upstream servers, and of questions to clients.")
	m.sessions, errs[2] = histogram("mcp.server.session.duration", "Duration of ended sessions.")
	m.inFlight, errs[3] = meter.Int64UpDownCounter("slipway.requests_in_flight",
		metric.WithDescription("Requests being served."), metric.WithUnit("{request}"))
	return errors.Join(errs[:]...)
}

// Observe implements [server.Observer].
func (m *measuring) Observe(ctx context.Context, e server.Event) {
	if m.requests == nil {
		return
	}
	switch e.Kind {
	case server.EventRequest:
		m.inFlight.Add(ctx, 1)
	case server.EventAnswer:
		m.inFlight.Add(ctx, -1)
		if e.Outcome != server.OutcomeStream { // its duration is up to the client
			m.requests.Record(ctx, e.Duration.Seconds(), m.attributes(&e))
		}
	case server.EventUpstream:
		m.upstream.Record(ctx, e.Duration.Seconds(), m.attributes(&e))
	case server.EventSessionEnd:
		m.sessions.Record(ctx, e.Duration.Seconds(), metric.WithAttributes(
			attribute.String("network.transport", server.Network(e.Transport)),
			attribute.String("mcp.protocol.version", e.Version.String())))
	}
}

// attributes returns the attributes of a request. None of them can be chosen by a client.
func (m *measuring) attributes(e *server.Event) metric.MeasurementOption {
	o := operation{
		method:    methodOf(e),
		failure:   e.Failure(),
		server:    e.Server,
		transport: server.Network(e.Transport),
		version:   e.Version,
	}
	if e.Method == "tools/call" {
		o.tool = e.Name
	}
	m.mu.RLock()
	set, ok := m.sets[o]
	m.mu.RUnlock()
	if !ok {
		set = o.set()
		m.mu.Lock()
		if len(m.sets) < maxSeries {
			m.sets[o] = set
		}
		m.mu.Unlock()
	}
	return metric.WithAttributeSet(set)
}

// set returns the attributes; empty ones are left out.
func (o *operation) set() attribute.Set {
	all := make([]attribute.KeyValue, 0, 6)
	for _, a := range []attribute.KeyValue{
		attribute.String("mcp.method.name", o.method),
		attribute.String("network.transport", o.transport),
		attribute.String("mcp.protocol.version", o.version.String()),
		attribute.String("gen_ai.tool.name", o.tool),
		attribute.String("error.type", o.failure),
		attribute.String("slipway.server", o.server),
	} {
		if a.Value.AsString() != "" {
			all = append(all, a)
		}
	}
	return attribute.NewSet(all...)
}
