package staticmcp

import (
	"context"
	"errors"
	"time"

	"github.com/slipway-mcp/slipway/internal/site"
)

// document returns the file at path, reading it again if it has expired.
func (s *Site) document(ctx context.Context, path string) (*document, error) {
	i := lookup(s.cache, path)
	if i == nil || !i.fresh(time.Now()) {
		var err error
		if i, err = s.load(ctx, path, path, s.opts.MaxFileBytes, s.asDocument); err != nil {
			return nil, err
		}
	}
	switch v := i.value.(type) {
	case *document:
		return v, nil
	case error:
		return nil, v
	}
	return nil, site.ErrMissing
}

// asDocument parses a file as an answer.
func (s *Site) asDocument(path string, loaded *site.File) (any, int64, error) {
	d, err := readDocument(path, loaded.Data, s.opts)
	if err != nil {
		return nil, 0, err
	}
	d.cache = s.hint(loaded)
	if d.resource != nil {
		d.resource.Cache = d.cache
	}
	return d, d.size, nil
}

// making parses a file into the value to cache, and returns its size.
type making func(path string, loaded *site.File) (value any, size int64, err error)

// load returns the value cached under key after reading or revalidating the file at path.
// Concurrent callers with the same key share one read.
func (s *Site) load(ctx context.Context, key, path string, limit int64, as making) (*item, error) {
	return s.flights.do(ctx, key, func() (*item, error) {
		old := lookup(s.cache, key)
		if old != nil && old.fresh(time.Now()) {
			return old, nil // another caller was faster
		}
		return s.refresh(ctx, old, key, path, limit, as)
	})
}

// retryPause is how long a failed web host is not asked again while its older answer is
// served.
const retryPause = 5 * time.Second

// refresh reads the file at path, or confirms that the cached value is still valid.
func (s *Site) refresh(ctx context.Context, old *item, key, path string, limit int64, as making) (*item, error) {
	var since *site.Stamp
	if old != nil && old.usable() {
		since = &old.stamp
	}
	loaded, err := s.store.Load(ctx, path, since, limit)
	switch {
	case errors.Is(err, site.ErrMissing):
		return s.absent(key, old), nil
	case err != nil && since != nil && isUnavailable(err) &&
		time.Now().UnixNano() < old.staleUntil.Load():
		s.opts.Logger.Warn("serving an older answer", "path", path, "error", err)
		old.freshUntil.Store(time.Now().Add(retryPause).UnixNano())
		return old, nil
	case err != nil:
		return nil, &FileError{path, err}
	case loaded.Unchanged && since != nil:
		old.extend(loaded)
		return old, nil
	}
	i := &item{
		key:   key,
		stamp: loaded.Stamp,
	}
	i.extend(loaded)
	i.value, i.size, err = as(path, loaded)
	switch {
	case errors.Is(err, site.ErrMissing):
		return s.absent(key, old), nil
	case err != nil:
		s.opts.Logger.Warn("a file of the site cannot be used", "path", path, "error", err)
		i.value = &FileError{path, err}
	}
	s.tell(old, i)
	if loaded.Passing {
		s.cache.remove(key)
	} else {
		s.cache.put(i)
	}
	return i, nil
}

// usable reports whether the item holds a parsed file rather than an error.
func (i *item) usable() bool {
	_, failed := i.value.(error)
	return !failed
}

// absent records, for a web host, that the file does not exist. For a folder, checking
// again is cheaper than the memory.
func (s *Site) absent(key string, old *item) *item {
	i := &item{
		key:   key,
		value: site.ErrMissing,
	}
	s.tell(old, i)
	if s.store.Traits().Listed || s.opts.MissTTL <= 0 {
		if old != nil {
			s.cache.remove(key)
		}
		return i
	}
	i.freshUntil.Store(time.Now().Add(s.opts.MissTTL).UnixNano())
	s.cache.put(i)
	return i
}
