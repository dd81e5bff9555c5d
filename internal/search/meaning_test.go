package search_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/internal/search"
	"github.com/slipway-mcp/slipway/internal/wordvec"
)

// words are the vectors of 13 words: four groups of three with the same meaning, and trash, which is half like delete.
func words(t testing.TB) *wordvec.Vectors {
	t.Helper()
	v, err := wordvec.Open("testdata/words.txt")
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func chores() []search.Page {
	return []search.Page{
		page("guide/start", "Start", "", "Install the program.", "Next", "Read on."),
		page("guide/clean", "Clean up", "", "What to do with files.", "For good", "Delete them."),
		page("more/colours", "Colours", "", "Red and green."),
		page("other", "Other", "", "Questions and answers."),
	}
}

// found returns the paths of the pages that an index finds.
func found(t *testing.T, x *search.Index, q *search.Query) (*search.Result, []string) {
	t.Helper()
	r, err := x.Find(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if r.VectorsErr != nil {
		t.Errorf("the vectors are not used: %v", r.VectorsErr)
	}
	paths := pathsOf(r)
	if r.Pages != len(paths) {
		t.Errorf("%d pages counted, %d shown", r.Pages, len(paths))
	}
	return r, paths
}

// pathsOf returns the paths of the pages of a result.
func pathsOf(r *search.Result) []string {
	paths := []string{}
	for _, h := range r.Hits {
		paths = append(paths, h.Page)
	}
	return paths
}

func TestVectors(t *testing.T) {
	m := index(t, &search.Options{Language: "en"}, chores())
	with := search.New(m)
	with.UseVectors(words(t), -1)
	for _, test := range []struct {
		query, section string
		without, with  []string
		replaced       []search.Replacement
	}{
		{query: "demolish", with: []string{"guide/clean"}, replaced: []search.Replacement{{"demolish", []string{"delete"}}}},
		{query: "demolish", section: "more", replaced: []search.Replacement{{"demolish", []string{"delete"}}}},
		{query: "trash", with: []string{"guide/clean"}}, // not by a word, as none is similar enough
		{query: "trash", section: "guide", with: []string{"guide/clean"}},
		{query: "trash", section: "more"},
		{query: "banana"}, // no page is about fruit
		{query: "zebra"},
		{query: "questions", without: []string{"other"}, with: []string{"other"}},
		{query: "delet", without: []string{"guide/clean"}, with: []string{"guide/clean"}},
	} {
		t.Run(test.query+" "+test.section, func(t *testing.T) {
			q := &search.Query{Phrasings: []string{test.query}, Section: test.section}
			if _, got := found(t, search.New(m), q); !slices.Equal(got, test.without) {
				t.Errorf("without vectors %q, want %q", got, test.without)
			}
			r, got := found(t, with, q)
			if !slices.Equal(got, test.with) {
				t.Errorf("with vectors %q, want %q", got, test.with)
			}
			if diff := cmp.Diff(test.replaced, r.Replaced); diff != "" {
				t.Errorf("replaced (-want +got):\n%s", diff)
			}
		})
	}
}

// TestVectorsOrder: of two pages with the same words, the one with the meaning of the question comes first.
func TestVectorsOrder(t *testing.T) {
	list := []search.Page{
		page("a", "Files", "", "Files are red, or files are green."),
		page("b", "Files", "", "Files that you remove, and files that stay."),
		page("c", "Setup", "", "Install it."),
	}
	m := index(t, &search.Options{Language: "en"}, list)
	q := &search.Query{Phrasings: []string{"demolish files"}}
	if _, got := found(t, search.New(m), q); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("without vectors %q, want a first", got)
	}
	x := search.New(m)
	x.UseVectors(words(t), -1)
	if _, got := found(t, x, q); !slices.Equal(got, []string{"b", "a"}) {
		t.Errorf("with vectors %q, want b first", got)
	}
}

// TestVectorsAddFewPages: at most ten pages without a word of the question are found, the most similar ones.
func TestVectorsAddFewPages(t *testing.T) {
	var list []search.Page
	for i := range 13 {
		text := "Delete it."
		if i == 0 {
			text = "Delete it. Install it."
		}
		list = append(list, page(fmt.Sprintf("p%02d", i), "Page", "", text))
	}
	for i := range 2 {
		list = append(list, page(fmt.Sprint("colours", i), "Colours", "", "Red and green."))
	}
	x := search.New(index(t, &search.Options{Language: "en"}, list))
	x.UseVectors(words(t), -1)
	_, got := found(t, x, &search.Query{Phrasings: []string{"trash"}})
	best := []string{"p01", "p02", "p03", "p04", "p05", "p06", "p07", "p08", "p09", "p10"}
	if !slices.Equal(got, best) {
		t.Errorf("found %q, want %q", got, best)
	}
}

// swapped is a store whose files can be replaced, and that counts what is read of it.
type swapped struct {
	*search.Memory
	version int
	read    int
	fail    error
	reading func() // is called by Read
}

func (s *swapped) Cached(string) (any, bool) { return nil, false }

func (s *swapped) Load(ctx context.Context, name string, parse search.Parse) (any, error) {
	s.Memory.Forget(name)
	return s.Memory.Load(ctx, name, parse)
}

func (s *swapped) Read(ctx context.Context, name string, since any) (data []byte, state any, err error) {
	if s.fail != nil {
		return nil, nil, s.fail
	}
	if s.reading != nil {
		s.reading()
	}
	if since == s.version {
		return nil, s.version, nil
	}
	s.read++
	data, _, err = s.Memory.Read(ctx, name, nil)
	return data, s.version, err
}

// TestVectorsReload: after a change, the first question has the vectors of the new pages, and files that have not
// changed are not read.
func TestVectorsReload(t *testing.T) {
	build := func(text string, more ...search.Page) *search.Memory {
		return index(t, &search.Options{Language: "en"}, append([]search.Page{
			page("a", "First", "", text), page("b", "Second", "", "Nothing here."),
		}, more...))
	}
	s := &swapped{Memory: build("Delete it.")}
	x := search.New(s)
	x.UseVectors(words(t), 0)
	want := func(step string, paths ...string) {
		t.Helper()
		deadline := time.Now().Add(10 * time.Second)
		for {
			r, err := x.Search(t.Context(), "trash")
			if err != nil {
				t.Fatal(err)
			}
			got := pathsOf(r)
			if slices.Equal(got, paths) {
				return
			}
			if time.Now().After(deadline) { // a space that was just built rests
				t.Fatalf("%s: found %q, want %q", step, got, paths)
			}
		}
	}
	want("first", "a")
	before := s.read
	want("again", "a")
	if s.read != before {
		t.Errorf("%d files read again without a change", s.read-before)
	}
	s.version, s.Memory = 1, build("Install it.")
	want("text changed")
	s.version, s.Memory = 2, build("Install it.", page("c", "Third", "", "Remove it."))
	want("page added", "c")
	s.fail = errors.New("disk on fire")
	for deadline := time.Now().Add(10 * time.Second); ; { // until the files are compared again
		r, err := x.Search(t.Context(), "first")
		if err != nil || len(r.Hits) != 1 {
			t.Fatalf("with an error: %+v, %v", r, err)
		}
		if errors.Is(r.VectorsErr, s.fail) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the error is not reported")
		}
	}
	s.fail = nil
	want("recovered", "c")
}

