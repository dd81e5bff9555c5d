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

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/live"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/stax"
)

// What is remembered of servers: the largest catalog, and how many.
const (
	maxRemembered      = 16 << 20
	maxRememberedFiles = 500
)

// cacheFile is where what a server offers is remembered. It goes by the whole
// definition, and by none of its secrets: those are for nobody to guess at.
func cacheFile(dir string, s *stax.Server) string {
	definition, err := s.MarshalJSON()
	if dir == "" || err != nil {
		return ""
	}
	sum := sha256.Sum256(append([]byte(s.Name+"\x00"), definition...))
	return filepath.Join(dir, hex.EncodeToString(sum[:])+".json")
}

// remembered returns what a server was known to offer, or nil.
func remembered(file string) *mcp.Catalog {
	if file == "" {
		return nil
	}
	text, err := readAtMost(file, maxRemembered)
	if err != nil {
		return nil
	}
	cat, err := live.DecodeCatalog(text)
	if err != nil {
		return nil // of another version; it is learned again
	}
	return cat
}

func readAtMost(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = errors.New("it is too large")
	}
	return text, err
}

// remember writes what a server offers. Of too many files the oldest go.
func remember(file string, cat *mcp.Catalog) error {
	text, err := live.EncodeCatalog(cat)
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
			return time.Now() // it is gone
		}
		return info.ModTime()
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int {
		return cmp.Or(written(a).Compare(written(b)), cmp.Compare(a.Name(), b.Name()))
	})
	for _, e := range entries[:len(entries)-maxRememberedFiles] {
		if filepath.Ext(e.Name()) == ".json" {
			_ = os.Remove(filepath.Join(dir, e.Name())) // another process may have been faster
		}
	}
	return nil
}

// keep remembers what a server of a fleet offers now. One that was started for no
// other reason may rest then.
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
