package main

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/slipway-mcp/slipway/fleet"
)

// startFlags specify how long the first clients wait for starting servers.
type startFlags struct{ wait time.Duration }

func (f *startFlags) add(flags *pflag.FlagSet) {
	flags.DurationVar(&f.wait, "start-wait", 300*time.Millisecond,
		"`time` to wait for servers before answering clients, so that clients receive a server's own name and instructions")
}

// check rejects a negative time.
func (f *startFlags) check() error {
	if f.wait < 0 {
		return usage("for example --start-wait 5s", "--start-wait: a time is not negative")
	}
	f.wait = max(f.wait, 1) // 0 would mean the default
	return nil
}

// options returns the options for a source that is served alone.
func (f *startFlags) options() *fleet.AwaitOptions {
	return &fleet.AwaitOptions{Wait: f.wait}
}
