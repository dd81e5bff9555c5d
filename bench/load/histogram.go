package load

import (
	"math/bits"
	"time"
)

// Histogram counts durations with an error of at most 1.6 %. The zero value is empty. It
// is not safe for concurrent use.
type Histogram struct {
	// counts has a slot for each range of durations, in nanoseconds.
	counts [64 << subBits]int64
	total  int64
}

// subBits is the number of bits after the first one that a slot distinguishes: 64 slots for each
// power of two.
const subBits = 6

// Add counts d.
func (h *Histogram) Add(d time.Duration) {
	h.counts[slot(uint64(max(d, 0)))]++
	h.total++
}

// Merge adds the counts of other.
func (h *Histogram) Merge(other *Histogram) {
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.total += other.total
}

// Quantile returns the duration that a share q of the durations does not exceed, or 0 if
// there are none.
func (h *Histogram) Quantile(q float64) time.Duration {
	rank := int64(q * float64(h.total))
	var seen int64
	for i, n := range h.counts {
		if seen += n; seen > rank || seen == h.total && n > 0 {
			return time.Duration(lower(i))
		}
	}
	return 0
}

// slot returns the index of the counter for v. Counters are linear within each power of
// two.
func slot(v uint64) int {
	if v < 1<<subBits {
		return int(v)
	}
	shift := bits.Len64(v) - 1 - subBits
	return (shift+1)<<subBits | int(v>>shift)&(1<<subBits-1)
}

// lower returns the smallest duration that falls into a slot, in nanoseconds.
func lower(slot int) uint64 {
	if slot < 1<<subBits {
		return uint64(slot)
	}
	shift := slot>>subBits - 1
	return (1<<subBits | uint64(slot)&(1<<subBits-1)) << shift
}
