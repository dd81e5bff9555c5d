// Apps is a server whose user interface uses every feature and requests every permission,
// for tests that open it in a browser, in a third-party host. It serves on a free port,
// which it prints to stderr.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"os"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/apps"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/serve"
)

//go:embed page.html
var page string

// pageURI is the address of the only user interface.
const pageURI = "ui://fixture/page"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "apps:", err)
		os.Exit(1)
	}
}

// run serves the fixture over HTTP at a free port, or over stdin and stdout with -stdio. It prints
// the address to stderr.
func run() error {
	source, err := newFixture()
	if err != nil {
		return err
	}
	ctx, stop := serve.Signals(context.Background(), nil)
	defer stop()
	if slices.Contains(os.Args[1:], "-stdio") {
		return serve.Stdio(ctx, source, os.Stdin, os.Stdout, nil)
	}
	return serve.Run(ctx, source, &serve.Options{
		Addr: "127.0.0.1:0",
		Observer: serve.Observer{Started: func(info *serve.Info) {
			fmt.Fprintln(os.Stderr, "serving on", info.Endpoint)
		}},
	})
}

// fixture is the Source.
type fixture struct {
	mcp.Unimplemented
	page    *apps.App
	catalog *mcp.Catalog
}

var _ mcp.Source = (*fixture)(nil)

// newFixture returns the source with one page and tools of each visibility.
func newFixture() (*fixture, error) {
	app, err := newPage()
	if err != nil {
		return nil, err
	}
	catalog := &mcp.Catalog{
		Server: mcp.Implementation{
			Name:    "apps",
			Version: "1.0.0",
		},
		Tools:     tools(),
		Resources: []mcp.Resource{app.Resource()},
	}
	if catalog.Extensions, err = apps.Extensions(nil); err != nil {
		return nil, err
	}
	return &fixture{
		page:    app,
		catalog: catalog,
	}, nil
}

// newPage returns a user interface that sets every field of the metadata, so that a host must
// handle all of them.
func newPage() (*apps.App, error) {
	text, err := template.New("page").Funcs(apps.Funcs()).Parse(page)
	if err != nil {
		return nil, err
	}
	var html strings.Builder
	if err := text.Execute(&html, nil); err != nil {
		return nil, err
	}
	border := false
	return &apps.App{
		URI:   pageURI,
		Name:  "page",
		Title: "Page",
		HTML:  html.String(),
		UI: apps.ResourceUI{
			CSP: &apps.CSP{
				ConnectDomains:  []string{"https://api.example.com"},
				ResourceDomains: []string{"https://*.example.com"},
				FrameDomains:    []string{"https://video.example.com"},
				BaseURIDomains:  []string{"https://example.com"},
			},
			Permissions: &apps.Permissions{
				Camera:         true,
				Microphone:     true,
				Geolocation:    true,
				ClipboardWrite: true,
			},
			Domain:        "a904794854a047f6.example.com",
			PrefersBorder: &border,
		},
	}, nil
}

// tools returns one tool for each way to connect a tool with a user interface.
func tools() []mcp.Tool {
	only := func(who apps.Visibility) []apps.Visibility {
		return []apps.Visibility{who}
	}
	return []mcp.Tool{
		{
			Name:        "show",
			Description: "Shows the page.",
			Meta:        apps.ToolMeta(apps.ToolUI{ResourceURI: pageURI}),
		},
		{Name: "echo", Description: "Repeats its input, to the page only.",
			Meta: apps.ToolMeta(apps.ToolUI{Visibility: only(apps.VisibleToApp)})},
		{
			Name:        "think",
			Description: "Is for models only.",
			Meta:        apps.ToolMeta(apps.ToolUI{Visibility: only(apps.VisibleToModel)}),
		},
		{Name: "old", Description: "Shows the page in old hosts, too.",
			Meta: apps.ToolMeta(apps.ToolUI{
				ResourceURI: pageURI,
				LegacyKey:   true,
			})},
	}
}

// Catalog implements [mcp.Source].
func (f *fixture) Catalog(context.Context) (*mcp.Catalog, error) {
	return f.catalog, nil
}

// CallTool returns its arguments and the audience of the result.
func (f *fixture) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	if f.catalog.Tool(p.Name) == nil {
		return nil, mcp.UnknownTool(p.Name)
	}
	said := answer{
		Tool: p.Name,
		Told: map[string]any{},
	}
	if p.Arguments != nil {
		if err := json.Unmarshal(p.Arguments, &said.Told); err != nil {
			return nil, mcp.InvalidArguments("the arguments are not an object")
		}
	}
	structured, err := mcp.Marshal(said)
	if err != nil {
		return nil, err
	}
	audience := "read this"
	if apps.Supported(ctx) {
		audience = "inspect the page"
	}
	return &mcp.CallToolResult{
		Content:           []mcp.Content{mcp.Text(audience)},
		StructuredContent: structured,
	}, nil
}

// answer is what each tool returns, for the page to show.
type answer struct {
	Tool string         `json:"tool"`
	Told map[string]any `json:"told"`
}

// ReadResource implements [mcp.Source]. Only the page exists.
func (f *fixture) ReadResource(_ context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	if p.URI != pageURI {
		return nil, mcp.ResourceNotFound(p.URI, "")
	}
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{f.page.Contents()}}, nil
}
