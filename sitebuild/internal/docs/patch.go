package docs

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/pagecache"
	"github.com/slipway-mcp/slipway/internal/search"
	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/sitebuild/internal/convert"
)

// maxPatched is how many pages a patch may change; more are built faster as a whole.
const maxPatched = 50

// errWhole means that the site must be built as a whole.
var errWhole = errors.New("the site must be built as a whole")

// Patch implements [sitewriter.Patcher]. It tells the changes of texts: pages whose titles,
// headings, front matter or links to other pages have changed need a whole build, and so do other
// files, and new and missing ones.
func (f *Folder) Patch(ctx context.Context, old *sitewriter.Recorded) (*sitewriter.Patch, error) {
	if len(old.Parts) != 2 {
		return nil, nil
	}
	recorded, ok := decodeRecord(old.Parts[0])
	if !ok {
		return nil, nil
	}
	root, err := os.OpenRoot(f.dir)
	if err != nil {
		return nil, nil
	}
	defer root.Close()
	beside := f.besideNow()
	opts := f.siteOptions().withDefaults(folderPages, folderBytes)
	p := &patcher{
		reader: newReader(root.FS(), filepath.ToSlash(filepath.Clean(f.dir)), opts),
		old:    old,
		record: recorded,
	}
	changed, err := p.changed(ctx, f.beside())
	if err != nil || beside != recorded.beside {
		return nil, whole(ctx, err)
	}
	p.maker = newMaker(&Set{
		Title:       recorded.title,
		Description: recorded.description,
		Language:    recorded.language,
		System:      recorded.system,
		byID:        make(map[string]*Page),
		named:       recorded.named,
		place:       recorded.place,
		published:   published{base: recorded.base},
	}, opts)
	patch, err := p.patch(ctx, changed)
	return patch, whole(ctx, err)
}

// whole returns the error of a patch: only the end of ctx is one, as a whole build finds the others.
func whole(ctx context.Context, err error) error {
	if err != nil {
		return ctx.Err()
	}
	return nil
}

// patcher makes a patch.
type patcher struct {
	reader *reader
	old    *sitewriter.Recorded
	record *record
	maker  *maker

	answers []*sitewriter.Answer
	keep    map[pagecache.Key][]byte // analyses
}

// changed returns the pages whose files have other contents than recorded.
func (p *patcher) changed(ctx context.Context, beside *config) ([]*recordedPage, error) {
	documents, err := p.reader.find(ctx, beside)
	if err != nil {
		return nil, err
	}
	byFile := make(map[string]*recordedPage, len(p.record.pages))
	for _, page := range p.record.pages {
		byFile[page.file] = page
	}
	others, _ := p.reader.otherFiles(func(file string) bool { return byFile[file] != nil })
	if others != p.record.others {
		return nil, errWhole
	}
	var changed []*recordedPage
	found := 0
	for _, d := range documents {
		page := byFile[d.file]
		if page == nil {
			continue // without a page, as before
		}
		found++
		info := p.reader.files[d.file]
		stamp := fsutil.StampOf(info)
		if stamp == page.stamp && !page.fresh {
			continue
		}
		source, err := p.reader.contents(nil, d.file)
		if err != nil {
			return nil, err
		}
		page.stamp = stamp
		page.fresh = !info.ModTime().Before(p.reader.began.Add(-racy))
		if sourceKey(d.file, source) == page.sum {
			continue
		}
		if len(changed) == maxPatched || page.fixed {
			return nil, errWhole
		}
		changed = append(changed, page)
	}
	if found != len(p.record.pages) {
		return nil, errWhole
	}
	return changed, nil
}

// sourceKey returns the key of a page in the cache.
func sourceKey(file string, source []byte) pagecache.Key {
	return keyOfData(source, file, convert.ReaderVersion(file))
}

