package figures_test

import (
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/bench/figures"
)

func TestTable(t *testing.T) {
	var tab figures.Table
	tab.Note("idle things", "heap each", 1234.5, "B")
	tab.AtMost("idle things", "RSS each", 600, 600, "B")
	if err := tab.Verdict(); err != nil {
		t.Errorf("Verdict with all bounds kept = %v", err)
	}
	tab.AtMost("idle things", "goroutines", 3, 2, "")
	tab.Exactly("the end", "lost", 0, 0)
	tab.Within("the end", "took", 3*time.Second, 2*time.Second)
	if err := tab.Verdict(); err == nil || !strings.HasPrefix(err.Error(), "2 ") {
		t.Errorf("Verdict = %v, want two bounds exceeded", err)
	}
	var b strings.Builder
	tab.Write(&b)
	want := `| what | figure | measured | bound | |
| --- | --- | ---: | ---: | --- |
| idle things | heap each | 1,234 B |  |  |
|  | RSS each | 600 B | ≤ 600 B | ok |
|  | goroutines | 3 | ≤ 2 | EXCEEDED |
| the end | lost | 0 | 0 | ok |
|  | took | 3.00 s | ≤ 2.00 s | EXCEEDED |
`
	if b.String() != want {
		t.Errorf("Write:\n%swant:\n%s", &b, want)
	}
	if new(figures.Table).Verdict() == nil {
		t.Error("an empty table passes")
	}
}

func TestQuantity(t *testing.T) {
	for v, want := range map[float64]string{
		0:       "0",
		999:     "999",
		12.34:   "12.3",
		1234567: "1,234,567",
		-634:    "-634",
		-1634:   "-1,634",
	} {
		if got := figures.Quantity(v, ""); got != want {
			t.Errorf("Quantity(%v) = %q, want %q", v, got, want)
		}
	}
}
