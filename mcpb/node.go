package mcpb

import (
	"encoding/json"
	"io/fs"
	"iter"
	"path"
	"strings"

	"github.com/slipway-mcp/slipway/internal/fsutil"
)

// packageJSON is the part of a package.json that packing and checks need.
type packageJSON struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// License is a text, or an object in old packages.
	License json.RawMessage   `json:"license"`
	Main    string            `json:"main"`
	Scripts map[string]string `json:"scripts"`
	// Imports are internal names that begin with #, for files or other packages.
	Imports map[string]json.RawMessage `json:"imports"`
	// Only DevDependencies are not needed at run time.
	Dependencies         map[string]string `json:"dependencies"`
	DevDependencies      map[string]string `json:"devDependencies"`
	OptionalDependencies map[string]string `json:"optionalDependencies"`
	PeerDependencies     map[string]string `json:"peerDependencies"`
}

// readPackageJSON reads the package.json in a folder. If the error is one of decoding, it
// also returns the fields that could be decoded, and the text.
func readPackageJSON(fsys fs.FS, dir string) (p *packageJSON, text []byte, err error) {
	p = &packageJSON{}
	text, err = fsutil.ReadRegular(fsys, path.Join(dir, "package.json"), MaxManifest)
	if err == nil {
		err = json.Unmarshal(text, p)
	}
	return p, text, err
}

// needed yields the names of the packages that a package may need at run time. A name may
// be repeated.
func (p *packageJSON) needed() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, names := range []map[string]string{p.Dependencies, p.OptionalDependencies, p.PeerDependencies} {
			for name := range names {
				if !yield(name) {
					return
				}
			}
		}
	}
}

// parents yields a folder and those above it, up to the root ".".
func parents(dir string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for yield(dir) && dir != "." && dir != "/" {
			dir = path.Dir(dir)
		}
	}
}

// resolvePackage returns the folder of a package as Node resolves it from the folder from,
// or "": the first of node_modules there and in the folders above for which exists is true.
func resolvePackage(from, name string, exists func(dir string) bool) string {
	for dir := range parents(from) {
		found := path.Join(dir, "node_modules", name)
		if path.Base(dir) != "node_modules" && exists(found) {
			return found
		}
	}
	return ""
}

// packageOf returns the folder of the package in node_modules that a file belongs to, or
// an empty string.
func packageOf(name string) string {
	segments := strings.Split(name, "/")
	for i := len(segments) - 2; i >= 0; i-- {
		if segments[i] != "node_modules" {
			continue
		}
		n := i + 2
		if strings.HasPrefix(segments[i+1], "@") {
			n++
		}
		if n < len(segments) {
			return strings.Join(segments[:n], "/")
		}
	}
	return ""
}

// packageName returns the package of a bare module name, or "".
func packageName(module string) string {
	name, rest, _ := strings.Cut(module, "/")
	if !strings.HasPrefix(module, "@") {
		return name
	}
	sub, _, _ := strings.Cut(rest, "/")
	if sub == "" {
		return ""
	}
	return name + "/" + sub
}
