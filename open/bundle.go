package open

import (
	"cmp"
	"context"
	"errors"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcpb"
)

// openBundle starts the server of a bundle, as configured by opts.Bundle.
func openBundle(ctx context.Context, arg string, opts *Options) (mcp.Source, error) {
	var o mcpb.OpenOptions
	if opts.Bundle != nil {
		o = *opts.Bundle
	}
	if l := opts.Live; l != nil {
		if o.Live == nil {
			o.Live = l.Source
		}
		if o.Stderr == nil {
			o.Stderr = l.stderr(arg)
		}
	}
	var server client.Options
	if o.Live != nil {
		server = *o.Live
	}
	server.Name = cmp.Or(server.Name, Argument(arg).Name())
	o.Live = &server
	src, err := openOrList(ctx, arg, &o, opts)
	if err == nil {
		return src, nil
	}
	e := unreadable(arg, err)
	var runtime *mcpb.RuntimeError
	if errors.As(err, &runtime) {
		e.Kind = Remote
		e.Hint = runtime.Hint
	}
	return nil, e
}

// openOrList opens a bundle. With opts.ListOnly, it prefers to start the server with the
// options at hand, as the manifest may be outdated. If required options are missing, it
// uses the catalog in the manifest, and asks for the options only if there is none.
func openOrList(
	ctx context.Context,
	arg string,
	o *mcpb.OpenOptions,
	opts *Options,
) (mcp.Source, error) {
	unasked := *o
	if opts.ListOnly {
		unasked.Ask = nil
		unasked.Start = true
	}
	src, err := mcpb.Open(ctx, arg, &unasked)
	var refused *mcpb.ExpandError
	if err == nil {
		return src, nil
	}
	if !opts.ListOnly || !errors.As(err, &refused) ||
		len(refused.Missing()) != len(refused.Findings) {
		return nil, err
	}
	known, staticErr := mcpb.OpenStatic(ctx, arg, &unasked)
	switch {
	case staticErr != nil:
		return nil, staticErr
	case known != nil:
		opts.report(client.Event{
			Name: arg,
			What: client.EventUnstarted,
		})
		return known, nil
	case o.Ask == nil:
		return nil, err
	}
	if src, err = mcpb.Open(ctx, arg, o); err != nil {
		return nil, err
	}
	return src, nil
}
