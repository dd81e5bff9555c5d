package search

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// Dir is the folder of the index within a site, and HeadName its entry file.
const (
	Dir      = ".staticmcp/search"
	HeadName = "index.json"
)

const (
	format   = 2
	kMost    = 3 // sections of a page stored per term
	perUnit  = 8 // sections of a page in one row
	sizeStep = 1000
	spread   = 4 // files among which terms that begin alike are divided
)

// Limits for reading an index, which may come from any source.
const (
	maxPages    = 10_000_000
	maxSections = 1 << 16 // of a page
	maxShards   = 1 << 20
	maxSpread   = 64
	maxWeight   = 1 << 24
	maxGroups   = 2000 // of synonyms, each with
	maxMembers  = 32
	maxLinks    = 32 // pages that link to a page
)

// allLinks is the number of links in an index at most, so that its head stays small.
const allLinks = 1 << 15

// head is index.json, which is read before any lookup.
type head struct {
	// Format is that of all files of the index.
	Format   int    `json:"format"`
	Language string `json:"language,omitempty"`
	Hint     string `json:"hint,omitempty"`
	// Of identifies the list of pages and how it is cut into files. Every other file
	// repeats it, so that a reader detects files of another build, as while a site is
	// replaced. It does not depend on texts: files of builds that differ only in texts fit
	// together.
	Of string `json:"of"`
	// Pages is the number of pages, and Sections in base64 for each page: the number of
	// its sections, its length, and the length of each section. Lengths are in words and
	// encoded in one byte each.
	Pages    int    `json:"pages"`
	Sections string `json:"sections"`
	// Links has in base64, for each page, the size in bytes of what follows: the distances of the numbers of
	// pages that link to it. It is empty if there are no links. Of those that link to one page, it has the
	// first, at most maxLinks, and fewer if all pages had more than allLinks.
	Links string `json:"links,omitempty"`
	// Terms is the number of files of terms, Spread the number of files among which terms
	// that begin alike are divided, and RowsPerFile the number of rows in each of the first
	// thousand files of rows.
	Terms       int `json:"terms"`
	Spread      int `json:"spread"`
	RowsPerFile int `json:"rowsPerFile"`
	// Synonyms are groups of terms with the same meaning. A member of several words has
	// spaces. The first OwnSynonyms are those of the owner.
	Synonyms    [][]string `json:"synonyms,omitempty"`
	OwnSynonyms int        `json:"ownSynonyms,omitempty"`
	// Pins are pages that come first for queries with certain terms.
	Pins []pin `json:"pins,omitempty"`
	// Folders maps each folder to the numbers of the pages in and below it, as distances
	// in base64.
	Folders map[string]string `json:"folders,omitempty"`

	layout layout
	homes  map[string]string // of single terms in Synonyms: the first member
}

// pin is a page that comes first for queries that have all of some terms.
type pin struct {
	// Terms are separated by spaces.
	Terms string `json:"terms"`
	Page  int    `json:"page"`
}

// layout is the decoded form of head.Sections.
type layout struct {
	// lengths are those of pages; first is the number of the first section of each page,
	// and unit that of its first row. Both have one more entry, for the end.
	lengths  []int
	first    []int
	unit     []int
	sections []int   // lengths of all sections
	page     []int32 // of each section
	// pageMean and sectionMean are the mean lengths, at least 1.
	pageMean, sectionMean float64
	// links are the pages that link to others: those that link to page p are from linked[p] to before
	// linked[p+1]. Without links, linked is nil.
	links, linked []int32
}

// termFile is terms-N.json. Terms has a line for each term, sorted: the term, how to write
// it, and its postings in base64, separated by spaces.
type termFile struct {
	Of    string `json:"of"`
	Terms string `json:"terms"`

	vocabulary vocabulary
}

// rowFile is pages-N.json.
type rowFile struct {
	Of   string `json:"of"`
	Rows []row  `json:"rows"`
}

// row is the displayed data of a page: of its sections from First, at most perUnit.
type row struct {
	// ID and Title are those of the page, and Link is where a reader finds it.
	ID       string       `json:"id"`
	Title    string       `json:"title"`
	Link     string       `json:"link,omitempty"`
	First    int          `json:"first,omitempty"`
	Sections []sectionRow `json:"sections"`
}

type sectionRow struct {
	// Slug is the anchor of the section, and Text its beginning, for snippets.
	Slug    string `json:"slug,omitempty"`
	Heading string `json:"heading,omitempty"`
	Text    string `json:"text,omitempty"`

	marks marks
}

