package lock

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Target is a source that a command opens.
type Target struct {
	Name   string // distinct among the targets
	Origin string // digest of how it is started or reached; empty for a path, which may differ on another machine
	// Definitions is the path of a definitions file, whose servers are locked individually.
	// It is empty for other sources.
	Definitions string
}

// path returns the path where the lock of a target is searched: next to a definitions file,
// otherwise in the working directory.
func (t Target) path() string {
	if t.Definitions == "" {
		return FileName
	}
	return filepath.Join(filepath.Dir(t.Definitions), FileName)
}

// Paths returns the paths where the lock of targets is searched.
func Paths(targets []Target) (paths []string) {
	for _, t := range targets {
		if path := t.path(); !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	return paths
}

// Find returns the path of the lock that applies to targets, or "" if there is none. Two
// locks are a [*SelectionError]. The lock may be unreadable: opening it returns the reason.
func Find(targets []Target) (found string, err error) {
	for _, path := range Paths(targets) {
		if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
			continue
		}
		if found != "" {
			return "", &SelectionError{fmt.Sprintf("%s and %s could both apply", found, path),
				"choose one with --lock FILE, or none with --lock off"}
		}
		found = path
	}
	return found, nil
}

// DefinitionsOf returns the names of the definitions files among targets, sorted.
func DefinitionsOf(targets []Target) (names []string) {
	for _, t := range targets {
		if t.Definitions != "" {
			names = append(names, filepath.Base(t.Definitions))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Uncovered returns the targets that the lock, found at path, does not cover: definitions
// files that it was not created for, or all targets if it covers none of them. The lock of
// a project does not apply to every command that runs in its folder, such as the servers it
// locks. But if it covers one of the targets, the others are verified against it, too.
func (f *File) Uncovered(path string, targets []Target) (uncovered []Target) {
	covers := false
	for _, t := range targets {
		switch {
		case t.Definitions == "":
			covers = covers || f.knows(t)
		case t.path() == path &&
			(len(f.Definitions) == 0 ||
				slices.Contains(f.Definitions, filepath.Base(t.Definitions))):
			covers = true
		default:
			uncovered = append(uncovered, t)
		}
	}
	if !covers {
		return targets
	}
	return uncovered
}

// knows reports whether the lock contains a source of that name that is started, or
// reached, like the target.
func (f *File) knows(t Target) bool {
	entry := f.Sources[t.Name]
	if entry == nil {
		return false
	}
	_, started := entry.Items[Item{Kind: Origin}]
	return started == (t.Origin != "")
}
