// Package style knows how text looks on a terminal: the colors of its parts, and how many
// columns it takes.
//
//	fmt.Fprintln(w, style.Error.Paint("error:"), style.Truncate(message, 60))
//
// Callers decide whether the output may be colored; this package only knows the sequences.
package style

import (
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// Style is the meaning of a part of the output. The zero value is plain text.
type Style string

// The styles. Each is the parameter of an SGR control sequence of the 16 colors that every
// terminal theme defines.
const (
	Error   Style = "31"
	Warning Style = "33"
	Note    Style = "36"
	Success Style = "32"
	Hint    Style = "36"
	Name    Style = "1"
	Faint   Style = "2"
	Added   Style = "32"
	Removed Style = "31"
)

// Paint returns text in the style. The text must not contain control characters.
func (s Style) Paint(text string) string {
	if s == "" || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// If returns s, or plain text if the output is not colored.
func (s Style) If(colored bool) Style {
	if colored {
		return s
	}
	return ""
}

// Width returns the number of columns of a line without control characters: wide East
// Asian characters and emoji take two, combining marks none.
func Width(text string) int { return displaywidth.String(text) }

// Truncate returns text in at most width columns. A shortened text ends with an ellipsis; a
// character and its combining marks are kept together. A width of 0 means no limit.
func Truncate(text string, width int) string {
	if width <= 0 {
		return text
	}
	return displaywidth.TruncateString(text, width, "…")
}

// Wrap breaks each line of text at spaces to at most width columns. Lines after a break begin
// with indent. A word that is wider, such as a URL, stays whole, so that it can be copied.
// Colors take no columns. A width of 0 means no limit.
func Wrap(text string, width int, indent string) string {
	if width <= 0 {
		return text
	}
	var b strings.Builder
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		wrapLine(&b, line, width, indent)
	}
	return b.String()
}

func wrapLine(b *strings.Builder, line string, width int, indent string) {
	if visibleWidth(line) <= width {
		b.WriteString(line)
		return
	}
	column := 0
	for i, word := range strings.Split(line, " ") {
		n := visibleWidth(word)
		switch {
		case i == 0:
		case column+1+n > width && column > Width(indent):
			b.WriteString("\n" + indent)
			column = Width(indent)
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
}

// visibleWidth is [Width] of text that may have been painted.
func visibleWidth(text string) int {
	for {
		before, rest, found := strings.Cut(text, "\x1b[")
		_, after, ends := strings.Cut(rest, "m")
		if !found || !ends {
			return Width(text)
		}
		text = before + after
	}
}

// Pad returns text followed by spaces up to width columns.
func Pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-Width(text)))
}
