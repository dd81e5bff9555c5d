package main

import (
	"context"
	"slices"

	"github.com/slipway-mcp/slipway/bench/fix"
	"github.com/slipway-mcp/slipway/bench/load"
	"github.com/slipway-mcp/slipway/bench/process"
	"github.com/slipway-mcp/slipway/bench/trial"
)

// Measure starts the gateway, and its upstream server if that is a remote one, and runs
// the workload.
func (r *row) Measure(ctx context.Context, w fix.Workload, f trial.Figures) error {
	s := &setup{child: slices.Concat(r.server, []string{child})}
	if r.back == remote {
		server, addr, err := process.StartListening(ctx, nil, func(addr string) ([]string, error) {
			return []string{r.server[0], addr}, nil
		})
		if err != nil {
			return err
		}
		defer server.Stop()
		s.url = "http://" + addr + "/mcp"
	}
	proc, addr, err := process.StartListening(ctx, r.env, func(addr string) ([]string, error) {
		s.addr = addr
		return r.commandLine(s)
	})
	if err != nil {
		return err
	}
	defer proc.Stop()
	g := &load.Generator{
		Addr:        addr,
		Workload:    w,
		Connections: r.Connections,
		Lenient:     true,
		Each:        w.Quick(),
	}
	err = r.UnderLoad(proc.PID(), g, f)
	f["cpu_us"] = f["server_cpu_us"]
	f["rss_after_kb"] = f["rss_kb"]
	return proc.Explain(err)
}
