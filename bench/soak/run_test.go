// Package soak tests a real server, in a separate process, under everything that clients do
// to servers: large numbers of idle clients, slow ones, broken ones, ones that disappear,
// ones that never say goodbye, and a shutdown in the middle of it all.
//
//	go -C bench test ./soak -v -timeout 30m
//	go -C bench test ./soak -v -short
//
// It prints a table of all figures, and fails if a bound is exceeded. It stays on loopback
// and requires Linux.
package soak

import (
	"context"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/bench/figures"
	"github.com/slipway-mcp/slipway/bench/install"
	"github.com/slipway-mcp/slipway/bench/system"
	"github.com/slipway-mcp/slipway/bench/trial"
)

var (
	flags    = newSizes()
	profiles = flag.String("profiles", "", "folder for heap profiles (default: a temporary one)")
)

// sizes are the numbers of clients.
type sizes struct {
	sessions int
	streams  int
	sockets  int
	listens  int
	bad      int // clients of each bad kind
	clients  int // active while the server stops
	drains   int
}

func newSizes() *sizes {
	s := &sizes{}
	for _, n := range s.numbers() {
		flag.IntVar(n.value, n.name, 0, fmt.Sprintf("%s (default %d, with -short %d)", n.usage, n.full, n.short))
	}
	return s
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

// fill sets the numbers that no flag gave, and keeps connections within the limit of
// descriptors.
func (s *sizes) fill(short bool, descriptors int) {
	for _, n := range s.numbers() {
		switch {
		case *n.value > 0:
		case short:
			*n.value = n.short
		default:
			*n.value = n.full
		}
	}
	// Both sides need some in addition to the idle connections.
	const spare = 500
	for _, n := range []*int{&s.streams, &s.sockets, &s.listens} {
		*n = min(*n, descriptors-spare)
	}
	s.sessions = max(s.sessions, s.streams)
}

func TestSoak(t *testing.T) {
	limit, err := system.RaiseDescriptors()
	if err != nil {
		t.Skip(err)
	}
	flags.fill(testing.Short(), limit)
	program, err := install.Go(t.Context(), "soak/server", "")
	if err != nil {
		t.Fatal(err)
	}
	k := &soak{sizes: flags, short: testing.Short(), binary: program.Command[0], profiles: *profiles, progress: t.Output()}
	if k.profiles == "" {
		k.profiles = t.TempDir()
	}
	setting := trial.Describe()
	t.Logf("%s, %s, at most %d descriptors", setting.Go, setting.Machine(), limit)
	err = k.all(t.Context())
	k.table.Write(t.Output())
	if err != nil {
		t.Fatal(err)
	}
	if err := k.table.Verdict(); err != nil {
		t.Error(err)
	}
	parts := make(map[string]bool)
	for _, r := range k.table.Rows() {
		parts[r.What] = true
	}
	if len(parts) != 18 {
		t.Errorf("%d parts were measured, want 18: %v", len(parts), parts)
	}
	if all, _ := filepath.Glob(filepath.Join(k.profiles, "*.heap.pprof")); len(all) != 6 {
		t.Errorf("%d heap profiles, want one for each kind of idle connection and for each server at the end", len(all))
	}
}

// soak is one run.
type soak struct {
	*sizes
	short    bool // do not wait for the server's own timeouts
	binary   string
	profiles string // folder for heap profiles
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
