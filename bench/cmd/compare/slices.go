package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/bench/figures"
	"github.com/slipway-mcp/slipway/bench/fix"
	"github.com/slipway-mcp/slipway/bench/load"
	"github.com/slipway-mcp/slipway/bench/process"
	"github.com/slipway-mcp/slipway/bench/system"
	"github.com/slipway-mcp/slipway/bench/trial"
)

// The processes of a pass in [peer.measureSlices].
const (
	floorTurn = iota
	nullTurn  // the floor again
	peerTurn
	contenders
)

// turns are those of all processes in one pass.
const turns = 2 * contenders

// The time at the start of a slice that is not measured: while connections open, or, if they are open,
// while requests to the contender before are answered.
const (
	settling  = 50 * time.Millisecond
	answering = 5 * time.Millisecond
)

// measureSlices runs the peer and its floor at the same time, and a second floor: the ratio of
// the two floors shows how exact that of the peer can be. They take turns in short slices, in an
// order that is the same from both ends, so that neither a slow minute of the machine nor a trend
// favors one of them. The figures of a round are medians over its passes. Each round starts new
// processes, which differ too, or a new one for all.
func (p *peer) measureSlices(ctx context.Context, w fix.Workload, f trial.Figures) error {
	contend := p.contend
	if p.shared {
		contend = p.contendInOne
	}
	all, stop, err := contend(ctx, w)
	defer stop()
	if err != nil {
		return err
	}
	for _, c := range all {
		if err := c.take(p.Warmup); err != nil {
			return err
		}
	}
	passes := make(map[string][]float64)
	for passed := 0; passed < p.slices; {
		others, err := p.pass(&all, passed)
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case p.quiet > 0 && others > p.quiet:
			f["repeated"]++
			continue
		}
		passed++
		base := all[floorTurn].perRequest()
		for name, value := range map[string]float64{
			"ratio": all[peerTurn].perRequest() / base, "null_ratio": all[nullTurn].perRequest() / base,
			"server_cpu_us": all[peerTurn].perRequest(), "floor_cpu_us": base, "other_cores": others,
		} {
			passes[name] = append(passes[name], value)
		}
	}
	for name, values := range passes {
		f[name] = figures.Median(values)
	}
	return nil
}

// contend starts a process for each contender. stop ends them, and is never nil.
func (p *peer) contend(ctx context.Context, w fix.Workload) (all [contenders]*contender, stop func(), err error) {
	var started []*process.Process
	stop = func() {
		for _, proc := range started {
			proc.Stop()
		}
	}
	floor := p.floors[floorOf(w)]
	for i, peer := range [contenders]*peer{floorTurn: floor, nullTurn: floor, peerTurn: p} {
		proc, g, err := peer.start(ctx, w)
		if err != nil {
			return all, stop, err
		}
		started = append(started, proc)
		if err := g.Check(); err != nil {
			return all, stop, proc.Explain(fmt.Errorf("check: %w", err))
		}
		all[i] = &contender{proc: proc, run: g.Run, settling: settling}
	}
	return all, stop, nil
}

// contendInOne starts a process with a server for each contender, in random order. Their requests come
// over the same connections, so that all that differs is the server. stop is as in contend.
func (p *peer) contendInOne(ctx context.Context, w fix.Workload) (all [contenders]*contender, stop func(), err error) {
	stop = func() {}
	floor := p.floors[floorOf(w)]
	if floor.dir != p.dir {
		return all, stop, fmt.Errorf("the floor %s is another program, so both cannot share a process", floor.name)
	}
	var with [contenders]string
	order := rand.Perm(contenders)
	for i, peer := range [contenders]*peer{floorTurn: floor, nullTurn: floor, peerTurn: p} {
		with[order[i]] = cmp.Or(peer.with, w.With)
	}
	host := *p
	host.with = strings.Join(with[:], ",")
	proc, g, err := host.start(ctx, w)
	if err != nil {
		return all, stop, err
	}
	stop = proc.Stop
	for i := range contenders {
		g.Queries = append(g.Queries, strconv.Itoa(i))
	}
	if err := g.Check(); err != nil {
		return all, stop, proc.Explain(fmt.Errorf("check: %w", err))
	}
	running, err := g.Start()
	if err != nil {
		return all, stop, proc.Explain(err)
	}
	stop = func() {
		proc.Stop()
		_ = running.Stop() // its requests fail now, or have failed in a slice
	}
	for i, number := range order {
		run := func(plan load.Plan) (load.Result, error) { return running.Take(number, plan) }
		all[i] = &contender{proc: proc, run: run, settling: answering}
	}
	return all, stop, nil
}

// pass runs two slices of every process. Each of them is the first and the last of the order as
// often as the others. It returns how many cores other programs used meanwhile.
func (p *peer) pass(all *[contenders]*contender, number int) (others float64, err error) {
	for _, c := range all {
		c.cpu, c.requests = 0, 0
	}
	began := time.Now()
	before, err := otherTime(all)
	if err != nil {
		return 0, err
	}
	for n := range turns {
		turn := min(n, turns-1-n)
		if err := all[(turn+number)%contenders].take(p.options.Measure); err != nil {
			return 0, err
		}
	}
	after, err := otherTime(all)
	return max(0, (after-before).Seconds()/time.Since(began).Seconds()), err
}

// otherTime returns the CPU time of all programs except the contenders and this one.
func otherTime(all *[contenders]*contender) (time.Duration, error) {
	others, err := system.BusyTime()
	if err != nil {
		return 0, err
	}
	ours := []int{os.Getpid()}
	for _, c := range all {
		ours = append(ours, c.proc.PID())
	}
	for _, pid := range slices.Compact(ours) { // contenders may share one
		used, err := system.CPUTime(pid)
		if err != nil {
			return 0, err
		}
		others -= used
	}
	return others, nil
}

// contender is a server that takes its turn, with the sums over its slices of a pass.
type contender struct {
	proc     *process.Process
	run      func(load.Plan) (load.Result, error)
	settling time.Duration
	// cpu is the time that the process has used in its slices, and requests how many it has answered in it.
	cpu      time.Duration
	requests int64
}

// take runs one slice and adds its figures.
func (c *contender) take(d time.Duration) error {
	var begin, end time.Duration
	result, err := c.run(load.Plan{
		Warmup:  c.settling,
		Measure: d,
		Begin: func() (err error) {
			begin, err = system.CPUTime(c.proc.PID())
			return err
		},
		End: func() (err error) {
			end, err = system.CPUTime(c.proc.PID())
			return err
		},
	})
	if err != nil {
		return c.proc.Explain(err)
	}
	c.cpu += end - begin
	c.requests += result.Requests
	return nil
}

// perRequest returns the CPU time of a request in microseconds.
func (c *contender) perRequest() float64 {
	return trial.Micros(c.cpu) / float64(max(c.requests, 1))
}
