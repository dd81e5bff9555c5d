package docs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/barrier"
	"github.com/slipway-mcp/slipway/internal/search"
	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/sitebuild/internal/convert"
)

// reader reads a folder of documents.
type reader struct {
	// fsys has the documents, and config what was read about their navigation.
	fsys   fs.FS
	opts   *Options
	prefix string // of names in findings
	system string
	config *config

	markdown *markdown
	files    map[string]fs.FileInfo // all files that are not documents, by path
	set      *Set
	// routes leads from addresses to pages, for links.
	routes   map[string]*Page
	names    map[string][]*Page // by file name; built when the first link is broken
	images   map[string]*Image  // nil for one that is not stored
	cache    *cache
	imageSum int64
	began    time.Time   // before the files were listed
	dated    atomic.Bool // the day decides whether some pages are published
}

// Read reads the documents of a folder. File names in findings begin with prefix. It
// fails only for errors of the file system, the end of ctx, or an exceeded limit.
func Read(ctx context.Context, fsys fs.FS, prefix string, opts *Options) (*Set, error) {
	return read(ctx, fsys, prefix, nil, opts)
}

// read is Read with the configuration from navigation files next to the folder.
func read(ctx context.Context, fsys fs.FS, prefix string, beside *config, opts *Options) (*Set, error) {
	r := newReader(fsys, prefix, opts.withDefaults(folderPages, folderBytes))
	documents, err := r.find(ctx, beside)
	if err != nil {
		return nil, err
	}
	r.cache = r.openCache()
	r.set.cache = r.cache
	pages, err := r.pages(ctx, documents)
	if err != nil {
		return nil, err
	}
	if r.cache.flush() != nil { // the disk may be full
		without := *opts
		without.CacheDir = ""
		return read(ctx, fsys, prefix, beside, &without)
	}
	return r.finish(ctx, pages)
}

// find lists the documents, and reads the configuration unless that is given.
func (r *reader) find(ctx context.Context, given *config) ([]document, error) {
	r.config = given
	found, err := r.walk(ctx)
	if err != nil {
		return nil, err
	}
	documents := r.chooseForm(found)
	if r.config == nil {
		r.config = findConfig(r.fsys, r.files, r.opts.MkDocsConfig)
		if name := r.opts.MkDocsConfig; name != "" && r.config.file != name {
			return nil, fmt.Errorf("the configuration %s of MkDocs is not for this folder: its docs_dir is another one", name)
		}
	}
	if r.config.outside != "" {
		return nil, errors.New(r.config.outside)
	}
	r.system = r.config.system
	if r.config.headings.name == "" {
		r.config.headings.name = r.system
	}
	r.set.System = r.system
	for _, d := range documents {
		r.set.used.documents++
		r.set.used.bytes += d.size
	}
	r.findUnrendered()
	documents = r.choose(documents)
	r.readCascades(documents)
	return documents, nil
}

