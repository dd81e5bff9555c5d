package mcpb

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/internal/tree"
	"github.com/slipway-mcp/slipway/internal/visible"
)

// checkVisible reports texts and names with invisible characters: people do not see them,
// but models read them.
func (d *document) checkVisible(n *tree.Node, at *tree.Path) {
	if n.Is(tree.String) {
		d.visible(n.Start, at, n.Text)
	}
	for i, item := range n.Items {
		d.checkVisible(item, at.Item(i))
	}
	for _, m := range n.Members {
		below := at.Member(m.Key)
		d.visible(m.KeyStart, below, m.Key)
		d.checkVisible(m.Value, below)
	}
}

// visible reports a text with invisible characters, up to three of them by name.
func (d *document) visible(offset int, at *tree.Path, text string) {
	var what []string
	for _, r := range hidden(text) {
		if len(what) == 3 {
			what = append(what, "and others")
			break
		}
		what = append(what, visible.Describe(r))
	}
	if what != nil {
		d.At(offset).Add(ruleInvisible, visible.Line(at.Pointer()), fmt.Sprintf("remove it: shown, the text is %s",
			shorten(visible.Lines(text))), "the text contains %s", strings.Join(what, ", "))
	}
}

// hidden is visible.Find without the joiners that scripts such as Persian and Hindi need
// between letters.
func hidden(text string) []rune {
	found := visible.Find(text)
	if !slices.ContainsFunc(found, isJoiner) {
		return found
	}
	var rest strings.Builder
	last := rune(0)
	for i, r := range text {
		next, _ := utf8.DecodeRuneInString(text[i+utf8.RuneLen(r):])
		if !isJoiner(r) || !joins(last) || !joins(next) {
			rest.WriteRune(r)
		}
		last = r
	}
	return visible.Find(rest.String())
}

// isJoiner reports whether r is ZERO WIDTH NON-JOINER or JOINER, which some scripts and emoji need.
func isJoiner(r rune) bool { return r == 0x200c || r == 0x200d }

// joins reports whether a character belongs to a script in which joiners change the form
// of letters.
func joins(r rune) bool {
	return unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi,
		unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam,
		unicode.Sinhala,
		unicode.Khmer,
		unicode.Myanmar, unicode.Mongolian)
}

// shorten quotes the start of a text.
func shorten(text string) string {
	const most = 60
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "..."
	}
	return `"` + text + `"`
}
