package mcpb

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"time"

	"github.com/slipway-mcp/slipway/check"
)

// tree is a file system built from a list of entries. Folders are derived from the paths.
type tree struct {
	nodes map[string]*treeNode // by path; "." is the root
	open  func(index int) fs.File
	notes []check.Finding
}

// treeNode is a file or a folder. It is also its own [fs.FileInfo] and [fs.DirEntry].
type treeNode struct {
	name     string // the path
	mode     fs.FileMode
	size     int64
	index    int // in the list, or -1 for a folder
	children []*treeNode
}

func (n *treeNode) Name() string               { return path.Base(n.name) }
func (n *treeNode) Size() int64                { return n.size }
func (n *treeNode) Mode() fs.FileMode          { return n.mode }
func (n *treeNode) Type() fs.FileMode          { return n.mode.Type() }
func (n *treeNode) ModTime() time.Time         { return time.Time{} }
func (n *treeNode) IsDir() bool                { return n.mode.IsDir() }
func (n *treeNode) Sys() any                   { return nil }
func (n *treeNode) Info() (fs.FileInfo, error) { return n, nil }

// newTree builds the tree of entries. It refuses entries with the same name, including
// names that only some file systems treat as equal. open opens the file of the entry at
// an index.
func newTree(entries []Entry, open func(index int) fs.File) (*tree, error) {
	t := &tree{nodes: make(map[string]*treeNode, len(entries)+1), open: open}
	t.nodes["."] = &treeNode{name: ".", mode: fs.ModeDir | 0o755, index: -1}
	folded := make(map[string]*treeNode, len(entries))
	for i := range entries {
		e := &entries[i]
		n := &treeNode{name: e.Name, mode: e.Mode, size: e.Size, index: i}
		if n.IsDir() {
			n.index = -1
		}
		if err := t.add(n, folded); err != nil {
			return nil, err
		}
	}
	for _, n := range t.nodes {
		slices.SortFunc(n.children, func(a, b *treeNode) int { return cmp.Compare(a.name, b.name) })
	}
	return t, nil
}

// add adds n to its parent folder, which it creates if needed.
func (t *tree) add(n *treeNode, folded map[string]*treeNode) error {
	if same, taken := t.nodes[n.name]; taken {
		switch {
		case n.IsDir() && same.IsDir():
			return nil
		case n.IsDir() != same.IsDir():
			return unsafef(ruleCollision, n.name, "it is both a file and a folder")
		}
		return unsafef(ruleCollision, n.name, "there are two files of this name")
	}
	key := foldName(n.name)
	if other := folded[key]; other != nil {
		if !n.IsDir() || !other.IsDir() {
			return unsafef(ruleCollision, n.name, "on some systems its name is the same as %q", other.name)
		}
		t.notes = append(t.notes, check.Reporter{File: n.name}.Finding(rulePortable, "", "",
			"on some systems it is the same folder as %q", other.name))
	} else {
		folded[key] = n
	}
	above := path.Dir(n.name)
	parent := t.nodes[above]
	if parent == nil {
		parent = &treeNode{name: above, mode: fs.ModeDir | 0o755, index: -1}
		if err := t.add(parent, folded); err != nil {
			return err
		}
	}
	if !parent.IsDir() {
		return unsafef(ruleCollision, parent.name, "it is both a file and a folder")
	}
	parent.children = append(parent.children, n)
	t.nodes[n.name] = n
	return nil
}

func (t *tree) find(op, name string) (*treeNode, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	n := t.nodes[name]
	if n == nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
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
		return &openFolder{node: n}, nil
	}
	return t.open(n.index), nil
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
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fmt.Errorf("not a folder")}
	}
	return n.entries(n.children), nil
}

func (n *treeNode) entries(children []*treeNode) []fs.DirEntry {
	list := make([]fs.DirEntry, len(children))
	for i, c := range children {
		list[i] = c
	}
	return list
}
