package docs

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/check"
)

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
	// routes are those of the versions of such a project, by folder.
	routes map[string]string
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
		f.config = findConfig(fsys, there, opts.MkDocsConfig)
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

// maxEditions bounds the editions of a site: the tools list all versions and languages.
const maxEditions = 200

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
				if len(f.found.list) == maxEditions {
					f.found.err = fmt.Errorf("more than %d versions and languages with documents: list some in "+
						"versions or languages of slipway.site.yaml, or set them to false", maxEditions)
					return
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
		toFront(all.versions, func(name string) bool { return name == all.list[0].version })
		toFront(all.languages, func(name string) bool { return name == all.list[0].language })
	}
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
	case f.project:
		if route, ok := f.routes[one.Folder]; ok {
			return route
		}
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
		own := findConfig(sub, shallow(sub), f.opts.MkDocsConfig)
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
			if under, inside := strings.CutPrefix(e.dir+"/", path.Join(f.config.root)+"/"); inside || f.config.root == "" {
				shared.unpublished.under = strings.TrimSuffix(under, "/")
			}
			shared.root = ""
			e.config = &shared
		}
		if e.config != nil && own.file == "" {
			e.config.found = nil
		}
	}
}

// isFolderIn reports whether a folder exists in fsys.
func isFolderIn(fsys fs.FS, name string) bool {
	if name == "" {
		return true
	}
	info, err := fs.Stat(fsys, name)
	return err == nil && info.IsDir()
}
