package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/slipway-mcp/slipway/bench/figures"
	"github.com/slipway-mcp/slipway/bench/fix"
	"github.com/slipway-mcp/slipway/bench/install"
	"github.com/slipway-mcp/slipway/bench/load"
	"github.com/slipway-mcp/slipway/bench/process"
	"github.com/slipway-mcp/slipway/bench/system"
)

// bench is one run.
type bench struct {
	*options
	dir    string // temporary
	stderr io.Writer

	rows     []row // those whose program could be built
	programs map[string]built
	server   []string // upstream of the gateways, without its argument
	skipped  []string
	records  []record
}

// prepare builds the programs of the rows. A row whose program cannot be installed is
// skipped.
func (b *bench) prepare(ctx context.Context, rows []row) error {
	root, err := install.Root(ctx)
	if err != nil {
		return err
	}
	server, err := build(ctx, root, row{program: "gateways/echod"})
	if err != nil {
		return err
	}
	b.server, b.programs = server.command, make(map[string]built)
	failed := make(map[string]bool)
	for _, r := range rows {
		if _, ok := b.programs[r.program]; !ok && !failed[r.program] {
			program, err := build(ctx, root, r)
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case err != nil && r.program != supergateway:
				return fmt.Errorf("build %s: %w", r.program, err)
			case err != nil:
				failed[r.program] = true
				b.skipped = append(b.skipped, fmt.Sprintf("%s: %v", r.program, err))
				fmt.Fprintf(b.stderr, "left out: %s: %v\n", r.program, err)
			default:
				b.programs[r.program] = program
			}
		}
		if !failed[r.program] {
			b.rows = append(b.rows, r)
		}
	}
	return nil
}

// record is one measurement: a newly started gateway in one round of a workload.
type record struct {
	Round    int    `json:"round"`
	Workload string `json:"workload"`
	Gateway  string `json:"gateway"`
	Back     string `json:"back"`
	Error    string `json:"error,omitempty"`

	Requests  int64   `json:"requests,omitempty"`
	Seconds   float64 `json:"seconds,omitempty"`
	PerSecond float64 `json:"requests_per_second,omitempty"`
	CPU       float64 `json:"cpu_us,omitempty"` // of the gateway, per request
	P50       float64 `json:"p50_us,omitempty"`
	P99       float64 `json:"p99_us,omitempty"`
	IdleKB    int64   `json:"rss_idle_kb,omitempty"` // after one call
	AfterKB   int64   `json:"rss_after_kb,omitempty"`
	PeakKB    int64   `json:"rss_peak_kb,omitempty"`
	OwnKB     int64   `json:"rss_own_kb,omitempty"` // the part of AfterKB that is not file-backed
}

