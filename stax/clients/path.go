package clients

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Scope is the scope of a file: a user or a project.
type Scope string

// The scopes.
const (
	User    Scope = "user"
	Project Scope = "project"
)

// Place is where files are located. The zero value is the environment of this process.
type Place struct {
	// OS is "linux", "darwin" or "windows". Empty is this one.
	OS string
	// Home is the home folder. Empty is that of this user.
	Home string
	// Dir is the folder of the project. Empty is the working folder.
	Dir string
	// LookupEnv looks up variables. Nil uses the environment of this process.
	LookupEnv func(string) (string, bool)
}

// paths returns the templates of a scope.
func (f *Files) paths(scope Scope, goos string) []string {
	if scope == Project {
		return f.Project
	}
	switch goos {
	case "windows":
		return f.Windows
	case "darwin":
		return f.Darwin
	}
	return f.Linux
}

// Scopes returns the scopes for which the client has a file.
func (c *Client) Scopes(goos string) []Scope {
	var scopes []Scope
	for _, s := range []Scope{User, Project} {
		if len(c.Files.paths(s, goos)) > 0 {
			scopes = append(scopes, s)
		}
	}
	return scopes
}

// Path returns the file of a client: the first existing alternative, or else the first.
// exists reports whether the file exists.
func (p *Place) Path(c *Client, scope Scope) (path string, exists bool, err error) {
	goos := p.OS
	if goos == "" {
		goos = runtime.GOOS
	}
	templates := c.Files.paths(scope, goos)
	if len(templates) == 0 {
		err := fmt.Errorf("%s has no file for a %s on %s", c.Name, scope, goos)
		for _, other := range c.Scopes(goos) {
			err = fmt.Errorf("%w, only for a %s", err, other)
		}
		return "", false, err
	}
	var first string
	for _, t := range templates {
		name, err := p.expand(t, scope)
		if err != nil {
			return "", false, err
		}
		if first == "" {
			first = name
		}
		_, err = os.Stat(name)
		if err == nil || p.given(t) {
			return name, err == nil, nil
		}
	}
	return first, false, nil
}

// installed reports whether a file of the user exists for a client, or a folder for it. The
// home folder and its .config are no evidence.
func (p *Place) installed(c *Client) bool {
	if _, exists, err := p.Path(c, User); err != nil || exists {
		return exists
	}
	home, err := p.expand("~", User)
	if err != nil {
		return false
	}
	var folders []string
	for _, template := range c.Installed {
		if folder, err := p.expand(template, User); err == nil {
			folders = append(folders, folder)
		}
	}
	for _, template := range c.Files.paths(User, cmp.Or(p.OS, runtime.GOOS)) {
		if name, err := p.expand(template, User); err == nil {
			folders = append(folders, filepath.Dir(name))
		}
	}
	return slices.ContainsFunc(folders, func(folder string) bool {
		info, err := os.Stat(folder)
		return err == nil && info.IsDir() && folder != home &&
			folder != filepath.Join(home, ".config")
	})
}

// given reports whether a variable contains the complete path, which excludes
// alternatives.
func (p *Place) given(template string) bool {
	variable, ok := strings.CutPrefix(template, "${")
	if !ok || !strings.HasSuffix(variable, "}") {
		return false
	}
	name, _, _ := strings.Cut(variable, ":-")
	value, ok := p.lookup(name)
	return ok && filepath.IsAbs(value)
}

// lookup returns the value of an environment variable, by default of this process.
func (p *Place) lookup(name string) (string, bool) {
	if p.LookupEnv != nil {
		return p.LookupEnv(name)
	}
	return os.LookupEnv(name)
}

// expand returns the absolute path for a template of the table.
func (p *Place) expand(template string, scope Scope) (string, error) {
	if rest, ok := strings.CutPrefix(template, "${"); ok {
		variable, behind, _ := strings.Cut(rest, "}")
		name, fallback, _ := strings.Cut(variable, ":-")
		head, ok := p.lookup(name)
		if !ok || !filepath.IsAbs(head) {
			head = fallback
		}
		template = head + behind
	}
	if rest, ok := strings.CutPrefix(template, "~"); ok {
		home := p.Home
		if home == "" {
			var err error
			if home, err = os.UserHomeDir(); err != nil {
				return "", &fs.PathError{
					Op:   "find",
					Path: template,
					Err:  err,
				}
			}
		}
		template = home + rest
	}
	if scope == Project && !filepath.IsAbs(template) {
		dir := p.Dir
		if dir == "" {
			dir = "."
		}
		template = filepath.Join(dir, template)
	}
	return filepath.Abs(filepath.FromSlash(template))
}

// leadsOut returns a reason if a link leads from a project file to a path outside the
// project: the author of the project must not choose which file of the user is written.
func (p *Place) leadsOut(path string, scope Scope) string {
	if scope != Project {
		return ""
	}
	dir := p.Dir
	if dir == "" {
		dir = "."
	}
	root, err := filepath.EvalSymlinks(dir)
	if err == nil {
		root, err = filepath.Abs(root)
	}
	there := path
	for err == nil { // up to what exists
		var real string
		if real, err = filepath.EvalSymlinks(there); err == nil {
			rel, relErr := filepath.Rel(root, real)
			if relErr != nil || !filepath.IsLocal(rel) && rel != "." {
				return "it points outside the project through a link"
			}
			return ""
		}
		if _, gone := os.Lstat(there); gone == nil {
			return "it is a broken link"
		}
		if up := filepath.Dir(there); up != there {
			there = up
			err = nil
		}
	}
	return ""
}
