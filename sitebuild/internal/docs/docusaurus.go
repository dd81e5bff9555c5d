package docs

import (
	"cmp"
	"encoding/json"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/js"
	"github.com/slipway-mcp/slipway/internal/tree"
)

// docusaurusFile returns the configuration file of Docusaurus, or "".
func (d *detector) docusaurusFile() string {
	return d.find(variants("docusaurus.config", ".js", ".ts", ".mjs", ".cjs", ".mts")...)
}

// docusaurus reads sidebars.js, .ts or .json and docusaurus.config.
func (d *detector) docusaurus() *config { return d.docusaurusOf("", "") }

// docusaurusOf reads docusaurus.config and the sidebars of a version, or those of the current
// one for "". locale is that of a translation, or "".
func (d *detector) docusaurusOf(version, locale string) *config {
	main := d.docusaurusFile()
	endings := []string{".js", ".ts", ".json", ".mjs", ".cjs", ".mts"}
	bars := d.find(append(variants("sidebars", endings...), variants("docs/sidebars", endings...)...)...)
	if version != "" {
		bars = d.find(version)
	}
	if main == "" && bars == "" && !d.hasFile("_category_.") {
		return nil
	}
	c := &config{system: "docusaurus"}
	if d.docs == "" && main != "" && d.hasDir("docs") {
		c.root = "docs"
	}
	if main != "" {
		f := d.script(c, main)
		c.file = main
		root := f.root
		settings, others := docusaurusSettings(root)
		f.docusaurusRoot(d, settings)
		for _, other := range others {
			f.config.note(main, f.line(other), check.Warning, "the documents of the instance %q, in the folder %s, are not in "+
				"the site: build one from that folder", other.Get("id").String(), other.Get("path").String())
		}
		if d.docs == "" {
			if last := f.released(settings, d.read("versions.json")); last != "" {
				c.root = versionedDocs + last
				bars = d.find("versioned_sidebars/version-" + last + "-sidebars.json")
			}
		}
		c.unpublished.never = omit(c.unpublished.never, f.ignores("docs.exclude", settings.Get("exclude")))
		if included := f.globs("docs.include", settings.Get("include")); included != nil {
			c.unpublished.never = append(c.unpublished.never, func(name string) bool { return !included(name) })
		}
		c.title = root.Get("title").String()
		c.description = root.Get("tagline").String()
		c.language = root.Get("i18n", "defaultLocale").String()
		if root.Get("markdown", "anchors", "maintainCase").True() {
			c.headings.name = "docusaurus-cased"
		}
		parser := settings.Get("numberPrefixParser")
		c.published.numbered = parser.Is(tree.Bool) && !parser.True()
		if d.docs != "" || c.root != "" {
			c.published.base = publishedAt(root.Get("url").String(),
				root.Get("baseUrl").String(), locale, docsRoute(root), d.onlyVersion(root))
		}
	}
	c.file = cmp.Or(bars, main)
	if bars == "" {
		return c // derived from folders
	}
	f := d.script(c, bars)
	if !f.root.Is(tree.Object) {
		f.unread(f.root)
		return c
	}
	for _, m := range f.root.Members {
		entries := f.sidebar(m.Value, 0)
		if len(f.root.Members) > 1 && len(entries) > 0 {
			entries = []navEntry{{
				title: titleOf(spaced(m.Key) + ".md"),
				items: entries,
			}}
		}
		c.nav = append(c.nav, entries...)
	}
	return c
}

// docusaurusSettings returns the settings of the documents, or nil: those in a preset, or of the
// plugin without an id. others are those of more instances of the plugin.
func docusaurusSettings(root *tree.Node) (settings *tree.Node, others []*tree.Node) {
	off := false
	for _, preset := range root.Get("presets").Elements() {
		if len(preset.Items) == 2 && settings == nil {
			docs := preset.Items[1].Get("docs")
			off = off || docs.Is(tree.Bool) && !docs.True()
			if docs.Is(tree.Object) {
				settings = docs
			}
		}
	}
	for _, plugin := range root.Get("plugins").Elements() {
		if len(plugin.Items) != 2 || !strings.HasSuffix(plugin.Items[0].String(), "content-docs") ||
			!plugin.Items[1].Is(tree.Object) {
			continue
		}
		if id := plugin.Items[1].Get("id").String(); id != "" && id != "default" {
			others = append(others, plugin.Items[1])
		} else if settings == nil {
			settings = plugin.Items[1]
		}
	}
	if settings == nil && off && len(others) > 0 {
		return others[0], others[1:]
	}
	return settings, others
}

// docsPath returns the folder of the documents as configured.
func docsPath(settings *tree.Node) string {
	return path.Clean(cmp.Or(strings.TrimSpace(settings.Get("path").String()), "docs"))
}

