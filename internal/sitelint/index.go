package sitelint

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"path"
	"strings"

	"github.com/slipway-mcp/slipway/internal/site"
	"github.com/slipway-mcp/slipway/staticmcp"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/search"
)

// indexed is the entry of one file in the index of a site.
type indexed struct {
	// size and sum are those of the index; seen reports that the file exists.
	size int64
	sum  [sha256.Size]byte
	seen bool
	// packed reports that the answer is in a pack, so sum is unknown.
	packed bool
}

// readIndex reads the index that our own builder writes, if it exists.
func (c *checker) readIndex(ctx context.Context, st site.Store) ([]staticmcp.IndexEntry, error) {
	var index staticmcp.Index
	if ok, err := c.decodeIndex(ctx, st, staticmcp.IndexPath, &index); !ok || err != nil || index.Format != 1 {
		return nil, err
	}
	entries := index.Files
	for _, shard := range index.Shards {
		var part []staticmcp.IndexEntry
		if !strings.HasPrefix(shard.Path, ".staticmcp/") ||
			len(entries) > c.opts.MaxEntries {
			break
		}
		ok, err := c.decodeIndex(ctx, st, shard.Path, &part)
		if err != nil {
			return nil, err
		}
		if !ok {
			c.in(staticmcp.IndexPath).Add(ruleIndexStale, "", "build the site again",
				"a part of the index is missing: %s", shard.Path)
		}
		entries = append(entries, part...)
	}
	return entries, nil
}

// findSearch checks for the search indexes that tools declare.
func (c *checker) findSearch(ctx context.Context, st site.Store) error {
	if c.site == nil {
		return nil
	}
	for _, t := range c.site.tools {
		for i, folder := range t.searches.Folders() {
			head := path.Join(folder, search.HeadName)
			_, err := st.Load(ctx, head, nil, c.opts.MaxFileBytes)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if i == 0 {
				t.searched = err == nil
			}
			if err != nil {
				c.site.fileReport.At(t.entry.at).Add(ruleSearchIndex, t.entry.path()+"/_meta",
					"publish it too: without it there are answers to single words alone",
					"the search index of tool %q is missing: %s", t.name, head)
				continue
			}
			if err := c.verifySearch(ctx, st, folder); err != nil {
				return err
			}
		}
	}
	return nil
}

// verifySearch verifies the files of a search index against their checksums.
func (c *checker) verifySearch(ctx context.Context, st site.Store, dir string) error {
	if c.verified[dir] {
		return nil // another tool has the same index
	}
	c.verified[dir] = true
	index := search.New(&storedIndex{st, dir, c.opts.MaxFileBytes})
	limit := 0
	if c.tree == nil {
		limit = c.opts.MaxProbes // each file is a request to the host
	}
	return index.Verify(ctx, limit, func(name string, err error) {
		c.in(path.Join(dir, name)).Add(ruleSearchBroken, "", "run slipway site build again, and publish all of its output",
			"the search index is broken: %s", err.Error())
	})
}

// storedIndex is the files of a search index, read without a cache.
type storedIndex struct {
	// store reads the files of the search index in dir, each up to limit.
	store site.Store
	dir   string
	limit int64
}

var _ search.Store = (*storedIndex)(nil)

// Load implements [search.Store].
func (f *storedIndex) Load(ctx context.Context, name string, parse search.Parse) (any, error) {
	loaded, err := f.store.Load(ctx, path.Join(f.dir, name), nil, f.limit)
	switch {
	case errors.Is(err, site.ErrMissing):
		return nil, search.ErrNoFile
	case err != nil:
		return nil, err
	}
	value, _, err := parse(loaded.Data)
	return value, err
}

// Forget implements [search.Store].
func (f *storedIndex) Forget(string) {}