// findUnrendered reports the documents that are read in rendered form only.
func (r *reader) findUnrendered() {
	if r.system == renderedSystem {
		return
	}
	var names []string
	for name := range r.files {
		inside := r.config.root == "" || strings.HasPrefix(name, r.config.root+"/")
		if inside && slices.Contains([]string{".rst", ".adoc", ".asciidoc"}, strings.ToLower(path.Ext(name))) {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		r.set.Report.Add(finding(ruleUnrendered, r.place(slices.Min(names)), 0,
			"render them to HTML, and build a site from the folder with the pages",
			"documents in reStructuredText or AsciiDoc are skipped: %d", len(names)))
	}
}

// newReader returns a reader without documents. prefix precedes the names of files in
// findings.
func newReader(fsys fs.FS, prefix string, opts *Options) *reader {
	return &reader{
		fsys:     fsys,
		prefix:   prefix,
		opts:     opts,
		markdown: newMarkdown(),
		files:    make(map[string]fs.FileInfo),
		routes:   make(map[string]*Page),
		images:   make(map[string]*Image),
		set:      &Set{byID: make(map[string]*Page)},
		began:    time.Now(),
	}
}

// finish builds the set from the pages that have been read.
func (r *reader) finish(ctx context.Context, pages []*Page) (*Set, error) {
	r.record(pages)
	r.name(pages)
	r.route(pages)
	r.sequence()
	r.navigate(pages)
	r.reportPlugins(pages)
	for _, p := range r.set.Pages {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r.link(p)
	}
	for _, p := range r.set.Pages {
		p.slugs = nil
		if p.entry == nil {
			p.applyLinks()
		} else {
			p.Sections = nil // as the entry has them
		}
	}
	slices.SortFunc(r.set.Images, func(a, b *Image) int {
		return strings.Compare(a.ID, b.ID)
	})
	r.files, r.routes, r.names, r.images = nil, nil, nil, nil // the set keeps the reader, for names of files
	return r.set, r.set.identify(r.config, r.opts)
}

// document is a file to read.
type document struct {
	// file is the path of a document, and size its bytes.
	file string
	size int64
}

// found are the documents of a folder by their form: Markdown, HTML, or one that is
// converted. If one file was asked for, it is read whatever it is called.
type found struct {
	written, rendered, converted form
	one                          bool
}

// form are documents of one form, and the sum of their bytes.
type form struct {
	documents []document
	size      int64
}

// formOf returns the form of a file, or nil if it is not a document.
func (f *found) formOf(name string) *form {
	switch {
	case isDocument(name):
		return &f.written
	case isConverted(name):
		return &f.converted
	case isRendered(name) && (f.one || !repeats(name)):
		return &f.rendered
	}
	return nil
}

// isDocument reports whether a file is Markdown.
func isDocument(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".mdx", ".markdown":
		return true
	}
	return false
}

// maxEntries bounds how many files are visited.
const maxEntries = 2_000_000

// walk lists the documents and records all files.
func (r *reader) walk(ctx context.Context) (*found, error) {
	_, one := r.fsys.(*oneFile)
	all := &found{one: one}
	entries := 0
	err := fs.WalkDir(r.fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return r.located("read", name, err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if entries++; entries > maxEntries {
			return fmt.Errorf("more than %d files", maxEntries)
		}
		if d.IsDir() && name != "." && leftOut(path.Base(name)) {
			return fs.SkipDir
		}
		if !utf8.ValidString(name) {
			return r.skipName(all, name, d)
		}
		if d.IsDir() {
			return nil
		}
		if d.Type() == fs.ModeSymlink {
			r.skipLink(all, name)
		}
		info, err := d.Info()
		if err != nil || !info.Mode().IsRegular() {
			return nil // deleted in the meantime, or not a file
		}
		r.files[name] = info
		kind := all.formOf(name)
		if kind == nil {
			return nil
		}
		if limit := r.limitOf(name); info.Size() > limit {
			r.set.Report.Add(finding(ruleTooLarge, r.place(name), 0, "split it",
				"the document is skipped: it has %d bytes, more than %d", info.Size(), limit))
			return nil
		}
		kind.size += info.Size()
		kind.documents = append(kind.documents, document{name, info.Size()})
		switch {
		case r.opts.used.documents+len(kind.documents) > r.opts.MaxPages:
			return fmt.Errorf("more than %d documents", r.opts.MaxPages)
		case r.opts.used.bytes+kind.size > r.opts.MaxTotalBytes:
			return fmt.Errorf("the documents have more than %d bytes", r.opts.MaxTotalBytes)
		}
		return nil
	})
	return all, err
}

// skipLink reports a symbolic link to a document or a folder. One that leads outside of the
// documents may be either.
func (r *reader) skipLink(all *found, name string) {
	if all.formOf(name) != nil {
		r.set.Report.Add(finding(ruleSymlink, r.place(name), 0, "copy the document, or include it in another",
			"the document is skipped: it is a symbolic link, which is not followed"))
		return
	}
	info, err := fs.Stat(r.fsys, name)
	outside := err != nil && !errors.Is(err, fs.ErrNotExist) && path.Ext(name) == ""
	if !leftOut(path.Base(name)) && (outside || err == nil && info.IsDir()) {
		r.set.Report.Add(finding(ruleSymlink, r.place(name), 0, "copy the folder, or build from the one that it leads to",
			"documents below it are skipped: it is a symbolic link, which is not followed"))
	}
}

