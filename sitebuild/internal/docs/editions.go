package docs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/lazyregexp"
)

// Variant is a version or a language of documents that are kept side by side.
type Variant struct {
	// Name is the value of the argument that chooses it, such as "2.1" or "de".
	Name string `json:"name"`
	// Folder has its documents, below the folder of all. Default: Name.
	Folder string `json:"folder"`
	// BaseURL is where its pages are published. Default: Folder below that of the documents.
	BaseURL string `json:"baseURL"`
}

// Variants are the versions or languages of documents, the default first.
type Variants struct {
	// List has them; if it is empty, they are detected, unless Off is set.
	List []Variant
	Off  bool
}

// UnmarshalJSON decodes false, or a list of names and objects.
func (v *Variants) UnmarshalJSON(text []byte) error {
	if string(bytes.TrimSpace(text)) == "false" {
		*v = Variants{Off: true}
		return nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	v.List = nil
	for _, raw := range list {
		var one Variant
		if json.Unmarshal(raw, &one.Name) != nil {
			if err := json.Unmarshal(raw, &one); err != nil {
				return err
			}
		}
		one.Folder = cmp.Or(one.Folder, one.Name)
		v.List = append(v.List, one)
	}
	return nil
}

// edition is one version of the documents in one language.
type edition struct {
	// version and language are its values of the arguments, or "" for an argument that the
	// site does not have.
	version, language string
	// dir has the documents, of which the edition sees a part if as is set.
	dir string
	as  *translated
	// config is the navigation, or nil if it is that of dir.
	config *config
	// base is the address where its pages are published, if it is known here, and under what
	// is added to that of the documents otherwise.
	base, under string
}

// editions are all editions of a folder, the default one first.
type editions struct {
	list []edition
	// versions and languages are the values of the arguments, the default one first; there are
	// none or at least two.
	versions, languages []string
	// folder is the folder that all are in, and report what was found about them.
	folder fs.FS
	report check.Report
}

// place returns what tells an edition from the default one in names: "2.1", "de" or "2.1/de".
// It is empty for the default one.
func (all *editions) place(e *edition) string {
	var parts []string
	if len(all.versions) > 0 && e.version != all.versions[0] {
		parts = append(parts, e.version)
	}
	if len(all.languages) > 0 && e.language != all.languages[0] {
		parts = append(parts, e.language)
	}
	return strings.Join(parts, "/")
}

// finder looks for the editions of a folder.
type finder struct {
	fsys   fs.FS
	prefix string // of names in findings
	opts   *Options
	config *config
	found  *editions
	// project is true for a project of Docusaurus.
	project bool
	// codes are the languages in the names of documents, and hidden the folders of languages
	// beside the documents of the main one.
	codes, hidden []string
	// versions and languages are what was found, and dirOf returns the folders that may have an
	// edition.
	versions, languages []Variant
	dirOf               func(version, language *Variant) []string
}

// findEditions returns the editions of the documents in fsys, or nil if there is only one.
// beside is the configuration next to the folder, or nil.
func findEditions(fsys fs.FS, prefix string, beside *config, opts *Options) *editions {
	if opts == nil {
		opts = &Options{}
	}
	f := &finder{
		fsys:   fsys,
		prefix: prefix,
		opts:   opts,
		config: beside,
		found:  &editions{folder: fsys},
	}
	if opts.Versions.Off && opts.Languages.Off {
		return nil
	}
	there := shallow(fsys)
	if f.config == nil {
		f.config = findConfig(fsys, there, "")
	}
	root := f.config.root
	if f.config.system == "hugo" && path.Dir(root) == "content" {
		root = "content" // that of the default language is below
	}
	f.dirOf = inFolders(root)
	if !f.docusaurus(there) {
		f.folders(root)
	}
	if len(f.versions)+len(f.languages) == 0 {
		f.suffixed(there, root)
	}
	if len(f.versions)+len(f.languages) == 0 {
		f.besideMain(there, root)
	}
	f.declared()
	f.combine(root)
	if len(f.found.list) < 2 {
		if len(opts.Versions.List)+len(opts.Languages.List) == 0 || len(f.found.report.Findings()) == 0 {
			return nil
		}
		f.found.list = nil
	}
	return f.found
}

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

// shallow lists the files of a folder in the uppermost levels: all of the top, where configuration
// is, and a limited number below.
func shallow(fsys fs.FS) files {
	const levels, most = 3, 2000
	there := make(files)
	// What cannot be read has no configuration.
	top, _ := fs.ReadDir(fsys, ".")
	for _, d := range top {
		if info, err := d.Info(); err == nil && d.Type().IsRegular() {
			there[d.Name()] = info
		}
	}
	_ = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || len(there) >= most:
			return fs.SkipAll
		case d.IsDir() && name != "." && (leftOut(path.Base(name)) || strings.Count(name, "/") >= levels-1):
			return fs.SkipDir
		case d.Type().IsRegular():
			if info, err := d.Info(); err == nil {
				there[name] = info
			}
		}
		return nil
	})
	return there
}

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
	for _, preset := range root.Get("presets").Elements() {
		if len(preset.Items) == 2 {
			docs := preset.Items[1].Get("docs")
			last = cmp.Or(docs.Get("lastVersion").String(), last)
			label = cmp.Or(docs.Get("versions", "current", "label").String(), label)
		}
	}
	for _, name := range names {
		f.versions = append(f.versions, Variant{Name: name, Folder: "versioned_docs/version-" + name})
	}
	if len(f.versions) > 0 && isFolderIn(f.fsys, "docs") {
		f.versions = append(f.versions, Variant{Name: label, Folder: "docs"})
		if last == "current" {
			last = label
		}
	}
	first(f.versions, last)
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
		folder := "docs"
		if version != nil {
			folder = version.Folder
		}
		if language == nil || language.Name == locale {
			return []string{folder}
		}
		if folder = path.Base(folder); folder == "docs" {
			folder = "current"
		}
		return []string{path.Join("i18n", language.Name, docusaurusDocs, folder)}
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
	first(f.versions, latest)
	return len(f.versions) > 0
}

