package main

import (
	"github.com/spf13/pflag"

	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// budgetFlags limit the memory that a server keeps between requests and for requests in
// flight.
type budgetFlags struct {
	total, client    size
	bodies, ofClient size
}

func (f *budgetFlags) add(flags *pflag.FlagSet) {
	f.total, f.client = 256<<20, 0
	flags.Var(&f.total, "max-kept", "memory `size` for sessions, streams, subscriptions, tasks and their results")
	flags.Var(&f.client, "max-kept-per-client", "the same for one client (default: a quarter of --max-kept)")
	f.bodies, f.ofClient = 256<<20, 0
	flags.Var(&f.bodies, "max-in-flight-bytes", "memory `size` for requests being received or processed")
	flags.Var(&f.ofClient, "max-in-flight-bytes-per-client", "the same for one client (default: a quarter of --max-in-flight-bytes)")
}

func (f *budgetFlags) options() mcpserver.Budget {
	return mcpserver.Budget{
		Bytes: int64(f.total), ClientBytes: int64(f.client),
		RequestBytes: int64(f.bodies), ClientRequestBytes: int64(f.ofClient),
	}
}
