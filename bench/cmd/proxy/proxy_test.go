package main

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// measured returns a bench with records of the rows that have bounds.
func measured(short bool) *bench {
	b := &bench{options: &options{short: short}}
	add := func(back, name string, cpu, kb float64) {
		for _, workload := range []string{"echo", "text-10k"} {
			b.rows = append(b.rows, row{name: name, back: back})
			for round, factor := range []float64{1, 1.5, 0.9} {
				b.records = append(b.records, record{Round: round + 1, Workload: workload, Gateway: name, Back: back,
					CPU:       cpu * factor,
					PerSecond: 1000,
					IdleKB:    int64(kb / 2),
					AfterKB:   int64(kb),
					PeakKB:    int64(kb),
					OwnKB:     int64(kb / 4)})
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
		change func(*record)
		want   string
	}{
		{"all hold", false, func(*record) {}, ""},
		{"a dear child", false, func(r *record) {
			if r.Gateway == slipway && r.Back == child {
				r.CPU *= 1.3
			}
		}, "2 of the bounds"},
		{"a dear child on a busy machine", true, func(r *record) {
			if r.Gateway == slipway && r.Back == child {
				r.CPU *= 1.3
			}
		}, ""},
		{"too much memory", false, func(r *record) {
			if r.Gateway == slipway && r.Back == remote {
				r.AfterKB *= 2
			}
		}, "1 of the bounds"},
		{"one that fails", false, func(r *record) {
			if r.Gateway == reverse && r.Round == 2 {
				r.Error = "no answer"
			}
		}, "no answer"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := measured(tt.short)
			for i := range b.records {
				tt.change(&b.records[i])
			}
			err := b.verdict()
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("verdict = %v, want %q", err, tt.want)
			}
		})
	}
	if (&bench{options: &options{}}).verdict() == nil {
		t.Error("nothing measured passes")
	}
}

func TestReport(t *testing.T) {
	b := measured(false)
	got := b.report(b.describe())
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
	if _, err := selectRows(&options{rows: "nobody"}); err == nil {
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
	b := &bench{
		options: &options{rounds: 1, warmup: 10 * time.Millisecond, measure: 50 * time.Millisecond, connections: 2},
		dir:     t.TempDir(), stderr: io.Discard,
	}
	var golang []row
	for _, r := range rows {
		if r.program != supergateway {
			golang = append(golang, r)
		}
	}
	if err := b.prepare(t.Context(), golang); err != nil {
		t.Fatal(err)
	}
	lines, err := os.Create(filepath.Join(t.TempDir(), "lines"))
	if err != nil {
		t.Fatal(err)
	}
	defer lines.Close()
	if err := b.measureAll(t.Context(), b.describe(), lines); err != nil {
		t.Fatal(err)
	}
	if got, want := len(b.records), 2*len(golang); got != want {
		t.Errorf("%d measurements, want %d", got, want)
	}
	for _, r := range b.records {
		if r.Error != "" || r.Requests == 0 || r.IdleKB == 0 || r.PeakKB < r.AfterKB || r.OwnKB == 0 {
			t.Errorf("%s before %s, %s: %+v", r.Gateway, r.Back, r.Workload, r)
		}
	}
}
