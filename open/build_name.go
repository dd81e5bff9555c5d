package open

import (
	"cmp"
	"context"

	"github.com/slipway-mcp/slipway/sitebuild"
)

// renamed is an input with overridden site names.
type renamed struct {
	sitebuild.Input
	opts *BuildOptions
}

// Site implements [sitebuild.Input].
func (r *renamed) Site(ctx context.Context) (*sitebuild.Site, error) {
	site, err := r.Input.Site(ctx)
	if err != nil {
		return nil, err
	}
	s := &site.Server
	s.Name, s.Title, s.Version =
		cmp.Or(r.opts.Name, s.Name), cmp.Or(r.opts.Title, s.Title), cmp.Or(r.opts.Version, s.Version)
	site.Instructions = cmp.Or(r.opts.Instructions, site.Instructions)
	return site, nil
}
