package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// table holds what was measured and whether it is within its bounds.
type table struct {
	rows     []row
	exceeded int
}

type row struct{ what, figure, value, bound, verdict string }

// note adds a figure that has no bound.
func (t *table) note(what, figure string, value float64, unit string) {
	t.add(what, figure, quantity(value, unit))
}

func (t *table) add(what, figure, value string) {
	t.rows = append(t.rows, row{what, figure, value, "", ""})
}

// atMost adds a figure that must not exceed its bound.
func (t *table) atMost(what, figure string, value, bound float64, unit string) {
	t.judge(what, figure, quantity(value, unit), "≤ "+quantity(bound, unit), value <= bound)
}

// exactly adds a number that must be just that.
func (t *table) exactly(what, figure string, value, want int) {
	t.judge(what, figure, quantity(float64(value), ""), quantity(float64(want), ""), value == want)
}

// within adds a time that must not exceed its bound.
func (t *table) within(what, figure string, took, bound time.Duration) {
	t.judge(what, figure, seconds(took), "≤ "+seconds(bound), took <= bound)
}

func (t *table) judge(what, figure, value, bound string, ok bool) {
	verdict := "ok"
	if !ok {
		verdict = "EXCEEDED"
		t.exceeded++
	}
	t.rows = append(t.rows, row{what, figure, value, bound, verdict})
}

// verdict is an error if a bound was exceeded.
func (t *table) verdict() error {
	if t.exceeded > 0 {
		return fmt.Errorf("%d of the bounds exceeded", t.exceeded)
	}
	if len(t.rows) == 0 {
		return errors.New("nothing was measured")
	}
	return nil
}

// write prints the table as Markdown.
func (t *table) write(w io.Writer) {
	var b strings.Builder
	b.WriteString("| what | figure | measured | bound | |\n| --- | --- | ---: | ---: | --- |\n")
	last := ""
	for _, r := range t.rows {
		what := r.what
		if what == last {
			what = ""
		}
		last = r.what
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", what, r.figure, r.value, r.bound, r.verdict)
	}
	_, _ = io.WriteString(w, b.String())
}

// quantity writes whole numbers with commas, and small ones with their fractions.
func quantity(v float64, unit string) string {
	text := fmt.Sprintf("%.0f", v)
	if v != float64(int64(v)) && v < 100 {
		text = fmt.Sprintf("%.1f", v)
	}
	whole, fraction, _ := strings.Cut(text, ".")
	for i := len(whole) - 3; i > 0 && whole[i-1] != '-'; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if fraction != "" {
		whole += "." + fraction
	}
	if unit != "" {
		whole += " " + unit
	}
	return whole
}

func seconds(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%.1f ms", 1e3*d.Seconds())
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}

func kib(bytes int64) string { return quantity(float64(bytes/1024), "KiB") }
