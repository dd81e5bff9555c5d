package mcpb

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/tree"
)

// resources returns the path of the translations, with its variable.
func (l *Localization) resources() string {
	return cmp.Or(l.Resources, DefaultResources)
}

// defaultLocale returns the language of the manifest itself.
func (l *Localization) defaultLocale() string {
	return cmp.Or(l.DefaultLocale, DefaultLocale)
}

// splitResources returns the parts of the path before and after the variable.
func (l *Localization) splitResources() (before, after string) {
	name := strings.ReplaceAll(l.resources(), `\`, "/")
	at := strings.Index(strings.ToLower(name), localeVariable)
	if at < 0 {
		return name, ""
	}
	return name[:at], name[at+len(localeVariable):]
}

// file returns the path of the translation for a locale, or "" if it is outside the
// bundle.
func (l *Localization) file(locale string) string {
	before, after := l.splitResources()
	name, why := cleanPath(before + locale + after)
	if why != "" {
		return ""
	}
	return name
}

// Locales returns the languages that the bundle in fsys is translated to, sorted. The
// language of the manifest itself is included only if it has a file.
func (m *Manifest) Locales(fsys fs.FS) []string {
	if m.Localization == nil {
		return nil
	}
	before, after := m.Localization.splitResources()
	dir, prefix := path.Split(before)
	rest, below, nested := strings.Cut(after, "/")
	dir, why := cleanPath(dir + ".")
	if why != "" {
		return nil
	}
	entries, _ := fs.ReadDir(fsys, dir) // a missing folder has no files
	var locales []string
	for _, e := range entries {
		name, ok := strings.CutPrefix(e.Name(), prefix)
		locale, ok2 := strings.CutSuffix(name, rest)
		if !ok || !ok2 || !isLocale(locale) || e.IsDir() != nested {
			continue
		}
		if nested {
			_, err := fs.Stat(fsys, path.Join(dir, e.Name(), below))
			if err != nil {
				continue
			}
		}
		locales = append(locales, locale)
	}
	slices.Sort(locales)
	return locales
}

// Fallbacks returns the available languages for a user who wants the language locale, the
// best first: the language itself, then without its variant and region, then other
// regions of the same language. own is the language of the manifest. It ends the list if
// it is as good as the next one, and is used if the list is empty.
func Fallbacks(locale, own string, available []string) []string {
	var found []string
	add := func(name string) bool {
		if strings.EqualFold(name, own) {
			return true
		}
		for _, a := range available {
			if strings.EqualFold(a, name) && !slices.Contains(found, a) {
				found = append(found, a)
			}
		}
		return false
	}
	for part := locale; part != ""; part = part[:max(0, strings.LastIndexByte(part, '-'))] {
		if add(part) {
			return found
		}
	}
	language := strings.ToLower(firstTag(locale))
	if strings.ToLower(firstTag(own)) == language {
		return found
	}
	for _, a := range available {
		if strings.ToLower(firstTag(a)) == language && script(a) == script(locale) {
			add(a)
		}
	}
	return found
}

// firstTag returns the language of a locale: "pt" of "pt-BR".
func firstTag(locale string) string {
	tag, _, _ := strings.Cut(locale, "-")
	return tag
}

// script returns the writing system of a locale, such as hans, or "".
func script(locale string) string {
	tags := strings.Split(locale, "-")
	if len(tags) > 1 && len(tags[1]) == 4 {
		return strings.ToLower(tags[1])
	}
	return ""
}

// maxFallbacks is the number of translations that one manifest is read from. Each may be as large as
// a manifest.
const maxFallbacks = 20

// Localized returns a copy of the manifest in the language locale, such as "de-AT", with
// the translations in fsys, and the languages that it uses, the best first. Texts without
// a translation stay as they are. A broken translation is ignored; [Check] reports it.
func (m *Manifest) Localized(fsys fs.FS, locale string) (*Manifest, []string) {
	if m.Localization == nil || fsys == nil {
		return m, nil
	}
	chain := Fallbacks(locale, m.Localization.defaultLocale(), m.Locales(fsys))
	chain = chain[:min(len(chain), maxFallbacks)]
	translated := *m
	translated.Tools, translated.Prompts = slices.Clone(m.Tools), slices.Clone(m.Prompts)
	var used []string
	for _, name := range slices.Backward(chain) { // the best comes last and wins
		text, err := fsutil.ReadRegular(fsys, m.Localization.file(name), MaxManifest)
		if err != nil {
			continue
		}
		if t := readDocument(text, "", &check.Report{}).translation(); t != nil {
			translated.apply(t)
			used = append(used, name)
		}
	}
	slices.Reverse(used)
	return &translated, used
}

// translation is the content of a file with the texts of one language. A nil text is
// missing.
type translation struct {
	Schema          *string  `json:"$schema"`
	DisplayName     *string  `json:"display_name"`
	Description     *string  `json:"description"`
	LongDescription *string  `json:"long_description"`
	Keywords        []string `json:"keywords"`
	Author          struct {
		Name *string `json:"name"`
	} `json:"author"`
	// Tools and Prompts are matched with those of the manifest by name.
	Tools   []translatedTool   `json:"tools"`
	Prompts []translatedPrompt `json:"prompts"`
}

// translatedTool has the text of the tool called Name.
type translatedTool struct {
	Name        string  `json:"name"`
	Description *string `json:"description"`
}

// translatedPrompt has the texts of the prompt called Name.
type translatedPrompt struct {
	Name        string  `json:"name"`
	Description *string `json:"description"`
	Text        *string `json:"text"`
}

// translation decodes the document as a translation. It returns nil if the document is not
// an object.
func (d *document) translation() *translation {
	if !d.root.Is(tree.Object) {
		return nil
	}
	t := &translation{}
	d.decode(d.root, translationSchema(), reflect.ValueOf(t).Elem())
	return t
}

// translationSchema returns the schema of a file with translations.
func translationSchema() *valueSchema {
	return structSchema(reflect.TypeFor[translation](), "")
}

// tools returns the translated tools by name.
func (t *translation) tools() map[string]*translatedTool {
	return byName(t.Tools, func(tool *translatedTool) string { return tool.Name })
}

// prompts returns the translated prompts by name.
func (t *translation) prompts() map[string]*translatedPrompt {
	return byName(t.Prompts, func(p *translatedPrompt) string { return p.Name })
}

// byName returns the items by their names. If a name is repeated, the first one counts.
func byName[T any](items []T, name func(*T) string) map[string]*T {
	found := make(map[string]*T, len(items))
	for i := range items {
		if _, repeated := found[name(&items[i])]; !repeated {
			found[name(&items[i])] = &items[i]
		}
	}
	return found
}

// apply copies the texts of a translation.
func (m *Manifest) apply(t *translation) {
	set := func(into *string, text *string) {
		if text != nil {
			*into = *text
		}
	}
	set(&m.DisplayName, t.DisplayName)
	set(&m.Description, t.Description)
	set(&m.LongDescription, t.LongDescription)
	set(&m.Author.Name, t.Author.Name)
	if t.Keywords != nil {
		m.Keywords = t.Keywords
	}
	tools := t.tools()
	for i := range m.Tools {
		if translated := tools[m.Tools[i].Name]; translated != nil {
			set(&m.Tools[i].Description, translated.Description)
		}
	}
	prompts := t.prompts()
	for i := range m.Prompts {
		if translated := prompts[m.Prompts[i].Name]; translated != nil {
			set(&m.Prompts[i].Description, translated.Description)
			set(&m.Prompts[i].Text, translated.Text)
		}
	}
}

// describe lists the languages of a chain as text.
func describe(chain []string, own string) string {
	return strings.Join(append(slices.Clone(chain), fmt.Sprintf("the manifest (%s)", own)), ", then ")
}
