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
	"time"
)

func TestTable(t *testing.T) {
	var tab table
	tab.note("idle things", "heap each", 1234.5, "B")
	tab.atMost("idle things", "RSS each", 600, 600, "B")
	if err := tab.verdict(); err != nil {
		t.Errorf("verdict with all bounds kept = %v", err)
	}
	tab.atMost("idle things", "goroutines", 3, 2, "")
	tab.exactly("the end", "lost", 0, 0)
	tab.within("the end", "took", 3*time.Second, 2*time.Second)
	if err := tab.verdict(); err == nil || !strings.HasPrefix(err.Error(), "2 ") {
		t.Errorf("verdict = %v, want two bounds exceeded", err)
	}
	var b strings.Builder
	tab.write(&b)
	want := `| what | figure | measured | bound | |
| --- | --- | ---: | ---: | --- |
| idle things | heap each | 1,234 B |  |  |
|  | RSS each | 600 B | ≤ 600 B | ok |
|  | goroutines | 3 | ≤ 2 | EXCEEDED |
| the end | lost | 0 | 0 | ok |
|  | took | 3.00 s | ≤ 2.00 s | EXCEEDED |
`
	if b.String() != want {
		t.Errorf("write:\n%swant:\n%s", &b, want)
	}
	if new(table).verdict() == nil {
		t.Error("an empty table passes")
	}
}

func TestQuantity(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 999: "999", 12.34: "12.3", 1234567: "1,234,567", -634: "-634", -1634: "-1,634"} {
		if got := quantity(v, ""); got != want {
			t.Errorf("quantity(%v) = %q, want %q", v, got, want)
		}
	}
}

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

// TestSoak runs every stage with a handful of clients. What so few cost in memory
// is not to be measured; all other bounds must be kept.
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
		sizes:    &sizes{short: true, sessions: 3000, streams: 40, sockets: 20, listens: 10, bad: 4, clients: 8, drains: 1, profiles: t.TempDir()},
		binary:   binary,
		progress: io.Discard,
	}
	if err := k.all(t.Context()); err != nil {
		t.Fatal(err)
	}
	stages := make(map[string]bool)
	for _, r := range k.table.rows {
		stages[r.what] = true
		if r.verdict != "" && r.verdict != "ok" && r.figure != rssEach {
			t.Errorf("%s: %s: %s, bound %s", r.what, r.figure, r.value, r.bound)
		}
	}
	if len(stages) != 18 {
		t.Errorf("%d parts were measured, want 18: %v", len(stages), stages)
	}
	if profiles, _ := filepath.Glob(filepath.Join(k.profiles, "*.heap.pprof")); len(profiles) != 6 {
		t.Errorf("%d heap profiles, want one for each kind of connection at rest, and for each server in the end", len(profiles))
	}
}

// A server that gives up what it has begun loses answers, and that must show.
func TestLostAnswersShow(t *testing.T) {
	c := &crew{}
	c.unanswered(3)
	c.unanswered(5)
	var all fates
	c.settle([]int{9, 5, 4}, &all)
	if all.lost != 1 || all.unrun != 1 {
		t.Errorf("lost %d, refused %d, want the one that was run and the one that was not", all.lost, all.unrun)
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
