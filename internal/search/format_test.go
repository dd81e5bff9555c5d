package search

import (
	"context"
	"encoding/base64"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
	"github.com/slipway-mcp/slipway/internal/test/race"
)

// FuzzRead feeds untrusted files to the reader, as an attacker would write them.
func FuzzRead(f *testing.F) {
	m := &Memory{}
	b := NewBuilder(nil, m.Write)
	for _, p := range []Page{
		{ID: "a", Title: "A page", Sections: []Section{{Text: "rate limit"}, {Slug: "x", Heading: "X", Text: "archive"}}},
		{ID: "b", Title: "Another", Sections: []Section{{Text: "limits and archives"}}},
	} {
		if err := b.Add(p); err != nil {
			f.Fatal(err)
		}
		b.Link([]string{"a"})
	}
	if err := b.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add(m.files[HeadName], m.files["terms-0.json"], m.files["pages-0.json"], "rate limit", "a")
	f.Add([]byte(`{"format":2,"of":"","pages":1,"sections":"AQEB","terms":1,"spread":1,"rowsPerFile":1}`),
		[]byte(`{"of":"","terms":"\na  AQEU/////////////wE"}`), []byte(`{"of":"","rows":null}`), "a", "")
	f.Add([]byte(`{"format":1,"pages":1,"terms":[["","0"]],"rows":[["0","0"]],"words":""}`),
		[]byte(`{"terms":{"a":"AQEBAQE"}}`), []byte(`{"pages":[{"id":"","sections":[]}]}`), "a b", "")
	fuzzbound.Fuzz(f, func(t *testing.T, head, terms, rows []byte, query, section string) {
		m := &Memory{}
		for name, data := range map[string][]byte{
			HeadName:       head,
			"terms-0.json": terms,
			"pages-0.json": rows,
			words1Name:     terms,
		} {
			_ = m.Write(name, data)
		}
		r, err := New(m).Find(t.Context(), &Query{Phrasings: []string{query, query + " b"}, Section: section})
		if err == nil && len(r.Hits) > weigh().MaxHits {
			t.Errorf("%d hits", len(r.Hits))
		}
		_ = New(m).Verify(t.Context(), 10, func(string, error) {})
	})
}

func TestHeadIsChecked(t *testing.T) {
	for name, text := range map[string]string{
		"another format":    `{"format":3}`,
		"unsorted terms":    `{"format":1,"pages":1,"terms":[["b",""],["a",""]]}`,
		"unsorted pages":    `{"format":1,"pages":9,"rows":[["5",""],["3",""]]}`,
		"pages beyond last": `{"format":1,"pages":1,"rows":[["1",""]]}`,
		"not a pair":        `{"format":1,"pages":1,"rows":[["1"]]}`,
		"no spread":         `{"format":2,"pages":0,"rowsPerFile":1}`,
		"too much spread":   `{"format":2,"pages":0,"spread":65,"rowsPerFile":1}`,
		"too many":          `{"format":2,"pages":99999999999,"spread":4,"rowsPerFile":1}`,
		"no rows":           `{"format":2,"pages":0,"spread":4,"rowsPerFile":0}`,
		"sections missing":  `{"format":2,"pages":2,"spread":4,"rowsPerFile":1,"sections":"AQE"}`,
		"sections left":     `{"format":2,"pages":1,"spread":4,"rowsPerFile":1,"sections":"AAEB"}`,
		"damaged links":     `{"format":2,"pages":1,"spread":4,"rowsPerFile":1,"sections":"AAE","links":"AQI"}`,
		"a pin to nowhere":  `{"format":2,"pages":0,"spread":4,"rowsPerFile":1,"pins":[{"terms":"a","page":0}]}`,
		"too many synonyms": `{"format":2,"pages":0,"spread":4,"rowsPerFile":1,"synonyms":[["a"` +
			strings.Repeat(`,"b"`, 32) + `]]}`,
		"not JSON": `{"format":1`,
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := parseHead([]byte(text)); err == nil {
				t.Error("no error")
			}
		})
	}
}

