package figures

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// Table contains measurements and whether they are within their bounds. The zero value is
// an empty table.
type Table struct {
	// exceeded is the number of rows whose verdict is EXCEEDED.
	rows     []Row
	exceeded int
}

// Row is one figure. Verdict is empty if it has no bound, or else "ok" or "EXCEEDED".
type Row struct{ What, Figure, Value, Bound, Verdict string }

// Rows returns all figures in the order in which they were added.
func (t *Table) Rows() []Row { return t.rows }

// Note adds a figure without a bound.
func (t *Table) Note(what, figure string, value float64, unit string) {
	t.Add(what, figure, Quantity(value, unit))
}

// Add adds a formatted figure without a bound.
func (t *Table) Add(what, figure, value string) {
	t.rows = append(t.rows, Row{what, figure, value, "", ""})
}

// AtMost adds a figure that must not exceed its bound.
func (t *Table) AtMost(what, figure string, value, bound float64, unit string) {
	t.Judge(what, figure, Quantity(value, unit), "≤ "+Quantity(bound, unit),
		value <= bound)
}

// Exactly adds a number that must equal want.
func (t *Table) Exactly(what, figure string, value, want int) {
	t.Judge(what, figure, Quantity(float64(value), ""),
		Quantity(float64(want), ""), value == want)
}

// Within adds a time that must not exceed its bound.
func (t *Table) Within(what, figure string, took, bound time.Duration) {
	t.Judge(what, figure, Seconds(took), "≤ "+Seconds(bound), took <= bound)
}

// Judge adds a formatted figure, and whether it is within its bound.
func (t *Table) Judge(what, figure, value, bound string, ok bool) {
	verdict := "ok"
	if !ok {
		verdict = "EXCEEDED"
		t.exceeded++
	}
	t.rows = append(t.rows, Row{what, figure, value, bound, verdict})
}

// Verdict returns an error if a bound was exceeded or the table is empty.
func (t *Table) Verdict() error {
	if t.exceeded > 0 {
		return fmt.Errorf("%d of the bounds exceeded", t.exceeded)
	}
	if len(t.rows) == 0 {
		return errors.New("nothing was measured")
	}
	return nil
}

// Write prints the table as Markdown.
func (t *Table) Write(w io.Writer) {
	var b strings.Builder
	b.WriteString("| what | figure | measured | bound | |\n| --- | --- | ---: | ---: | --- |\n")
	last := ""
	for _, r := range t.rows {
		what := r.What
		if what == last {
			what = ""
		}
		last = r.What
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", what, r.Figure, r.Value,
			r.Bound, r.Verdict)
	}
	_, _ = io.WriteString(w, b.String())
}

// Quantity formats whole numbers with commas, and numbers below 100 with one decimal if
// they have a fraction.
func Quantity(v float64, unit string) string {
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

// Seconds formats a duration in seconds, or in milliseconds below one second.
func Seconds(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%.1f ms", 1e3*d.Seconds())
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}

// KiB formats a number of bytes in KiB.
func KiB(bytes int64) string { return Quantity(float64(bytes/1024), "KiB") }
