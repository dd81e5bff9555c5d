package open

import "fmt"

// Kind says whose matter a failure is.
type Kind int

const (
	// Unreadable is a file or folder that is not there, cannot be read, or is
	// nothing that can be opened.
	Unreadable Kind = iota
	// Remote is a web host that cannot be reached or does not have what was
	// asked for.
	Remote
	// Ambiguous is a folder that can be read in several ways, of which the caller
	// has to choose one.
	Ambiguous
)

// Error is why an argument could not be opened, in words for the person who
// typed it.
type Error struct {
	Arg  string // what was typed
	Why  string
	Hint string // what to type or to do next, or empty
	Kind Kind
	Err  error // the cause, or nil
}

// Error implements the error interface. The hint is not part of it.
func (e *Error) Error() string { return fmt.Sprintf("open %s: %s", e.Arg, e.Why) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
