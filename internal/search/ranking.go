package search

import (
	_ "embed" // for the table
	"encoding/json"
	"fmt"
	"sync"
)

// rankingText is the table of weights and limits, which readers in other languages use too.
//
//go:embed ranking.json
var rankingText []byte

// ranking are the weights and limits of a search.
type ranking struct {
	// K1 and the two lengths are the parameters of BM25: how fast repeated words stop
	// counting, and how much the length of a page or section matters.
	K1            float64 `json:"k1"`
	LengthPage    float64 `json:"lengthPage"`
	LengthSection float64 `json:"lengthSection"`
	// TitleBonus is for a word of the title; longer titles get less.
	TitleBonus float64 `json:"titleBonus"`
	// TitleShare is for a page whose whole title is in the query; a page with a part of it gets that
	// part. Words of the title that are synonyms or related count TitleSynonym.
	TitleShare   float64 `json:"titleShare"`
	TitleSynonym float64 `json:"titleSynonym"`
	// LinkShare is the share of the scores of the best pages that link to a page.
	LinkShare float64 `json:"linkShare"`
	// BestSection and SecondSection are the weights of a page's two best sections,
	// relative to the page.
	BestSection   float64 `json:"bestSection"`
	SecondSection float64 `json:"secondSection"`
	// CoverageBase is the share of the score of a page that has none of the words; the rest
	// is for the share of words that it has.
	CoverageBase float64 `json:"coverageBase"`
	// FrequentShare is the share of a word's rarity that comes from the most frequent term in its
	// group, such as a synonym.
	FrequentShare float64 `json:"frequentShare"`
	// RarityBase is added to the rarity of every term, so that frequent ones count more.
	RarityBase float64 `json:"rarityBase"`
	// AsWeak is for common words, such as "another" and "twice".
	AsWeak float64 `json:"asWeak"`
	// The weights of terms that do not occur literally in the query.
	AsCompound float64 `json:"asCompound"`
	AsPrefix   float64 `json:"asPrefix"`
	AsNear     float64 `json:"asNear"`
	AsSynonym  float64 `json:"asSynonym"`
	// AsRelated is for what documentation calls a word of the query.
	AsRelated float64 `json:"asRelated"`
	// AsOnlySynonym is for synonyms of a word that no page has.
	AsOnlySynonym float64 `json:"asOnlySynonym"`
	// AsOwnSynonym is for synonyms that the owner of the site chose.
	AsOwnSynonym float64 `json:"asOwnSynonym"`
	// AsHeading is for a query that is a whole heading or title.
	AsHeading float64 `json:"asHeading"`
	// Fuse is the constant of the fusion of several phrasings, by reciprocal rank times relative score.
	Fuse float64 `json:"fuse"`

	// Limits of a query, a result and its excerpts.
	MaxQueryBytes int `json:"maxQueryBytes"`
	MaxQueries    int `json:"maxQueries"`
	MaxTerms      int `json:"maxTerms"`
	MaxRelated    int `json:"maxRelated"` // terms
	MaxHeading    int `json:"maxHeading"` // terms
	MaxHits       int `json:"maxHits"`
	MaxLimit      int `json:"maxLimit"`
	MaxOffset     int `json:"maxOffset"`
	MaxNear       int `json:"maxNear"`
	MaxPrefix     int `json:"maxPrefix"`
	SnippetBytes  int `json:"snippetBytes"`
}

// weigh returns the table.
var weigh = sync.OnceValue(func() *ranking {
	r := new(ranking)
	if err := json.Unmarshal(rankingText, r); err != nil {
		panic(fmt.Errorf("ranking.json: %w", err))
	}
	return r
})

// ln2 is the natural logarithm of 2.
const ln2 = 0.6931471805599453

// ln returns the natural logarithm of x, which is at least 1. It uses only operations that
// every implementation of IEEE 754 rounds in the same way, so readers in other languages
// compute the same scores; the conversions prevent fused operations.
func ln(x float64) float64 {
	halvings := 0.0
	for x >= 2 {
		x /= 2
		halvings++
	}
	y := (x - 1) / (x + 1)
	square := float64(y * y)
	sum := 0.0
	for n := 15.0; n >= 1; n -= 2 {
		sum = float64(sum*square) + 1/n
	}
	return float64(halvings*ln2) + float64(float64(2*y)*sum)
}

// idf returns the weight of a term that some of the pages have.
func idf(pages, with int) float64 {
	return ln(max(1, (float64(pages)+1)/(float64(with)+0.5)))
}

// saturate returns the part of BM25 that depends on the weight of a term in a text and on
// the length of the text relative to the mean.
func saturate(k1, flatten, weight, length float64) float64 {
	norm := float64(k1 * (1 - flatten + float64(flatten*length)))
	return float64(weight*(k1+1)) / (weight + norm)
}
