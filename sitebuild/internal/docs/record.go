package docs

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/pagecache"
	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/sitebuild/internal/convert"
)

// recordFormat is increased when the form of a record changes, or what Patch relies on.
const recordFormat = 2

// racy is how much older than its reading a file must be to be unchanged if its stamp is.
const racy = 2500 * time.Millisecond

// recordedPage is what a record says about a page: what it was read from, what other pages and
// the lists of pages rely on, and what it relies on in turn.
type recordedPage struct {
	file  string
	stamp fsutil.Stamp
	fresh bool // the stamp may be that of other contents
	sum   pagecache.Key
	id    string
	// face is the hash of what other pages and lists show of the page.
	face pagecache.Key
	// fixed means that a change of the page needs a whole build.
	fixed bool
	// links are what its links lead to, in order, and anchors the texts of links to it.
	links   []link
	anchors []string
	// number is that in the search index, or -1, and analysis the key of its analysis there,
	// whose data has the checksum analysisSum.
	number      int
	analysis    pagecache.Key
	analysisSum uint32
	answers     int // how many
	size        int // of its Body
}

// link is what a link that is not external leads to.
type link struct {
	with     string
	replaced bool
}

// note notes where the analysis of the page is.
func (p *Page) note(key pagecache.Key, data []byte) {
	if p.recorded != nil {
		p.recorded.analysis = key
		p.recorded.analysisSum = pagecache.Sum(data)
	}
}

// face returns the hash of what other pages, and lists of pages, show of the page, or rely on:
// everything but texts and external links. Links of the page are not resolved yet.
func (p *Page) face() pagecache.Key {
	bare := *p
	bare.Sections = make([]Section, len(p.Sections))
	for i, s := range p.Sections {
		bare.Sections[i] = Section{Slug: s.Slug, Heading: s.Heading, Level: s.Level}
	}
	bare.slots = nil
	for _, s := range p.slots {
		if !isExternal(s.target) {
			bare.slots = append(bare.slots, slot{target: s.target, text: s.text, image: s.image})
		}
	}
	return keyOfData(append(bare.encode(), bare.encodeSections()...), p.File)
}

// record begins the record of the pages, if one is wanted.
func (r *reader) record(pages []*Page) {
	if !r.opts.recording {
		return
	}
	isPage := make(map[string]bool, len(pages))
	for _, p := range pages {
		isPage[p.File] = true
	}
	r.set.others, r.set.unsettled = r.otherFiles(func(file string) bool { return isPage[file] })
	r.set.unsettled = r.set.unsettled || r.dated.Load()
	r.set.prefixed = r.place
	for _, p := range pages {
		info := r.files[p.File]
		if info == nil || p.front.fetched != nil || p.includes || p.entry == nil {
			continue // a build without a record
		}
		p.recorded = &recordedPage{
			file:   p.File,
			stamp:  fsutil.StampOf(info),
			fresh:  !info.ModTime().Before(r.began.Add(-racy)),
			sum:    p.key,
			face:   p.face(),
			number: -1,
		}
	}
}

// Records implements [sitewriter.Patcher].
func (f *Folder) Records() (dir, name string) {
	options, err := json.Marshal(f.siteOptions())
	abs, err2 := filepath.Abs(f.dir)
	if err != nil || err2 != nil || programVersion() == "" || f.opts.CacheDir == "" {
		return "", ""
	}
	return f.opts.CacheDir, fmt.Sprintf("record %d %d %s %s\n%q %q\n%s", recordFormat, cacheFormat, programVersion(),
		convert.ReaderVersion(".pdf"), abs, f.dir, options)
}

// RecordedSite implements [sitewriter.Patcher].
func (f *Folder) RecordedSite(ctx context.Context) (*sitewriter.Site, func() [][]byte, error) {
	c, err := f.collect(ctx, read)
	if err != nil {
		return nil, nil, err
	}
	if c != nil {
		site, err := c.site(ctx)
		return site, func() [][]byte { return nil }, err
	}
	recording := *f
	recording.opts.recording = true
	beside := f.besideNow()
	set, err := recording.Read(ctx)
	if err != nil {
		return nil, nil, err
	}
	m := newMaker(set, recording.siteOptions())
	site, err := m.site(ctx)
	return site, func() [][]byte { return m.recorded(beside) }, err
}

// besideNow returns the hash of the state of navigation files that are not among the documents.
func (f *Folder) besideNow() pagecache.Key {
	paths := f.Paths()[1:]
	if !fsutil.Newest(paths...).Before(time.Now().Add(-racy)) {
		return pagecache.Key{} // no state that is known
	}
	return pagecache.Key(fsutil.Snapshot(paths...))
}

