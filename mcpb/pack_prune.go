package mcpb

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/fsutil"
)

// packageJSON is the part of a package.json that determines the needed packages.
type packageJSON struct {
	Name                 string            `json:"name"`
	Version              string            `json:"version"`
	License              json.RawMessage   `json:"license"`
	Dependencies         map[string]string `json:"dependencies"`
	DevDependencies      map[string]string `json:"devDependencies"`
	OptionalDependencies map[string]string `json:"optionalDependencies"`
	PeerDependencies     map[string]string `json:"peerDependencies"`
}

func (s *Selection) readPackage(dir string) (*packageJSON, error) {
	text, err := fsutil.ReadRegular(s.view, path.Join(dir, "package.json"), MaxManifest)
	if err != nil {
		return nil, err
	}
	p := &packageJSON{}
	return p, json.Unmarshal(text, p)
}

// prune excludes packages in node_modules that the package.json next to the manifest does
// not depend on.
func (s *Selection) prune() error {
	installed, needed, err := s.packages()
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("nothing says which packages are needed: there is no package.json")
	}
	if err != nil {
		return err
	}
	s.dropPackages(installed, needed)
	return nil
}

// packages returns the packages in node_modules, and the subset that the package.json
// next to the manifest depends on, directly or indirectly, including optional
// dependencies. They are resolved like in Node: in node_modules of the package, then of
// its parent folders.
func (s *Selection) packages() (installed, needed map[string]bool, err error) {
	s.view = s.fs()
	top, err := s.readPackage(".")
	if err != nil {
		return nil, nil, err
	}
	installed, needed = s.installed(), map[string]bool{}
	type todo struct {
		dir string
		p   *packageJSON
	}
	for queue := []todo{{".", top}}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		for _, wanted := range []map[string]string{at.p.Dependencies, at.p.OptionalDependencies, at.p.PeerDependencies} {
			for name := range wanted {
				dir := resolvePackage(installed, at.dir, name)
				if dir == "" || needed[dir] {
					continue
				}
				needed[dir] = true
				if p, err := s.readPackage(dir); err == nil {
					queue = append(queue, todo{dir, p})
				}
			}
		}
	}
	return installed, needed, nil
}

// development reports packed packages that only development needs.
func (s *Selection) development(where func(name string) string) (found []check.Finding) {
	installed, needed, err := s.packages()
	if err != nil || len(needed) == 0 {
		return nil // the needed packages are unknown
	}
	bytes, unneeded := int64(0), map[string]bool{}
	for _, f := range s.Files {
		if dir := packageOf(f.Name); dir != "" && installed[dir] && !needed[dir] {
			unneeded[dir] = true
			bytes += f.Size
		}
	}
	if len(unneeded) == 0 {
		return nil
	}
	names := slices.Sorted(maps.Keys(unneeded))
	return []check.Finding{check.Reporter{File: where("package.json")}.Finding(ruleDevelopment, "",
		"slipway bundle pack --prune leaves out what only development needs",
		"no dependency leads to %s (%.1f MB), which the bundle has", firstNames(names, 3), float64(bytes)/1e6)}
}

// installed returns the folders of the packages in node_modules.
func (s *Selection) installed() map[string]bool {
	found := map[string]bool{}
	for _, f := range s.Files {
		if dir := packageOf(f.Name); dir != "" {
			found[dir] = true
		}
	}
	return found
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

func resolvePackage(installed map[string]bool, from, name string) string {
	for dir := from; ; dir = path.Dir(dir) {
		if path.Base(dir) != "node_modules" {
			if found := path.Join(dir, "node_modules", name); installed[found] {
				return found
			}
		}
		if dir == "." || dir == "/" {
			return ""
		}
	}
}

func (s *Selection) dropPackages(installed, needed map[string]bool) {
	kept := s.Files[:0]
	for _, f := range s.Files {
		if dir := packageOf(f.Name); dir == "" || needed[dir] {
			kept = append(kept, f)
		}
	}
	s.Files = kept
	for dir := range installed {
		if !needed[dir] {
			s.exclude(Exclusion{Name: dir, Folder: true, Reason: "no dependency of package.json leads to it"})
		}
	}
	slices.SortFunc(s.Excluded, func(a, b Exclusion) int { return strings.Compare(a.Name, b.Name) })
}
