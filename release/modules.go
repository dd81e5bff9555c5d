package main

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	classifier "github.com/google/licenseclassifier/v2"
	"github.com/google/licenseclassifier/v2/assets"
)

// thirdPartyFile has the licences of all modules inside the programs.
const thirdPartyFile = "THIRD-PARTY-LICENSES.txt"

// Module is a module that is compiled into at least one program.
type Module struct {
	Path      string
	Version   string
	Sum       string // as in go.sum: h1:...
	Platforms []Platform
	Licenses  []string // SPDX identifiers, sorted
	Texts     []File   // licence files, named relative to the module
}

// licenseName matches the names of files with terms of use.
var licenseName = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying|copyright|notice|patents)([-_.].*)?$`)

// readModules returns the modules inside the built programs, sorted by path. The first is
// the standard library.
func readModules(ctx context.Context, root string, out *Output) ([]*Module, error) {
	found := make(map[string]*Module)
	for _, p := range out.platforms() {
		info, err := buildinfo.ReadFile(out.path(out.binary(p)))
		if err != nil {
			return nil, err
		}
		for _, d := range info.Deps {
			if d.Replace != nil {
				return nil, fmt.Errorf("module %s is replaced, so its origin is unknown", d.Path)
			}
			if found[d.Path] == nil {
				found[d.Path] = &Module{
					Path:    d.Path,
					Version: d.Version,
					Sum:     d.Sum,
				}
			}
			found[d.Path].Platforms = append(found[d.Path].Platforms, p)
		}
		if err := addLicenses(ctx, root, p, found); err != nil {
			return nil, err
		}
	}
	std := &Module{
		Path:      "std",
		Version:   strings.TrimPrefix(out.Go, "go"),
		Platforms: out.platforms(),
	}
	goroot, err := output(ctx, root, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	if err := std.addTexts(goroot, goroot); err != nil {
		return nil, err
	}
	list := slices.SortedFunc(maps.Values(found), func(a, b *Module) int {
		return strings.Compare(a.Path, b.Path)
	})
	list = append([]*Module{std}, list...)
	return list, classify(list)
}

// addLicenses adds the licence files of all packages that are compiled for a platform, and
// of the folders above them, to their modules.
func addLicenses(ctx context.Context, root string, p Platform, found map[string]*Module) error {
	format := "{{with .Module}}{{.Path}}\t{{.Dir}}{{end}}\t{{.Dir}}"
	lines, err := goFor(ctx, root, p, "list", "-deps", "-f", format, "./cmd/slipway")
	if err != nil {
		return err
	}
	for line := range strings.Lines(lines) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if len(fields) != 3 {
			continue // the standard library
		}
		m := found[fields[0]]
		if m == nil {
			continue // the main module
		}
		if err := m.addTexts(fields[1], fields[2]); err != nil {
			return err
		}
	}
	return nil
}

// addTexts adds the licence files in dir and its parents up to the folder of the module.
func (m *Module) addTexts(top, dir string) error {
	for ; strings.HasPrefix(dir, top); dir = filepath.Dir(dir) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if !e.Type().IsRegular() || !licenseName.MatchString(e.Name()) ||
				filepath.Ext(e.Name()) == ".go" {
				continue
			}
			rel, err := filepath.Rel(top, filepath.Join(dir, e.Name()))
			if err != nil {
				return err
			}
			name := filepath.ToSlash(rel)
			known := func(f File) bool { return f.Name == name }
			if slices.ContainsFunc(m.Texts, known) {
				continue
			}
			data, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				return err
			}
			m.Texts = append(m.Texts, File{name, 0o644, data})
		}
	}
	slices.SortFunc(m.Texts, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// classify sets the licences of modules. A module without a known one is an error: such a
// program must not be distributed.
func classify(list []*Module) error {
	c, err := assets.DefaultClassifier()
	if err != nil {
		return err
	}
	for _, m := range list {
		for _, f := range m.Texts {
			m.Licenses = append(m.Licenses, licensesOf(c, f.Data)...)
		}
		slices.Sort(m.Licenses)
		m.Licenses = slices.Compact(m.Licenses)
		if len(m.Licenses) == 0 {
			return fmt.Errorf("module %s has no known licence\nhint: check its licence, or replace the module", m.Path)
		}
	}
	return nil
}

// licensesOf returns the licences whose whole text is in a file.
func licensesOf(c *classifier.Classifier, text []byte) []string {
	var names []string
	for _, match := range c.Match(text).Matches {
		if match.MatchType == "License" {
			names = append(names, match.Name)
		}
	}
	return names
}

// thirdPartyLicenses returns the text that the licences ask to include with programs.
func thirdPartyLicenses(list []*Module) File {
	text := &strings.Builder{}
	fmt.Fprintf(text, "%s contains the following software.\n", projectTitle)
	for _, m := range list {
		name := m.Path
		if name == "std" {
			name = "the Go standard library"
		}
		fmt.Fprintf(text, "\n%s\n%s %s (%s)\n", strings.Repeat("=", 80), name,
			m.Version, strings.Join(m.Licenses, ", "))
		for _, f := range m.Texts {
			fmt.Fprintf(text, "\n%s\n\n%s\n", "--- "+f.Name,
				strings.TrimSpace(string(f.Data)))
		}
	}
	return File{thirdPartyFile, 0o644, []byte(text.String())}
}

// onSomePlatforms reports whether a module is missing on at least one built platform.
func (m *Module) onSomePlatforms(out *Output) bool { return len(m.Platforms) < len(out.platforms()) }
