package clients

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/stax"
)

// portable rewrites paths so that an entry works in every copy of a project.
type portable struct {
	// client decides how a path in the project can be written.
	client  *Client
	project string   // the folder, or empty if the entry is for a user
	kept    []string // absolute paths that could not be rewritten
}

// options returns opts with the paths rewritten for the client.
func (p *portable) options(opts *Options) *Options {
	if p.project == "" {
		return opts
	}
	changed := *opts
	changed.Sources = nil
	for _, source := range opts.Sources {
		changed.Sources = append(changed.Sources, p.path(source))
	}
	changed.Flags = slices.Clone(opts.Flags)
	for i, value := range opts.Flags {
		if i == 0 {
			continue
		}
		switch opts.Flags[i-1] {
		case "--secrets":
			changed.Flags[i] = p.path(value)
		case "--secrets-from":
			if file, ok := strings.CutPrefix(value, "file:"); ok {
				changed.Flags[i] = "file:" + p.path(file)
			}
		}
	}
	return &changed
}

// server returns a server of the project with the paths that Slipway serves as the client
// finds them: arguments such as ./docs, which are relative to the project. Arguments of
// other programs are theirs to interpret.
func (p *portable) server(s *stax.Server, opts *Options) *stax.Server {
	relative := func(word string) bool { return strings.HasPrefix(word, "./") }
	if p.project == "" || p.client.ProjectDir == "." || s.Command != opts.program() ||
		!slices.ContainsFunc(s.Args, relative) {
		return s
	}
	changed := *s
	changed.Args = slices.Clone(s.Args)
	for i, word := range s.Args {
		if !relative(word) {
			continue
		}
		if abs, err := filepath.Abs(filepath.Join(p.project, word)); err == nil {
			changed.Args[i] = p.path(abs)
		}
	}
	return &changed
}

// path returns the path by which the client finds a file. If the file is outside the
// project, or the client's project folder is unknown, the path is unchanged.
func (p *portable) path(file string) string {
	within, ok := inFolder(p.project, file)
	if !ok || p.client.ProjectDir == "" {
		p.kept = append(p.kept, file)
		return file
	}
	if within = filepath.ToSlash(within); p.client.ProjectDir != "." {
		return path.Join(p.client.ProjectDir, within)
	}
	if strings.HasPrefix(within, "-") {
		return "./" + within // not a flag
	}
	return within
}

// inFolder returns a file's path relative to a folder, even if one of them contains
// symbolic links.
func inFolder(dir, file string) (string, bool) {
	for _, resolve := range []func(string) (string, error){filepath.Abs, filepath.EvalSymlinks} {
		root, err := filepath.Abs(dir)
		if err == nil {
			root, err = resolve(root)
		}
		if err != nil {
			continue
		}
		at, err := resolve(file)
		if err != nil {
			continue
		}
		if within, err := filepath.Rel(root, at); err == nil && filepath.IsLocal(within) {
			return within, true
		}
	}
	return "", false
}

// why returns why the entry only works on this machine, or "".
func (p *portable) why() string {
	switch {
	case len(p.kept) == 0:
		return ""
	case p.client.ProjectDir == "":
		return fmt.Sprintf("%s may start servers outside of the project's folder, so its entry has the whole path of %s",
			p.client.Name, p.kept[0])
	}
	return fmt.Sprintf("%s is not in the project's folder, so the entry for %s works on this machine only",
		p.kept[0], p.client.Name)
}
