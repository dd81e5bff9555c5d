package router_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/router"
)

// order is an input of medium size.
type order struct {
	City string   `json:"city" minLength:"1" doc:"city name"`
	Unit string   `json:"unit" enum:"celsius,fahrenheit" default:"celsius"`
	Days int      `json:"days" minimum:"1" maximum:"14"`
	Tags []string `json:"tags,omitempty" maxItems:"10"`
	Near struct {
		Lat float64 `json:"lat" minimum:"-90" maximum:"90"`
		Lon float64 `json:"lon" minimum:"-180" maximum:"180"`
	} `json:"near,omitzero"`
}

const orderText = `{"city":"Lyon","days":3,"tags":["south","river"],"near":{"lat":45.75,"lon":4.85}}`

type echo struct {
	Message string `json:"message"`
}

func newBusy(tb testing.TB) *router.Router {
	tb.Helper()
	r, err := router.New("x", "1",
		router.Tool("echo", "", func(_ context.Context, in echo) (string, error) { return in.Message, nil }),
		router.Tool("order", "", func(_ context.Context, in order) (router.Void, error) { return router.Void{}, nil }),
		router.Tool("weather", "", func(_ context.Context, in where) (weather, error) {
			return weather{in.City, 21, in.Unit}, nil
		}),
		router.Prompt("trip", "", func(_ context.Context, in trip) (router.Messages, error) {
			return router.User(in.City), nil
		}),
		router.Resource("notes", "notes://all", func(context.Context) (string, error) { return "text", nil }),
		router.Template("spot", "weather://{city}", func(_ context.Context, v spot) (string, error) { return v.City, nil }),
	)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// TestAllocations enforces the allocation budgets of the code that every call runs.
func TestAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector empties pools")
	}
	r := newBusy(t)
	ctx := context.Background()
	tool := func(name, arguments string) func() error {
		p := &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(arguments)}
		return func() error { return second(r.CallTool(ctx, p)) }
	}
	for _, tt := range []struct {
		name   string
		budget float64
		run    func() error
	}{
		{"catalog", 0, func() error { return second(r.Catalog(ctx)) }},
		// The input, its string, the result and its content, the output.
		{"echo", 5, tool("echo", `{"message":"hello"}`)},
		{"order", 8, tool("order", orderText)},
		{"structured", 11, tool("weather", `{"city":"Lyon"}`)},
		{"resource", 4, func() error { return second(r.ReadResource(ctx, &mcp.ReadResourceParams{URI: "notes://all"})) }},
	} {
		if err := tt.run(); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if got := testing.AllocsPerRun(200, func() { _ = tt.run() }); got > tt.budget {
			t.Errorf("%s: %v allocations, want at most %v", tt.name, got, tt.budget)
		}
	}
}

// BenchmarkInput compares a complete call, including decoding and checks, with a bare
// decode of the same text.
func BenchmarkInput(b *testing.B) {
	r := newBusy(b)
	ctx := context.Background()
	b.Run("call", func(b *testing.B) {
		p := &mcp.CallToolParams{Name: "order", Arguments: json.RawMessage(orderText)}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := r.CallTool(ctx, p); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		text := []byte(orderText)
		b.ReportAllocs()
		for b.Loop() {
			var in order
			if err := json.Unmarshal(text, &in); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// TestInputRatio: a call with its checks takes at most 1.5 times as long as a bare
// decode. The two alternate, so that a busy machine slows down both.
func TestInputRatio(t *testing.T) {
	if race.Short() {
		t.Skip("measures time")
	}
	r := newBusy(t)
	p := &mcp.CallToolParams{Name: "order", Arguments: json.RawMessage(orderText)}
	ratio := ratioOf(func() { _, _ = r.CallTool(context.Background(), p) }, func() {
		var in order
		_ = json.Unmarshal([]byte(orderText), &in)
	})
	if ratio > 1.5 {
		t.Errorf("a call takes %.2f times a bare decode, want at most 1.5", ratio)
	}
	t.Logf("%.2f times a bare decode", ratio)
}

func BenchmarkCall(b *testing.B) {
	r := newBusy(b)
	ctx := context.Background()
	for _, tt := range []struct{ name, arguments string }{
		{"echo", `{"message":"hello"}`}, {"weather", `{"city":"Lyon"}`},
	} {
		b.Run(tt.name, func(b *testing.B) {
			p := &mcp.CallToolParams{Name: tt.name, Arguments: json.RawMessage(tt.arguments)}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.CallTool(ctx, p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("template", func(b *testing.B) {
		p := &mcp.ReadResourceParams{URI: "weather://Lyon"}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := r.ReadResource(ctx, p); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// ratioOf returns the median ratio of the time of a to that of b.
func ratioOf(a, b func()) float64 {
	var ratios []float64
	for range 9 {
		ratios = append(ratios, float64(timeOf(a))/float64(timeOf(b)))
	}
	slices.Sort(ratios)
	return ratios[len(ratios)/2]
}

func timeOf(f func()) time.Duration {
	start := time.Now()
	for range 2000 {
		f()
	}
	return time.Since(start)
}
