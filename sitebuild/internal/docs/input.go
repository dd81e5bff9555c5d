package docs

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// Folder is a folder of documents as an input of a site.
type Folder struct {
	// dir is the folder, as it can be opened.
	dir    string
	parent []string // the names of navigation files in the parent folder
	opts   Options
}

var _ sitewriter.Surveyor = (*Folder)(nil)

// Dir returns the folder of documents called dir. Links that point outside it are not
// followed. If dir is the documents folder of a project, the navigation files next to it
// in the project are read as well.
func Dir(dir string, opts *Options) (*Folder, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a folder", dir)
	}
	f := &Folder{dir: dir}
	if opts != nil {
		f.opts = *opts
	}
	f.parent = mkdocsFiles(f.opts.MkDocsConfig)
	for _, name := range []string{"sidebars", "docusaurus.config"} {
		f.parent = append(f.parent, variants(name, ".js", ".ts", ".json", ".mjs",
			".cjs", ".mts")...)
	}
	for _, name := range slices.Clone(f.parent) {
		for _, folder := range sitewriter.GeneratorFolders() {
			f.parent = append(f.parent, folder+"/"+name)
		}
	}
	return f, nil
}

// HasMkDocsConfig reports whether a configuration of MkDocs with that name is in dir or next to it.
func HasMkDocsConfig(dir, name string) bool {
	if filepath.Base(name) != name || !fs.ValidPath(name) {
		return false
	}
	for _, folder := range []string{dir, filepath.Dir(filepath.Clean(dir))} {
		if info, err := os.Stat(filepath.Join(folder, name)); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return false
}

// folderName names a site after the folder, or after its project if the folder's name is
// generic.
func folderName(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	name := filepath.Base(abs)
	project := projectName(abs)
	switch {
	case !sitewriter.IsContentFolder(name) || sitewriter.IsContentFolder(project):
		return name
	case strings.HasPrefix(strings.ToLower(name), "doc"):
		return project + "-" + name
	}
	return project + "-docs"
}

// projectTitle titles a site after the folder's project, or "" if that is called docs as
// well.
func projectTitle(dir string) string {
	project := projectName(dir)
	if sitewriter.IsContentFolder(project) {
		return ""
	}
	return project
}

// projectName returns the name of a folder's project: that of its folder, or in the module
// cache of Go, such as fiber/v3@v3.1.0, that of the module.
func projectName(dir string) string {
	folder := sitewriter.ProjectFolder(dir)
	name, version, cached := strings.Cut(filepath.Base(folder), "@")
	if !cached || name == "" || !strings.HasPrefix(version, "v") {
		return filepath.Base(folder)
	}
	if major := strings.TrimLeft(name, "v0123456789"); major == "" {
		return filepath.Base(filepath.Dir(folder))
	}
	return name
}

// Paths implements [sitewriter.Input].
func (f *Folder) Paths() []string {
	paths := []string{f.dir}
	for _, name := range []string{".vitepress", "docs/.vitepress"} {
		if sub := filepath.Join(f.dir, filepath.FromSlash(name)); isFolder(sub) {
			paths = append(paths, sub)
		}
	}
	for _, name := range f.parent {
		paths = append(paths, filepath.Join(filepath.Dir(filepath.Clean(f.dir)), filepath.FromSlash(name)))
	}
	return append(paths, inheritedFiles(filepath.Dir(filepath.Clean(f.dir)), f.opts.MkDocsConfig)...)
}

// isFolder reports whether a folder exists.
func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// Read reads the current documents.
func (f *Folder) Read(ctx context.Context) (*Set, error) { return f.readWith(ctx, read) }

// readWith reads the current documents with read or survey.
func (f *Folder) readWith(ctx context.Context, how reading) (*Set, error) {
	root, err := os.OpenRoot(f.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	set, err := how(ctx, root.FS(), filepath.ToSlash(filepath.Clean(f.dir)),
		f.beside(), &f.opts)
	if err != nil {
		return nil, fmt.Errorf("read documents: %w", err)
	}
	if len(set.Pages) == 0 {
		return nil, set.empty(f.dir)
	}
	set.place = folderName(f.dir)
	set.Title = cmp.Or(set.Title, projectTitle(f.dir))
	return set, nil
}

// empty returns the error for documents without a page: the first problem, or that there are none.
func (s *Set) empty(place string) error {
	if found := s.Report.Findings(); len(found) > 0 {
		first := found[0]
		if first.Hint != "" {
			first.Message += " (" + first.Hint + ")"
		}
		return fmt.Errorf("%s has no readable documents: %s: %s", place, first.File, first.Message)
	}
	return fmt.Errorf("%s has no visible documents: Markdown, HTML, notebooks, Word documents or PDF", place)
}

// Site implements [sitewriter.Input].
func (f *Folder) Site(ctx context.Context) (*sitewriter.Site, error) {
	c, err := f.collect(ctx, read)
	switch {
	case err != nil:
		return nil, err
	case c != nil:
		return c.site(ctx)
	}
	set, err := f.Read(ctx)
	if err != nil {
		return nil, err
	}
	return set.Site(ctx, f.siteOptions())
}

// Survey implements [sitewriter.Surveyor]. It lists the folder, and reads the navigation
// files and the top page.
func (f *Folder) Survey(ctx context.Context) (*sitewriter.Site, error) {
	c, err := f.collect(ctx, survey)
	switch {
	case err != nil:
		return nil, err
	case c != nil:
		return c.definitions(), nil
	}
	set, err := f.readWith(ctx, survey)
	if err != nil {
		return nil, err
	}
	return newMaker(set, f.siteOptions()).definitions(), nil
}

// siteOptions returns the options for the site of the documents.
func (f *Folder) siteOptions() *Options {
	opts := f.opts
	opts.Version = cmp.Or(opts.Version, sitewriter.ProjectVersion(f.dir))
	return &opts
}

// beside returns the configuration in the parent folder's navigation files, if it applies
// to this folder.
func (f *Folder) beside() *config {
	abs, err := filepath.Abs(f.dir)
	if err != nil || filepath.Dir(abs) == abs {
		return nil
	}
	up, err := os.OpenRoot(filepath.Dir(abs))
	if err != nil {
		return nil
	}
	defer up.Close()
	there := make(files)
	for _, name := range f.parent {
		info, err := up.Stat(name)
		if err == nil && info.Mode().IsRegular() {
			there[name] = info
		}
	}
	if len(there) == 0 || isSystem(f.dir) {
		return nil
	}
	name := filepath.Base(abs)
	for _, folder := range append([]string{"."}, sitewriter.GeneratorFolders()...) {
		sub, err := fs.Sub(up.FS(), folder)
		if err != nil {
			continue
		}
		d := &detector{
			fsys:       sub,
			there:      there.below(folder),
			docs:       name,
			mkdocsFile: f.opts.MkDocsConfig,
		}
		if c := d.named(path.Join(strings.Repeat("../", min(1, len(folder)-1)), name)); c != nil {
			c.beside(path.Join("..", folder), name)
			return c
		}
	}
	return nil
}

// below returns the files in a folder, by their paths in it.
func (there files) below(folder string) files {
	if folder == "." {
		return there
	}
	inside := make(files)
	for name, info := range there {
		if rest, ok := strings.CutPrefix(name, folder+"/"); ok {
			inside[rest] = info
		}
	}
	return inside
}

// beside sets the folder of the configuration, relative to that of the documents, which is called
// name.
func (c *config) beside(folder, name string) {
	c.file = path.Join(folder, c.file)
	c.folder = name
	for i := range c.found {
		c.found[i].File = path.Join(folder, c.found[i].File)
	}
}

// isSystem reports whether a folder has its own navigation files.
func isSystem(dir string) bool {
	for _, name := range []string{"mkdocs.yml", "mkdocs.yaml", "book.toml", ".vitepress", "SUMMARY.md"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// named returns the configuration that the files have for the folder at a path relative to
// them.
func (d *detector) named(dir string) *config {
	c := d.mkdocs()
	if c != nil && d.mkdocsDir == dir {
		return c
	}
	main := d.docusaurusFile()
	if main == "" && dir == "docs" {
		return d.docusaurus()
	}
	if main == "" {
		return nil
	}
	if settings, _ := docusaurusSettings(d.script(&config{}, main).root); docsPath(settings) == dir {
		return d.docusaurus()
	}
	return nil
}

// address returns the published address of a page, or the URI of its resource.
func (m *maker) address(p *Page) string {
	if link := m.link(p); link != "" {
		return link
	}
	parts := strings.Split(strings.TrimPrefix(p.URI(), Scheme), "/")
	for i, part := range parts {
		parts[i] = staticmcp.EncodeName(part)
	}
	return "resources/" + strings.Join(parts, "/") + ".json"
}

// HasDocuments reports whether fsys has documents at its top or in a folder below,
// reading a limited number of files.
func HasDocuments(fsys fs.FS) bool {
	const most = 2000
	seen := 0
	found := false
	// Unreadable folders contain nothing that could be built.
	_ = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if seen++; err != nil || seen > most {
			return fs.SkipAll
		}
		if d.IsDir() {
			if name != "." &&
				(leftOut(filepath.Base(name)) || strings.Count(name, "/") >= 3) {
				return fs.SkipDir
			}
			return nil
		}
		if found = IsDocument(name); found {
			return fs.SkipAll
		}
		return nil
	})
	return found
}

// NavigationFile returns the configuration file of a documentation generator at the top
// of a project, such as mkdocs.yml, or "".
func NavigationFile(fsys fs.FS) string {
	scripts := []string{".ts", ".js", ".mts", ".mjs", ".cjs", ".cts"}
	names := []string{"mkdocs.yml", "mkdocs.yaml", "book.toml", "_quarto.yml", "antora.yml"}
	names = append(names, variants("docusaurus.config", scripts...)...)
	names = append(names, variants(".vitepress/config", scripts...)...)
	names = append(names, variants("docs/.vitepress/config", scripts...)...)
	names = append(names, variants("hugo", ".toml", ".yaml", ".yml", ".json")...)
	names = append(names, "config/_default/hugo.toml", "config/_default/hugo.yaml")
	if info, err := fs.Stat(fsys, "content"); err == nil && info.IsDir() { // older Hugo
		names = append(names, variants("config", ".toml", ".yaml", ".yml")...)
	}
	for _, name := range names {
		info, err := fs.Stat(fsys, name)
		if err == nil && info.Mode().IsRegular() {
			return name
		}
	}
	return ""
}