// decodeIndex decodes a file of the index. An unusable one counts as missing, because the
// index is optional.
func (c *checker) decodeIndex(
	ctx context.Context,
	st site.Store,
	path string,
	into any,
) (bool, error) {
	loaded, err := st.Load(ctx, path, nil, c.opts.MaxManifestBytes)
	switch {
	case errors.Is(err, site.ErrMissing):
		return false, nil
	case ctx.Err() != nil:
		return false, ctx.Err()
	case err != nil:
		c.in(path).Add(ruleIndexStale, "", "build the site again",
			"the index cannot be read: %s", fsutil.Reason(err))
		return false, nil
	}
	if err := json.Unmarshal(loaded.Data, into); err != nil {
		c.in(path).Add(ruleIndexStale, "", "build the site again",
			"the index cannot be read: %s", err.Error())
		return false, nil
	}
	return true, nil
}

// holdIndex prepares the comparison of files with the index.
func (c *checker) holdIndex(entries []staticmcp.IndexEntry) {
	c.index = make(map[string]*indexed, len(entries))
	for _, e := range entries {
		one := &indexed{
			size:   e.Size,
			packed: e.Packed,
		}
		if sum, err := hex.DecodeString(e.SHA256); err == nil {
			copy(one.sum[:], sum)
		}
		c.index[e.Path] = one
	}
}

// compareIndex compares a file with its entry in the index.
func (c *checker) compareIndex(s *fileReport) {
	one := c.index[s.path]
	if one == nil {
		return
	}
	one.seen = true
	if one.packed {
		if one.size != int64(len(s.text)) {
			s.At(0).Add(ruleIndexStale, "", "build the site again", "the answer differs from the index of the site")
		}
		return
	}
	if one.size != int64(len(s.text)) || one.sum != sha256.Sum256(s.text) {
		s.At(0).Add(ruleIndexStale, "",
			"the file was changed manually: rebuild the site, or remove .staticmcp",
			"the file differs from the index of the site")
	}
}

// concludeIndex reports files that the index lists but that do not exist.
func (c *checker) concludeIndex(entries []staticmcp.IndexEntry) {
	for _, e := range entries {
		if one := c.index[e.Path]; one == nil ||
			one.seen ||
			!site.IsAnswerFile(e.Path) {
			continue
		}
		if c.tree.find(e.Path) == nil {
			c.in(staticmcp.IndexPath).Add(ruleIndexMissing, "",
				"build the site again; if you removed the file on purpose, remove .staticmcp",
				"the index lists %s, and the file is missing", e.Path)
		}
	}
}

// indexProbes returns the files of the index that the manifest does not lead to.
func (c *checker) indexProbes(entries []staticmcp.IndexEntry, known []probe) []probe {
	asked := make(map[string]bool, len(known))
	for _, p := range known {
		asked[p.candidates[0].Path] = true
	}
	tools := make(map[string]*listedTool)
	for _, t := range c.site.tools {
		tools[site.ToolsDir+"/"+t.name] = t
	}
	for _, p := range c.site.prompts {
		tools[site.PromptsDir+"/"+p.name] = p
	}
	for _, e := range entries {
		if !isIndexed(e.Path) || asked[e.Path] {
			continue
		}
		j := job{}
		for at := strings.IndexByte(e.Path, '/'); at >= 0; {
			next := strings.IndexByte(e.Path[at+1:], '/')
			if next < 0 {
				break
			}
			at += 1 + next
			if t := tools[e.Path[:at]]; t != nil {
				j.tool = t
				j.parts = strings.Split(strings.TrimSuffix(e.Path[at+1:], site.Extension), "/")
			}
		}
		known = append(known, probe{j, []site.Candidate{{Path: e.Path}}, func() {
			c.in(staticmcp.IndexPath).Add(ruleIndexMissing, "", "publish the site again",
				"the index lists %s, and the host does not have it", e.Path)
		}})
	}
	return known
}

// isIndexed reports whether a file of the index can be requested from a web host.
func isIndexed(path string) bool {
	inSearch := strings.HasPrefix(path, search.Dir+"/") &&
		strings.HasSuffix(path, site.Extension) && site.IsSafePath(path)
	return inSearch || site.IsAnswerFile(path)
}
