package router

import (
	"cmp"
	"context"

	"github.com/slipway-mcp/slipway/apps"
	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/mcp"
)

// App returns a user interface (the MCP Apps extension): an HTML document that clients
// with the extension show in a sandbox, next to the results of the tools linked to it by
// [UI]. uri begins with "ui://". The requested CSP and permissions are sent both in the
// resource list and with the document.
func App[HTML string | []byte](uri string, html HTML, opts ...AppOption) *AppFeature {
	f := newFeature(caller(), kindApp, uri, opts)
	f.uri = uri
	document := string(html)
	f.compile = func(f *feature, b *builder) { f.compileApp(b, document) }
	return &AppFeature{f}
}

// AppFeature is the result of [App]: a [Feature] to register, and a target for [UI].
type AppFeature struct{ *feature }

// compileApp registers an app as a resource. Its result never changes, so it is made once.
func (f *feature) compileApp(b *builder, document string) {
	app := &apps.App{
		URI:         f.uri,
		Name:        b.prefix + cmp.Or(f.appName, f.uri),
		Title:       f.title,
		Description: f.description,
		HTML:        document,
		UI:          f.ui,
		Icons:       f.icons,
	}
	f.addErrors("", app.Check())
	definition := app.Resource()
	contents := app.Contents()
	if meta := f.encodedMeta(); meta != nil {
		merged, err := apps.AddResourceMeta(meta, f.ui)
		if err != nil {
			f.fault("Meta: %v", err)
		}
		definition.Meta = merged
		contents.Meta = merged
	}
	result := &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{contents}}
	b.add(f, &entry{
		Item:  Item{KindResource, definition.Name, f.uri},
		isApp: true,
		list: func(c *mcp.Catalog) {
			c.Resources = append(c.Resources, definition)
		},
		read: func(context.Context, string, map[string]string) (*mcp.ReadResourceResult, error) {
			return result, nil
		},
	})
}

// addErrors records the findings that are errors.
func (f *feature) addErrors(prefix string, findings []check.Finding) {
	for _, finding := range findings {
		f.faultIf(finding.Severity == check.Error, prefix+finding.Message)
	}
}

// UI returns the [Tool] option that links the tool to an app, which must be registered,
// too. visibility lists who may see and call the tool; the default is both models and
// apps. Hosts hide an app-only tool from their models; [Options.HideAppTools] also hides
// it from clients that do not declare apps.
func UI(app *AppFeature, visibility ...apps.Visibility) ToolOption {
	return &uiLink{
		app:        app,
		linked:     true,
		visibility: visibility,
	}
}

// VisibleTo returns the [Tool] option that lists who may see and call the tool, without
// linking it to an app: for example, a tool for the buttons of an app.
func VisibleTo(visibility ...apps.Visibility) ToolOption {
	return &uiLink{visibility: append([]apps.Visibility{}, visibility...)}
}

// uiLink is the link from a tool to the app that shows its results.
type uiLink struct {
	// app is the app that the option [UI] names, or nil after [VisibleTo].
	app *AppFeature
	// linked reports that the tool has an app; visibility says who may call it, and nil
	// means both the model and the app.
	linked     bool
	visibility []apps.Visibility
}

// linkUI checks and encodes the link of a tool.
func (f *feature) linkUI(e *entry, tool *mcp.Tool, b *builder) {
	if f.link == nil {
		return
	}
	options := b.routerOptions()
	ui := apps.ToolUI{
		Visibility: f.link.visibility,
		LegacyKey:  options.LegacyUIKey,
	}
	if f.link.linked {
		if f.link.app == nil {
			f.fault("UI: the app is nil")
			return
		}
		e.app = f.link.app.uri
		ui.ResourceURI = e.app
	}
	f.addErrors("UI: ", ui.Check())
	if err := ui.Describe(tool); err != nil {
		f.fault("UI: %v", err)
	}
	if options.HideAppTools && !ui.VisibleTo(apps.VisibleToModel) {
		e.filters = append(e.filters, func(ctx context.Context, _ Item) bool {
			return mcp.RequestFrom(ctx) == nil || apps.Supported(ctx)
		})
	}
}
