package router

import (
	"context"
	"fmt"

	"github.com/slipway-mcp/slipway/apps"
	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/mcp"
)

// App returns a user interface (the MCP Apps extension): an HTML document that clients
// with the extension show in a sandbox, next to the results of the tools linked to it by
// [UI]. uri begins with "ui://". The requested CSP and permissions are sent both in the
// resource list and with the document.
func App[HTML string | []byte](uri string, html HTML, opts ...AppOption) *AppFeature {
	f := &AppFeature{uri: uri, html: string(html), opts: opts}
	f.place, f.kind, f.label = caller(), "app", uri
	return f
}

// AppFeature is the result of [App]: a [Feature] to register, and a target for [UI].
type AppFeature struct {
	settings
	uri, html string
	name      string
	opts      []AppOption
	ui        apps.ResourceUI
}

// AppOption is an option of [App].
type AppOption interface{ toApp(*AppFeature) }

// CSP lists the origins that the document needs. By default it may use none.
type CSP apps.CSP

// Permissions are the browser permissions that the document requests.
type Permissions apps.Permissions

// Domain requests a dedicated origin for the document.
type Domain string

// Border requests a border around the document, or none.
type Border bool

// Name is the name of an [App]'s resource; the default is its URI.
type Name string

func (f *AppFeature) settled() *settings { return &f.settings }

func (f *AppFeature) register(b *builder) {
	own := *f
	own.faults = append([]error(nil), f.faults...)
	for _, o := range f.opts {
		if o == nil {
			own.fault("an option is nil")
			continue
		}
		o.toApp(&own)
	}
	own.compile(b)
}

func (f *AppFeature) compile(b *builder) {
	if f.name == "" {
		f.name = f.uri
	}
	a := &apps.App{
		URI:         f.uri,
		Name:        b.prefix + f.name,
		Title:       f.title,
		Description: f.description,
		HTML:        f.html,
		UI:          f.ui,
		Icons:       f.icons,
	}
	for _, finding := range a.Check() {
		if finding.Severity == check.Error {
			f.fault("%s", finding.Message)
		}
	}
	definition, contents := a.Resource(), a.Contents()
	if own := f.encodedMeta(); own != nil {
		merged, err := apps.AddResourceMeta(own, f.ui)
		if err != nil {
			f.fault("Meta: %v", err)
		}
		definition.Meta, contents.Meta = merged, merged
	}
	e := &entry{Item: Item{Kind: KindResource, Name: definition.Name, URI: f.uri}}
	result := &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{contents}}
	e.resource = &resource{definition: definition, app: true,
		read: func(context.Context, string) (*mcp.ReadResourceResult, error) {
			return result, nil
		}}
	b.add(&f.settings, e)
}

// UI returns the [Tool] option that links the tool to an app, which must be registered,
// too. visibility lists who may see and call the tool; the default is both models and
// apps. Hosts hide an app-only tool from their models; [Options.HideAppTools] also hides
// it from clients that do not declare apps.
func UI(app *AppFeature, visibility ...apps.Visibility) ToolOption {
	return &uiLink{app: app, linked: true, visibility: visibility}
}

// VisibleTo returns the [Tool] option that lists who may see and call the tool, without
// linking it to an app: for example, a tool for the buttons of an app.
func VisibleTo(visibility ...apps.Visibility) ToolOption {
	return &uiLink{visibility: visibility, explicit: true}
}

type uiLink struct {
	app              *AppFeature
	linked, explicit bool
	visibility       []apps.Visibility
}

func (u *uiLink) toTool(f *toolFeature) {
	if f.ui != nil {
		f.fault("UI and VisibleTo exclude each other, and may be given once")
	}
	f.ui = u
}

// linkUI checks and encodes the link of a tool.
func (f *toolFeature) linkUI(e *entry, b *builder) {
	u := f.ui
	if u == nil {
		return
	}
	ui := apps.ToolUI{Visibility: u.visibility, LegacyKey: b.settingsOf().LegacyUIKey}
	switch {
	case u.linked && u.app == nil:
		f.fault("UI: the app is nil")
		return
	case u.linked:
		ui.ResourceURI = u.app.uri
		e.deps = append(e.deps, dependency{u.app.uri, fmt.Sprintf("UI: the app %q is not registered", u.app.uri)})
	case u.explicit && len(u.visibility) == 0:
		ui.Visibility = []apps.Visibility{}
	}
	for _, finding := range ui.Check() {
		if finding.Severity == check.Error {
			f.fault("UI: %s", finding.Message)
		}
	}
	f.uiMeta = &ui
	if ui.VisibleTo(apps.VisibleToModel) || !b.settingsOf().HideAppTools {
		return
	}
	e.filters = append(e.filters, func(ctx context.Context, _ Item) bool {
		return mcp.RequestFrom(ctx) == nil || apps.Supported(ctx)
	})
}

func (t Title) toApp(f *AppFeature)       { f.title = string(t) }
func (d Description) toApp(f *AppFeature) { f.description = string(d) }
func (n Name) toApp(f *AppFeature)        { f.name = string(n) }
func (i Icon) toApp(f *AppFeature) {
	f.icons = append(f.icons[:len(f.icons):len(f.icons)], mcp.Icon(i))
}
func (m Meta) toApp(f *AppFeature)        { f.meta = append(f.meta[:len(f.meta):len(f.meta)], m) }
func (d Domain) toApp(f *AppFeature)      { f.ui.Domain = string(d) }
func (c CSP) toApp(f *AppFeature)         { f.ui.CSP = (*apps.CSP)(&c) }
func (p Permissions) toApp(f *AppFeature) { f.ui.Permissions = (*apps.Permissions)(&p) }
func (p Border) toApp(f *AppFeature)      { f.ui.PrefersBorder = (*bool)(&p) }
