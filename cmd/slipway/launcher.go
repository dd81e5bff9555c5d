package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/slipway-mcp/slipway/internal/lazyregexp"
	"github.com/slipway-mcp/slipway/stax/clients"
)

// Names under which releases of this program are published.
const (
	npmPackage  = "slipway"
	pypiPackage = "slipway-mcp"
)

// launcher returns the command line by which clients start this program, now and later. A
// warning is for the user if it may not work.
//
// Entries in project files work on every machine, so they look for slipway in PATH. Those
// of a user get the whole path, since programs of a desktop have another PATH. A copy that
// npx or uvx keeps in its cache may be gone tomorrow, so they are started again instead.
func launcher(scope clients.Scope) (line []string, warning string) {
	if scope == clients.Project {
		return []string{"slipway"}, ""
	}
	path := wholePath()
	kind := placeOf(path)
	if kind == installed {
		return []string{path}, ""
	}
	if other := inPath("slipway"); other != "" {
		return []string{other}, ""
	}
	version := strings.TrimPrefix(version, "v") // empty unless this is a release
	switch kind {
	case npxCache:
		name := npmPackage
		if version != "" {
			name += "@" + version
		}
		return []string{"npx", "-y", name}, ""
	case uvCache:
		name := pypiPackage
		if version != "" {
			name += "==" + version
		}
		return []string{"uvx", "--from", name, "slipway"}, ""
	}
	return []string{"slipway"}, "this program runs from a temporary folder, and clients will look for slipway in PATH: " +
		"install it there"
}

// place is where a program is.
type place int

const (
	// All places except installed are caches, from which the program can disappear.
	installed place = iota
	npxCache        // npx unpacks packages below _npx in the cache of npm
	uvCache         // uvx unpacks packages below archive-v0 and environments-v2 in the cache of uv
	temporary       // go run builds programs there
)

// uvFolder matches the folders with programs in the cache of uv.
var uvFolder = lazyregexp.New(`^(archive|environments)-v[0-9]+$`)

// placeOf returns where a path is.
func placeOf(path string) place {
	words := strings.Split(filepath.ToSlash(path), "/")
	for i, word := range words {
		switch {
		case word == "_npx":
			return npxCache
		case i > 0 && words[i-1] == "uv" && uvFolder().MatchString(word):
			return uvCache
		case strings.HasPrefix(word, "go-build"):
			return temporary
		}
	}
	if path == "" {
		return temporary
	}
	return installed
}

// inPath returns the absolute path of a program in PATH, outside of the caches that npx and
// uvx add to PATH, or "".
func inPath(name string) string {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if !filepath.IsAbs(dir) || placeOf(dir) != installed {
			continue
		}
		found, err := exec.LookPath(filepath.Join(dir, name))
		if err != nil {
			continue
		}
		real, err := filepath.EvalSymlinks(found)
		if err == nil && placeOf(real) == installed {
			return found
		}
	}
	return ""
}
