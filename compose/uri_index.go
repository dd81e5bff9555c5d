package compose

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/internal/uritemplate"
	"github.com/slipway-mcp/slipway/mcp"
)

// uriIndex holds the URIs listed by the parts and the URI templates they offer, all in the
// parts' own spelling. It is safe for concurrent use once built.
type uriIndex struct {
	listed    map[string]partSet    // by URI
	templates map[string]partSet    // by URI template
	patterns  map[string][]*pattern // templates by the literal scheme of their URIs; "" if the scheme is variable
}

// partSet are the distinct parts that claim a URI, at least one, in union order.
type partSet []int

// pattern is a URI template of a part.
type pattern struct {
	// part is the index of the source that has the template, and text the template.
	part    int
	text    string
	literal string // prefix shared by every URI the template describes
	parse   sync.Once
	parsed  *uritemplate.Template // nil if it is malformed
}

// maxMatching bounds the work of matching URIs against templates, in bytes, per catalog
// and per request, and per second for the notifications of a part. URIs left over when the budget
// runs out count as shared.
const maxMatching = 8 << 20

// workBudget is the budget of a part for the URIs that it reports as changed. It is full at first, and
// is refilled with maxMatching per second.
type workBudget struct {
	mu    sync.Mutex
	spent int // bytes; more than maxMatching if the last work was
	at    time.Time
}

// use calls work with the rest of the budget, from which work deducts its cost.
func (b *workBudget) use(work func(left *int)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	refill := min(now.Sub(b.at).Seconds(), 1e6) * maxMatching
	b.spent = max(0, b.spent-int(refill))
	b.at = now
	left := maxMatching - b.spent
	work(&left)
	b.spent = maxMatching - left
}

// Costs of comparisons, in bytes.
const (
	costOfPrefix = 16
	costOfMatch  = 64   // plus the length of the URI
	costOfParse  = 4096 // once per template
)

// indexURIs indexes the URIs that parts claim.
func indexURIs(parts []*mcp.Catalog) *uriIndex {
	c := &uriIndex{
		listed:    make(map[string]partSet),
		templates: make(map[string]partSet),
		patterns:  make(map[string][]*pattern),
	}
	for i, cat := range parts {
		for j := range cat.Resources {
			addClaim(c.listed, cat.Resources[j].URI, i)
		}
		for j := range cat.Templates {
			text := cat.Templates[j].URITemplate
			if addClaim(c.templates, text, i) {
				p := &pattern{
					part:    i,
					text:    text,
					literal: literalOf(text),
				}
				scheme, _ := schemeOf(p.literal)
				c.patterns[scheme] = append(c.patterns[scheme], p)
			}
		}
	}
	return c
}

// addClaim records that a part claims uri, and reports whether that is a new claim.
func addClaim(into map[string]partSet, uri string, part int) bool {
	known := into[uri]
	if slices.Contains(known, part) {
		return false
	}
	into[uri] = append(known, part)
	return true
}

// claimed is the set of parts that claim a URI, and whether every template was compared.
type claimed struct {
	by       partSet
	complete bool
}

// claimsOn returns the parts that claim a URI, by listing it or through a matching template. It
// deducts its cost from left, the remaining work budget.
func (c *uriIndex) claimsOn(uri string, left *int) claimed {
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
	return claimed{
		by:       parts,
		complete: *left >= 0,
	}
}

// describes reports whether p describes a URI that starts with p.literal. A malformed
// template claims every such URI.
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

// literalOf returns the prefix shared by all expansions of a template, up to the first
// character that an expansion could spell differently.
func literalOf(template string) string {
	for i := range len(template) {
		b := template[i]
		if b == '{' || b == '%' || b <= ' ' || b >= 0x7f ||
			strings.HasPrefix(template[i:], "/:") {
			return template[:i]
		}
	}
	return template
}

// schemeOf returns the text before the first colon, or "" and false if there is no colon.
func schemeOf(uri string) (scheme string, ok bool) {
	scheme, _, ok = strings.Cut(uri, ":")
	if !ok {
		return "", false
	}
	return scheme, true
}
