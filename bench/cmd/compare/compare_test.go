package main

import (
	"context"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/slipway-mcp/slipway/bench/fix"
	"github.com/slipway-mcp/slipway/bench/trial"
)

func TestCompareToFloor(t *testing.T) {
	http, stdio := find(t, "http-echo-2025"), find(t, "start-stdio")
	tests := []struct {
		name     string
		workload fix.Workload
		group    []trial.Record
		want     []trial.Figures // the ratios
	}{
		{"under load", http, []trial.Record{
			{Key: key("a"), Figures: trial.Figures{"server_cpu_us": 30, "requests_per_second": 500}},
			{Key: key("broken"), Error: "no answer"},
			{Key: key(httpFloor), Figures: trial.Figures{"server_cpu_us": 15, "requests_per_second": 1000}},
		}, []trial.Figures{{"ratio": 2, "rate": 0.5}, {}, {"ratio": 1, "rate": 1}}},
		{"start-up", stdio, []trial.Record{
			{Key: key(stdioFloor), Figures: trial.Figures{"start_ms": 2, "server_cpu_us": 9}},
			{Key: key("a"), Figures: trial.Figures{"start_ms": 5, "server_cpu_us": 9}},
		}, []trial.Figures{{"ratio": 1}, {"ratio": 2.5}}},
		{"without a floor", http, []trial.Record{{Key: key("a"), Figures: trial.Figures{"server_cpu_us": 30}}},
			[]trial.Figures{{}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			compareToFloor(tt.workload, tt.group)
			for i, r := range tt.group {
				got := trial.Figures{}
				for _, name := range []string{"ratio", "rate"} {
					if v, ok := r.Figures[name]; ok {
						got[name] = v
					}
				}
				if diff := cmp.Diff(got, tt.want[i]); diff != "" {
					t.Errorf("%s (-got +want):\n%s", r.Name, diff)
				}
			}
		})
	}
}

func key(name string) trial.Key { return trial.Key{Name: name} }

