package compose

import (
	"slices"
	"strings"
	"sync"

	"github.com/slipway-mcp/slipway/internal/uritemplate"
	"github.com/slipway-mcp/slipway/mcp"
)

// claims are the URIs that parts list, and those that their templates describe, all
// as the parts have them. It is safe for concurrent use once it is complete.
type claims struct {
	listed    map[string]claimants  // by URI
	templates map[string]claimants  // by URI template
	patterns  map[string][]*pattern // the templates, by the scheme of what they describe; "" if that is open
}

// claimants are the distinct parts that claim a URI, at least one, in their order.
type claimants []int

// pattern is a URI template of a part.
type pattern struct {
	part    int
	text    string
	literal string // with which everything begins that it describes
	parse   sync.Once
	parsed  *uritemplate.Template // nil if it is malformed
}

// maxMatching bounds the work of comparing URIs with templates, in bytes: for a
// catalog, and for a request. What is beyond it counts as shared.
const maxMatching = 8 << 20

// What comparisons cost, in bytes.
const (
	costOfPrefix = 16
	costOfMatch  = 64   // and the length of the URI
	costOfParse  = 4096 // of a template, once
)

// claimsOf returns the claims of parts.
func claimsOf(parts []*mcp.Catalog) *claims {
	c := &claims{
		listed:    make(map[string]claimants),
		templates: make(map[string]claimants),
		patterns:  make(map[string][]*pattern),
	}
	for i, cat := range parts {
		for j := range cat.Resources {
			claim(c.listed, cat.Resources[j].URI, i)
		}
		for j := range cat.Templates {
			text := cat.Templates[j].URITemplate
			if claim(c.templates, text, i) {
				p := &pattern{part: i, text: text, literal: literalOf(text)}
				scheme, _ := schemeOf(p.literal)
				c.patterns[scheme] = append(c.patterns[scheme], p)
			}
		}
	}
	return c
}

// claim notes that a part claims uri, and reports whether it had not before.
func claim(into map[string]claimants, uri string, part int) bool {
	known := into[uri]
	if slices.Contains(known, part) {
		return false
	}
	into[uri] = append(known, part)
	return true
}

// claimed says which parts claim a URI, and whether all templates were compared.
type claimed struct {
	by       claimants
	complete bool
}

// of returns the parts that claim a URI, by listing it or by a template that
// describes it. left is the work that may be done.
func (c *claims) of(uri string, left *int) claimed {
	parts := slices.Clip(c.listed[uri])
	scheme, ok := schemeOf(uri)
	buckets := [][]*pattern{c.patterns[""]}
	if ok {
		buckets = append(buckets, c.patterns[scheme])
	}
	for _, bucket := range buckets {
		for _, p := range bucket {
			if slices.Contains(parts, p.part) {
				continue
			}
			if *left -= costOfPrefix; *left < 0 {
				return claimed{by: parts}
			}
			if strings.HasPrefix(uri, p.literal) && p.describes(uri, left) {
				parts = append(parts, p.part)
			}
		}
	}
	slices.Sort(parts)
	return claimed{by: parts, complete: *left >= 0}
}

// describes reports whether a URI that begins with p.literal is one of p. A template
// that is malformed claims all that begin so.
func (p *pattern) describes(uri string, left *int) bool {
	*left -= costOfMatch + len(uri)
	p.parse.Do(func() {
		*left -= costOfParse
		p.parsed, _ = uritemplate.Parse(p.text)
	})
	if p.parsed == nil {
		return true
	}
	_, ok := p.parsed.Match(uri)
	return ok
}

// literalOf returns what all expansions of a template begin with, as far as it has
// no character that an expansion might write in another way.
func literalOf(template string) string {
	for i := range len(template) {
		b := template[i]
		if b == '{' || b == '%' || b <= ' ' || b >= 0x7f || strings.HasPrefix(template[i:], "/:") {
			return template[:i]
		}
	}
	return template
}

// schemeOf returns what is before the first colon, and "" and false without one.
func schemeOf(uri string) (scheme string, ok bool) {
	scheme, _, ok = strings.Cut(uri, ":")
	if !ok {
		return "", false
	}
	return scheme, true
}
