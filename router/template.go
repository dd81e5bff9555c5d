package router

import (
	"context"
	"fmt"
	"io/fs"
	"reflect"
	"strings"

	"github.com/slipway-mcp/slipway/internal/schema"
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
	f := newTemplate(caller(), name, uriTemplate, opts)
	f.vars, f.out = reflect.TypeFor[Vars](), reflect.TypeFor[Out]()
	if fn == nil {
		f.fault("the function is nil")
	}
	f.bind = func(v *variables, r *reader) matchFunc {
		return func(ctx context.Context, uri string, values map[string]string) (*mcp.ReadResourceResult, error) {
			vars := new(Vars)
			if err := v.decode(uri, values, reflect.ValueOf(vars).Elem()); err != nil {
				return nil, err
			}
			out, err := fn(ctx, *vars)
			if err != nil {
				return nil, err
			}
			return r.result(uri, reflect.ValueOf(&out).Elem())
		}
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
	f := newTemplate(caller(), name, baseURI+"{+path}", opts)
	f.vars, f.out = reflect.TypeFor[map[string]string](), typeRead
	switch {
	case fsys == nil:
		f.fault("the file system is nil")
	case !strings.HasSuffix(baseURI, "/"):
		f.fault(`the URI %q of a folder must end with "/"`, baseURI)
	}
	f.bind = func(_ *variables, r *reader) matchFunc {
		return func(_ context.Context, uri string, values map[string]string) (*mcp.ReadResourceResult, error) {
			return r.file(uri, fsys, values["path"])
		}
	}
	f.opts = append([]TemplateOption{Complete("path", func(ctx context.Context, typed string) ([]string, error) {
		return paths(ctx, fsys, typed)
	})}, f.opts...)
	return f
}

// paths returns the files whose paths begin with typed, stopping once there are more than
// can be sent.
func paths(ctx context.Context, fsys fs.FS, typed string) (found []string, err error) {
	root := "."
	if i := strings.LastIndexByte(typed, '/'); i > 0 && fs.ValidPath(typed[:i]) {
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
		case d.IsDir() && name != root && !strings.HasPrefix(name, typed) && !strings.HasPrefix(typed, name):
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

// TemplateOption is an option of [Template] and [Folder].
type TemplateOption interface{ toTemplate(*templateFeature) }

type matchFunc func(ctx context.Context, uri string, values map[string]string) (*mcp.ReadResourceResult, error)

type templateFeature struct {
	settings
	name, text  string
	opts        []TemplateOption
	vars, out   reflect.Type
	bind        func(*variables, *reader) matchFunc
	annotations *mcp.Annotations
	cache       mcp.CacheHint
}

// template is a registered template.
type template struct {
	definition mcp.ResourceTemplate
	parsed     *uritemplate.Template
	read       matchFunc
	completers []Completer
}

func newTemplate(at place, name, text string, opts []TemplateOption) *templateFeature {
	f := &templateFeature{name: name, text: text, opts: opts}
	f.place, f.kind, f.label = at, KindTemplate, name
	return f
}

func (f *templateFeature) settled() *settings { return &f.settings }

func (f *templateFeature) register(b *builder) {
	own := *f
	own.faults = append([]error(nil), f.faults...)
	own.label = b.prefix + f.name
	own.compile(b)
}

func (f *templateFeature) compile(b *builder) {
	for _, o := range f.opts {
		if o == nil {
			f.fault("an option is nil")
			continue
		}
		o.toTemplate(f)
	}
	if f.name == "" {
		f.fault("the name is empty")
	}
	parsed := f.parse()
	r, faults := newReader(f.label, f.out, &f.settings, b.settingsOf().MaxReadBytes, f.cache)
	for _, fault := range faults {
		f.fault("%s", fault)
	}
	var v *variables
	if parsed != nil {
		v, faults = newVariables(f.vars, parsed.Names())
		for _, fault := range faults {
			f.fault("%s", fault)
		}
		if v != nil {
			f.addEnums(v.node)
		}
		f.checkCompleters("variable", parsed.Names())
	}
	meta := f.encodedMeta()
	if len(f.faults) > 0 {
		b.add(&f.settings, nil)
		return
	}
	e := &entry{Item: Item{Kind: KindTemplate, Name: f.label, URI: parsed.String()}}
	e.template = &template{parsed: parsed, read: f.bind(v, r), completers: f.completers, definition: mcp.ResourceTemplate{
		Name: f.label, URITemplate: parsed.String(), Title: f.title, Description: f.description,
		MIMEType: f.mimeType, Annotations: f.annotations, Icons: f.icons, Meta: meta,
	}}
	b.add(&f.settings, e)
}

func (f *templateFeature) parse() *uritemplate.Template {
	parsed, err := uritemplate.Parse(f.text)
	switch {
	case err != nil:
		f.fault("the template %q: %v", f.text, err)
		return nil
	case len(parsed.Names()) == 0:
		f.fault("the template %q has no variables: use Resource", f.text)
		return nil
	}
	sample := make(map[string]string)
	for _, name := range parsed.Names() {
		sample[name] = "x"
	}
	if strings.HasPrefix(parsed.String(), "{") {
		f.fault("the template %q must begin with a scheme", f.text)
		return nil
	}
	f.checkURI(parsed.Expand(sample))
	return parsed
}

// variables decodes the values of a template.
type variables struct {
	node  *node
	check *schema.Schema
}

func newVariables(t reflect.Type, names []string) (*variables, []string) {
	c := newCompiler(false)
	v := &variables{node: c.node(t)}
	at := pointee(v.node)
	switch {
	case len(c.faults) > 0:
		return nil, c.faults
	case at.kind == kindMap && at.elem.kind == kindString:
		return v, nil
	case at.kind != kindStruct:
		return nil, []string{fmt.Sprintf("the variables must be a struct or map[string]string, not %v", t)}
	}
	faults := append(checkTexts(at.object), matchNames(at.object, names)...)
	var err error
	if v.check, err = schema.Compile(c.schema(v.node, true)); err != nil {
		faults = append(faults, err.Error())
	}
	return v, faults
}

// decode fills v. Values that do not fit mean that the resource does not exist.
func (x *variables) decode(uri string, values map[string]string, v reflect.Value) error {
	at := pointee(x.node)
	if at.kind == kindMap {
		for v.Kind() == reflect.Pointer {
			v.Set(reflect.New(v.Type().Elem()))
			v = v.Elem()
		}
		v.Set(reflect.MakeMapWithSize(v.Type(), len(values)))
		for name, value := range values {
			v.SetMapIndex(reflect.ValueOf(name).Convert(v.Type().Key()), reflect.ValueOf(value).Convert(v.Type().Elem()))
		}
		return nil
	}
	d := newDecoder(fromTexts(at.object, values), true)
	defer d.free()
	err := d.decode(x.node, v)
	if err == nil {
		err = d.explain(x.check)
	}
	if err != nil {
		return mcp.ResourceNotFound(uri, fmt.Sprintf("resource not found: %v", err))
	}
	return nil
}

func (t Title) toTemplate(f *templateFeature)       { f.title = string(t) }
func (d Description) toTemplate(f *templateFeature) { f.description = string(d) }
func (m MIMEType) toTemplate(f *templateFeature)    { f.mimeType = string(m) }
func (i Icon) toTemplate(f *templateFeature) {
	f.icons = append(f.icons[:len(f.icons):len(f.icons)], mcp.Icon(i))
}
func (m Meta) toTemplate(f *templateFeature) { f.meta = append(f.meta[:len(f.meta):len(f.meta)], m) }
func (a Annotations) toTemplate(f *templateFeature) {
	f.annotations = (*mcp.Annotations)(&a)
}
func (c Cache) toTemplate(f *templateFeature) { f.cache = mcp.CacheHint(c) }
func (c Completer) toTemplate(f *templateFeature) {
	f.completers = append(f.completers[:len(f.completers):len(f.completers)], c)
}
