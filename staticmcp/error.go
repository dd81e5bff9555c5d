package staticmcp

import (
	"errors"

	"github.com/slipway-mcp/slipway/internal/site"
)

// SiteError is why a site as a whole cannot be opened or checked.
type SiteError struct {
	Op   string // what failed, such as "open site"
	File string // the file that Err is about, or "" if Err names its subject
	Err  error
}

// Error implements the error interface.
func (e *SiteError) Error() string { return e.Op + ": " + e.Reason() }

// Unwrap returns the cause.
func (e *SiteError) Unwrap() error { return e.Err }

// Reason returns the text without Op.
func (e *SiteError) Reason() string {
	if e.File == "" {
		return e.Err.Error()
	}
	return e.File + ": " + e.Err.Error()
}

// Detail returns the part of the cause that Reason omits because the clients of a site see
// it, such as an address in the local network, or "".
func (e *SiteError) Detail() string { return site.Detail(e.Err) }

// IsServer reports whether the host answers a request for the manifest as MCP servers do: it does
// not allow GET, or sends an event stream.
func (e *SiteError) IsServer() bool { return errors.As(e.Err, new(*site.NotSite)) }

// newSiteError returns the error of an operation that failed at a file of the site.
func newSiteError(op, file string, err error) *SiteError {
	e := &SiteError{
		Op:   op,
		File: file,
		Err:  err,
	}
	if site.NamesSubject(err) {
		e.File = ""
	}
	return e
}
