package main

import (
	"context"
	"slices"
	"time"

	"github.com/slipway-mcp/slipway/bench/contract"
	"github.com/slipway-mcp/slipway/bench/figures"
	"github.com/slipway-mcp/slipway/bench/fix"
	"github.com/slipway-mcp/slipway/bench/load"
	"github.com/slipway-mcp/slipway/bench/process"
	"github.com/slipway-mcp/slipway/bench/system"
	"github.com/slipway-mcp/slipway/bench/trial"
)

// Measure starts the peer, and runs the workload.
func (p *peer) Measure(ctx context.Context, w fix.Workload, f trial.Figures) error {
	if w.Kind == fix.StartHTTP || w.Kind == fix.StartStdio {
		return p.measureStart(ctx, w, f)
	}
	if p.slices > 0 {
		return p.measureSlices(ctx, w, f)
	}
	proc, g, err := p.start(ctx, w)
	if err != nil {
		return err
	}
	defer proc.Stop()
	if w.Kind.Idle() {
		return proc.Explain(measureIdle(proc, g.Addr, w, f))
	}
	return proc.Explain(p.UnderLoad(proc.PID(), g, f))
}

// start starts the peer for the workload and waits until it listens. The caller must stop
// it; it is killed when ctx ends.
func (p *peer) start(ctx context.Context, w fix.Workload) (*process.Process, *load.Generator, error) {
	g := &load.Generator{
		Workload:    w,
		Connections: p.Connections,
	}
	cfg := contract.For(w, contract.Stdio)
	if p.with != "" {
		cfg.With = p.with
	}
	if w.Kind.Pipes() {
		proc, err := process.StartOnPipes(ctx,
			slices.Concat(p.Command, cfg.Args()), cfg.Env())
		if err == nil {
			g.In = proc.In
			g.Out = proc.Out
			g.Connections = 1
		}
		return proc, g, err
	}
	proc, addr, err := process.StartListening(ctx, cfg.Env(), func(addr string) ([]string, error) {
		cfg.Addr = addr
		return slices.Concat(p.Command, cfg.Args()), nil
	})
	g.Addr = addr
	return proc, g, err
}

// measureIdle sets the resident memory of a peer per idle client.
func measureIdle(proc *process.Process, addr string, w fix.Workload, f trial.Figures) error {
	idle := &load.Idle{
		Addr:     addr,
		Workload: w,
	}
	defer idle.Close()
	var resident [2]float64
	for i, open := range []func() error{idle.Prepare, idle.Open} {
		if err := open(); err != nil {
			return err
		}
		if err := idle.Free(); err != nil {
			return err
		}
		kb, err := system.ResidentKB(proc.PID())
		if err != nil {
			return err
		}
		resident[i] = float64(kb)
	}
	f["rss_kb"] = resident[1]
	f["rss_each"] = (resident[1] - resident[0]) * 1024 / float64(w.Count)
	return nil
}

// measureStart starts the peer several times and sets the medians. server_cpu_us is that
// of one start.
func (p *peer) measureStart(ctx context.Context, w fix.Workload, f trial.Figures) error {
	all := make(map[string][]float64)
	for range p.spawns {
		one := make(trial.Figures)
		if err := p.startOnce(ctx, w, one); err != nil {
			return err
		}
		for name, value := range one {
			all[name] = append(all[name], value)
		}
	}
	for name, values := range all {
		f[name] = figures.Median(values)
	}
	return nil
}

// startOnce measures from before the spawn to the first answer, which is checked.
func (p *peer) startOnce(ctx context.Context, w fix.Workload, f trial.Figures) error {
	proc, g, err := p.start(ctx, w)
	if err != nil {
		return err
	}
	defer proc.Stop()
	check := g.Check
	if w.Kind.Pipes() {
		check = g.Initialize
	}
	if err := check(); err != nil {
		return proc.Explain(err)
	}
	f["start_ms"] = time.Since(proc.Began).Seconds() * 1e3
	kb, err := system.ResidentKB(proc.PID())
	if err != nil {
		return err
	}
	f["rss_kb"] = float64(kb)
	proc.Stop()
	f["server_cpu_us"] = trial.Micros(proc.ProcessState.UserTime() + proc.ProcessState.SystemTime())
	return nil
}

// compareToFloor sets the ratios of a group: of the memory of idle clients, of start-up
// times, or else of CPU time, and of requests per second. Without a floor, there are
// none.
func compareToFloor(w fix.Workload, group []trial.Record) {
	i := slices.IndexFunc(group, func(r trial.Record) bool {
		return r.Name == floorOf(w) && r.Error == ""
	})
	if i < 0 {
		return
	}
	base := group[i].Figures
	ratio := "server_cpu_us"
	for _, figure := range []string{"start_ms", "rss_each"} {
		if base[figure] > 0 {
			ratio = figure
		}
	}
	for _, r := range group {
		if r.Error != "" {
			continue
		}
		r.Figures["ratio"] = r.Figures[ratio] / base[ratio]
		if base["requests_per_second"] > 0 {
			r.Figures["rate"] = r.Figures["requests_per_second"] / base["requests_per_second"]
		}
	}
}
