package site

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Folder is a store over an fs.FS.
type Folder struct {
	// FS has the files; Title names the site if its manifest does not.
	FS    fs.FS
	Title string
	// Frozen means that files never change, as in a zip; otherwise they are checked again
	// after Recheck.
	Frozen  bool
	Recheck time.Duration
	Root    *os.Root // the os.Root under fsys, or nil
	// close releases the resources of fsys, or is nil.
	close func() error
}

var _ Store = (*Folder)(nil)

// RacyAge is how old a file must be before its modification time can be trusted to change
// with the next write. Two seconds is the coarsest file system clock in use.
const RacyAge = 2 * time.Second

// OpenFolder opens a directory so that no name and no symbolic link points outside it.
func OpenFolder(dir string, o *Options) (*Folder, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	title := "site"
	if abs, err := filepath.Abs(dir); err == nil && filepath.Dir(abs) != abs {
		title = filepath.Base(abs)
	}
	return &Folder{
		FS:      root.FS(),
		Root:    root,
		Title:   title,
		Recheck: o.Recheck,
		close:   root.Close,
	}, nil
}

func (f *Folder) Traits() traits {
	return traits{
		Title:  f.Title,
		Frozen: f.Frozen,
		Listed: true,
	}
}

// Close implements io.Closer.
func (f *Folder) Close() error {
	if f.close == nil {
		return nil
	}
	return f.close()
}

// Load reads a file, unless it is unchanged since the stamp.
func (f *Folder) Load(ctx context.Context, path string, since *Stamp, limit int64) (*File, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// Stat before opening: opening a named pipe would wait for a writer.
	info, err := fs.Stat(f.FS, path)
	if err != nil {
		return nil, f.failure(err)
	}
	if !info.Mode().IsRegular() {
		return nil, ErrMissing
	}
	now := time.Now()
	loaded := &File{
		Stamp:      f.stamp(info, now),
		FreshUntil: now.Add(f.Recheck),
		StaleUntil: now,
	}
	if f.Frozen {
		loaded.FreshUntil = Far
	}
	if since != nil && !since.racy && since.size == loaded.Stamp.size &&
		since.ModTime.Equal(loaded.Stamp.ModTime) {
		loaded.Unchanged = true
		return loaded, nil
	}
	loaded.Data, err = f.read(path, info.Size(), limit)
	return loaded, err
}

func (f *Folder) stamp(info fs.FileInfo, now time.Time) Stamp {
	return Stamp{
		ModTime: info.ModTime(),
		size:    info.Size(),
		racy:    !f.Frozen && now.Sub(info.ModTime()) < RacyAge,
	}
}

// read reads a file of a known size, up to the limit.
func (f *Folder) read(path string, size, limit int64) ([]byte, error) {
	opened, err := f.FS.Open(path)
	if err != nil {
		return nil, f.failure(err)
	}
	defer opened.Close()
	return ReadLimited(opened, size, limit)
}

// failure returns errMissing for every error that means the file cannot exist.
func (f *Folder) failure(err error) error {
	for _, absent := range []error{fs.ErrNotExist, fs.ErrInvalid, syscall.ENOTDIR, syscall.ENAMETOOLONG, syscall.EINVAL} {
		if errors.Is(err, absent) {
			return ErrMissing
		}
	}
	return err
}

func (f *Folder) Names(dir string, visit func(name string, isDir bool) bool) error {
	return f.Entries(dir, func(e fs.DirEntry) bool {
		return visit(e.Name(),
			e.IsDir() || e.Type()&fs.ModeSymlink != 0 && f.leadsToDir(dir+"/"+e.Name()))
	})
}

// Entries calls visit for each entry of the folder dir, in no particular order, until it
// returns false.
func (f *Folder) Entries(dir string, visit func(fs.DirEntry) bool) error {
	opened, err := f.FS.Open(dir)
	if err != nil {
		return f.failure(err)
	}
	defer opened.Close()
	list, ok := opened.(fs.ReadDirFile)
	if !ok {
		return ErrMissing
	}
	for {
		// Read in batches, so that a huge folder needs memory only for its names.
		entries, err := list.ReadDir(4096)
		for _, e := range entries {
			if !visit(e) {
				return nil
			}
		}
		if err == io.EOF || err == nil && len(entries) == 0 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read folder %s: %w", dir, err)
		}
	}
}

func (f *Folder) Modified(dir string) time.Time {
	info, err := fs.Stat(f.FS, dir)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// leadsToDir reports whether a symbolic link leads to a folder of the site.
func (f *Folder) leadsToDir(path string) bool {
	info, err := fs.Stat(f.FS, path)
	return err == nil && info.IsDir()
}
