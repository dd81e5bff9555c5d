package mcpb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"sync"
)

// layout is the expected state of a folder of the cache: the content of an archive,
// read-only.
type layout struct {
	archive  *Archive
	fsys     fs.FS           // of the archive
	programs map[string]bool // executable files, if the archive has no modes
	python   bool            // started by uv, which writes its lock file next to the project
}

// uvLock is the only file that another program may write into the folder: uv does, if the
// bundle has none.
const uvLock = "uv.lock"

// newLayout returns the expected layout of an unpacked bundle. If uv starts the server and the
// bundle has no uv.lock, the layout permits one.
func newLayout(a *Archive, m *Manifest) *layout {
	l := &layout{
		archive: a,
		fsys:    a.FS(),
	}
	if !hasModes(a) {
		l.programs = m.programs()
	}
	_, err := fs.Stat(l.fsys, uvLock)
	l.python = m.runsUV() && err != nil
	return l
}

// hasModes reports whether any file of the archive is executable. Bundles that were
// packed on Windows have none, because Windows has no execute bit.
func hasModes(a *Archive) bool {
	for e := range a.Entries() {
		if !e.Mode.IsDir() && e.Mode&0o100 != 0 {
			return true
		}
	}
	return false
}

// mode returns the mode in the cache of a file or folder with another mode in the archive.
func (l *layout) mode(name string, mode fs.FileMode) fs.FileMode {
	switch {
	case mode.IsDir() && name == "." && l.python:
		return fs.ModeDir | 0o755
	case mode.IsDir():
		return fs.ModeDir | 0o555
	case mode&0o100 != 0 || l.programs[name]:
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
	files := make(chan string, 256)
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), 8) {
		group.Go(func() {
			c := &comparison{
				layout: l,
				dir:    dir,
			}
			for name := range files {
				if ctx.Err() != nil {
					continue // drain the channel
				}
				if err := c.compareFile(name); err != nil {
					stop(err)
				}
			}
		})
	}
	c := &comparison{
		layout: l,
		dir:    dir,
	}
	if err := c.compareFolder(ctx, ".", files); err != nil {
		stop(err)
	}
	close(files)
	group.Wait()
	return context.Cause(ctx)
}

// comparison compares files and folders one at a time.
type comparison struct {
	// layout is how the bundle was unpacked; dir is the folder to compare with it. The
	// buffers are as large as one read, and reused for all files.
	layout    *layout
	dir       string
	want, got [32 << 10]byte
}

// open opens a file or folder below dir, and compares its mode and size with those of the
// one in the archive.
func (c *comparison) open(name string) (*os.File, error) {
	f, err := os.Open(filepath.Join(c.dir, filepath.FromSlash(name)))
	if err != nil {
		return nil, &difference{name, "cannot be read"}
	}
	if err := c.compareInfo(name, f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// compareInfo compares type, mode and size of an open file or folder. Windows has no modes.
func (c *comparison) compareInfo(name string, f *os.File) error {
	got, err := f.Stat()
	if err != nil {
		return err
	}
	packed, err := fs.Stat(c.layout.fsys, name)
	if err != nil {
		return err
	}
	want := c.layout.mode(name, packed.Mode())
	switch {
	case got.Mode().Type() != want.Type():
		return &difference{name, "is " + kindText(got.Mode().Type()) + " now"}
	case runtime.GOOS != "windows" && got.Mode() != want:
		return &difference{name, fmt.Sprintf("has the mode %v, not %v", got.Mode(), want)}
	case !got.IsDir() && got.Size() != packed.Size():
		return &difference{name, "was changed"}
	}
	return nil
}

// compareFolder compares the entries of a folder, and sends its files to the channel.
func (c *comparison) compareFolder(
	ctx context.Context,
	name string,
	files chan<- string,
) error {
	if ctx.Err() != nil {
		return nil
	}
	packed, err := fs.ReadDir(c.layout.fsys, name)
	if err != nil {
		return err
	}
	f, err := c.open(name)
	if err != nil {
		return err
	}
	entries, err := f.ReadDir(len(packed) + 2) // enough to notice an added one
	if err := errors.Join(f.Close(), err); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	seen := 0
	for _, e := range entries {
		below := path.Join(name, e.Name())
		want, err := fs.Stat(c.layout.fsys, below)
		switch {
		case err != nil && c.layout.python && below == uvLock && e.Type().IsRegular():
			continue
		case err != nil:
			return &difference{below, "was added"}
		case e.Type() != want.Mode().Type():
			return &difference{below, "is " + kindText(e.Type()) + " now"}
		}
		seen++
		if !want.IsDir() {
			files <- below
		} else if err := c.compareFolder(ctx, below, files); err != nil {
			return err
		}
	}
	if seen < len(packed) {
		return &difference{name, "lacks files"}
	}
	return nil
}

// kindText names a type of file for messages.
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

// compareFile compares every byte of a file with the data in the archive.
func (c *comparison) compareFile(name string) error {
	f, err := c.open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	in, err := c.layout.fsys.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	for {
		packed, err := readHead(in, c.want[:])
		if err != nil {
			return err
		}
		found, err := readHead(f, c.got[:packed])
		if err != nil {
			return err
		}
		if !bytes.Equal(c.want[:packed], c.got[:found]) {
			return &difference{name, "was changed"}
		}
		if packed < len(c.want) {
			return nil
		}
	}
}
