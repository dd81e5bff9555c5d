package mcpb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/fsutil"
)

// DefaultCacheBytes is the size of all unpacked bundles together, unless
// [OpenOptions.CacheBytes] sets another one.
const DefaultCacheBytes = 2 << 30

// Suffixes of the cache entries of a bundle, which follow its SHA-256.
const (
	lockSuffix    = ".lock"      // shared by the processes that run it; its time is that of the last use
	unpackSuffix  = ".unpacking" // locked by the process that unpacks it
	pythonSuffix  = ".venv"      // packages that uv installs for it
	removedSuffix = ".old-"      // a folder being removed, with a dot as prefix
)

// cacheDir returns the folder with the unpacked bundles; dir overrides the default.
func cacheDir(dir string) (string, error) {
	if dir != "" {
		return filepath.Abs(dir)
	}
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no folder to unpack bundles into: %w", err)
	}
	return filepath.Join(base, "slipway", "bundles"), nil
}

// cached is an unpacked bundle that has been verified against its archive.
type cached struct {
	dir     string
	lock    *fsutil.Lock   // keeps it from being pruned
	changed *check.Finding // how the previous copy differed, or nil
	fresh   bool           // just unpacked
}

// openCached returns the folder with the content of the archive whose SHA-256 is sum. An
// existing folder is compared with the archive, file by file, and replaced if it differs.
//
// The folder itself is never trusted: its expected content comes from the archive at
// every start.
func openCached(ctx context.Context, cache, sum string, l *layout) (c *cached, err error) {
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return nil, err
	}
	c = &cached{dir: filepath.Join(cache, sum)}
	_, unused := os.Lstat(c.dir + lockSuffix)
	if c.lock, err = fsutil.LockShared(ctx, c.dir+lockSuffix); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.lock.Unlock())
		}
	}()
	if err := c.lock.Touch(); err != nil {
		return nil, err
	}
	if ok, err := c.intact(ctx, l); ok || err != nil {
		return c, err
	}

	// Only one process replaces the folder; the others wait and use the result.
	unpacking, err := fsutil.LockExclusive(ctx, c.dir+unpackSuffix)
	if err != nil {
		return nil, err
	}
	defer unpacking.Unlock()
	ok, err := c.intact(ctx, l)
	if unused != nil {
		c.changed = nil // never used before, or unpacked by a version without locks
	}
	if ok || err != nil {
		return c, err
	}
	return c, c.replace(ctx, l)
}

// intact reports whether the folder matches the archive.
func (c *cached) intact(ctx context.Context, l *layout) (bool, error) {
	err := l.verify(ctx, c.dir)
	var different *difference
	if !errors.As(err, &different) {
		return err == nil, err
	}
	if _, err := os.Lstat(c.dir); err == nil {
		changed := check.Reporter{}.Finding(ruleCacheChanged, "",
			"servers must not write to their own folder; if none did, find out what changed it",
			"the unpacked bundle in the cache was changed: %v; it is replaced", different)
		c.changed = &changed
	}
	return false, nil
}

// replace removes the previous copy and unpacks the archive again.
func (c *cached) replace(ctx context.Context, l *layout) error {
	if err := discard(c.dir); err != nil {
		return fmt.Errorf("the unpacked bundle %s was changed and cannot be replaced: %w", c.dir, err)
	}
	report := &UnpackReport{}
	err := fsutil.CreateDir(c.dir, func(tmp string) error {
		return extract(ctx, l.archive, tmp, l.mode, nil, report)
	})
	if err != nil {
		return err
	}
	c.fresh = true
	return os.Chmod(c.dir, l.mode(".", fs.ModeDir).Perm())
}

// discard removes a folder of the cache, if it exists. It renames it first, so that no
// process sees an incomplete one.
func discard(dir string) error {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.IsDir() {
		if err := os.Chmod(dir, 0o700); err != nil { // otherwise it cannot be moved
			return err
		}
	}
	away, release, err := fsutil.TempDir(filepath.Dir(dir),
		"."+filepath.Base(dir)+removedSuffix)
	if err != nil {
		return err
	}
	return errors.Join(os.Rename(dir, filepath.Join(away, "bundle")), release())
}
