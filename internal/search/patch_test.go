package search

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/internal/test/race"
)

// randomPage returns a page whose ID, keywords and slugs depend on the number only.
func randomPage(random *rand.Rand, number int) Page {
	words := strings.Fields("kettle kettles boil boiling boiled lid lids spout spouts maxSize no-unused-vars delete " +
		"remove removing install installed the and of wasser größe 東京 limits limit limited rate rates")
	text := func(most int) string {
		list := make([]string, 1+random.Intn(most))
		for i := range list {
			list[i] = words[random.Intn(len(words))]
			if random.Intn(10) == 0 {
				list[i] += fmt.Sprint(random.Intn(30))
			}
		}
		return strings.Join(list, " ")
	}
	p := Page{ID: fmt.Sprintf("part%d/page%d", number%3, number), Title: text(4), Keywords: []string{"kettle"}}
	for i := range 1 + number%11 {
		p.Sections = append(p.Sections, Section{Slug: fmt.Sprint("s", i), Heading: text(5), Text: text(40)})
	}
	return p
}

// A patched index has the files of one that is built, byte for byte, and the same counts.
func TestPatch(t *testing.T) {
	race.SkipLong(t)
	random := rand.New(rand.NewSource(5))
	synonyms := [][]string{{"boil", "heat"}, {"lid", "kettle"}}
	opts := &Options{Language: "en", RowsPerFile: 2, TermBytes: 600, Synonyms: synonyms}
	build := func(pages []Page) (*Memory, []*Analysis, []byte) {
		m := &Memory{}
		b := NewBuilder(opts, m.Write)
		var list []*Analysis
		for i, p := range pages {
			a := b.Analyze(p)
			list = append(list, a)
			if err := b.AddAnalysis(p.ID, a, nil); err != nil {
				t.Fatal(err)
			}
			b.Link([]string{fmt.Sprintf("part%d/page%d", i/2%3, i/2)})
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		return m, list, b.Counts()
	}
	var pages []Page
	for i := range 25 {
		pages = append(pages, randomPage(random, i))
	}
	before, analyses, counts := build(pages)
	patched := 0
	for step := range 30 {
		now := slices.Clone(pages)
		var numbers []int
		for range 1 + random.Intn(3) {
			n := random.Intn(len(now))
			if !slices.Contains(numbers, n) {
				numbers = append(numbers, n)
				now[n] = randomPage(random, n)
			}
		}
		want, after, wantCounts := build(now)
		var changes []PageChange
		for _, n := range numbers {
			changes = append(changes, PageChange{Number: n, Old: analyses[n], New: after[n]})
		}
		files, gotCounts, err := Patch(func(name string) ([]byte, error) {
			if data, ok := before.files[name]; ok {
				return data, nil
			}
			return nil, fs.ErrNotExist
		}, counts, changes)
		if errors.Is(err, ErrRebuild) && len(before.files) != len(want.files) {
			pages, before, analyses, counts = now, want, after, wantCounts
			continue
		}
		if err != nil {
			t.Fatalf("step %d: %v", step, err)
		}
		patched++
		got := maps.Clone(before.files)
		maps.Copy(got, files)
		if diff := cmp.Diff(want.files, got); diff != "" {
			t.Fatalf("step %d: %s", step, diff)
		}
		if string(gotCounts) != string(wantCounts) {
			t.Fatalf("step %d: other counts", step)
		}
		pages, before, analyses, counts = now, want, after, wantCounts
	}
	if patched < 20 {
		t.Errorf("only %d patches", patched)
	}
	// An index that was built from other pages is no base.
	if _, _, err := Patch(func(name string) ([]byte, error) { return before.files[name], nil }, counts,
		[]PageChange{{Number: 3, Old: analyses[4], New: analyses[3]}}); !errors.Is(err, ErrRebuild) {
		t.Errorf("with another page: %v", err)
	}
}