func fileName(kind string, n int) string { return kind + "-" + strconv.Itoa(n) + ".json" }

func sum(data []byte) string { return fmt.Sprintf("%08x", crc32.ChecksumIEEE(data)) }

// encode encodes an index file. encoding/json sorts map keys.
func encode(v any) []byte {
	var b bytes.Buffer
	encodeTo(&b, v)
	return bytes.Clone(b.Bytes()) // a file may be retained
}

// encodeTo appends what encode returns.
func encodeTo(b *bytes.Buffer, v any) {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // strings, numbers and maps of them always encode
}

func decode[T any](data []byte) (*T, error) {
	v := new(T)
	if err := jsonscan.Valid(data); err != nil {
		return nil, err
	}
	return v, json.Unmarshal(data, v)
}

// lengthCode encodes a length in one byte, with three significant bits after the first.
func lengthCode(n int) byte {
	if n < 16 {
		return byte(n)
	}
	shift := bits.Len(uint(n)) - 4
	return byte(min(255, 8*shift+n>>shift))
}

// lengthOf decodes a length.
func lengthOf(code byte) int {
	if code < 16 {
		return int(code)
	}
	return int(code&7+8) << (code>>3 - 1)
}

// rowFileOf returns the file that has a row, and the position of the row in it. The number
// of rows in a file doubles after each thousand files, to limit the files of large sites.
func (h *head) rowFileOf(unit int) (file, place int) {
	each := h.RowsPerFile
	for unit >= sizeStep*each && each < maxShards {
		unit -= sizeStep * each
		file += sizeStep
		each *= 2
	}
	return file + unit/each, unit % each
}

// termFileOf returns the file that has a term: all terms of a group of synonyms are in that
// of its first member.
func (h *head) termFileOf(term string) int {
	if home, ok := h.homes[term]; ok {
		term = home
	}
	return h.ownFileOf(term)
}

// ownFileOf returns the file that a term is in unless it has synonyms. The term for a heading
// is in that of the heading's first term.
func (h *head) ownFileOf(term string) int {
	term, _, _ = strings.Cut(term, headingJoint)
	files := h.wordFilesOf(term)
	return files[int(crc32.ChecksumIEEE([]byte(term))%uint32(len(files)))]
}

// wordFilesOf returns the files with the words that begin like a word, to correct it. Words are
// divided among several files because few beginnings have most of the words.
func (h *head) wordFilesOf(word string) []int {
	if h.Terms <= 1 {
		return []int{0}
	}
	first := int(crc32.ChecksumIEEE([]byte(beginningOf(word))) % uint32(h.Terms))
	files := make([]int, min(h.Spread, h.Terms))
	for i := range files {
		files[i] = (first + i) % h.Terms
	}
	return files
}

// beginningOf returns the first two characters of a word.
func beginningOf(word string) string {
	_, n := utf8.DecodeRuneInString(word)
	_, m := utf8.DecodeRuneInString(word[n:])
	return word[:n+m]
}

// prepare verifies what a reader relies on, as an index from a web host is not trusted, and
// decodes the layout.
func (h *head) prepare() error {
	switch {
	case h.Format != format:
		return fmt.Errorf("the index has format %d, and this program reads 1 and %d", h.Format, format)
	case h.Spread == 0:
		return errors.New("the head of the index has no spread: a development version of Slipway wrote it")
	case h.Pages < 0 || h.Pages > maxPages || h.Terms < 0 || h.Terms > maxShards ||
		h.Spread < 1 || h.Spread > maxSpread || h.RowsPerFile < 1 || h.RowsPerFile > maxShards ||
		len(h.Synonyms) > maxGroups || len(h.Pins) > maxPins ||
		slices.ContainsFunc(h.Synonyms, func(group []string) bool { return len(group) > maxMembers }):
		return errors.New("the head of the index is beyond its limits")
	}
	if err := h.layout.decode(h.Sections, h.Pages); err != nil {
		return err
	}
	if err := h.layout.decodeLinks(h.Links, h.Pages); err != nil {
		return err
	}
	for _, p := range h.Pins {
		if p.Page < 0 || p.Page >= h.Pages {
			return errors.New("the head of the index pins a page that it does not have")
		}
	}
	h.homes = make(map[string]string)
	for _, group := range h.Synonyms {
		home := ""
		for _, member := range group {
			if strings.Contains(member, " ") {
				continue
			}
			if home == "" {
				home = member
			}
			if _, ok := h.homes[member]; !ok {
				h.homes[member] = home
			}
		}
	}
	return nil
}

