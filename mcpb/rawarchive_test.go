package mcpb_test

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"hash/crc32"
	"testing"
)

// rawEntry is an archive entry with arbitrary, possibly wrong content. Pointers override
// the correct values.
type rawEntry struct {
	name, localName string
	content         []byte
	stored          bool
	method          *uint16
	flags           uint16
	localFlags      *uint16
	mode            uint32 // all 32 bits of the attributes
	crc             *uint32
	size, packed    *uint32
	offset          *uint32
	extra           []byte
	localExtra      []byte
	descriptor      int // 0, or how many bytes
	behind          []byte
	reuse           bool // shares the data of the preceding entry
}

// rawArchive is an archive with arbitrary content.
type rawArchive struct {
	entries       []rawEntry
	before        []byte
	gap           []byte // between files and directory
	behindHeaders []byte
	comment       []byte
	commentLen    *uint16
	count         *uint16
	zip64         bool
}

func p[T any](v T) *T { return &v }

func deflated(data []byte) []byte {
	var b bytes.Buffer
	w, _ := flate.NewWriter(&b, flate.DefaultCompression)
	_, _ = w.Write(data)
	_ = w.Close()
	return b.Bytes()
}

func or[T any](given *T, right T) T {
	if given != nil {
		return *given
	}
	return right
}

// bytes encodes the archive.
func (a *rawArchive) bytes() []byte {
	le := binary.LittleEndian
	out := bytes.Clone(a.before)
	var dir []byte
	last := uint32(0)
	for _, e := range a.entries {
		data, method := e.content, uint16(0)
		if !e.stored && len(data) > 0 {
			data, method = deflated(data), 8
		}
		method = or(e.method, method)
		crc, size, packed := or(e.crc, crc32.ChecksumIEEE(e.content)),
			or(e.size, uint32(len(e.content))), or(e.packed, uint32(len(data)))
		flags := e.flags
		if e.descriptor > 0 {
			flags |= 8
		}
		name := e.name
		if e.localName != "" {
			name = e.localName
		}
		at := uint32(len(out) - len(a.before))
		if e.reuse {
			at = last
		} else {
			l := make([]byte, 30)
			copy(l, "PK\x03\x04")
			le.PutUint16(l[4:], 20)
			le.PutUint16(l[6:], or(e.localFlags, flags))
			le.PutUint16(l[8:], method)
			if e.descriptor == 0 {
				le.PutUint32(l[14:], crc)
				le.PutUint32(l[18:], packed)
				le.PutUint32(l[22:], size)
			}
			le.PutUint16(l[26:], uint16(len(name)))
			le.PutUint16(l[28:], uint16(len(e.localExtra)))
			out = append(append(append(append(out, l...), name...), e.localExtra...), data...)
			d := []byte("PK\x07\x08")
			d = le.AppendUint32(d, crc)
			if e.descriptor >= 20 {
				d = le.AppendUint64(le.AppendUint64(d, uint64(packed)), uint64(size))
			} else {
				d = le.AppendUint32(le.AppendUint32(d, packed), size)
			}
			if e.descriptor > 0 {
				out = append(out, d[len(d)-e.descriptor:]...)
			}
			out = append(out, e.behind...)
		}
		last = at
		c := make([]byte, 46)
		copy(c, "PK\x01\x02")
		c[5] = 3
		le.PutUint16(c[8:], flags)
		le.PutUint16(c[10:], method)
		le.PutUint32(c[16:], crc)
		le.PutUint32(c[20:], packed)
		le.PutUint32(c[24:], size)
		le.PutUint16(c[28:], uint16(len(e.name)))
		le.PutUint16(c[30:], uint16(len(e.extra)))
		le.PutUint32(c[38:], e.mode)
		le.PutUint32(c[42:], or(e.offset, at))
		dir = append(append(append(dir, c...), e.name...), e.extra...)
	}
	out = append(out, a.gap...)
	offset := uint64(len(out) - len(a.before))
	out = append(append(out, dir...), a.behindHeaders...)
	end := make([]byte, 22)
	copy(end, "PK\x05\x06")
	count := or(a.count, uint16(len(a.entries)))
	if a.zip64 {
		at := uint64(len(out))
		z := make([]byte, 56)
		copy(z, "PK\x06\x06")
		le.PutUint64(z[4:], 44)
		le.PutUint64(z[24:], uint64(count))
		le.PutUint64(z[32:], uint64(count))
		le.PutUint64(z[40:], uint64(len(dir)))
		le.PutUint64(z[48:], offset)
		z = append(le.AppendUint64(append(z, "PK\x06\x07\x00\x00\x00\x00"...), at), 1, 0, 0, 0)
		out = append(out, z...)
		count, dir, offset = 0xffff, nil, 0xffffffff
	}
	le.PutUint16(end[8:], count)
	le.PutUint16(end[10:], count)
	le.PutUint32(end[12:], uint32(len(dir)))
	if a.zip64 {
		le.PutUint32(end[12:], 0xffffffff)
	}
	le.PutUint32(end[16:], uint32(offset))
	le.PutUint16(end[20:], or(a.commentLen, uint16(len(a.comment))))
	return append(append(out, end...), a.comment...)
}

// files returns entries from pairs of names and contents.
func files(pairs ...string) []rawEntry {
	var list []rawEntry
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, rawEntry{name: pairs[i], content: []byte(pairs[i+1])})
	}
	return list
}

func TestRawArchive(t *testing.T) {
	a := &rawArchive{entries: files("a", "one", "b/c", "two")}
	if got := len(a.bytes()); got < 200 {
		t.Errorf("an archive of %d bytes", got)
	}
}
