package mcpb

import (
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"

	"github.com/slipway-mcp/slipway/check"
)

// Archive is a packed bundle, opened for reading. [OpenArchive] checks every rule about
// structure and names first, so that all zip readers see the same content in it. The data
// of the files is checked while it is read: a file that is longer or shorter than
// declared, or has another checksum, ends in an error.
//
// An Archive is safe for concurrent use. [Archive.Close] closes it and every file opened
// from it.
type Archive struct {
	r       io.ReaderAt
	closer  io.Closer
	size    int64 // of the whole file
	zipSize int64 // of the zip, without the signature block
	end     int64 // where the last record of the zip begins
	limits  Limits
	entries []Entry
	data    []span // offset and packing of each entry's data
	bytes   int64  // uncompressed size of all files
	notes   []check.Finding
	tree    *tree
}

// Entry is a file or a folder in an [Archive].
type Entry struct {
	// Name is the path in the archive, with slashes, without one at the end.
	Name string
	// Mode is 0755 or 0644, depending on the owner's execute bit, or [fs.ModeDir] with
	// 0755 for a folder. All other mode bits of the archive are ignored.
	Mode fs.FileMode
	// Size is the number of bytes of the file, PackedSize of its data in the archive.
	Size, PackedSize int64
	// CRC32 is the checksum of the file (IEEE).
	CRC32 uint32
}

// span is where the data of an entry is and how it is packed.
type span struct {
	offset   int64 // of the first byte of data
	deflated bool
}

// OpenArchive opens the packed bundle at name. The caller closes it. If limits is nil,
// the defaults apply.
//
// If the archive is refused, the error is an [*ArchiveError]; if it cannot be read, the
// error is that of the file system.
func OpenArchive(name string, limits *Limits) (*Archive, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	a, err := archiveIn(f, limits)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	a.closer = f
	return a, nil
}

// archiveIn is [NewArchive] for a whole file.
func archiveIn(f *os.File, limits *Limits) (*Archive, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: f.Name(), Err: errors.New("not a regular file")}
	}
	return NewArchive(f, info.Size(), limits)
}

// NewArchive is [OpenArchive] for the first size bytes of r, which stays open and
// must not change.
func NewArchive(r io.ReaderAt, size int64, limits *Limits) (*Archive, error) {
	a := &Archive{r: r, size: size, limits: limits.withDefaults()}
	if err := a.limits.admitArchive(size); err != nil {
		return nil, err
	}
	block, err := findBlock(r, size)
	if err != nil {
		return nil, err
	}
	if err := refuseTwice(r, block); err != nil {
		return nil, err
	}
	a.zipSize = block.begin
	if err := a.readDirectory(block); err != nil {
		return nil, err
	}
	if a.tree, err = newTree(a.entries, a.open); err != nil {
		return nil, err
	}
	a.notes = append(a.notes, a.tree.notes...)
	return a, nil
}

// Close closes the file that [OpenArchive] opened.
func (a *Archive) Close() error {
	if a.closer == nil {
		return nil
	}
	return a.closer.Close()
}

// FS returns the content as a file system. Its files are decompressed while they are read
// and cannot seek. It also implements [fs.ReadDirFS] and [fs.StatFS].
func (a *Archive) FS() fs.FS { return a.tree }

// Entries yields the entries in the order of the archive. It includes only those folders
// that have an entry.
func (a *Archive) Entries() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for _, e := range a.entries {
			if !yield(e) {
				return
			}
		}
	}
}

// Size returns the size of all files when unpacked, in bytes.
func (a *Archive) Size() int64 { return a.bytes }

// PackedSize returns the size of the archive in bytes, without an appended signature
// block.
func (a *Archive) PackedSize() int64 { return a.zipSize }

// Notes returns warnings about allowed but problematic content, such as two folders whose
// names are the same on some systems; [Check] reports the names of files. The File of a
// finding is the name of the entry.
func (a *Archive) Notes() []check.Finding { return a.notes }
