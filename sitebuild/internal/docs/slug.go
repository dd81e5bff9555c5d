package docs

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/slipway-mcp/slipway/internal/nearest"
)

// slugger names the headings of a page.
type slugger struct {
	style headingStyle
	// separator is between words, for a style that has a choice.
	separator string
	// taken are the slugs in use on the page; next avoids trying the same numbers again.
	taken map[string]bool
	next  map[string]int
}

// newSlugger returns a slugger for the headings of one page.
func newSlugger(s headingSettings) *slugger {
	return &slugger{
		style:     s.style(),
		separator: s.separator,
		taken:     make(map[string]bool),
		next:      make(map[string]int),
	}
}

// slug returns an unused name for a heading.
func (s *slugger) slug(h *heading) string {
	text := h.name
	if s.style.written {
		text = h.source
	}
	base := s.style.slug(text, s.separator)
	if base == "" {
		base = s.style.empty
	}
	slug := base
	for s.taken[slug] || slug == "" {
		stem, from := base, 1
		if s.style.counts {
			stem, from = numberedSlug(base)
		}
		n := max(from, s.next[base])
		s.next[base] = n + 1
		slug = stem + s.style.joint + strconv.Itoa(n)
	}
	s.taken[slug] = true
	return slug
}

// numberedSlug returns a slug without a number at its end, and the next number.
func numberedSlug(slug string) (stem string, next int) {
	at := strings.LastIndexByte(slug, '_')
	if at < 0 {
		return slug, 1
	}
	digits := slug[at+1:]
	n, err := strconv.Atoi(digits)
	if err != nil || strings.Trim(digits, "0123456789") != "" || len(digits) > 9 {
		return slug, 1
	}
	return slug[:at], n + 1
}

// take reserves an id that the author wrote, and reports whether it was free.
func (s *slugger) take(id string) bool {
	free := !s.taken[id]
	s.taken[id] = true
	return free
}

// slugOf returns the slug of a heading as GitHub builds it, which need not be unique: lower case,
// spaces as "-", and without punctuation.
func slugOf(heading string) string { return casedSlug(toLower(heading), "") }

// casedSlug is slugOf that keeps capital letters.
func casedSlug(heading, _ string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc,
			unicode.Other_Alphabetic):
			return r
		}
		return -1
	}, strings.TrimSpace(heading))
}

// toLower is [strings.ToLower] with the two rules of Unicode for letters in their context, which other
// languages follow: a Greek sigma at the end of a word, and a Turkish capital I with a dot.
func toLower(text string) string {
	if !strings.ContainsAny(text, "\u0130\u03a3") {
		return strings.ToLower(text)
	}
	var b strings.Builder
	word := false // the last letter belongs to a word
	for i, r := range text {
		switch r {
		case '\u0130':
			b.WriteString("i\u0307")
		case '\u03a3':
			if word && !startsWithLetter(text[i+len("\u03a3"):]) {
				r = '\u03c2'
			}
			b.WriteRune(unicode.ToLower(r))
		default:
			b.WriteRune(unicode.ToLower(r))
		}
		if !unicode.Is(unicode.Mn, r) {
			word = unicode.IsLetter(r)
		}
	}
	return b.String()
}

// startsWithLetter reports whether the first character that is not an accent is a letter.
func startsWithLetter(text string) bool {
	for _, r := range text {
		if !unicode.Is(unicode.Mn, r) {
			return unicode.IsLetter(r)
		}
	}
	return false
}

// looseSlug reduces a slug to what the slugs of different programs have in common.
func looseSlug(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

// nearSlug returns a hint with the heading that was probably meant.
func nearSlug(p *Page, fragment string) string {
	var slugs []string
	for _, s := range p.Sections {
		if s.Slug != "" {
			slugs = append(slugs, s.Slug)
		}
	}
	if near := nearest.DidYouMean(fragment, slugs); near != "" {
		return "did you mean #" + near + "?"
	}
	return ""
}
