package sitewriter

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"sort"
	"strings"
	"sync/atomic"
	"time"
)

// Memory is an output in memory, and the file system of the last write: staticmcp.Open
// can serve a site from it while it is rewritten. Each write replaces the previous one
// atomically. A Memory is safe for concurrent use, but allows only one Write at a time.
//
// Of a site larger than [SpoolOptions.SpoolBytes], the contents stay in the temporary file
// of the write, which has no name, and only the names of files are in memory. If no temporary
// file can be created, everything is in memory.
type Memory struct {
	// MaxBytes limits the total size of all files. Set it before the first write.
	// Default: 1 GiB.
	MaxBytes int64

	tree atomic.Pointer[memoryTree]
	// record is that of the tree, for the next write only, or nil.
	record *memoryRecord
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
	m.tree.Store(&memoryTree{})
	return m
}

// memoryTree is an immutable file tree. Its folders are those that the paths imply: a site can
// have a million files, most of them in a folder of their own.
type memoryTree struct {
	files []memoryFile // sorted by path
	// spooled has the contents of all files that are not in memory, or is nil.
	spooled *os.File
	// end is the end of what is used of spooled, and replaced the size of files in it that patches
	// have replaced.
	end, replaced int64
}

// memoryFile is a file.
type memoryFile struct {
	path     string
	data     []byte // nil if it is spooled
	at, size int64
	sum      [sha256.Size]byte
	modified int64 // in Unix nanoseconds
}

func (m *Memory) begin(*Options) (target, error) { return m, nil }
func (m *Memory) dir() string                    { return "" }
func (m *Memory) close()                         {}

// commit replaces the tree at once, so that readers see the old site or the new one.
// Unchanged files keep their time.
func (m *Memory) commit(ctx context.Context, w *writer) error {
	before := m.tree.Load()
	all := w.all()
	sortByPath(all)
	if err := m.fits(all); err != nil {
		return err
	}
	after := &memoryTree{files: make([]memoryFile, len(all))}
	now := time.Now().UnixNano()
	olds := before.files
	for i := range all {
		if err := ctx.Err(); err != nil {
			return err
		}
		f := &all[i]
		w.progress("writing", i+1, len(all), 0)
		for len(olds) > 0 && olds[0].path < f.path {
			w.result.note(Delete, olds[0].path)
			olds = olds[1:]
		}
		made := &after.files[i]
		*made = memoryFile{path: f.path, at: f.at, size: f.size, sum: f.sum, modified: now}
		var old *memoryFile
		if len(olds) > 0 && olds[0].path == f.path {
			old = &olds[0]
			olds = olds[1:]
		}
		switch {
		case old == nil:
			w.result.note(Create, f.path)
		case old.sum == f.sum:
			w.result.Unchanged++
			made.modified = old.modified
			made.data = old.data
		default:
			w.result.note(Update, f.path)
		}
	}
	for i := range olds {
		w.result.note(Delete, olds[i].path)
	}
	if w.opts.DryRun {
		return nil
	}
	var err error
	after.end = w.spool.size
	if after.spooled, err = w.spool.release(); err != nil {
		return err
	}
	if err := after.fill(w.spool); err != nil {
		return err
	}
	m.forget()
	m.tree.Store(after)
	return nil
}

// fill sets the contents of the files that are in memory: those that are not spooled, and that
// the tree before does not have.
func (t *memoryTree) fill(from *spool) error {
	for i := range t.files {
		f := &t.files[i]
		if t.spooled != nil {
			f.data = nil
			continue
		}
		if f.data != nil {
			continue
		}
		data, err := from.read(f.at, f.size)
		if err != nil {
			return err
		}
		f.data = append(make([]byte, 0, len(data)), data...) // not nil, even if it is empty
	}
	return nil
}

func (m *Memory) maxBytes() int64 { return cmp.Or(m.MaxBytes, defaultMemory) }

// mostInMemory returns the limit for a spool without a file: a read-only container, which serves
// a Memory, has no temporary folder.
func mostInMemory(out Output) int64 {
	if m, ok := out.(*Memory); ok {
		return m.maxBytes()
	}
	return 0
}

