package sitewriter

import (
	"cmp"
	"context"
	"os"
	"slices"
	"time"

	"github.com/slipway-mcp/slipway/internal/pagecache"
)

// patchedMemory is a site in memory, whose record is in memory too, or in a temporary file.
type patchedMemory struct {
	*Memory
	name string // of the record
	opts *Options
}

// memoryRecord is the record of the site in a [Memory]. Like the contents of a large site, it
// moves to a temporary file without a name beyond [SpoolOptions.SpoolBytes].
type memoryRecord struct {
	name  string
	spool *spool
	// parts are those of the writer and of the input.
	parts  []extent
	stored map[pagecache.Key]extent
}

// extent is a part of a spool.
type extent struct{ at, size int64 }

func (r *memoryRecord) put(data []byte) (extent, error) {
	at, err := r.spool.write(data)
	return extent{at, int64(len(data))}, err
}

// forget removes the record.
func (m *Memory) forget() {
	if m.record != nil {
		m.record.spool.close()
		m.record = nil
	}
}

func (p *patchedMemory) close() {}

func (p *patchedMemory) load() (*written, [][]byte) {
	if p.record == nil || p.record.name != p.name {
		return nil, nil
	}
	parts := make([][]byte, len(p.record.parts))
	for i, e := range p.record.parts {
		var err error
		if parts[i], err = p.record.spool.read(e.at, e.size); err != nil {
			return nil, nil
		}
	}
	n := &written{}
	if n.decode(parts[0]) != nil {
		return nil, nil
	}
	return n, parts[recordParts:]
}

func (p *patchedMemory) stored(key pagecache.Key) ([]byte, bool) {
	e, ok := p.record.stored[key]
	if !ok {
		return nil, false
	}
	data, err := p.record.spool.read(e.at, e.size)
	return data, err == nil
}

func (p *patchedMemory) read(path string) ([]byte, error) { return p.ReadFile(path) }

func (p *patchedMemory) store(n *written, _ func(int) bool, parts [][]byte, stored map[pagecache.Key][]byte) {
	p.forget()
	data, err := n.encode()
	if err != nil {
		return
	}
	r := &memoryRecord{
		name: p.name,
		spool: &spool{
			limit: p.opts.SpoolBytes,
			dir:   cmp.Or(p.opts.TempDir, os.TempDir()),
			most:  p.maxBytes(),
		},
		stored: make(map[pagecache.Key]extent, len(stored)),
	}
	for _, part := range append([][]byte{data}, parts...) {
		e, err := r.put(part)
		if err != nil {
			r.spool.close()
			return
		}
		r.parts = append(r.parts, e)
	}
	for key, value := range stored {
		if r.stored[key], err = r.put(value); err != nil {
			r.spool.close()
			return
		}
	}
	p.record = r
}

// commit replaces the changed files in a copy of the tree, which replaces it at once.
func (p *patchedMemory) commit(_ context.Context, m *mender) error {
	before := p.tree.Load()
	after := &memoryTree{
		files:    slices.Clone(before.files),
		spooled:  before.spooled,
		end:      before.end,
		replaced: before.replaced,
	}
	if size, most := m.w.result.Bytes, p.maxBytes(); size > most {
		return &MemoryError{Size: size, Max: most}
	}
	now := time.Now().UnixNano()
	for _, changed := range m.w.all() {
		f := &after.files[after.search(changed.path)]
		data, err := m.w.spool.view(changed.at, changed.size)
		if err != nil {
			return err
		}
		after.replaced += f.size
		*f = memoryFile{path: f.path, at: after.end, size: changed.size, sum: changed.sum, modified: now}
		if after.spooled == nil {
			f.data = append(make([]byte, 0, len(data)), data...) // not nil, even if it is empty
		} else if _, err := after.spooled.WriteAt(data, f.at); err != nil {
			return err
		}
		after.end += f.size
		m.w.result.note(Update, f.path)
	}
	if after.spooled != nil && after.replaced > m.w.result.Bytes {
		if err := after.compact(cmp.Or(p.opts.TempDir, os.TempDir())); err != nil {
			return err
		}
	}
	p.tree.Store(after)
	return nil
}

// compact moves the contents to a new file, without what was replaced.
func (t *memoryTree) compact(dir string) error {
	s := &spool{limit: -1, dir: dir}
	defer s.close()
	var data []byte
	for i := range t.files {
		f := &t.files[i]
		data = slices.Grow(data[:0], int(f.size))[:f.size]
		if _, err := t.spooled.ReadAt(data, f.at); err != nil {
			return err
		}
		var err error
		if f.at, err = s.write(data); err != nil {
			return err
		}
	}
	t.end = s.size
	t.replaced = 0
	var err error
	t.spooled, err = s.release()
	return err
}

var _ patchable = (*patchedMemory)(nil)
