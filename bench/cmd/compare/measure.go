package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/slipway-mcp/slipway/bench/figures"
	"github.com/slipway-mcp/slipway/bench/fix"
	"github.com/slipway-mcp/slipway/bench/load"
	"github.com/slipway-mcp/slipway/bench/process"
	"github.com/slipway-mcp/slipway/bench/system"
)

// record is one measurement: a newly started peer in one round of a workload. In start-up
// workloads, ServerCPU is that of one start, and there are no requests.
type record struct {
	Round    int    `json:"round"`
	Workload string `json:"workload"`
	Peer     string `json:"peer"`
	Error    string `json:"error,omitempty"`

	Requests   int64   `json:"requests,omitempty"`
	Seconds    float64 `json:"seconds,omitempty"`
	PerSecond  float64 `json:"requests_per_second,omitempty"`
	ServerCPU  float64 `json:"server_cpu_us,omitempty"`    // per request
	ClientCPU  float64 `json:"generator_cpu_us,omitempty"` // per request
	Generator  float64 `json:"generator_cores,omitempty"`  // processors it kept busy
	P50        float64 `json:"p50_us,omitempty"`
	P99        float64 `json:"p99_us,omitempty"`
	ResidentKB int64   `json:"rss_kb,omitempty"`
	Start      float64 `json:"start_ms,omitempty"` // spawn to first answer
	Each       float64 `json:"rss_each,omitempty"` // bytes per idle client

	// Ratio is ServerCPU (in start-up workloads, Start) divided by that of the floor in the
	// same round. Rate is the same for PerSecond.
	Ratio float64 `json:"ratio,omitempty"`
	Rate  float64 `json:"rate,omitempty"`
}

// grace is how far a run may exceed its expected duration before it is killed.
const grace = 30 * time.Second

// measure takes one record. Failures of the peer are stored in the record.
func measure(ctx context.Context, o *options, p installedPeer, w fix.Workload) record {
	r := record{Workload: w.Name, Peer: p.name}
	var err error
	switch w.Kind {
	case fix.HTTP:
		err = measureHTTP(ctx, o, p, w, &r)
	case fix.Stdio:
		err = measureStdio(ctx, o, p, w, &r)
	case fix.WebSocket:
		err = measureHTTP(ctx, o, p, w, &r)
	case fix.IdleSession, fix.IdleStream, fix.IdleWebSocket:
		err = measureIdle(ctx, p, w, &r)
	default:
		err = measureStart(ctx, o, p, w, &r)
	}
	if err != nil {
		return record{Workload: w.Name, Peer: p.name, Error: err.Error()}
	}
	return r
}

func measureHTTP(ctx context.Context, o *options, p installedPeer, w fix.Workload, r *record) error {
	ctx, cancel := context.WithTimeout(ctx, o.warmup+4*o.measure+grace)
	defer cancel()
	addr, err := process.FreeAddr()
	if err != nil {
		return err
	}
	proc, err := start(ctx, p, w, addr)
	if err != nil {
		return err
	}
	defer proc.Stop()
	if err := proc.WaitListening(addr); err != nil {
		return proc.Explain(err)
	}
	var g generator = &load.HTTP{Addr: addr, Workload: w, Connections: o.connections}
	if w.Kind == fix.WebSocket {
		g = &load.WebSocket{Addr: addr, Workload: w, Connections: o.connections}
	}
	if err := g.Check(); err != nil {
		return proc.Explain(fmt.Errorf("check: %w", err))
	}
	if err := underLoad(o, proc, g.Run, r); err != nil {
		return proc.Explain(err)
	}
	return nil
}

// generator sends requests: first one to check its answer, then many.
type generator interface {
	Check() error
	Run(load.Plan) (load.Result, error)
}

// measureIdle measures the resident memory of a peer per idle client.
func measureIdle(ctx context.Context, p installedPeer, w fix.Workload, r *record) error {
	ctx, cancel := context.WithTimeout(ctx, 2*grace)
	defer cancel()
	addr, err := process.FreeAddr()
	if err != nil {
		return err
	}
	proc, err := start(ctx, p, w, addr)
	if err != nil {
		return err
	}
	defer proc.Stop()
	if err := proc.WaitListening(addr); err != nil {
		return proc.Explain(err)
	}
	idle := &load.Idle{Addr: addr, Workload: w}
	defer idle.Close()
	before, err := residentAfter(proc, idle, idle.Prepare)
	if err != nil {
		return proc.Explain(err)
	}
	if r.ResidentKB, err = residentAfter(proc, idle, idle.Open); err != nil {
		return proc.Explain(err)
	}
	r.Each = float64(r.ResidentKB-before) * 1024 / float64(w.Count)
	return nil
}

// residentAfter calls do and returns the resident memory of the peer.
func residentAfter(proc *process.Process, idle *load.Idle, do func() error) (int64, error) {
	if err := do(); err != nil {
		return 0, err
	}
	if err := idle.Free(); err != nil {
		return 0, err
	}
	return system.ResidentKB(proc.PID())
}

func measureStdio(ctx context.Context, o *options, p installedPeer, w fix.Workload, r *record) error {
	ctx, cancel := context.WithTimeout(ctx, o.warmup+4*o.measure+grace)
	defer cancel()
	proc, err := start(ctx, p, w, stdio)
	if err != nil {
		return err
	}
	defer proc.Stop()
	s := &load.Stdio{In: proc.In, Out: proc.Out, Workload: w}
	if err := s.Initialize(); err != nil {
		return proc.Explain(err)
	}
	if err := s.Check(); err != nil {
		return proc.Explain(fmt.Errorf("check: %w", err))
	}
	if err := underLoad(o, proc, s.Run, r); err != nil {
		return proc.Explain(err)
	}
	return nil
}

