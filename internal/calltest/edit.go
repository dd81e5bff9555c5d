package calltest

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/tree"
)

// EditError means that a program cannot add calls to a file without destroying its content.
type EditError struct {
	// Name is the file, without its folder, and Reason what is wrong with it.
	Name, Reason string
}

// Error implements the error interface.
func (e *EditError) Error() string { return e.Name + ": " + e.Reason }

// Hint returns the next step.
func (e *EditError) Hint() string {
	return `correct it, or name another file: an object such as {"calls": []}, in a file whose name ends in .json`
}

// ReadEditable returns the content of a file of saved calls that a program wants to edit. It is nil if the
// file does not exist; a file of white space is valid, too. The error is an [*EditError]: what cannot be
// read completely must not be replaced. Single calls may have mistakes, which an editor keeps.
func ReadEditable(file string) ([]byte, error) {
	switch strings.ToLower(filepath.Ext(file)) {
	case ".yaml", ".yml":
		return nil, uneditable(file, "it is YAML, and edited calls are written as JSON")
	}
	text, err := fsutil.ReadFile(file, MaxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, uneditable(file, fsutil.Reason(err))
	case len(bytes.TrimSpace(text)) == 0:
		return text, nil
	}
	return text, CheckEditable(file, text)
}

// CheckEditable returns the [*EditError] of a text that is the content of a file, or nil.
func CheckEditable(file string, text []byte) error {
	root, err := tree.ReadDocument("calls.json", text)
	switch {
	case err != nil:
		return uneditable(file, err.Error())
	case !root.Get("calls").Is(tree.Array):
		return uneditable(file, "the list of calls is missing")
	}
	return nil
}

func uneditable(file, reason string) error {
	return &EditError{filepath.Base(file), reason}
}
