package docs

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/lazyregexp"
	"github.com/slipway-mcp/slipway/internal/tree"
)

// mkdocs reads mkdocs.yml.
func (d *detector) mkdocs() *config {
	file := d.find(mkdocsFiles(d.mkdocsFile)...)
	if file == "" {
		return nil
	}
	c := &config{
		system:   "mkdocs",
		file:     file,
		headings: headingSettings{separator: "-"},
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
	f.withDefaults(root, text)
	root = f.inherit(d, root, file, 1)
	c.title = yamlText(root.Get("site_name"))
	c.description = yamlText(root.Get("site_description"))
	d.mkdocsDir = path.Clean(cmp.Or(yamlText(root.Get("docs_dir")), "docs"))
	c.root = d.mkdocsRoot(d.mkdocsDir)
	if d.docs == "" && !fs.ValidPath(d.mkdocsDir) {
		c.leads("docs_dir", d.mkdocsDir)
	} else if n := root.Get("docs_dir"); n != nil && d.docs == "" && c.root == "" && d.mkdocsDir != "." {
		c.note(file, f.line(n), check.Warning, "docs_dir is %s, which has no files; the whole folder is read", d.mkdocsDir)
	}
	c.language = yamlText(root.Get("theme", "language"))
	c.published.base = publishedAt(yamlText(root.Get("site_url")))
	if yamlText(root.Get("use_directory_urls")) == "false" {
		c.published.ending = ".html"
		c.published.index = "/index.html"
	}
	c.headings = f.mkdocsHeadings(root.Get("markdown_extensions"))
	f.mkdocsUnpublished(root)
	f.mkdocsPlugins(root)
	c.nav = f.mkdocsNav(root.Get("nav"), 0)
	return c
}

// slugifyTag matches the function that an extension of Python-Markdown is configured with.
var slugifyTag = lazyregexp.New(`^slugify['"]?\s*:\s*!!python/(?:name|object/apply):([\w.]+)`)

// mkdocsHeadings returns how headings are named, from the options of the extension toc.
func (f *navFile) mkdocsHeadings(extensions *tree.Node) headingSettings {
	settings := headingSettings{separator: "-"}
	entries := append([]*tree.Node{extensions}, extensions.Elements()...)
	for _, entry := range entries {
		toc := cmp.Or(entry.Get("toc"), entry.Get("markdown.extensions.toc"))
		if separator := yamlText(toc.Get("separator")); separator != "" {
			settings.separator = separator
		}
		slugify := toc.Member("slugify")
		if slugify == nil || slugify.KeyStart > len(f.text) {
			continue
		}
		m := slugifyTag().FindStringSubmatch(f.text[slugify.KeyStart:])
		if m == nil {
			continue
		}
		switch _, name, _ := strings.Cut(m[1], ".slugs."); {
		case strings.HasSuffix(m[1], ".slugify_unicode"):
			settings.name = "mkdocs-unicode"
		case name == "slugify":
			settings.name = "pymdownx-" + cmp.Or(yamlText(slugify.Value.Get("kwds", "case")), "none")
		case name == "uslugify":
			settings.name = "pymdownx-lower"
		case name == "uslugify_cased":
			settings.name = "pymdownx-none"
		case name == "gfm":
			settings.name = "pymdownx-lower-ascii"
		}
	}
	return settings
}

// mkdocsFiles returns the names of the configuration of MkDocs: the chosen one, or by default the usual
// ones.
func mkdocsFiles(chosen string) []string {
	if chosen != "" {
		return []string{chosen}
	}
	return []string{"mkdocs.yml", "mkdocs.yaml"}
}

// leads notes that the documents are outside of the folder that is read.
func (c *config) leads(setting, dir string) {
	c.outside = fmt.Sprintf("%s in %s is %s, outside of the folder: build from that folder, or from the pages that "+
		"the generator writes", setting, c.file, dir)
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
