package docs

import (
	"github.com/slipway-mcp/slipway/check"
)

// Set is documents that have been read. It must not be changed.
type Set struct {
	Title       string
	Description string
	// Language is a code such as "en", or empty.
	Language string
	// System is whose navigation was read: "docusaurus", "mkdocs", "vitepress",
	// "mdbook", "hugo" or "llms.txt", or empty.
	System string
	// Pages are in the order of the navigation; those that it does not name
	// follow in the order of their paths.
	Pages []*Page
	// Nav is the navigation. Without a file that says one it is made of folders.
	Nav    []*NavItem
	Images []*Image
	// Report has what is wrong with the documents, with file and line.
	Report check.Report

	byID map[string]*Page
	// named is the title that a navigation file says, and place the name of where
	// the documents are.
	named, place string
	published    published
}

// Page is one document.
type Page struct {
	// ID is the path of the page in the folder without its ending; for index.md
	// and README.md, that of their folder.
	ID          string
	Title       string
	Description string
	// File is where it was read, with slashes.
	File string
	// Body is the Markdown without front matter and JSX, with links to pages as
	// docs:// URIs.
	Body string
	// Sections are the parts of Body, cut before each heading. What stands before
	// the first heading is a section without a slug.
	Sections []Section
	// Keywords are further words that search finds the page by.
	Keywords []string
	// Unsearched keeps the page out of the search.
	Unsearched bool

	front *frontMatter
	lines int             // of the File that go before Body
	extra []int           // lines that came from elsewhere before each line of Body
	slugs map[string]bool // of the sections, and other anchors
	raw   *parsed
}

// Section is a part of a page.
type Section struct {
	// Slug names the section within the page, as in the address of a heading on
	// GitHub: "changing-them", "changing-them-1".
	Slug, Heading string
	// Level is that of the heading, 1 to 6; 0 for what stands before the first.
	Level int
	// Start and End delimit the section in Body, without the sections below it.
	Start, End int
	// Text is the section without marks of Markdown.
	Text string
}

// NavItem is an entry of the navigation: a page, a group of entries, or both.
type NavItem struct {
	Title string
	Page  *Page  // or nil
	URL   string // of an entry that leads elsewhere
	Items []*NavItem
}

// Image is a picture that a page shows.
type Image struct {
	// ID is its path in the folder.
	ID       string
	MIMEType string
	Data     []byte
	Alt      string
}

// Page returns the page with that id, or nil.
func (s *Set) Page(id string) *Page { return s.byID[id] }

// Title words of a page's section, heading included, and everything below it.
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

func finding(rule string, severity check.Severity, file string, line int, message, hint string) check.Finding {
	return check.Finding{Rule: "docs/" + rule, Severity: severity, File: file, Line: line, Message: message, Hint: hint}
}
