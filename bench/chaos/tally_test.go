package chaos

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/bench/figures"
)

// tally counts the outcomes of calls. It is safe for concurrent use.
type tally struct {
	name string // prefix of the token of each call

	mu       sync.Mutex
	count    struct{ right, wrong, failed, cancelled, late, connections, refused int }
	longest  time.Duration
	failures map[string]int // by text, without the digits that vary from call to call
}

func newTally(name string) *tally { return &tally{name: name, failures: make(map[string]int)} }

func (t *tally) right(took time.Duration) {
	t.add(took, func() { t.count.right++ })
}

func (t *tally) cancelled(took time.Duration) {
	t.add(took, func() { t.count.cancelled++ })
}

func (t *tally) failed(took time.Duration, text string) {
	t.add(took, func() {
		t.count.failed++
		t.keep(text)
	})
}

func (t *tally) wrong(text string) {
	t.add(0, func() {
		t.count.wrong++
		t.failures["WRONG: "+text]++
	})
}

// connected counts an attempt to connect, which has the same time limit as a call.
func (t *tally) connected(took time.Duration, err error) {
	t.add(took, func() {
		t.count.connections++
		if err != nil {
			t.count.refused++
			t.keep("connecting: " + err.Error())
		}
	})
}

func (t *tally) note(text string) { t.add(0, func() { t.keep(text) }) }

func (t *tally) add(took time.Duration, change func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.longest = max(t.longest, took)
	if took > callBound {
		t.count.late++
	}
	change()
}

// maxFailures is the maximum number of distinct failures kept.
const maxFailures = 200

func (t *tally) keep(text string) {
	text = regexp.MustCompile(`\d+(\.\d+)?`).ReplaceAllString(text, "N")
	if _, ok := t.failures[text]; ok || len(t.failures) < maxFailures {
		t.failures[text]++
	}
}

// report adds the figures to a table.
func (t *tally) report(table *figures.Table) {
	t.mu.Lock()
	defer t.mu.Unlock()
	const calls = "calls"
	n := t.count
	table.Note(calls, "answered right", float64(n.right), "")
	table.Note(calls, "cancelled by the client", float64(n.cancelled), "")
	table.Exactly(calls, "answered wrong", n.wrong, 0)
	whole := max(1, n.right+n.wrong+n.failed)
	table.Note(calls, "failed", float64(n.failed), "")
	table.AtMost(calls, "failed, in a thousand", 1000*float64(n.failed)/float64(whole), 1000*maxFailed, "")
	table.Within(calls, "longest call or connection", t.longest, callBound)
	table.Exactly(calls, "beyond that", n.late, 0)
	table.Note("connections", "made", float64(n.connections), "")
	table.Exactly("connections", "failed", n.refused, 0)
}

// writeFailures lists the failures, most frequent first.
func (t *tally) writeFailures(w io.Writer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	texts := make([]string, 0, len(t.failures))
	for text := range t.failures {
		texts = append(texts, text)
	}
	slices.SortFunc(texts, func(a, b string) int { return t.failures[b] - t.failures[a] })
	if len(texts) > 0 {
		fmt.Fprint(w, "\nFailures, digits replaced by N:\n\n")
	}
	for _, text := range texts {
		fmt.Fprintf(w, "%6d  %s\n", t.failures[text], text)
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
