package main

import (
	"os"
	"strings"
	"testing"
	"time"
)

func TestProgressText(t *testing.T) {
	for name, test := range map[string]struct {
		done, all int64
		took      time.Duration
		want      string
	}{
		"start":   {0, 100, 0, "writing   [                    ]   0 %  0 of 100"},
		"half":    {50, 100, 10 * time.Second, "writing   [==========          ]  50 %  50 of 100, 5/s, 10s left"},
		"end":     {100, 100, 20 * time.Second, "writing   [====================] 100 %  100 of 100, 5/s"},
		"nothing": {0, 0, 10 * time.Second, "writing"},
		"unknown": {30, 0, 10 * time.Second, "writing 30, 3/s"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := progressText("writing", test.done, test.all, test.took, countOnly); got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

// TestWaitText verifies that the count and the time stay visible when names do not fit.
func TestWaitText(t *testing.T) {
	began := time.Now()
	for name, test := range map[string]struct {
		pending   []string
		done, all int64
		want      string
	}{
		"one":     {[]string{"crm"}, 0, 1, "waiting for crm, 5s"},
		"several": {[]string{"crm", "docs"}, 1, 3, "waiting for crm, docs (1 of 3 done), 5s"},
		"long":    {[]string{strings.Repeat("long", 20)}, 1, 3, "waiting for longlongl… (1 of 3 done), 5s"},
		"hostile": {[]string{"a\x1b[2Jb"}, 0, 0, `waiting for a\u001b[2Jb, 5s`},
	} {
		t.Run(name, func(t *testing.T) {
			track := &tracker{
				started: began,
				pending: test.pending,
				done:    test.done,
				all:     test.all,
			}
			if got := track.waitText(began.Add(5*time.Second), 40); got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

// TestProgressAppearsLate verifies that work of less than a second shows nothing, and that
// messages replace the progress line.
func TestProgressAppearsLate(t *testing.T) {
	out, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	s := newScreen(out)
	now := time.Now()
	track := &tracker{
		screen:  s,
		size:    countOnly,
		started: now,
		now:     func() time.Time { return now },
	}
	track.update("reading", 1, 10)
	if text, _ := os.ReadFile(out.Name()); len(text) > 0 {
		t.Errorf("%q after no time", text)
	}
	now = now.Add(2 * time.Second)
	track.update("reading", 5, 10)
	say(s, "a message")
	track.finish()
	text, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	got := string(text)
	if !strings.HasPrefix(got, "\r\x1b[Kreading") || !strings.HasSuffix(got, "\r\x1b[Kslipway: a message\n") {
		t.Errorf("got %q, want a line of progress that the message replaces", got)
	}
}
