package serve_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/serve"
)

// tracer starts spans with fixed ids, one for each side.
type tracer struct{ ended []server.Event }

type fixedSpan struct {
	to *tracer
	id string
}

func (t *tracer) StartRequest(ctx, parent context.Context, e server.Event) (context.Context, server.Span) {
	if mcp.RequestFrom(ctx).Method() != e.Method {
		panic("the context does not lead to the request")
	}
	return context.WithValue(parent, tracer{}.key(), "served"), &fixedSpan{t, "1111111111111111"}
}

func (t *tracer) StartUpstream(ctx context.Context, _ *mcp.Upstream) (context.Context, server.Span) {
	return ctx, &fixedSpan{t, "2222222222222222"}
}

type tracerKey struct{}

func (tracer) key() any { return tracerKey{} }

func (s *fixedSpan) Trace() mcp.Trace {
	return mcp.Trace{
		TraceID: "0af7651916cd43dd8448eb211c80319c",
		SpanID:  s.id,
		Sampled: true,
		Parent:  "00-0af7651916cd43dd8448eb211c80319c-" + s.id + "-01",
	}
}

func (s *fixedSpan) Sampled() bool { return true }

func (s *fixedSpan) End(e server.Event) { s.to.ended = append(s.to.ended, e) }

// forwarder is a Source that asks another server, named weather.
type forwarder struct {
	mcp.Unimplemented
	fails error
}

func (*forwarder) Catalog(context.Context) (*mcp.Catalog, error) {
	return &mcp.Catalog{
		Server: mcp.Implementation{Name: "gateway"},
		Tools:  []mcp.Tool{{Name: "wx_get"}},
	}, nil
}

func (f *forwarder) CallTool(ctx context.Context, _ *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	if ctx.Value(tracerKey{}) != "served" {
		panic("the values of the tracer's context are missing")
	}
	u := &mcp.Upstream{
		Server:    "weather",
		Method:    "tools/call",
		Name:      "get",
		Transport: server.TransportStdio,
		Version:   mcp.Version20251125,
	}
	req := mcp.RequestFrom(ctx)
	ctx = req.StartUpstream(ctx, u)
	if u.Trace.SpanID != "2222222222222222" {
		panic("the upstream request has no trace context")
	}
	req.EndUpstream(ctx, u, f.fails, false)
	return &mcp.CallToolResult{IsError: f.fails != nil}, nil
}

func TestTracedRequests(t *testing.T) {
	spans := &tracer{}
	h := serve.NewHandler(&forwarder{}, &serve.Options{Server: server.Options{Tracer: spans}})
	exchange(h, "POST", "/mcp", toolCall("wx_get"))
	if len(spans.ended) != 2 || spans.ended[0].Kind != server.EventUpstream || spans.ended[1].Kind != server.EventAnswer ||
		spans.ended[1].Name != "wx_get" || spans.ended[0].Server != "weather" {
		t.Fatalf("ended spans = %+v", spans.ended)
	}
	const labels = `{server="weather",mcp_method_name="tools/call",gen_ai_tool_name="get",network_transport="pipe",` +
		`mcp_protocol_version="2025-11-25"}`
	if got := scrape(t, h)["mcp_client_operation_duration_seconds_count"+labels]; got != 1 {
		t.Errorf("the upstream request was counted %v times, want once", got)
	}
}

func TestExemplarsInOpenMetrics(t *testing.T) {
	h := serve.NewHandler(&forwarder{}, &serve.Options{Server: server.Options{Tracer: &tracer{}}})
	exchange(h, "POST", "/mcp", toolCall("wx_get"))
	for _, test := range []struct {
		accept string
		open   bool
	}{
		{"application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1", true},
		{"text/plain;version=0.0.4,application/openmetrics-text;version=1.0.0", false},
		{"", false},
	} {
		w := exchange(h, "GET", "/metrics", "", "Accept", test.accept)
		text := w.Body.String()
		exemplar := `le="0.01"} 1 # {trace_id="0af7651916cd43dd8448eb211c80319c",span_id="1111111111111111"} `
		open := strings.HasPrefix(w.Header().Get("Content-Type"), "application/openmetrics-text") &&
			strings.HasSuffix(text, "\n# EOF\n") && strings.Contains(text, exemplar) &&
			strings.Contains(text, "# TYPE mcp_server_refused counter\nmcp_server_refused_total{")
		plain := strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") && !strings.Contains(text, "# EOF") &&
			!strings.Contains(text, "trace_id") && strings.Contains(text, "# TYPE mcp_server_refused_total counter\n")
		if open != test.open || plain == test.open {
			t.Errorf("Accept %q: OpenMetrics %v, plain text %v\n%s", test.accept, open, plain, text)
		}
	}
}

func TestDrainingClosesConnections(t *testing.T) {
	h := serve.NewHandler(newSource(), nil)
	if got := exchange(h, "POST", "/mcp", initialize).Header().Get("Connection"); got != "" {
		t.Errorf("Connection = %q before draining", got)
	}
	h.Drain()
	if got := exchange(h, "POST", "/mcp", initialize).Header().Get("Connection"); got != "close" {
		t.Errorf("Connection = %q while draining, want close", got)
	}
}

func TestAdminAddress(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	started := make(chan *serve.Info, 1)
	ended := make(chan error, 1)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		ended <- serve.Serve(ctx, ln, &forwarder{}, &serve.Options{
			Features: serve.Features{AdminAddr: "127.0.0.1:0"},
			Auth:     &serve.Auth{Verifiers: []serve.Verifier{testTokens(t)}},
			Observer: serve.Observer{Started: func(info *serve.Info) { started <- info }},
		})
	}()
	info := <-started
	get := func(url string, header ...string) int {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(header) == 2 && header[0] == "Host" {
			req.Host = header[1]
		} else if len(header) == 2 {
			req.Header.Set(header[0], header[1])
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode
	}
	for _, test := range []struct {
		url    string
		header []string
		want   int
	}{
		{info.Admin + "/metrics", nil, 200},
		{info.Admin + "/readyz", nil, 200},
		{info.Admin + "/debug/pprof/goroutine?debug=1", nil, 200},
		{info.Admin + "/metrics", []string{"Host", "evil.example.com"}, 403},
		{info.Admin + "/metrics", []string{"Origin", "https://evil.example.com"}, 403},
		{info.Admin + "/mcp", nil, 404},
		{info.URL + "/debug/pprof/", nil, 404},
		{info.URL + "/metrics", []string{"Authorization", "Bearer " + readerToken}, 404},
	} {
		if got := get(test.url, test.header...); got != test.want {
			t.Errorf("%s %v = %d, want %d", test.url, test.header, got, test.want)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := http.Get(info.Admin + "/livez"); err == nil {
		t.Error("operators are still served after the end")
	}
}
