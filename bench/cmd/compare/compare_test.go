package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/slipway-mcp/slipway/bench/figures"
	"github.com/slipway-mcp/slipway/bench/fix"
)

func TestCompareToFloor(t *testing.T) {
	group := []record{
		{Peer: "a", ServerCPU: 30, PerSecond: 500},
		{Peer: "broken", Error: "no answer"},
		{Peer: httpFloor, ServerCPU: 15, PerSecond: 1000},
	}
	compareToFloor(group, httpFloor)
	want := []record{
		{Peer: "a", ServerCPU: 30, PerSecond: 500, Ratio: 2, Rate: 0.5},
		{Peer: "broken", Error: "no answer"},
		{Peer: httpFloor, ServerCPU: 15, PerSecond: 1000, Ratio: 1, Rate: 1},
	}
	if diff := cmp.Diff(group, want); diff != "" {
		t.Errorf("under load (-got +want):\n%s", diff)
	}
	starts := []record{{Peer: stdioFloor, Start: 2, ServerCPU: 9}, {Peer: "a", Start: 5, ServerCPU: 9}}
	compareToFloor(starts, stdioFloor)
	if got := starts[1].Ratio; got != 2.5 {
		t.Errorf("start-up ratio = %v, want that of the times, 2.5", got)
	}
	alone := []record{{Peer: "a", ServerCPU: 30}}
	compareToFloor(alone, httpFloor)
	if got := alone[0].Ratio; got != 0 {
		t.Errorf("ratio without a floor = %v, want none", got)
	}
}

func TestMedian(t *testing.T) {
	tests := []struct {
		name   string
		values []float64
		want   float64
	}{
		{"none", nil, 0},
		{"odd", []float64{9, 1, 3}, 3},
		{"even", []float64{9, 1, 3, 5}, 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := figures.Median(tt.values); got != tt.want {
				t.Errorf("figures.Median(%v) = %v, want %v", tt.values, got, tt.want)
			}
		})
	}
}

func TestNumber(t *testing.T) {
	tests := map[float64]string{
		0:       "0.00",
		0.0123:  "0.012",
		1.256:   "1.26",
		12.34:   "12.3",
		999:     "999",
		1234.6:  "1,235",
		1234567: "1,234,567",
	}
	for v, want := range tests {
		if got := figures.Number(v); got != want {
			t.Errorf("figures.Number(%v) = %q, want %q", v, got, want)
		}
	}
}

func TestReport(t *testing.T) {
	w, err := fix.Find("http-echo-2025")
	if err != nil {
		t.Fatal(err)
	}
	modern, err := fix.Find("http-echo-2026")
	if err != nil {
		t.Fatal(err)
	}
	peers := []installedPeer{
		{peer: peer{name: httpFloor, floor: true}},
		{peer: peer{name: "fast"}},
		{peer: peer{name: "old", noModern: true}},
		{peer: peer{name: "broken"}},
	}
	records := []record{
		{Workload: w.Name, Peer: httpFloor, ServerCPU: 10, PerSecond: 60000, Ratio: 1, Rate: 1},
		{Workload: w.Name, Peer: "fast", ServerCPU: 11, PerSecond: 50000, Ratio: 1.1, Rate: 0.8},
		{Workload: w.Name, Peer: "fast", ServerCPU: 12, PerSecond: 52000, Ratio: 1.3, Rate: 0.9},
		{Workload: w.Name, Peer: "fast", ServerCPU: 13, PerSecond: 54000, Ratio: 1.2, Rate: 0.9},
		{Workload: w.Name, Peer: "old", ServerCPU: 30, Ratio: 3},
		{Workload: w.Name, Peer: "broken", Error: "check: content | wrong"},
	}
	got := report(setting{Skipped: []string{"ts: node is not installed"}}, []fix.Workload{w, modern}, peers, records)
	for _, want := range []string{
		"Skipped ts: node is not installed.",
		"| workload | fast | old | broken |",
		"| http-echo-2025 | 1.20 | 3.00 | failed |",
		"| http-echo-2026 |  | – |  |",
		"| fast | 1.20 (1.10–1.30) | 12.0 | 52,000 | 0.90 |",
		`| broken | failed: check: content \| wrong |`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("report lacks %q:\n%s", want, got)
		}
	}
}

