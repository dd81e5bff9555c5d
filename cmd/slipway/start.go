package main

import (
	"context"
	"time"

	"github.com/spf13/pflag"

	"github.com/slipway-mcp/slipway/fleet"
	"github.com/slipway-mcp/slipway/mcp"
)

// startFlags specify how long the first clients wait for starting servers.
type startFlags struct{ wait time.Duration }

func (f *startFlags) add(flags *pflag.FlagSet) {
	flags.DurationVar(&f.wait, "start-wait", 300*time.Millisecond, "`time` to wait for servers before answering clients, so that clients receive a server's own name and instructions")
}

// check rejects a negative time.
func (f *startFlags) check() error {
	if f.wait < 0 {
		return usage("for example --start-wait 5s", "--start-wait: a time is not negative")
	}
	f.wait = max(f.wait, 1) // 0 would mean the default
	return nil
}

// await opens a source that is served alone, in the background if it takes long. opening
// is for [serve.Options]; it is nil if src is open.
func (f *startFlags) await(ctx context.Context, name string, one func(context.Context) (mcp.Source, error)) (
	src mcp.Source, opening func(context.Context) (mcp.Source, error), err error,
) {
	src, err = fleet.Await(ctx, name, one, &fleet.AwaitOptions{Wait: f.wait})
	if pending, ok := src.(*fleet.Pending); ok {
		opening = pending.Opened
	}
	return src, opening, err
}