// skipName skips a file or a folder whose name is not UTF-8, which has no path in a site.
func (r *reader) skipName(all *found, name string, d fs.DirEntry) error {
	if d.IsDir() {
		r.set.Report.Add(finding(ruleUnreadable, r.place(name), 0, "rename it",
			"the folder is skipped: its name is not UTF-8"))
		return fs.SkipDir
	}
	if all.formOf(name) != nil {
		r.set.Report.Add(finding(ruleUnreadable, r.place(name), 0, "rename it",
			"the document is skipped: its name is not UTF-8"))
	}
	return nil
}

// leftOut reports whether a folder contains no documents by the author. That of VitePress
// contains its navigation.
func leftOut(name string) bool {
	return name != ".vitepress" &&
		(strings.HasPrefix(name, ".") || name == "node_modules" || name == "__pycache__")
}

// choose keeps the documents below the folder that the configuration names, and omits
// those that are only included in others. Beside the pages of a generator, Word documents
// and PDF are downloads.
func (r *reader) choose(documents []document) []document {
	if r.system == renderedSystem {
		return documents
	}
	var unlisted []string
	defer func() { r.noteUnlisted(unlisted) }()
	return slices.DeleteFunc(documents, func(d document) bool {
		base := path.Base(d.file)
		inside := r.config.root == "" || strings.HasPrefix(d.file, r.config.root+"/")
		partial := strings.HasPrefix(base, "_") && !strings.HasPrefix(base, "_index.")
		partial = partial || r.system == "docusaurus" && strings.Contains("/"+d.file, "/_")
		download := r.system != "" && isConverted(d.file) && !convert.IsNotebook(d.file)
		unpublished := inside && r.config.unpublished.has(r.belowRoot(d.file), r.opts.Drafts)
		if unpublished && r.system == "mdbook" {
			unlisted = append(unlisted, d.file)
		}
		return !inside || unpublished || partial || download || strings.HasPrefix(d.file, ".vitepress/") ||
			strings.Contains(d.file, "/.vitepress/") ||
			r.system == "mdbook" && base == "SUMMARY.md" || r.isReplaced(d.file)
	})
}

// noteUnlisted reports the documents that mdBook does not publish.
func (r *reader) noteUnlisted(names []string) {
	if len(names) > 0 {
		r.set.Report.Add(finding(ruleUnpublished.As(check.Note), r.place(slices.Min(names)), 0, "list them in SUMMARY.md",
			"documents that SUMMARY.md does not list are skipped, as by mdBook: %d", len(names)))
	}
}

// belowRoot returns the path of a document below the root of the documents, by its name on disk.
func (r *reader) belowRoot(file string) string {
	if r.opts.actual != nil {
		file = r.opts.actual(file)
	}
	return strings.TrimPrefix(file, r.config.root+"/")
}

// maxRoom is how much room for the contents of a file is kept for the next.
const maxRoom = 1 << 20

