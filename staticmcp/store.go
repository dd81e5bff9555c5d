package staticmcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// store provides the files of a site: a file system or a web host. Paths are those of
// io/fs.
type store interface {
	// load returns the file at path, of at most limit bytes. If it is still the one that
	// since belongs to, only unchanged and the times are set. The error is errMissing if the
	// file does not exist, and an *unavailable if trying again later may help.
	load(ctx context.Context, path string, since *stamp, limit int64) (*file, error)

	// names calls visit for each entry of the folder dir, in no particular order, until it
	// returns false. It fails with errors.ErrUnsupported if the store cannot list its files,
	// and with errMissing if the folder does not exist.
	names(dir string, visit func(name string, isDir bool) bool) error

	// modified returns when the names in the folder dir last changed, or the zero time if
	// that is unknown.
	modified(dir string) time.Time

	// traits returns the properties of the store.
	traits() traits

	io.Closer
}

// traits are the differences between stores that matter to a Site.
type traits struct {
	title  string // a name for a site without one
	frozen bool   // files never change
	listed bool   // names works
}

// file is a file returned by a store.
type file struct {
	data      []byte
	unchanged bool
	stamp     stamp

	// freshUntil is how long the file may be used without revalidation.
	freshUntil time.Time
	declared   bool // by a web host, rather than by Options
	// staleUntil is how long it may be used if revalidation fails.
	staleUntil time.Time
	// passing reports whether the file must not be cached at all.
	passing bool
}

// stamp identifies one state of a file.
type stamp struct {
	modTime time.Time
	size    int64
	// racy reports whether the file was written so recently that another write could have
	// the same time.
	racy bool

	etag, lastModified string
}

// errMissing is the error of a store for a file that does not exist, or that is not an
// answer at all, such as the web page of a host that never sends 404.
var errMissing = errors.New("no such file")

// unavailable is the error of a store that may succeed later. Its text names only the
// origin of the store.
type unavailable struct {
	text  string
	cause error
}

func (e *unavailable) Error() string { return e.text }
func (e *unavailable) Unwrap() error { return e.cause }

// tooLarge is the error for a file larger than the limit.
type tooLarge struct{ limit int64 }

func (e tooLarge) Error() string {
	return fmt.Sprintf("the file is larger than the limit of %d bytes", e.limit)
}

// far is a time in the distant future: the last January that fits into 64 bits of
// nanoseconds.
var far = time.Date(2262, 1, 1, 0, 0, 0, 0, time.UTC)

// readLimited reads all of r, which has size bytes unless that is negative, but no more
// than limit.
func readLimited(r io.Reader, size, limit int64) ([]byte, error) {
	if size > limit {
		return nil, tooLarge{limit}
	}
	if size < 0 {
		data, err := io.ReadAll(io.LimitReader(r, limit+1))
		if err == nil && int64(len(data)) > limit {
			err = tooLarge{limit}
		}
		return data, err
	}
	// One byte more than the size shows whether the file has grown since.
	data := make([]byte, size+1)
	n, err := io.ReadFull(r, data)
	switch {
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return data[:n:n], nil
	case err != nil:
		return nil, err
	}
	return readMore(r, data, limit)
}

// readMore reads the rest of a file that is longer than expected.
func readMore(r io.Reader, data []byte, limit int64) ([]byte, error) {
	rest, err := io.ReadAll(io.LimitReader(r, limit+1-int64(len(data))))
	if err != nil {
		return nil, err
	}
	if data = append(data, rest...); int64(len(data)) > limit {
		return nil, tooLarge{limit}
	}
	return data, nil
}
