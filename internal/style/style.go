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

// Pad returns text followed by spaces up to width columns.
func Pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-Width(text)))
}
