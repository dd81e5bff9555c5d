package main

import (
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/bench/figures"
)

func TestParse(t *testing.T) {
	tests := []struct {
		args     []string
		duration time.Duration
	}{
		{nil, 20 * time.Minute},
		{[]string{"-short"}, 40 * time.Second},
		{[]string{"-short", "-duration", "5s"}, 5 * time.Second},
	}
	for _, tt := range tests {
		o, err := parse(tt.args, io.Discard)
		if err != nil || o.duration != tt.duration || o.seed == 0 {
			t.Errorf("parse(%q) = %+v, %v; want %v and a seed", tt.args, o, err, tt.duration)
		}
	}
	if o, err := parse([]string{"-seed", "42"}, io.Discard); err != nil || o.seed != 42 {
		t.Errorf("the seed is not the one given: %+v, %v", o, err)
	}
	for _, args := range [][]string{{"more"}, {"-duration", "-1s"}, {"-pause", "0s"}, {"-clients", "0"}} {
		if _, err := parse(args, io.Discard); err == nil {
			t.Errorf("parse(%q) succeeds", args)
		}
	}
}

// TestTally adds one outcome of each kind to many correct calls, and checks which bound
// it exceeds.
func TestTally(t *testing.T) {
	tests := []struct {
		name   string
		change func(*tally)
		want   string // in the row that is exceeded
	}{
		{"all right", func(*tally) {}, ""},
		{"three failures in a thousand", func(t *tally) {
			for range 3 {
				t.failed(time.Second, "lost")
			}
		}, ""},
		{"four failures in a thousand", func(t *tally) {
			for range 4 {
				t.failed(time.Second, "lost")
			}
		}, "failed, in a thousand"},
		{"a wrong answer", func(t *tally) { t.wrong("sent a, received b") }, "answered wrong"},
		{"a call that hangs", func(t *tally) { t.right(callBound + time.Second) }, "longest call"},
		{"a cancelled call that hangs", func(t *tally) { t.cancelled(callBound + time.Second) }, "longest call"},
		{"a connection that fails", func(t *tally) { t.connected(0, errors.New("refused")) }, "failed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			all := newTally("x")
			for range 1000 {
				all.right(time.Millisecond)
			}
			tt.change(all)
			var table figures.Table
			all.report(&table)
			exceeded := ""
			for _, r := range table.Rows() {
				if r.Verdict != "" && r.Verdict != "ok" && exceeded == "" {
					exceeded = r.Figure
				}
			}
			if (exceeded == "") != (tt.want == "") || !strings.HasPrefix(exceeded, tt.want) {
				t.Errorf("exceeded: %q, want %q", exceeded, tt.want)
			}
		})
	}
}

// TestSettled checks that each kind of leak is detected.
func TestSettled(t *testing.T) {
	before := reading{sessions: 1, streams: 1, inFlight: 1, children: 2, goroutines: 30, descriptors: 20}
	if !before.settled(before, &before) {
		t.Error("the same figures are not settled")
	}
	for name, change := range map[string]func(*reading){
		"a session":         func(r *reading) { r.sessions++ },
		"a stream":          func(r *reading) { r.streams++ },
		"a request":         func(r *reading) { r.inFlight++ },
		"a child":           func(r *reading) { r.children++ },
		"a missing child":   func(r *reading) { r.children-- },
		"a goroutine":       func(r *reading) { r.goroutines++ },
		"a file descriptor": func(r *reading) { r.descriptors++ },
	} {
		after := before
		change(&after)
		if after.settled(before, &before) {
			t.Errorf("%s is not noticed", name)
		}
	}
}

// TestChaos runs the real programs for a few seconds.
func TestChaos(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("what slipway uses is read from /proc")
	}
	var out strings.Builder
	args := []string{"-duration", "4s", "-pause", "1s", "-seed", "3", "-clients", "3"}
	err := run(t.Context(), args, &out, io.Discard)
	t.Log("\n" + out.String())
	if err != nil && !strings.Contains(err.Error(), "bounds exceeded") {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		// A share is meaningless for so few calls.
		if strings.Contains(line, "EXCEEDED") && !strings.Contains(line, "in a thousand") {
			t.Error(line)
		}
	}
	for _, want := range []string{"Seed 3;", "answered right", "carried out twice | 0", "child processes left | 0"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report has no %q", want)
		}
	}
}
