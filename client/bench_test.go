package client_test

import (
	"context"
	"testing"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/mcp"
)

// BenchmarkCall calls echo through a child, sequentially and concurrently. Only the
// allocations of this process are counted.
func BenchmarkCall(b *testing.B) {
	src := open(b, command(b, "server"), &client.Options{Version: mcp.Version20250618})
	params := &mcp.CallToolParams{Name: "echo", Arguments: object(`{"text":"hello"}`)}
	one := func(b *testing.B) {
		if _, err := src.CallTool(context.Background(), params); err != nil {
			b.Error(err)
		}
	}
	b.Run("one", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			one(b)
		}
	})
	b.Run("many", func(b *testing.B) {
		b.ReportAllocs()
		b.SetParallelism(16)
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				one(b)
			}
		})
	})
}

// BenchmarkHTTPCall does the same over HTTP, with the server in this process.
func BenchmarkHTTPCall(b *testing.B) {
	src := open(b, &client.Endpoint{URL: newUpstream(b, &world{}).URL + "/mcp", NoListen: true}, nil)
	params := &mcp.CallToolParams{Name: "echo", Arguments: object(`{"text":"hello"}`)}
	b.ReportAllocs()
	b.SetParallelism(16)
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if _, err := src.CallTool(context.Background(), params); err != nil {
				b.Error(err)
			}
		}
	})
}

// TestCallAllocs limits the allocations of a call through a child: the call and its
// channel, the parameters, the line read, the result and its raw text.
func TestCallAllocs(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates, too")
	}
	src := open(t, command(t, "server"), &client.Options{Version: mcp.Version20250618})
	params := &mcp.CallToolParams{Name: "echo", Arguments: object(`{"text":"hello"}`)}
	got := testing.AllocsPerRun(2000, func() {
		if _, err := src.CallTool(context.Background(), params); err != nil {
			t.Error(err)
		}
	})
	if limit := 8.0; got > limit {
		t.Errorf("a call allocates %v times, want at most %v", got, limit)
	}
}
