package docs

import (
	"encoding/json"
	"io"
	"io/fs"
	"path"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/js"
	"github.com/slipway-mcp/slipway/internal/tree"
)

// files are the existing files, by path.
type files map[string]fs.FileInfo

// maxConfig bounds the size of a navigation file in bytes.
const maxConfig = 4 << 20

// findConfig returns the configuration in the navigation files in fsys. mkdocs is the name of that of
// MkDocs, or "" for the usual one.
func findConfig(fsys fs.FS, there files, mkdocs string) *config {
	d := &detector{
		fsys:       fsys,
		there:      there,
		mkdocsFile: mkdocs,
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
	// fsys is the folder; there is what it has at the top.
	fsys  fs.FS
	there files
	docs  string
	// mkdocsFile is the name of the configuration of MkDocs, or "" for mkdocs.yml, and mkdocsDir the
	// folder that it names.
	mkdocsFile, mkdocsDir string
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

// read returns the first maxConfig bytes of a file, or "" if it cannot be read.
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

// Open opens a known file. Scripts import from a detector, so that they see neither
// skipped files nor the targets of links.
func (d *detector) Open(name string) (fs.File, error) {
	if _, err := d.Stat(name); err != nil {
		return nil, err
	}
	return d.fsys.Open(name)
}

// Stat implements [fs.StatFS].
func (d *detector) Stat(name string) (fs.FileInfo, error) {
	info, ok := d.there[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return info, nil
}

// navFile is a configuration file of a documentation system, as a tree.
type navFile struct {
	// config is what the file defines.
	config *config
	name   string
	text   string
	root   *tree.Node // nil if it cannot be read
	breaks lineBreaks // of text
}

// script reads a JavaScript, TypeScript or JSON file that configures a system. Values
// that only running it would reveal are [js.Unknown].
func (d *detector) script(c *config, name string) *navFile {
	text := strings.ToValidUTF8(d.read(name), "\ufffd")
	script := js.Read([]byte(text), &js.Options{
		Files:   d,
		Name:    name,
		Lenient: true,
	})
	return &navFile{
		config: c,
		name:   name,
		text:   text,
		root:   script.Root,
		breaks: breaksOf(text),
	}
}

// line returns the line of a value.
func (f *navFile) line(n *tree.Node) int { return 1 + f.breaks.before(n.Start) }

// unread reports a value that only running the file would reveal.
func (f *navFile) unread(n *tree.Node) {
	f.config.note(f.name, f.line(n), check.Note,
		"%s is missing from the navigation: its value is only known when the file runs", n.Text)
}

// flatten returns the entries of all values.
func flatten(values []*tree.Node, entries func(*tree.Node) []navEntry) []navEntry {
	var all []navEntry
	for _, v := range values {
		all = append(all, entries(v)...)
	}
	return all
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
