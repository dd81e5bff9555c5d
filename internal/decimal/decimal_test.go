package decimal_test

import (
	"testing"

	"github.com/slipway-mcp/slipway/internal/decimal"
)

func TestCompare(t *testing.T) {
	tests := []struct {
		a, b string
		want int
	}{
		{"1e2", "100.0", 0},
		{"-0", "0.000", 0},
		{"0.1", "0.10000000000000000000000000000000000001", -1},
		{"9007199254740993", "9007199254740992", 1},
		{"-2", "-1", -1},
		{"1e999999999999", "1e-999999999999", 1},
		{"1e10000000000000000000", "1", 1},
		{"1e-10000000000000000000", "1", -1},
	}
	for _, tt := range tests {
		a, b := decimal.Parse([]byte(tt.a)), decimal.Parse([]byte(tt.b))
		if got := a.Compare(&b); got != tt.want {
			t.Errorf("%s compared with %s = %d, want %d", tt.a, tt.b, got, tt.want)
		}
		if got := decimal.Same([]byte(tt.a), []byte(tt.b)); got != (tt.want == 0) {
			t.Errorf("Same(%s, %s) = %v", tt.a, tt.b, got)
		}
	}
}

func TestInt(t *testing.T) {
	for text, want := range map[string]int{"0": 0, "12": 12, "1.2e1": 12, "100": 100, "101": 100, "1e400": 100} {
		d := decimal.Parse([]byte(text))
		if got := d.Int(100); got != want {
			t.Errorf("Int of %s = %d, want %d", text, got, want)
		}
	}
}
