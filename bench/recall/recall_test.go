package recall_test

import (
	"testing"

	"github.com/slipway-mcp/slipway/bench/recall"
	"github.com/slipway-mcp/slipway/internal/eval"
)

// Goals on documents that the weights were not chosen with: the mean over all single
// phrasings, and with the three phrasings of each question in one call.
var (
	goalOne   = eval.Score{At1: 0.60, At5: 0.80}
	goalThree = eval.Score{At1: 0.84, At5: 0.98}
)

// TestHeldCorpora requires the goals as means over the corpora that the weights were not
// chosen with, and that plain BM25 is beaten there.
func TestHeldCorpora(t *testing.T) {
	var one, three, pages, sections []eval.Score
	for i := range recall.Corpora {
		c := &recall.Corpora[i]
		if c.Tuned {
			continue
		}
		questions, err := c.Questions()
		if err != nil {
			t.Fatal(err)
		}
		dir, err := c.Fetch(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		built, err := recall.Build(t.Context(), c.Name, dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer built.Site.Close()
		ask := func(phrasings ...string) []string {
			found, err := built.Search(t.Context(), phrasings...)
			if err != nil {
				t.Fatal(err)
			}
			return found
		}
		single := eval.Single(questions)
		one = append(one, eval.Rate(single, func(q *eval.Question) []string { return ask(q.Phrasings[0]) }))
		three = append(three, eval.Rate(questions, func(q *eval.Question) []string { return ask(q.Phrasings...) }))
		byPage := recall.NewBaseline(built.Pages, false)
		pages = append(pages, eval.Rate(single, byPage.Question))
		bySection := recall.NewBaseline(built.Pages, true)
		sections = append(sections, eval.Rate(single, bySection.Question))
		t.Logf("%s: one phrasing %.2f, three %.2f", c.Name, one[len(one)-1], three[len(three)-1])
	}
	for name, pair := range map[string][2]eval.Score{
		"one phrasing, goal":             {eval.Mean(one), goalOne},
		"three phrasings, goal":          {eval.Mean(three), goalThree},
		"one phrasing, BM25 of pages":    {eval.Mean(one), eval.Mean(pages)},
		"one phrasing, BM25 of sections": {eval.Mean(one), eval.Mean(sections)},
	} {
		got, least := pair[0], pair[1]
		t.Logf("%s: recall@1 %.3f and @5 %.3f, want at least %.3f and %.3f", name, got.At1, got.At5, least.At1, least.At5)
		if got.At1 < least.At1 || got.At5 < least.At5 {
			t.Errorf("%s is missed", name)
		}
	}
}

// TestQuestions verifies that all questions are usable: 40 about each corpus.
func TestQuestions(t *testing.T) {
	for i := range recall.Corpora {
		questions, err := recall.Corpora[i].Questions()
		if err != nil || len(questions) != 40 {
			t.Errorf("%s: %d questions, %v", recall.Corpora[i].Name, len(questions), err)
		}
		for _, q := range questions {
			if len(q.Phrasings) != 3 {
				t.Errorf("%s: %q has %d phrasings, want 3", recall.Corpora[i].Name, q.Phrasings[0], len(q.Phrasings))
			}
		}
	}
}
