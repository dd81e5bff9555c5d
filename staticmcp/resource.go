package staticmcp

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/internal/site"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/nearest"
	"github.com/slipway-mcp/slipway/mcp"
)

// resource parses the file as a resource. Files that state their URI become results here;
// for the others, the URI is added when they are read.
func (s *stored) resource() (*document, error) {
	f := &outline{}
	var list items
	if s.raw != nil {
		f = outlineOf(s.doc)
	} else if s.doc[0] == '[' {
		list, _ = scanItems(s.doc, 0)
	}
	d := &document{
		shape:  shapeFree,
		body:   s.doc,
		others: site.SharedPlaces(f.meta),
	}
	uri := f.uri
	named := false
	switch {
	case isString(f.text) || isString(f.blob):
		d.shape = shapeFlat
		named = true
	case f.contents.array && f.contents.full:
		d.shape = shapeContents
		d.body = f.contents.raw
		uri = f.contents.uri
		named = f.contents.named
	case list.array && list.full:
		d.shape = shapeArray
		uri = list.uri
		named = list.named
	case site.IsListing(s.path):
		return nil, site.ErrMissing
	}
	d.uri, _ = jsonscan.Unquote(uri)
	if s.strict && (d.shape != shapeFlat || d.uri == "") {
		return nil, errShape
	}
	if d.uri == "" || !named {
		return d, nil
	}
	raw, err := s.contents(d.shape, f)
	if err != nil {
		return nil, err
	}
	d.body = nil
	d.resource = &mcp.ReadResourceResult{Raw: raw}
	return d, nil
}

// contents returns the file as a result.
func (s *stored) contents(form shape, f *outline) (*mcp.Raw, error) {
	if form == shapeContents {
		return s.result(f)
	}
	return wrapContents(s.doc, form == shapeFlat)
}

// wrapContents returns a result with contents, which is an array, or a single element if
// one is set.
func wrapContents(contents []byte, one bool) (*mcp.Raw, error) {
	doc := make([]byte, 0, len(contents)+len(`{"contents":[]}`))
	doc = append(doc, `{"contents":`...)
	if one {
		doc = append(append(append(doc, '['), contents...), ']')
	} else {
		doc = append(doc, contents...)
	}
	return mcp.ParseRaw(append(doc, '}'))
}

// as returns a resource that states no URI as the contents of uri.
func (d *document) as(uri, mimeType string) (*mcp.ReadResourceResult, error) {
	named := append([]byte(`{"uri":`), site.Quote(uri)...)
	var contents []byte
	switch d.shape {
	case shapeFlat:
		contents = withURI(named, d.body)
	case shapeFree:
		if mimeType == "" {
			mimeType = "application/json"
		}
		contents = append(append(named, `,"mimeType":`...), site.Quote(mimeType)...)
		contents = append(append(contents, `,"text":`...), site.Quote(string(d.body))...)
		contents = append(contents, '}')
	default:
		contents = []byte{'['}
		for i, element := range jsonscan.Elements(d.body) {
			if i > 0 {
				contents = append(contents, ',')
			}
			contents = append(contents, withURI(slices.Clone(named), element)...)
		}
		contents = append(contents, ']')
	}
	raw, err := wrapContents(contents, d.shape == shapeFlat || d.shape == shapeFree)
	if err != nil {
		return nil, err
	}
	return &mcp.ReadResourceResult{Raw: raw}, nil
}

// withURI returns the object element with the member that named begins with, if it has
// none itself.
func withURI(named, element []byte) []byte {
	if isString(outlineOf(element).uri) {
		return element
	}
	if element = without(element, "uri"); len(element) > len(`{}`) {
		named = append(named, ',')
	}
	return append(named, element[1:]...)
}

// ReadResource implements [mcp.Source]. An unlisted resource can also be read if its file
// states that URI. A file that states another URI is never used: two URIs can have the
// same file name.
func (s *Site) ReadResource(ctx context.Context, params *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	o := s.offer.Load()
	uri := params.URI
	p := s.planRead(o, uri)
	_, listed := o.resources[uri]
	d, err := s.find(ctx, p, &s.learnt, func(d *document) bool {
		return d.uri == uri || d.uri == "" && listed
	})
	switch {
	case errors.Is(err, site.ErrMissing):
		return nil, mcp.ResourceNotFound(uri, s.missingResource(o, uri))
	case err != nil:
		return nil, s.wireError(err, mcp.CodeResourceUnavailable)
	case d.resource != nil:
		return d.resource, nil
	}
	result, err := d.as(uri, o.mimeType(uri))
	if err != nil {
		return nil, s.wireError(err, mcp.CodeResourceUnavailable)
	}
	result.Cache = d.cache
	return result, nil
}

// mimeType returns the MIME type of a resource in the manifest.
func (o *offer) mimeType(uri string) string {
	if i, ok := o.resources[uri]; ok {
		return o.catalog.Resources[i].MIMEType
	}
	return ""
}

// maxCompared is how many names are compared to find similar ones.
const maxCompared = 5000

// missingResource returns the message for a URI without a file.
func (s *Site) missingResource(o *offer, uri string) string {
	if _, listed := o.resources[uri]; listed {
		return "resource not found: it is listed, but the site has no file for it"
	}
	var list []string
	for i := range o.catalog.Resources {
		r := &o.catalog.Resources[i]
		if len(o.catalog.Resources) <= maxCompared || sameStart(r.URI, uri) {
			list = append(list, r.URI)
		}
		if len(list) == maxCompared {
			break
		}
	}
	if near := nearest.Nearest(uri, list, 3); len(near) > 0 {
		return "resource not found; did you mean " + site.Alternatives(near) + "?"
	}
	return ""
}

// sameStart reports whether a URI agrees with b in all but its last part.
func sameStart(a, b string) bool {
	return strings.HasPrefix(a, b[:strings.LastIndexByte(b, '/')+1])
}

// hint returns how long clients may cache the contents of a file, bounded by the file's
// own freshness.
func (s *Site) hint(loaded *site.File) mcp.CacheHint {
	ttl := s.opts.MaxAge
	if !s.store.Traits().Listed {
		ttl = max(0, min(ttl, time.Until(loaded.FreshUntil)))
	}
	return mcp.CacheHint{
		TTL:    ttl,
		Public: !loaded.Passing,
	}
}
