package sitewriter

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Memory is an output in memory, and the file system of the last write: staticmcp.Open
// can serve a site from it while it is rewritten. Each write replaces the previous one
// atomically. A Memory is safe for concurrent use, but allows only one Write at a time.
type Memory struct {
	// MaxBytes limits the total size of all files. Set it before the first write.
	// Default: 1 GiB.
	MaxBytes int64

	tree atomic.Pointer[memoryTree]
}

// defaultMemory is the default of [Memory.MaxBytes].
const defaultMemory = 1 << 30

// MemoryError is the error for a site that is too large for a [Memory]. The previous site
// stays in place.
type MemoryError struct{ Size, Max int64 }

// Error implements error.
func (e *MemoryError) Error() string {
	return fmt.Sprintf("the site has %d bytes, and at most %d are kept in memory",
		e.Size, e.Max)
}

var (
	_ Output        = (*Memory)(nil)
	_ fs.ReadDirFS  = (*Memory)(nil)
	_ fs.ReadFileFS = (*Memory)(nil)
	_ fs.StatFS     = (*Memory)(nil)
)

// NewMemory returns an empty Memory.
func NewMemory() *Memory {
	m := &Memory{}
	m.tree.Store(newTree())
	return m
}

// memoryTree is an immutable file tree.
type memoryTree struct {
	files map[string]*memoryFile
	dirs  map[string][]fs.DirEntry // sorted by name
}

// memoryFile is a file or a folder. It is its own fs.FileInfo.
type memoryFile struct {
	// name is the last element of the path.
	name     string
	data     []byte
	sum      [sha256.Size]byte
	modified time.Time
	folder   bool
}

func newTree() *memoryTree {
	return &memoryTree{
		files: map[string]*memoryFile{".": {name: ".", folder: true}},
		dirs:  map[string][]fs.DirEntry{".": nil},
	}
}

func (m *Memory) begin(*Options) (target, error) { return m, nil }
func (m *Memory) dir() string                    { return "" }
func (m *Memory) close()                         {}

// commit replaces the tree at once, so that readers see the old site or the new one.
// Unchanged files are shared by both.
func (m *Memory) commit(ctx context.Context, w *writer) error {
	before := m.tree.Load()
	after := newTree()
	all := w.all()
	if err := m.fits(all); err != nil {
		return err
	}
	now := time.Now()
	for i := range all {
		if err := ctx.Err(); err != nil {
			return err
		}
		f := &all[i]
		w.progress("writing", i+1, len(all), 0)
		old := before.files[f.path]
		if old != nil && old.sum == f.sum {
			w.result.Unchanged++
			after.add(f.path, old)
			continue
		}
		action := Create
		if old != nil {
			action = Update
		}
		w.result.note(action, f.path)
		data, err := w.spool.read(f.at, f.size)
		if err != nil {
			return err
		}
		after.add(f.path, &memoryFile{
			name:     path.Base(f.path),
			data:     bytes.Clone(data),
			sum:      f.sum,
			modified: now,
		})
	}
	for name, old := range before.files {
		if !old.folder && after.files[name] == nil {
			w.result.note(Delete, name)
		}
	}
	for _, entries := range after.dirs {
		slices.SortFunc(entries, func(a, b fs.DirEntry) int {
			return cmp.Compare(a.Name(), b.Name())
		})
	}
	if !w.opts.DryRun {
		m.tree.Store(after)
	}
	return nil
}

// fits returns an error if the files exceed the size limit.
func (m *Memory) fits(all []file) error {
	most := cmp.Or(m.MaxBytes, defaultMemory)
	var size int64
	for i := range all {
		size += all[i].size
	}
	if size > most {
		return &MemoryError{
			Size: size,
			Max:  most,
		}
	}
	return nil
}

// add adds a file and its parent folders.
func (t *memoryTree) add(name string, f *memoryFile) {
	t.files[name] = f
	for {
		dir := path.Dir(name)
		t.dirs[dir] = append(t.dirs[dir], fs.FileInfoToDirEntry(f))
		if t.files[dir] != nil {
			return
		}
		f = &memoryFile{
			name:   path.Base(dir),
			folder: true,
		}
		t.files[dir] = f
		name = dir
	}
}

