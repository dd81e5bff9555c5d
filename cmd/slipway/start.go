package main

import (
	"time"

	"github.com/slipway-mcp/slipway/fleet"
)

// startFlags specify how long the first clients wait for starting servers.
type startFlags struct{ wait time.Duration }

// defaultStartWait is the value of --start-wait.
const defaultStartWait = 300 * time.Millisecond

// settings returns the setting for the flag and for definitions.startWait in a configuration file.
func (f *startFlags) settings() []setting {
	return []setting{{
		key:   "definitions.startWait",
		flag:  "start-wait",
		field: &f.wait,
		usage: "`time` to wait for servers before answering clients, so that clients receive a server's own name and " +
			"instructions",
	}}
}

// options returns the options for a source that is served alone.
func (f *startFlags) options() *fleet.AwaitOptions {
	return &fleet.AwaitOptions{Wait: f.least()}
}

// least returns the time for options in which 0 means the default.
func (f *startFlags) least() time.Duration { return max(f.wait, 1) }
