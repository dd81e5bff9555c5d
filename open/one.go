package open

import (
	"context"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/compose"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/stax"
)

// OpenServer is [stax.Resolver.Open] for a single server from definitions, started
// according to Lazy, CacheDir and IdleStop in opts; of the other options, only Resolver
// is used. With Lazy, the server is not started if its catalog is cached; if it is not
// cached, a failed start is an error. Close stops the server.
func OpenServer(
	ctx context.Context,
	merged *stax.Merged,
	name string,
	opts *DefinitionsOptions,
	l *LiveOptions,
) (mcp.Source, error) {
	o := opts.withDefaults()
	if l == nil {
		l = &LiveOptions{}
	}
	one := &single{member: &member{name: name}}
	var supervision client.Options
	if l.Source != nil {
		supervision = *l.Source
	}
	supervision.Name, supervision.Opened = name, opened(one.member, supervision.Opened)
	s := merged.Config.Server(name)
	if s != nil && !s.Remote() {
		supervision.IdleStop = o.IdleStop
	}
	if s != nil && o.Lazy {
		supervision.Lazy = true
		one.cache = cacheFile(o.CacheDir, s)
		supervision.Catalog = remembered(one.cache)
	}
	src, err := o.Resolver.Open(ctx, merged, name, &stax.OpenOptions{Live: &supervision, Stderr: l.stderr(name)})
	if err != nil {
		return nil, err
	}
	one.part = compose.NewRetirable(src)
	one.Retirable = one.part
	if supervision.Catalog != nil {
		one.saved = supervision.Catalog.Version()
	} else if _, err := src.Catalog(ctx); err != nil {
		one.close()
		return nil, err
	}
	return one, one.remember(ctx)
}

// single is a server that is served alone.
type single struct {
	*compose.Retirable
	*member
}

var _ mcp.Source = (*single)(nil)

// remember caches the catalog of the server, if it has run.
func (s *single) remember(ctx context.Context) error {
	server := s.server.Load()
	if s.cache == "" || server == nil || server.State().Starts == 0 {
		return nil
	}
	cat, err := server.Catalog(ctx)
	if err != nil {
		return err
	}
	return s.keep(cat)
}

// Close stops the server.
func (s *single) Close() error {
	err := s.remember(context.Background())
	s.close()
	return err
}
