package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/internal/style"
	"github.com/slipway-mcp/slipway/internal/visible"
)

// progressDelay is how long work takes before its progress is shown.
const progressDelay = time.Second

// progressPause is the time between two updates of the progress line.
const progressPause = 100 * time.Millisecond

// progressLine is the last line of a terminal while it shows progress: the screens of one
// terminal share it. Its zero value shows none. A nil line has no effect.
type progressLine struct {
	mu      sync.Mutex
	shown   bool
	ended   bool // the command has ended
	partial bool // the cursor is not at the start of a line
	to      io.Writer
}

// show replaces the line, unless that would damage other output.
func (l *progressLine) show(to io.Writer, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended || l.partial {
		return
	}
	l.shown = true
	l.to = to
	_, _ = io.WriteString(to, "\r\x1b[K"+text) // progress is not essential
}

// clear removes the line.
func (l *progressLine) clear() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remove()
}

// remove is clear for callers that have locked.
func (l *progressLine) remove() {
	if l.shown {
		_, _ = io.WriteString(l.to, "\r\x1b[K")
	}
	l.shown = false
}

// end removes the line for good.
func (l *progressLine) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remove()
	l.ended = true
}

// write removes the line and writes p. Until a line is complete, none is shown.
func (l *progressLine) write(to io.Writer, p []byte) (int, error) {
	if l == nil {
		return to.Write(p)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remove()
	if len(p) > 0 {
		l.partial = p[len(p)-1] != '\n'
	}
	return to.Write(p)
}

// tracker shows the progress of a command on stderr: on a terminal as a line that disappears
// at the end; otherwise, only with --verbose, as a message per stage. The line has the rate
// and the remaining time of known amounts, or the servers that the command waits for. It is
// safe for concurrent use.
type tracker struct {
	screen *screen
	// log prints a message per stage, size formats an amount, and now is the clock.
	log     func(text string)
	size    func(n int64) string
	now     func() time.Time
	servers *client.Roster // of a wait; may be nil

	mu      sync.Mutex
	stage   string    // of amounts
	began   time.Time // of the stage
	started time.Time // of the work
	last    time.Time // update
	// done of all is the progress of the stage; all is 0 if it is unknown.
	done    int64
	all     int64
	pending []string    // names of a wait
	timer   *time.Timer // of the next redraw; nil if the line only changes with progress
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
	case isTerminal(s) && os.Getenv("TERM") != "dumb":
		return t
	case verbosity(cmd) > 0 && !isTerminal(s):
		t.log = func(text string) { say(s, "%s", text) }
		return t
	}
	return nil
}

// waitFor returns a tracker that shows on a terminal that the command waits for something,
// until its finish is called.
func waitFor(cmd *cobra.Command, name string) *tracker {
	t := startWait(cmd, 1, nil)
	t.begin(name)
	return t
}

// startWait returns a tracker for a number of sources, or 0 if unknown: it shows those for
// which begin was called, until end is, or else the servers of a list that are starting.
func startWait(cmd *cobra.Command, all int, servers *client.Roster) *tracker {
	t := newTracker(cmd, countOnly)
	if t == nil {
		return nil
	}
	t.servers = servers
	t.all = int64(all)
	t.tick()
	return t
}

// tick makes the line appear and its times advance without progress, until finish is called.
func (t *tracker) tick() {
	if t == nil || t.log != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.timer = time.AfterFunc(progressDelay, t.redraw)
}

// redraw shows the line again, and continues to do so until finish is called.
func (t *tracker) redraw() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer == nil {
		return
	}
	t.draw()
	t.timer.Reset(progressPause)
}

// bytes returns a function that shows the progress of a download during a wait. Its amount is
// -1 if unknown.
func (t *tracker) bytes() func(done, all int64) {
	if t == nil {
		return nil
	}
	t.size = byteCount
	return func(done, all int64) {
		if done == all {
			t.update("", 0, 1)
			return
		}
		t.update("downloading", done, max(all, 0))
	}
}

// begin records that the command waits for a source.
func (t *tracker) begin(name string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pending = append(t.pending, name)
}

// end records that the command no longer waits for a source.
func (t *tracker) end(name string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.pending, name); i >= 0 {
		t.pending = slices.Delete(t.pending, i, i+1)
		t.done++
	}
}

// update records that done of all parts of a stage are complete. If all is 0, their number
// is unknown.
func (t *tracker) update(stage string, done, all int64) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if stage != t.stage {
		t.stage = stage
		t.began = t.now()
		if t.log != nil && stage != "" {
			t.log(stage)
		}
	}
	t.done = done
	t.all = all
	if t.log == nil {
		t.draw()
	}
}

// compared records the number of compared answers.
func (t *tracker) compared(done, all int) { t.update("comparing", int64(done), int64(all)) }

// draw shows the line if it is due. The caller has locked.
func (t *tracker) draw() {
	now := t.now()
	if now.Sub(t.started) < progressDelay ||
		now.Sub(t.last) < progressPause/2 ||
		t.screen.prompts.Load() > 0 {
		return
	}
	t.last = now
	width := max(terminalWidth(t.screen)-1, 20)
	line := ""
	if t.stage == "" {
		line = t.waitText(now, width)
	} else {
		line = progressText(t.stage, t.done, t.all, now.Sub(t.began), t.size)
	}
	t.screen.progress.show(t.screen.file, style.Truncate(line, width))
}

// waitText returns the line of a wait: names as far as they fit, the count and the time.
func (t *tracker) waitText(now time.Time, width int) string {
	names := t.pending
	done := t.done
	all := t.all
	if starting, known := t.starting(); len(starting) > 0 {
		names = starting
		if all > 0 {
			done = int64(known - len(starting))
			all = int64(known)
		}
	}
	tail := ", " + age(now.Sub(t.started))
	if all > 1 {
		tail = fmt.Sprintf(" (%d of %d done)", done, all) + tail
	}
	text := "waiting for " + visible.Line(strings.Join(names, ", "))
	return style.Truncate(text, max(width-style.Width(tail), 20)) + tail
}

// starting returns the names of servers that have not started, and the number of all.
func (t *tracker) starting() (names []string, all int) {
	if t.servers == nil {
		return nil, 0
	}
	states := t.servers.States()
	for _, s := range states {
		if s.Phase == client.Starting && s.Name != "" {
			names = append(names, s.Name)
		}
	}
	return names, len(states)
}

// finish removes the progress line.
func (t *tracker) finish() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
	t.screen.progress.clear()
	if t.log != nil && !t.began.IsZero() {
		t.log("done in " + t.now().Sub(t.started).Round(time.Millisecond).String())
	}
}

// progressText returns a stage with a bar, the amounts, the rate and the remaining time, as
// far as they are known.
func progressText(
	stage string,
	done, all int64,
	took time.Duration,
	size func(n int64) string,
) string {
	rate := ""
	if took > 0 && done > 0 {
		rate = ", " + size(int64(float64(done)/took.Seconds())) + "/s"
	}
	if done <= 0 && all <= 0 {
		return stage
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
