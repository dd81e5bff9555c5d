package build

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// Add puts further answers into the site that lies in the folder dir and was
// written by [Write], and returns those that it has put there. catalog has the
// definitions of the site, which stay as they are. An answer whose name is taken
// is left out, and so is one that cannot be stored. Nothing else may write to the
// folder meanwhile.
func Add(ctx context.Context, dir string, catalog *mcp.Catalog, answers []*Answer, opts *Options) ([]*Answer, error) {
	target, err := Dir(dir).begin(&Options{})
	if err != nil {
		return nil, err
	}
	t := target.(*dirTarget)
	defer t.close()
	if t.index == nil {
		return nil, &ForeignError{Path: dir}
	}
	site := &Site{Server: catalog.Server, Tools: catalog.Tools, Prompts: catalog.Prompts}
	w := &writer{site: site, opts: opts.withDefaults(), result: &Result{}, taken: make(map[string]bool)}
	w.spool = &spool{limit: w.opts.SpoolBytes, dir: os.TempDir()}
	defer w.spool.close()
	if err := w.definitions(); err != nil {
		return nil, err
	}
	owner := make(map[string]*Answer) // the first for each path
	for _, a := range answers {
		first := len(w.files)
		if err := errors.Join(ctx.Err(), w.take(a)); err != nil {
			return nil, err
		}
		if first < len(w.files) && owner[w.files[first].path] == nil {
			owner[w.files[first].path] = a
		}
	}
	added, err := t.add(w)
	if err != nil {
		return nil, err
	}
	var stored []*Answer
	for name := range added {
		if a := owner[name]; a != nil {
			stored = append(stored, a)
		}
	}
	return stored, nil
}

// add writes the files that are not there, then the index.
func (t *dirTarget) add(w *writer) (map[string]staticmcp.IndexEntry, error) {
	w.sort()
	added := make(map[string]staticmcp.IndexEntry)
	for i := range w.files {
		f := &w.files[i]
		if _, twice := added[f.path]; twice {
			continue
		}
		if _, err := t.root.Lstat(f.path); !errors.Is(err, fs.ErrNotExist) {
			if err != nil {
				return nil, err
			}
			continue
		}
		e, err := w.entry(f)
		if err != nil {
			return nil, err
		}
		if err := t.put(w, f); err != nil {
			return nil, err
		}
		added[f.path] = e
	}
	if len(added) == 0 {
		return nil, nil
	}
	for _, e := range added {
		t.index.Count++
		t.index.Bytes += e.Size
	}
	if t.index.Shards == nil {
		t.index.Files = inserted(t.index.Files, added)
	} else if err := t.addToShards(w, added); err != nil {
		return nil, err
	}
	doc, err := lines(t.index)
	if err != nil {
		return nil, err
	}
	return added, t.replace(w, staticmcp.IndexPath, doc)
}

// inserted returns list with further entries, in the order of paths.
func inserted(list []staticmcp.IndexEntry, added map[string]staticmcp.IndexEntry) []staticmcp.IndexEntry {
	for _, e := range added {
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b staticmcp.IndexEntry) int { return cmp.Compare(a.Path, b.Path) })
	return list
}

// addToShards adds entries to the parts of the index that they belong to.
func (t *dirTarget) addToShards(w *writer, added map[string]staticmcp.IndexEntry) error {
	parts := make(map[int]map[string]staticmcp.IndexEntry)
	for name, e := range added {
		at, found := slices.BinarySearchFunc(t.index.Shards, name, func(s staticmcp.IndexShard, name string) int { return cmp.Compare(s.First, name) })
		if !found {
			at = max(0, at-1)
		}
		if parts[at] == nil {
			parts[at] = make(map[string]staticmcp.IndexEntry)
		}
		parts[at][name] = e
	}
	for at, part := range parts {
		shard := &t.index.Shards[at]
		data, err := t.root.ReadFile(shard.Path)
		if err != nil {
			return err
		}
		var list []staticmcp.IndexEntry
		if err := json.Unmarshal(data, &list); err != nil {
			return fmt.Errorf("read %s: %w", shard.Path, err)
		}
		list = inserted(list, part)
		shard.First, shard.Count = list[0].Path, len(list)
		doc, err := entryLines(list)
		if err != nil {
			return err
		}
		if err := t.replace(w, shard.Path, append(doc, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// replace writes a file of the index.
func (t *dirTarget) replace(w *writer, name string, data []byte) error {
	at, err := w.spool.write(data)
	if err != nil {
		return err
	}
	return t.put(w, &file{path: name, at: at, size: int64(len(data))})
}
