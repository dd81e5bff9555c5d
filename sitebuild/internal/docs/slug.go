package docs

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/slipway-mcp/slipway/internal/nearest"
)

// slugger names the headings of a page as GitHub does: lower case, spaces as "-", other
// punctuation dropped, and a number appended to repeated names.
type slugger struct {
	// taken are the slugs in use on the page; next avoids trying the same numbers again.
	taken map[string]bool
	next  map[string]int
}

// newSlugger returns a slugger for the headings of one page.
func newSlugger() *slugger {
	return &slugger{
		taken: make(map[string]bool),
		next:  make(map[string]int),
	}
}

// slug returns an unused name for a heading.
func (s *slugger) slug(heading string) string {
	base := slugOf(heading)
	if base == "" {
		base = "section"
	}
	slug := base
	for s.taken[slug] {
		s.next[base]++
		slug = base + "-" + strconv.Itoa(s.next[base])
	}
	s.taken[slug] = true
	return slug
}

// take reserves an id that the author wrote, and reports whether it was free.
func (s *slugger) take(id string) bool {
	free := !s.taken[id]
	s.taken[id] = true
	return free
}

// slugOf returns the slug of a heading as GitHub builds it, which need not be unique.
func slugOf(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' ||
			unicode.In(r, unicode.L, unicode.N, unicode.M, unicode.Pc):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(heading))
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
