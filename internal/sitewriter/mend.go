package sitewriter

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/packs"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// mender changes some files of a site that was written.
type mender struct {
	// w has the changed files: those of the site in files, those below .staticmcp in inner.
	w *writer
	n *written
	// at is the index of each file of n, by path, and sizes are those of changed answers in packs.
	at      map[string]int
	sizes   map[string]int64
	patch   *Patch
	written map[string]bool
}

func newMender(n *written, patch *Patch, o *Options) *mender {
	m := &mender{
		w: &writer{
			site:   patch.Site,
			opts:   o,
			result: &Result{},
			taken:  make(map[string]bool),
		},
		n:       n,
		at:      make(map[string]int, len(n.files)),
		sizes:   make(map[string]int64),
		patch:   patch,
		written: make(map[string]bool),
	}
	m.w.spool = &spool{limit: o.SpoolBytes, dir: cmp.Or(o.TempDir, os.TempDir())}
	for i := range n.files {
		m.at[n.files[i].path] = i
	}
	return m
}

// prepare completes the changed files. read returns the present ones.
func (m *mender) prepare(read func(string) ([]byte, error)) error {
	packed, err := m.take()
	if err != nil {
		return err
	}
	if err := m.packs(packed, read); err != nil {
		return err
	}
	m.w.sort()
	if err := m.differing(read); err != nil {
		return err
	}
	if err := m.index(read); err != nil {
		return err
	}
	return m.finish()
}

// take takes the changed answers, and returns those in packs.
func (m *mender) take() (packed []file, err error) {
	if err := m.w.definitions(); err != nil {
		return nil, err
	}
	reported := make(map[string]bool)
	for _, f := range m.n.findings {
		reported[f.File] = true
	}
	for _, a := range m.patch.Answers {
		if a.From != "" && reported[a.From] {
			return nil, errAnother // the finding may be about what has changed
		}
		if err := m.w.take(a); err != nil {
			return nil, err
		}
	}
	m.w.sort()
	if len(m.w.result.Report.Findings()) > 0 {
		return nil, errAnother
	}
	var files []file
	for i := range m.w.files {
		f := m.w.files[i]
		if i > 0 && m.w.files[i-1].path == f.path {
			return nil, errAnother
		}
		if m.w.packs(f.path) {
			packed = append(packed, f)
			m.sizes[f.path] = f.size
			continue
		}
		files = append(files, f)
	}
	m.w.files = files
	return packed, nil
}

// packs replaces answers in packs. The division of all answers must stay the same.
func (m *mender) packs(packed []file, read func(string) ([]byte, error)) error {
	changed := make(map[string]map[string]*file)
	for i := range packed {
		f := &packed[i]
		key, _ := packs.Key(f.path)
		at, ok := slices.BinarySearchFunc(m.n.packed, key, func(item packs.Item, key uint64) int {
			return cmp.Compare(item.Key, key)
		})
		if !ok || at+1 < len(m.n.packed) && m.n.packed[at+1].Key == key {
			return errAnother
		}
		m.n.packed[at].Size = int64(len(f.path)) + f.size + lineRoom
		name := packs.File(m.n.table[m.n.table.Pack(key)])
		if changed[name] == nil {
			changed[name] = make(map[string]*file)
		}
		changed[name][f.path] = f
	}
	if len(packed) == 0 {
		return nil
	}
	var table packs.Table
	packs.Split(m.n.packed, func(start string, _, _ int) { table = append(table, start) })
	if !slices.Equal(table, m.n.table) {
		return errAnother
	}
	for name, answers := range changed {
		pack, err := read(name)
		if err != nil {
			return err
		}
		var paths []string
		var docs [][]byte
		err = packs.Each(pack, func(path string, start, end int) bool {
			paths = append(paths, path)
			docs = append(docs, pack[start:end])
			return true
		})
		if err != nil {
			return err
		}
		found := 0
		text, err := packs.Append(nil, packs.Next(pack), len(paths), func(i int) (string, []byte, error) {
			f := answers[paths[i]]
			if f == nil {
				return paths[i], docs[i], nil
			}
			found++
			doc, err := m.w.spool.view(f.at, f.size)
			return paths[i], doc, err
		})
		if err != nil {
			return err
		}
		if found != len(answers) {
			return errAnother
		}
		if err := m.w.keep(file{path: name}, text, nil); err != nil {
			return err
		}
	}
	return nil
}

// differing leaves out the files that stay as they are, and verifies that the site has the others.
func (m *mender) differing(read func(string) ([]byte, error)) error {
	kept := m.w.files[:0]
	for i := range m.w.files {
		f := m.w.files[i]
		at, ok := m.at[f.path]
		if !ok || at >= m.n.site {
			return errAnother
		}
		old, err := read(f.path)
		if err != nil {
			return err
		}
		if sha256.Sum256(old) != f.sum {
			kept = append(kept, f)
		}
	}
	m.w.files = kept
	return nil
}

