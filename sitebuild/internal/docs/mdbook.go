package docs

import (
	"cmp"
	"io/fs"
	"net/url"
	"path"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/lazyregexp"
)

// mdbook reads SUMMARY.md, and book.toml if it exists.
func (d *detector) mdbook() *config {
	book := d.find("book.toml")
	c := &config{
		system:    "mdbook",
		published: published{ending: ".html", index: "/index.html"},
	}
	if book != "" {
		values, err := decodeTOML(d.read(book))
		if err != nil {
			c.note(book, 1, check.Warning, "%s cannot be read: %v", book, err)
		}
		b, _ := values["book"].(map[string]any)
		c.title, c.description, c.language = str(b["title"]), str(b["description"]), str(b["language"])
		c.root = path.Clean(cmp.Or(str(b["src"]), "src"))
		if d.docs != "" || c.root == "." || !fs.ValidPath(c.root) {
			c.root = ""
		}
	}
	c.file = d.find(path.Join(c.root, "SUMMARY.md"), path.Join(d.docs, "SUMMARY.md"))
	if c.file == "" {
		return nil
	}
	c.nav = summary(d.read(c.file))
	if book != "" {
		listed := make(map[string]bool)
		listRefs(c.nav, listed)
		c.unpublished.never = append(c.unpublished.never, func(name string) bool {
			return len(listed) > 0 && isDocument(name) && !listed[name] && path.Base(name) != "SUMMARY.md"
		})
	}
	return c
}

// listRefs adds the files that entries name.
func listRefs(entries []navEntry, listed map[string]bool) {
	for _, e := range entries {
		name, _, _ := strings.Cut(e.ref, "#")
		if bare, err := url.PathUnescape(name); err == nil {
			name = bare
		}
		listed[path.Clean(name)] = true
		listRefs(e.items, listed)
	}
}

// chapter matches a chapter in SUMMARY.md.
var chapter = lazyregexp.New(`^([ \t]*)(?:[-*+]\s+)?\[((?:[^\[\]\\]|\\.|\[[^\]]*\])*)\]\(\s*<?([^()<>]*)>?\s*\)`)

// summary reads the chapters of SUMMARY.md: links, nested by indentation, under headings
// that are parts.
func summary(text string) []navEntry {
	type level struct {
		indent int
		list   *[]navEntry
	}
	var top []navEntry
	part := -1
	var stack []level
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\r\n")
		if title, ok := strings.CutPrefix(line, "# "); ok {
			if title = strings.TrimSpace(title); n == 1 || strings.EqualFold(title, "summary") {
				continue
			}
			top = append(top, navEntry{
				title: title,
				line:  n,
			})
			part = len(top) - 1
			stack = nil
			continue
		}
		m := chapter().FindStringSubmatch(line)
		if m == nil {
			continue
		}
		indent := len(strings.ReplaceAll(m[1], "\t", "    "))
		for len(stack) > 0 && stack[len(stack)-1].indent >= indent {
			stack = stack[:len(stack)-1]
		}
		list := &top
		if part >= 0 {
			list = &top[part].items
		}
		if len(stack) > 0 {
			list = stack[len(stack)-1].list
		}
		title := strings.NewReplacer("`", "", `\`, "", "**", "").Replace(m[2])
		*list = append(*list, navEntry{
			title: title,
			ref:   strings.TrimSpace(m[3]),
			line:  n,
		})
		if len(stack) < maxNavDepth {
			stack = append(stack, level{indent, &(*list)[len(*list)-1].items})
		}
	}
	return top
}
