package mcpb

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/fsutil"
)

// resources returns the path of the translations, with its variable.
func (l *Localization) resources() string {
	if l.Resources != "" {
		return l.Resources
	}
	return DefaultResources
}

// defaultLocale returns the language of the manifest itself.
func (l *Localization) defaultLocale() string {
	if l.DefaultLocale != "" {
		return l.DefaultLocale
	}
	return DefaultLocale
}

// around returns the parts of the path before and after the variable.
func (l *Localization) around() (before, after string) {
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
	before, after := l.around()
	name, why := inside(before + locale + after)
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
	before, after := m.Localization.around()
	dir, prefix := path.Split(before)
	rest, below, nested := strings.Cut(after, "/")
	dir, why := inside(dir + ".")
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
			if _, err := fs.Stat(fsys, path.Join(dir, e.Name(), below)); err != nil {
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

// Localized returns a copy of the manifest in the language locale, such as "de-AT", with
// the translations in fsys, and the languages that it uses, the best first. Texts without
// a translation stay as they are. A broken translation is ignored; [Check] reports it.
func (m *Manifest) Localized(fsys fs.FS, locale string) (*Manifest, []string) {
	if m.Localization == nil || fsys == nil {
		return m, nil
	}
	chain := Fallbacks(locale, m.Localization.defaultLocale(), m.Locales(fsys))
	translated := *m
	translated.Tools, translated.Prompts = slices.Clone(m.Tools), slices.Clone(m.Prompts)
	var used []string
	for _, name := range slices.Backward(chain) { // the best comes last and wins
		text, err := fsutil.ReadRegular(fsys, m.Localization.file(name), MaxManifest)
		if err != nil {
			continue
		}
		if d := readDocument(text, "", &check.Report{}); d.root.is(kindObject) {
			translated.apply(d.root)
			used = append(used, name)
		}
	}
	slices.Reverse(used)
	return &translated, used
}

// apply copies the texts of a translation.
func (m *Manifest) apply(root *jsonNode) {
	set := func(into *string, n *jsonNode) {
		if n.is(kindString) {
			*into = n.text
		}
	}
	set(&m.DisplayName, root.member("display_name"))
	set(&m.Description, root.member("description"))
	set(&m.LongDescription, root.member("long_description"))
	set(&m.Author.Name, root.member("author").member("name"))
	if words := root.member("keywords").strings(); words != nil {
		m.Keywords = words
	}
	tools, prompts := byName(root.member("tools")), byName(root.member("prompts"))
	for i := range m.Tools {
		set(&m.Tools[i].Description, tools[m.Tools[i].Name].member("description"))
	}
	for i := range m.Prompts {
		n := prompts[m.Prompts[i].Name]
		set(&m.Prompts[i].Description, n.member("description"))
		set(&m.Prompts[i].Text, n.member("text"))
	}
}

// byName returns the items of an array by name. If a name is repeated, the first one
// wins.
func byName(list *jsonNode) map[string]*jsonNode {
	items := map[string]*jsonNode{}
	for _, n := range list.list() {
		if name := n.member("name").str(); items[name] == nil {
			items[name] = n
		}
	}
	return items
}

// describe lists the languages of a chain as text.
func describe(chain []string, own string) string {
	return strings.Join(append(slices.Clone(chain), fmt.Sprintf("the manifest (%s)", own)), ", then ")
}
