package mcpb

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/order"
)

// prune excludes packages in node_modules that the package.json next to the manifest does
// not depend on.
func (s *Selection) prune() error {
	installed, needed, err := s.packages()
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("the needed packages are unknown: there is no package.json")
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
	view := s.fs()
	top, _, err := readPackageJSON(view, ".")
	if err != nil {
		return nil, nil, err
	}
	installed = map[string]bool{}
	needed = map[string]bool{}
	for _, f := range s.Files {
		if dir := packageOf(f.Name); dir != "" {
			installed[dir] = true
		}
	}
	var add func(from string, p *packageJSON)
	add = func(from string, p *packageJSON) {
		for name := range p.needed() {
			dir := resolvePackage(from, name, func(dir string) bool {
				return installed[dir]
			})
			if dir == "" || needed[dir] {
				continue
			}
			needed[dir] = true
			if p, _, err := readPackageJSON(view, dir); err == nil {
				add(dir, p)
			}
		}
	}
	add(".", top)
	return installed, needed, nil
}

// development reports packed packages that only development needs.
func (s *Selection) development(where func(name string) string) (found []check.Finding) {
	installed, needed, err := s.packages()
	if err != nil || len(needed) == 0 {
		return nil // the needed packages are unknown
	}
	bytes := int64(0)
	unneeded := map[string]bool{}
	for _, f := range s.Files {
		dir := packageOf(f.Name)
		if dir != "" && installed[dir] && !needed[dir] {
			unneeded[dir] = true
			bytes += f.Size
		}
	}
	if len(unneeded) == 0 {
		return nil
	}
	names := sortedKeys(unneeded)
	return []check.Finding{check.Reporter{File: where("package.json")}.Finding(ruleDevelopment, "",
		"slipway bundle pack --prune excludes what only development needs",
		"no dependency leads to %s (%.1f MB), which the bundle has", firstNames(names, 3), float64(bytes)/1e6)}
}

// dropPackages excludes installed packages that are not needed.
func (s *Selection) dropPackages(installed, needed map[string]bool) {
	kept := s.Files[:0]
	for _, f := range s.Files {
		dir := packageOf(f.Name)
		if dir == "" || needed[dir] {
			kept = append(kept, f)
		}
	}
	s.Files = kept
	for dir := range installed {
		if !needed[dir] {
			s.exclude(Exclusion{
				Name:   dir,
				Folder: true,
				Reason: "no dependency of package.json leads to it",
			})
		}
	}
	order.By(s.Excluded, func(a, b Exclusion) int {
		return strings.Compare(a.Name, b.Name)
	})
}
