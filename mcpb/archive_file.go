package mcpb

import (
	"bufio"
	"hash"
	"hash/crc32"
	"io"
	"io/fs"
	"sync"

	"github.com/klauspost/compress/flate"
)

var (
	_ fs.ReadDirFS   = (*tree)(nil)
	_ fs.StatFS      = (*tree)(nil)
	_ fs.ReadDirFile = (*openFolder)(nil)
)

// open opens the file of the entry at index.
func (a *Archive) open(index int) fs.File {
	e := &a.entries[index]
	return &openFile{archive: a, node: a.tree.nodes[e.Name], entry: e, data: a.data[index], crc: crc32.NewIEEE()}
}

// openFile reads a file of an archive and verifies it against its entry: the last Read
// fails if the size or the checksum differs.
type openFile struct {
	archive *Archive
	node    *treeNode
	entry   *Entry
	data    span

	in   *inflater // nil until the first Read, and again after the last
	crc  hash.Hash32
	read int64
	err  error
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.node, nil }

func (f *openFile) Read(p []byte) (int, error) {
	if f.err != nil || len(p) == 0 {
		return 0, f.err
	}
	if f.in == nil {
		f.in = newInflater(io.NewSectionReader(f.archive.r, f.data.offset, f.entry.PackedSize), f.data.deflated)
	}
	// One byte more than declared is requested, to notice longer data.
	n, err := f.in.out.Read(p[:min(int64(len(p)), f.entry.Size-f.read+1)])
	f.read += int64(n)
	if f.read > f.entry.Size {
		return f.fail(n-1, damagedf(f.entry.Name, "it is longer than the %d bytes that it declares", f.entry.Size))
	}
	_, _ = f.crc.Write(p[:n])
	if err == io.EOF {
		return f.fail(n, f.atEnd())
	}
	if err != nil {
		return f.fail(n, damagedf(f.entry.Name, "its data cannot be unpacked: %v", err))
	}
	return n, nil
}

// fail ends reading with err and releases the inflater.
func (f *openFile) fail(n int, err error) (int, error) {
	f.err = err
	f.release()
	if n > 0 {
		return n, nil
	}
	return 0, err
}

func (f *openFile) release() {
	if f.in != nil {
		f.in.release()
		f.in = nil
	}
}

// atEnd returns the result of the last Read.
func (f *openFile) atEnd() error {
	switch {
	case f.read < f.entry.Size:
		return damagedf(f.entry.Name, "it has %d of the %d bytes that it declares", f.read, f.entry.Size)
	case f.crc.Sum32() != f.entry.CRC32:
		return damagedf(f.entry.Name, "its checksum is wrong")
	}
	if _, err := f.in.packed.ReadByte(); err == nil {
		return unsafef(ruleAmbiguous, f.entry.Name, "bytes follow the end of its data")
	}
	return io.EOF
}

func (f *openFile) Close() error {
	f.release()
	if f.err == nil {
		f.err = fs.ErrClosed
	}
	return nil
}

// inflater holds the buffers that are expensive to allocate for each file.
type inflater struct {
	packed  *bufio.Reader
	deflate io.ReadCloser
	out     io.Reader
}

var inflaters sync.Pool // of *inflater

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

func (in *inflater) release() {
	in.packed.Reset(nil)
	inflaters.Put(in)
}

// openFolder lists a folder.
type openFolder struct {
	node *treeNode
	next int
}

func (f *openFolder) Stat() (fs.FileInfo, error) { return f.node, nil }
func (f *openFolder) Close() error               { return nil }

func (f *openFolder) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: f.node.name, Err: fs.ErrInvalid}
}

// ReadDir implements [fs.ReadDirFile].
func (f *openFolder) ReadDir(n int) ([]fs.DirEntry, error) {
	left := f.node.children[f.next:]
	if n > 0 && len(left) == 0 {
		return nil, io.EOF
	}
	if n > 0 {
		left = left[:min(n, len(left))]
	}
	f.next += len(left)
	return f.node.entries(left), nil
}
