// Package figures computes and formats the figures of the programs in this module.
package figures

import (
	"fmt"
	"math"
	"slices"
)

// Median returns the median of the values, or 0 if there are none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// Interval returns two of the values, between which the median of what they are samples of lies with a
// probability of at least 95 %, whatever their distribution. That requires six values; ok is false for fewer.
func Interval(values []float64) (low, high float64, ok bool) {
	n := len(values)
	outside := 0 // values at each end that are not needed
	// The probability that all values are on one side of the median, and that all but one are, and so on.
	for term, sum := math.Pow(0.5, float64(n)), 0.0; sum+term <= 0.025; outside++ {
		sum += term
		term *= float64(n-outside) / float64(outside+1)
	}
	if outside == 0 {
		return 0, 0, false
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[outside-1], sorted[n-outside], true
}

// Number formats a value with about three significant digits, and thousands with commas.
func Number(v float64) string {
	switch {
	case v > 0 && v < 0.1:
		return fmt.Sprintf("%.3f", v)
	case v < 10:
		return fmt.Sprintf("%.2f", v)
	case v < 100:
		return fmt.Sprintf("%.1f", v)
	}
	digits := fmt.Sprintf("%.0f", v)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