// TestFormat1 answers from an index that an earlier release wrote.
func TestFormat1(t *testing.T) {
	m := &Memory{}
	files, err := filepath.Glob("testdata/format1/*.json")
	if err != nil || len(files) != 4 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_ = m.Write(filepath.Base(file), data)
	}
	for query, want := range map[string]string{
		"delete old files": "reference/settings",
		"registy":          "home",
	} {
		r, err := New(m).Search(t.Context(), query)
		if err != nil || len(r.Hits) == 0 || r.Hits[0].Page != want || r.Hits[0].Snippet == "" {
			t.Errorf("Search(%q) = %+v, %v, want %s first", query, r, err, want)
		}
	}
	r, err := New(m).Find(t.Context(), &Query{Phrasings: []string{"delete", "remove"}, Limit: 2, Offset: 1})
	if err != nil || len(r.Hits) == 0 || len(r.Hits) > 2 {
		t.Errorf("Find = %+v, %v", r, err)
	}
	if err := New(m).Verify(t.Context(), 0, func(name string, err error) { t.Error(name, err) }); err != nil {
		t.Error(err)
	}
}

func TestLengthCode(t *testing.T) {
	before := -1
	for n := range 100_000 {
		code := int(lengthCode(n))
		got := lengthOf(byte(code))
		if code < before || got > n || n-got > n/8 {
			t.Fatalf("lengthCode(%d) = %d, which is %d", n, code, got)
		}
		before = code
	}
}

func TestSpell(t *testing.T) {
	for term, word := range map[string]string{
		"instal": "installation", "librari": "library", "cafe": "café", "x": "x", "東京": "東京", "naiv": "naïve",
	} {
		if got := spelled(term, spell(term, word)); got != word {
			t.Errorf("spelled(%q, %q) = %q, want %q", term, spell(term, word), got, word)
		}
	}
}

func TestLn(t *testing.T) {
	for x, want := range map[float64]string{
		1: "0.0000000000", 2: "0.6931471806", 10: "2.3025850930", 12345.5: "9.4210469032",
	} {
		if got := strconv.FormatFloat(ln(x), 'f', 10, 64); got != want {
			t.Errorf("ln(%v) = %s, want %s", x, got, want)
		}
	}
}

func TestPostings(t *testing.T) {
	l := &layout{}
	data := []byte{3, 40, 10, 20, 10, 0, 0, 1, 16, 16}
	if err := l.decode(base64.RawStdEncoding.EncodeToString(data), 3); err != nil {
		t.Fatal(err)
	}
	want := []posting{
		{page: 0, weight: 7, title: 2, sections: []sectionWeight{{0, 1}, {2, 6}}},
		{page: 1, weight: 200},
		{page: 2, weight: 1, sections: []sectionWeight{{0, 1}}},
	}
	out := []byte{3}
	for _, p := range want {
		out = appendPosting(out, 1, p)
	}
	encoded := base64.RawStdEncoding.EncodeToString(out)
	var got []posting
	var buffer []byte
	err := eachPosting(encoded, l, &buffer, func(p posting) {
		p.sections = append([]sectionWeight(nil), p.sections...)
		got = append(got, p)
	})
	opts := []cmp.Option{cmp.AllowUnexported(posting{}, sectionWeight{})}
	if diff := cmp.Diff(got, want, opts...); diff != "" || err != nil || pagesWith(encoded) != 3 {
		t.Error(diff, err, pagesWith(encoded))
	}
}

// bulk returns pages whose words repeat, as those of documentation do.
func bulk(count int) []Page {
	list := strings.Fields("install server config network cache proxy limit token deploy cluster metric log error retry " +
		"client header cookie route query index storage backup restore secret policy role group user")
	pages := make([]Page, count)
	for i := range pages {
		p := Page{ID: list[i%28] + "/" + list[i/28%28], Title: list[i%28] + " and " + list[i/28%28]}
		for k := range 12 {
			var text strings.Builder
			for n := range 30 {
				text.WriteString(list[(i*7+k*3+n*n)%28] + " ")
			}
			text.WriteString("item" + string(rune('a'+i%26)) + string(rune('a'+k)) + ". One more sentence. ")
			p.Sections = append(p.Sections, Section{Slug: list[k], Heading: list[k], Text: text.String()})
		}
		pages[i] = p
	}
	return pages
}

