package main

import (
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/bench/fix"
	"github.com/slipway-mcp/slipway/bench/trial"
)

// measured returns a bench with records of the rows that have bounds.
func measured(short bool) *bench {
	b := &bench{short: short}
	b.Trial = trial.Trial{Options: &trial.Options{}, Workloads: fix.Proxied()}
	add := func(back, name string, cpu, kb float64) {
		r := &row{name: name, back: back}
		b.Rows = append(b.Rows, r)
		for _, w := range b.Workloads {
			for round, factor := range []float64{1, 1.5, 0.9} {
				b.Records = append(b.Records, trial.Record{Round: round + 1, Workload: w.Name, Key: r.Key(),
					Figures: trial.Figures{"cpu_us": cpu * factor, "requests_per_second": 1000,
						"rss_idle_kb": kb / 2, "rss_after_kb": kb, "rss_peak_kb": kb, "rss_own_kb": kb / 4}})
			}
		}
	}
	add(nothing, local, 10, 10<<10)
	add(child, slipway, 15, 15<<10)
	add(child, typedMCPGo, 300, 20<<10)
	add(remote, slipway, 40, 15<<10)
	add(remote, reverse, 100, 12<<10)
	return b
}

func TestVerdict(t *testing.T) {
	tests := []struct {
		name   string
		short  bool
		change func(*trial.Record)
		want   string
	}{
		{"all within bounds", false, func(*trial.Record) {}, ""},
		{"an expensive child", false, func(r *trial.Record) {
			if r.Name == slipway && r.Back == child {
				r.Figures["cpu_us"] *= 1.3
			}
		}, "2 of the bounds"},
		{"an expensive child on a busy machine", true, func(r *trial.Record) {
			if r.Name == slipway && r.Back == child {
				r.Figures["cpu_us"] *= 1.3
			}
		}, ""},
		{"too much memory", false, func(r *trial.Record) {
			if r.Name == slipway && r.Back == remote {
				r.Figures["rss_after_kb"] *= 2
			}
		}, "1 of the bounds"},
		{"one that fails", false, func(r *trial.Record) {
			if r.Name == reverse && r.Round == 2 {
				r.Error = "no answer"
			}
		}, "no answer"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := measured(tt.short)
			for i := range b.Records {
				tt.change(&b.Records[i])
			}
			err := b.verdict()
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("verdict = %v, want %q", err, tt.want)
			}
		})
	}
	if new(bench).verdict() == nil {
		t.Error("nothing measured passes")
	}
}

func TestReport(t *testing.T) {
	b := measured(false)
	got := b.report()
	for _, want := range []string{
		"| stdio | slipway | 15.0 | 1.50 (1.50–1.50) | 1,000 |",
		"| stdio | mcp-go, server and client | 300 | 30.0 (30.0–30.0) |",
		"| echo | CPU before HTTP, of ReverseProxy's | 0.40 | ≤ 0.58 | ok |",
		"| echo | RSS before a child, under load | 15.0 | ≤ 20.0 MB | ok |",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the report has no line %q:\n%s", want, got)
		}
	}
}

func TestSelectRows(t *testing.T) {
	all, err := selectRows(&options{})
	if err != nil || len(all) != len(allRows()) {
		t.Fatalf("%d rows, %v", len(all), err)
	}
	two, err := selectRows(&options{rows: "mcp-go server and client"})
	if err != nil || len(two) != 3 {
		t.Errorf("one name gives %d rows and %v, want it before a child, before HTTP, and what answers locally",
			len(two), err)
	}
	short, _ := selectRows(&options{short: true})
	for _, r := range short {
		if r.program == supergateway {
			t.Error("-short needs npm")
		}
	}
	if _, err := selectRows(&options{rows: "unknown"}); err == nil {
		t.Error("an unknown row is accepted")
	}
	for _, args := range [][]string{{"more"}, {"-rounds", "-1"}, {"-conns", "0"}} {
		if _, err := parse(args, io.Discard); err == nil {
			t.Errorf("parse(%q) succeeds", args)
		}
	}
}

// TestMeasure runs every gateway built with Go briefly: the figures must be present, and
// every answer correct.
func TestMeasure(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("what a gateway costs is read from /proc")
	}
	rows, err := selectRows(&options{})
	if err != nil {
		t.Fatal(err)
	}
	var golang []*row
	for _, r := range rows {
		if r.program != supergateway {
			golang = append(golang, r)
		}
	}
	o := &options{Options: trial.Options{
		Rounds: 1, Warmup: 10 * time.Millisecond, Measure: 300 * time.Millisecond, Connections: 2, Out: t.TempDir(),
	}}
	b, err := prepare(t.Context(), o, golang, t.TempDir(), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Run(t.Context(), "proxy", io.Discard, b.report); err != nil {
		t.Fatal(err)
	}
	if got, want := len(b.Records), 2*len(golang); got != want {
		t.Errorf("%d measurements, want %d", got, want)
	}
	for _, r := range b.Records {
		f := r.Figures
		if r.Error != "" || f["requests"] == 0 || f["rss_idle_kb"] == 0 || f["rss_peak_kb"] < f["rss_after_kb"] ||
			f["rss_own_kb"] == 0 {
			t.Errorf("%s before %s, %s: %+v", r.Name, r.Back, r.Workload, r)
		}
	}
}