// docusaurusRoot sets the folder of the documents.
func (f *navFile) docusaurusRoot(d *detector, settings *tree.Node) {
	dir := docsPath(settings)
	n := settings.Get("path")
	switch {
	case d.docs != "":
	case n != nil && !n.Is(tree.String):
		f.unread(n)
	case !fs.ValidPath(dir):
		f.config.leads("docs.path", dir)
	case d.hasDir(dir) && dir != ".":
		f.config.root = dir
	case n != nil:
		f.config.note(f.name, f.line(n), check.Warning, "docs.path is %s, which has no files", dir)
	}
}

// onlyVersion returns the route of the only version below that of the documents, or "".
func (d *detector) onlyVersion(root *tree.Node) string {
	if d.find("versions.json") != "" {
		return ""
	}
	settings, _ := docusaurusSettings(root)
	return settings.Get("versions", "current", "path").String()
}

// docsRoute returns the route of the documents.
func docsRoute(root *tree.Node) string {
	settings, _ := docusaurusSettings(root)
	return cmp.Or(settings.Get("routeBasePath").String(), "docs")
}

// versionedDocs precedes the name of a version in its folder.
const versionedDocs = "versioned_docs/version-"

// withoutCurrent reports whether the current version, which is not released yet, is not published.
// A value that is not known counts as such if there are released versions.
func (f *navFile) withoutCurrent(settings *tree.Node, names []string) bool {
	if len(names) == 0 {
		return false
	}
	current := settings.Get("includeCurrentVersion")
	if current != nil && current.Kind != tree.Bool {
		f.config.unclear(f.name, f.line(current), "docs.includeCurrentVersion", onlyWhenRun)
		return true
	}
	only := settings.Get("onlyIncludeVersions")
	return current != nil && !current.True() ||
		only.Is(tree.Array) && !slices.Contains(only.Strings(), "current") && !hasUnknown(only)
}

func hasUnknown(list *tree.Node) bool {
	return slices.ContainsFunc(list.Items, func(item *tree.Node) bool { return item.Kind == js.Unknown })
}

// publishedVersions returns the released versions in versions.json that are published.
func (f *navFile) publishedVersions(settings *tree.Node, versions string) []string {
	var names []string
	if json.Unmarshal([]byte(versions), &names) != nil || settings.Get("disableVersioning").True() {
		return nil
	}
	only := settings.Get("onlyIncludeVersions")
	switch {
	case only == nil:
	case !only.Is(tree.Array) || hasUnknown(only):
		f.config.unclear(f.name, f.line(only), "docs.onlyIncludeVersions", onlyWhenRun)
	default:
		names = slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(only.Strings(), name) })
	}
	return names
}

// released returns the version that is published in place of the current one, or "".
func (f *navFile) released(settings *tree.Node, versions string) string {
	names := f.publishedVersions(settings, versions)
	if !f.withoutCurrent(settings, names) {
		return ""
	}
	if last := settings.Get("lastVersion").String(); slices.Contains(names, last) {
		return last
	}
	return names[0]
}

// spaced inserts "-" between the humps of a camel-case name and removes a final
// "Sidebar".
func spaced(name string) string {
	name = strings.TrimSuffix(name, "Sidebar")
	var b strings.Builder
	for i, r := range name {
		if i > 0 && 'A' <= r && r <= 'Z' {
			b.WriteByte('-')
		}
		b.WriteRune(r)
	}
	return strings.ToLower(b.String())
}

// sidebar reads the items of a sidebar: a list, or an object of categories.
func (f *navFile) sidebar(v *tree.Node, depth int) []navEntry {
	if v == nil || depth > maxNavDepth {
		return nil
	}
	if v.Kind == js.Unknown {
		f.unread(v)
		return nil
	}
	if v.Get("type") != nil {
		return f.sidebarItem(v, depth)
	}
	entries := flatten(v.Items, func(item *tree.Node) []navEntry {
		return f.sidebarItem(item, depth)
	})
	for _, m := range v.Members {
		if items := f.sidebar(m.Value, depth+1); items != nil {
			entries = append(entries, navEntry{
				title: m.Key,
				items: items,
				line:  f.line(m.Value),
			})
		}
	}
	return entries
}

// sidebarItem reads the id of a document, or an item by its type.
func (f *navFile) sidebarItem(v *tree.Node, depth int) []navEntry {
	e := navEntry{
		title: v.Get("label").String(),
		line:  f.line(v),
	}
	if v.Is(tree.String) {
		e.ref = v.Text
		return []navEntry{e}
	}
	switch v.Get("type").String() {
	case "doc", "ref":
		e.ref = v.Get("id").String()
	case "link":
		e.ref = v.Get("href").String()
		if !isExternal(e.ref) {
			return nil // a page of the web site
		}
	case "autogenerated":
		e.title = ""
		e.dir = true
		e.ref = cmp.Or(strings.Trim(v.Get("dirName").String(), "/"), ".")
	case "category":
		e.items = f.sidebar(v.Get("items"), depth+1)
		e.ref = v.Get("link", "id").String()
	case "html":
		return nil
	default:
		return f.sidebar(v, depth+1)
	}
	return []navEntry{e}
}