// Open implements fs.FS.
func (m *Memory) Open(name string) (fs.File, error) {
	t := m.tree.Load()
	f, err := t.lookup("open", name)
	if err != nil {
		return nil, err
	}
	return &openFile{
		memoryFile: f,
		reader:     bytes.NewReader(f.data),
		entries:    t.dirs[name],
	}, nil
}

// ReadFile implements fs.ReadFileFS.
func (m *Memory) ReadFile(name string) ([]byte, error) {
	f, err := m.tree.Load().lookup("read", name)
	if err == nil && f.folder {
		err = pathError("read", name, fs.ErrInvalid)
	}
	if err != nil {
		return nil, err
	}
	return bytes.Clone(f.data), nil
}

// ReadDir implements fs.ReadDirFS.
func (m *Memory) ReadDir(name string) ([]fs.DirEntry, error) {
	t := m.tree.Load()
	f, err := t.lookup("readdir", name)
	if err == nil && !f.folder {
		err = pathError("readdir", name, fs.ErrInvalid)
	}
	if err != nil {
		return nil, err
	}
	return slices.Clone(t.dirs[name]), nil
}

// Stat implements fs.StatFS.
func (m *Memory) Stat(name string) (fs.FileInfo, error) {
	f, err := m.tree.Load().lookup("stat", name)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// lookup returns a file or folder, with the errors of package fs.
func (t *memoryTree) lookup(op, name string) (*memoryFile, error) {
	if !fs.ValidPath(name) {
		return nil, pathError(op, name, fs.ErrInvalid)
	}
	if f := t.files[name]; f != nil {
		return f, nil
	}
	return nil, pathError(op, name, fs.ErrNotExist)
}

// Name implements fs.FileInfo.
func (f *memoryFile) Name() string { return f.name }

// Size implements fs.FileInfo.
func (f *memoryFile) Size() int64 { return int64(len(f.data)) }

// ModTime implements fs.FileInfo.
func (f *memoryFile) ModTime() time.Time { return f.modified }

// IsDir implements fs.FileInfo.
func (f *memoryFile) IsDir() bool { return f.folder }

// Sys implements fs.FileInfo.
func (f *memoryFile) Sys() any { return nil }

// Mode implements fs.FileInfo.
func (f *memoryFile) Mode() fs.FileMode {
	if f.folder {
		return fs.ModeDir | 0o555
	}
	return 0o444
}

// openFile is an open memoryFile.
type openFile struct {
	*memoryFile
	// reader reads a file, entries are those of a folder.
	reader  *bytes.Reader
	entries []fs.DirEntry
}

// Stat implements fs.File.
func (o *openFile) Stat() (fs.FileInfo, error) { return o.memoryFile, nil }

// Read implements fs.File.
func (o *openFile) Read(p []byte) (int, error) {
	if o.folder {
		return 0, pathError("read", o.name, fs.ErrInvalid)
	}
	return o.reader.Read(p)
}

// ReadAt implements io.ReaderAt.
func (o *openFile) ReadAt(p []byte, at int64) (int, error) {
	return o.reader.ReadAt(p, at)
}

// Seek implements io.Seeker.
func (o *openFile) Seek(offset int64, whence int) (int64, error) {
	return o.reader.Seek(offset, whence)
}

// Close implements fs.File.
func (o *openFile) Close() error { return nil }

// ReadDir implements fs.ReadDirFile.
func (o *openFile) ReadDir(n int) ([]fs.DirEntry, error) {
	if !o.folder {
		return nil, pathError("readdir", o.name, fs.ErrInvalid)
	}
	if n <= 0 || n > len(o.entries) {
		if n > 0 && len(o.entries) == 0 {
			return nil, io.EOF
		}
		n = len(o.entries)
	}
	some := slices.Clone(o.entries[:n])
	o.entries = o.entries[n:]
	return some, nil
}

// String lists the paths, for tests and messages.
func (m *Memory) String() string {
	var names []string
	for name, f := range m.tree.Load().files {
		if !f.folder {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, "\n")
}