func build(t *testing.T, pages []Page) map[string][]byte {
	t.Helper()
	m := &Memory{}
	b := NewBuilder(&Options{Language: "en", TermBytes: 2000}, m.Write)
	for _, p := range pages {
		if err := b.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := New(m).Verify(context.Background(), 0, func(name string, err error) { t.Error(name, err) }); err != nil {
		t.Error(err)
	}
	return m.files
}

// TestEditRewritesFewFiles edits one word of one sentence. The row, the file of each word,
// and the head if a length changes: three files at most. One word more or less at the beginning
// of a page also moves another into the beginning or out of it: four.
func TestEditRewritesFewFiles(t *testing.T) {
	race.SkipLong(t)
	pages := bulk(400)
	before := build(t, pages)
	if len(before) < 500 {
		t.Fatalf("%d files, want a larger index", len(before))
	}
	for name, edit := range map[string]struct {
		from, to string
		most     map[int]int // files, by section
	}{
		"replace a word": {"One more sentence", "One more paragraph", map[int]int{0: 3, 4: 3}},
		"add a word":     {"One more sentence", "One more final sentence", map[int]int{0: 4, 4: 3}},
		"remove a word":  {"One more sentence", "One more", map[int]int{0: 4, 4: 3}},
		"correct a name": {"item", "itam", map[int]int{0: 3, 4: 3}},
	} {
		for _, number := range []int{0, 7, 399} {
			for section, most := range edit.most {
				edited := slices.Clone(pages)
				edited[number].Sections = slices.Clone(edited[number].Sections)
				text := &edited[number].Sections[section].Text
				*text = strings.Replace(*text, edit.from, edit.to, 1)
				after := build(t, edited)
				var changed []string
				for file := range maps.Keys(after) {
					if string(after[file]) != string(before[file]) {
						changed = append(changed, file)
					}
				}
				if len(changed) == 0 || len(changed) > most || len(after) != len(before) {
					t.Errorf("%s in section %d of page %d rewrites %q, want at most %d files",
						name, section, number, changed, most)
				}
			}
		}
	}
}

// TestTermsThatBeginAlike divides a vocabulary with few beginnings evenly, and corrects words
// with those of all its files.
func TestTermsThatBeginAlike(t *testing.T) {
	page := Page{ID: "a", Title: "Words"}
	var all []string
	for i := range 2000 {
		letter := func(n int) string { return string(rune('a' + n)) }
		all = append(all, "co"+strings.Repeat(letter(i%26), 3)+letter(i/26%26)+letter(i/676)+"xyz")
	}
	page.Sections = []Section{{Slug: "s", Heading: "Configure the cache", Text: strings.Join(all, " ")}}
	files := build(t, []Page{page, {ID: "b", Title: "Empty"}})
	largest, total := 0, 0
	for name, data := range files {
		if strings.HasPrefix(name, "terms-") {
			largest = max(largest, len(data))
			total += len(data)
		}
	}
	if largest > total/spread*5/4 {
		t.Errorf("the largest file has %d of %d bytes", largest, total)
	}
	for _, word := range all[:40] {
		typed := word[:len(word)-1] + "y" // one letter differs
		r, err := New(&Memory{files: files}).Search(t.Context(), typed)
		if err != nil || len(r.Replaced) != 1 || !slices.Contains(r.Replaced[0].Instead, word) {
			t.Fatalf("Search(%q) = %+v, %v, want it replaced by %q", typed, r, err, word)
		}
	}
	r, err := New(&Memory{files: files}).Search(t.Context(), "configure cache")
	if err != nil || len(r.Hits) != 1 || r.Hits[0].Slug != "s" {
		t.Errorf("got %+v, %v", r, err)
	}
}

// TestSynonymsThatBeginAlike corrects words that are in two of the files for words that begin alike:
// their own, and that of their synonyms.
func TestSynonymsThatBeginAlike(t *testing.T) {
	opts := &Options{Language: "en", TermBytes: 500}
	var all []string
	for i := range 100 {
		all = append(all, "co"+strings.Repeat(string(rune('a'+i%26)), 3)+string(rune('a'+i/26))+"xyz")
	}
	for i := 0; i < len(all); i += 2 {
		opts.Synonyms = append(opts.Synonyms, all[i:i+2])
	}
	m := &Memory{}
	b := NewBuilder(opts, m.Write)
	page := Page{ID: "a", Title: "Words", Sections: []Section{{Text: strings.Join(all, " ")}}}
	if err := errors.Join(b.Add(page), b.Close()); err != nil {
		t.Fatal(err)
	}
	for _, word := range all {
		typed := word[:len(word)-1] + "y" // one letter differs
		r, err := New(m).Search(t.Context(), typed)
		if err != nil || len(r.Replaced) != 1 || !slices.Contains(r.Replaced[0].Instead, word) {
			t.Fatalf("Search(%q) = %+v, %v, want it replaced by %q", typed, r, err, word)
		}
		instead := slices.Sorted(slices.Values(r.Replaced[0].Instead))
		if len(slices.Compact(instead)) != len(r.Replaced[0].Instead) {
			t.Errorf("Search(%q) has %q instead, want each word once", typed, r.Replaced[0].Instead)
		}
	}
}

// TestTermInAnotherFile has a term in the wrong one of the files for terms that begin alike.
func TestTermInAnotherFile(t *testing.T) {
	files := build(t, bulk(30))
	loaded, _, err := parseHead(files[HeadName])
	if err != nil {
		t.Fatal(err)
	}
	h := loaded.(*head)
	for _, n := range h.wordFilesOf("aa") {
		if n == h.termFileOf("aa") {
			continue
		}
		m := &Memory{files: maps.Clone(files)}
		name := fileName("terms", n)
		m.files[name] = []byte(strings.Replace(string(files[name]), `"terms":"`, `"terms":"\naa  AQEA`, 1))
		var broken []string
		_ = New(m).Verify(t.Context(), 0, func(name string, err error) { broken = append(broken, name+": "+err.Error()) })
		want := name + `: the term "aa" belongs into another file`
		if !slices.Equal(broken, []string{want}) {
			t.Errorf("broken = %q, want %q", broken, want)
		}
	}
}

// TestOldAndNewFilesFitTogether: files of builds that differ only in a text can be mixed,
// those of builds with other pages cannot.
func TestOldAndNewFilesFitTogether(t *testing.T) {
	pages := bulk(50)
	mixed := build(t, pages)
	edited := slices.Clone(pages)
	edited[3].Sections = slices.Clone(edited[3].Sections)
	edited[3].Sections[0].Text += "zeppelin"
	for name, data := range build(t, edited) {
		if name != HeadName {
			mixed[name] = data
		}
	}
	r, err := New(&Memory{files: mixed}).Search(t.Context(), "zeppelin")
	if err != nil || len(r.Hits) != 1 || r.Hits[0].Page != pages[3].ID {
		t.Errorf("got %+v, %v", r, err)
	}
	mixed[HeadName] = build(t, pages[:40])[HeadName]
	if _, err := New(&Memory{files: mixed}).Search(t.Context(), "zeppelin"); err == nil {
		t.Error("a head of other pages was accepted")
	}
}

// TestVerifyFindsDamage changes each file in ways that readers would not notice.
func TestVerifyFindsDamage(t *testing.T) {
	files := build(t, bulk(30))
	for name, damage := range map[string]func(string) string{
		"terms-0.json": func(s string) string { return strings.Replace(s, `"terms":"\n`, `"terms":"\nzzz  AQEU\n`, 1) },
		"pages-1.json": func(s string) string { return strings.Replace(s, `"first":8`, `"first":0`, 1) },
		"pages-0.json": func(s string) string { return strings.Replace(s, `"rows":[{`, `"rows":[{},{`, 1) },
	} {
		m := &Memory{files: maps.Clone(files)}
		changed := damage(string(files[name]))
		if changed == string(files[name]) {
			t.Fatalf("%s was not changed", name)
		}
		m.files[name] = []byte(changed)
		var broken []string
		_ = New(m).Verify(t.Context(), 0, func(name string, _ error) { broken = append(broken, name) })
		if !slices.Equal(broken, []string{name}) {
			t.Errorf("broken = %q, want %s", broken, name)
		}
	}
}
