package zip

import (
	stdzip "archive/zip"
	"io"
	"math"
	"time"
)

//lint:file-ignore SA1019 CreateRaw writes the fields of the records as they are

// Writer writes an archive sequentially, from data that is already packed. Its archives
// depend only on its input.
type Writer struct {
	zip         *stdzip.Writer
	date, clock uint16 // in MS-DOS format
	// header is that of the current file, and data receives its content.
	header *stdzip.FileHeader
	data   io.Writer
}

// File is a file to write.
type File struct {
	Name       string
	Executable bool
	Deflated   bool // else stored
	// Known, if not nil, are the sizes and the checksum, which precede the data. Otherwise
	// they follow it.
	Known *Sum
}

// Sum is what a header says about the data of a file.
type Sum struct {
	Size, Packed int64
	CRC32        uint32
}

// NewWriter returns a writer to w. modified is the time of every file: UTC, in steps of
// two seconds, from 1980 to 2107.
func NewWriter(w io.Writer, modified time.Time) *Writer {
	t := modified.UTC()
	switch {
	case t.Year() < 1980:
		t = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)
	case t.Year() > 2107:
		t = time.Date(2107, 12, 31, 23, 59, 58, 0, time.UTC)
	}
	return &Writer{
		zip:   stdzip.NewWriter(w),
		date:  uint16((t.Year()-1980)<<9 | int(t.Month())<<5 | t.Day()),
		clock: uint16(t.Hour()<<11 | t.Minute()<<5 | t.Second()/2),
	}
}

// Begin writes the header of a file.
func (w *Writer) Begin(f *File) error {
	const unix, version, regular = 3 << 8, 20, 0o100000
	h := &stdzip.FileHeader{
		Name:           f.Name,
		CreatorVersion: unix | version,
		ReaderVersion:  version,
		ModifiedDate:   w.date,
		ModifiedTime:   w.clock,
		ExternalAttrs:  (regular | 0o644) << 16,
	}
	if f.Executable {
		h.ExternalAttrs = (regular | 0o755) << 16
	}
	if f.Deflated {
		h.Method = methodDeflate
	}
	if !isASCII(f.Name) {
		h.Flags |= flagUTF8
	}
	if f.Known == nil {
		h.Flags |= flagDescriptor
	} else {
		setSum(h, f.Known)
	}
	w.header = h
	var err error
	w.data, err = w.zip.CreateRaw(h)
	return err
}

// setSum sets the sizes and the CRC of a header. The 32-bit sizes are for readers of files below 4
// GiB.
func setSum(h *stdzip.FileHeader, s *Sum) {
	h.CRC32 = s.CRC32
	h.CompressedSize64 = uint64(s.Packed)
	h.UncompressedSize64 = uint64(s.Size)
	h.CompressedSize = uint32(min(s.Packed, math.MaxUint32))
	h.UncompressedSize = uint32(min(s.Size, math.MaxUint32))
}

// Write writes data of the file, as it is in the archive.
func (w *Writer) Write(packed []byte) (int, error) {
	return w.data.Write(packed)
}

// End completes the file, whose data is that of s.
func (w *Writer) End(s *Sum) { setSum(w.header, s) }

// Close writes the directory.
func (w *Writer) Close() error { return w.zip.Close() }
