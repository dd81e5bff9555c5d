package open

import (
	"cmp"
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
	maxRemembered      = 16 << 20
	maxRememberedFiles = 500
)

// cacheFile returns the cache file for a server's catalog. Its name is a hash of the
// whole definition, but of no secrets, which could be guessed from it otherwise.
func cacheFile(dir string, s *stax.Server) string {
	definition, err := s.MarshalJSON()
	if dir == "" || err != nil {
		return ""
	}
	sum := sha256.Sum256(append([]byte(s.Name+"\x00"), definition...))
	return filepath.Join(dir, hex.EncodeToString(sum[:])+".json")
}

// remembered returns the cached catalog of a server, or nil.
func remembered(file string) *mcp.Catalog {
	if file == "" {
		return nil
	}
	text, err := fsutil.ReadFile(file, maxRemembered)
	if err != nil {
		return nil
	}
	cat, err := client.DecodeCatalog(text)
	if err != nil {
		return nil // written by another version; it is fetched again
	}
	return cat
}

// remember caches a server's catalog. If there are too many files, the oldest are
// deleted.
func remember(file string, cat *mcp.Catalog) error {
	text, err := client.EncodeCatalog(cat)
	if err != nil || len(text) > maxRemembered {
		return err
	}
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	err = fsutil.Replace(file, 0o600, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
	return errors.Join(err, forgetOldest(dir))
}

func forgetOldest(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) <= maxRememberedFiles {
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
	for _, e := range entries[:len(entries)-maxRememberedFiles] {
		if filepath.Ext(e.Name()) == ".json" {
			_ = os.Remove(filepath.Join(dir, e.Name())) // another process may have removed it first
		}
	}
	return nil
}

// keep caches the current catalog of a fleet's server. A server that was started only for
// that may stop then.
func (m *member) keep(cat *mcp.Catalog) (err error) {
	if version := cat.Version(); m.cache != "" && version != m.saved {
		err = remember(m.cache, cat)
		m.saved = version
	}
	if m.resting {
		m.resting = false
		m.server.Load().Rest()
	}
	return err
}
