package fleet

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/stax"
)

// Limits of the catalog cache: the largest catalog, and the number of files.
const (
	maxCachedBytes = 16 << 20
	maxCachedFiles = 500
)

// catalogCache is the file with the catalog of one server from an earlier run. The zero
// value caches nothing.
type catalogCache struct {
	file    string
	version string // of the catalog in the file
}

// cacheOf returns the cache of a server. The name of its file is a hash of the whole
// definition, but of no secrets, which could be guessed from it otherwise.
func cacheOf(dir string, s *stax.Server) *catalogCache {
	definition, err := s.MarshalJSON()
	if dir == "" || err != nil {
		return &catalogCache{}
	}
	sum := sha256.Sum256(append([]byte(s.Name+"\x00"), definition...))
	return &catalogCache{file: filepath.Join(dir, hex.EncodeToString(sum[:])+".json")}
}

// load returns the cached catalog, or nil.
func (c *catalogCache) load() *mcp.Catalog {
	if c.file == "" {
		return nil
	}
	info, err := os.Stat(c.file)
	if err != nil || info.Size() > maxCachedBytes {
		return nil
	}
	text, err := os.ReadFile(c.file)
	if err != nil {
		return nil
	}
	cat, err := client.DecodeCatalog(text)
	if err != nil {
		return nil // written by another version; it is fetched again
	}
	c.version = cat.Version()
	return cat
}

// save caches the catalog of a server that has run.
func (c *catalogCache) save(ctx context.Context, server *client.Source) error {
	if c.file == "" || server.State().Starts == 0 {
		return nil
	}
	cat, err := server.Catalog(ctx)
	if err != nil {
		return err
	}
	return c.store(cat)
}

// store caches a catalog, unless it is cached already. If there are too many files, the
// oldest are deleted.
func (c *catalogCache) store(cat *mcp.Catalog) error {
	if cat.Incomplete() != nil {
		return nil // a file has no place for what is missing
	}
	version := cat.Version()
	if version == c.version {
		return nil
	}
	c.version = version
	text, err := client.EncodeCatalog(cat)
	if err != nil || len(text) > maxCachedBytes {
		return err
	}
	dir := filepath.Dir(c.file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	err = fsutil.Replace(c.file, 0o600, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
	return errors.Join(err, removeOldest(dir))
}

// removeOldest keeps the number of cached catalogs within its limit.
func removeOldest(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) <= maxCachedFiles {
		return err
	}
	written := func(e os.DirEntry) time.Time {
		info, err := e.Info()
		if err != nil {
			return time.Now() // the file no longer exists
		}
		return info.ModTime()
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int {
		return cmp.Or(written(a).Compare(written(b)), cmp.Compare(a.Name(), b.Name()))
	})
	for _, e := range entries[:len(entries)-maxCachedFiles] {
		if filepath.Ext(e.Name()) == ".json" {
			// Another process may have removed it first.
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
	return nil
}
