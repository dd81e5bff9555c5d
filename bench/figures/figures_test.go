package figures_test

import (
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

func TestInterval(t *testing.T) {
	upTo := func(n int) (all []float64) {
		for i := range n {
			all = append(all, float64((i*7)%n+1)) // in any order
		}
		return all
	}
	// From a table of the binomial distribution, as in the standard tables of the sign test.
	for n, want := range map[int][2]float64{
		0: {}, 5: {}, 6: {1, 6}, 8: {1, 8}, 9: {2, 8}, 11: {2, 10}, 12: {3, 10}, 15: {4, 12}, 20: {6, 15}, 25: {8, 18},
	} {
		low, high, ok := figures.Interval(upTo(n))
		if got := [2]float64{low, high}; got != want || ok != (n >= 6) {
			t.Errorf("Interval of 1 to %d = %v, %v, want %v", n, got, ok, want)
		}
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{
		0:       "0.00",
		0.0123:  "0.012",
		1.567:   "1.57",
		1.256:   "1.26",
		12.34:   "12.3",
		31.04:   "31.0",
		585:     "585",
		999:     "999",
		1234.6:  "1,235",
		1234567: "1,234,567",
	} {
		if got := figures.Number(v); got != want {
			t.Errorf("Number(%v) = %s, want %s", v, got, want)
		}
	}
}
