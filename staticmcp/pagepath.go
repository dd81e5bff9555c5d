package staticmcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/slipway-mcp/slipway/internal/site"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// MetaPage, in the _meta of a tool's definition, declares that one of its arguments is
// the path of a documentation page:
//
//	{"argument": "path", "home": "home", "bases": ["docs://", "https://example.com/docs/"]}
//
// home is the path of the top page, bases are the addresses where the pages are
// published. A call without an answer is retried with the path as the tool spells it:
// without a base, without slashes at either end, and without the extension of a Markdown
// file. A site whose published addresses do not correspond to its paths must omit that
// base.
const MetaPage = site.MetaPrefix + "page"

// MetaURL, in the _meta of a resource's definition, is the address of the web page.
const MetaURL = site.MetaPrefix + "url"

// pageArgument is a tool's declaration of its page path argument.
type pageArgument struct {
	// param is the index of the argument; home is the path of the top page, and bases are
	// the URLs under which the documents are published.
	param int
	home  string
	bases []*url.URL
}

// newPageArgument returns the declaration in meta, or nil.
func newPageArgument(t *tool, meta json.RawMessage) (*pageArgument, error) {
	if len(meta) == 0 || meta[0] != '{' {
		return nil, nil
	}
	for _, m := range jsonscan.Members(meta) {
		if m.Name != MetaPage {
			continue
		}
		var said struct {
			Argument, Home string
			Bases          []string
		}
		if err := json.Unmarshal(m.Value, &said); err != nil {
			return nil, fmt.Errorf("%s: %w", MetaPage, err)
		}
		p := &pageArgument{
			param: t.param(said.Argument),
			home:  said.Home,
		}
		if p.param < 0 {
			return nil, fmt.Errorf("%s: the tool has no argument %q", MetaPage,
				said.Argument)
		}
		for _, text := range said.Bases {
			base, err := url.Parse(text)
			if err != nil || base.Scheme == "" || base.RawQuery != "" ||
				base.Fragment != "" {
				return nil, fmt.Errorf("%s: %q is not the base of an address", MetaPage, text)
			}
			p.bases = append(p.bases, base)
		}
		return p, nil
	}
	return nil, nil
}

// spelling returns the path that text means, or text itself if it is an address
// elsewhere.
func (p *pageArgument) spelling(text string) string {
	path := text
	if strings.Contains(text, "://") {
		var ok bool
		if path, ok = p.below(text); !ok {
			return text
		}
	}
	path = strings.Trim(strings.TrimPrefix(path, "./"), "/")
	for _, ending := range []string{".md", ".mdx", ".markdown"} {
		bare, ok := strings.CutSuffix(path, ending)
		if ok && bare != "" && !strings.HasSuffix(bare, "/") {
			path = bare
			break
		}
	}
	if path == "" {
		return p.home
	}
	return path
}

// below returns the part of an address after a base, without query and fragment.
func (p *pageArgument) below(address string) (string, bool) {
	u, err := url.Parse(address)
	if err != nil {
		return "", false
	}
	for _, base := range p.bases {
		if base.Scheme != "http" && base.Scheme != "https" {
			// A URI of this site: it has no host.
			if u.Scheme == base.Scheme {
				path, err := url.PathUnescape(strings.TrimPrefix(cutAddress(address), base.String()))
				return path, err == nil
			}
			continue
		}
		folder := strings.TrimSuffix(base.Path, "/") + "/"
		web := u.Scheme == "http" || u.Scheme == "https"
		if web && strings.EqualFold(u.Host, base.Host) &&
			strings.HasPrefix(u.Path+"/", folder) {
			path := strings.TrimSuffix(strings.TrimPrefix(u.Path+"/", folder), "/")
			if bare, ok := strings.CutSuffix(path, ".html"); ok {
				// A host serves it as the folder.
				path = strings.TrimSuffix("/"+bare, "/index")
			}
			return path, true
		}
	}
	return "", false
}

// cutAddress returns an address without its query and fragment.
func cutAddress(address string) string {
	address, _, _ = strings.Cut(address, "#")
	address, _, _ = strings.Cut(address, "?")
	return address
}

// findPage retries a call without an answer, with the path of a page as the site spells
// it. The error is errMissing if that has no answer either.
func (s *Site) findPage(ctx context.Context, o *offer, t *tool, p *plan) (*document, error) {
	if t.page == nil || s.opts.Strict {
		return nil, site.ErrMissing
	}
	respelled := false
	object := []byte{'{'}
	for i, v := range p.values {
		raw := v.raw
		text, ok := jsonscan.Unquote(raw)
		if ok && v.param == t.page.param {
			path := t.page.spelling(text)
			if path != text && path != "" {
				raw = jsonscan.AppendQuote(nil, path)
				respelled = true
			}
		}
		if i > 0 {
			object = append(object, ',')
		}
		object = append(jsonscan.AppendQuote(object, t.params[v.param].name), ':')
		object = append(object, bytes.TrimSpace(raw)...)
	}
	if !respelled {
		return nil, site.ErrMissing
	}
	q, err := s.planCall(o, t, append(object, '}'))
	if err != nil {
		return nil, site.ErrMissing
	}
	return s.find(ctx, q, &t.learnt, func(d *document) bool {
		return d.params == nil || t.isFor(d.params, q.values)
	})
}