// clocks are the CPU times of a run.
type clocks struct{ server, client time.Duration }

func readClocks(pid int) (clocks, error) {
	server, err := system.CPUTime(pid)
	if err != nil {
		return clocks{}, err
	}
	client, err := system.OwnCPU()
	return clocks{server, client}, err
}

// underLoad runs the load between two readings of the clocks, and fills r.
func underLoad(o *options, proc *process.Process, run func(load.Plan) (load.Result, error), r *record) error {
	var begin, end clocks
	pid := proc.PID()
	plan := load.Plan{Warmup: o.warmup, Measure: o.measure}
	plan.Begin = func() (err error) { begin, err = readClocks(pid); return err }
	plan.End = func() (err error) { end, err = readClocks(pid); return err }
	result, err := run(plan)
	if err != nil {
		return err
	}
	if result.Requests == 0 {
		return fmt.Errorf("no request was answered in %v", result.Elapsed)
	}
	if r.ResidentKB, err = system.ResidentKB(pid); err != nil {
		return err
	}
	requests, seconds := float64(result.Requests), result.Elapsed.Seconds()
	r.Requests, r.Seconds, r.PerSecond = result.Requests, seconds, requests/seconds
	r.ServerCPU = micros(end.server-begin.server) / requests
	r.ClientCPU = micros(end.client-begin.client) / requests
	r.Generator = (end.client - begin.client).Seconds() / seconds
	r.P50, r.P99 = micros(result.Latency.Quantile(0.5)), micros(result.Latency.Quantile(0.99))
	return nil
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// measureStart starts the peer several times and takes the medians.
func measureStart(ctx context.Context, o *options, p installedPeer, w fix.Workload, r *record) error {
	var took, cpu, resident []float64
	for range o.spawns {
		one, err := startOnce(ctx, p, w)
		if err != nil {
			return err
		}
		took = append(took, one.took.Seconds()*1e3)
		cpu = append(cpu, micros(one.cpu))
		resident = append(resident, float64(one.residentKB))
	}
	r.Start, r.ServerCPU, r.ResidentKB = figures.Median(took), figures.Median(cpu), int64(figures.Median(resident))
	return nil
}

type startUp struct {
	took       time.Duration
	cpu        time.Duration
	residentKB int64
}

// startOnce measures from before the spawn to the first answer, which is checked.
func startOnce(ctx context.Context, p installedPeer, w fix.Workload) (startUp, error) {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	addr := stdio
	if w.Kind == fix.StartHTTP {
		var err error
		if addr, err = process.FreeAddr(); err != nil {
			return startUp{}, err
		}
	}
	began := time.Now()
	proc, err := start(ctx, p, w, addr)
	if err != nil {
		return startUp{}, err
	}
	defer proc.Stop()
	if err := firstAnswer(proc, w, addr); err != nil {
		return startUp{}, proc.Explain(err)
	}
	s := startUp{took: time.Since(began)}
	if s.residentKB, err = system.ResidentKB(proc.PID()); err != nil {
		return startUp{}, err
	}
	proc.Stop()
	s.cpu = proc.ProcessState.UserTime() + proc.ProcessState.SystemTime()
	return s, nil
}

func firstAnswer(proc *process.Process, w fix.Workload, addr string) error {
	if addr == stdio {
		return (&load.Stdio{In: proc.In, Out: proc.Out, Workload: w}).Initialize()
	}
	if err := proc.WaitListening(addr); err != nil {
		return err
	}
	return (&load.HTTP{Addr: addr, Workload: w}).Check()
}

// rounds measures every peer in every workload, round by round. In each round and
// workload, the peers run one after another, in alternating order, so that other activity
// on the machine affects all of them. Each complete group of records is passed to keep.
func rounds(
	ctx context.Context,
	o *options,
	workloads []fix.Workload,
	peers []installedPeer,
	progress io.Writer,
	keep func([]record) error,
) error {
	for round := range o.rounds {
		order := slices.Clone(peers)
		if round%2 == 1 {
			slices.Reverse(order)
		}
		for _, w := range workloads {
			fmt.Fprintf(progress, "round %d of %d, %s:", round+1, o.rounds, w.Name)
			var group []record
			for _, p := range order {
				if !p.does(w) {
					continue
				}
				fmt.Fprintf(progress, " %s", p.name)
				r := measure(ctx, o, p, w)
				if err := ctx.Err(); err != nil {
					fmt.Fprintln(progress)
					return err
				}
				r.Round = round + 1
				group = append(group, r)
			}
			fmt.Fprintln(progress)
			compareToFloor(group, floorOf(w))
			if err := keep(group); err != nil {
				return err
			}
		}
	}
	return nil
}

// compareToFloor sets the ratios of a group. Without a floor, they stay zero.
func compareToFloor(group []record, floor string) {
	i := slices.IndexFunc(group, func(r record) bool { return r.Peer == floor && r.Error == "" })
	if i < 0 {
		return
	}
	base := group[i]
	for i := range group {
		r := &group[i]
		switch {
		case r.Error != "":
		case base.Each > 0:
			r.Ratio = r.Each / base.Each
		case base.Start > 0:
			r.Ratio = r.Start / base.Start
		default:
			r.Ratio = r.ServerCPU / base.ServerCPU
			r.Rate = r.PerSecond / base.PerSecond
		}
	}
}
