package docs

import (
	"cmp"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/order"
)

// inFolders returns a function that returns the folders of an edition: those of its version and
// its language in either order.
func inFolders(root string) func(version, language *Variant) []string {
	return func(version, language *Variant) []string {
		switch {
		case version == nil:
			return []string{path.Join(root, language.Folder)}
		case language == nil:
			return []string{path.Join(root, version.Folder)}
		}
		return []string{
			path.Join(root, version.Folder, language.Folder), path.Join(root, language.Folder, version.Folder),
		}
	}
}

// folders finds versions and languages by the names of folders: all folders with documents must
// be of one kind.
func (f *finder) folders(root string) {
	names := documentFolders(f.fsys, root)
	kind := func(name string) (version, language bool) {
		return isVersion(name), isLanguage(name)
	}
	numbered := 0
	var versions, languages []Variant
	for _, name := range names {
		v, l := kind(name)
		switch {
		case v:
			versions = append(versions, Variant{Name: name, Folder: name})
			if versionName().MatchString(name) {
				numbered++
			}
		case l:
			languages = append(languages, Variant{Name: name, Folder: name})
		}
	}
	loose := f.loose(root)
	switch {
	case len(names) < 2 || len(loose) >= len(names):
		return
	case len(versions) == len(names) && numbered > 0:
		order.By(versions, func(a, b Variant) int { return compareVersions(b.Name, a.Name) })
		f.versions = versions
	case len(languages) == len(names):
		f.languages = languages
		toFront(f.languages, called("en"))
		toFront(f.languages, called(f.config.language))
	default:
		return
	}
	f.below(root)
	f.noteLoose(root, loose)
}

// noteLoose reports documents in a folder that belong to no edition.
func (f *finder) noteLoose(folder string, names []string) {
	for _, name := range names {
		note := finding(ruleVariant, path.Join(f.prefix, folder, name), 0, "",
			"the document is left out: it is in none of the folders with versions or languages")
		note.Severity = check.Note
		f.found.report.Add(note)
	}
}

// loose returns the documents next to the folders of editions, without a first page, which only
// leads to them.
func (f *finder) loose(root string) []string {
	entries, err := fs.ReadDir(f.fsys, cmp.Or(root, "."))
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		name := e.Name()
		if e.Type().IsRegular() && isDocument(name) && !isIndex(strings.TrimSuffix(name, path.Ext(name))) {
			names = append(names, name)
		}
	}
	return names
}

// below finds the other kind of variants below the folders of one kind: all folders with documents
// there must be of the other kind. A folder without any has documents of the default one.
func (f *finder) below(root string) {
	outer, isInner := f.versions, isLanguage
	if len(outer) == 0 {
		outer, isInner = f.languages, isVersion
	}
	const most = 100
	var inner []Variant
	loose := make(map[string][]string)
	plain := make(map[string]bool)
	known := make(map[string]bool)
	for _, v := range outer {
		folder := path.Join(root, v.Folder)
		names := documentFolders(f.fsys, folder)
		if !slices.ContainsFunc(names, isInner) {
			plain[v.Name] = true
			continue
		}
		loose[folder] = f.loose(folder)
		for _, name := range names {
			if !isInner(name) || len(inner) == most || len(loose[folder]) >= max(len(names), 2) {
				return
			}
			if !known[name] {
				known[name] = true
				inner = append(inner, Variant{Name: name, Folder: name})
			}
		}
	}
	if len(inner) < 2 {
		return
	}
	if len(f.versions) > 0 {
		f.languages = inner
		toFront(f.languages, called("en"))
		toFront(f.languages, called(f.config.language))
	} else {
		order.By(inner, func(a, b Variant) int { return compareVersions(b.Name, a.Name) })
		f.versions = inner
	}
	for _, folder := range slices.Sorted(maps.Keys(loose)) {
		f.noteLoose(folder, loose[folder])
	}
	nested := f.dirOf
	f.dirOf = func(version, language *Variant) []string {
		dirs := nested(version, language)
		if version == nil || language == nil {
			return dirs
		}
		for _, pair := range [][2]*Variant{{version, language}, {language, version}} {
			if plain[pair[0].Name] && pair[1].Name == inner[0].Name {
				dirs = append(dirs, path.Join(root, pair[0].Folder))
			}
		}
		return dirs
	}
}

// documentFolders returns the names of the folders in a folder that have documents.
func documentFolders(fsys fs.FS, root string) []string {
	entries, err := fs.ReadDir(fsys, cmp.Or(root, "."))
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() || leftOut(e.Name()) || strings.HasPrefix(e.Name(), "_") || e.Name() == ".vitepress" {
			continue
		}
		sub, err := fs.Sub(fsys, path.Join(root, e.Name()))
		if err == nil && HasDocuments(sub) {
			names = append(names, e.Name())
		}
	}
	return names
}
