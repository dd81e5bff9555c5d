package docs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// docusaurus finds the versions and locales of a project of Docusaurus, and of mike, which has
// a file of the same name. It reports whether there are any.
func (f *finder) docusaurus(there files) bool {
	if _, ok := there["versions.json"]; ok && f.mike() {
		return true
	}
	d := &detector{fsys: f.fsys, there: there}
	main := d.docusaurusFile()
	if main == "" {
		return false
	}
	file := d.script(&config{}, main)
	root := file.root
	locale := cmp.Or(root.Get("i18n", "defaultLocale").String(), "en")
	settings, _ := docusaurusSettings(root)
	var names []string
	if isFolderIn(f.fsys, "versioned_docs") {
		names = file.publishedVersions(settings, d.read("versions.json"))
	}
	routes := make(map[string]string)
	for _, m := range settings.Get("versions").Fields() {
		if route := m.Value.Get("path"); route != nil {
			routes[m.Key] = strings.Trim(route.String(), "/")
		}
	}
	last := settings.Get("lastVersion").String()
	label := cmp.Or(settings.Get("versions", "current", "label").String(), "next")
	f.current = docsPath(settings)
	for _, name := range names {
		f.versions = append(f.versions, Variant{Name: name, Folder: versionedDocs + name})
	}
	switch {
	case file.withoutCurrent(settings, names):
	case !isFolderIn(f.fsys, f.current):
		if len(f.versions) == 0 {
			return false // translations without their originals
		}
	case len(f.versions) > 0:
		f.versions = append(f.versions, Variant{Name: label, Folder: f.current})
		if last == "current" {
			last = label
		}
	}
	toFront(f.versions, called(last))
	f.routes = make(map[string]string)
	for i, v := range f.versions {
		name, route := v.Name, v.Name
		if v.Folder == f.current {
			name, route = "current", "next"
		}
		if i == 0 {
			route = ""
		}
		if own, ok := routes[name]; ok {
			route = own
		}
		f.routes[v.Folder] = route
	}
	if others, err := fs.ReadDir(f.fsys, "i18n"); err == nil {
		for _, other := range others {
			if other.IsDir() && other.Name() != locale &&
				isFolderIn(f.fsys, path.Join("i18n", other.Name(), docusaurusDocs)) {
				f.languages = append(f.languages, Variant{Name: other.Name()})
			}
		}
	}
	if len(f.languages) > 0 {
		f.languages = slices.Insert(f.languages, 0, Variant{Name: locale})
	}
	f.dirOf = func(version, language *Variant) []string {
		folder := f.current
		if version != nil {
			folder = version.Folder
		}
		if language == nil || language.Name == locale {
			return []string{folder}
		}
		translation := "current"
		if folder != f.current {
			translation = path.Base(folder)
		}
		return []string{path.Join("i18n", language.Name, docusaurusDocs, translation)}
	}
	f.project = len(f.versions)+len(f.languages) > 0
	return f.project
}

// docusaurusDocs is the folder of the translated documents of a locale.
const docusaurusDocs = "docusaurus-plugin-content-docs"

// mike finds the versions that mike has published.
func (f *finder) mike() bool {
	data, err := fs.ReadFile(f.fsys, "versions.json")
	var list []struct {
		Version string
		Aliases []string
	}
	if err != nil || json.Unmarshal(data, &list) != nil {
		return false
	}
	latest := ""
	for _, v := range list {
		if v.Version == "" || !isFolderIn(f.fsys, v.Version) {
			continue
		}
		f.versions = append(f.versions, Variant{Name: v.Version, Folder: v.Version})
		if latest == "" && (slices.Contains(v.Aliases, "latest") || slices.Contains(v.Aliases, "stable")) {
			latest = v.Version
		}
	}
	if latest == "" {
		released := func(v Variant) bool { return !slices.Contains(unreleased, v.Name) }
		if i := slices.IndexFunc(f.versions, released); i >= 0 {
			latest = f.versions[i].Name // mike lists the newest first
		}
	}
	toFront(f.versions, called(latest))
	return len(f.versions) > 0
}

// sidebars returns the file with the sidebars of a version of Docusaurus, or "" for those of
// the current one.
func (e *edition) sidebars(f *finder) string {
	for _, v := range f.versions {
		if versionLabel(v.Name) == e.version && v.Folder != f.current {
			return fmt.Sprintf("versioned_sidebars/version-%s-sidebars.json", v.Name)
		}
	}
	return ""
}
