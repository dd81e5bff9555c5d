package docs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
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

// UnmarshalJSON decodes false, true for the default, or a list of names and objects.
func (v *Variants) UnmarshalJSON(text []byte) error {
	switch string(bytes.TrimSpace(text)) {
	case "false":
		*v = Variants{Off: true}
		return nil
	case "true":
		*v = Variants{}
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
	// files has a name of a file or folder for each edition but the default one, by its place.
	files map[string]string
	// folder is the folder that all are in, and report what was found about them.
	folder fs.FS
	report check.Report
	// err reports two editions with one name.
	err error
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
	// project is true for a project of Docusaurus, and current its folder with the documents of
	// the next version.
	project bool
	current string
	// codes are the languages in the names of documents.
	codes []string
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
	if len(f.found.list) < 2 && len(opts.Versions.List)+len(opts.Languages.List) == 0 {
		return nil
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

// isVersion reports whether a name is that of a folder with the documents of a version.
func isVersion(name string) bool {
	return versionName().MatchString(name) || slices.Contains(branches, name) || slices.Contains(unreleased, name)
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
		first(f.languages, "en")
		first(f.languages, f.config.language)
	} else {
		slices.SortFunc(inner, func(a, b Variant) int { return compareVersions(b.Name, a.Name) })
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
				if list[i].Folder = path.Clean(v.Folder); list[i].Folder == "." {
					list[i].Folder = "" // its documents are beside the folders of others
				}
				for _, known := range *axis.found {
					if known.Name == v.Name && v.Folder == v.Name {
						list[i].Folder = known.Folder
					}
				}
			}
			*axis.found = list
		}
	}
}

// foldersBelow returns the folders of others that are below that of a variant, from there.
func foldersBelow(v *Variant, others []Variant) []string {
	var list []string
	for _, other := range others {
		rest, found := other.Folder, v.Folder == ""
		if !found {
			rest, found = strings.CutPrefix(other.Folder, v.Folder+"/")
		}
		if found && rest != "" {
			list = append(list, rest)
		}
	}
	return list
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
				e.as = f.view(v, l)
				e.under, e.base = f.publishedUnder(v, l, dir)
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
	f.found.nameFiles()
}

// view returns the part of the folder of an edition that it sees, or nil for all of it.
func (f *finder) view(v, l *Variant) *translated {
	var t translated
	if v != nil {
		t.hidden = foldersBelow(v, f.versions)
	}
	if l != nil {
		t.hidden = append(t.hidden, foldersBelow(l, f.languages)...)
		if len(f.codes) > 0 {
			t.language = l.Name
			t.first = f.languages[0].Name
			t.suffixes = f.codes
		}
	}
	if len(t.hidden)+len(t.suffixes) == 0 {
		return nil
	}
	return &t
}

// nameFiles gives each edition but the default one a name for its files, of which no two differ only
// in case.
func (all *editions) nameFiles() {
	all.files = make(map[string]string)
	places, taken := make(map[string]bool), make(map[string]bool)
	for i := range all.list {
		place := all.place(&all.list[i])
		if places[place] {
			all.err = fmt.Errorf("two versions or languages are called %q; a number is called v1, for example",
				cmp.Or(place, all.list[i].version, all.list[i].language))
			return
		}
		places[place] = true
		if place == "" {
			continue
		}
		name := fileName(place)
		for n := 2; taken[strings.ToLower(name)]; n++ {
			name = fileName(place) + "-" + strconv.Itoa(n)
		}
		taken[strings.ToLower(name)] = true
		all.files[place] = name
	}
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

// publishedUnder returns the path of an edition in dir below the address of the documents, or its
// whole address if that is known.
func (f *finder) publishedUnder(v, l *Variant, dir string) (under, base string) {
	order := []*Variant{v, l}
	if v != nil && l != nil && l.Folder != "" && strings.HasSuffix("/"+dir, path.Join("/", l.Folder, v.Folder)) {
		order = []*Variant{l, v}
	}
	for _, one := range order {
		if one == nil {
			continue
		}
		segment := f.segment(one, one == l, dir)
		switch {
		case one.BaseURL != "" && base == "":
			base = publishedAt(one.BaseURL, under)
		case base != "":
			base = publishedAt(base, segment)
		}
		under = path.Join(under, segment)
	}
	return under, base
}

// segment returns the part of an address for a version or a language.
func (f *finder) segment(one *Variant, isLanguage bool, dir string) string {
	switch {
	case f.project && isLanguage:
		return "" // Docusaurus has locales before the route
	case f.project && one.Name == f.versions[0].Name:
		return ""
	case f.project && one.Folder == f.current:
		return "next"
	case f.project:
		return one.Name
	case isLanguage && one.Name == f.languages[0].Name && (len(f.codes) > 0 || f.config.system != ""):
		return "" // generators publish the default one at the top
	case len(f.codes) > 0 && isLanguage:
		return one.Name
	case !slices.Contains(strings.Split(dir, "/"), path.Base(one.Folder)):
		return "" // it has no folder of its own
	}
	return one.Folder
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
		if versionLabel(v.Name) == e.version && v.Folder != f.current {
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
