package fleet

import (
	"context"
	"errors"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/stax"
)

// OpenServer is [stax.Resolver.Open] for a single server from definitions. Of opts, only
// Resolver, Client, Stderr and Idle are used. With Lazy, the server is not started if its
// catalog is cached; if it is not cached, a failed start is an error. Close stops the
// server.
func OpenServer(ctx context.Context, merged *stax.Merged, name string, opts *Options) (mcp.Source, error) {
	o := opts.withDefaults()
	live := *o.Client
	live.Name = name
	one := &single{cache: &catalogCache{}}
	s := merged.Config.Server(name)
	if s != nil && !s.Remote() {
		live.Timeouts.Idle = o.Idle.Stop
	}
	if s != nil && o.Idle.Lazy {
		live.Lazy = true
		one.cache = cacheOf(o.Idle.CacheDir, s)
		live.Previous.Catalog = one.cache.load()
	}
	var err error
	one.Opened, err = o.Resolver.Open(ctx, merged, name, &stax.OpenOptions{
		Live:   &live,
		Stderr: o.Stderr(name),
	})
	if err != nil {
		return nil, err
	}
	if live.Previous.Catalog == nil {
		if _, err := one.Catalog(ctx); err != nil {
			return nil, errors.Join(err, one.Opened.Close())
		}
	}
	return one, one.cache.save(ctx, one.Live())
}

// single is a server that is served alone.
type single struct {
	*stax.Opened
	cache *catalogCache
}

var _ mcp.Source = (*single)(nil)

// Close stops the server.
func (s *single) Close() error {
	return errors.Join(s.cache.save(context.Background(), s.Live()), s.Opened.Close())
}