// patch returns the patch for the changed pages.
func (p *patcher) patch(ctx context.Context, changed []*recordedPage) (*sitewriter.Patch, error) {
	pages, close := p.openPages()
	defer close()
	b := search.NewBuilder(p.maker.indexOptions(), nil)
	var changes []search.PageChange
	p.keep = make(map[pagecache.Key][]byte)
	for _, page := range changed {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var before []byte
		if page.number >= 0 {
			var ok bool
			if before, ok = p.analysisOf(pages, page); !ok {
				return nil, errWhole
			}
		}
		now, err := p.page(ctx, page)
		if err != nil {
			return nil, err
		}
		if page.number < 0 {
			continue
		}
		change, err := p.searched(b, page, now, before)
		if err != nil {
			return nil, err
		}
		changes = append(changes, change)
	}
	counts := p.old.Parts[1]
	if len(changes) > 0 {
		files, after, err := search.Patch(func(name string) ([]byte, error) {
			return p.old.Read(search.Dir + "/" + name)
		}, counts, changes)
		if err != nil {
			return nil, err
		}
		counts = after
		for _, name := range slices.Sorted(maps.Keys(files)) {
			p.answers = append(p.answers, &sitewriter.Answer{Path: search.Dir + "/" + name, Data: files[name]})
		}
	}
	if p.record.size <= maxFull {
		return nil, errWhole // there may be an llms-full.txt now
	}
	for _, page := range p.record.pages { // those of earlier patches
		if data, ok := p.old.Stored(page.analysis); ok {
			p.keep[page.analysis] = data
		}
	}
	return &sitewriter.Patch{
		Site:    p.maker.definitions(),
		Answers: p.answers,
		Parts:   [][]byte{p.record.encode(), counts},
		Stored:  p.keep,
	}, nil
}

// openPages opens the page cache, of which only analyses are read, or returns nil.
func (p *patcher) openPages() (pages *pagecache.Cache, close func()) {
	name, err := p.reader.cacheName()
	if err == nil {
		pages, err = pagecache.Open(p.reader.opts.CacheDir, name, &pagecache.Options{Unchecked: true})
	}
	if err != nil {
		return nil, func() {}
	}
	return pages, pages.Close
}

// analysisOf returns the analysis that the index was built with.
func (p *patcher) analysisOf(pages *pagecache.Cache, page *recordedPage) ([]byte, bool) {
	data, ok := p.old.Stored(page.analysis)
	if !ok && pages != nil {
		e, found := pages.Get(page.analysis)
		if !found {
			return nil, false
		}
		var err error
		data, err = e.Part(0)
		ok = err == nil
	}
	return data, ok && pagecache.Sum(data) == page.analysisSum
}

// page reads a changed page, and makes its answers.
func (p *patcher) page(ctx context.Context, page *recordedPage) (*Page, error) {
	source, err := p.reader.contents(nil, page.file)
	if err != nil {
		return nil, err
	}
	now, found := p.reader.newPage(ctx, page.file, string(source))
	if now == nil || len(found) > 0 || now.includes || now.face() != page.face {
		return nil, errWhole
	}
	now.ID = page.id
	now.published = p.reader.publishedPath(now)
	now.Anchors = page.anchors
	n := 0
	for _, s := range now.slots {
		if isExternal(s.target) {
			continue
		}
		if n == len(page.links) {
			return nil, errWhole
		}
		if page.links[n].replaced {
			now.edits = append(now.edits, edit{s.at, s.end, page.links[n].with})
		}
		n++
	}
	if n != len(page.links) {
		return nil, errWhole
	}
	now.slots = nil
	now.applyLinks()
	p.record.size += len(now.Body) - page.size
	page.size = len(now.Body)
	page.sum = sourceKey(page.file, source)
	now.key = page.sum
	answers := len(p.answers)
	p.maker.answersOf(now, func(a *sitewriter.Answer, _ error) bool {
		p.answers = append(p.answers, a)
		return true
	})
	if len(p.answers)-answers != page.answers {
		return nil, errWhole
	}
	return now, nil
}

// searched returns the change of a page in the index.
func (p *patcher) searched(b *search.Builder, page *recordedPage, now *Page, before []byte) (search.PageChange, error) {
	change := search.PageChange{Number: page.number, Old: &search.Analysis{}}
	if err := change.Old.UnmarshalBinary(before); err != nil {
		return change, err
	}
	link := p.maker.link(now)
	whole, err := searchPage(now, link)
	if err != nil {
		return change, err
	}
	change.New = b.Analyze(*whole)
	data, err := change.New.AppendBinary(nil)
	if err != nil {
		return change, err
	}
	page.analysis = now.analysisKey(p.maker.set.Language + "\x00" + link)
	page.analysisSum = pagecache.Sum(data)
	p.keep[page.analysis] = data
	return change, nil
}

var _ sitewriter.Patcher = (*Folder)(nil)
