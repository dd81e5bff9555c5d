package sitewriter

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"sync"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/search"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// SearchEntry is a searchable entry.
type SearchEntry struct {
	// ID is the argument for the tool that returns the entry; Title is for people.
	ID, Title string
	// Keywords are additional words that describe the entry.
	Keywords []string
	// Text is the full text of the entry.
	Text string
}

// SearchOptions configure the search tool.
type SearchOptions struct {
	// Title and Description are the tool's title and description.
	Title, Description string
	// Hint is appended to results. It explains how to use an ID, which results call path.
	Hint string
	// Words is the number of single words with a stored answer, for other readers.
	// Default: 300.
	Words int
}

const defaultWords = 300

// Search is a keyword search tool. It is safe for concurrent use.
type Search struct {
	// tool is the name of the tool that searches, and words those whose results are stored
	// as answers.
	tool  string
	opts  SearchOptions
	files search.Memory
	words []string
	// complete completes the files, when the answers are read: the definition of the tool
	// does not need them.
	complete func() error
}

// rowsPerFile is the number of entries in one file for results: they are short.
const rowsPerFile = 16

// fewEntries is the number of entries below which listing is as good as searching.
const fewEntries = 10

// NewSearch builds the index of the entries. Its files are in a folder named after the tool, so
// that a site can have several indexes. It returns a nil Search if there are too few
// entries or no usable words.
func NewSearch(tool string, entries iter.Seq[SearchEntry], opts *SearchOptions) (*Search, error) {
	s := &Search{tool: tool}
	if opts != nil {
		s.opts = *opts
	}
	if s.opts.Words <= 0 {
		s.opts.Words = defaultWords
	}
	b := search.NewBuilder(&search.Options{
		Language:    "en",
		Hint:        s.opts.Hint,
		RowsPerFile: rowsPerFile,
	}, s.files.Write)
	n := 0
	for e := range entries {
		n++
		page := search.Page{
			ID:       e.ID,
			Title:    e.Title,
			Keywords: e.Keywords,
			Sections: []search.Section{{Text: e.Text}},
		}
		if err := b.Add(page); err != nil {
			return nil, err
		}
	}
	s.complete = sync.OnceValue(b.Close)
	for _, w := range b.Words(s.opts.Words) {
		// The file name must belong to this word only.
		if len(w) > 2 && staticmcp.EncodeName(w) == w && w[0] >= 'a' && w[0] <= 'z' {
			s.words = append(s.words, w)
		}
	}
	if n < fewEntries || len(s.words) == 0 {
		return nil, nil
	}
	return s, nil
}

// Extend adds the tool and its answers to a site. A nil Search adds nothing.
func (s *Search) Extend(ctx context.Context, site *Site) {
	if s == nil {
		return
	}
	site.Tools = append(site.Tools, s.definition())
	answers := site.Answers
	site.Answers = func(yield func(*Answer, error) bool) {
		for a, err := range answers {
			if !yield(a, err) {
				return
			}
		}
		s.answers(ctx)(yield)
	}
}

func (s *Search) dir() string { return search.Dir + "-" + s.tool }

// definition returns the tool, whose _meta leads readers to the index.
func (s *Search) definition() mcp.Tool {
	// Strings always encode.
	meta, _ := json.Marshal(map[string]any{staticmcp.MetaSearch: map[string]string{"index": s.dir(), "argument": "query"}})
	return mcp.Tool{
		Name:        s.tool,
		Title:       s.opts.Title,
		Description: s.opts.Description,
		Meta:        meta,
		InputSchema: SearchSchema("A few words to look for; there are no operators.", ""),
	}
}

// SearchSchema returns the inputSchema of a search tool. words describes the query, and
// section the argument that limits the search to a part of the pages; if that is empty,
// the tool does not have it. more are its last properties, each as text.
func SearchSchema(words, section string, more ...string) json.RawMessage {
	quote := func(text string) string { return string(jsonscan.AppendQuote(nil, text)) }
	if section != "" {
		section = `"section":{"type":"string","minLength":1,"description":` + quote(section) + `},`
	}
	return json.RawMessage(`{"type":"object","properties":{` +
		`"query":{"type":"string","minLength":1,"description":` + quote(words) + `},` +
		`"queries":{"type":"array","items":{"type":"string","minLength":1},"maxItems":3,"default":[],` +
		`"description":` + quote("The same question in other words, such as synonyms and technical terms; "+
		"the results for all of them are combined. Finds more than one phrasing.") + `},` + section +
		`"limit":{"type":"integer","minimum":1,"maximum":30,"default":10,"description":"How many results."},` +
		`"offset":{"type":"integer","minimum":0,"maximum":200,"default":0,"description":"How many results to skip."}` +
		strings.Join(append([]string{""}, more...), ",") +
		`},"required":["query"],"additionalProperties":false}`)
}

// answers yields the answers to single words, and the files of the index.
func (s *Search) answers(ctx context.Context) iter.Seq2[*Answer, error] {
	return func(yield func(*Answer, error) bool) {
		if err := s.complete(); err != nil {
			yield(nil, err)
			return
		}
		x := search.New(&s.files)
		for _, w := range s.words {
			found, err := x.Search(ctx, w)
			if err != nil {
				yield(nil, err)
				return
			}
			if len(found.Hits) > 0 &&
				!yield(Text(s.tool, map[string]string{"query": w}, found.Text()), nil) {
				return
			}
		}
		s.files.Each(func(name string, data []byte) bool {
			return yield(&Answer{
				Path: s.dir() + "/" + strings.TrimPrefix(name, search.Dir+"/"),
				Data: data,
			}, nil)
		})
	}
}
