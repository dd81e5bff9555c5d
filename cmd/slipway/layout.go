package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/slipway-mcp/slipway/internal/style"
	"github.com/slipway-mcp/slipway/internal/visible"
)

// layout writes the result of a command in lines that fit the terminal. It escapes what
// it is given.
type layout struct {
	// out has the lines until they are written to to, all at once.
	out     strings.Builder
	to      io.Writer
	width   int
	colored bool
}

// newLayout returns a layout for w; [layout.flush] writes it.
func newLayout(w io.Writer) *layout {
	return &layout{
		to:      w,
		width:   columns(w),
		colored: colored(w),
	}
}

// flush writes everything.
func (l *layout) flush() error {
	_, err := io.WriteString(unescaped(l.to), l.out.String())
	return err
}

// span is a part of a line with a meaning.
type span struct {
	style style.Style
	text  string
}

// plain returns a span without a style.
func plain(text string) span { return span{text: text} }

// named returns a span in the style of names.
func named(text string) span { return span{style.Name, text} }

// line writes the parts of a line, truncated to the width of the terminal.
func (l *layout) line(parts ...span) {
	left := l.width
	for i, p := range parts {
		text := visible.Line(p.text)
		if i == len(parts)-1 {
			text = strings.TrimRight(text, " ")
		}
		if l.width > 0 {
			text = style.Truncate(text, left)
			left -= style.Width(text)
		}
		l.out.WriteString(p.style.If(l.colored).Paint(text))
		if l.width > 0 && left <= 0 {
			break
		}
	}
	l.out.WriteByte('\n')
}

// maxColumn prevents one long name from pushing every description to the right.
const maxColumn = 48

// table writes a titled list of names with descriptions, of which it shows the first line.
// An empty list is omitted.
func (l *layout) table(title string, rows []row) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(&l.out, "\n%s (%d)\n", title, len(rows))
	width := 0
	for _, r := range rows {
		if n := style.Width(visible.Line(r.name)); n <= maxColumn {
			width = max(width, n)
		}
	}
	for _, r := range rows {
		about, _, _ := strings.Cut(strings.TrimSpace(r.about), "\n")
		about = strings.TrimSuffix(about, "\r")
		padded := style.Pad(visible.Line(r.name), width)
		if about == "" {
			padded = visible.Line(r.name)
		}
		l.line(plain("  "), named(padded), plain("  "+about))
	}
}

// grid writes cells in aligned columns, indented. The first row is the header. If the lines
// are wider than the terminal, columns named in shrink become narrower, in that order.
func (l *layout) grid(indent string, rows [][]string, shrink ...int) {
	widths := make([]int, len(rows[0]))
	for _, cells := range rows {
		for i, cell := range cells {
			cells[i] = visible.Line(cell)
			widths[i] = max(widths[i], style.Width(cells[i]))
		}
	}
	l.shrink(widths, style.Width(indent), shrink)
	for n, cells := range rows {
		parts := []span{plain(indent)}
		for i, cell := range cells {
			text := style.Pad(style.Truncate(cell, widths[i]), widths[i])
			if i < len(cells)-1 {
				text += "  "
			}
			switch {
			case n == 0:
				parts = append(parts, span{style.Faint, text})
			case i == 0:
				parts = append(parts, named(text))
			default:
				parts = append(parts, plain(text))
			}
		}
		l.line(parts...)
	}
}

// leastColumn is the width below which no column is narrowed.
const leastColumn = 8

// shrink narrows columns until the lines fit.
func (l *layout) shrink(widths []int, indent int, order []int) {
	if l.width == 0 {
		return
	}
	over := indent + 2*(len(widths)-1) - l.width
	for _, w := range widths {
		over += w
	}
	for _, i := range order {
		if over <= 0 {
			return
		}
		least := min(widths[i], leastColumn)
		by := min(over, widths[i]-least)
		widths[i] -= by
		over -= by
	}
}
