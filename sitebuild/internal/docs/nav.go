package docs

import (
	"cmp"
	"path"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/order"
)

// config is the configuration read from the files of a documentation system.
type config struct {
	// system is the documentation system that the configuration belongs to.
	system string
	// root is the folder of the documents, relative to the folder being read.
	root                         string
	title, description, language string
	// file is the navigation file, for findings.
	file string
	// outside says why the documents cannot be read: they are outside of the folder.
	outside string
	// folder is the folder being read, relative to that of file if that is outside, or "".
	folder string
	// nav is the navigation; found are findings about the file.
	nav   []navEntry
	found []check.Finding

	published published
	// headings is how the system names headings.
	headings    headingSettings
	unpublished unpublished
	hugo        hugoSettings
	plugins     plugins
}

// navEntry is an entry as written in a navigation file.
type navEntry struct {
	// title is empty if the page's own title is shown.
	title string
	// ref names a page by file, id or address. An external ref is a URL. If dir is set, it
	// is a folder whose pages are all included here.
	ref   string
	dir   bool
	line  int
	items []navEntry
}

// note adds a finding about a navigation file.
func (c *config) note(file string, line int, severity check.Severity, format string, args ...any) {
	c.found = append(c.found, finding(ruleNavigation.As(severity), file, line, "",
		format, args...))
}

// navigate builds the navigation and sorts the pages in its order.
func (r *reader) navigate(pages []*Page) {
	r.set.Pages = pages // pages it does not name keep their order
	for _, f := range r.config.found {
		f.File = r.place(f.File)
		r.set.Report.Add(f)
	}
	seen := make(map[*Page]bool)
	if r.config.nav != nil {
		r.set.Nav = r.navItems(r.config.nav, seen, 0)
	} else if r.system == "hugo" {
		r.set.Nav = r.hugoMenu(pages, seen)
	}
	if r.set.Nav == nil {
		clear(seen)
		r.set.Nav = r.folderNav(r.config.root, pages, seen)
	}
	r.set.Pages = make([]*Page, 0, len(pages))
	listed := make(map[*Page]bool)
	var list func(items []*NavItem)
	list = func(items []*NavItem) {
		for _, item := range items {
			if item.Page != nil && !listed[item.Page] {
				listed[item.Page] = true
				r.set.Pages = append(r.set.Pages, item.Page)
			}
			list(item.Items)
		}
	}
	list(r.set.Nav)
	for _, p := range pages {
		if !listed[p] {
			r.set.Pages = append(r.set.Pages, p)
		}
	}
}

// maxNavDepth bounds how deep entries are nested.
const maxNavDepth = 20

// navItems resolves entries to pages, and adds those to seen. Entries of hidden and missing
// pages are skipped.
func (r *reader) navItems(entries []navEntry, seen map[*Page]bool, depth int) []*NavItem {
	if depth > maxNavDepth {
		return nil
	}
	var items []*NavItem
	for _, e := range entries {
		if e.dir {
			items = append(items, r.folderNav(path.Join(r.config.root, e.ref),
				r.set.Pages, seen)...)
			continue
		}
		item := &NavItem{Title: e.title}
		if e.ref != "" && isExternal(e.ref) {
			item.URL = e.ref
		} else if e.ref != "" {
			item.Page = r.navPage(e)
		}
		if item.Page != nil {
			seen[item.Page] = true
			item.Title = cmp.Or(item.Title, item.Page.front.label, item.Page.Title)
		}
		item.Items = r.navItems(e.items, seen, depth+1)
		if item.Page == nil && item.URL == "" && len(item.Items) == 0 {
			continue // for a hidden or missing page
		}
		item.Title = cmp.Or(item.Title, item.URL)
		items = append(items, item)
	}
	return items
}

// navPage returns the page that an entry names, or nil with a finding.
func (r *reader) navPage(e navEntry) *Page {
	ref := strings.TrimPrefix(e.ref, "/")
	ref, _, _ = strings.Cut(ref, "#")
	ref, _, _ = strings.Cut(ref, "?")
	ref = strings.TrimPrefix(ref, "./")
	for _, address := range []string{path.Join(r.config.root, ref), ref, strings.TrimSuffix(ref, "/")} {
		if p := r.at(strings.TrimSuffix(address, "/")); p != nil {
			return p
		}
	}
	if strings.HasPrefix(e.ref, "/") {
		if p := r.resolve(&Page{
			front: &frontMatter{},
			File:  "x.md",
			ID:    "x",
		}, e.ref); p != nil {
			return p
		}
	}
	for _, name := range []string{
		path.Join(r.config.root, ref),
		path.Join(r.config.root, ref+".md"),
		path.Join(r.config.root, ref+".mdx"),
	} {
		if _, ok := r.files[name]; ok {
			return nil // hidden, or not a document
		}
	}
	r.set.Report.Add(finding(ruleNavMissing, r.place(r.config.file), e.line, "",
		"the navigation names %s, which is not a page in the folder", e.ref))
	return nil
}

