package mcp

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"math"
)

// A cursor is opaque to clients: a format byte, the kind of list, the offset as a varint
// and four bytes of checksum, in base64url. The checksum detects mistyped and foreign
// cursors. It provides no protection, and none is needed: clients may request any
// position in a list.
const cursorFormat = 1

// encodeCursor returns the cursor of the page that begins at offset, see the format above.
func encodeCursor(k listKind, offset int) string {
	b := []byte{cursorFormat, byte(k)}
	b = binary.AppendUvarint(b, uint64(offset))
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	return base64.RawURLEncoding.EncodeToString(b)
}

// decodeCursor returns the offset in a cursor for list k. An empty cursor is the start of
// the list. Each position has exactly one cursor: other encodings of it are rejected.
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
