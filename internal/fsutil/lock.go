package fsutil

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// ErrLocked reports that another process holds a lock.
var ErrLocked = errors.New("locked by another process")

// Lock is an advisory lock on a file. The system releases it when the process exits for
// any reason. The file remains after the lock is released; see [Lock.Remove].
type Lock struct{ f *os.File }

// lockInterval is the time between two attempts to take a lock.
const lockInterval = 20 * time.Millisecond

// LockShared takes a shared lock, and creates the file if it does not exist. It waits
// until no process holds the file exclusively, or ctx ends.
func LockShared(ctx context.Context, name string) (*Lock, error) {
	return lockWaiting(ctx, name, false)
}

// LockExclusive takes an exclusive lock. It waits like [LockShared].
func LockExclusive(ctx context.Context, name string) (*Lock, error) {
	return lockWaiting(ctx, name, true)
}

// TryLock is [LockExclusive] without waiting: if the file is locked, the error matches
// [ErrLocked].
func TryLock(name string) (*Lock, error) { return tryLock(name, true) }

// lockWaiting tries to lock until ctx ends. Locks are held briefly, so polling is simpler
// than a blocked system call that no context can cancel.
func lockWaiting(ctx context.Context, name string, exclusive bool) (*Lock, error) {
	ticker := time.NewTicker(lockInterval)
	defer ticker.Stop()
	for {
		l, err := tryLock(name, exclusive)
		if !errors.Is(err, ErrLocked) {
			return l, err
		}
		select {
		case <-ctx.Done():
			return nil, &fs.PathError{
				Op:   "lock",
				Path: name,
				Err:  ctx.Err(),
			}
		case <-ticker.C:
		}
	}
}

// tryLock locks the file, and starts again if it was removed in between.
func tryLock(name string, exclusive bool) (*Lock, error) {
	for {
		f, err := OpenShared(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		if err := lockFile(f, exclusive); err != nil {
			return nil, errors.Join(&fs.PathError{
				Op:   "lock",
				Path: name,
				Err:  err,
			}, f.Close())
		}
		// The file may have been removed before it was locked. Other processes would then lock
		// a new file of that name.
		ours, err := f.Stat()
		there, gone := os.Stat(name)
		if err == nil && gone == nil && os.SameFile(ours, there) {
			return &Lock{f}, nil
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
	}
}

// Touch sets the modification time of the file to now.
func (l *Lock) Touch() error {
	now := time.Now()
	return os.Chtimes(l.f.Name(), now, now)
}

// Unlock releases the lock.
func (l *Lock) Unlock() error { return l.f.Close() }

// Remove removes the file and releases the lock, which must be exclusive.
func (l *Lock) Remove() error {
	return errors.Join(os.Remove(l.f.Name()), l.f.Close())
}

// TempDir creates a folder in dir whose name begins with prefix, for the lifetime of the
// process; release removes it. Folders with that prefix left by killed processes are
// removed first.
func TempDir(dir, prefix string) (name string, release func() error, err error) {
	SweepTemp(dir, prefix)
	name, err = os.MkdirTemp(dir, prefix+"*")
	if err != nil {
		return "", nil, err
	}
	mark := markInUse(name)
	return name, func() error {
		return errors.Join(RemoveTree(name), mark())
	}, nil
}

// maxSwept limits how many leftovers one call removes.
const maxSwept = 64

// SweepTemp removes files and folders left in dir by killed processes of this user if
// their names consist of prefix and digits. It follows no links, and ignores errors.
func SweepTemp(dir, prefix string) {
	d, err := os.Open(dir)
	if err != nil {
		return
	}
	defer d.Close()
	for removed := 0; removed < maxSwept; {
		entries, err := d.ReadDir(256)
		if err != nil {
			return
		}
		for _, e := range entries {
			if !isTemporary(e.Name(), prefix) {
				continue
			}
			info, err := e.Info()
			if err == nil && abandoned(filepath.Join(dir, e.Name()), info) {
				_ = RemoveTree(filepath.Join(dir, e.Name()))
				removed++
			}
		}
	}
}

// RemoveAbandoned removes a folder created by [TempDir] if its owner has exited.
func RemoveAbandoned(name string) error {
	info, err := os.Lstat(name)
	if err != nil || !abandoned(name, info) {
		return nil
	}
	return RemoveTree(name)
}

// isTemporary reports whether name has the form that [os.CreateTemp] derives from prefix.
func isTemporary(name, prefix string) bool {
	if len(name) <= len(prefix) || name[:len(prefix)] != prefix {
		return false
	}
	for _, c := range name[len(prefix):] {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// RemoveTree is [os.RemoveAll], but also removes read-only folders.
func RemoveTree(dir string) error {
	_ = filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			_ = os.Chmod(name, 0o700) // RemoveAll reports what remains
		}
		return nil
	})
	return os.RemoveAll(dir)
}
