package figures_test

import (
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/bench/figures"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 3, 2}, 2.5}} {
		if got := figures.Median(c.values); got != c.want {
			t.Errorf("Median(%v) = %v, want %v", c.values, got, c.want)
		}
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{
		0:       "0.00",
		0.0123:  "0.012",
		1.567:   "1.57",
		31.04:   "31.0",
		585:     "585",
		1234567: "1,234,567",
	} {
		if got := figures.Number(v); got != want {
			t.Errorf("Number(%v) = %s, want %s", v, got, want)
		}
	}
}

func TestWriteLine(t *testing.T) {
	var b strings.Builder
	if err := figures.WriteLine(&b, []int{1, 2}); err != nil || b.String() != "[1,2]\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
}
