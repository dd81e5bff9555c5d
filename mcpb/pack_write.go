package mcpb

import (
	"encoding/binary"
	"io"
	"math"
	"time"
)

// zipWriter writes an archive sequentially, without seeking.
type zipWriter struct {
	w         io.Writer
	at        int64
	date      uint32 // in MS-DOS format
	directory []byte
	count     int
	err       error

	// The file being written.
	header zipHeader
	start  int64 // of its data
}

// zipHeader is the content of both headers of a file.
type zipHeader struct {
	name       string
	executable bool
	method     uint16
	crc        uint32
	packed     int64
	size       int64
	later      bool // sizes and checksum follow the data
	offset     int64
}

func newZipWriter(w io.Writer, modified time.Time) *zipWriter {
	return &zipWriter{w: w, date: dosTime(modified)}
}

// dosTime returns date and time in zip format: UTC, in steps of two seconds, from 1980 to
// 2107.
func dosTime(t time.Time) uint32 {
	t = t.UTC()
	switch {
	case t.Year() < 1980:
		t = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)
	case t.Year() > 2107:
		t = time.Date(2107, 12, 31, 23, 59, 58, 0, time.UTC)
	}
	date := (t.Year()-1980)<<9 | int(t.Month())<<5 | t.Day()
	clock := t.Hour()<<11 | t.Minute()<<5 | t.Second()/2
	return uint32(date)<<16 | uint32(clock)
}

func (z *zipWriter) write(b []byte) {
	if z.err != nil {
		return
	}
	n, err := z.w.Write(b)
	z.at += int64(n)
	z.err = err
}

// wide reports whether the sizes of a file may not fit into 32 bits. Incompressible data
// grows a little.
func (h *zipHeader) wide() bool { return h.size >= math.MaxUint32-16<<20 }

// large reports whether n does not fit into 32 bits.
func large(n int64) bool { return n >= math.MaxUint32 }

func low32(n int64) uint32 { return uint32(min(n, math.MaxUint32)) }

func (h *zipHeader) flags() uint16 {
	var flags uint16
	if !isASCII(h.name) {
		flags |= flagUTF8
	}
	if h.later {
		flags |= flagDescriptor
	}
	return flags
}

// needs returns the format version that a reader must support.
func (h *zipHeader) needs() uint16 {
	if h.wide() || large(h.packed) || large(h.offset) {
		return 45
	}
	return 20
}

// begin writes the local header of a file.
func (z *zipWriter) begin(h zipHeader) {
	h.offset = z.at
	z.header = h
	crc, packed, size := h.crc, h.packed, h.size
	var extra []byte
	wide := h.wide()
	if wide {
		extra = binary.LittleEndian.AppendUint16([]byte{1, 0}, 16)
	}
	switch {
	case wide && h.later:
		extra = append(extra, make([]byte, 16)...)
		crc, packed, size = 0, math.MaxUint32, math.MaxUint32
	case wide:
		extra = binary.LittleEndian.AppendUint64(extra, uint64(size))
		extra = binary.LittleEndian.AppendUint64(extra, uint64(packed))
		packed, size = math.MaxUint32, math.MaxUint32
	case h.later:
		crc, packed, size = 0, 0, 0
	}
	b := make([]byte, 0, localLen+len(h.name)+len(extra))
	b = append(b, localSignature...)
	b = z.common(b, &h, crc, packed, size, len(extra))
	b = append(append(b, h.name...), extra...)
	z.write(b)
	z.start = z.at
}

// common appends the fields of both headers.
func (z *zipWriter) common(b []byte, h *zipHeader, crc uint32, packed, size int64, extra int) []byte {
	le := binary.LittleEndian
	b = le.AppendUint16(b, h.needs())
	b = le.AppendUint16(b, h.flags())
	b = le.AppendUint16(b, h.method)
	b = le.AppendUint32(b, z.date)
	b = le.AppendUint32(b, crc)
	b = le.AppendUint32(b, low32(packed))
	b = le.AppendUint32(b, low32(size))
	b = le.AppendUint16(b, uint16(len(h.name)))
	return le.AppendUint16(b, uint16(extra))
}

// end finishes the file. crc and size are for all its data.
func (z *zipWriter) end(crc uint32, size int64) {
	h := &z.header
	wide := h.wide()
	h.crc, h.size, h.packed = crc, size, z.at-z.start
	if h.later {
		b := binary.LittleEndian.AppendUint32([]byte(descriptorSignature), crc)
		if wide {
			b = binary.LittleEndian.AppendUint64(b, uint64(h.packed))
			b = binary.LittleEndian.AppendUint64(b, uint64(h.size))
		} else {
			b = binary.LittleEndian.AppendUint32(b, uint32(h.packed))
			b = binary.LittleEndian.AppendUint32(b, uint32(h.size))
		}
		z.write(b)
	}
	z.addCentral(h)
}

// addCentral adds the file to the directory.
func (z *zipWriter) addCentral(h *zipHeader) {
	const unix, regular = 3 << 8, 0o100000
	le := binary.LittleEndian
	var extra []byte
	for _, n := range []int64{h.size, h.packed, h.offset} {
		if large(n) {
			extra = le.AppendUint64(extra, uint64(n))
		}
	}
	if extra != nil {
		extra = append(le.AppendUint16([]byte{1, 0}, uint16(len(extra))), extra...)
	}
	mode := uint32(regular | 0o644)
	if h.executable {
		mode = regular | 0o755
	}
	b := append(z.directory, centralSignature...)
	b = le.AppendUint16(b, unix|h.needs())
	b = z.common(b, h, h.crc, h.packed, h.size, len(extra))
	b = append(b, make([]byte, 6)...) // no comment, first disk, no internal attributes
	b = le.AppendUint32(b, mode<<16)
	b = le.AppendUint32(b, low32(h.offset))
	z.directory = append(append(b, h.name...), extra...)
	z.count++
}

// close writes the directory and the records after it.
func (z *zipWriter) close() error {
	le := binary.LittleEndian
	begin, size := z.at, int64(len(z.directory))
	z.write(z.directory)
	if z.count >= math.MaxUint16 || large(begin) || large(size) {
		at := z.at
		b := le.AppendUint64([]byte(zip64EndSignature), zip64EndLen-12)
		b = append(b, 45, 3, 45, 0)
		b = append(b, make([]byte, 8)...)
		for _, n := range []int64{int64(z.count), int64(z.count), size, begin} {
			b = le.AppendUint64(b, uint64(n))
		}
		b = append(b, zip64LocatorSig+"\x00\x00\x00\x00"...)
		b = le.AppendUint64(b, uint64(at))
		z.write(le.AppendUint32(b, 1))
	}
	count := uint16(min(z.count, math.MaxUint16))
	b := append([]byte(endSignature), 0, 0, 0, 0)
	b = le.AppendUint16(le.AppendUint16(b, count), count)
	b = le.AppendUint32(le.AppendUint32(b, low32(size)), low32(begin))
	z.write(append(b, 0, 0))
	return z.err
}
