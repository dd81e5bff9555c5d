package docs

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// navTree is the navigation with names for its groups.
type navTree struct {
	// top are the entries of the first level, and groups those with others below them,
	// which have unique names.
	top    []*NavItem
	groups []*NavItem // in order
	names  map[*NavItem]string
	taken  map[string]bool
}

// newNavTree returns the navigation with a unique name for each group. values are those of other
// arguments of get_nav: the answer for a group of that name would have the file of theirs.
func newNavTree(items []*NavItem, values ...string) *navTree {
	t := &navTree{
		top:   items,
		names: make(map[*NavItem]string),
		taken: make(map[string]bool),
	}
	for _, value := range values {
		t.taken[staticmcp.EncodeName(value)] = true
	}
	t.name(items, "")
	return t
}

// name gives each group a name: the slugs of the titles on the path to it.
func (t *navTree) name(items []*NavItem, above string) {
	for _, item := range items {
		if len(item.Items) == 0 {
			continue
		}
		base := cmp.Or(slugOf(item.Title), "group")
		if above != "" {
			base = above + "/" + base
		}
		name := base
		for n := 1; t.taken[name] || t.taken[staticmcp.EncodeName(name)]; n++ {
			name = base + "-" + strconv.Itoa(n)
		}
		t.taken[name] = true
		t.names[item] = name
		t.groups = append(t.groups, item)
		t.name(item.Items, name)
	}
}

// answers yields the answers of get_nav, which texts call tool: the top level, and each group.
func (t *navTree) answers(limit int, tool string) iter.Seq2[*sitewriter.Answer, error] {
	return func(yield func(*sitewriter.Answer, error) bool) {
		if !yield(sitewriter.Text(toolNav, nil, t.text(t.top, limit, tool)), nil) {
			return
		}
		for _, g := range t.groups {
			a := sitewriter.Text(toolNav, map[string]string{"group": t.names[g]},
				"# "+g.Title+"\n\n"+t.text(g.Items, limit, tool))
			a.Title = g.Title
			if !yield(a, nil) {
				return
			}
		}
	}
}

// text writes items as a list, as deep as fits in limit bytes; deeper groups are listed
// with the name to call the tool with.
func (t *navTree) text(items []*NavItem, limit int, tool string) string {
	deepest := depthOf(items)
	for depth := deepest; ; depth-- {
		var b strings.Builder
		t.write(&b, items, 0, depth)
		if b.Len() <= limit || depth <= 1 {
			if depth < deepest {
				b.WriteString("\nMore is below the groups: " + tool + " with group.\n")
			}
			return b.String()
		}
	}
}

// depthOf returns the number of levels.
func depthOf(items []*NavItem) int {
	deepest := 0
	for _, item := range items {
		deepest = max(deepest, 1+depthOf(item.Items))
	}
	return deepest
}

// write writes items as a list, and those below depth as names of groups.
func (t *navTree) write(b *strings.Builder, items []*NavItem, level, depth int) {
	for _, item := range items {
		b.WriteString(strings.Repeat("  ", level) + "- " + item.Title)
		switch {
		case item.Page != nil:
			b.WriteString(" — " + item.Page.ID)
		case item.URL != "":
			b.WriteString(" — " + item.URL)
		}
		if len(item.Items) > 0 && level+1 >= depth {
			fmt.Fprintf(b, " (group %s: %d pages)", t.names[item], countPages(item.Items))
		}
		b.WriteByte('\n')
		if level+1 < depth {
			t.write(b, item.Items, level+1, depth)
		}
	}
}

// countPages returns the number of pages among items and below.
func countPages(items []*NavItem) int {
	n := 0
	for _, item := range items {
		if item.Page != nil {
			n++
		}
		n += countPages(item.Items)
	}
	return n
}

// llms returns the text of llms.txt: a summary of the site for programs that read only
// that. With full, it links to llms-full.txt.
func (m *maker) llms(full bool) []byte {
	var b strings.Builder
	b.WriteString("# " + m.named(m.title()) + "\n")
	if m.set.Description != "" {
		b.WriteString("\n> " + m.set.Description + "\n")
	}
	if m.base() == "" {
		b.WriteString("\nEach link leads to a JSON file; its member `text` is the page in Markdown.\n")
	}
	seen := make(map[*Page]bool)
	var loose, rest []*Page
	for _, item := range m.nav.top {
		if len(item.Items) == 0 && item.Page != nil && !seen[item.Page] {
			seen[item.Page] = true
			loose = append(loose, item.Page)
		}
	}
	m.llmsSection(&b, "Documentation", loose)
	for _, item := range m.nav.top {
		if len(item.Items) > 0 {
			m.llmsSection(&b, item.Title, pagesOf(item, seen, nil))
		}
	}
	for _, p := range m.set.Pages {
		if !seen[p] {
			rest = append(rest, p)
		}
	}
	m.llmsSection(&b, "Other pages", rest)
	if full {
		b.WriteString("\n## Optional\n\n- [All pages in one file](" + llmsFullName + ")\n")
	}
	return []byte(b.String())
}

const llmsFullName = "llms-full.txt"

// maxFull is the largest llms-full.txt, in bytes. More fits into no model, and hosts
// limit the size of a file.
var maxFull = 4 << 20

// llmsFull returns the Markdown of all pages in the order of the navigation, or nil if
// that is longer than maxFull.
func (m *maker) llmsFull() ([]byte, error) {
	size := 0
	for _, p := range m.set.Pages {
		size += p.size()
	}
	if size > maxFull {
		return nil, nil
	}
	var b bytes.Buffer
	for i, p := range m.set.Pages {
		if i > 0 {
			b.WriteString("\n---\n\n")
		}
		whole, err := p.withBody(new([]byte))
		if err != nil {
			return nil, err
		}
		b.WriteString(m.linked(p, m.absolute(whole.titled())))
		if b.Len() > maxFull {
			return nil, nil
		}
	}
	return b.Bytes(), nil
}

// isOwnList reports whether a name is that of a file that llms.txt leads to and that is no page:
// llms-full.txt, or the llms.txt of another edition.
func isOwnList(name string) bool {
	return strings.HasPrefix(name, "llms-") && strings.HasSuffix(name, ".txt")
}

// pagesOf appends the pages of an item and below that are not seen yet.
func pagesOf(item *NavItem, seen map[*Page]bool, list []*Page) []*Page {
	if item.Page != nil && !seen[item.Page] {
		seen[item.Page] = true
		list = append(list, item.Page)
	}
	for _, sub := range item.Items {
		list = pagesOf(sub, seen, list)
	}
	return list
}

// llmsSection writes a section with links to pages, unless there are none.
func (m *maker) llmsSection(b *strings.Builder, title string, pages []*Page) {
	if len(pages) == 0 {
		return
	}
	b.WriteString("\n## " + title + "\n\n")
	for _, p := range pages {
		fmt.Fprintf(b, "- [%s](%s)",
			strings.NewReplacer("[", "(", "]", ")").Replace(p.Title), m.address(p))
		if p.Description != "" {
			b.WriteString(": " + p.Description)
		}
		b.WriteByte('\n')
	}
}
