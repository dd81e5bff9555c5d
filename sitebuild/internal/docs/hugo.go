package docs

import (
	"cmp"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
)

// hugo reads the configuration of Hugo, or recognizes Hugo by its _index.md files.
func (d *detector) hugo() *config {
	names := append(variants("hugo", ".toml", ".yaml", ".yml", ".json"),
		variants("config", ".toml", ".yaml", ".yml", ".json")...)
	names = append(names, variants("config/_default/hugo", ".toml", ".yaml", ".yml")...)
	file := d.find(names...)
	var values map[string]any
	var err error
	folder := "content"
	if file != "" {
		values, err = decodeFile(file, d.read(file))
		folder = path.Clean(cmp.Or(str(lowered(values)["contentdir"]), folder))
	}
	if file != "" && d.docs == "" && (!fs.ValidPath(folder) || folder == "." || !d.hasDir(folder)) {
		file = "" // the configuration of another program
		folder = "content"
	}
	if file == "" && !d.hasFile("_index.md") {
		return nil
	}
	c := &config{
		system: "hugo",
		file:   file,
	}
	if d.docs == "" && d.hasDir(folder) {
		c.root = folder
	}
	if file == "" {
		return c
	}
	if err != nil {
		c.note(file, 1, check.Warning, "%s cannot be read: %v", file, err)
		return c
	}
	lower := lowered(values)
	c.title = str(lower["title"])
	c.language = cmp.Or(str(lower["defaultcontentlanguage"]), str(lower["languagecode"]))
	if kind := str(below(lower, "markup", "goldmark", "parser", "autoidtype")); kind == "github-ascii" {
		c.headings.name = "hugo-ascii"
	} else if kind = str(below(lower, "markup", "goldmark", "parser", "autoheadingidtype")); kind == "github-ascii" {
		c.headings.name = "hugo-ascii"
	}
	dir := path.Join(c.root, c.language)
	if c.root != "" && c.language != "" && d.hasDir(dir) {
		c.root = dir
	}
	c.hugoUnpublished(lower)
	if strings.HasPrefix(c.root, folder) {
		c.published.base = publishedAt(str(lower["baseurl"]))
		if truth(lower["defaultcontentlanguageinsubdir"]) {
			c.published.base = publishedAt(str(lower["baseurl"]), c.language)
		}
	}
	return c
}

// below returns the value at a path in a tree of maps, whose names may have capital letters, or nil.
func below(values any, names ...string) any {
	for _, name := range names {
		m, _ := values.(map[string]any)
		values = nil
		for key, v := range m {
			if strings.EqualFold(key, name) {
				values = v
			}
		}
	}
	return values
}

// hugoMenu builds the navigation from the menus in the front matter of pages, if enough
// pages have one.
func (r *reader) hugoMenu(pages []*Page, seen map[*Page]bool) []*NavItem {
	counts := make(map[string]int)
	for _, p := range pages {
		for name := range p.front.menus {
			counts[name]++
		}
	}
	menu := ""
	for name, n := range counts {
		if menu == "" || n > counts[menu] || n == counts[menu] && name < menu {
			menu = name
		}
	}
	if counts[menu]*2 < len(pages) || menu == "" {
		return nil
	}
	type node struct {
		item  *NavItem
		entry menuEntry
	}
	var nodes []*node
	byName := make(map[string]*node)
	for _, p := range pages {
		e, ok := p.front.menus[menu]
		if !ok {
			continue
		}
		if e.weight == 0 {
			e.weight = p.front.position
		}
		n := &node{
			item: &NavItem{
				Title: cmp.Or(e.name, p.front.label, p.Title),
				Page:  p,
			},
			entry: e,
		}
		nodes = append(nodes, n)
		seen[p] = true
		for _, name := range []string{e.id, n.item.Title, p.Title} {
			if name != "" && byName[name] == nil {
				byName[name] = n
			}
		}
	}
	slices.SortStableFunc(nodes, func(a, b *node) int {
		return cmp.Or(cmp.Compare(hugoWeight(a.entry.weight), hugoWeight(b.entry.weight)),
			strings.Compare(a.item.Title, b.item.Title))
	})
	var top []*NavItem
	for _, n := range nodes {
		parent := byName[n.entry.parent]
		if n.entry.parent == "" ||
			parent == nil ||
			parent == n ||
			slices.Contains(n.item.Items, parent.item) {
			top = append(top, n.item)
			continue
		}
		parent.item.Items = append(parent.item.Items, n.item)
	}
	return top
}

// hugoWeight sorts pages without a weight last.
func hugoWeight(w float64) float64 {
	if w == 0 {
		return 1e18
	}
	return w
}