// recorded returns the record of the site, after it was written, or nil if it can never be
// patched.
func (m *maker) recorded(beside pagecache.Key) [][]byte {
	r := &record{
		title:       m.set.Title,
		description: m.set.Description,
		language:    m.set.Language,
		system:      m.set.System,
		named:       m.set.named,
		place:       m.set.place,
		base:        m.set.published.base,
		others:      m.set.others,
		beside:      beside,
	}
	if beside == (pagecache.Key{}) || m.full || m.counts == nil || m.set.unsettled || len(m.words) > 0 {
		return nil
	}
	found, skipped := make(map[string]bool), make(map[string]bool)
	for _, finding := range m.set.Report.Findings() {
		found[finding.File] = true
		if convert.IsPDF(finding.File) {
			skipped[finding.File] = true
		}
	}
	for _, p := range m.set.Pages {
		delete(skipped, m.set.prefixed(p.File))
		if p.recorded == nil {
			return nil
		}
		p.recorded.id = p.ID
		p.recorded.anchors = p.Anchors
		p.recorded.size = p.size()
		p.recorded.fixed = p.recorded.fixed || found[m.set.prefixed(p.File)]
		r.size += p.recorded.size
		r.pages = append(r.pages, p.recorded)
	}
	if r.size <= maxFull || len(skipped) > 0 { // a program failed to read them, which the next build tries again
		return nil
	}
	slices.SortFunc(r.pages, func(a, b *recordedPage) int { return compareText(a.file, b.file) })
	return [][]byte{r.encode(), m.counts}
}

func compareText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// record is what the site of a folder was built from.
type record struct {
	// These are of the set.
	title, description, language, system, named, place string
	// base is the address of the documents, or "".
	base string
	// others is the hash of the stamps of all files in the folder that are no pages, and beside
	// that of navigation files in other places.
	others, beside pagecache.Key
	size           int // of all pages
	pages          []*recordedPage
}

func (r *record) encode() []byte {
	size := 1 << 10
	for _, p := range r.pages {
		size += len(p.file) + len(p.id) + 3*len(p.sum) + 64
		for i := range p.anchors {
			size += len(p.anchors[i]) + 2
		}
		for i := range p.links {
			size += len(p.links[i].with) + 3
		}
	}
	e := encoder{out: make([]byte, 0, size)}
	e.text(r.title, r.description, r.language, r.system, r.named, r.place, r.base,
		string(r.others[:]), string(r.beside[:]))
	e.number(r.size, len(r.pages))
	for _, p := range r.pages {
		e.text(p.file, string(p.sum[:]), p.id, string(p.face[:]), string(p.analysis[:]))
		e.number(int(p.stamp.Size), int(p.stamp.Time), int(p.stamp.Number), p.number, int(p.analysisSum), p.answers, p.size)
		e.flag(p.fresh, p.fixed)
		e.list(p.anchors)
		e.number(len(p.links))
		for _, l := range p.links {
			e.text(l.with)
			e.flag(l.replaced)
		}
	}
	return e.out
}

// key returns a text as a key.
func (d *decoder) key() (key pagecache.Key) {
	text := d.text()
	if len(text) != len(key) {
		d.failed = true
		return key
	}
	return pagecache.Key([]byte(text))
}

func decodeRecord(data []byte) (*record, bool) {
	d := decoder{rest: string(data)}
	r := &record{}
	for _, text := range []*string{&r.title, &r.description, &r.language, &r.system, &r.named, &r.place,
		&r.base} {
		*text = d.text()
	}
	r.others = d.key()
	r.beside = d.key()
	r.size = d.number()
	pages := make([]recordedPage, d.count())
	for i := range pages {
		p := &pages[i]
		p.file = d.text()
		p.sum = d.key()
		p.id = d.text()
		p.face = d.key()
		p.analysis = d.key()
		p.stamp = fsutil.Stamp{Size: int64(d.number()), Time: int64(d.number()), Number: uint64(d.number())}
		p.number = d.number()
		p.analysisSum = uint32(d.number())
		p.answers = d.number()
		p.size = d.number()
		p.fresh = d.flag()
		p.fixed = d.flag()
		p.anchors = d.list()
		p.links = make([]link, d.count())
		for k := range p.links {
			p.links[k].with = d.text()
			p.links[k].replaced = d.flag()
		}
		r.pages = append(r.pages, p)
	}
	return r, d.err() == nil
}

// otherFiles returns the hash of the stamps of all files that isPage does not accept, and
// whether one of them may have changed since it was read.
func (r *reader) otherFiles(isPage func(file string) bool) (sum pagecache.Key, unsettled bool) {
	hash := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(r.files)) {
		if isPage(name) {
			continue
		}
		info := r.files[name]
		unsettled = unsettled || !info.ModTime().Before(r.began.Add(-racy))
		hash.Write(appendStamp(appendText(nil, name), info))
	}
	return pagecache.Key(hash.Sum(nil)), unsettled
}

func appendStamp(out []byte, info fs.FileInfo) []byte {
	s := fsutil.StampOf(info)
	out = binary.AppendVarint(out, s.Size)
	out = binary.AppendVarint(out, s.Time)
	return binary.AppendUvarint(out, s.Number)
}
