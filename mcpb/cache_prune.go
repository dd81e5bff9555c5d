package mcpb

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/order"
)

// CachedBundle is a bundle that was unpacked in order to run it.
type CachedBundle struct {
	// SHA256 is the digest of the packed bundle.
	SHA256 string `json:"sha256"`
	// Name and Version are from its manifest, and empty if that cannot be read.
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
	// Dir is the folder with the content.
	Dir string `json:"dir"`
	// Files and Bytes count the content of that folder, and the packages that uv
	// installed for it.
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
	// LastUsed is the time of the last start.
	LastUsed time.Time `json:"lastUsed"`
	// InUse reports whether a server is running from it.
	InUse bool `json:"inUse"`
}

// PruneOptions are the options of [PruneCache]. Nil and the zero value mean the defaults.
type PruneOptions struct {
	// Dir is the cache; empty means the default of [OpenOptions.CacheDir].
	Dir string
	// MaxBytes is the size to reduce the cache to. 0 means [DefaultCacheBytes], a
	// negative value no limit.
	MaxBytes int64
	// All removes every bundle that is not in use.
	All bool
}

// PruneReport is the result of [PruneCache].
type PruneReport struct {
	// Removed are the removed bundles, Freed is their size in bytes.
	Removed []CachedBundle `json:"removed"`
	Freed   int64          `json:"freed"`
	// Kept is the number of remaining bundles, KeptBytes their size.
	Kept      int   `json:"kept"`
	KeptBytes int64 `json:"keptBytes"`
}

// ListCache returns the bundles in the cache at dir, the most recently used first. An
// empty dir means the default of [OpenOptions.CacheDir]. A cache that does not exist is
// empty.
func ListCache(ctx context.Context, dir string) ([]CachedBundle, error) {
	cache, err := cacheDir(dir)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(cache)
	if errors.Is(err, fs.ErrNotExist) {
		return []CachedBundle{}, nil
	}
	if err != nil {
		return nil, err
	}
	list := []CachedBundle{}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if e.IsDir() && isDigest(e.Name()) {
			list = append(list, inspectCached(filepath.Join(cache, e.Name())))
		}
	}
	order.By(list, func(a, b CachedBundle) int {
		return cmp.Or(b.LastUsed.Compare(a.LastUsed), strings.Compare(a.SHA256, b.SHA256))
	})
	return list, nil
}

// inspectCached describes a folder of the cache. Name and version come from the folder
// itself, so they are for display only.
func inspectCached(dir string) CachedBundle {
	b := CachedBundle{
		SHA256: filepath.Base(dir),
		Dir:    dir,
	}
	if m, err := ReadManifest(os.DirFS(dir)); err == nil {
		b.Name = m.Name
		b.Version = m.Version
	}
	for _, place := range []string{dir, dir + pythonSuffix} {
		_ = filepath.WalkDir(place, func(_ string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return nil // unreadable files do not count
			}
			if info, err := e.Info(); err == nil {
				b.Files++
				b.Bytes += info.Size()
			}
			return nil
		})
	}
	for _, name := range []string{dir + lockSuffix, dir} {
		if info, err := os.Stat(name); err == nil {
			b.LastUsed = info.ModTime()
			break
		}
	}
	if _, err := os.Stat(dir + lockSuffix); err == nil {
		lock, err := fsutil.TryLock(dir + lockSuffix)
		if b.InUse = err != nil; err == nil {
			_ = lock.Unlock() // the lock was only tested
		}
	}
	return b
}

// PruneCache removes unpacked bundles until the cache is within the limit of opts, the
// least recently used first. It skips bundles that are in use. A removed bundle is
// unpacked again at its next start.
//
// PruneCache also removes leftovers of killed processes.
func PruneCache(ctx context.Context, opts *PruneOptions) (*PruneReport, error) {
	if opts == nil {
		opts = &PruneOptions{}
	}
	most := cmp.Or(opts.MaxBytes, DefaultCacheBytes)
	list, err := ListCache(ctx, opts.Dir)
	if err != nil {
		return nil, err
	}
	report := &PruneReport{
		Removed: []CachedBundle{},
		Kept:    len(list),
	}
	for i := range list {
		report.KeptBytes += list[i].Bytes
	}
	var failed []error
	// The list begins with the bundle that was used most recently.
	for _, b := range slices.Backward(list) {
		if ctx.Err() != nil ||
			!opts.All && (most < 0 || report.KeptBytes <= most) {
			break
		}
		// A bundle in use is not removed, which is no error.
		removed, err := removeCached(b.Dir)
		failed = append(failed, err)
		if removed {
			report.Removed = append(report.Removed, b)
			report.Freed += b.Bytes
			report.Kept--
			report.KeptBytes -= b.Bytes
		}
	}
	cache, err := cacheDir(opts.Dir)
	return report, errors.Join(append(failed, err, sweepCache(cache), ctx.Err())...)
}

// removeCached removes a bundle from the cache, unless it is in use.
func removeCached(dir string) (removed bool, err error) {
	lock, err := fsutil.TryLock(dir + lockSuffix)
	if errors.Is(err, fsutil.ErrLocked) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = errors.Join(discard(dir), discard(dir+pythonSuffix))
	if err != nil {
		return false, errors.Join(err, lock.Unlock())
	}
	// No process is unpacking it, because that requires the lock.
	if err := os.Remove(dir + unpackSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return true, errors.Join(err, lock.Unlock())
	}
	return true, lock.Remove()
}

// sweepCache removes folders that killed processes left partly written or partly removed.
func sweepCache(cache string) error {
	entries, err := os.ReadDir(cache)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var failed []error
	for _, e := range entries {
		sum, _, _ := strings.Cut(strings.TrimPrefix(e.Name(), "."), ".")
		if strings.HasPrefix(e.Name(), ".") && isDigest(sum) {
			failed = append(failed, fsutil.RemoveAbandoned(filepath.Join(cache, e.Name())))
		}
	}
	return errors.Join(append(failed, err)...)
}

// isDigest reports whether a name is a SHA-256 in hexadecimal.
func isDigest(name string) bool {
	return len(name) == 64 && ValidFingerprint(name)
}
