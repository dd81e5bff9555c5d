package project

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/fsutil"
)

// maxRefs limits the size of the file of a git repository that lists its branches and tags.
const maxRefs = 16 << 20

// repository is where hosts look for workflows: the root of a git repository.
type repository struct {
	// dir is the root, and folder that of the project in it, with slashes, or ".".
	dir, folder string
	// git is the folder with the current branch, and refs the one with all branches: they differ in
	// additional working trees. They are "" outside of git.
	git, refs string
}

// findRepository finds the repository of a folder: the closest folder above with a .git. Without one
// it is the folder itself.
func findRepository(dir string) (*repository, error) {
	alone := &repository{dir: dir, folder: "."}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	if real, err = filepath.Abs(real); err != nil {
		return nil, err
	}
	for at := real; ; at = filepath.Dir(at) {
		if git := gitFolder(at); git != "" {
			below, err := filepath.Rel(at, real)
			if err != nil {
				return nil, err
			}
			r := &repository{
				dir:    at,
				folder: filepath.ToSlash(below),
				git:    git,
				refs:   git,
			}
			if common := trimmedText(filepath.Join(git, "commondir")); common != "" {
				r.refs = absoluteFrom(git, common)
			}
			return r, nil
		}
		if at == filepath.Dir(at) {
			return alone, nil
		}
	}
}

// gitFolder returns the folder of git for a working tree, or "". Its .git is that folder or, in
// submodules and additional working trees, a file that names it.
func gitFolder(tree string) string {
	git := filepath.Join(tree, ".git")
	info, err := os.Stat(git)
	if err != nil {
		return ""
	}
	if info.IsDir() {
		return git
	}
	if named, ok := strings.CutPrefix(trimmedText(git), "gitdir: "); ok {
		return absoluteFrom(tree, named)
	}
	return ""
}

// absoluteFrom returns a path that a file in a folder contains.
func absoluteFrom(folder, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(folder, name)
}

// trimmedText returns the text of a small file without surrounding blanks, or "" if it cannot be read.
func trimmedText(file string) string {
	data, err := fsutil.ReadFile(file, maxRead)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// branch returns the branch to publish, and why: the default branch of the remote, or the first with
// a usual name. The current branch may be one for a change, so it is the last choice.
func (r *repository) branch() (name, why string) {
	usual := []string{"main", "master", "trunk"}
	if r.git == "" {
		return usual[0], "usual name"
	}
	if name := r.pointer(r.refs, "refs/remotes/origin/HEAD", "refs/remotes/origin/"); name != "" {
		return name, "default branch of origin"
	}
	current := r.pointer(r.git, "HEAD", "refs/heads/")
	if slices.Contains(usual, current) {
		return current, "current branch"
	}
	packed, _ := fsutil.ReadFile(filepath.Join(r.refs, "packed-refs"), maxRefs) // without, all branches are files
	for _, name := range usual {
		for _, ref := range []string{"refs/remotes/origin/" + name, "refs/heads/" + name} {
			_, err := os.Stat(filepath.Join(r.refs, filepath.FromSlash(ref)))
			if err == nil || strings.Contains(string(packed)+"\n", " "+ref+"\n") {
				return name, "usual name, since origin/HEAD is not set"
			}
		}
	}
	if current != "" {
		return current, "current branch, since there is no " + strings.Join(usual, ", ")
	}
	return usual[0], "usual name"
}

// pointer returns the branch that a file names, such as "ref: refs/heads/main", or "".
func (r *repository) pointer(folder, file, prefix string) string {
	name, found := strings.CutPrefix(trimmedText(filepath.Join(folder, filepath.FromSlash(file))), "ref: "+prefix)
	if !found || strings.HasPrefix(name, ".") || !plainYAML().MatchString(name) {
		return ""
	}
	return name
}
