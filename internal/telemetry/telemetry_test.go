package telemetry_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/internal/telemetry"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
)

// fields are the fields of a decoded message of Protocol Buffers, by number: uint64 for
// numbers, []byte for everything with a length.
type fields map[uint64][]any

// decode reads a message without knowing its type.
func decode(t *testing.T, b []byte) fields {
	t.Helper()
	all := make(fields)
	for len(b) > 0 {
		tag, n := binary.Uvarint(b)
		b = b[n:]
		number := tag >> 3
		switch tag & 7 {
		case 0:
			value, n := binary.Uvarint(b)
			b = b[n:]
			all[number] = append(all[number], value)
		case 1:
			all[number] = append(all[number], binary.LittleEndian.Uint64(b))
			b = b[8:]
		case 2:
			size, n := binary.Uvarint(b)
			b = b[n:]
			all[number] = append(all[number], b[:size])
			b = b[size:]
		case 5:
			all[number] = append(all[number], uint64(binary.LittleEndian.Uint32(b)))
			b = b[4:]
		default:
			t.Fatalf("wire type %d of field %d", tag&7, number)
		}
	}
	return all
}

// messages returns the messages of a field.
func (f fields) messages(t *testing.T, number uint64) (all []fields) {
	t.Helper()
	for _, value := range f[number] {
		all = append(all, decode(t, value.([]byte)))
	}
	return all
}

func (f fields) text(number uint64) string {
	if len(f[number]) == 0 {
		return ""
	}
	return string(f[number][0].([]byte))
}

func (f fields) hex(number uint64) string { return hex.EncodeToString([]byte(f.text(number))) }

// attributes returns key-value pairs with text values; numbers are left out.
func (f fields) attributes(t *testing.T, number uint64) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for _, pair := range f.messages(t, number) {
		all[pair.text(1)] = pair.messages(t, 2)[0].text(1)
	}
	return all
}

// collector is a fake collector, which keeps the entries it receives.
type collector struct {
	*httptest.Server
	t *testing.T

	mu       sync.Mutex
	received map[string][]fields // entries by path
	failures int                 // how many requests to refuse with 503 first
	header   http.Header         // of the last request
	resource map[string]string
}

func newCollector(t *testing.T) *collector {
	c := &collector{
		t:        t,
		received: make(map[string][]fields),
	}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		body, _ = gzip.NewReader(r.Body)
	}
	text, err := io.ReadAll(body)
	if err != nil || r.Method != "POST" || r.Header.Get("Content-Type") != "application/x-protobuf" {
		c.t.Errorf("collector: %s with %q: %v", r.Method, r.Header.Get("Content-Type"), err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.header = r.Header
	if c.failures > 0 {
		c.failures--
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	for _, ofResource := range decode(c.t, text).messages(c.t, 1) {
		c.resource = ofResource.messages(c.t, 1)[0].attributes(c.t, 1)
		for _, ofScope := range ofResource.messages(c.t, 2) {
			c.received[r.URL.Path] = append(c.received[r.URL.Path], ofScope.messages(c.t, 2)...)
		}
	}
}

// upstream is a Source that keeps the trace context it was sent.
type upstream struct {
	mcp.Unimplemented
	sent chan string
}

func (u *upstream) Catalog(context.Context) (*mcp.Catalog, error) {
	return &mcp.Catalog{
		Server: mcp.Implementation{Name: "upstream"},
		Tools:  []mcp.Tool{{Name: "echo"}},
	}, nil
}

func (u *upstream) CallTool(ctx context.Context, _ *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	trace, _ := mcp.RequestFrom(ctx).Trace()
	u.sent <- trace.Parent
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text("echoed")}}, nil
}

const (
	ofClient = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" // in _meta
	ofHTTP   = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01" // in the header
	tracing  = `"_meta":{"traceparent":"` + ofClient + `","tracestate":"vendor=x","progressToken":7}`
)

// gateway serves a client.Source in front of u, with telemetry, and returns its URL.
func gateway(t *testing.T, u mcp.Source, sent *telemetry.Telemetry) string {
	t.Helper()
	behind := httptest.NewServer(server.New(u, nil).HTTPHandler(nil))
	t.Cleanup(behind.Close)
	src, err := client.Open(t.Context(), &client.Endpoint{URL: behind.URL}, &client.Options{Name: "weather"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = src.Close() })
	o := &server.Options{
		Tracer:   sent,
		Observer: sent,
	}
	front := httptest.NewServer(server.New(src, o).HTTPHandler(nil))
	t.Cleanup(front.Close)
	return front.URL
}

