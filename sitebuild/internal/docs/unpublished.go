package docs

import (
	"path"
	"regexp"
	"strings"

	"github.com/slipway-mcp/slipway/internal/glob"
	"github.com/slipway-mcp/slipway/internal/js"
	"github.com/slipway-mcp/slipway/internal/pathglob"
	"github.com/slipway-mcp/slipway/internal/tree"
)

// unpublished are the documents that a generator is configured not to publish. Functions report
// whether one is, by its path below the root of the documents.
type unpublished struct {
	// never are files that are no pages, drafts those that are pages for their authors only.
	never, drafts []func(name string) bool
	// under is the path of the folder being read below the root of the documents.
	under string
}

// has reports whether a document is not published. Drafts are if drafts is set.
func (u *unpublished) has(name string, drafts bool) bool {
	name = path.Join(u.under, name)
	for _, omits := range u.never {
		if omits(name) {
			return true
		}
	}
	for _, omits := range u.drafts {
		if !drafts && omits(name) {
			return true
		}
	}
	return false
}

// unclear reports a setting whose pages are not known.
func (c *config) unclear(file string, line int, setting, why string) {
	c.found = append(c.found, finding(ruleUnpublished, file, line,
		"check that the site has no page that must stay unpublished, or build it from the rendered pages",
		"%s is ignored: %s; pages that it keeps unpublished may be in the site", setting, why))
}

// onlyWhenRun is the reason for values that scripts compute.
const onlyWhenRun = "its value is only known when the file runs"

// ignored returns a function that reports whether the patterns of a gitignore file match a path, or nil.
// As in MkDocs, a pattern for a file has precedence over one for a folder that contains it. Lines that
// cannot match anything are reported.
func (f *navFile) ignored(setting string, n *tree.Node, defaults ...string) func(name string) bool {
	var rules []pathglob.IgnoreRule
	for _, line := range defaults {
		if one, ok := pathglob.ParseIgnore(line, false); ok {
			rules = append(rules, one)
		}
	}
	switch {
	case n == nil || n.Is(tree.Null):
	case !n.Is(tree.String):
		f.config.unclear(f.name, f.line(n), setting, "it is not a text with a pattern on each line")
	default:
		for line := range strings.Lines(n.Text) {
			line = strings.Trim(line, "\r\n")
			bare := strings.TrimSpace(line)
			one, ok := pathglob.ParseIgnore(line, false)
			if !ok && bare != "" && bare[0] != '#' {
				f.config.unclear(f.name, f.line(n), setting, "\""+bare+"\" is not a pattern")
			}
			if ok {
				rules = append(rules, one)
			}
		}
	}
	if len(rules) == 0 {
		return nil
	}
	return func(name string) bool {
		omitted := false
		precedence := 0
		for i := range rules {
			p := 0
			if rules[i].Fits(name, false) {
				p = 2
			} else if fitsFolder(&rules[i], name) {
				p = 1
			}
			if p > 0 && p >= precedence {
				precedence = p
				omitted = !rules[i].Include
			}
		}
		return omitted
	}
}

// fitsFolder reports whether a rule matches a folder that contains a file.
func fitsFolder(rule *pathglob.IgnoreRule, name string) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if rule.Fits(dir, true) {
			return true
		}
	}
	return false
}

// ignores returns a function that reports whether one of the globs in a list matches a path or a folder
// that contains it, as generators enter no folder that is ignored, or nil if there are none.
func (f *navFile) ignores(setting string, n *tree.Node) func(name string) bool {
	fits := f.globs(setting, n)
	if fits == nil {
		return nil
	}
	return func(name string) bool {
		for ; name != "."; name = path.Dir(name) {
			if fits(name) {
				return true
			}
		}
		return false
	}
}

// globs returns a function that reports whether one of the globs in a list matches a path, or nil if
// there are none. Values that are not globs are reported.
func (f *navFile) globs(setting string, n *tree.Node) func(name string) bool {
	if n == nil {
		return nil
	}
	list := n.Items
	if n.Is(tree.String) {
		list = []*tree.Node{n}
	} else if !n.Is(tree.Array) {
		list = nil
		f.config.unclear(f.name, f.line(n), setting, onlyWhenRun)
	}
	var patterns []*regexp.Regexp
	for _, item := range list {
		switch pattern := pathglob.Compile(strings.TrimRight(item.Text, "/")); {
		case item.Kind == js.Unknown || !item.Is(tree.String):
			f.config.unclear(f.name, f.line(item), setting, onlyWhenRun)
		case pattern == nil:
			f.config.unclear(f.name, f.line(item), setting, "\""+item.Text+"\" is not a simple glob")
		default:
			patterns = append(patterns, pattern)
		}
	}
	if len(patterns) == 0 {
		return nil
	}
	return func(name string) bool { return matchesAny(patterns, name) }
}

func matchesAny(patterns []*regexp.Regexp, name string) bool {
	for _, pattern := range patterns {
		if pattern.MatchString(name) {
			return true
		}
	}
	return false
}

// omit adds a function to a list unless it is nil.
func omit(list []func(string) bool, omits func(string) bool) []func(string) bool {
	if omits == nil {
		return list
	}
	return append(list, omits)
}

// mkdocsUnpublished reads exclude_docs and draft_docs of mkdocs.yml, and the plugin exclude.
func (f *navFile) mkdocsUnpublished(root *tree.Node) {
	u := &f.config.unpublished
	u.never = omit(u.never, f.ignored("exclude_docs", root.Get("exclude_docs"), ".*", "/templates/"))
	u.drafts = omit(u.drafts, f.ignored("draft_docs", root.Get("draft_docs")))
	plugin, _ := mkdocsPlugin(root, "exclude")
	for _, item := range plugin.Get("glob").Elements() {
		pattern := yamlText(item)
		u.never = append(u.never, func(name string) bool { return glob.Match(pattern, name) })
		if pattern == "" || strings.ContainsAny(pattern, "[]") {
			f.config.unclear(f.name, f.line(item), "glob of the plugin exclude", "\""+pattern+"\" is not a simple glob")
		}
	}
	for _, item := range plugin.Get("regex").Elements() {
		pattern, err := regexp.Compile("^(?:" + yamlText(item) + ")")
		if err != nil {
			f.config.unclear(f.name, f.line(item), "regex of the plugin exclude", "its syntax is not known")
			continue
		}
		u.never = append(u.never, pattern.MatchString)
	}
}

// mkdocsPlugin returns the settings of a plugin of MkDocs, and whether it is used. Those of a plugin
// without any are nil.
func mkdocsPlugin(root *tree.Node, name string) (settings *tree.Node, used bool) {
	plugins := root.Get("plugins")
	for _, m := range plugins.Fields() {
		if m.Key == name {
			return m.Value, true
		}
	}
	for _, item := range plugins.Elements() {
		if yamlText(item) == name {
			return nil, true
		}
		for _, m := range item.Fields() {
			if m.Key == name {
				return m.Value, true
			}
		}
	}
	return nil, false
}
