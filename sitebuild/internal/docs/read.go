package docs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/barrier"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/search"
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
	imageSum int64
}

// Read reads the documents of a folder. File names in findings begin with prefix. It
// fails only for errors of the file system, the end of ctx, or an exceeded limit.
func Read(ctx context.Context, fsys fs.FS, prefix string, opts *Options) (*Set, error) {
	return read(ctx, fsys, prefix, nil, opts)
}

// read is Read with the configuration from navigation files next to the folder.
func read(ctx context.Context, fsys fs.FS, prefix string, beside *config, opts *Options) (*Set, error) {
	r := newReader(fsys, prefix, opts.withDefaults(folderPages, folderBytes))
	r.config = beside
	written, rendered, err := r.walk(ctx)
	if err != nil {
		return nil, err
	}
	documents := r.chooseForm(written, rendered)
	if r.config == nil {
		r.config = findConfig(r.fsys, r.files, "")
	}
	r.system = r.config.system
	r.set.System = r.system
	documents = r.choose(documents)
	pages, err := r.pages(ctx, documents)
	if err != nil {
		return nil, err
	}
	return r.finish(ctx, pages)
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
	}
}

// finish builds the set from the pages that have been read.
func (r *reader) finish(ctx context.Context, pages []*Page) (*Set, error) {
	r.name(pages)
	r.route(pages)
	r.sequence()
	r.navigate(pages)
	for _, p := range r.set.Pages {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r.link(p)
		p.raw = nil
		p.extra = nil
	}
	slices.SortFunc(r.set.Images, func(a, b *Image) int {
		return strings.Compare(a.ID, b.ID)
	})
	r.set.identify(r.config, r.opts)
	return r.set, nil
}

// document is a file to read.
type document struct {
	// file is the path of a document, and size its bytes.
	file string
	size int64
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

// walk lists the documents in Markdown and the rendered pages, and records all files.
func (r *reader) walk(ctx context.Context) (written, rendered []document, err error) {
	var total [2]int64 // bytes of both
	entries := 0
	err = fs.WalkDir(r.fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if entries++; entries > maxEntries {
			return fmt.Errorf("more than %d files", maxEntries)
		}
		if d.IsDir() {
			if name != "." && leftOut(path.Base(name)) {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil || !info.Mode().IsRegular() {
			return nil // deleted in the meantime, or a link, which is not followed
		}
		r.files[name] = info
		list := &written
		sum := &total[0]
		switch {
		case isRendered(name) && !repeats(name):
			list = &rendered
			sum = &total[1]
		case !isDocument(name):
			return nil
		}
		if info.Size() > r.opts.MaxFileBytes {
			r.set.Report.Add(finding(ruleTooLarge, r.place(name), 0, "split it",
				"the document is skipped: it has %d bytes, more than %d", info.Size(), r.opts.MaxFileBytes))
			return nil
		}
		*sum += info.Size()
		*list = append(*list, document{name, info.Size()})
		switch {
		case len(*list) > r.opts.MaxPages:
			return fmt.Errorf("more than %d documents", r.opts.MaxPages)
		case *sum > r.opts.MaxTotalBytes:
			return fmt.Errorf("the documents have more than %d bytes", r.opts.MaxTotalBytes)
		}
		return nil
	})
	return written, rendered, err
}

// leftOut reports whether a folder contains no documents by the author. That of VitePress
// contains its navigation.
func leftOut(name string) bool {
	return name != ".vitepress" &&
		(strings.HasPrefix(name, ".") || name == "node_modules" || name == "__pycache__")
}

// choose keeps the documents below the folder that the configuration names, and omits
// those that are only included in others.
func (r *reader) choose(documents []document) []document {
	if r.system == renderedSystem {
		return documents
	}
	return slices.DeleteFunc(documents, func(d document) bool {
		base := path.Base(d.file)
		inside := r.config.root == "" || strings.HasPrefix(d.file, r.config.root+"/")
		partial := strings.HasPrefix(base, "_") && !strings.HasPrefix(base, "_index.")
		partial = partial || r.system == "docusaurus" && strings.Contains("/"+d.file, "/_")
		return !inside || partial || strings.HasPrefix(d.file, ".vitepress/") ||
			strings.Contains(d.file, "/.vitepress/") ||
			r.system == "mdbook" && base == "SUMMARY.md"
	})
}

// pages reads the documents, several at a time.
func (r *reader) pages(ctx context.Context, documents []document) ([]*Page, error) {
	pages := make([]*Page, len(documents))
	findings := make([][]check.Finding, len(documents))
	errs := make([]error, len(documents))
	var work sync.WaitGroup
	next := make(chan int)
	for range max(1, min(runtime.GOMAXPROCS(0), len(documents))) {
		work.Go(func() {
			for i := range next {
				errs[i] = barrier.Run("read "+r.place(documents[i].file), func() error {
					source, err := r.text(documents[i].file)
					if err == nil {
						pages[i], findings[i] = r.newPage(documents[i].file, source)
					}
					return err
				})
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

// text returns the content of a file, of at most MaxFileBytes.
func (r *reader) text(file string) (string, error) {
	f, err := r.fsys.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := fsutil.ReadLimited(f, r.opts.MaxFileBytes)
	if large := (*fsutil.TooLargeError)(nil); errors.As(err, &large) {
		err = fmt.Errorf("%s: more than %d bytes", r.place(file), r.opts.MaxFileBytes)
	}
	return string(data), err
}

// place returns the name of a file as used in findings.
func (r *reader) place(file string) string {
	return path.Join(r.prefix, file)
}

// name gives each page a unique id.
func (r *reader) name(pages []*Page) {
	for _, p := range pages {
		file := strings.TrimPrefix(p.File, r.config.root+"/")
		id := idOf(file)
		if r.system == "docusaurus" {
			parts := strings.Split(id, "/")
			for i := range parts {
				parts[i] = unnumbered(parts[i])
			}
			id = strings.Join(parts, "/")
		}
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
func (s *Set) identify(c *config, o *Options) {
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
		return
	}
	counts := make(map[string]int)
	var sample strings.Builder
	for _, p := range s.Pages {
		if p.front.lang != "" {
			counts[p.front.lang]++
		}
		for _, section := range p.Sections {
			if sample.Len() < 200_000 {
				sample.WriteString(section.Text)
				sample.WriteByte('\n')
			}
		}
	}
	for lang, n := range counts {
		if n*2 > len(s.Pages) {
			s.Language = lang
			return
		}
	}
	s.Language = search.Detect(sample.String())
}