func post(t *testing.T, url, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Traceparent", ofHTTP)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestOneCallThroughAGateway(t *testing.T) {
	c := newCollector(t)
	c.failures = 1 // is retried
	t.Setenv("OTEL_SERVICE_NAME", "gateway")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20secret")
	sent, err := telemetry.Start(t.Context(), &telemetry.Options{
		Endpoint: c.URL + "/",
		Version:  "1.2.3",
	})
	if err != nil {
		t.Fatal(err)
	}
	u := &upstream{sent: make(chan string, 2)}
	url := gateway(t, u, sent)
	answer := post(t, url, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo",`+tracing+`}}`)
	if !strings.Contains(answer, "echoed") {
		t.Fatalf("the answer is %s", answer)
	}
	forwarded := <-u.sent
	post(t, url, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"missing"}}`)
	post(t, url, `{"jsonrpc":"2.0","id":3,"method":"made/up"}`)

	log := slog.New(sent.Handler(slog.LevelInfo))
	log.Debug("not sent")
	log.Warn("config reload failed", "file", "mcp.yaml", slog.Group("try", "n", 2))
	if err := sent.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if got := c.header.Get("Authorization"); got != "Bearer secret" {
		t.Errorf("Authorization = %q", got)
	}
	if c.resource["service.name"] != "gateway" || c.resource["service.version"] != "1.2.3" {
		t.Errorf("resource = %v", c.resource)
	}
	c.checkSpans(forwarded)
	c.checkMetrics()
	records := c.received["/v1/logs"]
	if len(records) != 1 || records[0].messages(t, 5)[0].text(1) != "config reload failed" ||
		records[0].attributes(t, 6)["file"] != "mcp.yaml" || records[0].text(3) != "WARN" {
		t.Errorf("log records = %v", records)
	}
}

// checkSpans checks the spans of the call and of the failed requests.
func (c *collector) checkSpans(forwarded string) {
	t := c.t
	t.Helper()
	spans := make(map[string]fields)
	for _, s := range c.received["/v1/traces"] {
		kind := s[6][0].(uint64)
		spans[s.text(5)+map[uint64]string{2: " at server", 3: " at client"}[kind]] = s
	}
	served := spans["tools/call echo at server"]
	called := spans["tools/call echo at client"]
	if served == nil || called == nil || len(spans) != 4 {
		t.Fatalf("spans = %v", slices.Collect(func(yield func(string) bool) {
			for name := range spans {
				yield(name)
			}
		}))
	}
	if got := served.hex(4); got != "b7ad6b7169203331" {
		t.Errorf("the parent of the request is %s, want the span in _meta", got)
	}
	if links := served.messages(t, 13); len(links) != 1 || links[0].hex(2) != "00f067aa0ba902b7" {
		t.Errorf("links = %v, want the span of the HTTP header", links)
	}
	if served.text(3) != "vendor=x" {
		t.Errorf("tracestate = %q", served.text(3))
	}
	if called.hex(4) != served.hex(2) || called.hex(1) != "0af7651916cd43dd8448eb211c80319c" {
		t.Errorf("the span of the upstream request is not a child of that of the request")
	}
	if want := "00-" + called.hex(1) + "-" + called.hex(2) + "-01"; forwarded != want {
		t.Errorf("the upstream received traceparent %s, want %s", forwarded, want)
	}
	attributes := served.attributes(t, 9)
	for key, want := range map[string]string{
		"mcp.method.name": "tools/call", "gen_ai.tool.name": "echo", "gen_ai.operation.name": "execute_tool",
		"network.transport": "tcp", "slipway.server": "weather", "client.address": "127.0.0.1",
	} {
		if attributes[key] != want {
			t.Errorf("%s = %q, want %q", key, attributes[key], want)
		}
	}
	failed := spans["tools/call at server"] // no such tool
	if failed == nil || failed.attributes(t, 9)["error.type"] != "-32602" || failed.messages(t, 15)[0][3][0] != uint64(2) {
		t.Errorf("the span of an unknown tool is %v", failed)
	}
	if spans["made/up at server"] != nil { // the name is chosen by the client
		t.Errorf("the span of an unknown method has its name")
	}
}

// checkMetrics checks the last export of each metric.
func (c *collector) checkMetrics() {
	t := c.t
	t.Helper()
	last := make(map[string]fields)
	for _, m := range c.received["/v1/metrics"] {
		last[m.text(1)] = m
	}
	for name, want := range map[string]uint64{
		"mcp.server.operation.duration": 3, "mcp.client.operation.duration": 1,
	} {
		total := uint64(0)
		exemplars := 0
		for _, point := range last[name].messages(t, 9)[0].messages(t, 1) {
			total += point[4][0].(uint64)
			exemplars += len(point[8])
			if bounds := point[7][0].([]byte); math.Float64frombits(binary.LittleEndian.Uint64(bounds)) != 0.01 {
				t.Errorf("%s: the first bound is not 10 ms", name)
			}
			if buckets := len(point[6][0].([]byte)) / 8; buckets != 15 {
				t.Errorf("%s has %d buckets, want 15", name, buckets)
			}
		}
		if total != want || exemplars == 0 {
			t.Errorf("%s counts %d with %d exemplars, want %d with some", name, total, exemplars, want)
		}
	}
	flight := last["slipway.requests_in_flight"].messages(t, 7)[0].messages(t, 1)[0]
	if flight[6][0] != uint64(0) {
		t.Errorf("%v requests in flight, want none", flight[6][0])
	}
}

func TestStartNeedsToBeAskedFor(t *testing.T) {
	for _, test := range []struct {
		name     string
		endpoint string
		env      map[string]string
		want     string // the error, or "on", or "off"
	}{
		{"nothing", "", nil, "off"},
		{"option", "http://127.0.0.1:4318", nil, "on"},
		{"variable", "", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}, "on"},
		{"one signal", "", map[string]string{"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": "http://127.0.0.1:1/logs"}, "on"},
		{"exporter", "", map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, "on"},
		{"disabled", "http://127.0.0.1:4318", map[string]string{"OTEL_SDK_DISABLED": "true"}, "off"},
		{"no signal", "http://127.0.0.1:4318", map[string]string{"OTEL_TRACES_EXPORTER": "none",
			"OTEL_METRICS_EXPORTER": "none", "OTEL_LOGS_EXPORTER": "none"}, "off"},
		{"not a URL", "collector:4318", nil, `"collector:4318" is not the http or https URL of a collector`},
		{"credentials", "http://ann:secret@collector", nil, "OTEL_EXPORTER_OTLP_HEADERS"},
		{"gRPC", "http://127.0.0.1:4317", map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
			`OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" is not supported; use http/protobuf`},
		{"other exporter", "", map[string]string{"OTEL_TRACES_EXPORTER": "zipkin"}, `"zipkin" is not supported`},
		{"headers", "http://127.0.0.1:1", map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "secret"}, "list of name=value"},
		{"time", "http://127.0.0.1:1", map[string]string{"OTEL_EXPORTER_OTLP_TIMEOUT": "10s"}, "milliseconds"},
		{"certificate", "http://127.0.0.1:1", map[string]string{"OTEL_EXPORTER_OTLP_CERTIFICATE": "/none"}, "/none"},
		{"compression", "http://127.0.0.1:1", map[string]string{"OTEL_EXPORTER_OTLP_COMPRESSION": "zstd"}, `"zstd"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			for name, value := range test.env {
				t.Setenv(name, value)
			}
			sent, err := telemetry.Start(t.Context(), &telemetry.Options{Endpoint: test.endpoint})
			got := "off"
			if sent != nil {
				got = "on"
				stopped, cancel := context.WithCancel(t.Context())
				cancel() // the collector does not exist
				_ = sent.Shutdown(stopped)
			}
			if err != nil {
				got = err.Error()
			}
			if got != test.want && (err == nil || !strings.Contains(got, test.want) || strings.Contains(got, "secret")) {
				t.Errorf("Start = %s, want %s", got, test.want)
			}
		})
	}
}

func TestErrorsOfTheCollectorAreLoggedOnce(t *testing.T) {
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no", http.StatusForbidden)
	}))
	defer refusing.Close()
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "10")
	t.Setenv("OTEL_METRIC_EXPORT_INTERVAL", "10")
	logged := syncBuffer{written: make(chan struct{}, 100)}
	sent, err := telemetry.Start(t.Context(), &telemetry.Options{
		Endpoint: refusing.URL,
		Logger:   slog.New(slog.NewJSONHandler(&logged, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	u := &upstream{sent: make(chan string, 1)}
	post(t, gateway(t, u, sent), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}`)
	<-logged.written
	_ = sent.Shutdown(t.Context())
	var line struct{ Msg, Error string }
	if err := json.Unmarshal(logged.first(), &line); err != nil || line.Msg != "telemetry not sent" ||
		!strings.Contains(line.Error, "403") {
		t.Errorf("logged %q: %v", logged.first(), err)
	}
	if n := logged.lines(); n != 1 {
		t.Errorf("%d lines were logged, want one a minute", n)
	}
}

// syncBuffer is a buffer for concurrent use.
type syncBuffer struct {
	mu      sync.Mutex
	buf     bytes.Buffer
	written chan struct{} // receives for each line
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.written <- struct{}{}
	return b.buf.Write(p)
}

func (b *syncBuffer) lines() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Count(b.buf.Bytes(), []byte("\n"))
}

func (b *syncBuffer) first() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	line, _, _ := bytes.Cut(b.buf.Bytes(), []byte("\n"))
	return line
}
