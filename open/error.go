package open

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/internal/nearest"
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
	// Kind is the class of the error, which decides the exit code.
	Kind Kind
	Err  error // the cause, or nil
}

// Error implements the error interface. It does not include the hint, and redacts secrets
// in a URL.
func (e *Error) Error() string {
	return fmt.Sprintf("open %s: %s", Argument(e.Arg).Redacted(), e.Why)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// unreadable returns the error for a path that cannot be read, without naming it again.
func unreadable(arg string, err error) *Error {
	e := &Error{
		Arg: arg,
		Why: reasonOf(err),
		Err: err,
	}
	var path *fs.PathError
	if errors.As(err, &path) && path.Path == arg {
		e.Why = path.Err.Error()
	}
	return e
}

// unreachable returns the error for the URL of a site. Unlike the clients of a site, the user
// who typed the URL may see all details.
func unreachable(arg string, err error) *Error {
	e := &Error{
		Arg:  arg,
		Why:  reasonOf(err),
		Kind: Remote,
		Err:  err,
	}
	var site *staticmcp.SiteError
	if errors.As(err, &site) && site.Detail() != "" {
		e.Why = e.Why + ": " + site.Detail()
	}
	return e
}

// remoteError returns the error for a web host, without naming the URL again.
func remoteError(address string, err error) *Error {
	e := &Error{
		Arg:  address,
		Why:  err.Error(),
		Kind: Remote,
		Err:  err,
	}
	var u *url.Error
	if errors.As(err, &u) {
		e.Why = u.Err.Error()
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

// supported is the hint of every error about an unsupported format.
const supported = "slipway help sources lists what can be opened"

// unsupported returns the error for an input that exists but has no reader. what describes it, such
// as "a file of this kind".
func unsupported(arg, what string) *Error {
	return &Error{
		Arg:  arg,
		Why:  what + " cannot be opened",
		Hint: supported,
	}
}

// unsupportedFile returns the error for a file without a reader: it may be a program, or unreadable.
func unsupportedFile(t *target) *Error {
	if t.info.Mode().IsRegular() {
		file, err := os.Open(t.arg)
		if err != nil {
			return unreadable(t.arg, err)
		}
		_ = file.Close() // it was only read
	}
	e := unsupported(t.arg, "a file of this kind")
	if hint := programHint(t.arg, t.info); hint != "" {
		e.Hint = hint
	}
	return e
}

// manifestError returns the error for the manifest of a site.
func manifestError(arg string) *Error {
	return &Error{
		Arg:  arg,
		Why:  "a site is a folder, and this is a file in it",
		Hint: "name the folder: " + filepath.Dir(arg),
	}
}

// folderError returns the error for a folder that err says is not a site.
func folderError(arg string, err error) *Error {
	entries, readErr := os.ReadDir(arg)
	if readErr != nil {
		return unreadable(arg, err)
	}
	e := &Error{
		Arg:  arg,
		Why:  "the folder " + describe(entries),
		Hint: supported,
		Err:  err,
	}
	if below := siteBelow(arg); below != "" {
		e.Hint = "did you mean " + below + "?"
	}
	return e
}

// describe says that a folder is empty, or lists its first few entries.
func describe(entries []os.DirEntry) string {
	if len(entries) == 0 {
		return "is empty"
	}
	const few = 5
	names := make([]string, 0, few)
	for _, e := range entries[:min(few, len(entries))] {
		name := e.Name()
		if e.IsDir() {
			name += "/"
		}
		names = append(names, name)
	}
	text := "has no mcp.json, only " + strings.Join(names, ", ")
	if more := len(entries) - few; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// maxSearched limits the number of folders searched for a hint.
const maxSearched = 1000

// siteBelow returns a site one or two folders below dir, where generators put their
// output, or "".
func siteBelow(dir string) (found string) {
	searched := 0
	_ = fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case name == ".":
			return nil
		case err != nil, e.IsDir() &&
			(strings.HasPrefix(e.Name(), ".") || e.Name() == "node_modules"):
			return fs.SkipDir
		case !e.IsDir():
			return nil
		}
		sub := filepath.Join(dir, filepath.FromSlash(name))
		if info, err := os.Stat(filepath.Join(sub, manifest)); err == nil && isRegular(info) {
			found = sub
		}
		if searched++; found != "" || searched >= maxSearched {
			return fs.SkipAll
		}
		if strings.Contains(name, "/") {
			return fs.SkipDir
		}
		return nil
	})
	return found
}

// notFound returns the error for a missing path, with a similar existing name as the
// hint.
func notFound(arg string, err error) *Error {
	e := &Error{
		Arg: arg,
		Why: "no such file or folder",
		Err: err,
	}
	path := filepath.Clean(arg)
	dir := filepath.Dir(path)
	entries, readErr := os.ReadDir(dir)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	authority, _, _ := strings.Cut(arg, "/")
	isHost := looksLikeHost(arg) && (readErr == nil || strings.Contains(authority, ":"))
	switch near := nearest.DidYouMean(filepath.Base(path), names); {
	case near != "":
		e.Hint = "did you mean " + filepath.Join(dir, near) + "?"
	case isInstalled(arg):
		e.Hint = commandHint([]string{arg}) + " ..."
	case isHost:
		e.Hint = "did you mean https://" + arg + "?"
	case readErr != nil:
		e.Hint = firstMissing(path)
	}
	return e
}

// firstMissing returns a hint that names the first missing folder in path.
func firstMissing(path string) string {
	missing := ""
	for p := filepath.Dir(path); ; p = filepath.Dir(p) {
		_, err := os.Stat(p)
		if err == nil || p == filepath.Dir(p) {
			break
		}
		missing = p
	}
	if missing == "" {
		return ""
	}
	return "there is no folder " + missing
}

// looksLikeHost reports whether arg could be a URL without a scheme.
func looksLikeHost(arg string) bool {
	host, _, _ := strings.Cut(arg, "/")
	return strings.Contains(host, ".") &&
		!strings.HasPrefix(host, ".") &&
		!strings.HasSuffix(host, ".") &&
		fs.ValidPath(host) &&
		!hasExt(host, ".zip", ".json", ".mcpb", ".dxt")
}
