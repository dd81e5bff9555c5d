package mcpb

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"
	"slices"
)

// readLocals verifies the local header of every file against the central directory. Files
// must follow each other without gaps from the first byte up to the directory: some
// readers see bytes that belong to no file, others do not.
func (a *Archive) readLocals(headers []central, dir *directory) error {
	a.data = make([]span, len(headers))
	order := byOffset(headers)
	at := int64(0)
	for n, i := range order {
		h := &headers[i]
		next := dir.offset
		if n+1 < len(order) {
			next = headers[order[n+1]].offset
		}
		switch {
		case n == 0 && h.offset > 0:
			return unsafef(ruleAmbiguous, "", "%d bytes stand in front of its first file", h.offset)
		case h.offset < at:
			return unsafef(ruleOverlap, h.Name, "it shares bytes with another entry")
		case h.offset > at:
			return unsafef(ruleAmbiguous, h.Name, "%d bytes in front of it belong to no file", h.offset-at)
		case next > dir.offset:
			return damagedf(h.Name, "the entry behind it lies behind the end of the files")
		}
		local, err := a.readLocal(h, next)
		if err != nil {
			return err
		}
		a.data[i] = span{offset: local.data, deflated: h.method == methodDeflate}
		at = local.end
	}
	if at != dir.offset {
		return unsafef(ruleAmbiguous, "", "%d bytes in front of its directory belong to no file", dir.offset-at)
	}
	return nil
}

// local is the offset of an entry's data, and of its end.
type local struct{ data, end int64 }

func (a *Archive) readLocal(h *central, next int64) (*local, error) {
	if next-h.offset < localLen {
		return nil, unsafef(ruleOverlap, h.Name, "it shares bytes with another entry")
	}
	b := make([]byte, min(int64(localLen+len(h.raw)+64), next-h.offset))
	if err := readFull(a.r, b, h.offset); err != nil {
		return nil, err
	}
	if string(b[:4]) != localSignature {
		return nil, damagedf(h.Name, "its header is none")
	}
	le := binary.LittleEndian
	head := int64(localLen) + int64(le.Uint16(b[26:])) + int64(le.Uint16(b[28:]))
	if h.PackedSize > next-h.offset-head {
		return nil, unsafef(ruleOverlap, h.Name, "it shares bytes with another entry")
	}
	if int64(len(b)) < head {
		b = make([]byte, head)
		if err := readFull(a.r, b, h.offset); err != nil {
			return nil, err
		}
	}
	if err := h.compare(b[:head]); err != nil {
		return nil, err
	}
	l := &local{data: h.offset + head, end: h.offset + head + h.PackedSize}
	if le.Uint16(b[6:])&flagDescriptor == 0 {
		return l, nil
	}
	n, err := a.readDescriptor(h, l.end, next-l.end)
	l.end += n
	return l, err
}

// compare verifies the local header b, including name and extra fields, against h.
func (h *central) compare(b []byte) error {
	le := binary.LittleEndian
	nameEnd := localLen + int(le.Uint16(b[26:]))
	if !bytes.Equal(b[localLen:nameEnd], h.raw) {
		return unsafef(ruleAmbiguous, h.Name, "its own header calls it %q", b[localLen:nameEnd])
	}
	flags := le.Uint16(b[6:])
	switch {
	case flags&(flagEncrypted|flagStrong|flagMasked) != 0:
		return unsafef(ruleUnsupported, h.Name, "it is encrypted")
	case le.Uint16(b[8:]) != h.method:
		return unsafef(ruleAmbiguous, h.Name, "its two headers name different methods")
	case (flags^h.flags)&flagUTF8 != 0 && slices.ContainsFunc(h.raw, func(c byte) bool { return c >= 0x80 }):
		return unsafef(ruleAmbiguous, h.Name, "its two headers disagree on the encoding of its name")
	}
	crc := le.Uint32(b[14:])
	packed, size := int64(le.Uint32(b[18:])), int64(le.Uint32(b[22:]))
	if err := readExtra(b[nameEnd:], string(h.raw), []*int64{&size, &packed}); err != nil {
		return err
	}
	if flags&flagDescriptor != 0 && crc == 0 && packed == 0 && size == 0 {
		return nil // given after the data
	}
	later := flags&flagDescriptor != 0 // zip64 writers may set the fields to their maximum
	if (crc == h.CRC32 || later && crc == 0) &&
		(packed == h.PackedSize || later && (packed == 0 || packed == math.MaxUint32)) &&
		(size == h.Size || later && (size == 0 || size == math.MaxUint32)) {
		return nil
	}
	return unsafef(ruleAmbiguous, h.Name, "its two headers disagree on its sizes or its checksum")
}

// readDescriptor reads the data descriptor after the data of h, in any of its four forms,
// and returns its length in bytes.
func (a *Archive) readDescriptor(h *central, at, room int64) (int64, error) {
	b := make([]byte, min(room, 24))
	if err := readFull(a.r, b, at); err != nil {
		return 0, err
	}
	le := binary.LittleEndian
	for _, signed := range []int{4, 0} {
		for _, width := range []int{4, 8} {
			n := signed + 4 + 2*width
			if n != len(b) || (signed > 0 && string(b[:4]) != descriptorSignature) || le.Uint32(b[signed:]) != h.CRC32 {
				continue
			}
			packed, size := uint64(le.Uint32(b[signed+4:])), uint64(le.Uint32(b[signed+4+4:]))
			if width == 8 {
				packed, size = le.Uint64(b[signed+4:]), le.Uint64(b[signed+12:])
			}
			if packed == uint64(h.PackedSize) && size == uint64(h.Size) {
				return int64(n), nil
			}
		}
	}
	return 0, unsafef(ruleAmbiguous, h.Name, "what stands behind its data is not its sizes")
}

// readExtra reads the extra fields of a header. Fields with the maximum value get their
// value from the zip64 field, in order. A Unicode path must equal the name.
func readExtra(extra []byte, name string, fields []*int64) error {
	const zip64ID, unicodePathID = 0x0001, 0x7075
	seen := false
	for len(extra) >= 4 {
		id, n := binary.LittleEndian.Uint16(extra), int(binary.LittleEndian.Uint16(extra[2:]))
		if n > len(extra)-4 {
			return damagedf(name, "its extra fields are longer than their room")
		}
		value := extra[4 : 4+n]
		extra = extra[4+n:]
		switch id {
		case zip64ID:
			if seen {
				return unsafef(ruleAmbiguous, name, "it has two zip64 fields")
			}
			seen = true
			if err := readZip64Extra(value, name, fields); err != nil {
				return err
			}
		case unicodePathID:
			if len(value) < 5 ||
				value[0] != 1 ||
				string(value[5:]) != name ||
				binary.LittleEndian.Uint32(value[1:]) != crc32.ChecksumIEEE([]byte(name)) {
				return unsafef(ruleAmbiguous, name, "it has a second name")
			}
		}
	}
	if slices.ContainsFunc(extra, func(c byte) bool { return c != 0 }) {
		return damagedf(name, "its extra fields are longer than their room")
	}
	return nil
}

func readZip64Extra(value []byte, name string, fields []*int64) error {
	for _, field := range fields {
		if *field != math.MaxUint32 {
			continue
		}
		if len(value) < 8 {
			return damagedf(name, "its zip64 field is too short")
		}
		large := binary.LittleEndian.Uint64(value)
		if large > math.MaxInt64/4 {
			return damagedf(name, "its sizes are out of range")
		}
		*field, value = int64(large), value[8:]
	}
	return nil
}
