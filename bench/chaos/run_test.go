// Package chaos tests slipway with a file of definitions while its upstream servers are
// randomly killed, suspended and restarted, under concurrent load from clients of
// third-party libraries.
//
//	go -C bench test ./chaos -v -timeout 30m
//	go -C bench test ./chaos -v -short
//	go -C bench test ./chaos -v -seed 42 -duration 5m -slipway ./slipway
//
// It prints a table of all figures, and fails if a bound is exceeded. It stays on loopback
// and requires Linux. The requirements: every answer belongs to its call, fewer than 0.3 %
// of the calls fail, no call takes longer than the watchdog needs to replace a hanging
// server, no call with effects runs twice, and no resources are leaked.
package chaos

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/bench/figures"
	"github.com/slipway-mcp/slipway/bench/install"
	"github.com/slipway-mcp/slipway/bench/system"
	"github.com/slipway-mcp/slipway/bench/trial"
)

var (
	duration = flag.Duration("duration", 0, "time under faults (default 20m, with -short 40s)")
	pause    = flag.Duration("pause", 3*time.Second, "average time between two faults")
	seed     = flag.Uint64("seed", 0, "seed of all random choices (default random)")
	clients  = flag.Int("clients", 6, "clients, each with one call in flight to every server")
	binary   = flag.String("slipway", "", "path of the binary (default: built from this repository)")
	log      = flag.String("log", os.DevNull, "file for the log of slipway")
)

func TestChaos(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the usage of processes is read from /proc")
	}
	c := &chaos{
		duration: 20 * time.Minute,
		pause:    *pause,
		seed:     cmp.Or(*seed, rand.Uint64()),
		clients:  *clients,
		slipway:  *binary,
		log:      *log,
		dir:      t.TempDir(),
		upstream: build(t, "chaos/upstream"),
		progress: t.Output(),
		tally:    newTally("chaos"),
	}
	if testing.Short() {
		c.duration = 40 * time.Second
	}
	c.duration = cmp.Or(*duration, c.duration)
	if c.slipway == "" {
		c.slipway = build(t, install.Slipway)
	}
	setting := trial.Describe()
	t.Logf("seed %d; %s, %s", c.seed, setting.Go, setting.Machine())
	err := c.all(t.Context())
	c.table.Write(t.Output())
	c.tally.writeFailures(t.Output())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.table.Verdict(); err != nil {
		t.Error(err)
	}
}

func build(t *testing.T, folder string) (path string) {
	t.Helper()
	program, err := install.Go(t.Context(), folder, "")
	if err != nil {
		t.Fatal(err)
	}
	return program.Command[0]
}

// chaos is one run.
type chaos struct {
	duration time.Duration
	pause    time.Duration // between two faults, on average
	seed     uint64
	clients  int
	slipway  string // path of the binary
	log      string // file for its log
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