// first moves the variant of a name to the front.
func first(list []Variant, name string) {
	if i := slices.IndexFunc(list, func(v Variant) bool { return v.Name == name }); i > 0 {
		chosen := list[i]
		copy(list[1:i+1], list[:i])
		list[0] = chosen
	}
}

// versionName matches a folder with the documents of a version. A mere number may be that of a
// chapter.
var versionName = lazyregexp.New(`^(?:v\d+(?:[._](?:\d+|x))*|\d+(?:\.(?:\d+|x))+)$`)

// branches are the names of versions without a number, in the order in which they are the
// default, and unreleased those that never are while there is another.
var (
	branches   = []string{"latest", "stable", "current"}
	unreleased = []string{"next", "main", "master", "dev", "edge", "canary"}
)

// folders finds versions and languages by the names of folders: all folders with documents must
// be of one kind.
func (f *finder) folders(root string) {
	names := documentFolders(f.fsys, root)
	kind := func(name string) (version, language bool) {
		return versionName().MatchString(name) || slices.Contains(branches, name) || slices.Contains(unreleased, name),
			isLanguage(name)
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
		slices.SortFunc(versions, func(a, b Variant) int { return compareVersions(b.Name, a.Name) })
		f.versions = versions
	case len(languages) == len(names):
		f.languages = languages
		first(f.languages, "en")
		first(f.languages, f.config.language)
	default:
		return
	}
	f.below(root)
	for _, name := range loose {
		note := finding(ruleVariant, path.Join(f.prefix, root, name), 0, "",
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

// below finds the other kind of variants below the first folder of one kind.
func (f *finder) below(root string) {
	list := f.versions
	if len(list) == 0 {
		list = f.languages
	}
	sub := &finder{fsys: f.fsys, opts: f.opts, config: f.config, found: &editions{}}
	names := documentFolders(f.fsys, path.Join(root, list[0].Folder))
	if len(names) < 2 || len(names) > 100 || (len(f.versions) > 0) == versionName().MatchString(names[0]) {
		return
	}
	for _, name := range names {
		if len(f.versions) > 0 && !isLanguage(name) || len(f.versions) == 0 && !versionName().MatchString(name) &&
			!slices.Contains(branches, name) && !slices.Contains(unreleased, name) {
			return
		}
		sub.languages = append(sub.languages, Variant{Name: name, Folder: name})
	}
	if len(f.versions) > 0 {
		f.languages = sub.languages
		first(f.languages, "en")
		first(f.languages, f.config.language)
		return
	}
	slices.SortFunc(sub.languages, func(a, b Variant) int { return compareVersions(b.Name, a.Name) })
	f.versions = sub.languages
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

// compareVersions orders versions by their numbers: unreleased ones first, then numbers, and
// branches that are the default last.
func compareVersions(a, b string) int {
	rank := func(name string) int {
		switch {
		case slices.Contains(unreleased, name):
			return -1
		case slices.Contains(branches, name):
			return 1 + len(branches) - slices.Index(branches, name)
		}
		return 0
	}
	if c := cmp.Compare(rank(a), rank(b)); c != 0 {
		return c
	}
	split := func(name string) []string {
		return strings.FieldsFunc(strings.TrimPrefix(name, "v"), func(r rune) bool { return r == '.' || r == '_' })
	}
	return slices.CompareFunc(split(a), split(b), func(x, y string) int {
		m, errM := strconv.Atoi(x)
		n, errN := strconv.Atoi(y)
		if errM != nil || errN != nil {
			return cmp.Compare(x, y) // "x" is after all numbers
		}
		return cmp.Compare(m, n)
	})
}

// languageCodes are those of ISO 639-1 into which documentation is translated.
const languageCodes = " af am ar az be bg bn bs ca cs cy da de el en eo es et eu fa fi fil fr ga gl gu he hi hr " +
	"hu hy id is it ja ka kk km kn ko ky lo lt lv mk ml mn mr ms my nb ne nl nn no pa pl ps pt ro ru si sk sl sq " +
	"sr sv sw ta te th tr uk ur uz vi zh "

// region matches the part of a language code after the language.
var region = lazyregexp.New(`^[-_](?i:hans|hant|latn|cyrl|[a-z]{2}|419)$`)

// isLanguage reports whether a name is the code of a language, such as "pt-BR".
func isLanguage(name string) bool {
	end := strings.IndexAny(name, "-_")
	if end < 0 {
		end = len(name)
	}
	return end > 1 && strings.Contains(languageCodes, " "+name[:end]+" ") &&
		(end == len(name) || region().MatchString(name[end:]))
}

// declared replaces what was found by what the options declare.
func (f *finder) declared() {
	for _, axis := range []struct {
		said  *Variants
		found *[]Variant
	}{{&f.opts.Versions, &f.versions}, {&f.opts.Languages, &f.languages}} {
		switch {
		case axis.said.Off:
			*axis.found = nil
		case len(axis.said.List) > 0:
			list := slices.Clone(axis.said.List)
			for i, v := range list {
				for _, known := range *axis.found {
					if known.Name == v.Name && v.Folder == v.Name {
						list[i].Folder = known.Folder
					}
				}
			}
			*axis.found = list
		}
	}
	top := slices.IndexFunc(f.languages, func(v Variant) bool { return v.Folder == "." })
	if top < 0 {
		return
	}
	f.languages[top].Folder = ""
	for i, v := range f.languages {
		if i != top {
			f.hidden = append(f.hidden, v.Folder)
		}
	}
}

// combine adds the editions of all versions and languages that have documents.
func (f *finder) combine(root string) {
	versions, languages := pointers(f.versions), pointers(f.languages)
	seenVersion, seenLanguage := make(map[string]bool), make(map[string]bool)
	for _, v := range versions {
		for _, l := range languages {
			if v == nil && l == nil {
				return
			}
			for _, dir := range f.dirOf(v, l) {
				sub, err := fs.Sub(f.fsys, cmp.Or(dir, "."))
				if err != nil || !HasDocuments(sub) {
					continue
				}
				e := edition{dir: cmp.Or(dir, ".")}
				if l != nil && len(f.codes) > 0 {
					e.as = &translated{language: l.Name, first: f.languages[0].Name, suffixes: f.codes}
				} else if l != nil && l.Folder == "" && len(f.hidden) > 0 {
					e.as = &translated{hidden: f.hidden}
				}
				e.under, e.base = f.publishedUnder(v, l)
				if v != nil {
					e.version = versionLabel(v.Name)
					seenVersion[v.Name] = true
				}
				if l != nil {
					e.language = l.Name
					seenLanguage[l.Name] = true
				}
				f.found.list = append(f.found.list, e)
				break
			}
		}
	}
	for _, axis := range []struct {
		what  string
		list  []*Variant
		seen  map[string]bool
		label func(string) string
		names *[]string
	}{
		{"version", versions, seenVersion, versionLabel, &f.found.versions},
		{"language", languages, seenLanguage, func(name string) string { return name }, &f.found.languages},
	} {
		for _, v := range axis.list {
			switch {
			case v == nil:
			case axis.seen[v.Name]:
				*axis.names = append(*axis.names, axis.label(v.Name))
			default:
				f.found.report.Add(finding(ruleVariant, path.Join(f.prefix, root, v.Folder), 0,
					"name a folder with documents, or remove it from the list", "the %s %q has no documents", axis.what, v.Name))
			}
		}
		if len(*axis.names) == 1 {
			*axis.names = nil
		}
	}
	f.navigation()
	f.lead()
}

// lead puts the default edition first: that of the default version and language. If that does
// not exist, the first edition decides what the defaults are.
func (f *finder) lead() {
	all := f.found
	for i := range all.list {
		if all.place(&all.list[i]) == "" {
			e := all.list[i]
			all.list = slices.Insert(slices.Delete(all.list, i, i+1), 0, e)
			return
		}
	}
	if len(all.list) > 0 {
		toFront(all.versions, all.list[0].version)
		toFront(all.languages, all.list[0].language)
	}
}

// toFront moves a name to the front of a list.
func toFront(list []string, name string) {
	if i := slices.Index(list, name); i > 0 {
		copy(list[1:i+1], list[:i])
		list[0] = name
	}
}

// pointers returns the variants, or one nil if there are none.
func pointers(list []Variant) []*Variant {
	if len(list) == 0 {
		return []*Variant{nil}
	}
	var all []*Variant
	for i := range list {
		all = append(all, &list[i])
	}
	return all
}

// versionLabel returns the value of the argument for a version. A mere number would share file
// names with the part of a page.
func versionLabel(name string) string {
	if strings.Trim(name, "0123456789") == "" {
		return "v" + name
	}
	return name
}

// publishedUnder returns the path of an edition below the address of the documents, or its
// whole address if that is known.
func (f *finder) publishedUnder(v, l *Variant) (under, base string) {
	for _, one := range []*Variant{v, l} {
		if one == nil {
			continue
		}
		if one.BaseURL != "" {
			base = one.BaseURL
		}
		segment := one.Folder
		if len(f.codes) > 0 {
			segment = one.Name
		}
		switch {
		case one == l && (f.project || l.Name == f.languages[0].Name), f.project && v.Name == f.versions[0].Name:
			segment = "" // the default one is at the top; Docusaurus has locales before the route
		case f.project && v.Folder == "docs":
			segment = "next"
		case f.project:
			segment = v.Name
		}
		under = path.Join(under, segment)
	}
	return under, base
}

// navigation gives each edition its configuration: its own, or that of all.
func (f *finder) navigation() {
	if f.project {
		for i := range f.found.list {
			e := &f.found.list[i]
			locale := ""
			if len(f.languages) > 0 && e.language != f.languages[0].Name {
				locale = e.language
			}
			d := &detector{fsys: f.fsys, there: shallow(f.fsys), docs: "docs"}
			e.config = d.docusaurusOf(e.sidebars(f), locale)
		}
		return
	}
	var common *config
	for i := range f.found.list {
		e := &f.found.list[i]
		sub, err := fs.Sub(f.fsys, e.dir)
		if err != nil {
			continue
		}
		own := findConfig(sub, shallow(sub), "")
		switch {
		case own.file != "":
			e.config = own
			if common == nil {
				common = own
			}
		case common != nil && isFolderIn(sub, common.root):
			shared := *common
			e.config = &shared
		case f.config.system != "":
			shared := *f.config
			shared.root = ""
			e.config = &shared
		}
		if e.config != nil && own.file == "" {
			e.config.found = nil
		}
	}
}

// sidebars returns the file with the sidebars of a version of Docusaurus, or "" for those of
// the current one.
func (e *edition) sidebars(f *finder) string {
	for _, v := range f.versions {
		if versionLabel(v.Name) == e.version && v.Folder != "docs" {
			return fmt.Sprintf("versioned_sidebars/version-%s-sidebars.json", v.Name)
		}
	}
	return ""
}

// isFolderIn reports whether a folder exists in fsys.
func isFolderIn(fsys fs.FS, name string) bool {
	if name == "" {
		return true
	}
	info, err := fs.Stat(fsys, name)
	return err == nil && info.IsDir()
}
