// Package telemetry sends the traces, metrics and logs of a server to an OpenTelemetry
// collector, by OTLP over HTTP.
//
// [Start] reads the standard variables of OpenTelemetry (OTEL_*) and starts the exporters.
// The returned [Telemetry] is the [server.Tracer] and an observer of the server, and its
// Handler sends log records. Shutdown sends what is pending.
//
// Names and attributes follow OpenTelemetry's semantic conventions for MCP: a SERVER span
// "tools/call NAME" for a client's request, whose parent is the trace context in _meta
// (SEP-414), with the trace context of the HTTP request as a link; a CLIENT span for each
// request to an upstream server and for each question to a client; and the histograms
// mcp.server.operation.duration, mcp.client.operation.duration and
// mcp.server.session.duration. Arguments, results and credentials are never recorded.
package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/contrib/bridges/otelslog"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/slipway-mcp/slipway/internal/visible"
	"github.com/slipway-mcp/slipway/mcp/server"
)

// Options configure [Start].
type Options struct {
	// Endpoint is the base URL of a collector, such as http://127.0.0.1:4318, to which
	// /v1/traces, /v1/metrics and /v1/logs are appended. It overrides the variables
	// OTEL_EXPORTER_OTLP_*ENDPOINT. If it is empty, the variables decide, and without them
	// nothing is sent.
	Endpoint string
	// Version is the version of the service. Its name is slipway unless OTEL_SERVICE_NAME or
	// OTEL_RESOURCE_ATTRIBUTES contains another.
	Version string
	// Logger receives the errors of exporters, at most one a minute. It must not send to
	// the returned Handler. Nil discards them.
	Logger *slog.Logger
}

// Telemetry sends the telemetry of one process. It is safe for concurrent use.
type Telemetry struct {
	tracing
	measuring
	logs *log.LoggerProvider // nil without logs
	// stops are the Shutdown methods of the providers.
	stops []func(context.Context) error
}

var (
	_ server.Tracer   = (*Telemetry)(nil)
	_ server.Observer = (*Telemetry)(nil)
)

// signal is a kind of telemetry.
type signal struct {
	name     string // in paths
	variable string // in variables
}

// The signals, with their names in URLs and in environment variables.
var (
	traces  = signal{"traces", "TRACES"}
	metrics = signal{"metrics", "METRICS"}
	logs    = signal{"logs", "LOGS"}
)

// Start starts exporting, or returns nil if neither opts nor the environment asks for it.
// Nothing is connected to before there is something to send. An error names
// the option or variable that is invalid.
func Start(ctx context.Context, opts *Options) (*Telemetry, error) {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") {
		return nil, nil
	}
	if opts.Endpoint != "" {
		if err := CheckEndpoint(opts.Endpoint); err != nil {
			return nil, err
		}
	}
	t := &Telemetry{}
	res, err := opts.resource(ctx)
	if err != nil {
		return nil, err
	}
	for _, start := range []func(*Options, *resource.Resource) error{
		t.startTraces, t.startMetrics, t.startLogs,
	} {
		if err := start(opts, res); err != nil {
			return nil, errors.Join(err, t.Shutdown(ctx))
		}
	}
	if len(t.stops) == 0 {
		return nil, nil
	}
	otel.SetErrorHandler(&errorLog{to: opts.Logger})
	return t, nil
}

// CheckEndpoint returns an error unless endpoint can be the base URL of a collector.
func CheckEndpoint(endpoint string) error {
	u, err := url.Parse(endpoint)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("%q is not the http or https URL of a collector", visible.Line(endpoint))
	case u.User != nil:
		return errors.New("put the credentials of the collector into OTEL_EXPORTER_OTLP_HEADERS, not into its URL")
	case u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("%q has more than scheme, host and path", visible.Line(endpoint))
	}
	return nil
}

// wants reports whether a signal is to be sent. It rejects exporters and protocols that
// do not exist here.
func (o *Options) wants(s signal) (bool, error) {
	exporter := strings.TrimSpace(os.Getenv("OTEL_" + s.variable + "_EXPORTER"))
	switch exporter {
	case "none":
		return false, nil
	case "", "otlp":
	default:
		return false, fmt.Errorf("OTEL_%s_EXPORTER: %q is not supported; use otlp or none", s.variable, exporter)
	}
	wanted := o.Endpoint != "" || exporter == "otlp"
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_" + s.variable + "_ENDPOINT"} {
		wanted = wanted || os.Getenv(name) != ""
	}
	if !wanted {
		return false, nil
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_" + s.variable + "_PROTOCOL"} {
		if p := os.Getenv(name); p != "" && p != "http/protobuf" {
			return false, fmt.Errorf("%s: %q is not supported; use http/protobuf, and port 4318 of the collector", name, p)
		}
	}
	return true, nil
}

