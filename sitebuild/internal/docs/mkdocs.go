package docs

import (
	"cmp"
	"io/fs"
	"path"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/tree"
)

// mkdocs reads mkdocs.yml.
func (d *detector) mkdocs() *config {
	file := d.find("mkdocs.yml", "mkdocs.yaml")
	if file == "" {
		return nil
	}
	c := &config{
		system: "mkdocs",
		file:   file,
	}
	text := d.read(file)
	f := &navFile{
		config: c,
		name:   file,
		text:   text,
		breaks: breaksOf(text),
	}
	root, problems := tree.Parse([]byte(text), tree.YAML)
	if root == nil {
		fault := problems[len(problems)-1]
		c.note(file, 1+f.breaks.before(fault.Offset), check.Warning,
			"%s is not YAML: %s", file, fault.Message)
	} else if root.Is(tree.Null) {
		c.note(file, 1, check.Warning, "%s is not YAML: it is empty", file)
	}
	if root.Fields() == nil {
		c.root = d.mkdocsRoot("docs")
		return c
	}
	c.title = yamlText(root.Get("site_name"))
	c.description = yamlText(root.Get("site_description"))
	d.mkdocsDir = path.Clean(cmp.Or(yamlText(root.Get("docs_dir")), "docs"))
	c.root = d.mkdocsRoot(d.mkdocsDir)
	c.language = yamlText(root.Get("theme", "language"))
	c.published.base = publishedAt(yamlText(root.Get("site_url")))
	if yamlText(root.Get("use_directory_urls")) == "false" {
		c.published.ending = ".html"
	}
	c.nav = f.mkdocsNav(root.Get("nav"), 0)
	return c
}

// mkdocsRoot returns the folder of the documents: the configured one, or the one being
// read if that does not exist.
func (d *detector) mkdocsRoot(dir string) string {
	if d.docs != "" || dir == "." || !fs.ValidPath(dir) || !d.hasDir(dir) {
		return ""
	}
	return dir
}

// yamlText returns the text of a YAML scalar.
func yamlText(n *tree.Node) string {
	if n == nil {
		return ""
	}
	return strings.TrimSpace(n.String())
}

// mkdocsNav reads the list of entries: files, or titles with a file or a list.
func (f *navFile) mkdocsNav(list *tree.Node, depth int) []navEntry {
	if list == nil || depth > maxNavDepth {
		return nil
	}
	return flatten(list.Elements(), func(item *tree.Node) []navEntry {
		if ref := yamlText(item); ref != "" {
			return []navEntry{{
				ref:  ref,
				line: f.line(item),
			}}
		}
		var entries []navEntry
		for _, m := range item.Fields() {
			entries = append(entries, navEntry{
				title: strings.TrimSpace(m.Key),
				ref:   yamlText(m.Value),
				line:  1 + f.breaks.before(m.KeyStart),
				items: f.mkdocsNav(m.Value, depth+1),
			})
		}
		return entries
	})
}
