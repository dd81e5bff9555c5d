package sitewriter

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/staticmcp"
)

const (
	indexDir    = ".staticmcp/"
	indexFormat = 1
	// shardBits sets the average shard length to 1,024 files. Shard boundaries depend
	// only on paths, so a new file changes a single shard, not all that follow.
	shardBits = 10
	// maxShard limits the length of a shard.
	maxShard = 8 << shardBits
)

// index creates the files below .staticmcp. They contain neither times nor the Slipway
// version, so the same site has the same index.
func (w *writer) index() error {
	for _, name := range slices.Sorted(maps.Keys(w.opts.Record)) {
		if err := w.keepInner(indexDir+name, w.opts.Record[name]); err != nil {
			return err
		}
	}
	if w.opts.NoIndex {
		return nil
	}
	index := staticmcp.Index{
		Format:    indexFormat,
		Generator: "slipway",
		Count:     len(w.files),
	}
	for i := range w.files {
		index.Bytes += w.files[i].size
	}
	answers := w.listed()
	if len(answers) <= staticmcp.IndexShardFiles {
		for i := range answers {
			e, err := w.entry(&answers[i])
			if err != nil {
				return err
			}
			index.Files = append(index.Files, e)
		}
	} else if err := w.shards(answers, &index); err != nil {
		return err
	}
	doc, err := lines(&index)
	if err != nil {
		return err
	}
	return w.keepInner(staticmcp.IndexPath, doc)
}

// listed returns the files and the answers in packs, sorted by path.
func (w *writer) listed() []file {
	if len(w.packed) == 0 {
		return w.files
	}
	all := append(slices.Clone(w.files), w.packed...)
	slices.SortFunc(all, func(a, b file) int {
		return cmp.Compare(a.path, b.path)
	})
	return all
}

// keepInner stores a file below .staticmcp.
func (w *writer) keepInner(path string, data []byte) error {
	f := file{
		path: path,
		size: int64(len(data)),
		sum:  sha256.Sum256(data),
	}
	var err error
	f.at, err = w.spool.write(data)
	w.inner = append(w.inner, f)
	return err
}

// shards writes the list of files in shards.
func (w *writer) shards(files []file, index *staticmcp.Index) error {
	var part []staticmcp.IndexEntry
	for i := range files {
		e, err := w.entry(&files[i])
		if err != nil {
			return err
		}
		part = append(part, e)
		last := i == len(files)-1
		sum := sha256.Sum256([]byte(files[i].path))
		boundary := (uint16(sum[0])<<8|uint16(sum[1]))&(1<<shardBits-1) == 0
		if !last && !boundary && len(part) < maxShard {
			continue
		}
		first := sha256.Sum256([]byte(part[0].Path))
		shard := staticmcp.IndexShard{
			Path:  indexDir + "index/" + hex.EncodeToString(first[:8]) + ".json",
			First: part[0].Path,
			Count: len(part),
		}
		doc, err := entryLines(part)
		if err != nil {
			return err
		}
		if err := w.keepInner(shard.Path, append(doc, '\n')); err != nil {
			return err
		}
		index.Shards = append(index.Shards, shard)
		part = part[:0]
	}
	return nil
}

func (w *writer) entry(f *file) (staticmcp.IndexEntry, error) {
	e := staticmcp.IndexEntry{
		Path:   f.path,
		Size:   f.size,
		Packed: w.packs(f.path),
		Alias:  f.spare,
	}
	if !e.Packed {
		e.SHA256 = hex.EncodeToString(f.sum[:])
	}
	if f.question == 0 {
		return e, nil
	}
	q, err := w.questionOf(f)
	if err != nil {
		return e, err
	}
	e.Tool = q.Tool
	e.URI = q.URI
	e.Prompt = q.Prompt
	e.Arguments = q.Arguments
	return e, nil
}

// entryLines encodes entries as an array with one entry per line, for readable diffs.
func entryLines[T any](entries []T) ([]byte, error) {
	doc := []byte("[")
	for i := range entries {
		raw, err := mcp.Marshal(entries[i])
		if err != nil {
			return nil, err
		}
		if i > 0 {
			doc = append(doc, ',')
		}
		doc = append(append(doc, '\n'), raw...)
	}
	return append(doc, "\n]"...), nil
}

// lines encodes an index, with its lists in the form of [entryLines].
func lines(index *staticmcp.Index) ([]byte, error) {
	head := *index
	head.Files = nil
	head.Shards = nil
	doc, err := mcp.Marshal(head)
	if err != nil {
		return nil, err
	}
	name := "files"
	list := []byte(nil)
	if index.Shards != nil {
		name = "shards"
		list, err = entryLines(index.Shards)
	} else {
		list, err = entryLines(index.Files)
	}
	if err != nil {
		return nil, err
	}
	doc = bytes.TrimSuffix(doc, []byte("}"))
	doc = append(append(doc, ',', '\n'), quote(name)...)
	return append(append(append(doc, ':'), list...), "}\n"...), nil
}

// all returns the files of the site and those below .staticmcp.
func (w *writer) all() []file {
	return append(slices.Clip(w.files),
		slices.SortedFunc(slices.Values(w.inner), func(a, b file) int {
			return cmp.Compare(a.path, b.path)
		})...)
}