// fits returns an error if the files exceed the size limit.
func (m *Memory) fits(all []file) error {
	most := m.maxBytes()
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

// Open implements fs.FS.
func (m *Memory) Open(name string) (fs.File, error) {
	t := m.tree.Load()
	i, err := t.lookup("open", name)
	if err != nil {
		return nil, err
	}
	return &openFile{
		memoryInfo: i,
		tree:       t,
		dir:        name,
		reader:     io.NewSectionReader(t.reader(i.memoryFile), 0, i.Size()),
	}, nil
}

// ReadFile implements fs.ReadFileFS.
func (m *Memory) ReadFile(name string) ([]byte, error) {
	t := m.tree.Load()
	i, err := t.lookup("read", name)
	if err == nil && i.IsDir() {
		err = pathError("read", name, fs.ErrInvalid)
	}
	if err != nil {
		return nil, err
	}
	data := make([]byte, i.Size())
	if _, err := t.reader(i.memoryFile).ReadAt(data, 0); err != nil && len(data) > 0 {
		return nil, pathError("read", name, err)
	}
	return data, nil
}

// ReadDir implements fs.ReadDirFS.
func (m *Memory) ReadDir(name string) ([]fs.DirEntry, error) {
	t := m.tree.Load()
	i, err := t.lookup("readdir", name)
	if err == nil && !i.IsDir() {
		err = pathError("readdir", name, fs.ErrInvalid)
	}
	if err != nil {
		return nil, err
	}
	return t.entries(name), nil
}

// Stat implements fs.StatFS.
func (m *Memory) Stat(name string) (fs.FileInfo, error) {
	i, err := m.tree.Load().lookup("stat", name)
	if err != nil {
		return nil, err
	}
	return i, nil
}

// lookup returns a file or folder, with the errors of package fs.
func (t *memoryTree) lookup(op, name string) (memoryInfo, error) {
	if !fs.ValidPath(name) {
		return memoryInfo{}, pathError(op, name, fs.ErrInvalid)
	}
	if name == "." {
		return memoryInfo{name: name}, nil
	}
	at := t.search(name)
	if at < len(t.files) && t.files[at].path == name {
		return memoryInfo{path.Base(name), &t.files[at]}, nil
	}
	if at = t.search(name + "/"); at < len(t.files) && strings.HasPrefix(t.files[at].path, name+"/") {
		return memoryInfo{name: path.Base(name)}, nil
	}
	return memoryInfo{}, pathError(op, name, fs.ErrNotExist)
}

// search returns the index of the first file whose path is not less than name.
func (t *memoryTree) search(name string) int {
	return sort.Search(len(t.files), func(i int) bool { return t.files[i].path >= name })
}

// entries returns the entries of a folder, sorted by name.
func (t *memoryTree) entries(dir string) []fs.DirEntry {
	prefix := dir + "/"
	if dir == "." {
		prefix = ""
	}
	var list []fs.DirEntry
	for at := t.search(prefix); at < len(t.files) && strings.HasPrefix(t.files[at].path, prefix); {
		name, _, folder := strings.Cut(t.files[at].path[len(prefix):], "/")
		info := memoryInfo{name: name}
		if folder {
			at = t.search(prefix + name + string(rune('/'+1)))
		} else {
			info.memoryFile = &t.files[at]
			at++
		}
		list = append(list, fs.FileInfoToDirEntry(info))
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return list
}

// reader returns the contents of a file, or none for a folder, which is nil.
func (t *memoryTree) reader(f *memoryFile) io.ReaderAt {
	switch {
	case f == nil:
		return strings.NewReader("")
	case f.data != nil:
		return bytes.NewReader(f.data)
	}
	return io.NewSectionReader(t.spooled, f.at, f.size)
}

// memoryInfo is the fs.FileInfo of a file, or of a folder, which has no memoryFile.
type memoryInfo struct {
	name string // the last element of the path
	*memoryFile
}

// Name implements fs.FileInfo.
func (i memoryInfo) Name() string { return i.name }

// Size implements fs.FileInfo.
func (i memoryInfo) Size() int64 {
	if i.memoryFile == nil {
		return 0
	}
	return i.size
}

// ModTime implements fs.FileInfo.
func (i memoryInfo) ModTime() time.Time {
	if i.memoryFile == nil {
		return time.Time{}
	}
	return time.Unix(0, i.modified)
}

// IsDir implements fs.FileInfo.
func (i memoryInfo) IsDir() bool { return i.memoryFile == nil }

// Sys implements fs.FileInfo.
func (i memoryInfo) Sys() any { return nil }

// Mode implements fs.FileInfo.
func (i memoryInfo) Mode() fs.FileMode {
	if i.IsDir() {
		return fs.ModeDir | 0o555
	}
	return 0o444
}

// openFile is an open file or folder.
type openFile struct {
	memoryInfo
	tree *memoryTree
	dir  string // the whole path
	// reader reads a file; entries are those of a folder that were not read yet, once listed.
	reader  *io.SectionReader
	entries []fs.DirEntry
	listed  bool
}

// Stat implements fs.File.
func (o *openFile) Stat() (fs.FileInfo, error) { return o.memoryInfo, nil }

// Read implements fs.File.
func (o *openFile) Read(p []byte) (int, error) {
	if o.IsDir() {
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
	if !o.IsDir() {
		return nil, pathError("readdir", o.name, fs.ErrInvalid)
	}
	if !o.listed {
		o.entries = o.tree.entries(o.dir)
		o.listed = true
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
	for _, f := range m.tree.Load().files {
		names = append(names, f.path)
	}
	return strings.Join(names, "\n")
}
