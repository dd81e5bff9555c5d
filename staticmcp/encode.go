package staticmcp

import (
	"slices"
	"sort"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

//go:generate node ../scripts/encode/table.mjs encode_table.go
//go:generate node ../scripts/encode/vectors.mjs testdata

const (
	// maxName is the longest encoded name; it leaves room for ".json" within the 255 bytes
	// that file systems allow.
	maxName = 200
	// longPrefix is how much of a longer name is kept before "_" and the 16 hexadecimal
	// digits of its hash.
	longPrefix = maxName - 1 - 16
	// maxWidth is the most underscores that one code point becomes.
	maxWidth = len(underscores)

	hexDigits   = "0123456789abcdef"
	underscores = "______"
)

// nameRun maps each code point from low to high to the encoding out.
type nameRun struct {
	low, high rune
	out       string
}

// EncodeName returns the file name, without ".json", that section 3 of the StaticMCP
// standard gives to s, one segment of a resource URI or one argument of a tool call. It
// matches the standard's reference function exactly: accents are removed, letters are
// lowercased, and every other character that is not a-z, 0-9, "-" or "_" becomes one
// underscore per UTF-16 code unit, so an emoji becomes two. Normalization follows Unicode
// 17, independent of the Go release.
//
// The result has at most 200 characters. A longer one is cut to 183 and followed by "_"
// and the SipHash-1-3 of s in 16 hexadecimal digits. The standard leaves the choice of
// the hash open; this is the one published sites use (key zero, over the UTF-8 of s and a
// final byte 0xff).
//
// Different strings can have the same name ("東京" and "北京" are both "__"), and the name is
// empty if s is empty or consists only of combining marks; neither is an error here. A
// byte of s that is not valid UTF-8 counts as U+FFFD. If s is its own name, it is
// returned unchanged, without allocating.
func EncodeName(s string) string {
	if len(s) <= maxName && isSafe(s) {
		return s
	}
	var buf [maxName + maxWidth]byte
	safe := appendSafe(buf[:0], s, widthUTF16)
	if len(safe) > maxName {
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
	for _, name := range [...]string{encodeName31(s), encodeNameScalar(s)} {
		if !slices.Contains(dst[first:], name) {
			dst = append(dst, name)
		}
	}
	return dst
}

// encodeName31 is [EncodeName] except for names over 200 characters, which end in the
// 32-bit hash that a widely copied bridge for web clients uses. A writer that wants such
// a bridge to find a long name stores a second file.
func encodeName31(s string) string {
	var buf [maxName + maxWidth]byte
	safe := appendSafe(buf[:0], s, widthUTF16)
	if len(safe) > maxName {
		return longName(safe, hash31(s))
	}
	return string(safe)
}

// encodeNameScalar implements the variant of the Wikipedia generator: one underscore per
// Unicode scalar value instead of per UTF-16 unit, and the combining marks of four
// additional blocks removed.
func encodeNameScalar(s string) string {
	var buf [maxName + maxWidth]byte
	safe := appendSafe(buf[:0], s, widthScalar)
	if len(safe) > maxName {
		return longName(safe, hash64(s))
	}
	return string(safe)
}

// longNamePrefix reports whether name has the shape of a long name, and returns the part
// before its hash, including the underscore. A source that can be listed may store the
// same string under a hash we do not know.
func longNamePrefix(name string) (prefix string, ok bool) {
	if len(name) != maxName || name[longPrefix] != '_' {
		return "", false
	}
	for i := longPrefix + 1; i < maxName; i++ {
		if strings.IndexByte(hexDigits, name[i]) < 0 {
			return "", false
		}
	}
	return name[:longPrefix+1], true
}

// longName cuts an encoding and appends a hash. It also distinguishes two strings with
// the same short encoding, in the shape the standard already has.
func longName(safe []byte, hash uint64) string {
	name := append(safe[:min(longPrefix, len(safe))], '_')
	for shift := 60; shift >= 0; shift -= 4 {
		name = append(name, hexDigits[hash>>shift&0xf])
	}
	return string(name)
}

// isSafe reports whether every character of s encodes to itself.
func isSafe(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= utf8.RuneSelf || nameLatin[c] != c {
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
		if len(dst) > maxName {
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
	i := sort.Search(len(nameRuns), func(i int) bool { return nameRuns[i].high >= r })
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
