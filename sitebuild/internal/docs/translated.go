package docs

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// translated is a folder as the edition in one language sees it: its documents without the code
// of the language in their names, and none of the others.
type translated struct {
	fs.FS
	// language is that of the edition, and suffixes are the codes that names end in, such as
	// install.de.md; first is that of documents without one.
	language, first string
	suffixes        []string
	// hidden are the folders of other languages.
	hidden []string
}

var (
	_ fs.ReadDirFS = (*translated)(nil)
	_ fs.StatFS    = (*translated)(nil)
)

// languageSuffix returns the code of a language at the end of a document's name, before the
// extension, or "".
func languageSuffix(name string) string {
	if !isDocument(name) {
		return ""
	}
	bare := strings.TrimSuffix(name, path.Ext(name))
	if code := strings.TrimPrefix(path.Ext(bare), "."); isLanguage(code) {
		return code
	}
	return ""
}

// unsuffixed returns the name of a document without the code of its language.
func unsuffixed(name string) string {
	ext := path.Ext(name)
	return strings.TrimSuffix(strings.TrimSuffix(name, ext), "."+languageSuffix(name)) + ext
}

// seenAs returns the name under which the edition sees a file. ok is false if it does not.
func (t *translated) seenAs(name string) (seen string, ok bool) {
	if len(t.suffixes) == 0 || !isDocument(name) {
		return name, true
	}
	code := languageSuffix(name)
	if !slices.Contains(t.suffixes, code) {
		return name, t.language == t.first
	}
	return unsuffixed(name), code == t.language
}

// actual returns the name of the file that the edition sees under a name.
func (t *translated) actual(name string) string {
	if len(t.suffixes) == 0 || !isDocument(name) {
		return name
	}
	ext := path.Ext(name)
	suffixed := strings.TrimSuffix(name, ext) + "." + t.language + ext
	if _, err := fs.Stat(t.FS, suffixed); err == nil {
		return suffixed
	}
	return name
}

// Open implements [fs.FS].
func (t *translated) Open(name string) (fs.File, error) { return t.FS.Open(t.actual(name)) }

// Stat implements [fs.StatFS].
func (t *translated) Stat(name string) (fs.FileInfo, error) { return fs.Stat(t.FS, t.actual(name)) }

// ReadDir implements [fs.ReadDirFS].
func (t *translated) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(t.FS, name)
	var list []fs.DirEntry
	names := make(map[string]bool)
	for _, e := range entries {
		if e.IsDir() {
			if !slices.Contains(t.hidden, path.Join(name, e.Name())) {
				list = append(list, e)
			}
			continue
		}
		seen, ok := t.seenAs(e.Name())
		if ok && !names[seen] { // install.md and install.en.md may be the same page
			names[seen] = true
			list = append(list, &seenEntry{e, seen})
		}
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, err
}

// seenEntry is a file under another name.
type seenEntry struct {
	fs.DirEntry
	name string
}

// Name implements [fs.DirEntry].
func (e *seenEntry) Name() string { return e.name }

// suffixed finds languages by the names of documents, such as install.de.md.
func (f *finder) suffixed(there files, root string) {
	counts := make(map[string]int)
	plain := 0
	for name := range there {
		if root != "" && !strings.HasPrefix(name, root+"/") || !isDocument(name) {
			continue
		}
		if code := languageSuffix(name); code != "" {
			counts[code]++
		} else {
			plain++
		}
	}
	main := f.mainLanguage()
	all := max(plain, counts[main])
	const share = 5 // a language with fewer pages than a fifth has a few translated files
	var codes []string
	for code, n := range counts {
		if n*share >= all && all > 0 {
			codes = append(codes, code)
		}
	}
	slices.Sort(codes)
	if len(codes) == 0 || len(codes) == 1 && codes[0] == main {
		return
	}
	f.codes = codes
	if !slices.Contains(codes, main) {
		codes = append([]string{main}, codes...)
	}
	for _, code := range codes {
		f.languages = append(f.languages, Variant{Name: code})
	}
	toFront(f.languages, called(main))
	f.dirOf = func(_, _ *Variant) []string { return []string{path.Join(root, ".")} }
}

// besideMain finds languages in folders beside the documents of the main one: zh/guide/install.md
// is a translation of guide/install.md.
func (f *finder) besideMain(there files, root string) {
	var folders []string
	for _, name := range documentFolders(f.fsys, root) {
		if isLanguage(name) && f.mirrors(there, root, name) {
			folders = append(folders, name)
		}
	}
	if len(folders) == 0 {
		return
	}
	main := f.mainLanguage()
	f.languages = []Variant{{Name: main}}
	for _, name := range folders {
		if name == main {
			return // its documents are not those of the top
		}
		f.languages = append(f.languages, Variant{Name: name, Folder: name})
	}
	f.dirOf = func(_, language *Variant) []string { return []string{path.Join(root, language.Folder)} }
}

// mirrors reports whether most of the documents in a folder are also in that above.
func (f *finder) mirrors(there files, root, folder string) bool {
	prefix := path.Join(root, folder) + "/"
	same, all := 0, 0
	for name := range there {
		rest, found := strings.CutPrefix(name, prefix)
		if !found || !isDocument(name) {
			continue
		}
		all++
		if _, ok := there[path.Join(root, rest)]; ok {
			same++
		}
	}
	return same*2 > all
}

// mainLanguage returns the language of the documents without a code, such as "en".
func (f *finder) mainLanguage() string {
	language, _, _ := strings.Cut(f.config.language, "-")
	if f.opts.Language != "" {
		language = f.opts.Language
	}
	if language == "" {
		return "en"
	}
	return language
}
