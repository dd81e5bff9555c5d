// Command compare runs Slipway, its peers and the floors side by side. It prints the
// server CPU time of each per request, as a multiple of the floor's in the same round.
//
//	go -C bench run ./cmd/compare
//	go -C bench run ./cmd/compare -rounds 3 -peers slipway,mcp-go -workloads http-echo,stdio
//	go -C bench run ./cmd/compare -slices 6 -rounds 12 -measure 300ms -peers slipway -workloads http-echo-2025+policy
//
// The last form, in which a peer and its floor take turns, finds small differences. With -shared, both
// are in one process.
//
// It writes results.jsonl (one line per measurement) and results.md to the folder given
// with -o. Peers that are not installed are skipped and listed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/bench/fix"
	"github.com/slipway-mcp/slipway/bench/trial"
)

func main() { trial.Main("compare", run) }

// options are the command-line options.
type options struct {
	trial.Options
	// spawns is how often a process starts in each round of a start-up workload.
	spawns int
	slices int              // passes in a round; 0 means that peers run one after another
	shared bool             // in one process
	quiet  float64          // cores that others may use in a pass; 0 means any number
	floors map[string]*peer // by name
	// peers and workloads are the selections as typed, separated by commas.
	peers     string
	workloads string
}

// parse reads the flags. Values that cannot give a result are errors.
func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{Options: trial.Options{
		Rounds:  5,
		Warmup:  time.Second,
		Measure: 2 * time.Second,
	}}
	err := trial.Parse("compare", args, stderr, func(flags *flag.FlagSet) {
		o.Bind(flags, "results.jsonl and results.md", "", "")
		flags.IntVar(&o.spawns, "spawns", 5,
			"starts of a process in each round of a start-up workload")
		flags.IntVar(&o.slices, "slices", 0,
			"in each round, run a peer next to two of its floor, and alternate between them in this many passes")
		flags.BoolVar(&o.shared, "shared", false,
			"with -slices, run the peer and both floors in one process, if they are the same program")
		flags.Float64Var(&o.quiet, "quiet", 0,
			"repeat passes of -slices in which other programs use more than this many cores")
		flags.StringVar(&o.peers, "peers", "",
			"comma-separated names of peers (default all; the floors always run)")
		flags.StringVar(&o.workloads, "workloads", "",
			"comma-separated names of workloads, or their prefixes (default all)")
	})
	if err != nil {
		return nil, err
	}
	if o.Rounds < 1 ||
		o.Connections < 1 ||
		o.spawns < 1 ||
		o.Measure <= 0 ||
		o.Warmup < 0 {
		return nil, errors.New("-rounds, -conns, -spawns and -measure must be positive")
	}
	if o.slices < 0 || o.slices > 0 && o.Rounds < 6 {
		return nil, errors.New("-slices requires at least 6 rounds, for an interval of 95 %")
	}
	if o.shared && o.slices == 0 {
		return nil, errors.New("-shared requires -slices")
	}
	return o, nil
}

// run measures the selected peers and reports them next to their floors.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	workloads, err := selectWorkloads(o.workloads)
	if err != nil {
		return err
	}
	peers, err := selectPeers(o)
	if err != nil {
		return err
	}
	if o.List {
		for _, p := range allPeers() {
			fmt.Fprintln(stdout, "peer    ", p.name)
		}
		for _, w := range fix.Workloads() {
			fmt.Fprintln(stdout, "workload", w.Name)
		}
		return nil
	}
	t := &trial.Trial{
		Options:   &o.Options,
		Workloads: workloads,
		Progress:  stderr,
		Complete:  compareToFloor,
		Turns:     o.slices * turns,
	}
	if err := t.Prepare(ctx, peers); err != nil {
		return err
	}
	return errors.Join(t.Run(ctx, "results", stdout, func() string {
		return report(t)
	}), t.Failure())
}

// selectWorkloads returns the workloads whose names begin with one of the names, or all for
// "".
func selectWorkloads(names string) ([]fix.Workload, error) {
	chosen := slices.DeleteFunc(fix.Workloads(), func(w fix.Workload) bool {
		return !slices.ContainsFunc(strings.Split(names, ","), func(n string) bool {
			return strings.HasPrefix(w.Name, n)
		})
	})
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no workload matches %q; -list prints their names", names)
	}
	return chosen, nil
}
