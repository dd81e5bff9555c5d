package docs

import (
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

// isDecoration reports whether a paragraph is the first line of an admonition or a tab,
// or a template statement, and so does not describe the page.
func isDecoration(text string) bool {
	for _, mark := range []string{":::", "!!!", "???", "===", "{%", "[TOC]", "[[toc]]", "[[_TOC_]]"} {
		if strings.HasPrefix(text, mark) {
			return true
		}
	}
	return false
}
