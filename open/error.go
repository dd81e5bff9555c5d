package open

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// Kind is the cause of a failure.
type Kind int

const (
	// Unreadable is a file or folder that does not exist, cannot be read, or has no
	// supported format.
	Unreadable Kind = iota
	// Remote is a web host that cannot be reached or does not have the requested content.
	Remote
	// Ambiguous is a folder with several interpretations, of which the caller must choose
	// one.
	Ambiguous
)

// Error is the reason an argument could not be opened, in words for the user who typed
// it.
type Error struct {
	Arg  string // as typed
	Why  string
	Hint string // the next command or step, or empty
	Kind Kind
	Err  error // the cause, or nil
}

// Error implements the error interface. It does not include the hint.
func (e *Error) Error() string { return fmt.Sprintf("open %s: %s", e.Arg, e.Why) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// unreadable returns the error for a path that cannot be read, without naming it again.
func unreadable(arg string, err error) *Error {
	e := &Error{Arg: arg, Why: reasonOf(err), Err: err}
	var path *fs.PathError
	if errors.As(err, &path) && path.Path == arg {
		e.Why = path.Err.Error()
	}
	return e
}

// unreachable returns the error for the URL of a site; hint is for hosts that answer.
// Unlike the clients of a site, the user who typed the URL may see all details.
func unreachable(arg string, err error, hint string) *Error {
	e := &Error{Arg: arg, Why: reasonOf(err), Kind: Remote, Err: err, Hint: hint}
	var site *staticmcp.SiteError
	if errors.As(err, &site) && site.Detail() != "" {
		e.Why, e.Hint = e.Why+": "+site.Detail(), ""
	}
	return e
}

// reasonOf returns the text of an error without the operation and its target, which an
// [*Error] names already.
func reasonOf(err error) string {
	var site *staticmcp.SiteError
	var server *client.OpenError
	switch {
	case errors.As(err, &site):
		return site.Reason()
	case errors.As(err, &server):
		return server.Err.Error()
	}
	return err.Error()
}
