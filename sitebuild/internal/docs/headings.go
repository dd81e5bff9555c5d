package docs

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/slipway-mcp/slipway/internal/lazyregexp"
)

// headingSettings chooses how the headings of a page are named.
type headingSettings struct {
	// name is that of a style, or of a system that has one; others are named as on GitHub.
	name string
	// separator is between the words of an id in MkDocs.
	separator string
}

// headingStyle is how a documentation system makes the ids of headings.
type headingStyle struct {
	// slug makes an id, which need not be unique, of the text of a heading.
	slug func(text, separator string) string
	// empty is the id of a heading without any letters.
	empty string
	// joint precedes the number of a repeated id. If counts is true, an id that ends in a number gets
	// the next one.
	joint  string
	counts bool
	// written is true if ids are made of the line as it is in the file, with its markup.
	written bool
}

// headingStyles are those of systems, and those that their configuration chooses.
var headingStyles = map[string]headingStyle{
	"":                     {slug: githubSlug, empty: "section", joint: "-"},
	"docusaurus-cased":     {slug: casedSlug, empty: "section", joint: "-"},
	"hugo":                 {slug: hugoSlug, empty: "heading", joint: "-", written: true},
	"hugo-ascii":           {slug: hugoASCIISlug, empty: "heading", joint: "-", written: true},
	"mdbook":               {slug: mdbookSlug, empty: "section", joint: "-"},
	"mkdocs":               {slug: asciiSlug, joint: "_", counts: true},
	"mkdocs-unicode":       {slug: unicodeSlug, joint: "_", counts: true},
	"pymdownx-fold":        {slug: pymdownxFoldSlug, joint: "_", counts: true},
	"pymdownx-none":        {slug: pymdownxSlug, joint: "_", counts: true},
	"pymdownx-lower":       {slug: pymdownxLowerSlug, joint: "_", counts: true},
	"pymdownx-lower-ascii": {slug: pymdownxASCIISlug, joint: "_", counts: true},
	"vitepress":            {slug: vitepressSlug, empty: "section", joint: "-"},
}

// style returns the style with that name, or that of GitHub.
func (h headingSettings) style() headingStyle {
	if style, ok := headingStyles[h.name]; ok {
		return style
	}
	return headingStyles[""]
}

// githubSlug is slugOf as a style has it. Docusaurus uses the same rules.
func githubSlug(text, _ string) string { return slugOf(text) }

// onlyASCII is a mapping for [strings.Map].
func onlyASCII(r rune) rune {
	if r > unicode.MaxASCII {
		return -1
	}
	return r
}

// lowerASCII is a mapping for [strings.Map].
func lowerASCII(r rune) rune {
	if 'A' <= r && r <= 'Z' {
		return r + 'a' - 'A'
	}
	return r
}

// withoutAccents removes accents from letters.
func withoutAccents(text string) string {
	return norm.NFC.String(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(text)))
}

// asciiSlug is slugify of Python-Markdown's extension toc.
func asciiSlug(text, separator string) string {
	return unicodeSlug(strings.Map(onlyASCII, norm.NFKD.String(text)), separator)
}

// unicodeSlug is slugify_unicode of Python-Markdown's extension toc.
func unicodeSlug(text, separator string) string {
	text = strings.Map(func(r rune) rune {
		if isPythonWord(r) || unicode.IsSpace(r) || r == '-' {
			return r
		}
		return -1
	}, text)
	return joinedRuns(toLower(strings.TrimSpace(text)), separator)
}

// joinedRuns replaces each run of spaces and separators by one separator.
func joinedRuns(text, separator string) string {
	var b strings.Builder
	run := false
	for _, r := range text {
		if unicode.IsSpace(r) || strings.ContainsRune(separator, r) {
			if !run {
				b.WriteString(separator)
			}
			run = true
			continue
		}
		run = false
		b.WriteRune(r)
	}
	return b.String()
}

// isPythonWord reports whether \w of Python matches a character.
func isPythonWord(r rune) bool { return r == '_' || unicode.In(r, unicode.L, unicode.N) }

// pymdownxSlug is pymdownx.slugs.slugify with its defaults.
func pymdownxSlug(text, separator string) string {
	var b strings.Builder
	for _, r := range strings.TrimSpace(norm.NFC.String(text)) {
		switch {
		case r == ' ':
			b.WriteString(separator)
		case r == '-' || isPythonWord(r):
			b.WriteRune(r)
		}
	}
	return b.String()
}

// pymdownxLowerSlug is pymdownxSlug with case: lower.
func pymdownxLowerSlug(text, separator string) string {
	return pymdownxSlug(toLower(norm.NFC.String(text)), separator)
}

// pymdownxFoldSlug is pymdownxSlug with case: fold.
func pymdownxFoldSlug(text, separator string) string {
	return pymdownxSlug(folded.Replace(strings.ToLower(norm.NFC.String(text))), separator)
}

// folded replaces the letters of words that Unicode folds, beside capital ones.
var folded = strings.NewReplacer("ß", "ss", "ς", "σ", "ﬁ", "fi", "ﬂ", "fl")

// pymdownxASCIISlug is pymdownxSlug with case: lower-ascii.
func pymdownxASCIISlug(text, separator string) string {
	return strings.Map(lowerASCII, pymdownxSlug(text, separator))
}

// vitepressMarks matches what VitePress replaces by "-".
var vitepressMarks = lazyregexp.New("[\\s\\x{a0}\\x{feff}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}" +
	"\\x{205f}\\x{3000}\\v~`!@#$%^&*()\\-_+=\\[\\]{}|\\\\;:\"'“”‘’<>,.?/]+")

// pictogram matches a name between colons, which VitePress replaces by a pictogram.
var pictogram = lazyregexp.New(`:[a-z0-9_+-]+:`)

// vitepressSlug is slugify of VitePress, with the decomposed characters that it leaves.
func vitepressSlug(text, _ string) string {
	text = strings.Map(func(r rune) rune {
		if 0x300 <= r && r <= 0x36f || r < ' ' {
			return -1
		}
		return r
	}, norm.NFKD.String(pictogram().ReplaceAllString(text, "")))
	text = strings.Trim(vitepressMarks().ReplaceAllString(text, "-"), "-")
	if text != "" && '0' <= text[0] && text[0] <= '9' {
		text = "_" + text
	}
	return toLower(text)
}

// mdbookSlug makes ids as mdBook does.
func mdbookSlug(text, _ string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '_' || r == '-' || unicode.In(r, unicode.L, unicode.N, unicode.Other_Alphabetic):
			return r
		case unicode.IsSpace(r):
			return '-'
		}
		return -1
	}, toLower(strings.TrimSpace(text)))
}

// hugoSlug makes ids as Hugo does by default.
func hugoSlug(text, _ string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '-' || r == ' ':
			return '-'
		case r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(text))
}

// hugoASCIISlug makes ids as Hugo does with autoHeadingIDType github-ascii.
func hugoASCIISlug(text, _ string) string {
	return strings.Map(onlyASCII, hugoSlug(withoutAccents(text), ""))
}
