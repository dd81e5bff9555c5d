package router

import (
	"context"
	"net/url"
	"reflect"

	"github.com/slipway-mcp/slipway/internal/schema"
	"github.com/slipway-mcp/slipway/mcp"
)

// Resource returns a resource with a fixed URI. Out is the type of its contents:
//
//   - string: text
//   - []byte: binary data, or text if the MIME type is textual
//   - [io.Reader]: the same; it is closed after reading if it is an [io.Closer], and
//     contents over [Options.MaxReadBytes] are refused
//   - [mcp.ResourceContents], a slice of it, or [*mcp.ReadResourceResult]
//   - any other type: its JSON, with the MIME type application/json
func Resource[Out any](name, uri string, fn func(ctx context.Context) (Out, error), opts ...ResourceOption) Feature {
	f := &resourceFeature{name: name, uri: uri, opts: opts, out: reflect.TypeFor[Out]()}
	f.place, f.kind, f.label = caller(), KindResource, name
	if fn == nil {
		f.fault("the function is nil")
	}
	f.bind = func(r *reader) readFunc {
		return func(ctx context.Context, uri string) (*mcp.ReadResourceResult, error) {
			out, err := fn(ctx)
			if err != nil {
				return nil, err
			}
			return r.result(uri, reflect.ValueOf(&out).Elem())
		}
	}
	return f
}

// ResourceOption is an option of [Resource].
type ResourceOption interface{ toResource(*resourceFeature) }

// Annotations state the audience and importance of a resource: an option of [Resource],
// [Template] and [Folder].
type Annotations mcp.Annotations

// Cache sets how long 2026-07-28 clients may cache what they read: an option of
// [Resource], [Template] and [Folder].
type Cache mcp.CacheHint

type readFunc func(ctx context.Context, uri string) (*mcp.ReadResourceResult, error)

type resourceFeature struct {
	settings
	name, uri   string
	opts        []ResourceOption
	out         reflect.Type
	bind        func(*reader) readFunc
	annotations *mcp.Annotations
	cache       mcp.CacheHint
}

// resource is a registered resource.
type resource struct {
	definition mcp.Resource
	read       readFunc
	app        bool // a user interface
}

func (f *resourceFeature) settled() *settings { return &f.settings }

func (f *resourceFeature) register(b *builder) {
	own := *f
	own.faults = append([]error(nil), f.faults...)
	own.label = b.prefix + f.name
	own.compile(b)
}

func (f *resourceFeature) compile(b *builder) {
	for _, o := range f.opts {
		if o == nil {
			f.fault("an option is nil")
			continue
		}
		o.toResource(f)
	}
	if f.name == "" {
		f.fault("the name is empty")
	}
	f.checkURI(f.uri)
	r, faults := newReader(f.label, f.out, &f.settings, b.settingsOf().MaxReadBytes, f.cache)
	for _, fault := range faults {
		f.fault("%s", fault)
	}
	e := &entry{Item: Item{Kind: KindResource, Name: f.label, URI: f.uri}}
	e.resource = &resource{definition: mcp.Resource{
		Name: f.label, URI: f.uri, Title: f.title, Description: f.description, MIMEType: f.mimeType,
		Annotations: f.annotations, Icons: f.icons, Meta: f.encodedMeta(),
	}}
	if len(f.faults) == 0 {
		e.resource.read = f.bind(r)
	}
	b.add(&f.settings, e)
}

// checkURI rejects anything but an absolute URI.
func (s *settings) checkURI(uri string) {
	u, err := url.Parse(uri)
	switch {
	case err != nil:
		s.fault("the URI %q: %v", uri, unwrapped(err))
	case u.Scheme == "":
		s.fault("the URI %q has no scheme", uri)
	case !schema.Formats()["uri"].Accepts(uri):
		s.fault("the URI %q holds a character that must be percent-encoded", uri)
	}
}

func unwrapped(err error) error {
	if e, ok := err.(*url.Error); ok {
		return e.Err
	}
	return err
}

func (t Title) toResource(f *resourceFeature)       { f.title = string(t) }
func (d Description) toResource(f *resourceFeature) { f.description = string(d) }
func (m MIMEType) toResource(f *resourceFeature)    { f.mimeType = string(m) }
func (i Icon) toResource(f *resourceFeature) {
	f.icons = append(f.icons[:len(f.icons):len(f.icons)], mcp.Icon(i))
}
func (m Meta) toResource(f *resourceFeature) { f.meta = append(f.meta[:len(f.meta):len(f.meta)], m) }
func (a Annotations) toResource(f *resourceFeature) {
	f.annotations = (*mcp.Annotations)(&a)
}
func (c Cache) toResource(f *resourceFeature) { f.cache = mcp.CacheHint(c) }
