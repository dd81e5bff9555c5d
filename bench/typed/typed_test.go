// Package typed measures the whole path of a tool with struct arguments: the HTTP handler
// is called directly, the arguments are decoded and checked, the function runs, and its
// struct is sent as structured content.
package typed

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/router"
)

// order has the tags of all three libraries.
type order struct {
	City string   `json:"city" doc:"city name" jsonschema:"city name" minLength:"1"`
	Unit string   `json:"unit,omitempty" enum:"celsius,fahrenheit" default:"celsius"`
	Days int      `json:"days" minimum:"1" maximum:"14"`
	Tags []string `json:"tags,omitempty"`
	Near place    `json:"near"`
}

type place struct {
	Lat float64 `json:"lat" minimum:"-90" maximum:"90"`
	Lon float64 `json:"lon" minimum:"-180" maximum:"180"`
}

type forecast struct {
	City string    `json:"city"`
	Temp []float64 `json:"temp"`
}

const arguments = `{"city":"Lyon","days":3,"tags":["south","river"],"near":{"lat":45.75,"lon":4.85}}`

func answer(in order) forecast { return forecast{in.City, []float64{21, 22.5, 19}} }

func handlers(tb testing.TB) map[string]http.Handler {
	r, err := router.New("bench", "1", router.Tool("order", "", func(_ context.Context, in order) (forecast, error) {
		return answer(in), nil
	}))
	if err != nil {
		tb.Fatal(err)
	}
	sdk := gosdk.NewServer(&gosdk.Implementation{Name: "bench", Version: "1"}, nil)
	gosdk.AddTool(sdk,
		&gosdk.Tool{Name: "order"},
		func(_ context.Context, _ *gosdk.CallToolRequest, in order) (*gosdk.CallToolResult, forecast, error) {
			return nil, answer(in), nil
		})
	goServer := server.NewMCPServer("bench", "1")
	goServer.AddTool(mcpgo.NewTool("order", mcpgo.WithInputSchema[order](), mcpgo.WithOutputSchema[forecast]()),
		mcpgo.NewStructuredToolHandler(func(_ context.Context, _ mcpgo.CallToolRequest, in order) (forecast, error) {
			return answer(in), nil
		}))
	return map[string]http.Handler{
		"slipway": mcpserver.New(r, nil).HTTPHandler(&mcpserver.HTTPOptions{NoSessions: true}),
		"gosdk": gosdk.NewStreamableHTTPHandler(func(*http.Request) *gosdk.Server { return sdk },
			&gosdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true}),
		"mcpgo": server.NewStreamableHTTPServer(goServer, server.WithStateLess(true)),
	}
}

func request(arguments string) *http.Request {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"order","arguments":%s}}`,
		arguments)
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8080/mcp", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Mcp-Protocol-Version", "2025-06-18")
	local := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}
	return r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(local)))
}

// TestAnswers checks that all servers give the same answer.
func TestAnswers(t *testing.T) {
	for name, h := range handlers(t) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, request(arguments))
		var got struct {
			Result struct {
				StructuredContent forecast `json:"structuredContent"`
			} `json:"result"`
		}
		if err := json.Unmarshal(bytes.TrimSpace(w.Body.Bytes()), &got); err != nil ||
			got.Result.StructuredContent.City != "Lyon" ||
			len(got.Result.StructuredContent.Temp) != 3 {
			t.Errorf("%s: status %d, %v: %s", name, w.Code, err, w.Body)
		}
	}
}

// BenchmarkTyped includes httptest's recorder and the request, which are the same for
// all.
func BenchmarkTyped(b *testing.B) {
	all := handlers(b)
	for _, name := range []string{"slipway", "gosdk", "mcpgo"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				w := httptest.NewRecorder()
				all[name].ServeHTTP(w, request(arguments))
				if w.Code != http.StatusOK {
					b.Fatal(w.Code, w.Body)
				}
			}
		})
	}
	b.Run("nothing", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = httptest.NewRecorder(), request(arguments)
		}
	})
}
