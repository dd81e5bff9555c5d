package sitewriter

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/order"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// Add adds answers to the site in the folder dir, which must have been written by
// [Write], and returns the answers it stored. catalog contains the definitions of the
// site. Existing definitions are unchanged; a tool that the manifest lacks is appended if
// one of its answers is added. Answers whose name is taken and answers that cannot be
// stored are skipped. Nothing else may write to the folder at the same time.
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
	site := &Site{
		Server:  catalog.Server,
		Tools:   catalog.Tools,
		Prompts: catalog.Prompts,
	}
	w := &writer{
		site:   site,
		opts:   opts.withDefaults(),
		result: &Result{},
		taken:  make(map[string]bool),
	}
	w.spool = &spool{
		limit: w.opts.SpoolBytes,
		dir:   os.TempDir(),
	}
	defer w.spool.close()
	if err := w.definitions(); err != nil {
		return nil, err
	}
	owner := make(map[string]*Answer) // the first answer for each path
	for _, a := range answers {
		first := len(w.files)
		if err := errors.Join(ctx.Err(), w.take(a)); err != nil {
			return nil, err
		}
		if first < len(w.files) && owner[w.files[first].path] == nil {
			owner[w.files[first].path] = a
		}
	}
	added, err := t.add(w, owner)
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

