package mcp

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"math"
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
// cursor is the beginning. There is one cursor for each place: any other text
// that decodes to it is refused.
func decodeCursor(cursor string, k listKind) (offset int, ok bool) {
	if cursor == "" {
		return 0, true
	}
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(b) < 7 {
		return 0, false
	}
	n, size := binary.Uvarint(b[2 : len(b)-4])
	if size <= 0 || n == 0 || n > math.MaxInt32 {
		return 0, false
	}
	return int(n), encodeCursor(k, int(n)) == cursor
}
