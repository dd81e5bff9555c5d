package mcpb

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// layout is the expected state of a folder of the cache: the content of an archive,
// read-only.
type layout struct {
	archive  *Archive
	programs map[string]bool // executable files, if the archive has no modes
	python   bool            // started by uv, which writes its lock file next to the project
}

// uvLock is the only file that another program may write into the folder: uv does, if the
// bundle has none.
const uvLock = "uv.lock"

// newLayout returns the layout of an archive with the manifest m.
func newLayout(a *Archive, m *Manifest) *layout {
	l := &layout{archive: a}
	if !a.hasModes() {
		l.programs = m.programs()
	}
	l.python = m.runsUV() && a.tree.nodes[uvLock] == nil
	return l
}

// hasModes reports whether any file of the archive is executable. Bundles that were
// packed on Windows have none, because Windows has no execute bit.
func (a *Archive) hasModes() bool {
	for i := range a.entries {
		if e := &a.entries[i]; !e.Mode.IsDir() && e.Mode&0o100 != 0 {
			return true
		}
	}
	return false
}

// mode returns the mode of a file or a folder in the cache.
func (l *layout) mode(n *treeNode) fs.FileMode {
	switch {
	case n.IsDir() && n.name == "." && l.python:
		return fs.ModeDir | 0o755
	case n.IsDir():
		return fs.ModeDir | 0o555
	case n.mode&0o100 != 0 || l.programs[n.name]:
		return 0o555
	}
	return 0o444
}

// difference is how a folder of the cache differs from its archive.
type difference struct {
	name string // the path in the bundle, or "." for the folder itself
	how  string
}

// Error implements the error interface.
func (d *difference) Error() string {
	if d.name == "." {
		return "its folder " + d.how
	}
	return fmt.Sprintf("%q %s", d.name, d.how)
}

// verify compares the folder dir with the layout: names, types, modes, sizes and every
// byte. The error is a [*difference], or the reason why they cannot be compared.
func (l *layout) verify(ctx context.Context, dir string) error {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return &difference{".", "is not a folder"}
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	files := make(chan *treeNode, 256)
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), 8) {
		group.Go(func() {
			c := &comparison{layout: l, dir: dir}
			for n := range files {
				if ctx.Err() != nil {
					continue // drain the channel
				}
				if err := c.file(n); err != nil {
					stop(err)
				}
			}
		})
	}
	if err := l.verifyFolder(ctx, dir, l.archive.tree.nodes["."], files); err != nil {
		stop(err)
	}
	close(files)
	group.Wait()
	return context.Cause(ctx)
}

// verifyFolder compares the entries of a folder, and sends its files to the channel.
func (l *layout) verifyFolder(ctx context.Context, dir string, n *treeNode, files chan<- *treeNode) error {
	if ctx.Err() != nil {
		return nil
	}
	entries, err := l.list(dir, n)
	if err != nil {
		return err
	}
	seen := 0
	for _, e := range entries {
		name := path.Join(n.name, e.Name())
		child := l.archive.tree.nodes[name]
		switch {
		case child == nil && l.python && name == uvLock && e.Type().IsRegular():
			continue
		case child == nil:
			return &difference{name, "was added"}
		case e.Type() != child.Type():
			return &difference{name, "is " + kindText(e.Type()) + " now"}
		}
		seen++
		if !child.IsDir() {
			files <- child
			continue
		}
		if err := l.verifyFolder(ctx, dir, child, files); err != nil {
			return err
		}
	}
	if seen == len(n.children) {
		return nil
	}
	return &difference{n.name, "lacks files"}
}

// list compares the mode of folder n below dir, and returns its entries: at most two more
// than expected.
func (l *layout) list(dir string, n *treeNode) ([]fs.DirEntry, error) {
	f, err := os.Open(filepath.Join(dir, filepath.FromSlash(n.name)))
	if err != nil {
		return nil, &difference{n.name, "cannot be read"}
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if err := l.compareMode(n, info); err != nil {
		return nil, err
	}
	entries, err := f.ReadDir(len(n.children) + 2)
	if err != nil && err != io.EOF {
		return nil, err
	}
	return entries, nil
}

func (l *layout) compareMode(n *treeNode, info fs.FileInfo) error {
	want := l.mode(n)
	if info.Mode().Type() != want.Type() {
		return &difference{n.name, "is " + kindText(info.Mode().Type()) + " now"}
	}
	if runtime.GOOS != "windows" && info.Mode() != want {
		return &difference{n.name, fmt.Sprintf("has the mode %v, not %v", info.Mode(), want)}
	}
	return nil
}

func kindText(t fs.FileMode) string {
	switch {
	case t.IsDir():
		return "a folder"
	case t.IsRegular():
		return "a file"
	case t&fs.ModeSymlink != 0:
		return "a link"
	}
	return "neither a file nor a folder"
}

// comparison compares files one at a time.
type comparison struct {
	layout    *layout
	dir       string
	want, got [32 << 10]byte
}

func (c *comparison) file(n *treeNode) (err error) {
	f, err := os.Open(filepath.Join(c.dir, filepath.FromSlash(n.name)))
	if err != nil {
		return &difference{n.name, "cannot be read"}
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := c.layout.compareMode(n, info); err != nil {
		return err
	}
	if info.Size() != n.size {
		return &difference{n.name, "was changed"}
	}
	in := c.layout.archive.open(n.index)
	defer in.Close()
	for {
		packed, end := io.ReadFull(in, c.want[:])
		if end != nil && end != io.EOF && end != io.ErrUnexpectedEOF {
			return end
		}
		found, err := io.ReadFull(f, c.got[:packed])
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return err
		}
		if !bytes.Equal(c.want[:packed], c.got[:found]) {
			return &difference{n.name, "was changed"}
		}
		if end != nil {
			return nil
		}
	}
}

// programs returns the files of the bundle that the manifest starts.
func (m *Manifest) programs() map[string]bool {
	found := map[string]bool{}
	add := func(written string) {
		name, isPath := bundlePath(written)
		if !isPath {
			name = written
			isPath = literal(written) && strings.ContainsAny(written, `/\`)
		}
		if clean, why := inside(strings.TrimPrefix(name, "/")); isPath && why == "" {
			found[clean] = true
		}
	}
	if m.Server.Type == TypeBinary {
		if clean, why := inside(m.Server.EntryPoint); why == "" {
			found[clean] = true
		}
	}
	if c := m.Server.Config; c != nil {
		add(c.Command)
		for _, o := range c.Overrides {
			add(o.Command)
		}
	}
	return found
}

// runsUV reports whether uv starts the server on this system.
func (m *Manifest) runsUV() bool {
	c := m.Server.Config
	if c == nil {
		return m.Server.Type == TypeUV
	}
	command := c.Command
	if o := c.Overrides[ThisPlatform()]; o.Command != "" {
		command = o.Command
	}
	return kindOf(command) == TypeUV
}
