package docs

import "strings"

// attributes are a list behind an element, such as {#id .class width=200}, of
// kramdown, Pandoc and the extensions of MkDocs.
var attributes = lazily(`^\{:?[ \t]*` + attribute + `(?:[ \t]+` + attribute + `)*[ \t]*\}`)

const attribute = `(?:[#.][\pL\pN_:.-]+|[\w:-]+=(?:"[^"\n{}]*"|'[^'\n{}]*'|[\w.%:/-]+))`

// maxAttributes bounds such a list.
const maxAttributes = 300

// attributesAt returns the end of the attributes that begin at i in text[:end], and
// belong to what is before them: a link, an image, code, an icon, emphasis, or a
// heading, on whose line they are the last. line is where the text of the line
// begins. It returns 0 for any other brace.
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
	// icons are those of Material for MkDocs, whose names are no words of the page.
	icons = lazily(`:(?:material|fontawesome|octicons|simple)-[a-z0-9-]+:`)
	// keys are keys of the keyboard, as in ++ctrl+c++.
	keys = lazily(`\+\+([a-z0-9-]+(?:\+[a-z0-9-]+)*)\+\+`)
	// templates are statements of Jinja, and those of GitBook.
	templates = lazily(`\{%-?[^{}\n]*%\}`)
	// inlineAttributes are attributes within a line.
	inlineAttributes = lazily(`[ \t]*\{:?[ \t]*` + attribute + `(?:[ \t]+` + attribute + `)*[ \t]*\}`)
)

// undecorated returns a paragraph for a description, on one line: without icons,
// attributes and statements of templates.
func undecorated(text string) string {
	if !strings.ContainsAny(text, "{:+") {
		return text
	}
	text = templates().ReplaceAllString(text, "")
	text = inlineAttributes().ReplaceAllString(text, "")
	text = icons().ReplaceAllString(text, "")
	text = keys().ReplaceAllString(text, "$1")
	return strings.Join(strings.Fields(text), " ")
}

// isDecoration reports whether a paragraph is the first line of an admonition, a
// tab or a statement of a template, and says nothing of the page.
func isDecoration(text string) bool {
	for _, mark := range []string{":::", "!!!", "???", "===", "{%", "[TOC]", "[[toc]]", "[[_TOC_]]"} {
		if strings.HasPrefix(text, mark) {
			return true
		}
	}
	return false
}
