package zip

import (
	"bufio"
	"errors"
	"hash"
	"hash/crc32"
	"io"
	"io/fs"
	"sync"

	"github.com/klauspost/compress/flate"
)

// open opens a file of the archive. It reads nothing yet: Read finds damage.
func (a *Archive) open(n *node) fs.File {
	return &file{
		archive: a,
		node:    n,
		entry:   n.entry,
		crc:     crc32.NewIEEE(),
	}
}

// file reads a file of an archive and verifies it against its entry: the last Read fails
// if the size or the checksum differs.
type file struct {
	archive *Archive
	node    *node
	entry   *Entry
	in      *inflater // nil until the first Read, and again after the last
	// crc and read are of the bytes unpacked so far, and err is the outcome once there is one.
	crc  hash.Hash32
	read int64
	err  error
}

func (f *file) Stat() (fs.FileInfo, error) { return f.node, nil }

// Read unpacks the next bytes. The file is verified against its declared size and CRC-32 at its
// end. An error stays: later calls return it again.
func (f *file) Read(p []byte) (int, error) {
	if f.err != nil || len(p) == 0 {
		return 0, f.err
	}
	if f.in == nil {
		data := io.NewSectionReader(f.archive.r, f.entry.data, f.entry.PackedSize)
		f.in = newInflater(data, f.entry.method == methodDeflate)
	}
	// One byte more than declared is requested, to notice longer data.
	n, err := f.in.out.Read(p[:min(int64(len(p)), f.entry.Size-f.read+1)])
	f.read += int64(n)
	if f.read > f.entry.Size {
		n--
		err = damagedf(f.entry.Name,
			"it is longer than the %d bytes that it declares", f.entry.Size)
	}
	_, _ = f.crc.Write(p[:n])
	var refused *Error
	switch {
	case err == nil:
		return n, nil
	case err == io.EOF:
		err = f.verify()
	case !errors.As(err, &refused):
		err = damagedf(f.entry.Name, "its data cannot be unpacked: %v", err)
	}
	f.release()
	f.err = err
	if n > 0 {
		return n, nil
	}
	return 0, err
}

// verify returns the result of the last Read.
func (f *file) verify() error {
	switch {
	case f.read < f.entry.Size:
		return damagedf(f.entry.Name, "it has %d of the %d bytes that it declares",
			f.read, f.entry.Size)
	case f.crc.Sum32() != f.entry.CRC32:
		return damagedf(f.entry.Name, "its checksum is wrong")
	}
	if _, err := f.in.packed.ReadByte(); err == nil {
		return unsafef(RuleAmbiguous, f.entry.Name, "bytes follow the end of its data")
	}
	return io.EOF
}

// release returns the buffers for the next file.
func (f *file) release() {
	if f.in != nil {
		f.in.packed.Reset(nil)
		inflaters.Put(f.in)
		f.in = nil
	}
}

// Close releases the decompressor, which is reused for other files. A file that was not read to its
// end is not verified.
func (f *file) Close() error {
	f.release()
	if f.err == nil {
		f.err = fs.ErrClosed
	}
	return nil
}

// inflater holds the buffers that are expensive to allocate for each file.
type inflater struct {
	// packed buffers the file, and out reads from deflate, or from packed if the data is stored.
	packed  *bufio.Reader
	deflate io.ReadCloser
	out     io.Reader
}

var inflaters sync.Pool // of *inflater

// newInflater returns a reader of data, with the buffers of an earlier one if possible.
func newInflater(data io.Reader, deflated bool) *inflater {
	in, _ := inflaters.Get().(*inflater)
	if in == nil {
		in = &inflater{packed: bufio.NewReaderSize(nil, 32<<10)}
		in.deflate = flate.NewReader(in.packed)
	}
	in.packed.Reset(data)
	in.out = in.packed
	if deflated {
		// Reset of a reader without a dictionary cannot fail.
		_ = in.deflate.(flate.Resetter).Reset(in.packed, nil)
		in.out = in.deflate
	}
	return in
}
