package schema

import (
	"bytes"
	"hash/maphash"
	"slices"

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
		x, y := parseDecimal(a), parseDecimal(b)
		return x.compare(&y) == 0
	case kindString:
		x, _ := jsonscan.UnquoteBytes(a)
		y, _ := jsonscan.UnquoteBytes(b)
		return bytes.Equal(x, y)
	case kindArray:
		return slices.EqualFunc(elements(a), elements(b), equal)
	case kindObject:
		return slices.EqualFunc(members(a), members(b), func(x, y member) bool {
			return bytes.Equal(x.key, y.key) && equal(x.value, y.value)
		})
	}
	return bytes.Equal(a, b)
}

// elements returns the elements of the valid JSON array raw.
func elements(raw []byte) [][]byte {
	var all [][]byte
	_, _ = jsonscan.Array(raw, 0, 0, func(i int) (int, error) {
		i = jsonscan.Space(raw, i)
		end, err := jsonscan.Value(raw, i)
		all = append(all, raw[i:end])
		return end, err
	})
	return all
}

type member struct{ key, value []byte }

// members returns the members of the valid JSON object raw, sorted by key.
func members(raw []byte) []member {
	var all []member
	_, _ = jsonscan.Object(raw, 0, 0, func(key []byte, i int) (int, error) {
		end, err := jsonscan.Value(raw, i)
		all = append(all, member{key, raw[i:end]})
		return end, err
	})
	slices.SortStableFunc(all, func(x, y member) int { return bytes.Compare(x.key, y.key) })
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
		text, _ := jsonscan.UnquoteBytes(raw)
		hashText(h, text)
	case kindArray:
		for _, item := range elements(raw) {
			hashValue(h, item)
		}
		_ = h.WriteByte(0)
	case kindObject:
		for _, m := range members(raw) {
			hashText(h, m.key)
			hashValue(h, m.value)
		}
		_ = h.WriteByte(0)
	default:
		_ = h.WriteByte(raw[0])
	}
}

func hashText(h *maphash.Hash, text []byte) {
	hashInt(h, len(text))
	_, _ = h.Write(text)
}

func hashNumber(h *maphash.Hash, raw []byte) {
	d := parseDecimal(raw)
	hashInt(h, d.sign())
	hashInt(h, d.exp)
	for _, c := range d.digits {
		if c != '.' {
			_ = h.WriteByte(c)
		}
	}
}

func hashInt(h *maphash.Hash, n int) { maphash.WriteComparable(h, n) }
