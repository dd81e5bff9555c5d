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
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/slipway-mcp/slipway/bench/fix"
	"github.com/slipway-mcp/slipway/bench/install"
	"github.com/slipway-mcp/slipway/bench/trial"
)

func main() { trial.Main("proxy", run) }

// options are the command-line options.
type options struct {
	trial.Options
	// short measures only the rows with bounds. rows are their names as typed.
	short bool
	rows  string
}

// parse reads the flags. The defaults of rounds and time depend on -short.
func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{Options: trial.Options{Warmup: 500 * time.Millisecond}}
	err := trial.Parse("proxy", args, stderr, func(flags *flag.FlagSet) {
		o.Bind(flags, "proxy.jsonl and proxy.md", " (default 7, with -short 3)", " (default 2s, with -short 500ms)")
		flags.BoolVar(&o.short, "short", false,
			"only the rows with bounds, for less time, and with wider bounds")
		flags.StringVar(&o.rows, "rows", "", "comma-separated names of rows (default all)")
	})
	if err != nil {
		return nil, err
	}
	if o.Rounds < 0 || o.Connections < 1 || o.Measure < 0 || o.Warmup < 0 {
		return nil, errors.New("-rounds, -conns and -measure must be positive")
	}
	rounds := 7
	measure := 2 * time.Second
	if o.short {
		rounds = 3
		measure = 500 * time.Millisecond
	}
	o.Rounds = cmp.Or(o.Rounds, rounds)
	o.Measure = cmp.Or(o.Measure, measure)
	return o, nil
}

// run measures the rows and fails if a figure exceeds its bound.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	rows, err := selectRows(o)
	if err != nil {
		return err
	}
	if o.List {
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
	b, err := prepare(ctx, o, rows, dir, stderr)
	if err != nil {
		return err
	}
	return errors.Join(b.Run(ctx, "proxy", stdout, b.report), b.verdict())
}

// bench is one run.
type bench struct {
	trial.Trial
	short  bool
	dir    string   // temporary
	server []string // upstream of the gateways, without its argument
}

// prepare builds the upstream server and the programs of the rows.
func prepare(
	ctx context.Context,
	o *options,
	rows []*row,
	dir string,
	stderr io.Writer,
) (*bench, error) {
	server, err := install.Go(ctx, "gateways/echod", "")
	if err != nil {
		return nil, err
	}
	b := &bench{
		short:  o.short,
		dir:    dir,
		server: server.Command,
	}
	b.Trial = trial.Trial{
		Options:   &o.Options,
		Workloads: fix.Proxied(),
		Progress:  stderr,
	}
	all := make([]trial.Row, len(rows))
	for i, r := range rows {
		r.bench = b
		all[i] = r
	}
	return b, b.Prepare(ctx, all)
}
