package docs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
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
	root := d.script(&config{}, main).root
	locale := cmp.Or(root.Get("i18n", "defaultLocale").String(), "en")
	var names []string
	if json.Unmarshal([]byte(d.read("versions.json")), &names) != nil || !isFolderIn(f.fsys, "versioned_docs") {
		names = nil
	}
	last := ""
	label := "next"
	f.current = "docs"
	for _, preset := range root.Get("presets").Elements() {
		if len(preset.Items) == 2 {
			docs := preset.Items[1].Get("docs")
			f.current = path.Clean(cmp.Or(docs.Get("path").String(), f.current))
			last = cmp.Or(docs.Get("lastVersion").String(), last)
			label = cmp.Or(docs.Get("versions", "current", "label").String(), label)
		}
	}
	for _, name := range names {
		f.versions = append(f.versions, Variant{Name: name, Folder: "versioned_docs/version-" + name})
	}
	switch {
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
