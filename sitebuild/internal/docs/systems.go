package docs

import (
	"cmp"
	"encoding/json"
	"io"
	"io/fs"
	"path"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/slipway-mcp/slipway/check"
)

// files are the existing files, by path.
type files map[string]fs.FileInfo

// maxConfig bounds the size of a navigation file in bytes.
const maxConfig = 4 << 20

// findConfig returns the configuration in the navigation files in fsys. docs is the
// folder of the documents if it is already known, or "".
func findConfig(fsys fs.FS, there files, docs string) *config {
	d := &detector{
		fsys:  fsys,
		there: there,
		docs:  docs,
	}
	for _, look := range []func() *config{d.mkdocs, d.docusaurus, d.vitepress, d.mdbook, d.hugo} {
		if c := look(); c != nil {
			return c
		}
	}
	return &config{}
}

// detector looks for the files of documentation systems.
type detector struct {
	fsys  fs.FS
	there files
	docs  string
	// mkdocsDir is the folder configured in mkdocs.yml.
	mkdocsDir string
}

// find returns the first of the files that exists.
func (d *detector) find(names ...string) string {
	for _, name := range names {
		if _, ok := d.there[name]; ok {
			return name
		}
	}
	return ""
}

// hasDir reports whether a folder contains any files.
func (d *detector) hasDir(dir string) bool {
	for name := range d.there {
		if strings.HasPrefix(name, dir+"/") {
			return true
		}
	}
	return false
}

// hasFile reports whether a file in any folder has a name with the prefix.
func (d *detector) hasFile(prefix string) bool {
	for name := range d.there {
		if strings.HasPrefix(path.Base(name), prefix) {
			return true
		}
	}
	return false
}

func (d *detector) read(name string) string {
	f, err := d.fsys.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxConfig))
	if err != nil {
		return ""
	}
	return string(data)
}

// variants returns a name with each of the extensions.
func variants(name string, endings ...string) []string {
	list := make([]string, len(endings))
	for i, e := range endings {
		list[i] = name + e
	}
	return list
}

// mkdocs reads mkdocs.yml.
func (d *detector) mkdocs() *config {
	file := d.find("mkdocs.yml", "mkdocs.yaml")
	if file == "" {
		return nil
	}
	c := &config{
		system: "mkdocs",
		file:   file,
		root:   "docs",
	}
	var parsed yaml.Node
	err := yaml.Unmarshal([]byte(d.read(file)), &parsed)
	if err != nil || len(parsed.Content) == 0 {
		line := 1
		what := "it is empty"
		if err != nil {
			line, what = yamlError(err)
		}
		c.note(file, line, check.Warning, "%s is not YAML: %s", file, what)
		c.root = d.mkdocsRoot(c.root)
		return c
	}
	top := members(parsed.Content[0])
	c.title, c.description = scalar(top["site_name"]), scalar(top["site_description"])
	d.mkdocsDir = path.Clean(cmp.Or(scalar(top["docs_dir"]), "docs"))
	c.root = d.mkdocsRoot(d.mkdocsDir)
	c.language = scalar(members(top["theme"])["language"])
	if c.published.base = publishedAt(scalar(top["site_url"])); scalar(top["use_directory_urls"]) == "false" {
		c.published.ending = ".html"
	}
	c.nav = c.mkdocsNav(top["nav"], 0)
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

// members returns the values of a YAML mapping.
func members(n *yaml.Node) map[string]*yaml.Node {
	m := make(map[string]*yaml.Node)
	for _, v := range mapping(n) {
		m[v.key.Value] = v.value
	}
	return m
}

// yamlMember is a member of a YAML mapping.
type yamlMember struct{ key, value *yaml.Node }

// mapping returns the members of a YAML mapping in order.
func mapping(n *yaml.Node) []yamlMember {
	n = plainNode(n)
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	var list []yamlMember
	for i := 0; i+1 < len(n.Content); i += 2 {
		list = append(list, yamlMember{n.Content[i], n.Content[i+1]})
	}
	return list
}

// plainNode resolves aliases.
func plainNode(n *yaml.Node) *yaml.Node {
	for i := 0; n != nil && n.Kind == yaml.AliasNode && i < 8; i++ {
		n = n.Alias
	}
	return n
}

// scalar returns the text of a YAML scalar.
func scalar(n *yaml.Node) string {
	if n = plainNode(n); n == nil || n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return ""
	}
	return strings.TrimSpace(n.Value)
}

func (c *config) mkdocsNav(n *yaml.Node, depth int) []navEntry {
	list := plainNode(n)
	if list == nil || list.Kind != yaml.SequenceNode || depth > maxNavDepth || c.entries > maxNavEntries {
		return nil
	}
	var entries []navEntry
	for _, item := range list.Content {
		c.entries++
		if text := scalar(item); text != "" {
			entries = append(entries, navEntry{
				ref:  text,
				line: item.Line,
			})
			continue
		}
		for _, m := range mapping(item) {
			e := navEntry{
				title: scalar(m.key),
				line:  m.key.Line,
			}
			if text := scalar(m.value); text != "" {
				e.ref = text
			} else {
				e.items = c.mkdocsNav(m.value, depth+1)
			}
			entries = append(entries, e)
		}
	}
	return entries
}

// mdbook reads SUMMARY.md, and book.toml if it exists.
func (d *detector) mdbook() *config {
	book := d.find("book.toml")
	c := &config{system: "mdbook"}
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
	return c
}

// chapter matches a chapter in SUMMARY.md.
var chapter = lazily(`^([ \t]*)(?:[-*+]\s+)?\[((?:[^\[\]\\]|\\.|\[[^\]]*\])*)\]\(\s*<?([^()<>]*)>?\s*\)`)

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

// folderLabel reads the _category_.json or .yml of a folder.
func (r *reader) folderLabel(dir string) folderLabel {
	var l folderLabel
	for _, name := range variants(path.Join(dir, "_category_"), ".json", ".yml", ".yaml") {
		if _, ok := r.files[name]; !ok {
			continue
		}
		text, err := r.text(name)
		if err != nil {
			continue
		}
		var values map[string]any
		if path.Ext(name) == ".json" {
			err = json.Unmarshal([]byte(text), &values)
		} else {
			err = yaml.Unmarshal([]byte(text), &values)
		}
		if err != nil {
			line, what := yamlError(err)
			r.set.Report.Add(finding(ruleNavigation, r.place(name), max(1, line), "",
				"the category cannot be read: %s", what))
			continue
		}
		l.title = str(values["label"])
		l.position, l.positioned = number(values["position"])
		props, _ := values["customProps"].(map[string]any)
		l.hidden = truth(values["unlisted"]) || truth(props["hidden"])
	}
	return l
}
