package site

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// hash64 is the hash of long names: SipHash-1-3 with a zero key over the UTF-8 of s and a
// final byte 0xff, which is how Rust's default hasher hashes a string.
func hash64(s string) uint64 {
	if !utf8.ValidString(s) {
		s = string([]rune(s)) // each invalid byte as U+FFFD, as in the encoding
	}
	h := sipHash13{0x736f6d6570736575, 0x646f72616e646f6d, 0x6c7967656e657261, 0x7465646279746573}
	length := len(s) + 1
	for ; len(s) >= 8; s = s[8:] {
		h.word(binary.LittleEndian.Uint64([]byte(s[:8])))
	}
	var tail [8]byte
	end := copy(tail[:], s)
	tail[end] = 0xff
	if end == 7 {
		h.word(binary.LittleEndian.Uint64(tail[:]))
		tail = [8]byte{}
	}
	tail[7] = byte(length)
	return h.sum(binary.LittleEndian.Uint64(tail[:]))
}

// sipHash13 is the state of SipHash with one round per word and three at the end.
type sipHash13 [4]uint64

func (h *sipHash13) word(w uint64) {
	h[3] ^= w
	h.round()
	h[0] ^= w
}

// sum finishes the hash with the last block.
func (h *sipHash13) sum(last uint64) uint64 {
	h.word(last)
	h[2] ^= 0xff
	h.round()
	h.round()
	h.round()
	return h[0] ^ h[1] ^ h[2] ^ h[3]
}

// round is the round of SipHash.
func (h *sipHash13) round() {
	h[0] += h[1]
	h[1] = bits.RotateLeft64(h[1], 13) ^ h[0]
	h[0] = bits.RotateLeft64(h[0], 32)
	h[2] += h[3]
	h[3] = bits.RotateLeft64(h[3], 16) ^ h[2]
	h[0] += h[3]
	h[3] = bits.RotateLeft64(h[3], 21) ^ h[0]
	h[2] += h[1]
	h[1] = bits.RotateLeft64(h[1], 17) ^ h[2]
	h[2] = bits.RotateLeft64(h[2], 32)
}

// hash31 is the 32-bit hash h*31 + unit over the UTF-16 units of s, in signed
// arithmetic that wraps around, made positive at the end.
func hash31(s string) uint64 {
	var h int32
	for _, r := range s {
		if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
			h = h*31 + high
			r = low
		}
		h = h*31 + r
	}
	if h < 0 {
		return uint64(-int64(h))
	}
	return uint64(h)
}
