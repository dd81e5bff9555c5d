// Package zip reads packed bundles strictly, and writes them.
//
// [New] checks the structure and all names of an archive before anything is read from it,
// so that all zip readers see the same content. [Writer] writes archives that every reader
// accepts. The format is that of APPNOTE.TXT, with the signature block of bundles after
// it; see [Block].
package zip

import (
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"slices"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/fsutil"
)

// Archive is a packed bundle, opened for reading. [Open] checks every rule about
// structure and names first, so that all zip readers see the same content in it. The data
// of the files is checked while it is read: a file that is longer or shorter than
// declared, or has another checksum, ends in an error.
//
// An Archive is safe for concurrent use. [Archive.Close] closes it and every file opened
// from it.
type Archive struct {
	// closer is nil if the caller owns r. block is the signature block, or nil.
	r       io.ReaderAt
	closer  io.Closer
	block   *Block
	end     int64 // where the last record of the zip begins
	budget  *Budget
	entries []Entry
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

	raw           string // the name as written, with the slash of a folder
	flags, method uint16
	header, data  int64 // offsets of the local header and of the data
}

// Open opens the packed bundle at name. The caller closes it. If limits is nil, the
// defaults apply.
//
// If the archive is refused, the error is an [*Error]; if it cannot be read, the error is
// that of the file system.
func Open(name string, limits *Limits) (*Archive, error) {
	f, err := fsutil.OpenRegular(name)
	if err != nil {
		return nil, err
	}
	a, err := openFile(f, limits)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	a.closer = f
	return a, nil
}

// openFile opens the archive in f, which stays open as long as the archive is in use.
func openFile(f *os.File, limits *Limits) (*Archive, error) {
	size, err := FileSize(f, limits)
	if err != nil {
		return nil, err
	}
	return New(f, size, limits)
}

// FileSize returns the size of a file. It refuses a file that is not regular, or is too
// large for an archive.
func FileSize(f *os.File, limits *Limits) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() {
		return 0, &fs.PathError{
			Op:   "open",
			Path: f.Name(),
			Err:  errors.New("not a regular file"),
		}
	}
	return info.Size(), NewBudget(limits).AdmitArchive(info.Size())
}

// New is [Open] for the first size bytes of r, which stays open and must not change.
func New(r io.ReaderAt, size int64, limits *Limits) (*Archive, error) {
	a := &Archive{
		r:      r,
		budget: NewBudget(limits),
	}
	if err := a.budget.AdmitArchive(size); err != nil {
		return nil, err
	}
	var err error
	if a.block, err = FindBlock(r, size); err != nil {
		return nil, err
	}
	if err := a.readDirectory(); err != nil {
		return nil, err
	}
	a.tree, err = newTree(a.entries, a.budget, a.open)
	return a, err
}

// Close closes the file that [Open] opened.
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
	return slices.Values(a.entries)
}

// Size returns the size of all files when unpacked, in bytes.
func (a *Archive) Size() int64 { return a.budget.total }

// PackedSize returns the size of the archive in bytes, without an appended signature
// block.
func (a *Archive) PackedSize() int64 { return a.block.Begin }

// Signed reports whether a signature block follows the archive.
func (a *Archive) Signed() bool { return a.block.DER != nil }

// Notes returns warnings about allowed but problematic content, such as two folders whose
// names are the same on some systems. The File of a finding is the name of the entry.
func (a *Archive) Notes() []check.Finding { return a.tree.notes }
