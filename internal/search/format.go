package search

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
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
	format    = 1
	wordsName = "words.json"
)

// Limits for reading an index, which may come from any source.
const (
	maxPages    = 10_000_000
	maxSections = 1 << 16 // of a page
	maxShards   = 1 << 20
)

// head is index.json, which is read before any lookup.
type head struct {
	// Format is that of all files of the index.
	Format   int    `json:"format"`
	Language string `json:"language,omitempty"`
	Hint     string `json:"hint,omitempty"`
	// Pages and Sections are the numbers of each, for the weights of terms.
	Pages    int `json:"pages"`
	Sections int `json:"sections"`
	// Words is the checksum of words.json. The checksums let a reader detect files of
	// different builds, which can occur while a site is being replaced.
	Words string  `json:"words"`
	Terms []shard `json:"terms"`
	Rows  []shard `json:"rows"`
}

// shard holds the first key of a file, a term or a page number, and the file's checksum.
// It is encoded as an array of the two.
type shard struct {
	// first is the first term or page of the shard, and sum its checksum.
	first string
	sum   string
}

// MarshalJSON implements json.Marshaler.
func (s shard) MarshalJSON() ([]byte, error) {
	return append(jsonscan.AppendQuote(append(jsonscan.AppendQuote([]byte{'['}, s.first), ','), s.sum), ']'), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *shard) UnmarshalJSON(text []byte) error {
	var pair []string
	err := json.Unmarshal(text, &pair)
	if err != nil || len(pair) != 2 {
		return errors.New("want a pair of texts")
	}
	s.first = pair[0]
	s.sum = pair[1]
	return nil
}

// termShard is terms-N.json. Postings are in base64.
type termShard struct {
	Terms map[string]string `json:"terms"`
}

// rowShard is pages-N.json.
type rowShard struct {
	Pages []row `json:"pages"`
}

// row is the displayed data of a page.
type row struct {
	// ID and Title are those of the page, and Link is where a reader finds it.
	ID       string       `json:"id"`
	Title    string       `json:"title"`
	Link     string       `json:"link,omitempty"`
	Sections []sectionRow `json:"sections"`
}

type sectionRow struct {
	// Slug is the anchor of the section, and Text its beginning, for snippets.
	Slug    string `json:"slug,omitempty"`
	Heading string `json:"heading,omitempty"`
	Text    string `json:"text,omitempty"`
}

// wordList is words.json: words separated by spaces, most frequent first.
type wordList struct {
	Words string `json:"words"`
}

func shardName(kind string, n int) string {
	return kind + "-" + strconv.Itoa(n) + ".json"
}

func shardOf(first string, data []byte) shard {
	return shard{first, sum(data)}
}

func sum(data []byte) string {
	return fmt.Sprintf("%08x", crc32.ChecksumIEEE(data))
}

// encode encodes an index file. encoding/json sorts map keys.
func encode(v any) []byte {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // strings, numbers and maps of them always encode
	return []byte(b.String())
}

func decode[T any](data []byte) (*T, error) {
	v := new(T)
	if err := jsonscan.Valid(data); err != nil {
		return nil, err
	}
	return v, json.Unmarshal(data, v)
}

// check verifies what a reader relies on: an index from a web host is not trusted.
func (h *head) check() error {
	switch {
	case h.Format != format:
		return fmt.Errorf("the index has format %d, and this program reads %d", h.Format, format)
	case h.Pages < 0 || h.Pages > maxPages || len(h.Terms) > maxShards ||
		len(h.Rows) > maxShards:
		return errors.New("the head of the index is beyond its limits")
	case !slices.IsSortedFunc(h.Terms, func(a, b shard) int {
		return strings.Compare(a.first, b.first)
	}):
		return errors.New("the shards of the index are not sorted")
	}
	before := -1
	for _, s := range h.Rows {
		n, err := strconv.Atoi(s.first)
		if err != nil || n <= before || n >= h.Pages {
			return errors.New("the shards of the index are not sorted")
		}
		before = n
	}
	return nil
}

// termShard returns the number of the shard that would contain the term, or -1.
func (h *head) termShard(term string) int {
	at, exact := slices.BinarySearchFunc(h.Terms, term, func(s shard, t string) int {
		return strings.Compare(s.first, t)
	})
	if exact {
		return at
	}
	return at - 1
}

// rowShard returns the number of the shard with a page, and its position there.
func (h *head) rowShard(page int) (number, place int) {
	at, exact := slices.BinarySearchFunc(h.Rows, page, func(s shard, p int) int {
		n, _ := strconv.Atoi(s.first) // validated by check
		return n - p
	})
	if !exact {
		at--
	}
	if at < 0 {
		return -1, 0
	}
	first, _ := strconv.Atoi(h.Rows[at].first)
	return at, page - first
}

// posting is the entry of a page for a term.
type posting struct {
	// page is the number of a page with the term, and score its weight there.
	page, score int
	sections    []sectionScore
}

type sectionScore struct{ section, score int }

var errPostings = errors.New("the postings of a term are damaged")

// eachPosting calls visit for the pages of a term, in order. The sections are valid until
// visit returns.
func eachPosting(encoded string, pages int, visit func(posting)) error {
	data, err := base64.RawStdEncoding.DecodeString(encoded)
	if err != nil {
		return errPostings
	}
	var sections [kMost]sectionScore
	next := func(limit int) int {
		v, n := binary.Uvarint(data)
		if n <= 0 || v > uint64(limit) {
			err = errPostings
			return 0
		}
		data = data[n:]
		return int(v)
	}
	page := -1
	for len(data) > 0 && err == nil {
		step := next(pages)
		p := posting{
			page:  page + step,
			score: next(1 << 24),
		}
		count := next(kMost)
		at := 0
		for i := range count {
			at += next(maxSections)
			sections[i] = sectionScore{at, next(1 << 24)}
		}
		if err != nil || step == 0 || p.page >= pages || at >= maxSections {
			return errPostings
		}
		page = p.page
		p.sections = sections[:count]
		visit(p)
	}
	return err
}

// addRow stores the displayed data of a page.
func (b *Builder) addRow(p Page) error {
	r := row{
		ID:       p.ID,
		Title:    p.Title,
		Link:     p.Link,
		Sections: make([]sectionRow, 0, len(p.Sections)),
	}
	b.rowBytes += len(p.ID) + len(p.Title) + len(p.Link) + 40
	const fullTexts, later = 12_000, 10
	kept := 0
	for _, s := range p.Sections[:min(len(p.Sections), maxSections)] {
		most := b.opts.MaxSectionText
		if kept > fullTexts {
			most /= later
		}
		text := clip(strings.Join(strings.Fields(s.Text), " "), most)
		kept += len(text)
		b.rowBytes += len(s.Slug) + len(s.Heading) + len(text) + 40
		r.Sections = append(r.Sections, sectionRow{s.Slug, s.Heading, text})
	}
	b.rows = append(b.rows, r)
	if b.rowBytes < b.opts.shardBytes(len(b.head.Rows), leastRowShard) {
		return nil
	}
	return b.flushRows()
}

// flushRows writes the collected pages as one shard.
func (b *Builder) flushRows() error {
	if len(b.rows) == 0 {
		return nil
	}
	data := encode(&rowShard{b.rows})
	name := shardName("pages", len(b.head.Rows))
	b.head.Rows = append(b.head.Rows, shardOf(strconv.Itoa(b.rowsFirst), data))
	b.rowsFirst += len(b.rows)
	b.rows = nil
	b.rowBytes = 0
	return b.write(name, data)
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
