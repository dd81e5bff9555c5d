package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	tests := []struct {
		name     string
		args     []string
		sessions int
		sockets  int
	}{
		{"full", nil, 10_000, 2_000},
		{"short", []string{"-short"}, 10_000, 500},
		{"own numbers", []string{"-short", "-sockets", "7", "-sessions", "2000"}, 2_000, 7},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := parse(tt.args, io.Discard)
			if err != nil || s.sessions != tt.sessions || s.sockets != tt.sockets {
				t.Errorf("parse(%q) = %+v, %v", tt.args, s, err)
			}
		})
	}
	for _, args := range [][]string{{"more"}, {"-bad", "-1"}, {"-streams", "20000"}, {"-drains", "many"}} {
		if _, err := parse(args, io.Discard); err == nil {
			t.Errorf("parse(%q) succeeds", args)
		}
	}
}

// TestSoak runs every stage with a handful of clients. Their memory is too small to
// measure; all other bounds apply.
func TestSoak(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("what a server costs is read from /proc")
	}
	binary := filepath.Join(t.TempDir(), "server")
	build := exec.Command("go", "build", "-o", binary, "./server")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		t.Fatal(err)
	}
	k := &soak{
		sizes: &sizes{
			short:    true,
			sessions: 3000,
			streams:  40,
			sockets:  20,
			listens:  10,
			bad:      4,
			clients:  8,
			drains:   1,
			profiles: t.TempDir(),
		},
		binary:   binary,
		progress: io.Discard,
	}
	if err := k.all(t.Context()); err != nil {
		t.Fatal(err)
	}
	stages := make(map[string]bool)
	for _, r := range k.table.Rows() {
		stages[r.What] = true
		if r.Verdict != "" && r.Verdict != "ok" && r.Figure != rssEach {
			t.Errorf("%s: %s: %s, bound %s", r.What, r.Figure, r.Value, r.Bound)
		}
	}
	if len(stages) != 18 {
		t.Errorf("%d parts were measured, want 18: %v", len(stages), stages)
	}
	if profiles, _ := filepath.Glob(filepath.Join(k.profiles, "*.heap.pprof")); len(profiles) != 6 {
		t.Errorf("%d heap profiles, want one for each kind of idle connection, and one for each server at the end",
			len(profiles))
	}
}

// A server that abandons calls it has begun loses answers, which must be detected.
func TestLostAnswersShow(t *testing.T) {
	c := &crew{}
	c.unanswered(3)
	c.unanswered(5)
	all := make(outcomes)
	c.settle([]int{9, 5, 4}, all)
	if all[lost] != 1 || all[unrun] != 1 {
		t.Errorf("%v, want one lost, and one that was never run", all)
	}
}

func TestStartExplains(t *testing.T) {
	script := filepath.Join(t.TempDir(), "server")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho no room >&2\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := start(t.Context(), script); err == nil || !strings.Contains(err.Error(), "no room") {
		t.Errorf("start: %v, want what the server says", err)
	}
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-streams", "-1"}, &out, io.Discard); err == nil || out.Len() > 0 {
		t.Errorf("run = %v, and it prints %q", err, &out)
	}
}
