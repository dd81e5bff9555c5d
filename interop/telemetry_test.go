package interop_test

import (
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	commonpb "go.opentelemetry.io/proto/slim/otlp/common/v1"
	logspb "go.opentelemetry.io/proto/slim/otlp/logs/v1"
	metricspb "go.opentelemetry.io/proto/slim/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// signals receives what a server exports, decoded with the official messages of OTLP.
type signals struct {
	spans   chan *tracepb.Span
	metrics chan *metricspb.Metric
	logs    chan *logspb.LogRecord
}

// collect starts a collector and returns its URL.
func collect(t *testing.T) (*signals, string) {
	t.Helper()
	s := &signals{
		spans:   make(chan *tracepb.Span, 1000),
		metrics: make(chan *metricspb.Metric, 1000),
		logs:    make(chan *logspb.LogRecord, 1000),
	}
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		zipped, err := gzip.NewReader(r.Body)
		if err != nil {
			t.Errorf("%s: %v", r.URL.Path, err)
			return
		}
		body, err := io.ReadAll(zipped)
		if err != nil {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
		// The export requests have the same fields as these messages for files.
		switch r.URL.Path {
		case "/v1/traces":
			var data tracepb.TracesData
			known(t, body, &data)
			for _, span := range data.GetResourceSpans()[0].GetScopeSpans()[0].GetSpans() {
				s.spans <- span
			}
		case "/v1/metrics":
			var data metricspb.MetricsData
			known(t, body, &data)
			for _, metric := range data.GetResourceMetrics()[0].GetScopeMetrics()[0].GetMetrics() {
				s.metrics <- metric
			}
		case "/v1/logs":
			var data logspb.LogsData
			known(t, body, &data)
			for _, record := range data.GetResourceLogs()[0].GetScopeLogs()[0].GetLogRecords() {
				s.logs <- record
			}
		default:
			t.Errorf("a request for %s", r.URL.Path)
		}
	}))
	t.Cleanup(collector.Close)
	return s, collector.URL
}

// known decodes a message, all of whose fields must exist.
func known(t *testing.T, body []byte, into proto.Message) {
	t.Helper()
	if err := proto.Unmarshal(body, into); err != nil {
		t.Errorf("%T: %v", into, err)
		return
	}
	var check func(m protoreflect.Message)
	check = func(m protoreflect.Message) {
		if unknown := m.GetUnknown(); len(unknown) > 0 {
			t.Errorf("%s has unknown fields: %x", m.Descriptor().FullName(), unknown)
		}
		m.Range(func(field protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			switch {
			case field.Message() == nil:
			case field.IsList():
				for i := range v.List().Len() {
					check(v.List().Get(i).Message())
				}
			default:
				check(v.Message())
			}
			return true
		})
	}
	check(into.ProtoReflect())
}

// awaitSignal returns the first entry that wanted accepts.
func awaitSignal[T any](t *testing.T, from <-chan T, what string, wanted func(T) bool) T {
	t.Helper()
	late := time.After(patience)
	for {
		select {
		case entry := <-from:
			if wanted(entry) {
				return entry
			}
		case <-late:
			t.Fatalf("the collector did not receive %s", what)
		}
	}
}

func attributeOf(all []*commonpb.KeyValue, key string) string {
	for _, a := range all {
		if a.GetKey() == key {
			return a.GetValue().GetStringValue()
		}
	}
	return ""
}

// TestTelemetryOfAGateway lets the client of go-sdk call a tool of a server behind slipway.
func TestTelemetryOfAGateway(t *testing.T) {
	received, url := collect(t)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
	t.Setenv("OTEL_BLRP_SCHEDULE_DELAY", "50")
	t.Setenv("OTEL_METRIC_EXPORT_INTERVAL", "100")
	to := serve(t, "--otlp", url, "--log-level", "info", "--", slipway, "serve", "--stdio",
		filepath.Join("..", "examples", "http-reference"))
	session, err := mcp.NewClient(&mcp.Implementation{Name: "interop"}, nil).
		Connect(limited(t), &mcp.StreamableClientTransport{Endpoint: to.endpoint}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	params := &mcp.CallToolParams{Name: "get_status", Arguments: map[string]any{"code": 404}}
	params.SetMeta(map[string]any{"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"})
	if _, err := session.CallTool(limited(t), params); err != nil {
		t.Fatal(err)
	}
	var called *tracepb.Span // ends first
	served := awaitSignal(t, received.spans, "the span of the request", func(s *tracepb.Span) bool {
		if s.GetKind() == tracepb.Span_SPAN_KIND_CLIENT {
			called = s
		}
		return s.GetKind() == tracepb.Span_SPAN_KIND_SERVER && s.GetName() == "tools/call get_status"
	})
	if hex.EncodeToString(served.GetParentSpanId()) != "b7ad6b7169203331" || served.GetEndTimeUnixNano() <
		served.GetStartTimeUnixNano() || attributeOf(served.GetAttributes(), "gen_ai.tool.name") != "get_status" {
		t.Errorf("the span of the request is %v", served)
	}
	if called == nil || string(called.GetParentSpanId()) != string(served.GetSpanId()) ||
		attributeOf(called.GetAttributes(), "network.transport") != "pipe" {
		t.Errorf("the span of the upstream request is %v", called)
	}
	metric := awaitSignal(t, received.metrics, "the durations", func(m *metricspb.Metric) bool {
		return m.GetName() == "mcp.client.operation.duration" && len(m.GetHistogram().GetDataPoints()) > 0
	})
	point := metric.GetHistogram().GetDataPoints()[0]
	if point.GetCount() == 0 || len(point.GetBucketCounts()) != len(point.GetExplicitBounds())+1 ||
		metric.GetUnit() != "s" || len(point.GetExemplars()) == 0 {
		t.Errorf("the durations are %v", metric)
	}
	awaitSignal(t, received.logs, "the line of the request", func(r *logspb.LogRecord) bool {
		return r.GetBody().GetStringValue() == "request" && attributeOf(r.GetAttributes(), "tool") == "get_status" &&
			hex.EncodeToString(r.GetTraceId()) == "0af7651916cd43dd8448eb211c80319c" && len(r.GetSpanId()) == 8
	})
}
