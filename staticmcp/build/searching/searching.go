// Package searching gives a site that a builder makes a tool to search it by
// words: an index for our reader, and answers to single words for every other.
//
//	x, err := searching.New("search_operations", entries, &searching.Options{Title: "Search operations"})
//	x.Extend(ctx, site)
package searching

import (
	"context"
	"encoding/json"
	"iter"
	"strings"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/staticmcp"
	"github.com/slipway-mcp/slipway/staticmcp/build"
	"github.com/slipway-mcp/slipway/staticmcp/search"
)

// Entry is something to be found.
type Entry struct {
	// ID is what another tool takes to tell more about it, Title is for people.
	ID, Title string
	// Keywords say what it is about beside the title.
	Keywords []string
	// Text is all that is said of it.
	Text string
}

// Options say how the tool presents itself.
type Options struct {
	// Title and Description are those of the tool.
	Title, Description string
	// Hint ends an answer with what to do with an ID, which it calls path.
	Hint string
	// Words is how many single words have a stored answer, for other readers.
	// Default: 300.
	Words int
}

const defaultWords = 300

// Search is a tool to search by words. It is safe for concurrent use.
type Search struct {
	tool  string
	opts  Options
	files search.Memory
	words []string
}

// fewEntries is the number below which a list is as good as a search.
const fewEntries = 10

// New makes the index of the entries. Its files lie in a folder of their own, so
// that a site can have several. The Search is nil if it would be of no use: of a
// few entries, or of such without a word.
func New(tool string, entries iter.Seq[Entry], opts *Options) (*Search, error) {
	s := &Search{tool: tool}
	if opts != nil {
		s.opts = *opts
	}
	if s.opts.Words <= 0 {
		s.opts.Words = defaultWords
	}
	b := search.NewBuilder(&search.Options{Language: "en", Hint: s.opts.Hint}, s.files.Write)
	n := 0
	for e := range entries {
		n++
		page := search.Page{ID: e.ID, Title: e.Title, Keywords: e.Keywords, Sections: []search.Section{{Text: e.Text}}}
		if err := b.Add(page); err != nil {
			return nil, err
		}
	}
	if err := b.Close(); err != nil {
		return nil, err
	}
	for _, w := range b.Words(s.opts.Words) {
		// The name of the file must stand for this word alone.
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
func (s *Search) Extend(ctx context.Context, site *build.Site) {
	if s == nil {
		return
	}
	site.Tools = append(site.Tools, s.definition())
	answers := site.Answers
	site.Answers = func(yield func(*build.Answer, error) bool) {
		for a, err := range answers {
			if !yield(a, err) {
				return
			}
		}
		s.answers(ctx)(yield)
	}
}

func (s *Search) dir() string { return search.Dir + "-" + s.tool }

func (s *Search) definition() mcp.Tool {
	// Texts alone can be encoded.
	meta, _ := json.Marshal(map[string]any{staticmcp.MetaSearch: map[string]string{"index": s.dir(), "argument": "query"}})
	return mcp.Tool{Name: s.tool, Title: s.opts.Title, Description: s.opts.Description, Meta: meta,
		InputSchema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","description":"A few words to look for; there are no operators","minLength":1}},"required":["query"],"additionalProperties":false}`)}
}

// answers are those to single words, and the files of the index.
func (s *Search) answers(ctx context.Context) iter.Seq2[*build.Answer, error] {
	return func(yield func(*build.Answer, error) bool) {
		x := search.New(&s.files)
		for _, w := range s.words {
			found, err := x.Search(ctx, w)
			if err != nil {
				yield(nil, err)
				return
			}
			if len(found.Hits) > 0 && !yield(build.Text(s.tool, map[string]string{"query": w}, found.Text()), nil) {
				return
			}
		}
		s.files.Each(func(name string, data []byte) bool {
			return yield(&build.Answer{Path: s.dir() + "/" + strings.TrimPrefix(name, search.Dir+"/"), Data: data}, nil)
		})
	}
}