func TestSelect(t *testing.T) {
	peers, err := selectPeers("mcp-go")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range peers {
		names = append(names, p.name)
	}
	if diff := cmp.Diff(names, []string{httpFloor, stdioFloor, wsFloor, plain, "mcp-go"}); diff != "" {
		t.Errorf("floors always run (-got +want):\n%s", diff)
	}
	if _, err := selectPeers("mcp-go,nobody"); err == nil {
		t.Error("an unknown peer is accepted")
	}
	workloads, err := selectWorkloads("http-list,start")
	if err != nil {
		t.Fatal(err)
	}
	if got := len(workloads); got != 4 {
		t.Errorf("%d workloads begin with http-list or start, want 4", got)
	}
	if _, err := selectWorkloads("nothing"); err == nil {
		t.Error("an unknown workload is accepted")
	}
}

// TestMeasure runs a real floor briefly in every kind of workload: the figures must be
// present, and no process may be left.
func TestMeasure(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("server CPU is read from /proc")
	}
	o := &options{warmup: 10 * time.Millisecond, measure: 250 * time.Millisecond, connections: 4, spawns: 2}
	http, stdio := buildPeer(t, "barehand"), buildPeer(t, "floorstdio")
	for _, name := range []string{"http-echo-2025", "http-echo-session", "stdio-echo-64", "start-http", "start-stdio"} {
		t.Run(name, func(t *testing.T) {
			w, err := fix.Find(name)
			if err != nil {
				t.Fatal(err)
			}
			p := http
			if floorOf(w) == stdioFloor {
				p = stdio
			}
			r := measure(t.Context(), o, p, w)
			if r.Error != "" {
				t.Fatal(r.Error)
			}
			if r.ResidentKB == 0 || r.Start == 0 && (r.Requests == 0 || r.ServerCPU == 0 || r.Generator == 0) {
				t.Errorf("figures are missing: %+v", r)
			}
		})
	}
	t.Run("a peer that cannot start", func(t *testing.T) {
		w, err := fix.Find("http-echo-2025")
		if err != nil {
			t.Fatal(err)
		}
		r := measure(t.Context(), o, stdio, w)
		if !strings.Contains(r.Error, "no HTTP here") {
			t.Errorf("error = %q, want what the peer says", r.Error)
		}
	})
}

// TestMeasureEnds checks that a peer that never answers is given up and killed.
func TestMeasureEnds(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("server CPU is read from /proc")
	}
	w, err := fix.Find("stdio-echo-1")
	if err != nil {
		t.Fatal(err)
	}
	mute := installedPeer{peer: peer{name: "mute"}, command: []string{"sh", "-c", "sleep 60 & sleep 60"}}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if r := measure(ctx, &options{measure: time.Second}, mute, w); r.Error == "" {
		t.Errorf("a peer that never answers gives %+v", r)
	}
}

func buildPeer(t *testing.T, dir string) installedPeer {
	t.Helper()
	binary := filepath.Join(t.TempDir(), dir)
	build := exec.Command("go", "build", "-o", binary, "../../peers/"+dir)
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		t.Fatal(err)
	}
	return installedPeer{peer: peer{name: dir}, command: []string{binary}}
}

func TestParse(t *testing.T) {
	for _, args := range [][]string{{"-rounds", "0"}, {"-measure", "0s"}, {"more"}, {"-conns", "none"}} {
		if _, err := parse(args, io.Discard); err == nil {
			t.Errorf("parse(%q) succeeds", args)
		}
	}
	o, err := parse(nil, io.Discard)
	if err != nil || o.rounds != 5 || o.warmup != time.Second || o.measure != 2*time.Second {
		t.Errorf("defaults = %+v, %v", o, err)
	}
}
