package staticmcp

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/internal/site"
)

// listing is the names in a folder of a site that can be answers.
type listing struct {
	files   []string // without extension, sorted
	folders []string // sorted
}

// listingTime is how long the names in a folder are used before they are read again. They
// only serve suggestions and rare spellings.
const listingTime = 2 * time.Second

// listing returns the names in the folder dir.
func (s *Site) listing(ctx context.Context, dir string) (*listing, error) {
	key := "\x00dir\x00" + dir
	i := lookup(s.cache, key)
	if i == nil || !i.fresh(time.Now()) {
		var err error
		if i, err = s.flights.do(ctx, key, func() (*item, error) {
			return s.readListing(key, dir)
		}); err != nil {
			return nil, err
		}
	}
	return i.value.(*listing), nil
}

// readListing reads the names in a folder, and caches them for a short time.
func (s *Site) readListing(key, dir string) (*item, error) {
	l := &listing{}
	var size int64
	left := s.opts.MaxEntries
	err := s.store.Names(dir, func(name string, isDir bool) bool {
		if left--; left < 0 {
			return false
		}
		size += int64(len(name)) + 16
		if isDir {
			l.folders = append(l.folders, name)
		} else if file, ok := strings.CutSuffix(name, site.Extension); ok && file != site.SchemaName {
			l.files = append(l.files, file)
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(l.files)
	slices.Sort(l.folders)
	i := &item{
		key:   key,
		value: l,
		size:  size,
	}
	i.freshUntil.Store(time.Now().Add(listingTime).UnixNano())
	if s.store.Traits().Frozen {
		i.freshUntil.Store(site.Far.UnixNano())
	}
	s.cache.put(i)
	return i, nil
}

// names returns the names of files and folders together, sorted, each once.
func (l *listing) names() []string {
	if len(l.folders) == 0 {
		return l.files
	}
	all := append(slices.Clone(l.files), l.folders...)
	slices.Sort(all)
	return slices.Compact(all)
}

// findLong looks for the file of a name over 200 characters that ends in an unknown hash:
// the only one that agrees in the rest.
func (s *Site) findLong(ctx context.Context, p *plan, accept func(*document) bool) (*document, error) {
	parts := strings.Split(strings.TrimSuffix(p.candidates[0].Path, site.Extension), "/")
	changed := false
	for i, part := range parts {
		prefix, long := site.LongNamePrefix(part)
		if !long || len(p.originals) < len(parts)-i {
			continue
		}
		// A name that only looks like a long name is an ordinary one.
		original := p.originals[len(p.originals)-(len(parts)-i)]
		if site.EncodeName(original) == original {
			continue
		}
		l, err := s.listing(ctx, strings.Join(parts[:i], "/"))
		if err != nil {
			return nil, site.ErrMissing
		}
		names := l.folders
		if i == len(parts)-1 {
			names = l.files
		}
		found := slices.DeleteFunc(slices.Clone(site.StartingWith(names, prefix)),
			func(name string) bool { return len(name) != site.MaxName })
		if len(found) != 1 {
			return nil, site.ErrMissing
		}
		changed = changed || found[0] != part
		parts[i] = found[0]
	}
	if !changed {
		return nil, site.ErrMissing
	}
	d, err := s.document(ctx, strings.Join(parts, "/")+site.Extension)
	if err == nil && !accept(d) {
		err = site.ErrMissing
	}
	return d, err
}

// missing describes the first argument of a call for which the site has no file, and the
// values that it has. It returns "" if the site does not have that information.
func (s *Site) missing(ctx context.Context, p *plan, names []string) string {
	if !s.store.Traits().Listed || len(p.candidates) == 0 {
		return ""
	}
	parts := strings.Split(strings.TrimSuffix(p.candidates[0].Path, site.Extension), "/")
	skip := len(parts) - len(p.originals)
	if skip < 1 || len(names) != len(p.originals) {
		return ""
	}
	for i, name := range names {
		l, err := s.listing(ctx, strings.Join(parts[:skip+i], "/"))
		if err != nil {
			return ""
		}
		known := l.folders
		if i == len(names)-1 {
			known = l.files
		}
		if _, ok := slices.BinarySearch(known, parts[skip+i]); ok {
			continue
		}
		return describeKnown(name, parts[skip+i], known)
	}
	return ""
}
