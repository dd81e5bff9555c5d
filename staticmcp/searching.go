package staticmcp

import (
	"context"
	"encoding/json"
	"errors"
	"path"
	"slices"
	"time"

	"github.com/slipway-mcp/slipway/internal/site"

	"github.com/slipway-mcp/slipway/internal/search"
	"github.com/slipway-mcp/slipway/mcp"
)

// MetaSearch, in the _meta of a tool's definition, declares that its answers can be
// computed from a search index; the stored answers, to single words, are a subset:
//
//	{"index": ".staticmcp/search", "argument": "query"}
//
// index is the folder of the index in the site, argument the name of the argument with the
// search words. The tool may also have arguments called queries (other phrasings), limit,
// offset and section. If it has others, they choose an index: variants are the indexes for
// values that are not the defaults, each for all arguments that are not named with their
// default:
//
//	{"index": ".staticmcp/search", "argument": "query",
//	  "variants": [{"arguments": {"version": "1.0"}, "index": ".staticmcp/search/1.0"}]}
//
// If the index does not exist, as when the site was uploaded
// without it, only the stored answers are used.
const MetaSearch = site.MetaSearch

// errSearchBroken is the error of a search whose index exists but cannot be used.
var errSearchBroken = errors.New("the search index is broken")

// query returns the query of a call, and the folder of the index for it. ok is false if it has
// none.
func (t *tool) query(p *plan) (q *search.Query, folder string, ok bool) {
	q = new(search.Query)
	var others []string
	chosen := make(map[string]string)
	for _, v := range p.values {
		name := t.params[v.param].name
		var err error
		if slices.Contains(t.searches.Choices, name) {
			if fallback := t.params[v.param].fallback; fallback == nil || !sameValue(v.raw, fallback) {
				chosen[name] = v.texts[0]
			}
			continue
		}
		switch name {
		case "queries":
			err = json.Unmarshal(v.raw, &others)
		case "limit":
			err = json.Unmarshal(v.raw, &q.Limit)
		case "offset":
			err = json.Unmarshal(v.raw, &q.Offset)
		case "section":
			err = json.Unmarshal(v.raw, &q.Section)
		default:
			var text string
			err = json.Unmarshal(v.raw, &text)
			q.Phrasings = append(q.Phrasings, text)
		}
		if err != nil {
			return nil, "", false
		}
	}
	folder, ok = t.searches.Choose(chosen)
	ok = ok && len(q.Phrasings) == 1
	q.Phrasings = append(q.Phrasings, others...)
	return q, folder, ok
}

// search answers a call from the index of its tool. The result is nil if there is no
// index, or if the call is not a search.
func (s *Site) search(ctx context.Context, t *tool, p *plan) (*mcp.CallToolResult, error) {
	query, folder, ok := t.query(p)
	if !ok {
		return nil, nil
	}
	var section *search.SectionError
	found, err := t.index(s, folder).Find(ctx, query)
	switch {
	case errors.Is(err, search.ErrNoFile):
		return nil, nil
	case errors.As(err, &section):
		return toolError(section.Error()), nil
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && isUnavailable(err):
		return nil, s.wireError(err, mcp.CodeToolUnavailable)
	case err != nil:
		_, told := s.untold.LoadOrStore(t.name+"\x00"+err.Error(), nil)
		if !told {
			s.opts.Logger.Warn("search index broken, using stored answers alone",
				"tool", t.name, "error", err)
		}
		return nil, errSearchBroken
	}
	if found.VectorsErr != nil {
		_, told := s.untold.LoadOrStore(t.name+"\x00"+found.VectorsErr.Error(), nil)
		if !told {
			s.opts.Logger.Warn("searching without word vectors", "tool", t.name, "error", found.VectorsErr)
		}
	}
	if s.opts.LogSearches && found.Weak != "" {
		s.opts.Logger.Info("search without a good answer", "tool", t.name, "queries", query.Phrasings, "reason", found.Weak)
	}
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(found.Text())}}, nil
}

// index returns the reader of an index of the tool, which keeps memory for later searches.
func (t *tool) index(s *Site, folder string) *search.Index {
	known, ok := t.searchers.Load(folder)
	if !ok {
		x := search.New(&indexFiles{s, folder})
		if s.opts.Vectors != nil {
			x.UseVectors(s.opts.Vectors, s.opts.Recheck)
		}
		known, _ = t.searchers.LoadOrStore(folder, x)
	}
	return known.(*search.Index)
}

// indexFiles are the files of a search index in a site.
type indexFiles struct {
	// site reads the files of the index in dir, through its cache.
	site *Site
	dir  string
}

var (
	_ search.Store  = (*indexFiles)(nil)
	_ search.Cacher = (*indexFiles)(nil)
	_ search.Reader = (*indexFiles)(nil)
)

func (f *indexFiles) key(name string) string {
	return "\x00index\x00" + path.Join(f.dir, name)
}

// Cached implements [search.Cacher].
func (f *indexFiles) Cached(name string) (any, bool) {
	i := lookup(f.site.cache, f.key(name))
	if i == nil || !i.fresh(time.Now()) {
		return nil, false
	}
	if _, failed := i.value.(error); failed {
		return nil, false
	}
	return i.value, true
}

// Load implements [search.Store].
func (f *indexFiles) Load(ctx context.Context, name string, parse search.Parse) (any, error) {
	key := f.key(name)
	i := lookup(f.site.cache, key)
	if i == nil || !i.fresh(time.Now()) {
		var err error
		as := func(_ string, loaded *site.File) (any, int64, error) {
			if len(loaded.Data) > 0 && loaded.Data[0] == '<' {
				return nil, 0, site.ErrMissing // a web page
			}
			return parse(loaded.Data)
		}
		if i, err = f.site.load(ctx, key, path.Join(f.dir, name), f.site.opts.MaxFileBytes, as); err != nil {
			return nil, err
		}
	}
	if err, failed := i.value.(error); failed {
		if errors.Is(err, site.ErrMissing) {
			return nil, search.ErrNoFile
		}
		return nil, err
	}
	return i.value, nil
}

// Read implements [search.Reader].
func (f *indexFiles) Read(ctx context.Context, name string, since any) (data []byte, state any, err error) {
	before, _ := since.(*site.Stamp)
	loaded, err := f.site.store.Load(ctx, path.Join(f.dir, name), before, f.site.opts.MaxFileBytes)
	switch {
	case errors.Is(err, site.ErrMissing):
		return nil, nil, search.ErrNoFile
	case err != nil:
		return nil, nil, err
	case loaded.Unchanged && before != nil:
		return nil, since, nil
	}
	return loaded.Data, &loaded.Stamp, nil
}

// Forget implements [search.Store].
func (f *indexFiles) Forget(name string) {
	f.site.cache.remove(f.key(name))
}
