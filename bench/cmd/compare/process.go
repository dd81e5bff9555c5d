package main

import (
	"context"

	"github.com/slipway-mcp/slipway/bench/contract"
	"github.com/slipway-mcp/slipway/bench/fix"
	"github.com/slipway-mcp/slipway/bench/process"
)

// stdio is the address of a peer on its standard streams.
const stdio = "stdio"

// start starts the peer for the workload. The caller must stop it; it is killed when ctx
// ends.
func start(ctx context.Context, p installedPeer, w fix.Workload, addr string) (*process.Process, error) {
	cfg := contract.For(w, addr)
	if p.with != "" {
		cfg.With = p.with
	}
	argv := append(p.command[:len(p.command):len(p.command)], cfg.Args()...)
	if addr == stdio {
		return process.StartOnPipes(ctx, argv, cfg.Env())
	}
	return process.Start(ctx, argv, cfg.Env())
}
