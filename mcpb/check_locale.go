package mcpb

import (
	"cmp"
	"fmt"
	"io/fs"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/tree"
)

// checkLocalization checks that the declared translations exist, and each of their files.
func (c *checker) checkLocalization() {
	if c.fsys == nil || c.opts.Alone {
		return
	}
	l := c.m.Localization
	if l == nil {
		entries, err := fs.ReadDir(c.fsys, "mcpb-resources")
		if err == nil && len(entries) > 0 && c.m.SpecVersion >= "0.3" {
			c.Add(ruleLocalization, "/localization",
				`"localization": {"resources": "`+DefaultResources+`", "default_locale": "`+DefaultLocale+`"}`,
				"there are files in mcpb-resources, and the manifest has no localization")
		}
		return
	}
	before, after := l.splitResources()
	if _, why := cleanPath(before + "x" + after); why != "" {
		c.Add(rulePath.As(check.Warning), "/localization/resources", "", "%q cannot be in the bundle: %s",
			l.resources(), why)
		return
	}
	locales := c.m.Locales(c.fsys)
	if len(locales) == 0 {
		c.Add(ruleLocalization, "/localization/resources", "",
			"no file of the bundle is %s", l.resources())
	}
	if len(locales) > maxLocales {
		c.Add(ruleLocalization, "/localization/resources", "", "the bundle has %d translations; %d of them are checked",
			len(locales), maxLocales)
		locales = locales[:maxLocales]
	}
	for _, locale := range locales {
		c.checkTranslation(locale, l.file(locale), locales)
	}
}

// maxLocales is the number of translations that are checked. Each is compared with the others, which
// replace what it lacks.
const maxLocales = 1000

// checkTranslation checks one file, called name: only translatable fields may be in it. locales are all
// that the bundle has.
func (c *checker) checkTranslation(locale, name string, locales []string) {
	text, err := fsutil.ReadRegular(c.fsys, name, MaxManifest)
	if err != nil {
		c.in(name).Add(ruleTranslation, "", "", "it cannot be read")
		return
	}
	d := readDocument(text, c.opts.Where(name), c.Report)
	if d.root == nil {
		return
	}
	translated := d.translation()
	if translated == nil {
		d.At(d.root.Start).Add(ruleTranslation, "", "", "a translation is an object")
		return
	}
	d.checkVisible(d.root, nil)
	j := validator{
		document:    d,
		translation: true,
		typeRule:    ruleTranslation.As(check.Warning),
	}
	j.value(d.root, translationSchema(), "")
	tools := c.toolNames()
	prompts := c.promptNames()
	d.checkTranslated("tool", "/tools", tools)
	d.checkTranslated("prompt", "/prompts", prompts)
	// What is missing is shown in another language, as hosts choose it.
	own := c.m.Localization.defaultLocale()
	if strings.EqualFold(locale, own) {
		c.in(name).Add(ruleTranslation.As(check.Note), "", "",
			"%s is the language of the manifest itself, so this file only repeats it", locale)
		return
	}
	if missing := translated.missing(c.m); len(missing) > 0 {
		chain := Fallbacks(locale, own, locales)
		chain = chain[:min(len(chain), maxFallbacks)]
		c.in(name).Add(ruleUntranslated, "", "shown instead, in this order: "+describe(chain[min(1, len(chain)):], own),
			"not translated: %s", firstNames(missing, 20))
	}
}

// checkTranslated reports translations of tools or prompts that the manifest does not have.
func (d *document) checkTranslated(what, pointer string, known []string) {
	isKnown := make(map[string]bool, len(known))
	for _, name := range known {
		isKnown[name] = true
	}
	for i, item := range d.root.At(pointer).Elements() {
		name := item.Get("name")
		if name.Is(tree.String) && !isKnown[name.Text] {
			d.At(name.Start).Add(ruleTranslation.As(check.Warning), fmt.Sprintf("%s/%d/name", pointer, i),
				d.near(name.Text, known), "the manifest has no %s %q, so it is never shown", what, name.Text)
		}
	}
}

func (c *checker) toolNames() (names []string) {
	for _, t := range c.m.Tools {
		names = append(names, t.Name)
	}
	return names
}

func (c *checker) promptNames() (names []string) {
	for _, p := range c.m.Prompts {
		names = append(names, p.Name)
	}
	return names
}

// missing returns the texts of the manifest that are not translated.
func (t *translation) missing(m *Manifest) (names []string) {
	add := func(name, text string, translated *string) {
		if text != "" && translated == nil {
			names = append(names, name)
		}
	}
	add("display_name", m.DisplayName, t.DisplayName)
	add("description", m.Description, t.Description)
	add("long_description", m.LongDescription, t.LongDescription)
	tools := t.tools()
	for _, tool := range m.Tools {
		translated := cmp.Or(tools[tool.Name], &translatedTool{})
		add("tool "+tool.Name, tool.Description, translated.Description)
	}
	prompts := t.prompts()
	for _, p := range m.Prompts {
		translated := cmp.Or(prompts[p.Name], &translatedPrompt{})
		add("prompt "+p.Name, p.Description, translated.Description)
	}
	return names
}

// firstNames lists up to n names as text.
func firstNames(names []string, n int) string {
	if len(names) <= n {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:n], ", "), len(names)-n)
}