// index changes the entries of the changed files and answers, unless the site has no index.
func (m *mender) index(read func(string) ([]byte, error)) error {
	if m.w.opts.NoIndex {
		return nil
	}
	data, err := read(indexName)
	if err != nil {
		return err
	}
	index := &staticmcp.Index{}
	if err := json.Unmarshal(data, index); err != nil {
		return err
	}
	changed := make(map[string]*file)
	for i := range m.w.files {
		f := &m.w.files[i]
		index.Bytes += f.size - m.n.files[m.at[f.path]].stamp.Size
		changed[f.path] = f
	}
	for path := range m.sizes {
		changed[path] = nil
	}
	left := len(changed)
	entries := func(list []staticmcp.IndexEntry) (any bool) {
		for i := range list {
			e := &list[i]
			f, ok := changed[e.Path]
			if !ok {
				continue
			}
			left--
			size := m.sizes[e.Path]
			if f != nil {
				size = f.size
				sum := hex.EncodeToString(f.sum[:])
				any = any || e.SHA256 != sum
				e.SHA256 = sum
			}
			any = any || e.Size != size
			e.Size = size
		}
		return any
	}
	if index.Shards == nil {
		entries(index.Files)
	} else if err := m.shards(index, changed, entries, read); err != nil {
		return err
	}
	if left != 0 {
		return errAnother
	}
	doc, err := lines(index)
	if err != nil || bytes.Equal(doc, data) {
		return err
	}
	return m.w.keepInner(indexName, doc)
}

// shards changes the parts of an index.
func (m *mender) shards(index *staticmcp.Index, changed map[string]*file, entries func([]staticmcp.IndexEntry) bool,
	read func(string) ([]byte, error)) error {
	affected := make(map[int]bool)
	for path := range changed {
		at, found := slices.BinarySearchFunc(index.Shards, path, func(s staticmcp.IndexShard, path string) int {
			return cmp.Compare(s.First, path)
		})
		if !found {
			at--
		}
		if at < 0 {
			return errAnother
		}
		affected[at] = true
	}
	for at := range index.Shards {
		if !affected[at] {
			continue
		}
		name := index.Shards[at].Path
		data, err := read(name)
		if err != nil {
			return err
		}
		var list []staticmcp.IndexEntry
		if err := json.Unmarshal(data, &list); err != nil {
			return err
		}
		if !entries(list) {
			continue
		}
		doc, err := entryLines(list)
		if err != nil {
			return err
		}
		if err := m.w.keepInner(name, append(doc, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// finish fills in the result.
func (m *mender) finish() error {
	r := m.w.result
	r.Report.Add(m.n.findings...)
	r.Answers = m.n.answers
	r.Files = len(m.n.files)
	for _, list := range [][]file{m.w.files, m.w.inner} {
		for i := range list {
			f := &list[i]
			at, ok := m.at[f.path]
			if !ok {
				return errAnother
			}
			m.n.files[at].stamp.Size = f.size
			m.written[f.path] = true
		}
	}
	for i := range m.n.files {
		r.Bytes += m.n.files[i].stamp.Size
	}
	m.w.limits(func(yield func(string, int64) bool) {
		for _, f := range m.n.files[:m.n.site] {
			if !yield(f.path, f.stamp.Size) {
				return
			}
		}
	})
	if r.Report.Count(check.Error) > 0 && !m.w.opts.Lenient {
		return errAnother
	}
	r.Unchanged = len(m.n.files) - len(m.written)
	return nil
}

// commit writes the changed files, as a whole write does.
func (r *records) commit(ctx context.Context, m *mender) error {
	target, err := r.dir.begin(m.w.opts)
	if err != nil {
		return err
	}
	defer target.close()
	if !m.isCurrent(target.(*dirTarget)) {
		return errAnother
	}
	plan := &dirPlan{w: m.w}
	for _, list := range [][]file{m.w.files, m.w.inner} {
		for i := range list {
			plan.states = append(plan.states, differs)
			m.w.result.note(Update, list[i].path)
		}
	}
	m.w.stamps = make([]fsutil.Stamp, len(plan.states))
	if err := target.(*dirTarget).apply(ctx, m.w, plan); err != nil {
		return err
	}
	for i, stamp := range m.w.stamps {
		m.n.files[m.at[plan.file(i).path]].stamp = stamp
	}
	return nil
}

// isCurrent reports whether no other write has changed the folder since its state was compared with the
// record, before it was locked.
func (m *mender) isCurrent(t *dirTarget) bool {
	info, err := t.root.Lstat(filepath.FromSlash(indexName))
	at, ok := m.at[indexName]
	if err != nil || !ok || len(t.begun) > 0 {
		return false
	}
	now, before := fsutil.StampOf(info), m.n.files[at].stamp
	return now.Time == before.Time && now.Number == before.Number
}

func appendBlock(out, data []byte) []byte {
	return append(binary.AppendUvarint(out, uint64(len(data))), data...)
}

func cutBlock(data []byte) (block, rest []byte, ok bool) {
	size, n := binary.Uvarint(data)
	if n <= 0 || size > uint64(len(data)-n) {
		return nil, nil, false
	}
	return data[n : n+int(size)], data[n+int(size):], true
}

func appendNumbers(out []byte, numbers ...uint64) []byte {
	for _, n := range numbers {
		out = binary.AppendUvarint(out, n)
	}
	return out
}

func cutNumbers(data []byte, into []uint64) (rest []byte, ok bool) {
	for i := range into {
		value, n := binary.Uvarint(data)
		if n <= 0 {
			return nil, false
		}
		into[i] = value
		data = data[n:]
	}
	return data, true
}
