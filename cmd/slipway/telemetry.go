package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/slipway-mcp/slipway/internal/telemetry"
	"github.com/slipway-mcp/slipway/serve"
)

// telemetryFlags is the flag that sends telemetry to a collector. The OTEL_* variables
// configure the rest.
type telemetryFlags struct{ endpoint string }

// telemetryFlush bounds how long the end of a process waits for a collector.
const telemetryFlush = 5 * time.Second

// start starts to send telemetry, if the flag or a variable asks for it, and makes o
// report to it. The returned logger also sends what log receives from a level on. stop
// sends what is pending.
func (f *telemetryFlags) start(
	ctx context.Context, o *serve.Options, log *slog.Logger, level slog.Leveler,
) (_ *slog.Logger, stop func(), err error) {
	sent, err := telemetry.Start(ctx, &telemetry.Options{
		Endpoint: f.endpoint,
		Version:  thisBuild().Version,
		Logger:   log,
	})
	if err != nil {
		return nil, nil, usage("--otlp http://127.0.0.1:4318, or the OTEL_EXPORTER_OTLP_* variables",
			"serve: telemetry: %v", err)
	}
	if sent == nil {
		return log, func() {}, nil
	}
	o.Server.Tracer = sent
	o.Server.Observer = sent
	if h := sent.Handler(level); h != nil {
		log = slog.New(slog.NewMultiHandler(log.Handler(), h))
	}
	return log, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), telemetryFlush)
		defer cancel()
		if err := sent.Shutdown(ctx); err != nil {
			log.Warn("telemetry not sent", "error", err)
		}
	}, nil
}

// probeCollector checks the URL of a collector.
func probeCollector(endpoint string) error { return telemetry.CheckEndpoint(endpoint) }
