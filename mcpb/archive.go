package mcpb

import (
	"io"

	"github.com/slipway-mcp/slipway/mcpb/internal/zip"
)

// Archive is a packed bundle, opened for reading. [OpenArchive] checks every rule about
// structure and names first, so that all zip readers see the same content in it. The data
// of the files is checked while it is read: a file that is longer or shorter than
// declared, or has another checksum, ends in an error.
//
// An Archive is safe for concurrent use. Its Close method closes it and every file opened
// from it.
type Archive = zip.Archive

// Entry is a file or a folder in an [Archive].
type Entry = zip.Entry

// Limits restricts the size of archives. Zero means the default of the field, a negative
// value no limit.
type Limits = zip.Limits

// ArchiveError reports why an archive is refused.
type ArchiveError = zip.Error

// DefaultLimits returns the limits that a nil [*Limits] means.
func DefaultLimits() Limits { return zip.DefaultLimits() }

// OpenArchive opens the packed bundle at name. The caller closes it. If limits is nil,
// the defaults apply.
//
// If the archive is refused, the error is an [*ArchiveError]; if it cannot be read, the
// error is that of the file system.
func OpenArchive(name string, limits *Limits) (*Archive, error) {
	return zip.Open(name, limits)
}

// NewArchive is [OpenArchive] for the first size bytes of r. r must support concurrent
// reads and must not change; closing the archive does not close it.
func NewArchive(r io.ReaderAt, size int64, limits *Limits) (*Archive, error) {
	return zip.New(r, size, limits)
}
