package process

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// MissingError means that a program does not exist or cannot be run. It matches
// [fs.ErrNotExist].
type MissingError struct{ Why string }

// Error implements the error interface.
func (e *MissingError) Error() string { return e.Why }

// Unwrap returns [fs.ErrNotExist].
func (e *MissingError) Unwrap() error { return fs.ErrNotExist }

// LookPath finds a program as the system goos does: a path is used as is, a name is
// searched on the PATH. On Windows the extensions of PATHEXT are appended, unless the name
// ends with one; only those count that can be started without a shell. The current
// folder and relative folders on the PATH are never searched. lookup returns variables
// of the program's environment. The error is a [*MissingError].
func LookPath(name, goos string, lookup func(name string) (string, bool)) (string, error) {
	endings := []string{""}
	separators := "/"
	if goos == "windows" {
		separators = `/\:` // C:name is relative to the folder of a drive
		endings = windowsEndings(name, lookup)
	}
	if strings.ContainsAny(name, separators) {
		if goos == "windows" && filepath.Ext(name) != "" {
			endings = append(endings, "") // any file can be a program
		}
		return findExecutable(name, endings, goos)
	}
	path, _ := lookup("PATH")
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if found, err := findExecutable(filepath.Join(dir, name), endings, goos); err == nil {
			return found, nil
		}
	}
	return "", &MissingError{fmt.Sprintf("program %q not found on the PATH", name)}
}

// startable returns the extensions of programs that Windows starts without a shell.
// PATHEXT also has those of scripts, such as .JS.
func startable() []string { return []string{".com", ".exe", ".bat", ".cmd"} }

// windowsEndings returns what to append to a name, in the order of PATHEXT.
func windowsEndings(name string, lookup func(string) (string, bool)) []string {
	list, _ := lookup("PATHEXT")
	var endings []string
	for ending := range strings.SplitSeq(strings.ToLower(list), ";") {
		if slices.Contains(startable(), ending) {
			endings = append(endings, ending)
		}
	}
	if endings == nil {
		endings = startable()
	}
	if slices.Contains(endings, strings.ToLower(filepath.Ext(name))) {
		return []string{""}
	}
	return endings
}

// findExecutable returns path with the first ending of a program that exists.
func findExecutable(path string, endings []string, goos string) (string, error) {
	for _, ending := range endings {
		info, err := os.Stat(path + ending)
		switch {
		case err != nil:
			continue
		case info.IsDir():
			return "", &MissingError{path + ending + " is a folder"}
		case goos != "windows" && info.Mode().Perm()&0o111 == 0:
			return "", &MissingError{path + ending + " is not executable"}
		}
		return path + ending, nil
	}
	return "", &MissingError{fmt.Sprintf("program %q not found", path)}
}
