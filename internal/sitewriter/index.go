package sitewriter

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
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
	if len(w.files)+len(w.packed) <= staticmcp.IndexShardFiles {
		for f := range w.listed() {
			e, err := w.entry(f)
			if err != nil {
				return err
			}
			index.Files = append(index.Files, e)
		}
	} else if err := w.shards(&index); err != nil {
		return err
	}
	w.packed = nil // they are only in packs now
	doc, err := lines(&index)
	if err != nil {
		return err
	}
	return w.keepInner(staticmcp.IndexPath, doc)
}

// listed yields the files and the answers in packs, in the order of their paths.
func (w *writer) listed() iter.Seq[*file] {
	return func(yield func(*file) bool) {
		packed := w.packed
		for i := range w.files {
			for ; len(packed) > 0 && packed[0].path < w.files[i].path; packed = packed[1:] {
				if !yield(&packed[0]) {
					return
				}
			}
			if !yield(&w.files[i]) {
				return
			}
		}
		for i := range packed {
			if !yield(&packed[i]) {
				return
			}
		}
	}
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
func (w *writer) shards(index *staticmcp.Index) error {
	doc := []byte("[")
	left := len(w.files) + len(w.packed)
	first := "" // the path of the first file in the shard
	count := 0
	for f := range w.listed() {
		left--
		if count > 0 {
			doc = append(doc, ',')
		} else {
			first = f.path
		}
		var err error
		if doc, err = w.appendEntry(append(doc, '\n'), f); err != nil {
			return err
		}
		count++
		sum := sha256.Sum256([]byte(f.path))
		boundary := (uint16(sum[0])<<8|uint16(sum[1]))&(1<<shardBits-1) == 0
		if left > 0 && !boundary && count < maxShard {
			continue
		}
		name := sha256.Sum256([]byte(first))
		shard := staticmcp.IndexShard{
			Path:  indexDir + "index/" + hex.EncodeToString(name[:8]) + ".json",
			First: first,
			Count: count,
		}
		if err := w.keepInner(shard.Path, append(doc, "\n]\n"...)); err != nil {
			return err
		}
		index.Shards = append(index.Shards, shard)
		doc = doc[:1]
		count = 0
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

// appendEntry appends the entry of a file as JSON. There are often ten for each page, so the
// question is not decoded: its members have the names and the form that they have in the entry.
func (w *writer) appendEntry(doc []byte, f *file) ([]byte, error) {
	if !isPlainText(f.path) {
		e, err := w.entry(f)
		if err != nil {
			return nil, err
		}
		raw, err := mcp.Marshal(e)
		return append(doc, raw...), err
	}
	doc = append(append(append(doc, `{"path":"`...), f.path...), `","size":`...)
	doc = strconv.AppendInt(doc, f.size, 10)
	if w.packs(f.path) {
		doc = append(doc, `,"packed":true`...)
	} else {
		doc = append(hex.AppendEncode(append(doc, `,"sha256":"`...), f.sum[:]), '"')
	}
	if f.question > 0 {
		text, err := w.spool.view(f.at+f.size, int64(f.question))
		if err != nil {
			return nil, err
		}
		_, err = jsonscan.Object(text, 0, 0, func(name []byte, i int) (int, error) {
			end, err := jsonscan.Value(text, i)
			switch string(name) {
			case "tool", "uri", "prompt", "arguments":
				doc = append(append(append(doc, `,"`...), name...), `":`...)
				doc = append(doc, text[i:end]...)
			}
			return end, err
		})
		if err != nil {
			return nil, err
		}
	}
	if f.spare {
		doc = append(doc, `,"alias":true`...)
	}
	return append(doc, '}'), nil
}

// isPlainText reports whether a text is its own form in JSON.
func isPlainText(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
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
	inner := slices.Clone(w.inner)
	sortByPath(inner)
	return append(slices.Clip(w.files), inner...)
}