// measureAll runs all rounds. In each round and workload, the rows run one after another,
// in alternating order, so that other activity on the machine affects all of them.
func (b *bench) measureAll(ctx context.Context, set setting, lines io.Writer) error {
	if err := figures.WriteLine(lines, set); err != nil {
		return err
	}
	for round := range b.rounds {
		order := slices.Clone(b.rows)
		if round%2 == 1 {
			slices.Reverse(order)
		}
		for _, w := range fix.Proxied() {
			fmt.Fprintf(b.stderr, "round %d of %d, %s\n", round+1, b.rounds, w.Name)
			for _, r := range order {
				rec := record{Round: round + 1, Workload: w.Name, Gateway: r.name, Back: r.back}
				err := b.measureOne(ctx, r, w, &rec)
				if ctx.Err() != nil {
					return errors.New("interrupted; the report holds what was complete")
				}
				if err != nil {
					rec.Error = err.Error()
					fmt.Fprintf(b.stderr, "%s before %s: %v\n", r.name, r.back, err)
				}
				b.records = append(b.records, rec)
				if err := figures.WriteLine(lines, rec); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// grace is how far a measurement may exceed its expected duration.
const grace = 30 * time.Second

func (b *bench) measureOne(ctx context.Context, r row, w fix.Workload, rec *record) error {
	ctx, cancel := context.WithTimeout(ctx, b.warmup+4*b.measure+grace)
	defer cancel()
	s, stop, err := b.setUp(ctx, r)
	if err != nil {
		return err
	}
	defer stop()
	args := r.args
	if args == nil {
		args = contractArgs(r.back)
	}
	argv, err := args(s)
	if err != nil {
		return err
	}
	program := b.programs[r.program].command
	proc, err := process.Start(ctx, append(program[:len(program):len(program)], argv...), r.env)
	if err != nil {
		return err
	}
	defer proc.Stop()
	if err := proc.WaitListening(s.addr); err != nil {
		return proc.Explain(err)
	}
	h := &load.HTTP{Addr: s.addr, Workload: w, Connections: b.connections, Lenient: true, Each: w.Quick()}
	if err := h.Check(); err != nil {
		return proc.Explain(fmt.Errorf("check: %w", err))
	}
	if err := b.underLoad(proc.PID(), h, rec); err != nil {
		return proc.Explain(err)
	}
	return nil
}

// setUp starts the upstream server of a gateway if it is a remote one.
func (b *bench) setUp(ctx context.Context, r row) (s *setup, stop func(), err error) {
	s = &setup{dir: b.dir, child: append(b.server[:len(b.server):len(b.server)], "stdio")}
	if s.addr, err = process.FreeAddr(); err != nil || r.back != remote {
		return s, func() {}, err
	}
	addr, err := process.FreeAddr()
	if err != nil {
		return nil, nil, err
	}
	s.url = "http://" + addr + "/mcp"
	server, err := process.Start(ctx, []string{b.server[0], addr}, nil)
	if err != nil {
		return nil, nil, err
	}
	if err := server.WaitListening(addr); err != nil {
		server.Stop()
		return nil, nil, server.Explain(err)
	}
	return s, server.Stop, nil
}

// serveFile returns the arguments to serve a definitions file with one server.
func (s *setup) serveFile(server map[string]any) ([]string, error) {
	path := filepath.Join(s.dir, "servers.json")
	text, err := json.Marshal(map[string]any{"specVersion": "1.0.0", "servers": map[string]any{"echo": server}})
	if err != nil {
		return nil, err
	}
	return []string{"serve", "--addr", s.addr, path}, os.WriteFile(path, text, 0o644)
}

// underLoad sets the figures of the record from the clocks and the memory of one process.
// Its child processes are not counted.
func (b *bench) underLoad(pid int, h *load.HTTP, rec *record) error {
	var err error
	if rec.IdleKB, err = system.ResidentKB(pid); err != nil {
		return err
	}
	var begin, end time.Duration
	result, err := h.Run(load.Plan{
		Warmup: b.warmup, Measure: b.measure,
		Begin: func() (err error) { begin, err = system.CPUTime(pid); return err },
		End:   func() (err error) { end, err = system.CPUTime(pid); return err },
	})
	if err != nil {
		return err
	}
	if result.Requests == 0 {
		return fmt.Errorf("no request was answered in %v", result.Elapsed)
	}
	for _, figure := range []struct {
		to   *int64
		read func(int) (int64, error)
	}{{&rec.AfterKB, system.ResidentKB}, {&rec.PeakKB, system.PeakKB}, {&rec.OwnKB, system.OwnMemoryKB}} {
		if *figure.to, err = figure.read(pid); err != nil {
			return err
		}
	}
	rec.Requests, rec.Seconds = result.Requests, result.Elapsed.Seconds()
	rec.PerSecond = float64(rec.Requests) / rec.Seconds
	rec.CPU = micros(end-begin) / float64(rec.Requests)
	rec.P50, rec.P99 = micros(result.Latency.Quantile(0.5)), micros(result.Latency.Quantile(0.99))
	return nil
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