// TestVectorsOfManySections: words get their meaning from pages if there are too many sections.
func TestVectorsOfManySections(t *testing.T) {
	x := search.New(index(t, &search.Options{Language: "en"}, chores()))
	x.UseVectors(words(t), -1)
	x.LimitVectors(len(chores()) * 4)
	if _, got := found(t, x, &search.Query{Phrasings: []string{"trash"}}); !slices.Equal(got, []string{"guide/clean"}) {
		t.Errorf("found %q, want the page about deleting", got)
	}
}

// TestVectorsTooLarge: an index that is too large for the memory of its vectors is searched without them.
func TestVectorsTooLarge(t *testing.T) {
	var list []search.Page
	for i := range 40 {
		list = append(list, page(fmt.Sprint("p", i), "Page", "", "Delete it."))
	}
	x := search.New(index(t, nil, list))
	x.UseVectors(words(t), -1)
	x.LimitVectors(39 * 4)
	r, err := x.Search(t.Context(), "page")
	if err != nil || r.Pages != 40 || r.VectorsErr == nil {
		t.Errorf("%d pages, %v, %v, want all and why there are no vectors", r.Pages, r.VectorsErr, err)
	}
}

// TestVectorsOutliveTheirCaller guards vectors that take longer than a caller waits: the next one has them.
func TestVectorsOutliveTheirCaller(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &swapped{Memory: index(t, &search.Options{Language: "en"}, chores()), reading: cancel}
	x := search.New(s)
	x.UseVectors(words(t), time.Hour)
	if _, err := x.Search(ctx, "trash"); !errors.Is(err, context.Canceled) {
		t.Fatalf("a caller that has left gets %v", err)
	}
	before := s.read
	if _, got := found(t, x, &search.Query{Phrasings: []string{"trash"}}); !slices.Equal(got, []string{"guide/clean"}) {
		t.Errorf("found %q, want the page about deleting", got)
	}
	if s.read != before {
		t.Errorf("%d files were read again", s.read-before)
	}
}

// TestVectorsRest: vectors that took long are not made again at once, and the reason is given.
func TestVectorsRest(t *testing.T) {
	s := &swapped{Memory: index(t, &search.Options{Language: "en"}, chores())}
	s.reading = func() { <-time.After(50 * time.Millisecond) }
	x := search.New(s)
	x.UseVectors(words(t), 0)
	found(t, x, &search.Query{Phrasings: []string{"trash"}})
	s.version, s.Memory = 1, index(t, &search.Options{Language: "en"}, chores()[:2])
	r, err := x.Search(t.Context(), "delete")
	if err != nil || r.Pages != 1 || r.VectorsErr == nil {
		t.Errorf("%+v, %v, want a page, and why there are no vectors", r, err)
	}
}

// TestVectorsOfLargeFiles: an index whose files of terms are too large is searched without vectors.
func TestVectorsOfLargeFiles(t *testing.T) {
	x := search.New(index(t, &search.Options{Language: "en"}, chores()))
	x.UseVectors(words(t), -1)
	x.LimitTexts(100)
	r, err := x.Search(t.Context(), "delete")
	if err != nil || r.Pages == 0 || r.VectorsErr == nil {
		t.Errorf("%d pages, %v, %v, want some and why there are no vectors", r.Pages, r.VectorsErr, err)
	}
}

// TestVectorsOfManyWords: an index with too many words for the memory of vectors is searched without them.
func TestVectorsOfManyWords(t *testing.T) {
	m := index(t, &search.Options{Language: "en"}, chores())
	for limit, want := range map[int]bool{4: false, 12: false, 1000: true} {
		x := search.New(m)
		x.UseVectors(words(t), -1)
		x.LimitWords(limit)
		r, err := x.Search(t.Context(), "delete")
		if err != nil || r.Pages == 0 || (r.VectorsErr == nil) != want {
			t.Errorf("at most %d numbers: %d pages, %v, %v", limit, r.Pages, r.VectorsErr, err)
		}
	}
}
