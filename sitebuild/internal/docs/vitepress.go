package docs

import (
	"path"
	"slices"
	"strings"
)

// vitepress reads .vitepress/config.
func (d *detector) vitepress() *config {
	var names []string
	for _, dir := range []string{".vitepress", "docs/.vitepress"} {
		names = append(names,
			variants(path.Join(dir, "config"), ".js", ".ts", ".mjs", ".mts", "/index.ts", "/index.mts", "/index.js")...)
	}
	file := d.find(names...)
	if file == "" {
		return nil
	}
	c := &config{
		system: "vitepress",
		file:   file,
	}
	if strings.HasPrefix(file, "docs/") {
		c.root = "docs"
	}
	v, src := d.js(file)
	s := &script{c, file, src, breaksOf(src)}
	if v.kind != jsObject {
		s.unread(v)
		return c
	}
	c.title, c.description, c.language = v.get("title").str(), v.get("description").str(), v.get("lang").str()
	if dir := path.Clean(v.get("srcDir").str()); dir != "." &&
		v.get("srcDir").str() != "" &&
		!strings.HasPrefix(dir, "..") {
		c.root = path.Join(c.root, dir)
	}
	bar := v.get("themeConfig", "sidebar")
	if bar.kind == jsUnknown && bar.text == "" {
		bar = v.get("locales", "root", "themeConfig", "sidebar")
	}
	c.nav = s.vitepressBar(bar, "", 0)
	return c
}

// vitepressBar reads a sidebar: a list of items, or an object of lists by the path they
// apply to.
func (s *script) vitepressBar(v *jsValue, base string, depth int) []navEntry {
	if depth > maxNavDepth {
		return nil
	}
	var entries []navEntry
	switch v.kind {
	case jsArray:
		for _, item := range v.list {
			entries = append(entries, s.vitepressItem(item, base, depth)...)
		}
	case jsObject:
		if slices.Contains(v.keys, "items") {
			return s.vitepressBar(v.get("items"), joinBase(base, v.get("base").str()), depth+1)
		}
		for _, key := range v.keys {
			entries = append(entries, s.vitepressBar(v.members[key], base, depth+1)...)
		}
	case jsUnknown:
		if v.text != "" || depth == 0 && strings.Contains(s.src, "sidebar") {
			s.unread(v)
		}
	}
	return entries
}

func (s *script) vitepressItem(v *jsValue, base string, depth int) []navEntry {
	if v.kind != jsObject {
		return s.vitepressBar(v, base, depth+1)
	}
	if own := v.get("base").str(); own != "" {
		base = own
	}
	e := navEntry{
		title: v.get("text").str(),
		ref:   v.get("link").str(),
		line:  s.line(v),
	}
	if v.members["link"] != nil && !isExternal(e.ref) {
		e.ref = joinBase(base, e.ref)
	}
	if v.members["items"] != nil {
		e.items = s.vitepressBar(v.get("items"), base, depth+1)
	}
	if text := v.get("text"); text.kind == jsUnknown && text.text != "" && e.ref == "" {
		s.unread(text)
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