// resource describes this process.
func (o *Options) resource(ctx context.Context) (*resource.Resource, error) {
	res, err := resource.New(ctx,
		resource.WithAttributes(
			attribute.String("service.name", "slipway"),
			attribute.String("service.version", o.Version),
		),
		resource.WithTelemetrySDK(),
		resource.WithHost(),
		resource.WithFromEnv(), // replaces those above
	)
	if errors.Is(err, resource.ErrPartialResource) || errors.Is(err, resource.ErrSchemaURLConflict) {
		return res, nil
	}
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	return res, nil
}

// startTraces starts exporting spans. OTEL_TRACES_SAMPLER and OTEL_BSP_* apply.
func (t *Telemetry) startTraces(opts *Options, res *resource.Resource) error {
	if wanted, err := opts.wants(traces); err != nil || !wanted {
		return err
	}
	to, err := newExporter(opts.Endpoint, traces)
	if err != nil {
		return err
	}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithResource(res),
		sdktrace.WithBatcher(spanExporter{to}),
	)
	t.tracer = provider.Tracer(scope)
	t.stops = append(t.stops, provider.Shutdown)
	return nil
}

// startMetrics starts exporting metrics. OTEL_METRIC_EXPORT_INTERVAL applies.
func (t *Telemetry) startMetrics(opts *Options, res *resource.Resource) error {
	if wanted, err := opts.wants(metrics); err != nil || !wanted {
		return err
	}
	to, err := newExporter(opts.Endpoint, metrics)
	if err != nil {
		return err
	}
	provider := metric.NewMeterProvider(
		metric.WithResource(res),
		metric.WithReader(metric.NewPeriodicReader(metricExporter{to})),
		metric.WithCardinalityLimit(maxSeries),
	)
	t.stops = append(t.stops, provider.Shutdown)
	return t.measuring.start(provider.Meter(scope))
}

// startLogs starts exporting log records. OTEL_BLRP_* apply.
func (t *Telemetry) startLogs(opts *Options, res *resource.Resource) error {
	if wanted, err := opts.wants(logs); err != nil || !wanted {
		return err
	}
	to, err := newExporter(opts.Endpoint, logs)
	if err != nil {
		return err
	}
	t.logs = log.NewLoggerProvider(
		log.WithResource(res),
		log.WithProcessor(log.NewBatchProcessor(logExporter{to})),
	)
	t.stops = append(t.stops, t.logs.Shutdown)
	return nil
}

// Handler returns a handler that sends records of at least a level, or nil if logs are
// not exported. Records logged under the context of a request belong to its span.
func (t *Telemetry) Handler(level slog.Leveler) slog.Handler {
	if t == nil || t.logs == nil {
		return nil
	}
	return leveled{
		Handler: otelslog.NewHandler(scope, otelslog.WithLoggerProvider(t.logs)),
		least:   level,
	}
}

// leveled restricts a handler to records of at least a level.
type leveled struct {
	slog.Handler
	least slog.Leveler
}

// Enabled implements [slog.Handler]. Both levels apply.
func (l leveled) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= l.least.Level() && l.Handler.Enabled(ctx, level)
}

// WithAttrs implements [slog.Handler] and keeps the level, which the embedded method would
// lose.
func (l leveled) WithAttrs(attrs []slog.Attr) slog.Handler {
	return leveled{l.Handler.WithAttrs(attrs), l.least}
}

// WithGroup implements [slog.Handler] and keeps the level.
func (l leveled) WithGroup(name string) slog.Handler {
	return leveled{l.Handler.WithGroup(name), l.least}
}

// Shutdown sends what is pending, and stops exporting. It gives up when ctx ends. A nil
// Telemetry has nothing to send.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	if t == nil {
		return nil
	}
	var errs []error
	for _, stop := range t.stops {
		errs = append(errs, stop(ctx))
	}
	return errors.Join(errs...)
}

// scope names the instrumentation in what is sent.
const scope = "github.com/slipway-mcp/slipway"

// errorLog logs the errors of exporters.
type errorLog struct {
	to   *slog.Logger
	last atomic.Int64 // when the last error was logged, in Unix seconds
}

// Handle logs an error, unless another one was logged within a minute.
func (l *errorLog) Handle(err error) {
	now := time.Now().Unix()
	last := l.last.Load()
	if l.to == nil || now-last < 60 || !l.last.CompareAndSwap(last, now) {
		return
	}
	l.to.Warn("telemetry not sent", "error", err)
}
