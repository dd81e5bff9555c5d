package docs

import (
	"path"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/lazyregexp"
	"github.com/slipway-mcp/slipway/internal/tree"
)

// plugins are the extensions of MkDocs that change the text of pages.
type plugins struct {
	// snippets are the folders and files of pymdownx.snippets, from the folder of the configuration.
	snippets []string
	// include is set if include-markdown is used, and python has the names of those that need a run of
	// MkDocs, by the syntax that they replace.
	include bool
	python  map[string]string
}

// The syntaxes that only a run of MkDocs replaces.
const (
	syntaxObject   = ":::"
	syntaxTemplate = "{{"
)

// mkdocsPlugins reads the settings of plugins and extensions.
func (f *navFile) mkdocsPlugins(root *tree.Node) {
	p := &f.config.plugins
	p.python = make(map[string]string)
	_, p.include = mkdocsPlugin(root, "include-markdown")
	if _, used := mkdocsPlugin(root, "mkdocstrings"); used {
		p.python[syntaxObject] = "mkdocstrings"
	}
	if settings, used := mkdocsPlugin(root, "macros"); used && yamlText(settings.Get("render_by_default")) != "false" {
		p.python[syntaxTemplate] = "macros"
	}
	for _, item := range root.Get("markdown_extensions").Elements() {
		for _, m := range item.Fields() {
			f.snippets(m)
		}
	}
	for _, m := range root.Get("markdown_extensions").Fields() {
		f.snippets(m)
	}
}

// snippets reads the settings of pymdownx.snippets.
func (f *navFile) snippets(m tree.Member) {
	if m.Key != "pymdownx.snippets" {
		return
	}
	base := m.Value.Get("base_path")
	list := base.Elements()
	if base.Is(tree.String) {
		list = []*tree.Node{base}
	}
	for _, item := range list {
		name := path.Clean(strings.TrimPrefix(yamlText(item), "$config_dir/"))
		f.config.plugins.snippets = append(f.config.plugins.snippets, name)
	}
}

// objectLine matches the reference to an object of mkdocstrings.
var objectLine = lazyregexp.New(`^([ \t]*):::[ \t]+[A-Za-z_][\w.]*[ \t]*$`)

// objectEnd returns the end of the reference to an object of mkdocstrings at i, with its settings, or 0.
func objectEnd(text string, i int) int {
	line, next := lineAt(text, i)
	m := objectLine().FindStringSubmatch(line)
	if m == nil {
		return 0
	}
	end := next
	for at := next; at < len(text); {
		line, next := lineAt(text, at)
		bare := strings.TrimLeft(line, " \t")
		switch {
		case strings.TrimSpace(bare) == "":
		case len(line)-len(bare) > len(m[1]):
			end = next
		default:
			return end
		}
		at = next
	}
	return end
}

// template matches an expression, a statement or a comment of a template.
var template = lazyregexp.New(`(?s)\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}`)

// withoutTemplates removes the syntax of templates from a line, except that of raw text.
func (n *includer) withoutTemplates(line string) string {
	if !strings.Contains(line, "{{") && !strings.Contains(line, "{%") && !strings.Contains(line, "{#") {
		return line
	}
	var b strings.Builder
	for {
		at := template().FindStringIndex(line)
		if at == nil {
			break
		}
		word := strings.TrimSpace(strings.Trim(line[at[0]:at[1]], "{}%-"))
		if line[at[0]+1] == '%' && (word == "raw" || word == "endraw") {
			n.raw = word == "raw"
			b.WriteString(line[:at[0]])
		} else if n.raw {
			b.WriteString(line[:at[1]])
		} else {
			b.WriteString(line[:at[0]])
			n.needs(syntaxTemplate)
		}
		line = line[at[1]:]
	}
	return b.String() + line
}

