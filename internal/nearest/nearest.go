// Package nearest suggests names for one that does not exist. Start with [Nearest], or
// [DidYouMean] for a single name.
//
// Two names are near if one can be turned into the other by inserting, deleting,
// replacing or swapping a few letters, or if one is a prefix of the other. Case and the
// separators "_", "-", "." and space are ignored, so "getStatus" and "get_status" are
// equal.
//
// The work is bounded: with very many candidates, about 100,000 of typical length, the
// last ones are not compared.
package nearest

import (
	"iter"
	"math/bits"
	"slices"
	"unicode"
)

// maxRunes limits the length of names to compare. Users do not mistype longer ones,
// and the work grows with the square of the length.
const maxRunes = 128

// maxWork limits one search, in bytes read and letters compared: a few milliseconds.
// Names come from clients and other servers.
const maxWork = 3_000_000

// DidYouMean returns the candidate nearest to name, or "" if none is near.
func DidYouMean(name string, candidates []string) string {
	if near := Nearest(name, candidates, 1); len(near) > 0 {
		return near[0]
	}
	return ""
}

// Nearest returns at most max of the candidates that are near name: the nearest first,
// equally near ones in the given order. A candidate equal to name is skipped.
func Nearest(name string, candidates []string, max int) []string {
	return NearestOf(name, slices.Values(candidates), max)
}

// NearestOf is [Nearest] for a sequence of candidates.
func NearestOf(name string, candidates iter.Seq[string], max int) []string {
	if len(name) > maxRunes*4 {
		return nil
	}
	want, mask := fold(nil, name)
	if len(want) == 0 || len(want) > maxRunes || max <= 0 {
		return nil
	}
	type hit struct {
		distance int
		name     string
	}
	var hits []hit
	c := comparer{
		mask: mask,
		work: maxWork,
	}
	for candidate := range candidates {
		if candidate == name || len(candidate) > maxRunes*4 {
			continue
		}
		if c.work <= 0 {
			break
		}
		cutoff := maxRunes
		if len(hits) == max {
			cutoff = hits[max-1].distance - 1
		}
		d, ok := c.distance(want, candidate, cutoff)
		if !ok || d > cutoff {
			continue
		}
		at, _ := slices.BinarySearchFunc(hits, d+1, func(h hit, d int) int {
			return h.distance - d
		})
		hits = slices.Insert(hits, at, hit{d, candidate})
		hits = hits[:min(len(hits), max)]
	}
	near := make([]string, len(hits))
	for i, h := range hits {
		near[i] = h.name
	}
	return near
}

// fold appends the significant letters of name, in lower case. mask has a bit for each of
// them; several letters share a bit.
func fold(dst []rune, name string) (letters []rune, mask uint64) {
	for _, r := range name {
		switch {
		case r == '_', r == '-', r == '.', r == ' ':
			continue
		case 'A' <= r && r <= 'Z':
			r |= 0x20
		case r >= 0x80:
			r = unicode.ToLower(r)
		}
		dst = append(dst, r)
		mask |= 1 << (r & 63)
	}
	return dst, mask
}

// comparer reuses memory between comparisons.
type comparer struct {
	mask                 uint64 // of the wanted name
	work                 int    // work left
	folded               []rune
	older, previous, row []int
}

// distance returns the distance of candidate from want, and whether that is near. It does
// not compute distances beyond cutoff.
func (c *comparer) distance(want []rune, candidate string, cutoff int) (int, bool) {
	var mask uint64
	c.folded, mask = fold(c.folded[:0], candidate)
	c.work -= len(candidate)
	got := c.folded
	if len(got) == 0 || len(got) > maxRunes {
		return 0, false
	}
	limit := min(4, max(1, max(len(want), len(got))/3))
	short := want
	long := got
	if len(short) > len(long) {
		short, long = long, short
	}
	// An edit adds and removes at most one letter.
	most := min(limit, cutoff)
	if len(long)-len(short) <= most && bits.OnesCount64(mask^c.mask) <= 2*most {
		d := c.edits(want, got, most)
		if d <= most && d < len(short) {
			return d, true
		}
	}
	if len(short) >= 3 && slices.Equal(short, long[:len(short)]) {
		return limit + 1, true
	}
	return 0, false
}

// edits returns the optimal string alignment distance of a and b, or some value above
// most if the distance exceeds it.
func (c *comparer) edits(a, b []rune, most int) int {
	n := len(b) + 1
	c.older, c.previous, c.row = grow(c.older, n), grow(c.previous, n), grow(c.row, n)
	for j := range n {
		c.previous[j] = j
	}
	for i := 1; i <= len(a); i++ {
		c.work -= n
		c.row[0] = i
		least := i
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
			least = min(least, best)
		}
		if least > most {
			return least // a swap builds on the row before, which was no better
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
