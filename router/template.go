package router

import (
	"context"
	"io/fs"
	"reflect"
	"strings"

	"github.com/slipway-mcp/slipway/internal/uritemplate"
	"github.com/slipway-mcp/slipway/mcp"
)

// Template returns a family of resources whose URIs match an RFC 6570 template (levels 1
// to 3; ":name" as a whole path segment means "{name}"). Vars is a struct with a field
// for each variable, or a map[string]string; fields may be of other types than string,
// such as numbers. Values are percent-decoded. A URI whose values do not fit the fields
// is reported as not found. Out is as in [Resource].
//
// No two templates may match the same URI. A [Resource] takes precedence over templates.
func Template[Vars, Out any](
	name, uriTemplate string,
	fn func(ctx context.Context, vars Vars) (Out, error),
	opts ...TemplateOption,
) Feature {
	f := newFeature(caller(), KindTemplate, name, opts)
	f.uri = uriTemplate
	f.faultIf(fn == nil, "the function is nil")
	f.compile = func(f *feature, b *builder) {
		f.strict = true
		in := f.textInput(reflect.TypeFor[Vars](),
			"variables must be a struct or map[string]string", isStructOrTexts)
		r := f.newReader(reflect.TypeFor[Out](), b)
		f.compileTemplate(b, in, func(
			ctx context.Context, uri string, values map[string]string,
		) (*mcp.ReadResourceResult, error) {
			vars := new(Vars)
			if _, err := in.fill(in.objectOf(values), reflect.ValueOf(vars).Elem()); err != nil {
				return nil, mcp.ResourceNotFound(uri, "resource not found: "+err.Error())
			}
			out, err := fn(ctx, *vars)
			if err != nil {
				return nil, err
			}
			return r.result(uri, reflect.ValueOf(&out).Elem())
		})
	}
	return f
}

// Folder returns the files of fsys as a template: baseURI, which must end with "/",
// followed by the path. MIME types are derived from file names unless an option sets one,
// and paths can be completed. Directories and missing files are reported as not found.
//
// For a directory on disk, use [os.Root.FS] rather than [os.DirFS]: it does not follow
// links out of the directory.
func Folder(name, baseURI string, fsys fs.FS, opts ...TemplateOption) Feature {
	complete := Complete("path", func(ctx context.Context, typed string) ([]string, error) {
		return completePath(ctx, fsys, typed)
	})
	f := newFeature(caller(), KindTemplate, name,
		append([]TemplateOption{complete}, opts...))
	f.uri = baseURI + "{+path}"
	if fsys == nil {
		f.fault("the file system is nil")
	} else if !strings.HasSuffix(baseURI, "/") {
		f.fault(`the URI %q of a folder must end with "/"`, baseURI)
	}
	f.compile = func(f *feature, b *builder) {
		r := f.newReader(typeRead, b)
		f.compileTemplate(b, nil, func(
			_ context.Context, uri string, values map[string]string,
		) (*mcp.ReadResourceResult, error) {
			return r.file(uri, fsys, values["path"])
		})
	}
	return f
}

// completePath returns the files whose paths begin with typed, stopping once there are more than
// can be sent.
func completePath(ctx context.Context, fsys fs.FS, typed string) (found []string, err error) {
	root := "."
	i := strings.LastIndexByte(typed, '/')
	if i > 0 && fs.ValidPath(typed[:i]) {
		root = typed[:i]
	}
	err = fs.WalkDir(fsys, root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && name == root:
			return fs.SkipAll // no such directory
		case err != nil:
			return nil
		case d.IsDir() && name != root && !strings.HasPrefix(name, typed) &&
			!strings.HasPrefix(typed, name):
			return fs.SkipDir
		case d.Type().IsRegular() && strings.HasPrefix(name, typed):
			found = append(found, name)
		}
		if len(found) > maxValues {
			return fs.SkipAll
		}
		return nil
	})
	return found, err
}

// compileTemplate compiles a template whose variables in decodes, or nil for a folder.
func (f *feature) compileTemplate(b *builder, in *input, read readFunc) {
	f.faultIf(f.name == "", "the name is empty")
	e := &entry{
		Item: Item{KindTemplate, f.name, f.uri},
		read: read,
	}
	if e.parsed = f.parseTemplate(); e.parsed != nil {
		e.URI = e.parsed.String()
		if in != nil {
			f.addFaults("", in.matchNames(e.parsed.Names()))
		}
		f.compileCompletion(e, in, "variable", e.parsed.Names())
	}
	template := mcp.ResourceTemplate{
		Name:        f.name,
		URITemplate: e.URI,
		Title:       f.title,
		Description: f.description,
		MIMEType:    f.mimeType,
		Annotations: f.annotations,
		Icons:       f.icons,
		Meta:        f.encodedMeta(),
	}
	e.list = func(c *mcp.Catalog) {
		c.Templates = append(c.Templates, template)
	}
	b.add(f, e)
}

// parseTemplate parses and verifies the template of a feature, or returns nil. It must
// begin with a literal scheme, since it would otherwise describe the URIs of every other
// resource.
func (f *feature) parseTemplate() *uritemplate.Template {
	parsed, err := uritemplate.Parse(f.uri)
	switch {
	case err != nil:
		f.fault("the template %q: %v", f.uri, err)
		return nil
	case len(parsed.Names()) == 0:
		f.fault("the template %q has no variables: use Resource", f.uri)
		return nil
	case strings.HasPrefix(parsed.String(), "{"):
		f.fault("the template %q must begin with a scheme", f.uri)
		return nil
	}
	sample := make(map[string]string)
	for _, name := range parsed.Names() {
		sample[name] = "x"
	}
	f.checkURI(parsed.Expand(sample))
	return parsed
}
