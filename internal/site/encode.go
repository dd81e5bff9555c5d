package site

import (
	"slices"
	"sort"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

//go:generate node ../../../scripts/encode/table.mjs encode_table.go
//go:generate node ../../../scripts/encode/vectors.mjs testdata

const (
	// MaxName is the longest encoded name; it leaves room for ".json" within the 255 bytes
	// that file systems allow.
	MaxName = 200
	// LongPrefix is how much of a longer name is kept before "_" and the 16 hexadecimal
	// digits of its hash.
	LongPrefix = MaxName - 1 - 16
	// maxWidth is the most underscores that one code point becomes.
	maxWidth = len(underscores)

	hexDigits   = "0123456789abcdef"
	underscores = "______"
)

// nameRun maps each code point from low to high to the encoding out.
type nameRun struct {
	// low to high are letters that are replaced with out.
	low, high rune
	out       string
}

// EncodeName returns the file name of s under the standard. Its contract is that of the
// function of the same name in package staticmcp.
func EncodeName(s string) string {
	if len(s) <= MaxName && IsSafe(s) {
		return s
	}
	var buf [MaxName + maxWidth]byte
	safe := appendSafe(buf[:0], s, widthUTF16)
	if len(safe) > MaxName {
		return longName(safe, hash64(s))
	}
	return string(safe)
}

// nameForms appends to dst every file name, without ".json", under which a known
// generator stores s, each once: first the standard's, then, where they differ, the long
// name with the 32-bit hash and the name that counts Unicode scalar values. Most strings
// have only one; nothing is allocated if it is s itself and dst has room.
func nameForms(dst []string, s string) []string {
	first := len(dst)
	dst = append(dst, EncodeName(s))
	if dst[first] == s {
		return dst
	}
	for _, name := range [...]string{EncodeName31(s), EncodeNameScalar(s)} {
		if !slices.Contains(dst[first:], name) {
			dst = append(dst, name)
		}
	}
	return dst
}

// EncodeName31 is [EncodeName] except for names over 200 characters, which end in the
// 32-bit hash that a widely copied bridge for web clients uses. A writer that wants such
// a bridge to find a long name stores a second file.
func EncodeName31(s string) string {
	var buf [MaxName + maxWidth]byte
	safe := appendSafe(buf[:0], s, widthUTF16)
	if len(safe) > MaxName {
		return longName(safe, hash31(s))
	}
	return string(safe)
}

// EncodeNameScalar implements the variant of the Wikipedia generator: one underscore per
// Unicode scalar value instead of per UTF-16 unit, and the combining marks of four
// additional blocks removed.
func EncodeNameScalar(s string) string {
	var buf [MaxName + maxWidth]byte
	safe := appendSafe(buf[:0], s, widthScalar)
	if len(safe) > MaxName {
		return longName(safe, hash64(s))
	}
	return string(safe)
}

// LongNamePrefix reports whether name has the shape of a long name, and returns the part
// before its hash, including the underscore. A source that can be listed may store the
// same string under a hash we do not know.
func LongNamePrefix(name string) (prefix string, ok bool) {
	if len(name) != MaxName || name[LongPrefix] != '_' {
		return "", false
	}
	for i := LongPrefix + 1; i < MaxName; i++ {
		if strings.IndexByte(hexDigits, name[i]) < 0 {
			return "", false
		}
	}
	return name[:LongPrefix+1], true
}

// longName cuts an encoding and appends a hash. It also distinguishes two strings with
// the same short encoding, in the shape the standard already has.
func longName(safe []byte, hash uint64) string {
	name := append(safe[:min(LongPrefix, len(safe))], '_')
	for shift := 60; shift >= 0; shift -= 4 {
		name = append(name, hexDigits[hash>>shift&0xf])
	}
	return string(name)
}

// IsSafe reports whether every character of s encodes to itself.
func IsSafe(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c >= utf8.RuneSelf || nameLatin[c] != c {
			return false
		}
	}
	return true
}

// appendSafe appends the encoding of s before its length is limited. It stops as soon as
// the limit is exceeded: the hash covers all of s, but no more of its encoding is needed.
//
// Encoding each code point separately is exact. Normalization reorders marks, but those
// that move are either removed or underscores, and lower case depends on context only in
// Greek, which becomes all underscores.
func appendSafe(dst []byte, s string, width func(rune, string) string) []byte {
	for _, r := range s {
		if len(dst) > MaxName {
			break
		}
		if r < utf8.RuneSelf {
			dst = append(dst, nameLatin[r])
			continue
		}
		dst = append(dst, width(r, runeName(r))...)
	}
	return dst
}

// runeName returns the encoding of one code point.
func runeName(r rune) string {
	const additional, hangul = 0x1E00, 0xAC00
	switch {
	case r < rune(len(nameLatin)):
		return nameLatin[r : r+1]
	case r >= additional && r < additional+rune(len(nameLatinAdditional)):
		return nameLatinAdditional[r-additional : r-additional+1]
	case r >= hangul && r <= 0xD7A3:
		// A syllable has two or three letters; every 28th has no final consonant.
		if (r-hangul)%28 == 0 {
			return underscores[:2]
		}
		return underscores[:3]
	}
	i := sort.Search(len(nameRuns), func(i int) bool {
		return nameRuns[i].high >= r
	})
	if i < len(nameRuns) && nameRuns[i].low <= r {
		return nameRuns[i].out
	}
	return underscores[:utf16.RuneLen(r)]
}

// widthUTF16 keeps the standard's encoding of a code point.
func widthUTF16(_ rune, out string) string { return out }

// widthScalar converts the standard's encoding of a code point into the one that counts
// scalar values.
func widthScalar(r rune, out string) string {
	switch {
	case r >= 0x1AB0 && r <= 0x1AFF, r >= 0x1DC0 && r <= 0x1DFF,
		r >= 0x20D0 && r <= 0x20FF, r >= 0xFE20 && r <= 0xFE2F:
		return ""
	case r >= 0xF900 && r <= 0xFAFF:
		// A compatibility ideograph decomposes to one ideograph, which may lie beyond the first
		// plane.
		return underscores[:1]
	case r >= 0x10000:
		// An astral character decomposes to astral ones, two units each, or to a single
		// ideograph of the first plane.
		return out[:max(1, len(out)/2)]
	}
	return out
}

// EncodedWhole31 encodes the parts of a text between slashes, but limits the length of
// the whole, as claude_web_bridge does.
func EncodedWhole31(text string) []string {
	var safe []byte
	for i, part := range strings.Split(text, "/") {
		if i > 0 {
			safe = append(safe, '/')
		}
		if len(safe) <= MaxName {
			safe = appendSafe(safe, part, widthUTF16)
		}
	}
	if len(safe) > MaxName {
		return SplitSlashes(longName(safe, hash31(text)))
	}
	return SplitSlashes(string(safe))
}
