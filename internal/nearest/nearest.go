// Package nearest finds the names that somebody probably meant when they wrote
// one that does not exist. Start with [Nearest]; [DidYouMean] is for one.
//
// Two names are near when few letters must be inserted, deleted, replaced or
// swapped with their neighbour to turn one into the other, or when one begins
// with the other. Case and the separators "_", "-", "." and space count nothing,
// so "getStatus" and "get_status" are the same.
package nearest

import (
	"slices"
	"unicode"
)

// maxRunes bounds the names that are compared: nobody mistypes a longer one, and
// the work grows with the square of the length.
const maxRunes = 128

// DidYouMean returns the candidate nearest to name, or "" if none is near.
func DidYouMean(name string, candidates []string) string {
	if near := Nearest(name, candidates, 1); len(near) > 0 {
		return near[0]
	}
	return ""
}

// Nearest returns at most max of the candidates that are near name, the nearest
// first, those equally near in the order given. A candidate equal to name is
// left out.
func Nearest(name string, candidates []string, max int) []string {
	want := fold(nil, name)
	if len(want) == 0 || len(want) > maxRunes || max <= 0 {
		return nil
	}
	type hit struct{ distance, index int }
	var hits []hit
	var c comparer
	for i, candidate := range candidates {
		if candidate == name || len(candidate) > maxRunes*4 {
			continue
		}
		d, ok := c.distance(want, candidate)
		if !ok || len(hits) == max && hits[max-1].distance <= d {
			continue
		}
		at, _ := slices.BinarySearchFunc(hits, d+1, func(h hit, d int) int { return h.distance - d })
		hits = slices.Insert(hits, at, hit{d, i})
		hits = hits[:min(len(hits), max)]
	}
	near := make([]string, len(hits))
	for i, h := range hits {
		near[i] = candidates[h.index]
	}
	return near
}

// fold appends the letters of name that count.
func fold(dst []rune, name string) []rune {
	for _, r := range name {
		switch r {
		case '_', '-', '.', ' ':
		default:
			dst = append(dst, unicode.ToLower(r))
		}
	}
	return dst
}

// comparer keeps the memory of one comparison for the next.
type comparer struct {
	folded               []rune
	older, previous, row []int
}

// distance returns how far candidate is from want, and whether that is near.
func (c *comparer) distance(want []rune, candidate string) (int, bool) {
	c.folded = fold(c.folded[:0], candidate)
	got := c.folded
	if len(got) == 0 || len(got) > maxRunes {
		return 0, false
	}
	limit := min(4, max(1, max(len(want), len(got))/3))
	short, long := want, got
	if len(short) > len(long) {
		short, long = long, short
	}
	if len(long)-len(short) <= limit {
		if d := c.edits(want, got); d <= limit && d < len(short) {
			return d, true
		}
	}
	if len(short) >= 3 && slices.Equal(short, long[:len(short)]) {
		return limit + 1, true
	}
	return 0, false
}

// edits is the optimal string alignment distance of a and b.
func (c *comparer) edits(a, b []rune) int {
	n := len(b) + 1
	c.older, c.previous, c.row = grow(c.older, n), grow(c.previous, n), grow(c.row, n)
	for j := range n {
		c.previous[j] = j
	}
	for i := 1; i <= len(a); i++ {
		c.row[0] = i
		for j := 1; j < n; j++ {
			substitute := c.previous[j-1]
			if a[i-1] != b[j-1] {
				substitute++
			}
			best := min(substitute, c.previous[j]+1, c.row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				best = min(best, c.older[j-2]+1)
			}
			c.row[j] = best
		}
		c.older, c.previous, c.row = c.previous, c.row, c.older
	}
	return c.previous[n-1]
}

func grow(s []int, n int) []int {
	if cap(s) < n {
		return make([]int, n)
	}
	return s[:n]
}