func find(t *testing.T, name string) fix.Workload {
	t.Helper()
	w, err := fix.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestReport(t *testing.T) {
	w, modern := find(t, "http-echo-2025"), find(t, "http-echo-2026")
	o := &options{}
	run := &trial.Trial{Options: &o.Options, Workloads: []fix.Workload{w, modern}, Rows: []trial.Row{
		&peer{name: httpFloor, floor: true, options: o}, &peer{name: "fast", options: o},
		&peer{name: "old", noModern: true, options: o}, &peer{name: "broken", options: o},
	}}
	run.Setting.Skipped = []string{"ts: node is not installed"}
	add := func(name string, ratio, cpu, perSecond, rate float64) {
		run.Records = append(run.Records, trial.Record{Key: key(name), Workload: w.Name, Figures: trial.Figures{
			"ratio": ratio, "server_cpu_us": cpu, "requests_per_second": perSecond, "rate": rate,
		}})
	}
	add(httpFloor, 1, 10, 60000, 1)
	add("fast", 1.1, 11, 50000, 0.8)
	add("fast", 1.3, 12, 52000, 0.9)
	add("fast", 1.2, 13, 54000, 0.9)
	add("old", 3, 30, 0, 0)
	run.Records = append(run.Records, trial.Record{Key: key("broken"), Workload: w.Name, Error: "check: content | wrong"})
	got := report(run)
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
	peers, err := selectPeers(&options{peers: "mcp-go"})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range peers {
		names = append(names, p.Key().Name)
	}
	if diff := cmp.Diff(names, []string{httpFloor, stdioFloor, wsFloor, plain, withJWT, "mcp-go"}); diff != "" {
		t.Errorf("floors always run (-got +want):\n%s", diff)
	}
	if _, err := selectPeers(&options{peers: "mcp-go,unknown"}); err == nil {
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
	o := &options{spawns: 2, Options: trial.Options{
		Warmup: 10 * time.Millisecond, Measure: 250 * time.Millisecond, Connections: 4,
	}}
	http, stdio := buildPeer(t, o, "barehand"), buildPeer(t, o, "floorstdio")
	for _, name := range []string{"http-echo-2025", "http-echo-session", "stdio-echo-64", "start-http", "start-stdio"} {
		t.Run(name, func(t *testing.T) {
			w := find(t, name)
			p := http
			if floorOf(w) == stdioFloor {
				p = stdio
			}
			f := make(trial.Figures)
			if err := p.Measure(t.Context(), w, f); err != nil {
				t.Fatal(err)
			}
			if f["rss_kb"] == 0 ||
				f["start_ms"] == 0 && (f["requests"] == 0 || f["server_cpu_us"] == 0 || f["generator_cores"] == 0) {
				t.Errorf("figures are missing: %v", f)
			}
		})
	}
	t.Run("a peer that cannot start", func(t *testing.T) {
		err := stdio.Measure(t.Context(), find(t, "http-echo-2025"), make(trial.Figures))
		if err == nil || !strings.Contains(err.Error(), "no HTTP here") {
			t.Errorf("error = %v, want the peer's message", err)
		}
	})
}

// TestSlices lets a floor take turns with two of itself: all figures must be present, and a ratio near 1.
func TestSlices(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("server CPU is read from /proc")
	}
	o := &options{slices: 2, Options: trial.Options{
		Warmup: 10 * time.Millisecond, Measure: 50 * time.Millisecond, Connections: 4,
	}}
	p := buildPeer(t, o, httpFloor)
	o.floors = map[string]*peer{httpFloor: p}
	f := make(trial.Figures)
	if err := p.Measure(t.Context(), find(t, "http-echo-2025"), f); err != nil {
		t.Fatal(err)
	}
	checkSlices(t, f)
	p.floor = true
	if p.Does(find(t, "http-echo-2025")) {
		t.Error("a floor is measured by itself")
	}
}

func checkSlices(t *testing.T, f trial.Figures) {
	t.Helper()
	for _, name := range []string{"ratio", "null_ratio", "server_cpu_us", "floor_cpu_us"} {
		if f[name] <= 0 {
			t.Errorf("%s is missing: %v", name, f)
		}
	}
	if f["ratio"] < 0.2 || f["ratio"] > 5 {
		t.Errorf("the ratio of a program to itself is %v", f["ratio"])
	}
}

// TestShared lets servers in one process take turns.
func TestShared(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("server CPU is read from /proc")
	}
	o := &options{slices: 2, shared: true, Options: trial.Options{
		Warmup: 10 * time.Millisecond, Measure: 50 * time.Millisecond, Connections: 4,
	}}
	w := find(t, "http-echo-2025+jwt")
	floor := &peer{name: plain, dir: "slipway", with: "plain", options: o}
	o.floors = map[string]*peer{plain: floor}
	p := buildPeer(t, o, "slipway")
	floor.Program = p.Program
	f := make(trial.Figures)
	if err := p.Measure(t.Context(), w, f); err != nil {
		t.Fatal(err)
	}
	checkSlices(t, f)
	floor.dir = "barehand"
	if err := p.Measure(t.Context(), w, f); err == nil {
		t.Error("two programs share a process")
	}
}

// TestMeasureEnds checks that a peer that never answers is given up and killed.
func TestMeasureEnds(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("server CPU is read from /proc")
	}
	mute := &peer{name: "mute", options: &options{Options: trial.Options{Measure: time.Second}}}
	mute.Command = []string{"sh", "-c", "sleep 60 & sleep 60"}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	f := make(trial.Figures)
	if err := mute.Measure(ctx, find(t, "stdio-echo-1"), f); err == nil {
		t.Errorf("a peer that never answers gives %v", f)
	}
}

func buildPeer(t *testing.T, o *options, dir string) *peer {
	t.Helper()
	p := &peer{name: dir, dir: dir, options: o}
	if err := p.Build(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestParse(t *testing.T) {
	for _, args := range [][]string{{"-rounds", "0"}, {"-measure", "0s"}, {"more"}, {"-conns", "none"},
		{"-slices", "3"}, {"-slices", "-1"}, {"-shared"}} {
		if _, err := parse(args, io.Discard); err == nil {
			t.Errorf("parse(%q) succeeds", args)
		}
	}
	o, err := parse(nil, io.Discard)
	if err != nil || o.Rounds != 5 || o.Warmup != time.Second || o.Measure != 2*time.Second {
		t.Errorf("defaults = %+v, %v", o, err)
	}
}
