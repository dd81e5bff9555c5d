package router

import (
	"context"
	"errors"
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
func Resource[Out any](
	name, uri string,
	fn func(ctx context.Context) (Out, error),
	opts ...ResourceOption,
) Feature {
	f := newFeature(caller(), KindResource, name, opts)
	f.uri = uri
	f.faultIf(fn == nil, "the function is nil")
	f.compile = func(f *feature, b *builder) {
		r := f.newReader(reflect.TypeFor[Out](), b)
		f.compileResource(b, func(ctx context.Context, uri string, _ map[string]string) (*mcp.ReadResourceResult, error) {
			out, err := fn(ctx)
			if err != nil {
				return nil, err
			}
			return r.result(uri, reflect.ValueOf(&out).Elem())
		})
	}
	return f
}

// readFunc reads a resource. values are the variables of its template.
type readFunc func(ctx context.Context, uri string, values map[string]string) (*mcp.ReadResourceResult, error)

// compileResource registers a resource with a fixed URI.
func (f *feature) compileResource(b *builder, read readFunc) {
	f.faultIf(f.name == "", "the name is empty")
	f.checkURI(f.uri)
	resource := mcp.Resource{
		Name:        f.name,
		URI:         f.uri,
		Title:       f.title,
		Description: f.description,
		MIMEType:    f.mimeType,
		Annotations: f.annotations,
		Icons:       f.icons,
		Meta:        f.encodedMeta(),
	}
	e := &entry{
		Item: Item{KindResource, f.name, f.uri},
		read: read,
	}
	e.list = func(c *mcp.Catalog) {
		c.Resources = append(c.Resources, resource)
	}
	b.add(f, e)
}

// checkURI rejects anything but an absolute URI.
func (f *feature) checkURI(uri string) {
	u, err := url.Parse(uri)
	var wrong *url.Error
	switch {
	case errors.As(err, &wrong):
		f.fault("the URI %q: %v", uri, wrong.Err)
	case u.Scheme == "":
		f.fault("the URI %q has no scheme", uri)
	case !schema.Formats()["uri"].Accepts(uri):
		f.fault("the URI %q contains a character that must be percent-encoded", uri)
	}
}
