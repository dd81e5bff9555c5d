package server_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
)

// printer is a Tracer that prints spans instead of sending them.
type printer struct{}

// printed is a span of a printer.
type printed struct{ parent string }

func (printer) StartRequest(ctx, parent context.Context, _ server.Event) (context.Context, server.Span) {
	sent, _ := mcp.RequestFrom(ctx).Trace()
	return parent, printed{sent.SpanID}
}

func (printer) StartUpstream(ctx context.Context, _ *mcp.Upstream) (context.Context, server.Span) {
	return ctx, nil // no span
}

func (printed) Trace() mcp.Trace { return mcp.Trace{} }
func (printed) Sampled() bool    { return true }

func (p printed) End(e server.Event) {
	fmt.Printf("%s %s, child of %s: %s\n", e.Method, e.Name, p.parent, e.Outcome)
}

// greeter is a Source with one tool.
type greeter struct{ mcp.Unimplemented }

func (greeter) Catalog(context.Context) (*mcp.Catalog, error) {
	return &mcp.Catalog{Tools: []mcp.Tool{{Name: "greet"}}}, nil
}

func (greeter) CallTool(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text("hello")}}, nil
}

func ExampleTracer() {
	h := server.New(greeter{}, &server.Options{Tracer: printer{}}).HTTPHandler(nil)
	r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", strings.NewReader(`{
		"jsonrpc":"2.0", "id":1, "method":"tools/call", "params":{"name":"greet",
		"_meta":{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}}`))
	r.Header.Set("Content-Type", "application/json")
	h.ServeHTTP(httptest.NewRecorder(), r)
	// Output: tools/call greet, child of b7ad6b7169203331: ok
}
