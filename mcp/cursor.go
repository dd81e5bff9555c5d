package mcp

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"math"
	"strings"
)

// A cursor is opaque to clients: a format byte, the kind of list, the offset as
// a varint and four bytes of checksum, in base64url. The checksum keeps a
// mistyped or foreign cursor from being taken for a place in the list; it is no
// protection, and needs none: every place in a list may be asked for.
const cursorFormat = 1

func encodeCursor(k listKind, offset int) string {
	b := []byte{cursorFormat, byte(k)}
	b = binary.AppendUvarint(b, uint64(offset))
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	return base64.RawURLEncoding.EncodeToString(b)
}

// decodeCursor returns the offset that a cursor for list k holds. An empty
// cursor is the beginning.
func decodeCursor(cursor string, k listKind) (offset int, ok bool) {
	if cursor == "" {
		return 0, true
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(b) < 7 || strings.ContainsAny(cursor, "\r\n") { // which the decoder skips
		return 0, false
	}
	body, sum := b[:len(b)-4], b[len(b)-4:]
	if crc32.ChecksumIEEE(body) != binary.BigEndian.Uint32(sum) || body[0] != cursorFormat || body[1] != byte(k) {
		return 0, false
	}
	n, size := binary.Uvarint(body[2:])
	if size != len(body)-2 || n == 0 || n > math.MaxInt32 {
		return 0, false
	}
	return int(n), true
}
