package mcpb

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Some package managers keep every package separate and connect them with links: pnpm in
// node_modules/.pnpm, yarn in node_modules/.store. Node resolves modules from the real
// path of a file, next to which the links to its dependencies are. A bundle has no links,
// so packages are laid out like npm does: at the top of node_modules, or below the
// package that needs it if another version is already there.

// stores returns the folders of node_modules with the packages that links lead to.
func stores() []string { return []string{".pnpm", ".store"} }

// isIsolated reports whether a node_modules folder has such a layout.
func isIsolated(root *os.Root, name string) bool {
	return path.Base(name) == "node_modules" && slices.ContainsFunc(stores(), func(store string) bool {
		info, err := root.Stat(path.Join(name, store))
		return err == nil && info.IsDir()
	})
}

// placement places the packages of one node_modules folder.
type placement struct {
	// selection is what to pack, and root the packed folder, outside of which nothing is
	// read.
	selection *Selection
	root      *os.Root
	base      string            // real path of the packed folder
	top       string            // the node_modules folder
	placed    map[string]string // source folder of each placed package, by destination
	queue     []string          // keys of placed whose dependencies are not yet placed
}

// isolated adds the packages of a node_modules folder that consists of links.
func (s *Selection) isolated(root *os.Root, name string) error {
	base, err := filepath.EvalSymlinks(s.dir)
	if err != nil {
		return err
	}
	if base, err = filepath.Abs(base); err != nil {
		return err
	}
	l := &placement{
		selection: s,
		root:      root,
		base:      base,
		top:       name,
		placed:    map[string]string{},
	}
	names, err := l.packagesIn(name)
	if err != nil {
		return err
	}
	for _, pkg := range names {
		real, err := l.realPath(path.Join(name, pkg))
		if err != nil {
			return err
		}
		l.place(path.Join(name, pkg), real)
	}
	for len(l.queue) > 0 {
		at := l.queue[0]
		l.queue = l.queue[1:]
		if len(l.placed) > maxWalk {
			return fmt.Errorf("%s: more than %d packages", name, maxWalk)
		}
		if err := l.dependencies(at); err != nil {
			return err
		}
	}
	for _, at := range sortedKeys(l.placed) {
		if err := l.copy(at, l.placed[at]); err != nil {
			return err
		}
	}
	for _, store := range stores() {
		info, err := root.Stat(path.Join(name, store))
		if err == nil && info.IsDir() {
			s.exclude(Exclusion{
				Name:   path.Join(name, store),
				Folder: true,
				Reason: "its packages are packed where Node finds them without links",
			})
		}
	}
	return nil
}

// packagesIn returns the names of the packages in a node_modules folder.
func (l *placement) packagesIn(name string) (names []string, err error) {
	entries, err := fs.ReadDir(l.root.FS(), name)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case strings.HasPrefix(e.Name(), "@"):
			scoped, err := fs.ReadDir(l.root.FS(), path.Join(name, e.Name()))
			if err != nil {
				return nil, err
			}
			for _, sub := range scoped {
				names = append(names, e.Name()+"/"+sub.Name())
			}
		case e.IsDir(), e.Type()&fs.ModeSymlink != 0:
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// realPath resolves the links of a path. If the result is outside the folder, the error
// is a [*LinkError].
func (l *placement) realPath(name string) (string, error) {
	real, err := filepath.EvalSymlinks(filepath.Join(l.base, filepath.FromSlash(name)))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return "", &LinkError{
				Name:   name,
				Reason: "it is a broken link",
			}
		}
		return "", err
	}
	rel, err := filepath.Rel(l.base, real)
	if err != nil || !filepath.IsLocal(rel) {
		return "", &LinkError{
			Name: name,
			Reason: "it is a link that points outside the folder; in a workspace, " +
				"pnpm deploy --prod DIR makes a folder that has everything",
		}
	}
	return filepath.ToSlash(rel), nil
}

// place places the package in the folder real at a destination. The first package of a destination
// stays.
func (l *placement) place(at, real string) {
	if _, ok := l.placed[at]; !ok {
		l.placed[at] = real
		l.queue = append(l.queue, at)
	}
}

