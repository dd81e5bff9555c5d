package open

import "fmt"

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
