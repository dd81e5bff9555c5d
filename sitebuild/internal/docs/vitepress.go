package docs

import (
	"cmp"
	"io/fs"
	"path"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/js"
	"github.com/slipway-mcp/slipway/internal/tree"
)

// vitepress reads .vitepress/config.
func (d *detector) vitepress() *config {
	var names []string
	for _, dir := range []string{".vitepress", "docs/.vitepress"} {
		names = append(names,
			variants(path.Join(dir, "config"), ".js", ".ts", ".mjs", ".mts",
				"/index.ts", "/index.mts", "/index.js")...)
	}
	file := d.find(names...)
	if file == "" {
		return nil
	}
	c := &config{
		system:    "vitepress",
		file:      file,
		published: published{ending: ".html", index: "/"},
	}
	if strings.HasPrefix(file, "docs/") {
		c.root = "docs"
	}
	f := d.script(c, file)
	if !f.root.Is(tree.Object) {
		f.unread(f.root)
		return c
	}
	c.title = f.root.Get("title").String()
	c.description = f.root.Get("description").String()
	c.language = f.root.Get("lang").String()
	if f.root.Get("cleanUrls").True() {
		c.published.ending = ""
	}
	if dir := f.root.Get("srcDir").String(); dir != "" {
		if root := path.Join(c.root, dir); fs.ValidPath(root) && !path.IsAbs(dir) {
			c.root = root
			if root == "." {
				c.root = ""
			}
		} else {
			c.leads("srcDir", dir)
		}
	}
	c.unpublished.never = omit(c.unpublished.never, f.ignores("srcExclude", f.root.Get("srcExclude")))
	bar := cmp.Or(f.root.Get("themeConfig", "sidebar"),
		f.root.Get("locales", "root", "themeConfig", "sidebar"))
	if bar == nil && strings.Contains(f.text, "sidebar") {
		c.note(file, 1, check.Note,
			"the sidebar is missing from the navigation: it is not in a literal object")
	}
	c.nav = f.vitepressBar(bar, "", 0)
	return c
}

// vitepressBar reads a sidebar: a list of items, or an object of lists by the path they
// apply to. A group without a base of its own has that of the group around it.
func (f *navFile) vitepressBar(v *tree.Node, base string, depth int) []navEntry {
	switch {
	case v == nil || depth > maxNavDepth:
		return nil
	case v.Kind == js.Unknown:
		f.unread(v)
		return nil
	case v.Get("items") != nil:
		return f.vitepressBar(v.Get("items"),
			joinBase(base, v.Get("base").String()), depth+1)
	}
	entries := flatten(v.Items, func(item *tree.Node) []navEntry {
		return f.vitepressItem(item, base, depth)
	})
	for _, m := range v.Members {
		entries = append(entries, f.vitepressBar(m.Value, base, depth+1)...)
	}
	return entries
}

// vitepressItem reads a page, or a group of items.
func (f *navFile) vitepressItem(v *tree.Node, base string, depth int) []navEntry {
	if !v.Is(tree.Object) {
		return f.vitepressBar(v, base, depth+1)
	}
	base = cmp.Or(v.Get("base").String(), base)
	text := v.Get("text")
	e := navEntry{
		title: text.String(),
		ref:   v.Get("link").String(),
		line:  f.line(v),
		items: f.vitepressBar(v.Get("items"), base, depth+1),
	}
	if v.Get("link") != nil && !isExternal(e.ref) {
		e.ref = joinBase(base, e.ref)
	}
	if text.Is(js.Unknown) && e.ref == "" {
		f.unread(text)
	}
	return []navEntry{e}
}

// joinBase prefixes a link with the base of a group.
func joinBase(base, link string) string {
	if base == "" {
		return link
	}
	return base + strings.TrimPrefix(link, "/")
}
