package site

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/internal/packs"
)

// Packed is a store that also finds the answers in packs, under the paths that they have in
// the standard's layout. It is safe for concurrent use.
type Packed struct {
	Store
	table atomic.Pointer[packs.Table]

	mu     sync.Mutex
	recent []*recentPack // most recently used first
	// names has the names in each folder, as of namedUntil.
	names      map[string]map[string]bool
	namedUntil time.Time
}

// recentPack is a pack that was read a short time ago. The sections of a page follow each
// other.
type recentPack struct {
	path string
	file *File
}

const (
	// maxRecent is how many packs are kept, and maxRecentBytes the largest that is kept.
	maxRecent      = 8
	maxRecentBytes = 2 * packs.MaxBytes
	// packRoom is added to the limit of an answer for the pack that contains it.
	packRoom = packs.MaxBytes
	// namesTime is how long the names in packs are used before they are read again.
	namesTime = 10 * time.Second
	// maxHops bounds how many other packs are tried if the table is not that of the packs,
	// because a new version of the site is being published.
	maxHops = 2
)

// NewPacked returns a store without packs, until [Packed.SetTable] is called.
func NewPacked(s Store) *Packed { return &Packed{Store: s} }

// SetTable sets the table of packs, which is that of the manifest in use, or nil.
func (p *Packed) SetTable(t packs.Table) {
	old := p.table.Swap(&t)
	if old != nil && slices.Equal(*old, t) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.recent = nil
	p.names = nil
}

// Table returns the table of packs, or nil.
func (p *Packed) Table() packs.Table {
	if t := p.table.Load(); t != nil {
		return *t
	}
	return nil
}

// Load implements [Store]. A file outside the packs is found, too: it may have been added
// since the packs were written.
func (p *Packed) Load(ctx context.Context, path string, since *Stamp, limit int64) (*File, error) {
	table := p.Table()
	if len(table) == 0 || !strings.HasPrefix(path, ToolsDir+"/") {
		return p.Store.Load(ctx, path, since, limit)
	}
	key, packed := packs.Key(path)
	if !packed {
		if strings.Count(path, "/") > 1 {
			return nil, ErrMissing // a spelling that a packed site never has
		}
		return p.Store.Load(ctx, path, since, limit)
	}
	found, err := p.find(ctx, table, table.Pack(key), packs.Start(key), path, since, limit)
	if !errors.Is(err, ErrMissing) && !errors.Is(err, errIncomplete) {
		return found, err
	}
	single, singleErr := p.Store.Load(ctx, path, since, limit)
	if errors.Is(singleErr, ErrMissing) {
		return nil, err
	}
	return single, singleErr
}

// errIncomplete is the error for an answer whose pack is missing or damaged, as in a site
// that was published in part.
var errIncomplete = errors.New("a pack of the site is missing or damaged")

// find returns an answer from the pack at index i of the table, or from one next to it if
// the pack has another range than the table says.
func (p *Packed) find(
	ctx context.Context,
	table packs.Table,
	i int,
	key, path string,
	since *Stamp,
	limit int64,
) (*File, error) {
	start := table[i]
	unknown := ErrMissing
	for range maxHops + 1 {
		pack, err := p.pack(ctx, packs.File(start), since, limit)
		switch {
		case errors.Is(err, ErrMissing) && i > 0:
			unknown = errIncomplete // unless the pack was merged into the one before
			i--
			start = table[i]
			continue
		case errors.Is(err, ErrMissing):
			return nil, errIncomplete // the first pack always exists
		case err != nil:
			return nil, err
		case pack.Unchanged:
			return pack, nil
		}
		if answer := packs.Find(pack.Data, path); answer != nil {
			if int64(len(answer)) > limit {
				return nil, TooLarge{limit}
			}
			found := *pack
			found.Data = bytes.Clone(answer) // the rest of the pack can be freed
			return &found, nil
		}
		if !packs.Begins(pack.Data) {
			return nil, errIncomplete
		}
		next := packs.Next(pack.Data)
		if next == "" || key < next {
			return nil, ErrMissing
		}
		start = next // the pack was split
	}
	return nil, unknown
}

