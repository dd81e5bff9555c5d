package zip

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"time"

	"github.com/slipway-mcp/slipway/check"
)

var (
	_ fs.ReadDirFS   = (*tree)(nil)
	_ fs.StatFS      = (*tree)(nil)
	_ fs.ReadDirFile = (*folder)(nil)
)

// tree is a file system built from a list of entries. Folders are derived from the paths.
type tree struct {
	nodes  map[string]*node // by path; "." is the root
	folded map[string]*node // by the name that a file system may use for it
	open   func(n *node) fs.File
	notes  []check.Finding
	budget *Budget // of the number of nodes
}

// node is a file or a folder. It is also its own [fs.FileInfo] and [fs.DirEntry].
type node struct {
	name     string // the path
	mode     fs.FileMode
	entry    *Entry // of a file, else nil
	children []fs.DirEntry
}

func (n *node) Name() string               { return path.Base(n.name) }
func (n *node) Mode() fs.FileMode          { return n.mode }
func (n *node) Type() fs.FileMode          { return n.mode.Type() }
func (n *node) ModTime() time.Time         { return time.Time{} }
func (n *node) IsDir() bool                { return n.mode.IsDir() }
func (n *node) Sys() any                   { return nil }
func (n *node) Info() (fs.FileInfo, error) { return n, nil }

func (n *node) Size() int64 {
	if n.entry == nil {
		return 0
	}
	return n.entry.Size
}

// newFolder returns an empty folder. Its mode is always 0755, whatever the archive has.
func newFolder(name string) *node {
	return &node{
		name: name,
		mode: fs.ModeDir | 0o755,
	}
}

// newTree builds the tree of entries. It refuses entries with the same name, including
// names that only some file systems treat as equal. open opens a file. Folders count for the limit
// of entries even if they have none: a short archive can have millions, each in the path of a file.
func newTree(entries []Entry, budget *Budget, open func(n *node) fs.File) (*tree, error) {
	t := &tree{
		nodes:  make(map[string]*node, len(entries)+1),
		folded: make(map[string]*node, len(entries)),
		open:   open,
		budget: budget,
	}
	t.nodes["."] = newFolder(".")
	for i := range entries {
		e := &entries[i]
		n := &node{
			name:  e.Name,
			mode:  e.Mode,
			entry: e,
		}
		if e.Mode.IsDir() {
			n = newFolder(e.Name)
		}
		if err := t.add(n); err != nil {
			return nil, err
		}
	}
	for _, n := range t.nodes {
		slices.SortFunc(n.children, func(a, b fs.DirEntry) int {
			return cmp.Compare(a.Name(), b.Name())
		})
	}
	return t, nil
}

// add adds n to its parent folder, which it creates if needed.
func (t *tree) add(n *node) error {
	if same, taken := t.nodes[n.name]; taken {
		switch {
		case n.IsDir() && same.IsDir():
			return nil
		case n.IsDir() != same.IsDir():
			return unsafef(RuleCollision, n.name, "it is both a file and a folder")
		}
		return unsafef(RuleCollision, n.name, "there are two files of this name")
	}
	// Two names that one file system treats as equal would overwrite each other there.
	key := foldName(n.name)
	switch other := t.folded[key]; {
	case other == nil:
		t.folded[key] = n
	case !n.IsDir() || !other.IsDir():
		return unsafef(RuleCollision, n.name,
			"on some systems its name is the same as %s", quoted(other.name))
	default:
		t.notes = append(t.notes, check.Reporter{File: n.name}.Finding(RulePortable, "", "",
			"on some systems it is the same folder as %s", quoted(other.name)))
	}
	above := path.Dir(n.name)
	if t.nodes[above] == nil {
		if err := t.add(newFolder(above)); err != nil {
			return err
		}
	}
	parent := t.nodes[above]
	if !parent.IsDir() {
		return unsafef(RuleCollision, parent.name, "it is both a file and a folder")
	}
	parent.children = append(parent.children, n)
	t.nodes[n.name] = n
	return t.budget.AdmitEntries(int64(len(t.nodes) - 1)) // without the root
}

// find returns the node at a path, or an error of the file system.
func (t *tree) find(op, name string) (*node, error) {
	n := t.nodes[name]
	switch {
	case !fs.ValidPath(name):
		return nil, &fs.PathError{
			Op:   op,
			Path: name,
			Err:  fs.ErrInvalid,
		}
	case n == nil:
		return nil, &fs.PathError{
			Op:   op,
			Path: name,
			Err:  fs.ErrNotExist,
		}
	}
	return n, nil
}

// Open implements [fs.FS].
func (t *tree) Open(name string) (fs.File, error) {
	n, err := t.find("open", name)
	if err != nil {
		return nil, err
	}
	if n.IsDir() {
		return &folder{node: n}, nil
	}
	return t.open(n), nil
}

// Stat implements [fs.StatFS].
func (t *tree) Stat(name string) (fs.FileInfo, error) {
	n, err := t.find("stat", name)
	if err != nil {
		return nil, err
	}
	return n, nil
}

// ReadDir implements [fs.ReadDirFS].
func (t *tree) ReadDir(name string) ([]fs.DirEntry, error) {
	n, err := t.find("readdir", name)
	if err != nil {
		return nil, err
	}
	if !n.IsDir() {
		return nil, &fs.PathError{
			Op:   "readdir",
			Path: name,
			Err:  errors.New("not a folder"),
		}
	}
	return slices.Clone(n.children), nil
}

// folder lists a folder.
type folder struct {
	node *node
	next int
}

func (f *folder) Stat() (fs.FileInfo, error) { return f.node, nil }
func (f *folder) Close() error               { return nil }

// Read fails: a folder has no content.
func (f *folder) Read([]byte) (int, error) {
	return 0, &fs.PathError{
		Op:   "read",
		Path: f.node.name,
		Err:  fs.ErrInvalid,
	}
}

// ReadDir implements [fs.ReadDirFile].
func (f *folder) ReadDir(n int) ([]fs.DirEntry, error) {
	left := f.node.children[f.next:]
	if n > 0 && len(left) == 0 {
		return nil, io.EOF
	}
	if n > 0 {
		left = left[:min(n, len(left))]
	}
	f.next += len(left)
	return slices.Clone(left), nil
}
