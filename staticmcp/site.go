package staticmcp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"github.com/slipway-mcp/slipway/internal/site"

	"github.com/slipway-mcp/slipway/mcp"
)

// Site is an opened StaticMCP site. It is a source of tools, resources and prompts whose
// answers are files.
//
// Answers reach clients as their author wrote them, byte for byte except for white space
// between tokens. They are validated once and kept in a cache of limited size. A Site
// keeps no state per client or session.
//
// A Site of a folder or a URL notices changes: of the manifest by polling, of an answer
// when it is read. All methods are safe for concurrent use. Close the Site when it is no
// longer served.
type Site struct {
	// opts are complete, and store reads the files.
	opts  *Options
	store *site.Packed
	offer atomic.Pointer[offer]

	// cache has parsed files, and flights those that are being loaded.
	cache   *cache
	flights flights
	// learnt is the form that last found a resource on a web host, plus one.
	learnt atomic.Uint32
	// untold are the tools whose schema warnings were already logged.
	untold sync.Map

	watchers mcp.Watchers
	stop     context.CancelFunc
	watched  bool // polling runs
	polling  sync.WaitGroup
	closing  sync.Once
	closed   error
}

var (
	_ mcp.Source  = (*Site)(nil)
	_ mcp.Watcher = (*Site)(nil)
	_ io.Closer   = (*Site)(nil)
)

// Catalog implements [mcp.Source]. The entries are those of the manifest, in its order
// and wording.
func (s *Site) Catalog(context.Context) (*mcp.Catalog, error) {
	return s.offer.Load().catalog, nil
}

// Warnings returns the problems of the manifest in use, one line each. The slice must not
// be modified.
func (s *Site) Warnings() []string { return s.offer.Load().warnings }

// Close stops watching the site and releases its files. Requests being served may fail.
// Close can be called more than once.
func (s *Site) Close() error {
	s.closing.Do(func() {
		s.stop()
		s.polling.Wait()
		s.closed = s.store.Close()
	})
	return s.closed
}

// FileError names a file that cannot be used. It is the cause of the error that clients
// receive, which does not contain its text.
type FileError struct {
	Path string // in the site
	Err  error  // what is wrong with it
}

// Error implements the error interface.
func (e *FileError) Error() string { return e.Path + ": " + e.Err.Error() }

// Unwrap returns what is wrong with the file.
func (e *FileError) Unwrap() error { return e.Err }

func isUnavailable(err error) bool {
	var u *site.Unavailable
	return errors.As(err, &u)
}

// wireError converts an error for a client. Paths stay in the log. code is the range of
// the error, for clients that read it from data.
func (s *Site) wireError(err error, code mcp.Code) error {
	var u *site.Unavailable
	var large site.TooLarge
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.As(err, &u):
		data, _ := mcp.Marshal(map[string]any{"retryable": true, "kind": "unavailable", "code": code})
		return &mcp.Error{
			Code:    mcp.CodeInternalError,
			Message: u.Text,
			Data:    data,
			Cause:   err,
		}
	case errors.As(err, &large):
		return &mcp.Error{
			Code:    mcp.CodeInternalError,
			Message: large.Error(),
			Data:    json.RawMessage(`{"kind":"too-large"}`),
			Cause:   err,
		}
	}
	return &mcp.Error{
		Code:    mcp.CodeInternalError,
		Message: "the site's answer cannot be used",
		Data:    json.RawMessage(`{"kind":"invalid-file"}`),
		Cause:   err,
	}
}
