package docs

import (
	"path"
	"strings"

	"github.com/slipway-mcp/slipway/internal/lazyregexp"
)

// homeID is the id of the top page. It is not "index", because some readers of sites
// treat a file of that name as a listing.
const homeID = "home"

// isIndex reports whether a document of this name is usually the page of its folder.
func isIndex(name string) bool {
	switch strings.ToLower(name) {
	case "index", "readme", "_index":
		return true
	}
	return false
}

// stemOf returns the name of a file without its extension.
func stemOf(file string) string { return strings.TrimSuffix(path.Base(file), path.Ext(file)) }

// isFolderPage reports whether the document in a file is the page of its folder. An index is
// preferred to a README, which is an ordinary page for some systems.
func (r *reader) isFolderPage(file string) bool {
	name := stemOf(file)
	if !strings.EqualFold(name, "readme") {
		return isIndex(name)
	}
	switch {
	case r.system == "vitepress" || r.system == "hugo":
		return false
	case r.system == "mkdocs" && name != "README":
		return false
	}
	return !r.hasIndex(path.Dir(file), isRendered(file))
}

// hasIndex reports whether a folder has an index: an HTML page, if the documents are rendered.
func (r *reader) hasIndex(dir string, rendered bool) bool {
	endings := []string{".md", ".mdx", ".markdown", ".ipynb"}
	if rendered {
		endings = []string{".html", ".htm"}
	}
	for _, name := range append(variants("index", endings...), variants("_index", endings...)...) {
		if _, ok := r.files[path.Join(dir, name)]; ok {
			return true
		}
	}
	return false
}

// isReplaced reports whether MkDocs does not publish the README of a folder, because of an index.
func (r *reader) isReplaced(file string) bool {
	_, ok := r.files[path.Join(path.Dir(file), "index.md")]
	return ok && r.system == "mkdocs" && path.Base(file) == "README.md"
}

// below returns the path of a file from the folder of the documents.
func (r *reader) below(file string) string { return strings.TrimPrefix(file, r.config.root+"/") }

// isHome reports whether the document in a file is the top page.
func (r *reader) isHome(file string) bool {
	return path.Dir(r.below(file)) == "." && r.isFolderPage(file)
}

// idOf returns the id of the page in a file.
func (r *reader) idOf(file string) string {
	id := strings.TrimSuffix(r.below(file), path.Ext(file))
	if r.isFolderPage(file) {
		if id = path.Dir(id); id == "." {
			return homeID
		}
	}
	if r.system == "docusaurus" {
		return r.withoutNumbers(id)
	}
	return id
}

// publishedPath returns the path of a page below the address of the documents, as the system
// publishes it: "" for the top page.
func (r *reader) publishedPath(p *Page) string {
	bare := strings.TrimSuffix(r.below(p.File), path.Ext(p.File))
	where := &r.config.published
	switch {
	case r.system == renderedSystem:
		if r.isFolderPage(p.File) {
			return strings.TrimPrefix(path.Dir(p.File)+"/", "./")
		}
		return p.File
	case r.system == "llms.txt":
		return notHome(p.ID)
	case r.system == "docusaurus":
		return r.docusaurusPath(bare, p.front)
	case r.system == "hugo":
		return hugoPath(p)
	case !r.isFolderPage(p.File):
		return bare + where.ending
	case path.Dir(bare) == ".":
		return ""
	}
	return path.Dir(bare) + where.index
}

// notHome returns the path of the page with an id.
func notHome(id string) string {
	if id == homeID {
		return ""
	}
	return id
}

// hugoPath is publishedPath for Hugo.
func hugoPath(p *Page) string {
	id, slug := p.ID, p.front.slug
	switch {
	case strings.HasPrefix(slug, "/"):
		return strings.Trim(slug, "/")
	case id == homeID:
		return ""
	case slug != "":
		id = path.Join(path.Dir(id), slug)
	}
	return strings.ToLower(strings.ReplaceAll(id, " ", "-"))
}

// docusaurusPath is publishedPath for Docusaurus, where a document with the name of its folder is
// the page of the folder, too. bare is the file without its extension.
func (r *reader) docusaurusPath(bare string, front *frontMatter) string {
	folder, name := path.Split(bare)
	folder = strings.TrimSuffix(folder, "/")
	isFolder := folder != "" && strings.EqualFold(name, path.Base(folder))
	switch strings.ToLower(name) {
	case "index", "readme":
		isFolder = true
	}
	at := "/" + r.withoutNumbers(folder)
	switch {
	case strings.HasPrefix(front.slug, "/"):
		at = front.slug
	case front.slug != "":
		at = path.Join(at, front.slug)
	case isFolder:
	case front.id != "":
		at = path.Join(at, front.id)
	default:
		at = path.Join(at, r.withoutNumbers(name))
	}
	return strings.Trim(at, "/")
}

// withoutNumbers removes the numbers at the start of the names in a path, unless Docusaurus keeps
// them.
func (r *reader) withoutNumbers(name string) string {
	if r.config.published.numbered {
		return name
	}
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = unnumbered(part)
	}
	return strings.Join(parts, "/")
}

var (
	// datedName matches names that begin with a date or a version, and numberedName those that
	// begin with a number, as Docusaurus distinguishes them.
	datedName    = lazyregexp.New(`^\d+[-_.]\d+`)
	numberedName = lazyregexp.New(`^\d+\s*[-_.]+\s*([^-_.\s].*)$`)
)

// unnumbered removes a number that orders a name, as in "01-intro". Dates and versions are parts
// of the name.
func unnumbered(name string) string {
	if datedName().MatchString(name) {
		return name
	}
	if m := numberedName().FindStringSubmatch(name); m != nil {
		return m[1]
	}
	return name
}

// withoutEnding returns a published path as paths of pages are: without the ending of a page and the
// index of a folder.
func withoutEnding(published string) string {
	bare, ok := strings.CutSuffix(strings.TrimSuffix(published, "/"), ".html")
	if ok && (bare == "index" || strings.HasSuffix(bare, "/index")) {
		bare = strings.TrimSuffix(strings.TrimSuffix(bare, "index"), "/")
	}
	return bare
}
