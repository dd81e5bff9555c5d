// Package siteapps checks the user interfaces of a StaticMCP site, and finds their places in
// its manifest.
package siteapps

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/apps"
	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// Check adds findings about the user interfaces of a site to its report. arg is a folder,
// a zip file or a URL. A site that cannot be opened already has findings about that, so
// nothing is added.
func Check(ctx context.Context, report *check.Report, arg string) error {
	site, err := openWithoutPolling(ctx, arg)
	if err != nil {
		return ctx.Err()
	}
	defer site.Close()
	cat, err := site.Catalog(ctx)
	if err != nil {
		return err
	}
	found := apps.Check(cat, unlistedViews(ctx, site, cat)...)
	if len(found) == 0 {
		return nil
	}
	m := readManifest(arg)
	for _, f := range found {
		report.Add(m.place(cat, f))
	}
	return nil
}

func isURL(arg string) bool { return strings.Contains(arg, "://") }

func openWithoutPolling(ctx context.Context, arg string) (*staticmcp.Site, error) {
	opts := &staticmcp.Options{Poll: -1}
	if isURL(arg) {
		return staticmcp.OpenURL(ctx, arg, opts)
	}
	info, err := os.Stat(arg)
	if err == nil && info.IsDir() {
		return staticmcp.OpenDir(ctx, arg, opts)
	}
	return staticmcp.OpenZip(ctx, arg, opts)
}

// unlistedViews returns the user interfaces that tools link to and that are readable,
// whether or not they are listed.
func unlistedViews(ctx context.Context, site *staticmcp.Site, cat *mcp.Catalog) []string {
	var uris []string
	for i := range cat.Tools {
		ui, err := apps.ToolUIOf(&cat.Tools[i])
		if err != nil || ui == nil || ui.ResourceURI == "" ||
			slices.Contains(uris, ui.ResourceURI) {
			continue
		}
		if _, err := site.ReadResource(ctx, &mcp.ReadResourceParams{URI: ui.ResourceURI}); err == nil {
			uris = append(uris, ui.ResourceURI)
		}
	}
	return uris
}

const manifest = "mcp.json"

// manifestText is a manifest that maps findings to positions.
type manifestText struct {
	file string
	text []byte // nil if it is not a separate file
	list map[string][]entry
}

// entry is an entry of a list in a manifest.
type entry struct{ Name, URI string }

func readManifest(arg string) *manifestText {
	m := &manifestText{file: strings.TrimSuffix(arg, "/") + "/" + manifest}
	info, err := os.Stat(arg)
	switch {
	case isURL(arg) || err != nil:
		return m
	case !info.IsDir():
		m.file = arg + "!" + manifest
		return m
	}
	m.file = filepath.ToSlash(filepath.Join(arg, manifest))
	text, err := os.ReadFile(m.file)
	if err != nil {
		return m
	}
	var top struct {
		Capabilities map[string]json.RawMessage
	}
	m.text = text
	// Entries that cannot be parsed have no position.
	_ = json.Unmarshal(bytes.TrimPrefix(text, []byte("\ufeff")), &top)
	m.list = make(map[string][]entry)
	for _, name := range []string{"tools", "resources"} {
		var list []entry
		if json.Unmarshal(top.Capabilities[name], &list) == nil {
			m.list[name] = list
		}
	}
	return m
}

// place converts a position in the catalog to one in the manifest, which may have
// additional entries that readers skip.
func (m *manifestText) place(cat *mcp.Catalog, f check.Finding) check.Finding {
	f.File = m.file
	parts := strings.SplitN(strings.TrimPrefix(f.Pointer, "/"), "/", 3)
	i, err := strconv.Atoi(parts[min(1, len(parts)-1)])
	if err != nil || len(m.text) == 0 {
		return f
	}
	at := slices.IndexFunc(m.list[parts[0]], func(e entry) bool {
		if parts[0] == "tools" {
			return e.Name == cat.Tools[i].Name
		}
		return e.URI == cat.Resources[i].URI
	})
	if at < 0 {
		return f
	}
	f.Pointer = fmt.Sprintf("/capabilities/%s/%d", parts[0], at)
	if len(parts) > 2 {
		f.Pointer += "/" + parts[2]
	}
	body := bytes.TrimPrefix(m.text, []byte("\ufeff"))
	offset, _ := check.Offset(body, f.Pointer)
	f.Line, f.Column = check.LineColumn(m.text, offset+len(m.text)-len(body))
	return f
}
