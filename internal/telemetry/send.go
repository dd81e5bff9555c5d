package telemetry

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/visible"
)

// exporter sends one signal to a collector by OTLP over HTTP, as binary Protocol Buffers.
// The official exporters would link gRPC, which is five times the size of the SDK.
type exporter struct {
	// url is the address of the collector for this signal, with its path, and header is added to
	// each request.
	url     string
	header  http.Header
	client  *http.Client
	zip     bool
	timeout time.Duration // of all attempts together
}

var (
	_ sdktrace.SpanExporter = spanExporter{}
	_ metric.Exporter       = metricExporter{}
	_ log.Exporter          = logExporter{}
)

// newExporter returns the exporter of a signal, configured by the OTEL_EXPORTER_OTLP_*
// variables, of which those that name the signal win.
func newExporter(base string, s signal) (*exporter, error) {
	env := func(name string) (value, variable string) {
		for _, variable = range []string{"OTEL_EXPORTER_OTLP_" + s.variable + "_" + name, "OTEL_EXPORTER_OTLP_" + name} {
			if value = strings.TrimSpace(os.Getenv(variable)); value != "" {
				return value, variable
			}
		}
		return "", variable
	}
	e := &exporter{
		header:  make(http.Header),
		timeout: 10 * time.Second,
	}
	var err error
	if e.url, err = signalURL(base, s); err != nil {
		return nil, err
	}
	if value, variable := env("HEADERS"); value != "" {
		if err := parseHeaders(e.header, value); err != nil {
			return nil, fmt.Errorf("%s: %w", variable, err)
		}
	}
	if value, variable := env("TIMEOUT"); value != "" {
		millis, err := strconv.Atoi(value)
		if err != nil || millis <= 0 {
			return nil, fmt.Errorf("%s: %q is not a number of milliseconds", variable, visible.Line(value))
		}
		e.timeout = time.Duration(millis) * time.Millisecond
	}
	switch value, variable := env("COMPRESSION"); value {
	case "", "gzip":
		e.zip = true
	case "none":
	default:
		return nil, fmt.Errorf("%s: %q is not supported; use gzip or none", variable, visible.Line(value))
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if file, variable := env("CERTIFICATE"); file != "" {
		text, err := fsutil.ReadFile(file, fsutil.MaxPEM)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", variable, err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s: %s contains no PEM certificate", variable, file)
		}
	}
	if file, variable := env("CLIENT_CERTIFICATE"); file != "" {
		key, _ := env("CLIENT_KEY")
		pair, err := tls.LoadX509KeyPair(file, key)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", variable, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = config
	e.client = &http.Client{
		Transport: transport,
		// Headers with credentials must not reach another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return e, nil
}

// signalURL returns where a signal is sent: below base, or to the URL of a variable.
func signalURL(base string, s signal) (string, error) {
	if base == "" {
		variable := "OTEL_EXPORTER_OTLP_" + s.variable + "_ENDPOINT"
		if own := os.Getenv(variable); own != "" { // used as it is
			if err := CheckEndpoint(own); err != nil {
				return "", fmt.Errorf("%s: %w", variable, err)
			}
			return own, nil
		}
		variable = "OTEL_EXPORTER_OTLP_ENDPOINT"
		if base = os.Getenv(variable); base == "" {
			base = "http://localhost:4318"
		}
		if err := CheckEndpoint(base); err != nil {
			return "", fmt.Errorf("%s: %w", variable, err)
		}
	}
	return strings.TrimSuffix(base, "/") + "/v1/" + s.name, nil
}

// parseHeaders adds the headers in a list of name=value, whose values are percent-encoded.
func parseHeaders(h http.Header, list string) error {
	for pair := range strings.SplitSeq(list, ",") {
		name, value, ok := strings.Cut(pair, "=")
		decoded, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || err != nil || strings.TrimSpace(name) == "" {
			return errors.New("it is not a list of name=value, separated by commas, with percent-encoded values")
		}
		h.Set(strings.TrimSpace(name), decoded)
	}
	return nil
}

// Limits and pauses of sending.
const (
	maxReply   = 64 << 10 // bytes of a response that are read
	firstPause = 500 * time.Millisecond
	maxPause   = 5 * time.Second
)

// send sends an export request, and repeats it while the collector is unavailable, until
// the timeout.
func (e *exporter) send(ctx context.Context, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	if e.zip {
		var zipped bytes.Buffer
		w := gzip.NewWriter(&zipped)
		_, _ = w.Write(body) // to memory
		_ = w.Close()
		body = zipped.Bytes()
	}
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		wait, err := e.try(ctx, body)
		if err == nil || wait < 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return err // says more than the error of ctx
		case <-time.After(max(wait, pause)):
		}
	}
}

// try sends a request once. After an error, wait is how long to wait at least before the
// next attempt, or negative if none can succeed.
func (e *exporter) try(ctx context.Context, body []byte) (wait time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return -1, err
	}
	req.Header = e.header.Clone()
	req.Header.Set("Content-Type", "application/x-protobuf")
	req.Header.Set("User-Agent", "slipway")
	if e.zip {
		req.Header.Set("Content-Encoding", "gzip")
	}
	res, err := e.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, maxReply)) // lets the connection be reused
	if res.StatusCode/100 == 2 {
		return 0, nil
	}
	err = fmt.Errorf("the collector at %s answered %s", e.url, res.Status)
	switch res.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(res.Header.Get("Retry-After"))
		return time.Duration(max(seconds, 0)) * time.Second, err
	}
	return -1, err
}

// spanExporter exports spans.
type spanExporter struct{ *exporter }

// ExportSpans implements [sdktrace.SpanExporter].
func (e spanExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if len(spans) == 0 {
		return nil
	}
	return e.send(ctx, encodeSpans(spans))
}

// logExporter exports log records.
type logExporter struct{ *exporter }

// Export implements [log.Exporter].
func (e logExporter) Export(ctx context.Context, records []log.Record) error {
	if len(records) == 0 {
		return nil
	}
	return e.send(ctx, encodeLogs(records))
}

// metricExporter exports metrics, as sums and histograms since the start.
type metricExporter struct{ *exporter }

// Temporality implements [metric.Exporter].
func (metricExporter) Temporality(metric.InstrumentKind) metricdata.Temporality {
	return metricdata.CumulativeTemporality
}

// Aggregation implements [metric.Exporter].
func (metricExporter) Aggregation(kind metric.InstrumentKind) metric.Aggregation {
	return metric.DefaultAggregationSelector(kind)
}

// Export implements [metric.Exporter].
func (e metricExporter) Export(ctx context.Context, all *metricdata.ResourceMetrics) error {
	var errs []error
	for i := range all.ScopeMetrics {
		errs = append(errs, e.send(ctx, encodeMetrics(all.Resource, &all.ScopeMetrics[i])))
	}
	return errors.Join(errs...)
}

// Shutdown ends the idle connections; the providers have sent everything before.
func (e *exporter) Shutdown(context.Context) error {
	e.client.CloseIdleConnections()
	return nil
}

// ForceFlush has nothing to do, because nothing is kept.
func (e *exporter) ForceFlush(context.Context) error { return nil }
