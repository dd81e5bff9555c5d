package mcpb

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

func (c *checker) checkLocalization() {
	if c.fsys == nil || c.opts.Alone {
		return
	}
	l := c.m.Localization
	if l == nil {
		if entries, err := fs.ReadDir(c.fsys, "mcpb-resources"); err == nil && len(entries) > 0 && c.m.SpecVersion >= "0.3" {
			c.Add(ruleLocalization, "/localization",
				`"localization": {"resources": "`+DefaultResources+`", "default_locale": "`+DefaultLocale+`"}`,
				"there are files in mcpb-resources, and the manifest has no localization")
		}
		return
	}
	before, after := l.around()
	if _, why := inside(before + "x" + after); why != "" {
		c.Add(rulePath.As(check.Warning), "/localization/resources", "", "%q cannot be in the bundle: %s",
			l.resources(), why)
		return
	}
	locales := c.m.Locales(c.fsys)
	if len(locales) == 0 {
		c.Add(ruleLocalization, "/localization/resources", "", "no file of the bundle is %s", l.resources())
	}
	for _, locale := range locales {
		c.checkTranslation(locale, l.file(locale))
	}
}

// checkTranslation checks one file: only translatable fields may be in it.
func (c *checker) checkTranslation(locale, name string) {
	text, err := fsutil.ReadRegular(c.fsys, name, MaxManifest)
	if err != nil {
		c.in(name).Add(ruleTranslation, "", "", "it cannot be read")
		return
	}
	t := &translation{checker: c, document: readDocument(text, c.opts.Where(name), c.Report)}
	if t.document.root == nil {
		return
	}
	if !t.root().is(kindObject) {
		t.document.At(t.root().at).Add(ruleTranslation, "", "", "a translation is an object")
		return
	}
	t.document.checkVisible(t.root(), "")
	for _, m := range t.root().each() {
		t.member(m)
	}
	if own := c.m.Localization.defaultLocale(); strings.EqualFold(locale, own) {
		c.in(name).Add(ruleTranslation.As(check.Note), "", "",
			"%s is the language of the manifest itself, so this file only repeats it", locale)
		return
	}
	if missing := t.missing(); len(missing) > 0 {
		chain := Fallbacks(locale, c.m.Localization.defaultLocale(), c.m.Locales(c.fsys))
		c.in(name).Add(ruleUntranslated, "", "shown instead, in this order: "+describe(chain[min(1, len(chain)):],
			c.m.Localization.defaultLocale()), "not translated: %s", enumerate(missing))
	}
}

// translation is a file with the texts of one language.
type translation struct {
	checker  *checker
	document *document
}

func (t *translation) root() *jsonNode { return t.document.root }

func (t *translation) warn(at int, pointer, message, hint string) {
	t.document.At(at).Add(ruleTranslation.As(check.Warning), pointer, hint, "%s", message)
}

func (t *translation) member(m member) {
	pointer := "/" + jsonscan.EscapeToken(m.name)
	switch m.name {
	case "display_name", "description", "long_description":
		t.text(m.value, pointer)
	case "keywords":
		if !m.value.is(kindArray) || slices.ContainsFunc(m.value.items, func(n *jsonNode) bool { return !n.is(kindString) }) {
			t.warn(m.value.at, pointer, "keywords must be an array of strings", "")
		}
	case "author":
		t.object(m.value, pointer, []string{"name"})
	case "tools":
		t.list(m.value, pointer, "tool", []string{"name", "description"}, t.toolNames())
	case "prompts":
		t.list(m.value, pointer, "prompt", []string{"name", "description", "text"}, t.promptNames())
	case "$schema":
	default:
		t.warn(m.at, pointer, fmt.Sprintf("%q cannot be translated", m.name), t.document.near(m.name, localizable()))
	}
}

// localizable returns the manifest fields that may be translated.
func localizable() []string {
	return []string{"display_name", "description", "long_description", "keywords", "author", "tools", "prompts"}
}

func (t *translation) text(n *jsonNode, pointer string) {
	if !n.is(kindString) {
		t.warn(n.at, pointer, fmt.Sprintf("%s must be a string and is %s", last(pointer), n.kind), "")
	}
}

func (t *translation) object(n *jsonNode, pointer string, names []string) {
	if !n.is(kindObject) {
		t.warn(n.at, pointer, fmt.Sprintf("%s must be an object and is %s", last(pointer), n.kind), "")
		return
	}
	for _, m := range n.each() {
		if !slices.Contains(names, m.name) {
			t.warn(m.at, pointer+"/"+jsonscan.EscapeToken(m.name),
				fmt.Sprintf("%q cannot be translated", m.name), t.document.near(m.name, names))
			continue
		}
		t.text(m.value, pointer+"/"+m.name)
	}
}

func (t *translation) list(n *jsonNode, pointer, what string, fields, known []string) {
	if !n.is(kindArray) {
		t.warn(n.at, pointer, fmt.Sprintf("%s must be an array and is %s", last(pointer), n.kind), "")
		return
	}
	has := map[string]bool{}
	for _, name := range known {
		has[name] = true
	}
	for i, item := range n.items {
		below := fmt.Sprintf("%s/%d", pointer, i)
		t.object(item, below, fields)
		if name := item.member("name"); name.is(kindString) && !has[name.text] {
			t.warn(name.at, below+"/name", fmt.Sprintf("the manifest has no %s %q, so it is never shown", what, name.text),
				t.document.near(name.text, known))
		}
	}
}

func (t *translation) toolNames() []string {
	var names []string
	for _, tool := range t.checker.m.Tools {
		names = append(names, tool.Name)
	}
	return names
}

func (t *translation) promptNames() []string {
	var names []string
	for _, p := range t.checker.m.Prompts {
		names = append(names, p.Name)
	}
	return names
}

// missing returns the texts of the manifest that the file does not translate.
func (t *translation) missing() []string {
	var names []string
	m := t.checker.m
	for _, f := range []struct{ name, text string }{
		{"display_name", m.DisplayName}, {"description", m.Description}, {"long_description", m.LongDescription},
	} {
		if f.text != "" && t.root().member(f.name) == nil {
			names = append(names, f.name)
		}
	}
	tools, prompts := byName(t.root().member("tools")), byName(t.root().member("prompts"))
	for _, tool := range m.Tools {
		if tool.Description != "" && tools[tool.Name].member("description") == nil {
			names = append(names, "tool "+tool.Name)
		}
	}
	for _, p := range m.Prompts {
		if p.Description != "" && prompts[p.Name].member("description") == nil {
			names = append(names, "prompt "+p.Name)
		}
	}
	return names
}

// enumerate joins the first names.
func enumerate(names []string) string {
	const most = 20
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
