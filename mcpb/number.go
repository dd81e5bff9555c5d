package mcpb

import (
	"math"
	"strconv"
	"strings"
)

// formatNumber formats a number like JavaScript's String, which other hosts use: 10, 0.5,
// 1e+21.
func formatNumber(f float64) string {
	switch abs := math.Abs(f); {
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	case f == 0:
		return "0"
	case abs >= 1e21 || abs < 1e-6:
		mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, 64), "e")
		return mantissa + "e" + exponent[:1] + strings.TrimLeft(exponent[1:], "0")
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}