// folder is one level of the navigation derived from folders.
type folder struct {
	// path is relative to the documents; index is the page of the folder itself.
	path  string
	index *Page
	pages []*Page
	subs  []*folder
	label folderLabel
}

// folderLabel is the content of a folder's _category_.json.
type folderLabel struct {
	// title, position and hidden are from a file that describes the folder, such as
	// _category_.json.
	title      string
	position   float64
	positioned bool
	hidden     bool
}

// folderNav builds the navigation from the folders below root: in each, its own page
// first, then pages and folders by position and name.
func (r *reader) folderNav(root string, pages []*Page, seen map[*Page]bool) []*NavItem {
	if root == "." {
		root = ""
	}
	folders := make(map[string]*folder)
	var at func(dir string) *folder
	at = func(dir string) *folder {
		if f := folders[dir]; f != nil {
			return f
		}
		f := &folder{
			path:  dir,
			label: r.folderLabel(dir),
		}
		folders[dir] = f
		if dir != root {
			parent := path.Dir(dir)
			if parent == "." {
				parent = ""
			}
			up := at(parent)
			up.subs = append(up.subs, f)
		}
		return f
	}
	for _, p := range pages {
		if root != "" && !strings.HasPrefix(p.File, root+"/") || seen[p] {
			continue
		}
		seen[p] = true
		dir := path.Dir(p.File)
		if dir == "." {
			dir = ""
		}
		f := at(dir)
		if r.isFolderPage(p.File) && f.index == nil {
			f.index = p
		} else {
			f.pages = append(f.pages, p)
		}
	}
	if folders[root] == nil {
		return nil
	}
	return r.folderItems(folders[root], true)
}

// placed is an entry with its sort keys.
type placed struct {
	// item is an entry to sort, by position where it has one, otherwise by name.
	item       *NavItem
	position   float64
	positioned bool
	name       string
}

// folderItems returns the pages and subfolders of a folder in order. The page of the folder
// itself comes first at the top; below, it is that of the folder's item.
func (r *reader) folderItems(f *folder, top bool) []*NavItem {
	var list []placed
	if f.index != nil && top {
		list = append(list, placed{
			&NavItem{
				Title: cmp.Or(f.index.front.label, f.index.Title),
				Page:  f.index,
			},
			-1e18,
			true,
			"",
		})
	}
	for _, p := range f.pages {
		fm := p.front
		list = append(list, placed{
			&NavItem{
				Title: cmp.Or(fm.label, p.Title),
				Page:  p,
			},
			fm.position,
			fm.positioned,
			path.Base(p.File),
		})
	}
	for _, sub := range f.subs {
		if sub.label.hidden {
			continue
		}
		name := path.Base(sub.path)
		item := &NavItem{
			Title: sub.label.title,
			Page:  sub.index,
			Items: r.folderItems(sub, false),
		}
		entry := placed{item, sub.label.position, sub.label.positioned, name}
		if sub.index != nil {
			item.Title = cmp.Or(item.Title, sub.index.front.label, sub.index.Title)
			if !entry.positioned {
				entry.position = sub.index.front.position
				entry.positioned = sub.index.front.positioned
			}
		}
		if !entry.positioned && r.system == renderedSystem {
			entry.position, entry.positioned = sub.earliest()
		}
		item.Title = cmp.Or(item.Title, titleOf(name+".md"))
		list = append(list, entry)
	}
	order.StableBy(list, func(a, b placed) int {
		if a.positioned != b.positioned {
			if a.positioned {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.position, b.position), naturally(a.name, b.name))
	})
	items := make([]*NavItem, len(list))
	for i, p := range list {
		items[i] = p.item
	}
	return items
}

// naturally compares names; leading numbers are compared as numbers.
func naturally(a, b string) int {
	x := leadingNumber(a)
	y := leadingNumber(b)
	if x >= 0 && y >= 0 {
		if c := cmp.Compare(x, y); c != 0 {
			return c
		}
	}
	return cmp.Or(strings.Compare(strings.ToLower(a), strings.ToLower(b)),
		strings.Compare(a, b))
}

// leadingNumber returns the number at the start of a name, or -1.
func leadingNumber(s string) int {
	n := 0
	digits := 0
	for digits < len(s) && digits < 9 && '0' <= s[digits] && s[digits] <= '9' {
		n = n*10 + int(s[digits]-'0')
		digits++
	}
	if digits == 0 {
		return -1
	}
	return n
}
