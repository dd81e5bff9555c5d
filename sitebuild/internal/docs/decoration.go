package docs

import (
	"html"
	"strings"

	"github.com/slipway-mcp/slipway/internal/lazyregexp"
)

// attributes matches a list after an element, such as {#id .class width=200}, as in
// kramdown, Pandoc and MkDocs extensions.
var attributes = lazyregexp.New(`^\{:?[ \t]*` + attribute + `(?:[ \t]+` + attribute + `)*[ \t]*\}`)

const attribute = `(?:[#.][\pL\pN_:.-]+|[\w:-]+=(?:"[^"\n{}]*"|'[^'\n{}]*'|[\w.%:/-]+))`

// maxAttributes bounds the length of such a list in bytes.
const maxAttributes = 300

// attributesAt returns the end of the attributes that begin at i in text[:end] and belong
// to the element before them: a link, an image, code, an icon, emphasis, or a heading if
// they end its line. line is the start of the line's text. It returns 0 for any other
// brace.
func attributesAt(text string, line, i, end int) int {
	rest := text[i:min(end, i+maxAttributes)]
	m := attributes().FindString(rest)
	if m == "" {
		return 0
	}
	after := i + len(m)
	if i > line && strings.IndexByte(")]`*_:", text[i-1]) >= 0 {
		return after
	}
	last := after
	for last < end && (text[last] == ' ' || text[last] == '\t') {
		last++
	}
	if text[line] == '#' && (last == end || text[last] == '\n') {
		return after
	}
	return 0
}

var (
	// icons are those of Material for MkDocs; their names are not part of the page's text.
	icons = lazyregexp.New(`:(?:material|fontawesome|octicons|simple)-[a-z0-9-]+:`)
	// keys are keyboard keys, as in ++ctrl+c++.
	keys = lazyregexp.New(`\+\+([a-z0-9-]+(?:\+[a-z0-9-]+)*)\+\+`)
	// templates are statements of Jinja and GitBook.
	templates = lazyregexp.New(`\{%-?[^{}\n]*%\}`)
	// expressions are those of Jinja and Vue, such as {{ config.site_name }}. Templates of Go
	// begin with a dot and are usually the subject of a page.
	expressions = lazyregexp.New(`\{\{-?[ \t]*[A-Za-z_][\w.]*(?:\([^(){}\n]*\))?[ \t]*-?\}\}`)
	// emoji are written by name, such as :rocket:, as words of their own.
	emoji = lazyregexp.New(`(^|\s):[a-z][a-z0-9_+-]*:(?:[ \t]|$)`)
	// inlineAttributes are attributes within a line.
	inlineAttributes = lazyregexp.New(`[ \t]*\{:?[ \t]*` + attribute + `(?:[ \t]+` + attribute + `)*[ \t]*\}`)
)

// undecorated returns a title, heading or paragraph as one line, without icons,
// attributes, template statements and template expressions.
func undecorated(text string) string {
	if !strings.ContainsAny(text, "{:+") {
		return text
	}
	text = templates().ReplaceAllString(text, "")
	text = expressions().ReplaceAllString(text, "")
	if !strings.Contains(text, "{{") { // whose inner brace is none of attributes
		text = inlineAttributes().ReplaceAllString(text, "")
	}
	text = icons().ReplaceAllString(text, "")
	text = emoji().ReplaceAllString(text, "$1")
	text = keys().ReplaceAllString(text, "$1")
	return strings.Join(strings.Fields(text), " ")
}

var (
	// inlineLinks are links and images within a text, and htmlMarks tags that only format it.
	inlineLinks = lazyregexp.New(`!?\[([^\[\]]*)\]\([^()\s]*(?:\s+"[^"]*")?\)`)
	htmlMarks   = lazyregexp.New(`</?(a|abbr|b|br|code|em|font|i|kbd|small|span|strong|sub|sup|u)(?:\s[^<>]*)?/?>`)
	// strong is bold text, and entities are those of HTML: "?a=1&region=eu" has none.
	strong   = lazyregexp.New(`\*\*([^\s*](?:[^*]*[^\s*])?)\*\*`)
	entities = lazyregexp.New(`&(?:#\d+|#[xX][0-9A-Fa-f]+|[A-Za-z][A-Za-z0-9]*);`)
)

// plainText returns a text of front matter as one line, without the markup of Markdown and HTML.
func plainText(text string) string {
	if !strings.ContainsAny(text, "[`*&<") {
		return closed(strings.Join(strings.Fields(text), " "))
	}
	text = inlineLinks().ReplaceAllString(text, "$1")
	parts := strings.Split(text, "`")
	for i, part := range parts {
		if i%2 == 0 || i == len(parts)-1 { // not in a code span
			parts[i] = unmarked(part, text)
		}
	}
	return closed(strings.Join(strings.Fields(strings.Join(parts, "")), " "))
}

// unmarked returns a part of a text without marks of HTML, bold text and entities. A tag without its
// end in the text is what the text is about, such as <b>.
func unmarked(part, text string) string {
	part = htmlMarks().ReplaceAllStringFunc(part, func(tag string) string {
		name := htmlMarks().FindStringSubmatch(tag)[1]
		if name == "br" || strings.Contains(text, "</"+name+">") {
			return " "
		}
		return tag
	})
	part = strong().ReplaceAllString(part, "$1")
	return entities().ReplaceAllStringFunc(part, html.UnescapeString)
}

// plainTitle returns a title of front matter as plain text, without an emoji at either end.
func plainTitle(text string) string { return withoutPictograms(undecorated(plainText(text))) }

// withoutPictograms returns a title without an emoji at either end.
func withoutPictograms(text string) string {
	bare := strings.TrimSpace(strings.TrimFunc(text, func(r rune) bool { return isPictogram(r) || r == ' ' }))
	if bare == "" {
		return text
	}
	return bare
}

// isPictogram reports whether r is an emoji or a part of one. Older symbols such as © and →
// are not.
func isPictogram(r rune) bool {
	const variation, joiner = '\ufe0f', '\u200d'
	return r == variation || r == joiner || r >= 0x2600 && r <= 0x27bf || r >= 0x2b00 && r <= 0x2bff ||
		r >= 0x1f000 && r <= 0x1faff
}

// isDecoration reports whether a paragraph is the first line of an admonition or a tab,
// or a template statement, and so does not describe the page.
func isDecoration(text string) bool {
	for _, mark := range []string{":::", "///", "!!!", "???", "===", "{%", "{{#", "|||", "[TOC]", "[[toc]]", "[[_TOC_]]"} {
		if strings.HasPrefix(text, mark) {
			return true
		}
	}
	return false
}
