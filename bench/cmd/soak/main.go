// Command soak tests a real server, in a separate process, under everything that clients
// do to servers: large numbers of idle clients, slow ones, broken ones, ones that
// disappear, ones that never say goodbye, and a shutdown in the middle of it all. It
// prints a table, and exits with 1 if a bound is exceeded.
//
//	go -C bench run ./cmd/soak
//	go -C bench run ./cmd/soak -short
//
// It stays on loopback and requires Linux.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/bench/figures"
	"github.com/slipway-mcp/slipway/bench/program"
	"github.com/slipway-mcp/slipway/bench/system"
)

func main() { program.Main("soak", run) }

// sizes are the command-line options.
type sizes struct {
	short    bool
	sessions int
	streams  int
	sockets  int
	listens  int
	bad      int // clients of each bad kind
	clients  int // active while the server stops
	drains   int
	profiles string
}

func parse(args []string, stderr io.Writer) (*sizes, error) {
	s := &sizes{}
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.BoolVar(&s.short, "short", false, "smaller numbers, and no waiting for the server's own timeouts: half a minute")
	for _, n := range s.numbers() {
		usage := fmt.Sprintf("%s (default %d, with -short %d)", n.usage, n.full, n.short)
		flags.IntVar(n.value, n.name, 0, usage)
	}
	flags.StringVar(&s.profiles, "profiles", "",
		"folder for heap profiles: of each kind of connection at rest, and in the end")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	for _, n := range s.numbers() {
		switch {
		case *n.value < 0:
			return nil, fmt.Errorf("-%s must be positive", n.name)
		case *n.value == 0 && s.short:
			*n.value = n.short
		case *n.value == 0:
			*n.value = n.full
		}
	}
	if s.streams > s.sessions {
		return nil, errors.New("-streams must not exceed -sessions")
	}
	return s, nil
}

// number is a flag with a default for each of the two sizes.
type number struct {
	value       *int
	name        string
	full, short int
	usage       string
}

func (s *sizes) numbers() []number {
	return []number{
		{&s.sessions, "sessions", 10_000, 10_000, "sessions at rest"},
		{&s.streams, "streams", 5_000, 1_000, "GET streams at rest, each of a session of its own"},
		{&s.sockets, "sockets", 2_000, 500, "WebSockets at rest"},
		{&s.listens, "listens", 1_000, 200, "subscriptions/listen streams at rest"},
		{&s.bad, "bad", 200, 30, "clients of each bad kind"},
		{&s.clients, "clients", 64, 32, "connections at work while the server ends"},
		{&s.drains, "drains", 10, 2, "how often a server is ended under load"},
	}
}

// spare is the number of descriptors that both sides need in addition to the idle
// connections.
const spare = 500

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	s, err := parse(args, stderr)
	if err != nil {
		return err
	}
	limit, err := system.RaiseDescriptors()
	if err != nil {
		return err
	}
	for _, n := range []*int{&s.streams, &s.sockets, &s.listens} {
		*n = min(*n, limit-spare)
	}
	dir, err := os.MkdirTemp("", "soak")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "server")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "github.com/slipway-mcp/slipway/bench/cmd/soak/server")
	build.Stderr = stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build the server: %w", err)
	}
	began := time.Now()
	fmt.Fprintf(stdout, "%s, %s/%s, %d processors (%s), load average %s at the start, at most %d descriptors.\n\n",
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), system.CPUModel(), system.LoadAverage(), limit)
	k := &soak{sizes: s, binary: binary, progress: stderr}
	err = k.all(ctx)
	k.table.Write(stdout)
	fmt.Fprintf(stdout, "\nIt took %.0f s.\n", time.Since(began).Seconds())
	return errors.Join(err, k.table.Verdict())
}

// soak is one run.
type soak struct {
	*sizes
	binary   string
	progress io.Writer
	table    figures.Table
}

// stage is a part of the run, on a server that has been warmed up.
type stage struct {
	name string
	run  func(*soak, context.Context, *server) error
}

// all runs every stage on one of three servers: one with default settings, one with short
// timeouts, and one that is repeatedly stopped.
func (k *soak) all(ctx context.Context) error {
	asItComes := []stage{
		{"sessions and streams at rest", (*soak).idleSessions},
		{"WebSockets at rest", (*soak).webSockets},
		{"subscriptions/listen at rest", (*soak).listening},
		{"slow readers", (*soak).slowReaders},
		{"clients that vanish", (*soak).vanishing},
	}
	if err := k.on(ctx, "as it comes", asItComes); err != nil {
		return err
	}
	impatient := []stage{
		{"half-open connections", (*soak).halfOpen},
		{"sessions without end", (*soak).neverDeleted},
	}
	err := k.on(ctx, "impatient", impatient, "-header", headerTimeout.String(), "-read", readTimeout.String(),
		"-ping", pingInterval.String(), "-ttl", sessionTTL.String(), "-sessions", fmt.Sprint(maxSessions))
	if err != nil {
		return err
	}
	return k.drain(ctx)
}

// on runs the stages on one server, and checks that they leak nothing.
func (k *soak) on(ctx context.Context, name string, stages []stage, args ...string) error {
	srv, err := start(ctx, k.binary, args...)
	if err != nil {
		return err
	}
	defer srv.kill()
	if err := warmUp(ctx, srv); err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	began, err := srv.rest(ctx)
	if err != nil {
		return err
	}
	for _, s := range stages {
		fmt.Fprintln(k.progress, s.name)
		if err := s.run(k, ctx, srv); err != nil {
			return fmt.Errorf("%s: %w", s.name, srv.explain(err))
		}
	}
	ended, err := k.noticed(ctx, srv, began)
	if err != nil {
		return err
	}
	what := "in the end, server " + name
	k.table.AtMost(what, "goroutines", float64(ended.goroutines), float64(began.goroutines), "")
	k.table.AtMost(what, "descriptors", float64(ended.descriptors), float64(began.descriptors), "")
	k.table.Note(what, "heap, "+figures.KiB(began.heap)+" at the start", float64(ended.heap)/1024, "KiB")
	k.table.Note(what, "RSS, "+figures.KiB(began.rss)+" at the start", float64(ended.rss)/1024, "KiB")
	if err := k.profile(ctx, srv, "end-"+strings.ReplaceAll(name, " ", "-")); err != nil {
		return err
	}
	return srv.end()
}
