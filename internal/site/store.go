package site

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Store provides the files of a site: a file system or a web host. Paths are those of
// io/fs.
type Store interface {
	// Load returns the file at path, of at most limit bytes. If it is still the one that
	// since belongs to, only unchanged and the times are set. The error is errMissing if the
	// File does not exist, and an *unavailable if trying again later may help.
	Load(ctx context.Context, path string, since *Stamp, limit int64) (*File, error)

	// Names calls visit for each entry of the folder dir, in no particular order, until it
	// returns false. It fails with errors.ErrUnsupported if the store cannot list its files,
	// and with errMissing if the folder does not exist.
	Names(dir string, visit func(name string, isDir bool) bool) error

	// Modified returns when the names in the folder dir last changed, or the zero time if
	// that is unknown.
	Modified(dir string) time.Time

	// Traits returns the properties of the store.
	Traits() traits

	io.Closer
}

// Defaults of the limits that reading and checking share.
const (
	DefaultMaxFileBytes     = 16 << 20
	DefaultMaxManifestBytes = 64 << 20
	DefaultMaxEntries       = 1_000_000
	DefaultTimeout          = 20 * time.Second
	DefaultMaxFetches       = 8
	DefaultMaxMisses        = 5
)

// Options configure a store. No field has a default here.
type Options struct {
	MaxEntries int // files of a zip

	// Recheck is how long a file is used before it is checked again, and StaleIfError how
	// long if that fails.
	Recheck      time.Duration
	StaleIfError time.Duration

	HTTPClient *http.Client // nil means a client of its own
	// Timeout limits one request, and MaxFetches how many run at once.
	Timeout    time.Duration
	MaxFetches int
}

// Traits are the differences between stores that matter to a Site.
type traits struct {
	Title  string // a name for a site without one
	Frozen bool   // files never change
	Listed bool   // Names works
}

// File is a file returned by a store.
type File struct {
	// Data is the content; nil if Unchanged.
	Data      []byte
	Unchanged bool
	Stamp     Stamp

	// FreshUntil is how long the file may be used without revalidation.
	FreshUntil time.Time
	Declared   bool // by a web host, rather than by Options
	// StaleUntil is how long it may be used if revalidation fails.
	StaleUntil time.Time
	// Passing reports whether the file must not be cached at all.
	Passing bool
}

// Stamp identifies one state of a file.
type Stamp struct {
	// ModTime and size identify the version of a local file, etag and lastModified that of
	// a file on a host.
	ModTime time.Time
	size    int64
	// racy reports whether the file was written so recently that another write could have
	// the same time.
	racy bool

	etag, lastModified string
}

// ErrMissing is the error of a store for a file that does not exist, or that is not an
// answer at all, such as the web page of a host that never sends 404.
var ErrMissing = errors.New("no such file")

// Unavailable is the error of a store that may succeed later. Its text names only the
// origin of the store.
type Unavailable struct {
	// Text is the message, without the path or the URL.
	Text  string
	cause error
}

func (e *Unavailable) Error() string { return e.Text }
func (e *Unavailable) Unwrap() error { return e.cause }

// NotSite is the error of a host that does not allow GET for the manifest, or answers it with an
// event stream, so it has a server there and no site. Its text names the host.
type NotSite struct{ Text string }

func (e *NotSite) Error() string { return e.Text }

// TooLarge is the error for a file larger than the limit.
type TooLarge struct{ Limit int64 }

func (e TooLarge) Error() string {
	return fmt.Sprintf("the file is larger than the limit of %d bytes", e.Limit)
}

// Far is a time in the distant future: the last January that fits into 64 bits of
// nanoseconds.
var Far = time.Date(2262, 1, 1, 0, 0, 0, 0, time.UTC)

// ReadLimited reads all of r, which has size bytes unless that is negative, but no more
// than limit.
func ReadLimited(r io.Reader, size, limit int64) ([]byte, error) {
	if size > limit {
		return nil, TooLarge{limit}
	}
	if size < 0 {
		data, err := io.ReadAll(io.LimitReader(r, limit+1))
		if err == nil && int64(len(data)) > limit {
			err = TooLarge{limit}
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
		return nil, TooLarge{limit}
	}
	return data, nil
}
