package compose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/mcp"
)

// shared describes resources and templates that the same sources offer, and that are
// therefore prefixed with the names of their sources: see [Union].
type shared struct {
	uri     string   // of the first resource, or the URI template
	others  int      // number of additional ones
	sources []string // in the order of the union
}

// route is the destination of a URI.
type route int

const (
	toNone    route = iota // claimed by no part
	toOne                  // claimed by one part
	toSeveral              // claimed by several: ambiguous
	toAbsent               // of a source that offers nothing yet
)

// find returns the destination of a URI from a client, and, for toOne, the part and its
// own URI. It deducts its cost from left, the remaining work budget of the request.
func (m *merged) find(uri string, left *int) (route, ownName, partSet) {
	if o, ok := m.resources[uri]; ok {
		return toOne, o, nil
	}
	if part, name, ok := m.labels.split(uri); ok {
		if part == absentPart {
			return toAbsent, ownName{}, nil
		}
		return toOne, ownName{part, name}, nil
	}
	switch c := m.uris.claimsOn(uri, left); {
	case len(c.by) > 1 || !c.complete:
		return toSeveral, ownName{}, c.by
	case len(c.by) == 1:
		return toOne, ownName{c.by[0], uri}, nil
	}
	return toNone, ownName{}, nil
}

// link returns the URI under which clients read a part's uri. It is the same URI unless
// that would lead to another part. A URI that no part claims stays the same if clients
// may know its scheme, so that they can open it themselves. Once left, the work budget of the
// request, is exhausted, URIs that would have to be compared lead to the part as well, but are
// longer.
func (m *merged) link(part int, uri string, left *int) string {
	if m.labels.of == nil {
		return uri
	}
	if _, _, reserved := m.labels.split(uri); reserved {
		return m.labels.qualify(part, uri)
	}
	switch where, o, _ := m.find(uri, left); {
	case where == toOne && o.part == part:
		return uri
	case where == toNone && (openedByClients(uri) || !m.offersResources(part)):
		return uri
	}
	return m.labels.qualify(part, uri)
}

// openedByClients reports whether programs other than MCP servers know the scheme.
func openedByClients(uri string) bool {
	switch scheme, _ := schemeOf(uri); strings.ToLower(scheme) {
	case "file", "http", "https", "data", "mailto", "":
		return true
	}
	return false
}

// offersResources reports whether a part has resources or templates.
func (m *merged) offersResources(part int) bool {
	return len(m.parts[part].Resources)+len(m.parts[part].Templates) > 0
}

// ambiguous returns the error for a URI that several parts claim.
func (u *union) ambiguous(m *merged, uri string, parts partSet) error {
	if m.labels.of == nil || len(parts) < 2 {
		return mcp.Errorf(mcp.CodeInvalidParams, "resource %q may be of several sources", uri)
	}
	const maxNamed = 4
	var names, forms []string
	for _, part := range parts[:min(len(parts), maxNamed)] {
		names = append(names, fmt.Sprintf("%q", u.parts[part].Name))
		forms = append(forms, fmt.Sprintf("%q", m.labels.qualify(part, uri)))
	}
	return mcp.Errorf(mcp.CodeInvalidParams, "resource %q is offered by %s: read %s",
		uri, strings.Join(names, " and "), strings.Join(forms, " or "))
}

// mergeResources joins the resources and templates. A URI claimed by a single part stays
// the same; any other gets the label of its part.
func (u *union) mergeResources(m *merged) error {
	m.uris = indexURIs(m.parts)
	offering := 0
	for i := range m.parts {
		if m.offersResources(i) {
			offering++
		}
	}
	m.joinsResources = offering > 1 && m.labels.of != nil
	shared := &sharing{u: u}
	left := maxMatching
	for i, cat := range m.parts {
		for _, r := range cat.Resources {
			shown, err := u.shownURI(m, "resource", r.URI, i,
				m.uris.claimsOn(r.URI, &left), shared)
			if err != nil {
				return err
			}
			if _, again := m.resources[shown]; again {
				continue // listed twice by its own part
			}
			m.resources[shown] = ownName{i, r.URI}
			r.Origins = uriOrigin(u.parts[i].Name, r.URI).After(r.Origins)
			r.URI, r.Raw = shown, withText(r.Raw, "uri", r.URI, shown)
			m.catalog.Resources = append(m.catalog.Resources, r)
		}
		for _, t := range cat.Templates {
			same := claimed{
				by:       m.uris.templates[t.URITemplate],
				complete: true,
			}
			shown, err := u.shownURI(m, "resource template", t.URITemplate, i, same, shared)
			if err != nil {
				return err
			}
			if _, again := m.templates[shown]; again {
				continue
			}
			m.templates[shown] = ownName{i, t.URITemplate}
			t.Origins = uriOrigin(u.parts[i].Name, t.URITemplate).After(t.Origins)
			t.URITemplate, t.Raw = shown, withText(t.Raw, "uriTemplate",
				t.URITemplate, shown)
			m.catalog.Templates = append(m.catalog.Templates, t)
		}
	}
	if m.joinsResources {
		for i := range m.catalog.Tools {
			m.linkTool(&m.catalog.Tools[i], &left)
		}
	}
	for _, s := range shared.all {
		u.opts.Logger.Warn("sources offer the same resources: their URIs begin with the names of the sources",
			"uri", s.uri, "others", s.others, "sources", s.sources)
	}
	return nil
}

// shownURI returns the visible form of a part's URI or URI template.
func (u *union) shownURI(
	m *merged,
	kind, uri string,
	part int,
	c claimed,
	shared *sharing,
) (string, error) {
	owners := c.by
	if c.complete && len(owners) == 1 {
		if _, _, reserved := m.labels.split(uri); reserved {
			return m.labels.qualify(part, uri), nil
		}
		return uri, nil
	}
	if m.labels.of != nil {
		shared.note(uri, owners)
		return m.labels.qualify(part, uri), nil
	}
	if len(owners) == 1 {
		return "", fmt.Errorf("%s %q of %q cannot be compared with the templates of all others, which are too many",
			kind, uri, u.parts[part].Name)
	}
	return "", fmt.Errorf("%s %q of %q is also offered by %q",
		kind, uri, u.parts[owners[0]].Name, u.parts[owners[1]].Name)
}

// sharing collects shared URIs by the parts that share them.
type sharing struct {
	u   *union
	of  []partSet
	all []shared
}

// note records that parts share a URI. The search runs backwards, as the parts are mostly
// those of the previous call.
func (s *sharing) note(uri string, parts partSet) {
	for i := len(s.of) - 1; i >= 0; i-- {
		if slices.Equal(s.of[i], parts) {
			s.all[i].others++
			return
		}
	}
	names := make([]string, len(parts))
	for i, part := range parts {
		names[i] = s.u.parts[part].Name
	}
	s.of = append(s.of, parts)
	s.all = append(s.all, shared{
		uri:     uri,
		sources: names,
	})
}