var errSections = errors.New("the sections in the head of the index are damaged")

// decode decodes head.Sections.
func (l *layout) decode(encoded string, pages int) error {
	data, err := base64.RawStdEncoding.DecodeString(encoded)
	if err != nil || len(data) < 2*pages {
		return errSections
	}
	l.lengths = make([]int, pages)
	l.first = make([]int, pages+1)
	l.unit = make([]int, pages+1)
	total := 0
	all := 0
	for p := range pages {
		count, n := binary.Uvarint(data)
		if n <= 0 || count > maxSections || uint64(len(data)-n) < count+1 {
			return errSections
		}
		l.lengths[p] = lengthOf(data[n])
		total += l.lengths[p]
		for _, code := range data[n+1 : n+1+int(count)] {
			l.sections = append(l.sections, lengthOf(code))
			l.page = append(l.page, int32(p))
			all += lengthOf(code)
		}
		data = data[n+1+int(count):]
		l.first[p+1] = len(l.sections)
		l.unit[p+1] = l.unit[p] + max(1, (int(count)+perUnit-1)/perUnit)
	}
	if len(data) > 0 {
		return errSections
	}
	l.pageMean = max(1, float64(total)/float64(max(1, pages)))
	l.sectionMean = max(1, float64(all)/float64(max(1, len(l.sections))))
	return nil
}

// encodeLinks returns head.Links: to has, for each page, the pages that link to it, in order.
func encodeLinks(to [][]int32) string {
	most := mostLinks(to)
	var out, steps []byte
	some := false
	for _, pages := range to {
		pages = pages[:min(len(pages), most)]
		steps = steps[:0]
		at := int32(-1)
		for _, page := range pages {
			steps = binary.AppendUvarint(steps, uint64(page-at))
			at = page
			some = true
		}
		out = binary.AppendUvarint(out, uint64(len(steps)))
		out = append(out, steps...)
	}
	if !some {
		return ""
	}
	return base64.RawStdEncoding.EncodeToString(out)
}

// mostLinks returns how many links to one page are kept.
func mostLinks(to [][]int32) int {
	most := 0
	for all := 0; most < maxLinks; most++ {
		for _, pages := range to {
			if len(pages) > most {
				all++
			}
		}
		if all > allLinks { // with one more
			return most
		}
	}
	return most
}

var errLinks = errors.New("the links in the head of the index are damaged: build the site again")

// decodeLinks decodes head.Links.
func (l *layout) decodeLinks(encoded string, pages int) error {
	if encoded == "" {
		return nil
	}
	data, err := base64.RawStdEncoding.DecodeString(encoded)
	if err != nil || len(data) < pages {
		return errLinks
	}
	l.linked = make([]int32, pages+1)
	for p := range pages {
		size, n := binary.Uvarint(data)
		if n <= 0 || size > uint64(len(data)-n) {
			return errLinks
		}
		steps := data[n : n+int(size)]
		data = data[n+int(size):]
		for at := -1; len(steps) > 0; {
			step, n := binary.Uvarint(steps)
			if n <= 0 || step == 0 || step > uint64(pages-1-at) || len(l.links) == int(l.linked[p])+maxLinks {
				return errLinks
			}
			at += int(step)
			l.links = append(l.links, int32(at))
			steps = steps[n:]
		}
		l.linked[p+1] = int32(len(l.links))
	}
	if len(data) > 0 {
		return errLinks
	}
	return nil
}

// posting is the entry of a page for a term.
type posting struct {
	// page is the number of a page with the term, and weight the term's weight there.
	page, weight int
	// title is the number of words in the title if the term is one of them, else 0.
	title    int
	sections []sectionWeight
}

// sectionWeight is the weight of a term in a section, which is numbered within its page.
type sectionWeight struct{ section, weight int }

var errPostings = errors.New("the postings of a term are damaged")

// The last bits of a posting's second number.
const (
	sectionBits  = 7      // the number of sections, or sameWeight
	sameWeight   = 4      // one section, with the weight of the page
	titleBit     = 1 << 3 // the term is in the title
	postingShift = 4
)

