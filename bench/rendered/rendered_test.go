// Package rendered measures how much of rendered documentation is kept: the headings and the
// code of real pages, which other programs made.
package rendered

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/slipway-mcp/slipway/sitebuild"
)

// The folder has a folder of pages for each site. scripts/rendered fills it, and another with
// Word documents of the same pages.
const (
	folderVariable    = "SLIPWAY_RENDERED"
	convertedVariable = "SLIPWAY_CONVERTED"
)

// least is the share of headings and of code blocks that every site keeps.
const least = 0.99

func TestRealSites(t *testing.T) {
	folder := os.Getenv(folderVariable)
	if folder == "" {
		t.Skip(folderVariable + " names no folder; scripts/rendered fills one")
	}
	sites, err := os.ReadDir(folder)
	if err != nil || len(sites) == 0 {
		t.Fatalf("no sites in %s (%v)", folder, err)
	}
	for _, site := range sites {
		site := filepath.Join(folder, site.Name())
		t.Run(filepath.Base(site), func(t *testing.T) { measure(t, site, site) })
	}
}

// TestConverted compares pages with the Word documents that another program made of them.
func TestConverted(t *testing.T) {
	folder := os.Getenv(convertedVariable)
	if folder == "" {
		t.Skip(convertedVariable + " names no folder; scripts/rendered fills one")
	}
	for site, pages := range map[string]string{"mkdocs": "", "python": "tutorial"} {
		t.Run(site, func(t *testing.T) {
			measure(t, filepath.Join(folder, site), filepath.Join(os.Getenv(folderVariable), site, pages))
		})
	}
}

// share counts what was kept.
type share struct{ kept, all int }

func (s share) of() float64 { return float64(s.kept) / float64(max(1, s.all)) }

// measure builds a site from a folder and compares each page with its file in sources.
func measure(t *testing.T, folder, sources string) {
	start := time.Now()
	pages := read(t, folder)
	took := time.Since(start)
	var headings, code share
	var lost []string
	for id, text := range pages {
		source := sourceOf(sources, id)
		if source == nil {
			continue
		}
		root, err := html.Parse(bytes.NewReader(source))
		if err != nil {
			t.Fatal(err)
		}
		lines := make(map[string]int)
		for line := range strings.SplitSeq(text, "\n") {
			lines[letters(line)]++
		}
		all := letters(text)
		for n := range root.Descendants() {
			if n.Type != html.ElementNode || isAround(n) {
				continue
			}
			switch n.Data {
			case "h1", "h2", "h3", "h4", "h5", "h6":
				want := letters(textOf(n, "section-number"))
				if want == "" {
					continue
				}
				if numbered := letters(textOf(n)); lines[numbered] > 0 { // in a format without classes
					want = numbered
				}
				headings.all++
				if lines[want] > 0 {
					lines[want]--
					headings.kept++
				} else {
					lost = append(lost, id+": "+strings.Join(strings.Fields(textOf(n)), " "))
				}
			case "pre":
				code.all++
				if strings.Contains(all, letters(textOf(n))) {
					code.kept++
				} else {
					lost = append(lost, id+": code "+strings.Join(strings.Fields(textOf(n)), " "))
				}
			}
		}
	}
	t.Logf("%d pages in %s: %d of %d headings (%.2f %%), %d of %d code blocks (%.2f %%)",
		len(pages), took.Round(time.Millisecond), headings.kept, headings.all, 100*headings.of(),
		code.kept, code.all, 100*code.of())
	if len(pages) < 5 || headings.all < 20 {
		t.Errorf("only %d pages with %d headings were read", len(pages), headings.all)
	}
	if headings.of() < least || code.all > 0 && code.of() < least {
		t.Errorf("less than %.0f %% are kept; without: %.2000q", 100*least, lost)
	}
}

// read returns the text of each page, by its path.
func read(t *testing.T, folder string) map[string]string {
	options := &sitebuild.InputOptions{As: "docs"}
	options.Documents.PartBytes = 64 << 20
	options.Documents.NoSections = true
	options.Documents.TermFiles = -1
	options.Documents.MaxImageBytes = -1
	input, err := sitebuild.Open(folder, options)
	if err != nil {
		t.Fatal(err)
	}
	site, err := input.Site(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pages := make(map[string]string)
	for a, err := range site.Answers {
		if err != nil {
			t.Fatal(err)
		}
		var arguments struct{ Path string }
		var result struct{ Content []struct{ Text string } }
		if a.Tool == "get_page" && json.Unmarshal(a.Arguments, &arguments) == nil &&
			json.Unmarshal(a.Result, &result) == nil && len(result.Content) > 0 {
			pages[arguments.Path] = result.Content[0].Text
		}
	}
	return pages
}

// sourceOf returns the file of a page, or nil.
func sourceOf(folder, id string) []byte {
	if id == "home" {
		id = "index"
	}
	for _, name := range []string{id + ".html", id + "/index.html"} {
		if text, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(name))); err == nil {
			return text
		}
	}
	return nil
}

// around are names of elements and classes outside of the content.
var around = []string{"nav", "aside", "footer", "template", "sidebar", "navigation", "modal", "toc", "search",
	"related",
	"dialog", "sphinxsidebarwrapper", "column2", "hd", "apicontent-header", "mobile-topbar", "header-container"}

// isAround reports whether an element is outside of the content.
func isAround(n *html.Node) bool {
	for up := range n.Ancestors() {
		names := []string{up.Data}
		for _, a := range up.Attr {
			if a.Key == "class" || a.Key == "id" || a.Key == "role" {
				names = append(names, strings.Fields(a.Val)...)
			}
		}
		for _, name := range names {
			for _, other := range around {
				if name == other {
					return true
				}
			}
		}
	}
	return false
}

// textOf returns the text of a node, without links to the heading itself.
func textOf(n *html.Node, without ...string) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode && c.Parent != nil && !isMark(c.Parent, without...) {
			b.WriteString(c.Data)
		}
	}
	return b.String()
}

// isMark reports whether an element belongs to a heading only for the browser, or has a class in without.
func isMark(n *html.Node, without ...string) bool {
	for up := n; up != nil && up.Type == html.ElementNode; up = up.Parent {
		for _, a := range up.Attr {
			if a.Key == "class" && (strings.Contains(a.Val, "src") || strings.Contains(a.Val, "out-of-band") ||
				strings.Contains(a.Val, "hideme") || slices.Contains(without, a.Val)) {
				return true
			}
		}
		if up.Data == "button" || up.Data == "template" {
			return true
		}
	}
	return false
}

// letters returns the letters and digits of a text, so that markup does not count.
func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}, text)
}
