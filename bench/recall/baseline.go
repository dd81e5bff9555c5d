package recall

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"

	snowball "github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"

	"github.com/slipway-mcp/slipway/internal/eval"
)

// Baseline ranks texts with BM25 over stemmed words and nothing else: what a search must
// beat to be worth its code.
type Baseline struct {
	pages    []string // page of each text
	counts   []map[string]int
	lengths  []float64
	mean     float64
	textsHas map[string]int
}

// NewBaseline indexes whole pages, or their sections if those are to be ranked; a page
// then counts as its best section.
func NewBaseline(pages []Page, bySection bool) *Baseline {
	b := &Baseline{textsHas: make(map[string]int)}
	for _, p := range pages {
		whole := p.Title
		for _, s := range p.Sections {
			if bySection {
				b.add(p.ID, p.Title+"\n"+s.Heading+"\n"+s.Text)
			}
			whole += "\n" + s.Heading + "\n" + s.Text
		}
		if !bySection {
			b.add(p.ID, whole)
		}
	}
	b.mean /= float64(len(b.lengths))
	return b
}

func (b *Baseline) add(page, text string) {
	words := stems(text)
	counts := make(map[string]int)
	for _, w := range words {
		counts[w]++
	}
	for w := range counts {
		b.textsHas[w]++
	}
	b.pages = append(b.pages, page)
	b.counts = append(b.counts, counts)
	b.lengths = append(b.lengths, float64(len(words)))
	b.mean += float64(len(words))
}

// Search returns the best pages for a query.
func (b *Baseline) Search(query string) []string {
	const k1, flatten = 1.2, 0.75
	best := make(map[string]float64)
	n := float64(len(b.pages))
	words := stems(query)
	for i, page := range b.pages {
		score := 0.0
		for _, w := range words {
			has := float64(b.textsHas[w])
			count := float64(b.counts[i][w])
			idf := math.Log(1 + (n-has+0.5)/(has+0.5))
			score += idf * count * (k1 + 1) / (count + k1*(1-flatten+flatten*b.lengths[i]/b.mean))
		}
		if score > best[page] {
			best[page] = score
		}
	}
	ranked := slices.SortedFunc(maps.Keys(best), func(x, y string) int {
		return cmp.Or(cmp.Compare(best[y], best[x]), strings.Compare(x, y))
	})
	return ranked[:min(len(ranked), 10)]
}

// Question returns the best pages for a question, fused if it has several phrasings.
func (b *Baseline) Question(q *eval.Question) []string {
	var each [][]string
	for _, phrasing := range q.Phrasings {
		each = append(each, b.Search(phrasing))
	}
	return Fuse(each)
}

// stems returns the stems of the words of a text.
func stems(text string) []string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	env := snowball.NewEnv("")
	for i, w := range words {
		env.SetCurrent(w)
		english.Stem(env)
		words[i] = strings.Clone(env.Current())
	}
	return words
}

// Fuse joins rankings of the same pages by reciprocal rank.
func Fuse(rankings [][]string) []string {
	scores := make(map[string]float64)
	for _, ranking := range rankings {
		for i, page := range ranking {
			scores[page] += 1 / float64(60+i)
		}
	}
	return slices.SortedFunc(maps.Keys(scores), func(x, y string) int {
		return cmp.Or(cmp.Compare(scores[y], scores[x]), strings.Compare(x, y))
	})
}
