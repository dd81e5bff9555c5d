package docs

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/slipway-mcp/slipway/internal/pagecache"
	"github.com/slipway-mcp/slipway/internal/search"
)

// cacheFormat is increased when the stored form of pages changes.
const cacheFormat = 5

// cache stores parsed pages between builds. It is safe for concurrent use. A nil *cache stores
// nothing.
type cache struct {
	mu    sync.Mutex // guards pages
	pages *pagecache.Cache
}

// openCache opens the cache for the folder of r, unless the options name none. A cache that
// cannot be used is as good as none.
func (r *reader) openCache() *cache {
	if r.opts.CacheDir == "" || len(r.config.hugo.cascade) > 0 { // a page relies on others
		return nil
	}
	name, err := r.cacheName()
	if err != nil {
		return nil
	}
	pages, err := pagecache.Open(r.opts.CacheDir, name, nil)
	if err != nil {
		return nil
	}
	return &cache{pages: pages}
}

// cacheName identifies the folder and everything else that parsing depends on.
func (r *reader) cacheName() (string, error) {
	prefix, err := filepath.Abs(filepath.FromSlash(r.prefix))
	// Editions may be in one folder, and each removes the pages of a source that it does not use.
	return fmt.Sprintf("%d %s\n%q %q %q\n%q %q %t %d %v", cacheFormat, programVersion(), prefix, r.prefix,
		r.opts.uriPlace, r.system, r.config.headings, r.opts.Drafts, r.opts.MaxFileBytes,
		r.config.plugins), err
}

// programVersion identifies the code that parses: a release by its version, any other program
// by its file.
var programVersion = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if ok && info.Main.Version != "" && info.Main.Version != "(devel)" && !strings.Contains(info.Main.Version, "+dirty") {
		return info.Main.Version
	}
	name, err := os.Executable()
	if err != nil {
		return ""
	}
	file, err := os.Stat(name)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s %d %d", name, file.Size(), file.ModTime().UnixNano())
})

// keyOf returns the key for texts.
func keyOf(texts ...string) pagecache.Key { return keyOfData(nil, texts...) }

// keyOfData returns the key for data, such as the contents of a file, and texts.
func keyOfData(data []byte, texts ...string) pagecache.Key {
	sum := sha256.New()
	add := func(part []byte) {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		sum.Write(size[:])
		sum.Write(part)
	}
	add(data)
	for _, text := range texts {
		add([]byte(text))
	}
	return pagecache.Key(sum.Sum(nil))
}

// The parts of the entry of a page.
const (
	partPage     = iota // everything but its sections and its texts
	partBody            // with links as they are in the file
	partSections        // everything but their texts
	partTexts           // of the sections
	pageParts
)

// page returns the page in a file, from the cache or as parse returns it. Pages with findings
// and those that include other files are not stored.
func (c *cache) page(file string, source []byte, parse func() (*Page, bool)) *Page {
	if c == nil {
		p, _ := parse()
		return p
	}
	key := sourceKey(file, source)
	if p, ok := c.stored(file, key); ok {
		return p
	}
	p, whole := parse()
	if p == nil || !whole {
		return p
	}
	parts := make([][]byte, pageParts)
	parts[partPage] = p.encode()
	parts[partSections] = p.encodeSections()
	parts[partBody] = []byte(p.Body)
	size := 0
	for _, s := range p.Sections {
		size += binary.MaxVarintLen32 + len(s.Text)
	}
	parts[partTexts] = make([]byte, 0, size)
	for _, s := range p.Sections {
		parts[partTexts] = appendText(parts[partTexts], s.Text)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, err := c.pages.Put(key, parts...); err == nil {
		p.store(e, key)
	}
	return p
}

// stored returns the stored page.
func (c *cache) stored(file string, key pagecache.Key) (*Page, bool) {
	c.mu.Lock()
	e, ok := c.pages.Get(key)
	c.mu.Unlock()
	if !ok || e.Parts() != pageParts {
		return nil, false
	}
	data, err := e.Part(partPage)
	if err != nil {
		return nil, false
	}
	sections, err := e.Part(partSections)
	if err != nil {
		return nil, false
	}
	p := &Page{File: file}
	if !p.decode(string(data)) {
		return nil, false
	}
	if p.Sections, err = decodeSections(sections); err != nil {
		return nil, false
	}
	p.store(e, key)
	return p, true
}

// flush makes all pages readable. If that fails, the build fails: their texts are nowhere else.
func (c *cache) flush() error {
	if c == nil {
		return nil
	}
	return cacheFailed(c.pages.Flush())
}

// cacheFailed says how to build without the cache.
func cacheFailed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("write the page cache: %w (SLIPWAY_PAGE_CACHE=off builds without it)", err)
}

// commit stores the pages for the next build, and makes what was added readable.
func (c *cache) commit() error {
	if c == nil {
		return nil
	}
	return cacheFailed(c.pages.Commit())
}

