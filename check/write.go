package check

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/slipway-mcp/slipway/internal/style"
	"github.com/slipway-mcp/slipway/internal/visible"
)

// WriteJSON writes the report as one JSON object on one line:
//
//	{"findings":[{"rule","severity","file","line","column","pointer","message","hint"}]}
//
// Every finding has all members. A member "omitted" with the number of omitted findings
// follows only if there are any. C1 controls and bidirectional formatting characters are
// escaped, so the output is safe to show on a terminal.
func (r *Report) WriteJSON(w io.Writer) error {
	found := r.Findings()
	if found == nil {
		found = []Finding{}
	}
	enc := json.NewEncoder(visible.JSONWriter{To: w})
	enc.SetEscapeHTML(false)
	return enc.Encode(struct {
		Findings []Finding `json:"findings"`
		Omitted  int       `json:"omitted,omitempty"`
	}{found, r.Omitted()})
}

// WriteText writes one line per finding, followed by its hint on a line of its own. With
// color, severities are coloured for a terminal. Control and invisible characters quoted
// from the input are escaped.
func (r *Report) WriteText(w io.Writer, color bool) error {
	var b strings.Builder
	for _, f := range r.Findings() {
		line := visible.Line(f.String())
		if color {
			word := f.Severity.String() + ": "
			line = strings.Replace(line, word, paint[f.Severity].Paint(word), 1)
		}
		b.WriteString(line)
		b.WriteByte('\n')
		if f.Hint != "" {
			fmt.Fprintf(&b, "  %s %s\n", style.Hint.If(color).Paint("hint:"),
				visible.Line(f.Hint))
		}
	}
	if n := r.Omitted(); n > 0 {
		fmt.Fprintf(&b, "and %d more that are not shown\n", n)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

var paint = [...]style.Style{
	Error:   style.Error,
	Warning: style.Warning,
	Note:    style.Note,
}

// Summary returns the counts in words, such as "2 errors, 1 warning", or "no findings".
func (r *Report) Summary() string {
	var parts []string
	for _, s := range []Severity{Error, Warning, Note} {
		if n := r.counts[s]; n > 0 {
			parts = append(parts, Count(n, s.String()))
		}
	}
	if parts == nil {
		return "no findings"
	}
	return strings.Join(parts, ", ")
}

// Count returns a number with its noun, such as "1 error" or "2 errors".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
