package telemetry

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/slipway-mcp/slipway/mcp/server"
)

// measuring records metrics. The zero value records none.
type measuring struct {
	requests, upstream, sessions metric.Float64Histogram
	inFlight                     metric.Int64UpDownCounter
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
			m.requests.Record(ctx, e.Duration.Seconds(), operation(&e))
		}
	case server.EventUpstream:
		m.upstream.Record(ctx, e.Duration.Seconds(), operation(&e))
	case server.EventSessionEnd:
		m.sessions.Record(ctx, e.Duration.Seconds(), metric.WithAttributes(
			attribute.String("network.transport", server.Network(e.Transport)),
			attribute.String("mcp.protocol.version", e.Version.String())))
	}
}

// operation returns the attributes of a request. None of them can be chosen by a client.
func operation(e *server.Event) metric.MeasurementOption {
	all := make([]attribute.KeyValue, 0, 6)
	all = append(all,
		attribute.String("mcp.method.name", methodOf(e)),
		attribute.String("network.transport", server.Network(e.Transport)),
		attribute.String("mcp.protocol.version", e.Version.String()),
	)
	if target := targetOf(e); target != "" && e.Method == "tools/call" {
		all = append(all, attribute.String("gen_ai.tool.name", target))
	}
	if failure := e.Failure(); failure != "" {
		all = append(all, attribute.String("error.type", failure))
	}
	if e.Server != "" {
		all = append(all, attribute.String("slipway.server", e.Server))
	}
	return metric.WithAttributes(all...)
}
