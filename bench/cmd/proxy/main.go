// Command proxy compares Slipway as a gateway with others: clients connect over HTTP, and
// the same upstream server answers over stdin and stdout or over HTTP. It prints the cost
// per call of each gateway, and exits with 1 if a bound is exceeded.
//
//	go -C bench run ./cmd/proxy
//	go -C bench run ./cmd/proxy -short
//	go -C bench run ./cmd/proxy -rounds 3 -rows "slipway,mcp-go"
//
// Only the gateway's own process is counted, not the upstream server or the load
// generator. Every answer is checked. The results are written to proxy.jsonl (one line
// per measurement) and proxy.md in the folder given with -o. Gateways that are not
// installed are skipped and listed. It stays on loopback and requires Linux.
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
	"time"

	"github.com/slipway-mcp/slipway/bench/program"
)

func main() { program.Main("proxy", run) }

// options are the command-line options.
type options struct {
	short       bool
	rounds      int
	warmup      time.Duration
	measure     time.Duration
	connections int
	rows        string
	out         string
	list        bool
}

func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{}
	flags := flag.NewFlagSet("proxy", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.BoolVar(&o.short, "short", false,
		"the rows with bounds alone, for less time, and the bounds with room for a busy machine")
	flags.IntVar(&o.rounds, "rounds", 0, "rounds; medians are taken over them (default 7, with -short 3)")
	flags.DurationVar(&o.warmup, "warmup", 500*time.Millisecond, "time before measuring")
	flags.DurationVar(&o.measure, "measure", 0, "time to measure (default 2s, with -short 500ms)")
	flags.IntVar(&o.connections, "conns", 16, "connections of clients, each with a session and one request in flight")
	flags.StringVar(&o.rows, "rows", "", "comma-separated names of rows (default all)")
	flags.StringVar(&o.out, "o", "results", "folder for proxy.jsonl and proxy.md, made if missing")
	flags.BoolVar(&o.list, "list", false, "print the names of the rows and stop")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	switch {
	case flags.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case o.rounds < 0 || o.connections < 1 || o.measure < 0 || o.warmup < 0:
		return nil, errors.New("-rounds, -conns and -measure must be positive")
	}
	rounds, measure := 7, 2*time.Second
	if o.short {
		rounds, measure = 3, 500*time.Millisecond
	}
	if o.rounds == 0 {
		o.rounds = rounds
	}
	if o.measure == 0 {
		o.measure = measure
	}
	return o, nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	rows, err := selectRows(o)
	if err != nil {
		return err
	}
	if o.list {
		for _, r := range rows {
			fmt.Fprintf(stdout, "%-5s  %s\n", r.back, r.name)
		}
		return nil
	}
	dir, err := os.MkdirTemp("", "proxy")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{options: o, dir: dir, stderr: stderr}
	if err := b.prepare(ctx, rows); err != nil {
		return err
	}
	// A single processor keeps the generator cheap and leaves the others to the rest.
	runtime.GOMAXPROCS(1)
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	lines, err := os.Create(filepath.Join(o.out, "proxy.jsonl"))
	if err != nil {
		return err
	}
	defer lines.Close()
	set := b.describe()
	runErr := b.measureAll(ctx, set, lines)
	table := b.report(set)
	if err := os.WriteFile(filepath.Join(o.out, "proxy.md"), []byte(table), 0o644); err != nil {
		return err
	}
	fmt.Fprint(stdout, table)
	return errors.Join(runErr, b.verdict(), lines.Close())
}
