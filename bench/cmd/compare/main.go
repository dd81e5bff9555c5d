// Command compare runs Slipway, its peers and the floors side by side. It prints the
// server CPU time of each per request, as a multiple of the floor's in the same round.
//
//	go -C bench run ./cmd/compare
//	go -C bench run ./cmd/compare -rounds 3 -peers slipway,mcp-go -workloads http-echo,stdio
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
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/bench/figures"
	"github.com/slipway-mcp/slipway/bench/fix"
	"github.com/slipway-mcp/slipway/bench/system"

	"github.com/slipway-mcp/slipway/bench/program"
)

func main() { program.Main("compare", run) }

// options are the command-line options.
type options struct {
	rounds      int
	warmup      time.Duration
	measure     time.Duration
	connections int
	spawns      int
	peers       string
	workloads   string
	out         string
	list        bool
}

func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{}
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.rounds, "rounds", 5, "rounds; medians are taken over them")
	flags.DurationVar(&o.warmup, "warmup", time.Second, "time before measuring")
	flags.DurationVar(&o.measure, "measure", 2*time.Second, "time to measure")
	flags.IntVar(&o.connections, "conns", 16, "HTTP connections, one request in flight on each")
	flags.IntVar(&o.spawns, "spawns", 5, "starts of a process in each round of a start-up workload")
	flags.StringVar(&o.peers, "peers", "", "comma-separated names of peers (default all; the floors always run)")
	flags.StringVar(&o.workloads, "workloads", "",
		"comma-separated names of workloads, or beginnings of names (default all)")
	flags.StringVar(&o.out, "o", "results", "folder for results.jsonl and results.md, made if missing")
	flags.BoolVar(&o.list, "list", false, "print the names of peers and workloads and stop")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if o.rounds < 1 || o.connections < 1 || o.spawns < 1 || o.measure <= 0 || o.warmup < 0 {
		return nil, errors.New("-rounds, -conns, -spawns and -measure must be positive")
	}
	return o, nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	workloads, err := selectWorkloads(o.workloads)
	if err != nil {
		return err
	}
	peers, err := selectPeers(o.peers)
	if err != nil {
		return err
	}
	if o.list {
		printNames(stdout)
		return nil
	}
	installed, skipped, err := prepare(ctx, peers, stderr)
	if err != nil {
		return err
	}
	if _, err := system.RaiseDescriptors(); err != nil {
		return err
	}
	// A single processor keeps the generator cheap and leaves the others to the peer.
	runtime.GOMAXPROCS(1)
	return compare(ctx, o, workloads, installed, skipped, stdout, stderr)
}

// compare runs the measurements. If it is interrupted, it reports the complete ones.
func compare(
	ctx context.Context,
	o *options,
	workloads []fix.Workload,
	peers []installedPeer,
	skipped []string,
	stdout, stderr io.Writer,
) error {
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	lines, err := os.Create(filepath.Join(o.out, "results.jsonl"))
	if err != nil {
		return err
	}
	defer lines.Close()
	set := describe(o, peers, skipped)
	if err := figures.WriteLine(lines, set); err != nil {
		return err
	}
	var records []record
	keep := func(group []record) error {
		records = append(records, group...)
		for _, r := range group {
			if err := figures.WriteLine(lines, r); err != nil {
				return err
			}
		}
		return nil
	}
	runErr := rounds(ctx, o, workloads, peers, stderr, keep)
	if errors.Is(runErr, context.Canceled) {
		runErr = errors.New("interrupted; the report holds what was complete")
	}
	table := report(set, workloads, peers, records)
	if err := os.WriteFile(filepath.Join(o.out, "results.md"), []byte(table), 0o644); err != nil {
		return err
	}
	fmt.Fprint(stdout, table)
	return errors.Join(runErr, failures(records), lines.Close())
}

// failures returns an error if any measurement failed.
func failures(records []record) error {
	for _, r := range records {
		if r.Error != "" {
			return errors.New("some measurements failed, see the report")
		}
	}
	return nil
}

func selectWorkloads(names string) ([]fix.Workload, error) {
	all := fix.Workloads()
	if names == "" {
		return all, nil
	}
	var chosen []fix.Workload
	for _, w := range all {
		if slices.ContainsFunc(strings.Split(names, ","), func(n string) bool { return strings.HasPrefix(w.Name, n) }) {
			chosen = append(chosen, w)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no workload matches %q; -list prints their names", names)
	}
	return chosen, nil
}

func printNames(w io.Writer) {
	for _, p := range allPeers() {
		fmt.Fprintln(w, "peer    ", p.name)
	}
	for _, l := range fix.Workloads() {
		fmt.Fprintln(w, "workload", l.Name)
	}
}
