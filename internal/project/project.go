// Package project recognizes what a repository's documentation is made with, and writes what
// is needed to publish it as a site: a slipway.site.yaml and a deployment workflow.
//
//	found, err := project.Inspect("path/to/repository")
//	files, err := project.Write("path/to/repository", found, &project.Options{Host: "cloudflare"})
//
// Configuration files are read, never run.
package project

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/fsutil"
)

// maxRead limits the size of a configuration file that is read.
const maxRead = 1 << 20

// ErrUnknown means that a folder has nothing that a site can be built from.
var ErrUnknown = errors.New("no documentation, OpenAPI document or Go module found")

// Project is what a repository was recognized as.
type Project struct {
	// Kind identifies the generator, such as "mkdocs", or "markdown", "openapi" or "go". Name
	// is its name for people.
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Why lists the files that led to this result, each with what it says.
	Why []string `json:"why"`
	// Folder is the folder of the generator's configuration, with slashes, or ".".
	Folder string `json:"folder"`
	// Inputs are what the site is built from.
	Inputs []Input `json:"inputs"`
	// Published is the folder that the generator writes and the host publishes, and Site the
	// folder of the site in it.
	Published string `json:"published"`
	Site      string `json:"site"`
	// Rendered reports whether the site is built from the pages that the generator writes.
	Rendered bool `json:"rendered"`
	// Language is that of the generator: "python", "node", "go", "rust", "ruby" or "".
	Language string `json:"language,omitempty"`
	// Generate are the commands that install the generator and run it, in Folder.
	Generate []string `json:"generate"`
	// Also names what the repository has besides, which the site leaves out.
	Also []string `json:"also"`
}

// Input is an input of the site: one of the kinds of slipway.site.yaml, and a path.
type Input struct {
	Kind string `json:"kind"`
	Path string `json:"path"`
}

// folders are where generators are configured in a repository.
var folders = []string{".", "docs", "doc", "website", "site", "documentation", "book", "guide",
	"packages/docs", "packages/website", "apps/docs", "apps/website"}

// inspector looks for configuration files.
type inspector struct{ root *os.Root }

// generator recognizes the projects of one generator in a folder.
type generator struct {
	kind, name string
	find       func(i *inspector, folder string) *Project
}

// generators returns all generators. Those whose configuration has a name of its own come
// first.
func generators() []generator {
	return []generator{
		{"docusaurus", "Docusaurus", (*inspector).docusaurus},
		{"vitepress", "VitePress", (*inspector).vitepress},
		{"mkdocs", "MkDocs", (*inspector).mkdocs},
		{"antora", "Antora", (*inspector).antora},
		{"mdbook", "mdBook", (*inspector).mdbook},
		{"sphinx", "Sphinx", (*inspector).sphinx},
		{"hugo", "Hugo", (*inspector).hugo},
		{"jekyll", "Jekyll", (*inspector).jekyll},
	}
}

// Inspect recognizes the project in a folder. The error is [ErrUnknown], or that of reading
// the folder.
func Inspect(dir string) (*Project, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	i := &inspector{root}
	var found []*Project
	for _, g := range generators() {
		for _, folder := range folders {
			if p := g.find(i, folder); p != nil {
				p.Kind, p.Name, p.Folder = g.kind, g.name, folder
				found = append(found, p)
				break
			}
		}
	}
	for _, find := range []func() *Project{i.markdown, i.openapi, i.goModule} {
		if p := find(); p != nil {
			found = append(found, p)
		}
	}
	if len(found) == 0 {
		return nil, ErrUnknown
	}
	p := found[0]
	p.Also = []string{}
	for _, other := range found[1:] {
		switch {
		case other.Kind == "openapi" && p.Kind != "openapi":
			p.Inputs = append(p.Inputs, other.Inputs...)
			p.Why = append(p.Why, other.Why...)
		case other.Kind != "markdown":
			p.Also = append(p.Also, other.Name+" ("+other.Why[0]+")")
		}
	}
	if p.Generate == nil {
		p.Generate = []string{}
	}
	p.Site = path.Join(p.Published, "mcp")
	return p, nil
}

