package docs

import (
	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/pagecache"
)

// Set is a collection of documents that have been read. It must not be modified.
type Set struct {
	// Title and Description are those of the whole documentation.
	Title       string
	Description string
	// Language is a code such as "en", or empty.
	Language string
	// System is the documentation system whose navigation was read: "docusaurus", "mkdocs",
	// "vitepress", "mdbook", "hugo", "llms.txt", or "html" for rendered pages; otherwise empty.
	System string
	// Pages are in navigation order; those not in the navigation follow, sorted by path.
	Pages []*Page
	// Nav is the navigation. Without a navigation file it is derived from the folders.
	Nav    []*NavItem
	Images []*Image
	// Report has the problems of the documents, with file and line.
	Report check.Report

	used usage // by the documents

	byID map[string]*Page
	// named is the title from a navigation file, and place the name of the documents'
	// location.
	named, place string
	published    published
	cache        *cache

	// others and unsettled are for a record, see [reader.otherFiles], and prefixed returns the
	// name of a file in findings.
	others    pagecache.Key
	unsettled bool
	prefixed  func(file string) string
}

// Page is one document.
type Page struct {
	// ID is the path of the page in the folder without its extension; for index.md and
	// README.md, that of their folder.
	ID string
	// Title is from front matter, the first heading or the file name; Description is a
	// sentence, or empty.
	Title       string
	Description string
	// File is the file it was read from, with slashes.
	File string
	// Body is the Markdown without front matter and JSX, with links to pages as docs://
	// URIs. It is empty if the texts are in a cache, see Options.CacheDir.
	Body string
	// Sections are the parts of Body, cut before each heading. The text before the first
	// heading is a section without a slug. They are empty if the texts are in a cache.
	Sections []Section
	// Keywords are additional words by which search finds the page.
	Keywords []string
	// Anchors are the texts of links to the page from other pages.
	Anchors []string
	// Links are the IDs of the pages that the page links to, one for each link.
	Links []string
	// Unsearched excludes the page from search.
	Unsearched bool

	// place is what precedes ID in the URI: that of the edition, such as "@2.1/", or "".
	place string
	// published is the path of its address, see [reader.publishedPath].
	published string
	// front is kept until the navigation is known, and raw until the page is complete.
	front *frontMatter
	lines int             // number of lines of File before Body
	extra []int           // included lines before each line of Body
	slugs map[string]bool // of the sections, and other anchors
	raw   *parsed
	slots []slot // until links are resolved
	edits []edit // of the links, until they are applied
	// entry has the texts of a page in the cache: Body is empty then, and so are the Sections once
	// links are resolved, and edits are kept. key is that of the entry.
	entry *pagecache.Entry
	key   pagecache.Key
	// includes is true if the page depends on other files.
	includes bool
	plugins  []string // of MkDocs, whose parts of the page are missing
	// recorded is what a record needs, or nil if none is wanted.
	recorded *recordedPage
}

// Section is a part of a page.
type Section struct {
	// Slug identifies the section within the page. It is the id that the documentation system gives
	// the heading, or GitHub without a system: "changing-them", "changing-them-1".
	Slug, Heading string
	// Level is the heading's level, 1 to 6; 0 for the text before the first heading.
	Level int
	// Start and End delimit the section in Body, without its subsections.
	Start, End int
	// Text is the section without Markdown markup.
	Text string
}

// NavItem is an entry of the navigation: a page, a group of entries, or both.
type NavItem struct {
	// Title is the text of the entry, and Items are the entries below it.
	Title string
	Page  *Page  // or nil
	URL   string // of an external entry
	Items []*NavItem
}

// Image is an image on a page.
type Image struct {
	// ID is its path in the folder.
	ID string
	// MIMEType is by content; Alt is the text that the first page has for it.
	MIMEType string
	Data     []byte
	Alt      string
	place    string // as that of a page
}

// Page returns the page with that id, or nil.
func (s *Set) Page(id string) *Page { return s.byID[id] }

// through returns the range of a page's section in Body, including its heading and all
// subsections.
func (p *Page) through(i int) (start, end int) {
	level := p.Sections[i].Level
	end = p.Sections[i].End
	if level == 0 {
		return p.Sections[i].Start, end
	}
	for _, s := range p.Sections[i+1:] {
		if s.Level <= level {
			break
		}
		end = s.End
	}
	return p.Sections[i].Start, end
}

// finding returns a finding about a line of a file; 0 means the whole file.
func finding(rule check.Rule, file string, line int, hint, format string, args ...any) check.Finding {
	return check.Reporter{File: file}.AtLine(line, 0).Finding(rule, "", hint,
		format, args...)
}