// appendPosting encodes the entry of a page; step is the distance from the page before.
func appendPosting(out []byte, step int, p posting) []byte {
	flags := len(p.sections)
	if flags == 1 && p.sections[0].weight == p.weight {
		flags = sameWeight
	}
	if p.title > 0 {
		flags |= titleBit
	}
	out = binary.AppendUvarint(out, uint64(step))
	out = binary.AppendUvarint(out, uint64(p.weight<<postingShift|flags))
	if p.title > 0 {
		out = binary.AppendUvarint(out, uint64(p.title))
	}
	at := 0
	for _, s := range p.sections {
		out = binary.AppendUvarint(out, uint64(s.section-at))
		if flags&sectionBits != sameWeight {
			out = binary.AppendUvarint(out, uint64(s.weight))
		}
		at = s.section
	}
	return out
}

// pagesWith returns the number of pages that postings begin with.
func pagesWith(encoded string) int {
	var start [6]byte
	n, err := base64.RawStdEncoding.Decode(start[:], []byte(encoded[:min(len(encoded), 8)]))
	if count, m := binary.Uvarint(start[:n]); err == nil && m > 0 {
		return int(min(count, maxPages))
	}
	return 0
}

// eachPosting calls visit for the pages of a term, in order. The sections are valid until
// visit returns. buffer is reused.
func eachPosting(encoded string, l *layout, buffer *[]byte, visit func(posting)) error {
	size := base64.RawStdEncoding.DecodedLen(len(encoded))
	if cap(*buffer) < size {
		*buffer = make([]byte, size)
	}
	data := (*buffer)[:size]
	if _, err := base64.RawStdEncoding.Decode(data, []byte(encoded)); err != nil {
		return errPostings
	}
	bad := false
	next := func(limit int) int {
		if len(data) > 0 && data[0] < 0x80 && int(data[0]) <= limit {
			v := int(data[0])
			data = data[1:]
			return v
		}
		v, n := binary.Uvarint(data)
		if n <= 0 || v > uint64(limit) {
			bad = true
			return 0
		}
		data = data[n:]
		return int(v)
	}
	var sections [kMost]sectionWeight
	pages := len(l.lengths)
	next(maxPages) // how many
	page := -1
	for len(data) > 0 && !bad {
		step := next(pages)
		coded := next(maxWeight << postingShift)
		p := posting{
			page:   page + step,
			weight: coded >> postingShift,
		}
		if coded&titleBit != 0 {
			p.title = next(maxWeight)
		}
		count := coded & sectionBits
		same := count == sameWeight
		if same {
			count = 1
		}
		if bad || step == 0 || p.page >= pages || count > kMost {
			return errPostings
		}
		has := l.first[p.page+1] - l.first[p.page]
		at := 0
		for i := range count {
			at += next(maxSections)
			sections[i] = sectionWeight{at, p.weight}
			if !same {
				sections[i].weight = next(maxWeight)
			}
			if at >= has {
				return errPostings
			}
		}
		if bad {
			return errPostings
		}
		page = p.page
		p.sections = sections[:count]
		visit(p)
	}
	if bad {
		return errPostings
	}
	return nil
}

// line returns the line of a term in a file of terms: how to write it, and its postings.
func (f *termFile) line(term string) (spelling, postings string, ok bool) {
	if term == "" || strings.ContainsAny(term, " \n") {
		return "", "", false
	}
	at := strings.Index(f.Terms, "\n"+term+" ")
	if at < 0 {
		return "", "", false
	}
	rest := f.Terms[at+len(term)+2:]
	if end := strings.IndexByte(rest, '\n'); end >= 0 {
		rest = rest[:end]
	}
	spelling, postings, ok = strings.Cut(rest, " ")
	return spelling, postings, ok
}

// elsewhere stands for the postings of a term that are in the file of its synonyms.
const elsewhere = "@"

// spell encodes how to turn a term into a word: the number of characters to remove at the
// end if there are any, and what to append.
func spell(term, word string) string {
	same := 0
	for same < len(term) && same < len(word) && term[same] == word[same] {
		same++
	}
	for same > 0 && (same < len(term) && !utf8.RuneStart(term[same]) ||
		same < len(word) && !utf8.RuneStart(word[same])) {
		same--
	}
	cut := utf8.RuneCountInString(term[same:])
	if cut == 0 {
		return word[same:]
	}
	return strconv.Itoa(cut) + word[same:]
}

// spelled reverses spell.
func spelled(term, spelling string) string {
	digits := 0
	for digits < len(spelling) && '0' <= spelling[digits] && spelling[digits] <= '9' {
		digits++
	}
	cut, _ := strconv.Atoi(spelling[:digits])
	for ; cut > 0 && term != ""; cut-- {
		_, n := utf8.DecodeLastRuneInString(term)
		term = term[:len(term)-n]
	}
	return term + spelling[digits:]
}

// clip returns at most n bytes of text, without splitting characters.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