// in returns a path in a folder.
func in(folder string, names ...string) string {
	return path.Join(append([]string{folder}, names...)...)
}

// has returns the first of the names that is a file in a folder, or "".
func (i *inspector) has(folder string, names ...string) string {
	for _, name := range names {
		file := in(folder, name)
		if info, err := i.root.Stat(filepath.FromSlash(file)); err == nil && info.Mode().IsRegular() {
			return file
		}
	}
	return ""
}

// hasDir reports whether a path is a folder.
func (i *inspector) hasDir(name string) bool {
	info, err := i.root.Stat(filepath.FromSlash(name))
	return err == nil && info.IsDir()
}

// read returns the beginning of a file, or "" if it cannot be read.
func (i *inspector) read(name string) string {
	f, err := i.root.Open(filepath.FromSlash(name))
	if err != nil {
		return ""
	}
	defer f.Close()
	data, err := fsutil.ReadLimited(f, maxRead)
	if err != nil {
		return ""
	}
	return string(data)
}

// names returns the names in a folder, sorted.
func (i *inspector) names(folder string) []string {
	list, err := fs.ReadDir(i.root.FS(), folder)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// endings returns a name with each of the extensions.
func endings(name string, list ...string) []string {
	names := make([]string, len(list))
	for i, e := range list {
		names[i] = name + e
	}
	return names
}

// says returns a reason: a file, and what it says.
func says(file, format string, values ...any) string {
	return file + ": " + fmt.Sprintf(format, values...)
}

// packages returns the commands that install the npm packages of a folder and run a script of
// its package.json, or the fallback if it has none of the scripts.
func (i *inspector) packages(folder, fallback string, scripts ...string) []string {
	install, run := "npm ci", "npm run "
	switch {
	case i.has(folder, "pnpm-lock.yaml") != "" || i.has(".", "pnpm-lock.yaml") != "":
		install, run = "npx --yes pnpm install --frozen-lockfile", "npx --yes pnpm run "
	case i.has(folder, "yarn.lock") != "" || i.has(".", "yarn.lock") != "":
		install, run = "npx --yes yarn install --frozen-lockfile", "npx --yes yarn run "
	case i.has(folder, "package-lock.json") == "":
		install = "npm install"
	}
	text := i.read(in(folder, "package.json"))
	for _, script := range scripts {
		if strings.Contains(text, `"`+script+`"`) {
			return []string{install, run + script}
		}
	}
	return []string{install, fallback}
}

// requirements returns the command that installs Python packages: those of a requirements
// file near the folder, or the named ones.
func (i *inspector) requirements(folder string, packages ...string) string {
	for _, at := range []string{folder, path.Dir(folder), "docs", "doc", "."} {
		for _, name := range []string{"requirements-docs.txt", "docs-requirements.txt", "requirements.txt"} {
			file := i.has(at, name)
			if file == "" || !slices.ContainsFunc(packages, func(p string) bool {
				return strings.Contains(strings.ToLower(i.read(file)), p)
			}) {
				continue
			}
			below, err := filepath.Rel(filepath.FromSlash(folder), filepath.FromSlash(file))
			if err == nil {
				return "pip install -r " + pathWord(filepath.ToSlash(below))
			}
		}
	}
	if group := i.docsGroup(folder); group != "" {
		return "pip install " + group
	}
	return "pip install " + strings.Join(packages, " ")
}

// docsGroup returns what pip installs for the group docs of the pyproject.toml, or "" if there
// is none: the program, whose comments may be part of the documentation, and the group.
func (i *inspector) docsGroup(folder string) string {
	up, err := filepath.Rel(filepath.FromSlash(folder), ".")
	if err != nil || i.has(".", "pyproject.toml") == "" {
		return ""
	}
	up = filepath.ToSlash(up)
	root := i.document("pyproject.toml")
	for _, name := range []string{"docs", "doc", "documentation"} {
		switch {
		case root.Get("dependency-groups", name) != nil:
			return up + " --group " + path.Join(up, "pyproject.toml") + ":" + name
		case root.Get("project", "optional-dependencies", name) != nil:
			return "'" + up + "[" + name + "]'"
		}
	}
	return ""
}
