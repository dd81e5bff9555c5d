package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/open"
	"github.com/slipway-mcp/slipway/staticmcp"
	"github.com/slipway-mcp/slipway/staticmcp/freeze"
)

// fallbackFlags select the source for requests that a site cannot answer.
type fallbackFlags struct {
	source string
	write  bool
}

// open opens the only site in args, and its fallback, for whose start requests wait until settle.
func (f *fallbackFlags) open(ctx context.Context, args []string, settle time.Duration, opts *open.Options,
	lock *guarding, log *slog.Logger) (mcp.Source, error) {
	second := f.source
	if second == "-" {
		if len(args) < 2 {
			return nil, usage("for example: slipway serve site --fallback - -- node server.js",
				"serve: --fallback - needs a site and a command after --")
		}
		second = args[0]
		args = args[1:]
	}
	if len(args) != 1 {
		return nil, usage("", "serve: --fallback goes with one site")
	}
	if err := oneTokenOneServer([]string{args[0], second}); err != nil {
		return nil, err
	}
	first, err := open.Open(ctx, args[0], opts)
	if err != nil {
		return nil, err
	}
	both := &pair{first: first}
	site, ok := first.(*staticmcp.Site)
	if !ok {
		both.close()
		return nil, usage("", "serve: --fallback: %s is not a site", args[0])
	}
	o := &freeze.FallbackOptions{Logger: log}
	if f.write {
		if info, err := os.Stat(args[0]); err != nil || !info.IsDir() {
			both.close()
			return nil, usage("", "serve: --fallback-write: %s is not a folder", args[0])
		}
		o.Dir = args[0]
	}
	late, err := openLate(ctx, second, settle, opts, log, func(src mcp.Source) mcp.Source {
		return lock.over([]string{second}, []mcp.Source{src})[0]
	})
	if err != nil {
		both.close()
		return nil, err
	}
	both.second = late
	o.Await = late.await
	both.Fallback = freeze.NewFallback(site, late, o)
	return lock.over(args, []mcp.Source{both})[0], nil
}

// pair is a site with its fallback, which it owns.
type pair struct {
	*freeze.Fallback
	first, second mcp.Source
}

var _ io.Closer = (*pair)(nil)

// Close completes pending writes, then closes both.
func (p *pair) Close() error {
	return errors.Join(p.Fallback.Close(), p.close())
}

// close closes both sources.
func (p *pair) close() error {
	closeSource(p.first)
	closeSource(p.second)
	return nil
}