// add writes the missing files, then the index.
func (t *dirTarget) add(w *writer, owner map[string]*Answer) (map[string]staticmcp.IndexEntry, error) {
	w.sort()
	packed, err := t.packed()
	if err != nil {
		return nil, err
	}
	added := make(map[string]staticmcp.IndexEntry)
	for i := range w.files {
		f := &w.files[i]
		if _, twice := added[f.path]; twice || packed[f.path] {
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
	if err := t.addTools(w, added, owner); err != nil {
		return nil, err
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

// packed returns the paths of the answers in packs.
func (t *dirTarget) packed() (map[string]bool, error) {
	paths := make(map[string]bool)
	err := t.listed(func(e *staticmcp.IndexEntry) error {
		if e.Packed {
			paths[e.Path] = true
		}
		return nil
	})
	return paths, err
}

// addTools appends the tools that have an added answer and are missing from the manifest.
func (t *dirTarget) addTools(w *writer, added map[string]staticmcp.IndexEntry, owner map[string]*Answer) error {
	names := make(map[string]bool)
	for name := range added {
		if a := owner[name]; a != nil && a.Tool != "" {
			names[a.Tool] = true
		}
	}
	manifest, err := t.root.ReadFile(manifestName)
	if err != nil {
		return err
	}
	changed := manifest
	for i := range w.site.Tools {
		if tool := &w.site.Tools[i]; names[tool.Name] {
			if changed, err = withTool(changed, tool); err != nil {
				return fmt.Errorf("add the tool %s to %s: %w", tool.Name, manifestName, err)
			}
		}
	}
	if bytes.Equal(changed, manifest) {
		return nil
	}
	if err := t.replace(w, manifestName, changed); err != nil {
		return err
	}
	return t.reindex(w, manifestName, changed)
}

// withTool returns the manifest with a tool appended, or unchanged if it already has a
// tool of that name.
func withTool(manifest []byte, tool *mcp.Tool) ([]byte, error) {
	var listed struct {
		Capabilities struct {
			Tools []struct {
				Name string `json:"name"`
			} `json:"tools"`
		} `json:"capabilities"`
	}
	if err := json.Unmarshal(manifest, &listed); err != nil {
		return nil, err
	}
	for _, t := range listed.Capabilities.Tools {
		if t.Name == tool.Name {
			return manifest, nil
		}
	}
	raw, err := mcp.Marshal(tool)
	if err != nil {
		return nil, err
	}
	var entry bytes.Buffer
	if err := json.Indent(&entry, raw, "      ", "  "); err != nil {
		return nil, err
	}
	at, _, err := memberOf(manifest, jsonscan.Space(manifest, 0), "capabilities")
	if err != nil || at < 0 {
		return nil, errors.Join(err, errors.New("it has no capabilities"))
	}
	tools, end, err := memberOf(manifest, at, "tools")
	switch {
	case err != nil:
		return nil, err
	case tools < 0:
		separator := ","
		if jsonscan.Space(manifest, at+1) < len(manifest) &&
			manifest[jsonscan.Space(manifest, at+1)] == '}' {
			separator = ""
		}
		return slices.Concat(manifest[:at+1], []byte(`"tools":[`), entry.Bytes(),
			[]byte("]"+separator), manifest[at+1:]), nil
	}
	separator := ",\n      "
	if len(listed.Capabilities.Tools) == 0 {
		separator = ""
	}
	last := bytes.TrimRight(manifest[:end-1], " \t\r\n")
	return slices.Concat(last, []byte(separator), entry.Bytes(), manifest[len(last):]), nil
}

// memberOf returns the start and end of a member's value in the object at doc[i]; at is
// -1 if there is no such member.
func memberOf(doc []byte, i int, name string) (at, end int, err error) {
	at = -1
	_, err = jsonscan.Object(doc, i, 0, func(key []byte, i int) (int, error) {
		i = jsonscan.Space(doc, i)
		last, err := jsonscan.Value(doc, i)
		if err == nil && string(key) == name {
			at = i
			end = last
		}
		return last, err
	})
	return at, end, err
}

// reindex updates the index entry of a file.
func (t *dirTarget) reindex(w *writer, name string, data []byte) error {
	sum := sha256.Sum256(data)
	update := func(list []staticmcp.IndexEntry) bool {
		for i := range list {
			if list[i].Path == name {
				t.index.Bytes += int64(len(data)) - list[i].Size
				list[i].Size, list[i].SHA256 = int64(len(data)), hex.EncodeToString(sum[:])
				return true
			}
		}
		return false
	}
	if t.index.Shards == nil {
		update(t.index.Files)
		return nil
	}
	for _, shard := range t.index.Shards {
		list, err := t.shard(shard.Path)
		if err != nil {
			return err
		}
		if !update(list) {
			continue
		}
		return t.replaceShard(w, shard.Path, list)
	}
	return nil
}

// inserted returns list with entries added, sorted by path.
func inserted(list []staticmcp.IndexEntry, added map[string]staticmcp.IndexEntry) []staticmcp.IndexEntry {
	for _, e := range added {
		list = append(list, e)
	}
	order.By(list, func(a, b staticmcp.IndexEntry) int {
		return cmp.Compare(a.Path, b.Path)
	})
	return list
}

// addToShards adds entries to the index shards they belong to.
func (t *dirTarget) addToShards(w *writer, added map[string]staticmcp.IndexEntry) error {
	parts := make(map[int]map[string]staticmcp.IndexEntry)
	for name, e := range added {
		at, found := slices.BinarySearchFunc(t.index.Shards, name,
			func(s staticmcp.IndexShard, name string) int {
				return cmp.Compare(s.First, name)
			})
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
		list, err := t.shard(shard.Path)
		if err != nil {
			return err
		}
		list = inserted(list, part)
		shard.First = list[0].Path
		shard.Count = len(list)
		if err := t.replaceShard(w, shard.Path, list); err != nil {
			return err
		}
	}
	return nil
}

// replaceShard overwrites a part of the index.
func (t *dirTarget) replaceShard(w *writer, name string, list []staticmcp.IndexEntry) error {
	doc, err := entryLines(list)
	if err != nil {
		return err
	}
	return t.replace(w, name, append(doc, '\n'))
}

// replace overwrites a file of the index.
func (t *dirTarget) replace(w *writer, name string, data []byte) error {
	at, err := w.spool.write(data)
	if err != nil {
		return err
	}
	return t.put(w, &file{
		path: name,
		at:   at,
		size: int64(len(data)),
	})
}
