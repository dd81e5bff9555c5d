package schema

import (
	"bytes"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/decimal"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// equal reports whether two valid JSON values without surrounding white space are equal:
// numbers by value, strings by characters, objects regardless of member order.
func equal(a, b []byte) bool {
	kind := kindOf(a[0])
	if kind != kindOf(b[0]) {
		return false
	}
	switch kind {
	case kindNumber:
		return decimal.Same(a, b)
	case kindString:
		x, _ := jsonscan.UnquoteBytes(a)
		y, _ := jsonscan.UnquoteBytes(b)
		return bytes.Equal(x, y)
	case kindArray:
		return slices.EqualFunc(jsonscan.Elements(a), jsonscan.Elements(b), equal)
	case kindObject:
		return slices.EqualFunc(members(a), members(b), func(x, y jsonscan.Field) bool {
			return x.Name == y.Name && equal(x.Value, y.Value)
		})
	}
	return bytes.Equal(a, b)
}

// members returns the members of the valid JSON object raw, sorted by name.
func members(raw []byte) []jsonscan.Field {
	all := jsonscan.Members(raw)
	slices.SortStableFunc(all, func(x, y jsonscan.Field) int {
		return strings.Compare(x.Name, y.Name)
	})
	return all
}

// fewItems is the largest number of items that are compared pairwise.
const fewItems = 16

// repeated returns the indexes of the first two equal items.
func repeated(items [][]byte) (i, j int, ok bool) {
	if len(items) <= fewItems {
		for j := range items {
			for i := range j {
				if equal(items[i], items[j]) {
					return i, j, true
				}
			}
		}
		return 0, 0, false
	}
	seed := maphash.MakeSeed()
	places := make(map[uint64][]int, len(items))
	for j, item := range items {
		var h maphash.Hash
		h.SetSeed(seed)
		hashValue(&h, item)
		sum := h.Sum64()
		for _, i := range places[sum] {
			if equal(items[i], item) {
				return i, j, true
			}
		}
		places[sum] = append(places[sum], j)
	}
	return 0, 0, false
}

// hashValue writes raw to h such that equal values have equal hashes.
func hashValue(h *maphash.Hash, raw []byte) {
	_ = h.WriteByte(byte(kindOf(raw[0])))
	switch kindOf(raw[0]) {
	case kindNumber:
		hashNumber(h, raw)
	case kindString:
		text, _ := jsonscan.Unquote(raw)
		hashText(h, text)
	case kindArray:
		for _, item := range jsonscan.Elements(raw) {
			hashValue(h, item)
		}
		_ = h.WriteByte(0)
	case kindObject:
		for _, m := range members(raw) {
			hashText(h, m.Name)
			hashValue(h, m.Value)
		}
		_ = h.WriteByte(0)
	default:
		_ = h.WriteByte(raw[0])
	}
}

// hashText hashes a text with its length first, so that the boundary between two texts counts.
func hashText(h *maphash.Hash, text string) {
	hashInt(h, len(text))
	_, _ = h.WriteString(text)
}

// hashNumber hashes a number by its value, so that 1.0 and 1 are the same in uniqueItems
// and enum.
func hashNumber(h *maphash.Hash, raw []byte) {
	d := decimal.Parse(raw)
	hashInt(h, d.Sign())
	hashInt(h, d.Exp)
	for _, c := range d.Digits {
		if c != '.' {
			_ = h.WriteByte(c)
		}
	}
}

// hashInt hashes a number of fixed size.
func hashInt(h *maphash.Hash, n int) { maphash.WriteComparable(h, n) }
