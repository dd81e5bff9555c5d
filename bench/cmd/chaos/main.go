// Command chaos runs slipway with a file of definitions while its upstream servers are
// randomly killed, suspended and restarted, under concurrent load from clients of
// third-party libraries. It prints a table, and exits with 1 if a bound is exceeded.
//
//	go -C bench run ./cmd/chaos
//	go -C bench run ./cmd/chaos -short
//	go -C bench run ./cmd/chaos -seed 42 -slipway ./slipway
//
// It stays on loopback and requires Linux. The requirements: every answer belongs to its
// call, fewer than 0.3 % of the calls fail, no call takes longer than the watchdog needs
// to replace a hanging server, no call with effects runs twice, and no resources are
// leaked.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"github.com/slipway-mcp/slipway/bench/figures"
	"github.com/slipway-mcp/slipway/bench/install"
	"github.com/slipway-mcp/slipway/bench/system"
	"github.com/slipway-mcp/slipway/bench/trial"
)

func main() { trial.Main("chaos", run) }

// options are the command-line options.
type options struct {
	short    bool
	duration time.Duration
	pause    time.Duration // between two faults, on average
	seed     uint64
	clients  int
	slipway  string
	log      string
}

func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{}
	err := trial.Parse("chaos", args, stderr, func(flags *flag.FlagSet) {
		flags.BoolVar(&o.short, "short", false, "run for 40 seconds instead of 20 minutes")
		flags.DurationVar(&o.duration, "duration", 0, "time under faults (default 20m, with -short 40s)")
		flags.DurationVar(&o.pause, "pause", 3*time.Second, "average time between two faults")
		flags.Uint64Var(&o.seed, "seed", 0, "seed of all random choices (default random)")
		flags.IntVar(&o.clients, "clients", 6, "clients, each with one call in flight to every server")
		flags.StringVar(&o.slipway, "slipway", "", "path of the binary (default: built from this repository)")
		flags.StringVar(&o.log, "log", os.DevNull, "file for the log of slipway")
	})
	if err != nil {
		return nil, err
	}
	if o.duration < 0 || o.pause <= 0 || o.clients < 1 {
		return nil, errors.New("-duration, -pause and -clients must be positive")
	}
	duration := 20 * time.Minute
	if o.short {
		duration = 40 * time.Second
	}
	o.duration, o.seed = cmp.Or(o.duration, duration), cmp.Or(o.seed, rand.Uint64())
	return o, nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "chaos")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	upstream, err := install.Go(ctx, "cmd/chaos/upstream", "")
	if err != nil {
		return err
	}
	if o.slipway == "" {
		built, err := install.Go(ctx, install.Slipway, "")
		if err != nil {
			return err
		}
		o.slipway = built.Command[0]
	}
	began := time.Now()
	setting := trial.Describe()
	fmt.Fprintf(stdout, "Seed %d; %s, %s.\n\n", o.seed, setting.Go, setting.Machine())
	c := &chaos{options: o, dir: dir, upstream: upstream.Command[0], progress: stderr, tally: newTally("chaos")}
	err = c.all(ctx)
	c.table.Write(stdout)
	c.tally.writeFailures(stdout)
	fmt.Fprintf(stdout, "\nIt took %.0f s.\n", time.Since(began).Seconds())
	return errors.Join(err, c.table.Verdict())
}

// chaos is one run.
type chaos struct {
	*options
	dir      string // temporary
	upstream string // path of the program
	progress io.Writer

	servers []*server
	front   *front
	tally   *tally
	table   figures.Table
}

// The bounds of a run.
const (
	maxFailed    = 0.003
	hangTimeout  = 5 * time.Second // hangTimeoutMs of the definitions
	pingTimeout  = 5 * time.Second
	grace        = 10 * time.Second // to detect and replace the server, and for a busy machine
	callBound    = hangTimeout + pingTimeout + grace
	warmUp       = 3 * time.Second
	settleWithin = 30 * time.Second
	moreMemoryKB = 24 << 10
)

// all runs the clients without faults, then with faults, and checks for leaks.
func (c *chaos) all(ctx context.Context) error {
	defer c.stopAll()
	if err := c.start(ctx); err != nil {
		return err
	}
	c.work(ctx, warmUp, newTally("warm"))
	failed, before, err := c.calm(ctx, nil)
	if err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d calls have wrong answers before the first fault", failed)
	}
	fmt.Fprintf(c.progress, "at the start: %+v\n", before)

	done := make(chan map[string]int, 1)
	faulty, stop := context.WithTimeout(ctx, c.duration)
	defer stop()
	go func() { done <- c.causeFaults(faulty) }()
	c.work(ctx, c.duration, c.tally)
	stop()
	faults := <-done
	if err := ctx.Err(); err != nil {
		return err
	}
	failed, after, err := c.calm(ctx, &before)
	if err != nil {
		return err
	}
	for _, name := range faultNames() {
		c.table.Note("faults", name, float64(faults[name]), "")
	}
	c.tally.report(&c.table)
	c.table.Exactly("at the end", "calls wrong or failed after the last fault", failed, 0)
	c.compare(before, after)
	return c.end()
}

// compare reports the final usage against that at the start.
func (c *chaos) compare(before, after reading) {
	const what = "at the end"
	c.table.Exactly(what, "sessions", after.sessions, before.sessions)
	c.table.Exactly(what, "streams", after.streams, before.streams)
	c.table.Exactly(what, "requests in flight to servers", after.inFlight, 0)
	c.table.Exactly(what, "child processes", after.children, before.children)
	c.table.AtMost(what, "goroutines", float64(after.goroutines), float64(before.goroutines), "")
	c.table.AtMost(what, "open files", float64(after.descriptors), float64(before.descriptors), "")
	c.table.AtMost(what, fmt.Sprintf("own memory, %s at the start", figures.KiB(before.memoryKB<<10)),
		float64(after.memoryKB), float64(before.memoryKB+moreMemoryKB), "KiB")
}

// end terminates slipway as an operator would, and checks for leftover processes.
func (c *chaos) end() error {
	began := time.Now()
	if err := c.front.Terminate(); err != nil {
		return err
	}
	if err := c.front.AwaitExit(settleWithin); err != nil {
		return fmt.Errorf("slipway after SIGTERM: %w", err)
	}
	c.table.Within("SIGTERM", "time to exit", time.Since(began), 10*time.Second)
	left := 0
	for pid := range c.front.seen {
		if system.Exists(pid) {
			left++
		}
	}
	c.table.Exactly("SIGTERM", "child processes left", left, 0)
	twice, err := c.countDuplicates()
	if err != nil {
		return err
	}
	c.table.Exactly("calls", "calls with effects carried out twice", twice, 0)
	return nil
}