// pages reads the documents, several at a time.
func (r *reader) pages(ctx context.Context, documents []document) ([]*Page, error) {
	pages := make([]*Page, len(documents))
	findings := make([][]check.Finding, len(documents))
	errs := make([]error, len(documents))
	var work sync.WaitGroup
	next := make(chan int)
	var done atomic.Int64
	for range max(1, min(runtime.GOMAXPROCS(0), len(documents))) {
		work.Go(func() {
			var source []byte // the contents of a file, and room for the next
			for i := range next {
				errs[i] = barrier.Run("read "+r.place(documents[i].file), func() error {
					file := documents[i].file
					if cap(source) > maxRoom {
						source = nil
					}
					var err error
					if source, err = r.contents(source[:0], file); err != nil {
						return err
					}
					pages[i] = r.cache.page(file, source, func() (*Page, bool) {
						p, found := r.newPage(ctx, file, string(source))
						findings[i] = found
						return p, p != nil && len(found) == 0 && !p.includes
					})
					return nil
				})
				sitewriter.Progress{
					Stage: "documents",
					Done:  int(done.Add(1)),
					Total: len(documents),
				}.Report(ctx)
			}
		})
	}
	for i := range documents {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	work.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var kept []*Page
	for i, p := range pages {
		if errs[i] != nil && !errors.Is(errs[i], fs.ErrNotExist) {
			return nil, errs[i]
		}
		r.set.Report.Add(findings[i]...)
		if p != nil {
			kept = append(kept, p)
		}
	}
	return kept, nil
}

// text returns the content of a file, of at most the bytes that limitOf allows.
func (r *reader) text(file string) (string, error) {
	data, err := r.contents(nil, file)
	return string(data), err
}

// contents is text with room for the contents, which may be nil. It always returns room for the
// next file.
func (r *reader) contents(room []byte, file string) ([]byte, error) {
	f, err := r.fsys.Open(file)
	if err != nil {
		return room[:0], r.located("open", file, err)
	}
	defer f.Close()
	into := bytes.NewBuffer(room[:0])
	limit := r.limitOf(file)
	n, err := into.ReadFrom(io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		err = r.located("read", file, err)
	case n > limit:
		err = fmt.Errorf("%s: more than %d bytes", r.place(file), limit)
	}
	return into.Bytes(), err
}

// located returns an error of opening or reading a file or folder that names it as findings do.
func (r *reader) located(op, file string, err error) error {
	var failed *fs.PathError
	if errors.As(err, &failed) {
		err = failed.Err
	}
	return &fs.PathError{
		Op:   op,
		Path: r.place(file),
		Err:  err,
	}
}

// place returns the name of a file as used in findings.
func (r *reader) place(file string) string {
	if r.opts.actual != nil {
		file = r.opts.actual(file)
	}
	return path.Join(r.prefix, file)
}

// name gives each page a unique id.
func (r *reader) name(pages []*Page) {
	for _, p := range pages {
		file := strings.TrimPrefix(p.File, r.config.root+"/")
		id := r.idOf(file)
		for _, other := range []string{strings.TrimSuffix(file, path.Ext(file)), file} {
			if r.set.byID[id] == nil && path.Base(id) != "index" {
				break
			}
			if other == file {
				r.set.Report.Add(finding(ruleDuplicatePage, r.place(p.File), 0, "",
					"another document already has the path \"%s\"; this one gets \"%s\"", id, other))
			}
			id = other
		}
		p.ID = id
		p.published = r.publishedPath(p)
		p.place = r.opts.uriPlace
		r.set.byID[id] = p
	}
}

// namesAnyPage reports whether a title is generic for a first page, so that the folder is
// a better name for the site.
func namesAnyPage(title string) bool {
	switch strings.ToLower(strings.Trim(title, " .!_")) {
	case "index", "home", "homepage", "home page", "start page", "main page", "readme", "read me", "docs",
		"documentation", "introduction", "intro", "overview", "welcome", "getting started", "get started", "about",
		"contents", "table of contents":
		return true
	}
	return false
}

// identify sets the title and the language of the set.
func (s *Set) identify(c *config, o *Options) error {
	s.named = c.title
	s.published = c.published
	s.Title = cmp.Or(o.Title, c.title)
	home := s.byID[homeID]
	if s.Title == "" && home != nil && !namesAnyPage(home.Title) {
		s.Title = home.Title
	}
	s.Description = c.description
	s.Language = cmp.Or(o.Language, c.language)
	if s.Language != "" {
		return nil
	}
	counts := make(map[string]int)
	var sample strings.Builder
	for _, p := range s.Pages {
		if p.front.lang != "" {
			counts[p.front.lang]++
		}
		if sample.Len() >= 200_000 {
			continue
		}
		sections, err := p.withTexts()
		if err != nil {
			return err
		}
		if p.recorded != nil {
			p.recorded.fixed = true // it helps to detect the language
		}
		for i := range sections {
			if sample.Len() < 200_000 {
				sample.WriteString(sections[i].Text)
				sample.WriteByte('\n')
			}
		}
	}
	for lang, n := range counts {
		if n*2 > len(s.Pages) {
			s.Language = lang
			return nil
		}
	}
	s.Language = search.Detect(sample.String())
	return nil
}
