package simulation

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// trace is what happened in a run, in virtual time.
type trace struct {
	began time.Time

	mu    sync.Mutex
	lines []traceLine
}

// traceLine is an event and its virtual time.
type traceLine struct {
	at   time.Duration
	text string
}

// now returns the time since the beginning of the run.
func (t *trace) now() time.Duration { return time.Since(t.began) }

// add adds a line.
func (t *trace) add(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, traceLine{t.now(), fmt.Sprintf(format, args...)})
}

// sorted returns the lines in the order of time. Goroutines that run at the same moment have no
// order, so the text decides.
func (t *trace) sorted() []traceLine {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := slices.Clone(t.lines)
	slices.SortFunc(lines, func(a, b traceLine) int {
		if a.at != b.at {
			return int(a.at - b.at)
		}
		return strings.Compare(a.text, b.text)
	})
	return lines
}

// String returns the trace for a reader.
func (t *trace) String() string {
	var b strings.Builder
	for _, l := range t.sorted() {
		fmt.Fprintf(&b, "%12.6f %s\n", l.at.Seconds(), l.text)
	}
	return b.String()
}

// hash identifies the trace.
func (t *trace) hash() string {
	sum := sha256.Sum256([]byte(t.String()))
	return hex.EncodeToString(sum[:8])
}