// store replaces the texts of a page by those in the entry.
func (p *Page) store(e *pagecache.Entry, key pagecache.Key) {
	p.entry = e
	p.key = key
	p.Body = ""
	for i := range p.Sections {
		p.Sections[i].Text = ""
	}
}

// withBody returns the page with its Body and its sections. It uses buffer, which is not nil.
func (p *Page) withBody(buffer *[]byte) (*Page, error) {
	if p.entry == nil {
		return p, nil
	}
	body, err := p.entry.AppendPart((*buffer)[:0], partBody)
	if err != nil {
		return nil, err
	}
	*buffer = body
	whole := *p
	whole.Body = string(body)
	if whole.Sections, err = p.storedSections(); err != nil {
		return nil, err
	}
	whole.applyLinks()
	return &whole, nil
}

// storedSections returns the sections that are in the entry of the page, without their texts.
func (p *Page) storedSections() ([]Section, error) {
	data, err := p.entry.Part(partSections)
	if err != nil {
		return nil, err
	}
	return decodeSections(data)
}

// withTexts returns the sections with their texts.
func (p *Page) withTexts() ([]Section, error) {
	if p.entry == nil {
		return p.Sections, nil
	}
	sections, err := p.storedSections()
	if err != nil {
		return nil, err
	}
	data, err := p.entry.Part(partTexts)
	if err != nil {
		return nil, err
	}
	d := decoder{rest: string(data)}
	for i := range sections {
		sections[i].Text = d.text()
	}
	return sections, d.err()
}

// size returns the size of the Body.
func (p *Page) size() int {
	if p.entry == nil {
		return len(p.Body)
	}
	size := p.entry.Size(partBody)
	done := 0
	for _, e := range p.edits {
		if e.at >= done {
			size += len(e.with) - (e.end - e.at)
			done = e.end
		}
	}
	return size
}

// analysis returns the analysis of a page for b, from the cache if possible, and what appends
// its rows if it does not have them.
func (c *cache) analysis(b *search.Builder, p *Page, options string, make func() (*search.Page, error)) (
	*search.Analysis, func([]byte) ([]byte, error), error,
) {
	if c == nil || p.entry == nil {
		page, err := make()
		if err != nil {
			return nil, nil, err
		}
		return b.Analyze(*page), nil, nil
	}
	key := p.analysisKey(options)
	if e, ok := c.pages.Get(key); ok && e.Parts() == 2 {
		data, err := e.Part(0)
		a := &search.Analysis{}
		if err == nil && a.UnmarshalBinary(data) == nil {
			p.note(key, data)
			return a, func(into []byte) ([]byte, error) { return e.AppendPart(into, 1) }, nil
		}
	}
	page, err := make()
	if err != nil {
		return nil, nil, err
	}
	a := b.Analyze(*page)
	data, err := a.AppendBinary(nil)
	if err != nil {
		return nil, nil, err
	}
	e, err := c.pages.Put(key, data, a.Rows)
	if err != nil {
		return a, nil, nil // without the cache
	}
	p.note(key, data)
	a.Rows = nil
	return a, func(into []byte) ([]byte, error) { return e.AppendPart(into, 1) }, nil
}

// analysisKey returns the key of the analysis of a page.
func (p *Page) analysisKey(options string) pagecache.Key {
	return keyOf("search", string(p.key[:]), options, p.ID, p.Title, strings.Join(p.Keywords, "\x00"),
		strings.Join(p.Anchors, "\x00"))
}

// appendText appends a text, preceded by its length.
func appendText(out []byte, text string) []byte {
	return append(binary.AppendUvarint(out, uint64(len(text))), text...)
}

// encoder encodes the fields of a page.
type encoder struct{ out []byte }

func (e *encoder) text(texts ...string) {
	for _, text := range texts {
		e.out = appendText(e.out, text)
	}
}

func (e *encoder) number(numbers ...int) {
	for _, n := range numbers {
		e.out = binary.AppendVarint(e.out, int64(n))
	}
}

func (e *encoder) flag(flags ...bool) {
	for _, f := range flags {
		n := byte(0)
		if f {
			n = 1
		}
		e.out = append(e.out, n)
	}
}

func (e *encoder) list(texts []string) {
	e.number(len(texts))
	e.text(texts...)
}

// encode returns what decode reads: everything but the File, the sections and the texts.
func (p *Page) encode() []byte {
	var e encoder
	f := p.front
	e.text(p.Title, p.Description, f.title, f.description, f.lang, f.label, f.id, f.slug, f.address, f.next)
	e.flag(p.Unsearched, f.positioned, f.hidden, f.unsearched, f.rendered)
	e.number(int(math.Float64bits(f.position)))
	e.list(p.Keywords)
	e.list(f.keywords)
	e.list(f.aliases)
	e.list(p.plugins)
	menus := ""
	if len(f.menus) > 0 {
		menus = encodeMenus(f.menus)
	}
	e.text(menus)
	e.list(slices.Sorted(maps.Keys(p.slugs)))
	e.number(len(p.slots))
	for _, s := range p.slots {
		e.number(s.at, s.end, s.line)
		e.text(s.target, s.text)
		e.flag(s.image)
	}
	return e.out
}