// placedFor returns the source folder of the package that Node resolves name to at a place
// in the bundle, or "".
func (l *placement) placedFor(at, name string) string {
	return l.placed[resolvePackage(at, name, func(dir string) bool {
		return l.placed[dir] != ""
	})]
}

// dependencies places the dependencies of the package at that place.
func (l *placement) dependencies(at string) error {
	real := l.placed[at]
	p, _, _ := readPackageJSON(l.root.FS(), real) // a malformed file has no dependencies
	for _, name := range slices.Compact(slices.Sorted(p.needed())) {
		target, err := l.resolve(real, name)
		if err != nil {
			return err
		}
		switch found := l.placedFor(at, name); {
		case target == "" || found == target: // optional and absent, or already there
		case found == "":
			l.place(path.Join(l.top, name), target)
		default:
			l.place(path.Join(at, "node_modules", name), target)
		}
	}
	return nil
}

// resolve returns the real folder of the package that Node resolves name to from a real
// folder, or "". If that is outside the root, the error is that of realPath.
func (l *placement) resolve(from, name string) (string, error) {
	found := resolvePackage(from, name, func(dir string) bool {
		info, err := l.root.Stat(dir)
		leadsOut := err != nil && !errors.Is(err, fs.ErrNotExist)
		return leadsOut || err == nil && info.IsDir()
	})
	if found == "" {
		return "", nil
	}
	return l.realPath(found)
}

// copy adds the files of a package. Packages in its own node_modules are placed
// separately.
func (l *placement) copy(at, real string) error {
	entries, err := fs.ReadDir(l.root.FS(), real)
	if err != nil {
		return err
	}
	s := l.selection
	for _, e := range entries {
		name := path.Join(at, e.Name())
		source := path.Join(real, e.Name())
		// Stat follows links within the root and refuses others.
		info, err := l.root.Stat(source)
		if err != nil {
			return &LinkError{
				Name:   source,
				Reason: "it is a link that is broken or points outside the folder",
			}
		}
		rule := s.rules.match(name, info.IsDir())
		if rule != nil && !rule.rule.Include {
			s.exclude(Exclusion{
				Name:   name,
				Folder: info.IsDir(),
				Rule:   rule,
				Reason: rule.String(),
			})
			continue
		}
		switch {
		case info.IsDir() && e.Name() == "node_modules" && isPackage(l.root, real):
		case info.IsDir() && e.Type()&fs.ModeSymlink != 0:
			return &LinkError{
				Name:   source,
				Reason: "it is a link to a folder within a package",
			}
		case info.IsDir():
			if err := l.copy(name, source); err != nil {
				return err
			}
		case info.Mode().IsRegular():
			s.Files = append(s.Files, SelectedFile{
				Name:       name,
				Size:       info.Size(),
				executable: info.Mode()&0o100 != 0,
				source:     source,
			})
		}
	}
	return nil
}

// isPackage reports whether a folder has a package.json.
func isPackage(root *os.Root, dir string) bool {
	info, err := root.Stat(path.Join(dir, "package.json"))
	return err == nil && info.Mode().IsRegular()
}

// selected is the folder of a selection as it will be in the bundle: packages with
// another layout are at their destination.
type selected struct {
	fs.FS
	moved map[string]string // source paths of files and folders
}

// fs returns the folder as it will be in the bundle.
func (s *Selection) fs() fs.FS {
	view := &selected{
		FS:    os.DirFS(s.dir),
		moved: map[string]string{},
	}
	for i := range s.Files {
		f := &s.Files[i]
		name := f.Name
		source := f.source
		for source != "" && name != "." && view.moved[name] == "" {
			view.moved[name] = source
			name, source = path.Dir(name), path.Dir(source)
			if path.Base(name) == "node_modules" || path.Base(name) != path.Base(source) {
				break
			}
		}
	}
	if len(view.moved) == 0 {
		return view.FS
	}
	return view
}

// Open implements fs.FS.
func (v *selected) Open(name string) (fs.File, error) {
	if source := v.moved[name]; source != "" {
		name = source
	}
	return v.FS.Open(name)
}

// moved returns the names of files whose path in the bundle differs.
func (s *Selection) moved() (names []string) {
	for i := range s.Files {
		if s.Files[i].source != "" {
			names = append(names, s.Files[i].Name)
		}
	}
	return names
}