// pack returns a pack, from memory if it was read a short time ago.
func (p *Packed) pack(ctx context.Context, path string, since *Stamp, limit int64) (*File, error) {
	if file := p.kept(path); file != nil {
		return file, nil
	}
	file, err := p.Store.Load(ctx, path, since, limit+packRoom)
	if err != nil || file.Unchanged || file.Passing || len(file.Data) > maxRecentBytes {
		return file, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.recent = slices.DeleteFunc(p.recent, func(r *recentPack) bool { return r.path == path })
	p.recent = slices.Insert(p.recent, 0, &recentPack{path, file})
	p.recent = p.recent[:min(len(p.recent), maxRecent)]
	return file, nil
}

// kept returns a pack that is in memory and fresh, or nil.
func (p *Packed) kept(path string) *File {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, r := range p.recent {
		if r.path != path {
			continue
		}
		p.recent = slices.Delete(p.recent, i, i+1)
		if !time.Now().Before(r.file.FreshUntil) {
			return nil
		}
		p.recent = slices.Insert(p.recent, 0, r)
		return r.file
	}
	return nil
}

// Names implements [Store]: the names in a folder, and those of answers in packs.
func (p *Packed) Names(dir string, visit func(name string, isDir bool) bool) error {
	if len(p.Table()) == 0 || !p.Traits().Listed || dir != ToolsDir && !strings.HasPrefix(dir, ToolsDir+"/") {
		return p.Store.Names(dir, visit)
	}
	packed, err := p.packedNames(dir)
	if err != nil {
		return err
	}
	more := true
	err = p.Store.Names(dir, func(name string, isDir bool) bool {
		if _, twice := packed[name]; !twice {
			more = visit(name, isDir)
		}
		return more
	})
	if err != nil && (!errors.Is(err, ErrMissing) || packed == nil) {
		return err
	}
	for name, isDir := range packed {
		if !more {
			break
		}
		more = visit(name, isDir)
	}
	return nil
}

// packedNames returns the names in the folder dir that packs contain, and whether they are
// folders. The map must not be modified.
func (p *Packed) packedNames(dir string) (map[string]bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.names != nil && (p.Traits().Frozen || time.Now().Before(p.namedUntil)) {
		return p.names[dir], nil
	}
	names := make(map[string]map[string]bool)
	err := p.Each(context.Background(), func(_, path string, _, _ int) bool {
		for isDir := false; path != ToolsDir; isDir = true {
			at := strings.LastIndexByte(path, '/')
			folder := names[path[:at]]
			known := folder != nil
			if !known {
				folder = make(map[string]bool)
				names[path[:at]] = folder
			}
			folder[path[at+1:]] = isDir
			if known {
				break
			}
			path = path[:at]
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	p.names = names
	p.namedUntil = time.Now().Add(namesTime)
	return names[dir], nil
}

// Each calls visit with each answer in a pack: the path of its pack, its own, and where it
// begins and ends in the pack. Missing packs have no answers.
func (p *Packed) Each(ctx context.Context, visit func(pack, path string, start, end int) bool) error {
	left := DefaultMaxEntries
	for _, start := range p.Table() {
		name := packs.File(start)
		file, err := p.Store.Load(ctx, name, nil, DefaultMaxFileBytes+packRoom)
		if errors.Is(err, ErrMissing) {
			continue
		}
		if err != nil {
			return err
		}
		err = packs.Each(file.Data, func(path string, start, end int) bool {
			if _, ok := packs.Key(path); !ok {
				return true // not a path of an answer
			}
			left--
			return left >= 0 && visit(name, path, start, end)
		})
		if err != nil || left < 0 {
			return err
		}
	}
	return nil
}
