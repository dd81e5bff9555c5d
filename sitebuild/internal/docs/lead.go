package docs

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"

	"github.com/slipway-mcp/slipway/internal/lazyregexp"
)

// lead is the text of a page from which its description is taken: a paragraph that says what
// the page is about. Each field is the first such text of its kind, the best kind first.
type lead struct {
	// paragraph is one of the page itself, nested one in a list or a quote, and aside one in an
	// admonition.
	paragraph, nested, aside string
	// intro is a paragraph that only announces what follows it, such as "It has the following:",
	// and short one of a word or two, or with hardly any others outside of its links.
	intro, short string
	// open is true between the marks of an admonition.
	open bool
}

// text returns the best text, or "".
func (l *lead) text() string {
	for _, text := range []string{l.paragraph, l.nested, l.aside, l.intro, l.short} {
		if text != "" {
			return text
		}
	}
	return ""
}

// wants reports whether a block of a kind can still change the result.
func (l *lead) wants(kind ast.NodeKind) bool {
	switch {
	case l.paragraph != "":
		return false
	case kind == ast.KindTextBlock: // in a list
		return l.nested == "" || l.open
	}
	return kind == ast.KindParagraph
}

// add offers a paragraph with its text on one line. outside is the text outside of its links.
func (l *lead) add(p ast.Node, text, outside string) {
	own := len(words(outside))
	if outside == text && own > 1 && strings.HasSuffix(text, ".") {
		own = minOutside
	}
	if l.marks(p, text) || own == 0 {
		return
	}
	text = closed(undecorated(text))
	if !describes(text) {
		return
	}
	kind := &l.paragraph
	switch {
	case p.Parent().Kind() != ast.KindDocument:
		if !isSentence(text) {
			return
		}
		kind = &l.nested
	case own < minOutside:
		kind = &l.short
	case l.open:
		kind = &l.aside
	case dangles(text):
		kind = &l.intro
		if i := strings.LastIndexAny(text, ",;"); i >= minOpening && dangles(text[i+1:]) {
			kind = &l.paragraph
			text = text[:i] + "."
		}
	}
	if *kind == "" {
		*kind = text
	}
}

// marks reports whether a paragraph is the first or the last line of an admonition or tab, or
// a template statement, and notes which.
func (l *lead) marks(p ast.Node, text string) bool {
	if p.Parent().Kind() != ast.KindDocument {
		if l.open && (strings.HasSuffix(text, ":::") || strings.HasSuffix(text, "///")) {
			l.open = false // after a list without an empty line, the mark belongs to its last item
			return true
		}
		return isDecoration(text)
	}
	for _, fence := range []string{":::", "///"} {
		rest, found := strings.CutPrefix(text, fence)
		if found {
			l.open = strings.Trim(rest, ":/") != "" && !strings.HasSuffix(rest, fence)
			return true
		}
		if l.open && strings.HasSuffix(text, fence) {
			l.open = false
			return true
		}
	}
	return isDecoration(text)
}

var (
	// labels begin a paragraph that says something about the page's subject, but not what it
	// is, such as the place of its source code.
	labels = lazyregexp.New(`^(?i:source code|availability|documentation|repository|authors?|date|status|` +
		`last (?:updated|modified|changed)|return value|import path|package|license|version):|^See also\b`)
	// asides are paragraphs about the page or its place.
	asides = lazyregexp.New(`^(?i:(?:table of )?contents|on this page|in this article|` +
		`edit (?:this page|on github)[^.]{0,40}|part of the [^.]{0,40})\.?$`)
	// changes say since when there is something.
	changes = lazyregexp.New(`^(?i:(?:new|added|changed|deprecated|removed) (?:in|since)(?: version)? ` +
		`v?\d[\w.]*(?:[.:]|$))`)
	// modules are statements of JavaScript.
	modules = lazyregexp.New(`^(?:import|export)\s.*["'][^"']+["'];?$`)
	// crumbs are the names of the pages above one: Home > Guides > Install.
	crumbs = lazyregexp.New(`^[^.!?]{1,40}(?: [>»›/→] [^.!?]{1,40})+$`)
)

// minOutside is how many words a paragraph must have outside of its links: badges, breadcrumbs
// and labels have fewer.
const minOutside = 3

// gaps are spaces before punctuation, where a tag was removed.
var gaps = lazyregexp.New(` +([.,;:!?](?:\s|$))`)

// closed returns a text without spaces before its punctuation.
func closed(text string) string {
	if !strings.Contains(text, " ") {
		return text
	}
	return gaps().ReplaceAllString(text, "$1")
}

// What matches labels is shorter than maxLabel, and what matches asides is not longer than maxAside:
// to search in a long text takes a while.
const (
	maxLabel = 40
	maxAside = 60 * utf8.UTFMax
)

// describes reports whether a paragraph may say what a page is about: it is no label,
// breadcrumbs or code.
func describes(text string) bool {
	return len(words(text)) > 0 && !labels().MatchString(clip(text, maxLabel)) &&
		!(len(text) <= maxAside && asides().MatchString(text)) &&
		!(strings.ContainsAny(text[:1], "AaCcDdNnRr") && changes().MatchString(text)) &&
		!((strings.HasPrefix(text, "import") || strings.HasPrefix(text, "export")) && modules().MatchString(text)) &&
		!(strings.ContainsAny(text, ">»›/→") && crumbs().MatchString(text))
}

// words returns the parts of a text that have a letter or digit.
func words(text string) []string {
	var list []string
	for _, word := range strings.Fields(text) {
		if strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			list = append(list, word)
		}
	}
	return list
}

// isSentence reports whether a text in a list is long enough to describe the page, and ends.
func isSentence(text string) bool {
	const enough = 5
	return len(words(text)) >= enough && ends(text)
}

// ends reports whether a text ends like a sentence.
func ends(text string) bool {
	return text != "" && strings.IndexByte(".!?", text[len(text)-1]) >= 0
}

// announcing are last words that mean nothing without what follows them.
var announcing = []string{
	"following", "follows", "like", "as", "these", "those", "are", "is", "with", "to", "using", "of", "and", "or",
	"include", "includes", "including", "are:", "by", "for", "from", "in", "at", "the", "a", "example", "e.g", "i.e",
}

// dangles reports whether a text only announces what follows.
func dangles(text string) bool {
	bare, found := strings.CutSuffix(strings.TrimSpace(text), ":")
	if !found || sentenceEnd(bare) >= minOpening {
		return false
	}
	last := strings.ToLower(bare[strings.LastIndexByte(bare, ' ')+1:])
	for _, word := range announcing {
		if last == word {
			return true
		}
	}
	return false
}
