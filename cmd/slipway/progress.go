package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/internal/style"
)

// progressDelay is how long work takes before its progress is shown.
const progressDelay = time.Second

// progressPause is the time between two updates of the progress line.
const progressPause = 100 * time.Millisecond

// progressLine is the last line of a terminal while it shows progress. Its zero value
// shows none.
type progressLine struct {
	mu    sync.Mutex
	shown bool
	to    io.Writer
}

// show replaces the line.
func (l *progressLine) show(to io.Writer, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shown = true
	l.to = to
	_, _ = io.WriteString(to, "\r\x1b[K"+text) // progress is not essential
}

// clear removes the line.
func (l *progressLine) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shown {
		_, _ = io.WriteString(l.to, "\r\x1b[K")
	}
	l.shown = false
}

// tracker shows the progress of a command on stderr: on a terminal as a line with rate and
// remaining time, which disappears at the end; otherwise, only with --verbose, as a message
// per stage.
type tracker struct {
	screen  *screen
	log     func(text string)
	stage   string
	began   time.Time // of the stage
	started time.Time // of the work
	last    time.Time // update
	size    func(n int64) string
	now     func() time.Time
}

// newTracker returns the tracker of a command; size formats amounts of work. It is nil if
// progress is not shown; all methods accept that.
func newTracker(cmd *cobra.Command, size func(n int64) string) *tracker {
	s, ok := cmd.ErrOrStderr().(*screen)
	t := &tracker{
		screen:  s,
		size:    size,
		started: time.Now(),
		now:     time.Now,
	}
	switch {
	case !ok || s.quiet:
		return nil
	case isTerminal(s):
		return t
	case verbosity(cmd) > 0:
		t.log = func(text string) { say(s, "%s", text) }
		return t
	}
	return nil
}

// update records that done of all parts of a stage are complete. If all is 0, their number
// is unknown.
func (t *tracker) update(stage string, done, all int64) {
	if t == nil {
		return
	}
	now := t.now()
	if stage != t.stage {
		t.stage = stage
		t.began = now
		if t.log != nil {
			t.log(stage)
		}
	}
	if t.log != nil || now.Sub(t.started) < progressDelay || now.Sub(t.last) < progressPause {
		return
	}
	t.last = now
	line := progressText(stage, done, all, now.Sub(t.began), t.size)
	t.screen.progress.show(t.screen.file, style.Truncate(line, max(terminalWidth(t.screen)-1, 20)))
}

// done removes the progress line.
func (t *tracker) done() {
	if t == nil {
		return
	}
	t.screen.progress.clear()
	if t.log != nil && t.stage != "" {
		t.log("done in " + t.now().Sub(t.started).Round(time.Millisecond).String())
	}
}

// progressText returns a stage with a bar, the amounts, the rate and the remaining time, as
// far as they are known.
func progressText(stage string, done, all int64, took time.Duration, size func(n int64) string) string {
	rate := ""
	if took > 0 && done > 0 {
		rate = ", " + size(int64(float64(done)/took.Seconds())) + "/s"
	}
	if all <= 0 {
		return stage + " " + size(done) + rate
	}
	const width = 20
	full := int(min(width, done*width/all))
	left := ""
	if done > 0 && done < all && took > 0 {
		rest := time.Duration(float64(took) * float64(all-done) / float64(done))
		left = ", " + age(rest) + " left"
	}
	bar := strings.Repeat("=", full) + strings.Repeat(" ", width-full)
	return fmt.Sprintf("%-9s [%s] %3d %%  %s of %s%s%s", stage, bar, done*100/all, size(done), size(all), rate, left)
}

// countOnly formats a number of items.
func countOnly(n int64) string { return fmt.Sprint(n) }
