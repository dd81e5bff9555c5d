package check

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// WriteJSON writes the report as one JSON object on one line:
//
//	{"findings":[{"rule","severity","file","line","column","pointer","message","hint"}]}
//
// Every finding has all members. A member "omitted" follows only when findings
// were left out: their number.
func (r *Report) WriteJSON(w io.Writer) error {
	found := r.Findings()
	if found == nil {
		found = []Finding{}
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(struct {
		Findings []Finding `json:"findings"`
		Omitted  int       `json:"omitted,omitempty"`
	}{found, r.Omitted()})
}

// WriteText writes a line for each finding, and its hint on a line of its own.
// With color, severities are coloured for a terminal. Control characters of what
// is quoted from the checked thing are written as escapes.
func (r *Report) WriteText(w io.Writer, color bool) error {
	var b strings.Builder
	for _, f := range r.Findings() {
		line := printable(f.String())
		if color {
			word := f.Severity.String() + ": "
			line = strings.Replace(line, word, paint[f.Severity]+word+"\x1b[0m", 1)
		}
		b.WriteString(line)
		b.WriteByte('\n')
		if f.Hint != "" {
			fmt.Fprintf(&b, "  hint: %s\n", printable(f.Hint))
		}
	}
	if n := r.Omitted(); n > 0 {
		fmt.Fprintf(&b, "and %d more that are not shown\n", n)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

var paint = [...]string{Error: "\x1b[31m", Warning: "\x1b[33m", Note: "\x1b[36m"}

// Summary counts in words, as in "2 errors, 1 warning". Without findings it is
// "no findings".
func (r *Report) Summary() string {
	var parts []string
	for _, s := range []Severity{Error, Warning, Note} {
		switch n := r.counts[s]; n {
		case 0:
		case 1:
			parts = append(parts, "1 "+s.String())
		default:
			parts = append(parts, fmt.Sprintf("%d %ss", n, s))
		}
	}
	if parts == nil {
		return "no findings"
	}
	return strings.Join(parts, ", ")
}

// printable writes control characters as escapes: a name out of an archive must
// not move the cursor of a terminal.
func printable(s string) string {
	clean := func(r rune) bool { return r < ' ' || 0x7f <= r && r < 0xa0 }
	if !strings.ContainsFunc(s, clean) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if clean(r) {
			fmt.Fprintf(&b, `\x%02x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
