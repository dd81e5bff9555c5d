package staticmcp

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

// folder is a store over an fs.FS.
type folder struct {
	fsys    fs.FS
	title   string
	frozen  bool
	recheck time.Duration
	root    *os.Root // the os.Root under fsys, or nil
	// close releases the resources of fsys, or is nil.
	close func() error
}

var _ store = (*folder)(nil)

// racyAge is how old a file must be before its modification time can be trusted to change
// with the next write. Two seconds is the coarsest file system clock in use.
const racyAge = 2 * time.Second

// openFolder opens a directory so that no name and no symbolic link leads out of it.
func openFolder(dir string, o *Options) (*folder, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	title := "site"
	if abs, err := filepath.Abs(dir); err == nil && filepath.Dir(abs) != abs {
		title = filepath.Base(abs)
	}
	return &folder{fsys: root.FS(), root: root, title: title, recheck: o.Recheck, close: root.Close}, nil
}

func (f *folder) traits() traits {
	return traits{title: f.title, frozen: f.frozen, listed: true}
}

// Close implements io.Closer.
func (f *folder) Close() error {
	if f.close == nil {
		return nil
	}
	return f.close()
}

func (f *folder) load(ctx context.Context, path string, since *stamp, limit int64) (*file, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// Stat before opening: opening a named pipe would wait for a writer.
	info, err := fs.Stat(f.fsys, path)
	if err != nil {
		return nil, f.failure(err)
	}
	if !info.Mode().IsRegular() {
		return nil, errMissing
	}
	now := time.Now()
	loaded := &file{stamp: f.stamp(info, now), freshUntil: now.Add(f.recheck), staleUntil: now}
	if f.frozen {
		loaded.freshUntil = far
	}
	if since != nil && !since.racy && since.size == loaded.stamp.size && since.modTime.Equal(loaded.stamp.modTime) {
		loaded.unchanged = true
		return loaded, nil
	}
	loaded.data, err = f.read(path, info.Size(), limit)
	return loaded, err
}

func (f *folder) stamp(info fs.FileInfo, now time.Time) stamp {
	return stamp{
		modTime: info.ModTime(),
		size:    info.Size(),
		racy:    !f.frozen && now.Sub(info.ModTime()) < racyAge,
	}
}

func (f *folder) read(path string, size, limit int64) ([]byte, error) {
	opened, err := f.fsys.Open(path)
	if err != nil {
		return nil, f.failure(err)
	}
	defer opened.Close()
	return readLimited(opened, size, limit)
}

// failure returns errMissing for every error that means the file cannot exist.
func (f *folder) failure(err error) error {
	for _, absent := range []error{fs.ErrNotExist, fs.ErrInvalid, syscall.ENOTDIR, syscall.ENAMETOOLONG, syscall.EINVAL} {
		if errors.Is(err, absent) {
			return errMissing
		}
	}
	return err
}

func (f *folder) names(dir string, visit func(name string, isDir bool) bool) error {
	return f.entries(dir, func(e fs.DirEntry) bool {
		return visit(e.Name(), e.IsDir() || e.Type()&fs.ModeSymlink != 0 && f.leadsToDir(dir+"/"+e.Name()))
	})
}

// entries calls visit for each entry of the folder dir, in no particular order, until it
// returns false.
func (f *folder) entries(dir string, visit func(fs.DirEntry) bool) error {
	opened, err := f.fsys.Open(dir)
	if err != nil {
		return f.failure(err)
	}
	defer opened.Close()
	list, ok := opened.(fs.ReadDirFile)
	if !ok {
		return errMissing
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

func (f *folder) modified(dir string) time.Time {
	info, err := fs.Stat(f.fsys, dir)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// leadsToDir reports whether a symbolic link leads to a folder of the site.
func (f *folder) leadsToDir(path string) bool {
	info, err := fs.Stat(f.fsys, path)
	return err == nil && info.IsDir()
}
