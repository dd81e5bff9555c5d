package webpage

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	// maxSpan is how many rows or columns one cell may span.
	maxSpan = 50
	// maxColumns is how many columns a table may have; others are written as lists.
	maxColumns = 40
)

// cell is a cell of a table.
type cell struct {
	// node is the element. A cell that spans others is in the table several times. head reports a
	// header cell.
	node *html.Node
	head bool
}

// table writes a table: as one of Markdown if its cells are lines, otherwise as a list of
// its rows. A table that only arranges its content is written as that content.
func (w *writer) table(n *html.Node) {
	rows, caption := tableRows(n)
	if len(rows) == 0 {
		return
	}
	w.flush()
	if caption != nil {
		w.add(bold(tidy(w.inlineOf(caption))))
	}
	columns := 0
	simple := true
	for _, row := range rows {
		columns = max(columns, len(row))
		for _, c := range row {
			simple = simple && !hasRichBlocks(c.node, 0)
		}
	}
	switch {
	case isLayout(n, columns):
		for _, row := range rows {
			for i, c := range row {
				if i == 0 || c.node != row[i-1].node {
					w.flush()
					w.note(c.node)
					w.blocks(c.node)
					w.flush()
				}
			}
		}
	case simple && columns <= maxColumns:
		w.add(w.grid(rows, columns))
	default:
		w.rowList(rows)
	}
}

// tableRows returns the rows of a table, with cells that span several columns or rows
// repeated, and its caption, or nil.
func tableRows(n *html.Node) (rows [][]cell, caption *html.Node) {
	type open struct {
		cell cell
		rows int
	}
	var below []open // by column
	var visit func(n *html.Node)
	visit = func(n *html.Node) {
		for c := range n.ChildNodes() {
			switch c.DataAtom {
			case atom.Thead, atom.Tbody, atom.Tfoot:
				if !isJunk(c) {
					visit(c)
				}
			case atom.Caption:
				caption = c
			case atom.Tr:
				if isJunk(c) {
					continue
				}
				var row []cell
				fill := func() {
					for len(row) < len(below) && below[len(row)].rows > 0 {
						below[len(row)].rows--
						row = append(row, below[len(row)].cell)
					}
				}
				for td := range c.ChildNodes() {
					if td.DataAtom != atom.Td && td.DataAtom != atom.Th || isJunk(td) {
						continue
					}
					fill()
					this := cell{td, td.DataAtom == atom.Th || n.DataAtom == atom.Thead}
					for range span(td, "colspan") {
						for len(below) <= len(row) {
							below = append(below, open{})
						}
						below[len(row)] = open{this, span(td, "rowspan") - 1}
						row = append(row, this)
					}
				}
				fill()
				if len(row) > 0 {
					rows = append(rows, row)
				}
			}
		}
	}
	visit(n)
	return rows, caption
}

// span returns how many columns or rows a cell spans.
func span(td *html.Node, name string) int {
	n, err := strconv.Atoi(attr(td, name))
	if err != nil || n < 1 {
		return 1
	}
	return min(n, maxSpan)
}

// isLayout reports whether a table only arranges its content: code with its line numbers, a
// single cell, or one that says so.
func isLayout(n *html.Node, columns int) bool {
	return columns == 1 && !hasHeads(n) || attr(n, "role") == "presentation" ||
		hasClass(n, "highlighttable", "mlabels", "simplelist", "rouge-table", "lntable")
}

// hasHeads reports whether a table has headers.
func hasHeads(n *html.Node) bool {
	for c := range n.Descendants() {
		if c.DataAtom == atom.Th {
			return true
		}
	}
	return false
}

// hasRichBlocks reports whether a cell has what a line cannot show.
func hasRichBlocks(n *html.Node, depth int) bool {
	if depth > maxDepth {
		return false
	}
	for c := range n.ChildNodes() {
		if c.Type != html.ElementNode || isJunk(c) {
			continue
		}
		switch c.DataAtom {
		case atom.Pre:
			if strings.Contains(strings.Trim(codeText(c), "\n"), "\n") {
				return true
			}
			continue
		case atom.Table, atom.Ol, atom.Dl, atom.Blockquote, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
			return true
		case atom.Ul:
			if len(plain(c)) > 300 {
				return true
			}
		}
		if hasRichBlocks(c, depth+1) {
			return true
		}
	}
	return false
}

// grid returns a table of Markdown. Without headers its first row is the header, as it has
// to have one.
func (w *writer) grid(rows [][]cell, columns int) string {
	var b strings.Builder
	for i, row := range rows {
		b.WriteByte('|')
		for column := range columns {
			text := ""
			if column < len(row) &&
				(column == 0 || row[column].node != row[column-1].node) {
				text = w.cellLine(row[column].node)
			}
			b.WriteString(" " + text + " |")
		}
		b.WriteByte('\n')
		if i == 0 {
			b.WriteString("|" + strings.Repeat(" --- |", columns) + "\n")
		}
	}
	return b.String()
}

// cellLine returns a cell on one line.
func (w *writer) cellLine(n *html.Node) string {
	text := w.inside(func() {
		w.note(n)
		w.blocks(n)
	})
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSuffix(strings.TrimSpace(line), "\\")
		if line != "" && !strings.HasPrefix(line, "```") {
			lines = append(lines, line)
		} else if strings.HasPrefix(line, "```") {
			lines = append(lines, "")
		}
	}
	// A line of code in a cell is code within the line.
	for i := range lines {
		if i > 0 &&
			i+1 < len(lines) &&
			lines[i-1] == "" &&
			lines[i+1] == "" {
			lines[i] = "`" + strings.ReplaceAll(lines[i], "`", "'") + "`"
		}
	}
	kept := lines[:0]
	for _, line := range lines {
		if line != "" {
			kept = append(kept, line)
		}
	}
	return strings.ReplaceAll(strings.Join(kept, "<br>"), "|", "\\|")
}

// rowList writes the rows of a table as a list; each cell has the header of its column.
func (w *writer) rowList(rows [][]cell) {
	var heads []string
	allHeads := true
	for _, c := range rows[0] {
		allHeads = allHeads && c.head
	}
	if allHeads && len(rows) > 1 {
		for _, c := range rows[0] {
			heads = append(heads, tidy(w.inlineOf(c.node)))
		}
		rows = rows[1:]
	}
	var items []string
	for _, row := range rows {
		text := w.inside(func() {
			for i, c := range row {
				if i > 0 && c.node == row[i-1].node {
					continue
				}
				w.flush()
				w.note(c.node)
				if i < len(heads) && heads[i] != "" {
					w.line.WriteString(bold(heads[i]) + ": ")
				}
				w.blocks(c.node)
				w.flush()
			}
		})
		if text != "" {
			items = append(items, w.item("- ", text))
		}
	}
	w.add(strings.Join(items, "\n\n"))
}
