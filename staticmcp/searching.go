package staticmcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/search"
	"github.com/slipway-mcp/slipway/mcp"
)

// MetaSearch, in the _meta of a tool's definition, declares that its answers can be
// computed from a search index; the stored answers, to single words, are a subset:
//
//	{"index": ".staticmcp/search", "argument": "query"}
//
// index is the folder of the index in the site, argument the name of the one argument
// with the search words. If the index does not exist, as when the site was uploaded
// without it, only the stored answers are used.
const MetaSearch = metaPrefix + "search"

// searching is a tool's declaration of its search.
type searching struct {
	dir string
}

// newSearching returns the search that meta declares, or nil.
func newSearching(t *tool, meta json.RawMessage) (*searching, error) {
	if len(meta) == 0 || meta[0] != '{' {
		return nil, nil
	}
	for _, m := range jsonscan.Members(meta) {
		if m.Name != MetaSearch {
			continue
		}
		var said struct{ Index, Argument string }
		if err := json.Unmarshal(m.Value, &said); err != nil {
			return nil, fmt.Errorf("%s: %w", MetaSearch, err)
		}
		switch {
		case t.param(said.Argument) < 0 || len(t.params) != 1:
			return nil, fmt.Errorf("%s: %q is not the tool's only argument", MetaSearch, said.Argument)
		case !fs.ValidPath(said.Index) || said.Index == "." || !safePath(said.Index):
			return nil, fmt.Errorf("%s: %q is no folder of the site", MetaSearch, said.Index)
		}
		return &searching{dir: said.Index}, nil
	}
	return nil, nil
}

// errSearchBroken is the error of a search whose index exists but cannot be used.
var errSearchBroken = errors.New("the search index is broken")

// search answers a call from the index of its tool. The result is nil if there is no
// index, or if the call is not a search.
func (s *Site) search(ctx context.Context, t *tool, p *plan) (*mcp.CallToolResult, error) {
	if len(p.values) != 1 {
		return nil, nil
	}
	query, ok := jsonscan.Unquote(p.values[0].raw)
	if !ok {
		return nil, nil
	}
	x := search.New(&indexFiles{s, t.searching.dir})
	found, err := x.Search(ctx, query)
	switch {
	case errors.Is(err, search.ErrNoFile):
		return nil, nil
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && isUnavailable(err):
		return nil, s.wireError(err, mcp.CodeToolUnavailable)
	case err != nil:
		if _, told := s.untold.LoadOrStore(t.name+"\x00"+err.Error(), nil); !told {
			s.opts.Logger.Warn("search index broken, using stored answers alone", "tool", t.name, "error", err)
		}
		return nil, errSearchBroken
	}
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(found.Text())}}, nil
}

// indexFiles are the files of a search index in a site.
type indexFiles struct {
	site *Site
	dir  string
}

var _ search.Store = (*indexFiles)(nil)

func (f *indexFiles) key(name string) string { return "\x00index\x00" + path.Join(f.dir, name) }

// Load implements [search.Store].
func (f *indexFiles) Load(ctx context.Context, name string, parse search.Parse) (any, error) {
	key := f.key(name)
	i := lookup(f.site.cache, key)
	if i == nil || !i.fresh(time.Now()) {
		var err error
		as := func(_ string, loaded *file) (any, int64, error) {
			if len(loaded.data) > 0 && loaded.data[0] == '<' {
				return nil, 0, errMissing // a web page
			}
			return parse(loaded.data)
		}
		if i, err = f.site.load(ctx, key, path.Join(f.dir, name), f.site.opts.MaxFileBytes, as); err != nil {
			return nil, err
		}
	}
	if err, failed := i.value.(error); failed {
		if errors.Is(err, errMissing) {
			return nil, search.ErrNoFile
		}
		return nil, err
	}
	return i.value, nil
}

// Forget implements [search.Store].
func (f *indexFiles) Forget(name string) { f.site.cache.remove(f.key(name)) }
