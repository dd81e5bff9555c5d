package nearest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/nearest"
	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
)

func TestDidYouMean(t *testing.T) {
	for _, tt := range []struct {
		name       string
		candidates []string
		want       string
	}{
		{"colour", []string{"size", "color"}, "color"},
		{"celcius", []string{"fahrenheit", "celsius"}, "celsius"},
		{"kelvin", []string{"fahrenheit", "celsius"}, ""},
		{"getStatus", []string{"get_station", "get_status"}, "get_status"},
		{"GET-STATUS", []string{"get_status"}, "get_status"},
		{"nmae", []string{"mane", "name"}, "name"}, // one swap is nearer than two
		{"temp", []string{"temperature"}, "temperature"},
		{"te", []string{"temperature"}, ""},
		{"40", []string{"404", "200"}, "404"},
		{"a", []string{"b"}, ""},
		{"ab", []string{"cd"}, ""},
		{"x", nil, ""},
		{"", []string{"a"}, ""},
		{"___", []string{"---"}, ""},
		{"name", []string{"name"}, ""},
		{"größe", []string{"grosse", "größen"}, "größen"},
		{strings.Repeat("a", 200), []string{strings.Repeat("a", 199)}, ""},
		{"a\xff", []string{"a\xfe\xff"}, "a\xfe\xff"},
	} {
		if got := nearest.DidYouMean(tt.name, tt.candidates); got != tt.want {
			t.Errorf("DidYouMean(%q, %q) = %q, want %q", tt.name, tt.candidates, got, tt.want)
		}
	}
}

func TestNearestOrder(t *testing.T) {
	candidates := []string{"statuses", "statue", "status", "stat", "other", "state"}
	got := nearest.Nearest("statsu", candidates, 4)
	want := []string{"status", "statue", "stat", "state"}
	if !slices.Equal(got, want) {
		t.Errorf("Nearest = %q, want %q", got, want)
	}
	if got := nearest.Nearest("statsu", candidates, 1); !slices.Equal(got, want[:1]) {
		t.Errorf("Nearest with max 1 = %q, want %q", got, want[:1])
	}
	if got := nearest.Nearest("statsu", candidates, 0); len(got) != 0 {
		t.Errorf("Nearest with max 0 = %q, want none", got)
	}
}

func FuzzNearest(f *testing.F) {
	f.Add("colour", "color", "size")
	f.Add("", "\xff", "_")
	fuzzbound.Fuzz(f, func(t *testing.T, name, a, b string) {
		candidates := []string{a, b, "color", a}
		near := nearest.Nearest(name, candidates, 3)
		if len(near) > 3 {
			t.Fatalf("Nearest(%q, %q, 3) has %d results", name, candidates, len(near))
		}
		for _, n := range near {
			if !slices.Contains(candidates, n) || n == name {
				t.Fatalf("Nearest(%q, %q, 3) has %q", name, candidates, n)
			}
		}
	})
}

func BenchmarkNearest(b *testing.B) {
	candidates := make([]string, 1000)
	for i := range candidates {
		candidates[i] = fmt.Sprintf("get_status_%d", i)
	}
	b.ReportAllocs()
	for b.Loop() {
		nearest.Nearest("get_statsu_77", candidates, 3)
	}
}

func ExampleNearest() {
	tools := []string{"get_status", "find_header", "compare_methods"}
	fmt.Println(nearest.Nearest("getStatsu", tools, 3))
	// Output: [get_status]
}

// TestNearestIsBounded: neither many candidates nor long ones make a search slow, because
// only the first are compared.
func TestNearestIsBounded(t *testing.T) {
	for _, size := range []int{20, 128} {
		compared := 0
		near := nearest.NearestOf(strings.Repeat("ab", size/2), func(yield func(string) bool) {
			for compared < 10_000_000 && yield(fmt.Sprintf("%s%d", strings.Repeat("ba", size/2-4), compared)) {
				compared++
			}
		}, 3)
		if compared >= 1_000_000 {
			t.Errorf("%d candidates of %d letters compared, found %q", compared, size, near)
		}
	}
	many := make([]string, 100_000)
	for i := range many {
		many[i] = fmt.Sprintf("area_%c_operation_%d", 'a'+i%26, i)
	}
	many[90_000] = "calculator"
	if got := nearest.DidYouMean("calculatr", many); got != "calculator" {
		t.Errorf("among 100,000 DidYouMean = %q, want calculator", got)
	}
}

func BenchmarkNearestOfMany(b *testing.B) {
	candidates := make([]string, 100_000)
	for i := range candidates {
		candidates[i] = fmt.Sprintf("get_status_%d", i)
	}
	for b.Loop() {
		nearest.DidYouMean("get_statsu_99999", candidates)
	}
}