// encodeSections returns what decodeSections reads: the sections without their texts.
func (p *Page) encodeSections() []byte {
	var e encoder
	e.number(len(p.Sections))
	for _, s := range p.Sections {
		e.text(s.Slug, s.Heading)
		e.number(s.Level, s.Start, s.End)
	}
	return e.out
}

func decodeSections(data []byte) ([]Section, error) {
	d := decoder{rest: string(data)}
	sections := make([]Section, d.count())
	for i := range sections {
		sections[i] = Section{
			Slug:    d.text(),
			Heading: d.text(),
			Level:   d.number(),
			Start:   d.number(),
			End:     d.number(),
		}
	}
	return sections, d.err()
}

// decoder decodes the fields of a page. After a failure it returns zero values.
type decoder struct {
	rest   string
	failed bool
}

func (d *decoder) err() error {
	if d.failed || d.rest != "" {
		return errors.New("the stored texts of a page are incomplete")
	}
	return nil
}

func (d *decoder) uvarint() uint64 {
	var n uint64
	for i := range min(len(d.rest), binary.MaxVarintLen64) {
		n |= uint64(d.rest[i]&0x7f) << (7 * i)
		if d.rest[i] < 0x80 {
			d.rest = d.rest[i+1:]
			return n
		}
	}
	d.failed = true
	return 0
}

func (d *decoder) text() string {
	size := d.uvarint()
	if d.failed || size > uint64(len(d.rest)) {
		d.failed = true
		return ""
	}
	text := d.rest[:size]
	d.rest = d.rest[size:]
	return text
}

func (d *decoder) number() int {
	n := d.uvarint()
	return int(int64(n>>1) ^ -int64(n&1))
}

// count returns the length of a list, each of whose items has at least one byte.
func (d *decoder) count() int {
	n := d.number()
	if n < 0 || n > len(d.rest) {
		d.failed = true
		return 0
	}
	return n
}

func (d *decoder) flag() bool {
	if d.rest == "" {
		d.failed = true
		return false
	}
	set := d.rest[0] == 1
	d.rest = d.rest[1:]
	return set
}

func (d *decoder) list() []string {
	n := d.count()
	if n == 0 {
		return nil
	}
	list := make([]string, n)
	for i := range list {
		list[i] = d.text()
	}
	return list
}

// decode sets what encode encoded, and reports whether that was whole. Only the slugs and the slots,
// which are not kept, are parts of data.
func (p *Page) decode(data string) bool {
	d := decoder{rest: data}
	f := &frontMatter{}
	p.front = f
	for _, text := range []*string{&p.Title, &p.Description, &f.title, &f.description, &f.lang, &f.label, &f.id, &f.slug,
		&f.address, &f.next} {
		*text = strings.Clone(d.text())
	}
	for _, flag := range []*bool{&p.Unsearched, &f.positioned, &f.hidden, &f.unsearched, &f.rendered} {
		*flag = d.flag()
	}
	f.position = math.Float64frombits(uint64(d.number()))
	for _, list := range []*[]string{&p.Keywords, &f.keywords, &f.aliases, &p.plugins} {
		*list = d.list()
		for i, text := range *list {
			(*list)[i] = strings.Clone(text)
		}
	}
	if menus := d.text(); menus != "" {
		f.menus = decodeMenus(menus)
	}
	slugs := d.list()
	p.slugs = make(map[string]bool, len(slugs))
	for _, slug := range slugs {
		p.slugs[slug] = true
	}
	p.slots = make([]slot, d.count())
	for i := range p.slots {
		p.slots[i] = slot{
			at:     d.number(),
			end:    d.number(),
			line:   d.number(),
			target: d.text(),
			text:   d.text(),
			image:  d.flag(),
		}
	}
	return d.err() == nil
}

// storedMenu is an entry of a Hugo menu as it is stored.
type storedMenu struct {
	Menu, Name, Parent, ID string
	Weight                 float64
}

func encodeMenus(menus map[string]menuEntry) string {
	var list []storedMenu
	for _, name := range slices.Sorted(maps.Keys(menus)) {
		m := menus[name]
		list = append(list, storedMenu{name, m.name, m.parent, m.id, m.weight})
	}
	text, _ := json.Marshal(list) // texts and numbers always encode
	return string(text)
}

func decodeMenus(text string) map[string]menuEntry {
	var list []storedMenu
	if json.Unmarshal([]byte(text), &list) != nil {
		return nil
	}
	menus := make(map[string]menuEntry)
	for _, m := range list {
		menus[m.Menu] = menuEntry{weight: m.Weight, name: m.Name, parent: m.Parent, id: m.ID}
	}
	return menus
}
