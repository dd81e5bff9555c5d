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
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/bench/figures"
	"github.com/slipway-mcp/slipway/bench/install"
	"github.com/slipway-mcp/slipway/bench/system"
	"github.com/slipway-mcp/slipway/bench/trial"
)

func main() { trial.Main("soak", run) }

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
	err := trial.Parse("soak", args, stderr, func(flags *flag.FlagSet) {
		flags.BoolVar(&s.short, "short", false,
			"smaller numbers, and no waiting for the server's own timeouts: half a minute")
		for _, n := range s.numbers() {
			flags.IntVar(n.value, n.name, 0, fmt.Sprintf("%s (default %d, with -short %d)", n.usage, n.full, n.short))
		}
		flags.StringVar(&s.profiles, "profiles", "",
			"folder for heap profiles: with each kind of idle connection, and at the end")
	})
	if err != nil {
		return nil, err
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
		{&s.sessions, "sessions", 10_000, 10_000, "idle sessions"},
		{&s.streams, "streams", 5_000, 1_000, "idle GET streams, each of a separate session"},
		{&s.sockets, "sockets", 2_000, 500, "idle WebSockets"},
		{&s.listens, "listens", 1_000, 200, "idle subscriptions/listen streams"},
		{&s.bad, "bad", 200, 30, "clients of each bad kind"},
		{&s.clients, "clients", 64, 32, "active connections while the server stops"},
		{&s.drains, "drains", 10, 2, "servers stopped under load"},
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
	program, err := install.Go(ctx, "cmd/soak/server", "")
	if err != nil {
		return err
	}
	began := time.Now()
	setting := trial.Describe()
	fmt.Fprintf(stdout, "%s, %s, at most %d descriptors.\n\n", setting.Go, setting.Machine(), limit)
	k := &soak{sizes: s, binary: program.Command[0], progress: stderr}
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
	run  func(k *soak, ctx context.Context, srv *server, before reading) error
}

// all runs every stage on one of three servers: one with default settings, one with short
// timeouts, and one that is repeatedly stopped.
func (k *soak) all(ctx context.Context) error {
	err := k.on(ctx, "with defaults", []stage{
		{"idle sessions and streams", (*soak).idleSessions},
		{"idle WebSockets", (*soak).idleWebSockets},
		{"idle subscriptions/listen", (*soak).idleListens},
		{"slow readers", (*soak).slow},
		{"clients that disconnect during a call", (*soak).vanishing},
	})
	if err != nil {
		return err
	}
	err = k.on(ctx, "with short timeouts", []stage{
		{"half-open connections", (*soak).halfOpen},
		{"sessions without end", (*soak).neverDeleted},
	}, "-header", headerTimeout.String(), "-read", readTimeout.String(),
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
	defer srv.Stop()
	if err := warmUp(ctx, srv); err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	before, err := srv.settle(ctx)
	if err != nil {
		return err
	}
	for _, s := range stages {
		fmt.Fprintln(k.progress, s.name)
		now, err := srv.settle(ctx)
		if err == nil {
			err = s.run(k, ctx, srv, now)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, srv.Explain(err))
		}
	}
	after, err := k.awaitClosed(ctx, srv, before)
	if err != nil {
		return err
	}
	what := "at the end, server " + name
	k.table.AtMost(what, "goroutines", float64(after.Goroutines), float64(before.Goroutines), "")
	k.table.AtMost(what, "descriptors", float64(after.descriptors), float64(before.descriptors), "")
	k.table.Note(what, "heap, "+figures.KiB(before.Heap)+" at the start", float64(after.Heap)/1024, "KiB")
	k.table.Note(what, "RSS, "+figures.KiB(before.rss)+" at the start", float64(after.rss)/1024, "KiB")
	if err := k.profile(ctx, srv, "end-"+strings.ReplaceAll(name, " ", "-")); err != nil {
		return err
	}
	_, err = srv.terminate()
	return err
}
