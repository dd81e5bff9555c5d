package telemetry_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/telemetry"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
)

// quick is a Source whose tool does nothing.
type quick struct {
	mcp.Unimplemented
	catalog *mcp.Catalog
	result  *mcp.CallToolResult
}

func (q *quick) Catalog(context.Context) (*mcp.Catalog, error) { return q.catalog, nil }

func (q *quick) CallTool(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return q.result, nil
}

// request returns a function that serves one call in memory, with telemetry for a part of
// the requests; "" means no telemetry.
func request(tb testing.TB, ratio string) func() {
	tb.Helper()
	o := &server.Options{}
	if ratio != "" {
		tb.Setenv("OTEL_TRACES_SAMPLER", "traceidratio")
		tb.Setenv("OTEL_TRACES_SAMPLER_ARG", ratio)
		tb.Setenv("OTEL_METRIC_EXPORT_INTERVAL", "3600000")
		sent, err := telemetry.Start(tb.Context(), &telemetry.Options{Endpoint: "http://127.0.0.1:1"})
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() {
			ended, cancel := context.WithCancel(context.Background())
			cancel() // the collector does not exist
			_ = sent.Shutdown(ended)
		})
		o.Tracer = sent
		o.Observer = sent
	}
	src := &quick{
		catalog: &mcp.Catalog{Tools: []mcp.Tool{{Name: "echo"}}},
		result:  &mcp.CallToolResult{Content: []mcp.Content{mcp.Text("echoed")}},
	}
	h := server.New(src, o).HTTPHandler(nil)
	const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"}}}`
	return func() {
		r := httptest.NewRequest("POST", "http://localhost/mcp", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
}

// BenchmarkRequest measures a call in memory without telemetry, with one traced request of
// a hundred, and with all requests traced. The difference is what telemetry costs a
// request over a socket, which takes five to ten times as long.
func BenchmarkRequest(b *testing.B) {
	for _, test := range []struct{ name, ratio string }{{"off", ""}, {"1%", "0.01"}, {"all", "1"}} {
		b.Run(test.name, func(b *testing.B) {
			do := request(b, test.ratio)
			b.ReportAllocs()
			for b.Loop() {
				do()
			}
		})
	}
}

// TestAllocs bounds what a request that is not sampled costs.
func TestAllocs(t *testing.T) {
	off := testing.AllocsPerRun(1000, request(t, ""))
	on := testing.AllocsPerRun(1000, request(t, "0"))
	if on-off > 6 {
		t.Errorf("telemetry allocates %v times in a request that is not sampled, want at most 6", on-off)
	}
}