// mkdocs returns the text of a directive of more than one line at i, and its end, or 0 if there is none.
func (n *includer) mkdocs(text string, i int, code bool, file string, number, depth int) (string, int) {
	line, next := lineAt(text, i)
	if n.r.config.plugins.python[syntaxObject] != "" && !code {
		if end := objectEnd(text, i); end > 0 {
			n.needs(syntaxObject)
			return "", end
		}
	}
	if snippetBlock().MatchString(line) {
		return n.snippetFiles(text, i, file, number, depth)
	}
	open := strings.LastIndex(line, "{%")
	if open < 0 || strings.Contains(line[open:], "%}") && !n.r.config.plugins.include {
		return "", 0
	}
	const most = 2000
	if end := strings.Index(text[i+open:min(len(text), i+open+most)], "%}"); end >= 0 {
		_, next = lineAt(text, i+open+end)
	}
	directive := text[i:next]
	if !n.r.config.plugins.include || code {
		if n.r.config.plugins.python[syntaxTemplate] == "" {
			return "", 0
		}
		return directive, next
	}
	found := false
	replaced := markedInclude().ReplaceAllStringFunc(directive, func(marked string) string {
		found = true
		indent := ""
		if bare := strings.TrimLeft(line, " \t"); strings.HasPrefix(bare, "{%") {
			indent = line[:len(line)-len(bare)]
		}
		return strings.TrimPrefix(n.indented(n.markedFile(marked, file, number, depth), indent), indent)
	})
	if !found && n.r.config.plugins.python[syntaxTemplate] == "" {
		return "", 0
	}
	return replaced, next
}

// snippetFiles returns the files that the lines of a block name, up to its end.
func (n *includer) snippetFiles(text string, i int, file string, number, depth int) (string, int) {
	line, at := lineAt(text, i)
	indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	var b strings.Builder
	for at < len(text) {
		name, next := lineAt(text, at)
		if snippetBlock().MatchString(name) {
			return b.String(), next
		}
		name = strings.Trim(strings.TrimSpace(name), `"'`)
		if name != "" && !strings.HasPrefix(name, ";") {
			b.WriteString(n.indented(n.read("", name, file, number, depth), indent))
		}
		at = next
	}
	return "", 0 // it has no end
}

// includeOption matches an option of include-markdown.
var includeOption = lazyregexp.New(`([a-z-]+)=(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|(\S+))`)

// markedFile returns what a directive of include-markdown includes: the text between the marks start
// and end, or all.
func (n *includer) markedFile(marked, file string, number, depth int) string {
	m := markedInclude().FindStringSubmatch(marked)
	n.used = true
	text, actual, ok := n.document(m[2], file)
	if !ok || depth >= maxIncludeDepth || len(text) > n.left {
		n.missing(m[2], number)
		return ""
	}
	n.left -= len(text)
	options := make(map[string]string)
	for _, o := range includeOption().FindAllStringSubmatch(m[3], 20) {
		options[o[1]] = strings.NewReplacer(`\n`, "\n", `\"`, `"`, `\'`, "'").Replace(o[2] + o[3] + o[4])
	}
	if isDocument(actual) {
		_, text, _, _ = splitFrontMatter(text)
	}
	if mark := options["start"]; mark != "" {
		if _, after, found := strings.Cut(text, mark); found {
			text = after
		}
	}
	if mark := options["end"]; mark != "" {
		text, _, _ = strings.Cut(text, mark)
	}
	if isDocument(actual) {
		text = n.nested(text, actual, number, depth)
	}
	if m[1] == "include-markdown" && options["rewrite-relative-urls"] != "false" {
		text = relinked(text, path.Dir(actual), path.Dir(file))
	}
	return strings.TrimRight(text, "\n")
}

// needs notes that the page has a part that only a run of MkDocs would show.
func (n *includer) needs(syntax string) {
	if plugin := n.r.config.plugins.python[syntax]; !slices.Contains(n.plugins, plugin) {
		n.plugins = append(n.plugins, plugin)
	}
}

// reportPlugins reports the plugins whose parts are missing from pages, once each.
func (r *reader) reportPlugins(pages []*Page) {
	counts := make(map[string]int)
	first := make(map[string]string)
	for _, p := range pages {
		for _, plugin := range p.plugins {
			if counts[plugin]++; first[plugin] == "" || p.File < first[plugin] {
				first[plugin] = p.File
			}
		}
	}
	for _, plugin := range []string{"macros", "mkdocstrings"} {
		if counts[plugin] > 0 {
			r.set.Report.Add(finding(rulePlugin, r.place(first[plugin]), 0,
				"run mkdocs build, and build from its pages: slipway site build site",
				"what the plugin %s writes is missing, on this and all other pages that use it: %d", plugin, counts[plugin]))
		}
	}
}
