package mcpb

import (
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"

	"github.com/slipway-mcp/slipway/check"
)

// Archive is a packed bundle, opened for reading. Before [OpenArchive] returns
// one, every rule about its structure and its names has been held against it, so
// that there is one way to read it: what this package sees is what every other
// reader of zip files sees. What is in the files is checked while they are read:
// a file that is longer, shorter or other than declared ends in an error.
//
// An Archive is safe for concurrent use. [Archive.Close] ends it and every file
// that was opened from it.
type Archive struct {
	r       io.ReaderAt
	closer  io.Closer
	size    int64 // of the whole file
	zipSize int64 // of the zip, without the signature block
	end     int64 // where the last record of the zip begins
	limits  Limits
	entries []Entry
	data    []span // where the bytes of each entry are
	bytes   int64  // of all files when inflated
	notes   []check.Finding
	tree    *tree
}

// Entry is a file or a folder in an [Archive].
type Entry struct {
	// Name is the path in the archive, with slashes, without one at the end.
	Name string
	// Mode is 0755 or 0644 by the execute bit of its owner, and for a folder
	// [fs.ModeDir] with 0755. Nothing else that an archive can say gets through.
	Mode fs.FileMode
	// Size counts the bytes of the file, PackedSize those in the archive.
	Size, PackedSize int64
	// CRC32 is the checksum of the file (IEEE).
	CRC32 uint32
}

// span is where the bytes of an entry lie and how they are packed.
type span struct {
	offset   int64 // of the first byte of data
	deflated bool
}

// OpenArchive opens the packed bundle at name. The caller closes it. limits may be
// nil for the defaults.
//
// An archive that is refused comes back as an [*ArchiveError]; one that cannot be
// read, as the error of the file system.
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

// FS returns the content as a file system. Its files are inflated while they are
// read, and are readers, not seekers. It also has ReadDir, ReadFile and Stat.
func (a *Archive) FS() fs.FS { return a.tree }

// Entries yields what is in the archive, in its order. Folders come only where
// the archive names them.
func (a *Archive) Entries() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for _, e := range a.entries {
			if !yield(e) {
				return
			}
		}
	}
}

// Size returns how many bytes all files have together when unpacked.
func (a *Archive) Size() int64 { return a.bytes }

// PackedSize returns how many bytes the archive itself has, without a signature
// block behind it.
func (a *Archive) PackedSize() int64 { return a.zipSize }

// Notes returns what is allowed and worth a warning, such as two folders that some
// systems take for one; [Check] reports the names of files. The File of a finding is the name of the entry.
func (a *Archive) Notes() []check.Finding { return a.notes }
