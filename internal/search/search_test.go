package search_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/internal/search"
	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
)

func page(id, title string, sections ...string) search.Page {
	p := search.Page{ID: id, Title: title}
	for i := 0; i+1 < len(sections); i += 2 {
		heading := sections[i]
		p.Sections = append(p.Sections, search.Section{
			Slug: strings.ReplaceAll(strings.ToLower(heading), " ", "-"), Heading: heading, Text: sections[i+1],
		})
	}
	return p
}

func pages() []search.Page {
	return []search.Page{
		page("install", "Installation", "", "Get the program.", "On Linux", "Run the package manager of your distribution.",
			"Without a network", "Copy the archive to the machine and unpack it there."),
		page("limits", "Limits", "", "What is limited, and by how much.", "Changing them",
			"Set rateLimit and maxBodySize in the configuration file.", "Headers", "Answers say how many requests are left."),
		page("rules/no-unused-vars", "no-unused-vars", "", "Disallow variables that nothing reads.",
			"Options", "Names that begin with an underscore can be ignored."),
		page("rules/no-undef", "no-undef", "",
			"Disallow names that are declared nowhere. Variables of other files count as undeclared."),
		page("about", "About", "", "Installing is described elsewhere. The authors like variables."),
	}
}

func index(t testing.TB, o *search.Options, list []search.Page) *search.Memory {
	t.Helper()
	m := &search.Memory{}
	b := search.NewBuilder(o, m.Write)
	for _, p := range list {
		if err := b.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	return m
}

func ask(t testing.TB, m search.Store, query string) *search.Result {
	t.Helper()
	r, err := search.New(m).Search(t.Context(), query)
	if err != nil {
		t.Fatalf("Search(%q): %v", query, err)
	}
	return r
}

func TestSearch(t *testing.T) {
	m := index(t, &search.Options{Language: "en"}, pages())
	tests := map[string]struct{ query, page, slug string }{
		"title":                       {"installation", "install", ""},
		"another form of a word":      {"installed", "install", ""},
		"words of a section":          {"unpack the archive", "install", "without-a-network"},
		"heading":                     {"changing", "limits", "changing-them"},
		"part of camelCase":           {"rate limit", "limits", "changing-them"},
		"camelCase as it stands":      {"maxBodySize", "limits", "changing-them"},
		"camelCase in lower case":     {"maxbodysize", "limits", "changing-them"},
		"a name with hyphens":         {"no-unused-vars", "rules/no-unused-vars", ""},
		"words between noise":         {"how do I install it on linux?", "install", "on-linux"},
		"typing error":                {"instalation", "install", ""},
		"beginning of a word":         {"distrib", "install", "on-linux"},
		"only words that say nothing": {"no", "rules/no-undef", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := ask(t, m, test.query)
			if len(r.Hits) == 0 || r.Hits[0].Page != test.page || r.Hits[0].Slug != test.slug {
				t.Errorf("Search(%q) = %+v, want %s#%s first", test.query, r.Hits, test.page, test.slug)
			}
		})
	}
}

func TestSearchSaysWhatItDid(t *testing.T) {
	m := index(t, &search.Options{Language: "en", Hint: "Read on."}, pages())
	r := ask(t, m, "archve")
	if diff := cmp.Diff(r.Replaced, []search.Replacement{{Word: "archve", Instead: []string{"archive"}}}); diff != "" {
		t.Error(diff)
	}
	if text := r.Text(); !strings.HasPrefix(text, `No page has the word "archve"; searched for "archive" instead.`) ||
		!strings.HasSuffix(text, "\n\nRead on.\n") {
		t.Error(text)
	}
	miss := ask(t, m, "xylophone")
	if len(miss.Hits) > 0 || !strings.HasPrefix(miss.Text(), `No page matches "xylophone".`) {
		t.Error(miss.Text())
	}
}

func TestText(t *testing.T) {
	m := index(t, &search.Options{Language: "en", Hint: "Read on."}, pages())
	want := `1 page matches "underscore":

1. no-unused-vars
   path: rules/no-unused-vars
   heading: options (Options)
   Names that begin with an underscore can be ignored.

Read on.
`
	if diff := cmp.Diff(ask(t, m, "underscore").Text(), want); diff != "" {
		t.Error(diff)
	}
}

func TestSnippetShowsTheWords(t *testing.T) {
	long := strings.Repeat("Nothing of interest stands here. ", 60) + "The quokka smiles. " +
		strings.Repeat("Nothing follows. ", 60)
	m := index(t, nil, []search.Page{page("a", "A", "", long), page("b", "B", "", "Other.")})
	got := ask(t, m, "quokka").Hits[0].Snippet
	if !strings.Contains(got, "quokka smiles") ||
		len(got) > 300 ||
		!strings.HasPrefix(got, "…") ||
		!strings.HasSuffix(got, "…") {
		t.Errorf("snippet %q", got)
	}
}

func TestLanguages(t *testing.T) {
	tests := map[string]struct{ language, text, query string }{
		"German":                       {"de", "Die Häuser stehen am Fluss.", "Haus"},
		"German without umlauts":       {"de", "Die Grenzwerte ändern sich.", "andern"},
		"French":                       {"fr", "L’installation est rapide.", "installations"},
		"Russian":                      {"ru", "Установка программы проста.", "установку"},
		"Japanese":                     {"ja", "東京都の設定を変更する", "設定"},
		"Chinese":                      {"zh", "如何安装这个程序", "安装"},
		"Korean":                       {"ko", "설치하는 방법을 설명합니다", "설치"},
		"accents in the question":      {"en", "The cafe is open.", "café"},
		"a language without a stemmer": {"eo", "La domo estas granda.", "domo"},
		"a code with a region":         {"pt-BR", "As configurações do servidor.", "configuração"},
		"a name with a plus":           {"en", "Written in C++ and C#.", "c++"},
		"an apostrophe":                {"en", "The server's certificate.", "server"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := index(t, &search.Options{Language: test.language}, []search.Page{
				page("other", "Other", "", "x y z"),
				page("it", "It", "", test.text),
			})
			if r := ask(t, m, test.query); len(r.Hits) != 1 || r.Hits[0].Page != "it" || r.Replaced != nil {
				t.Errorf("Search(%q) = %+v", test.query, r)
			}
		})
	}
}

func TestDetect(t *testing.T) {
	tests := map[string]string{
		"This is how the program is installed, and what you can do with it when it does not work.":                 "en",
		"Das ist die Anleitung, mit der man das Programm installiert, und was zu tun ist, wenn es nicht geht.":     "de",
		"Voici comment installer le programme, et ce que vous pouvez faire si cela ne marche pas avec la version.": "fr",
		"Así es como se instala el programa, y lo que puede hacer si no funciona con la versión que tiene.":        "es",
		"Так устанавливается программа, и вот что можно сделать, если " +
			"она не работает на этом компьютере.": "ru",
		"func main() { fmt.Println(x) }": "",
		"":                               "",
	}
	for text, want := range tests {
		if got := search.Detect(text); got != want {
			t.Errorf("Detect(%q) = %q, want %q", text, got, want)
		}
	}
}

// TestSameBytes: an index depends only on its pages, and its shards can be arbitrarily
// small.
func TestSameBytes(t *testing.T) {
	for _, size := range []int{1, 200, 0} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			files := func() map[string]string {
				got := make(map[string]string)
				index(t, &search.Options{Language: "en", TermBytes: size}, pages()).Each(func(name string, data []byte) bool {
					got[name] = string(data)
					return true
				})
				return got
			}
			first := files()
			if diff := cmp.Diff(first, files()); diff != "" {
				t.Error(diff)
			}
			if size == 1 && len(first) < 40 {
				t.Errorf("%d files: %v", len(first), slices.Sorted(maps.Keys(first)))
			}
			m := index(t, &search.Options{Language: "en", TermBytes: size}, pages())
			if r := ask(t, m, "unpack archive"); r.Hits[0].Page != "install" {
				t.Errorf("got %+v", r.Hits)
			}
		})
	}
}

func TestWords(t *testing.T) {
	b := search.NewBuilder(&search.Options{Language: "en"}, func(string, []byte) error { return nil })
	for _, p := range pages() {
		if err := b.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	got := b.Words(6)
	if len(got) != 6 || !slices.Contains(got, "installation") || slices.Contains(got, "the") {
		t.Errorf("Words = %q", got)
	}
}

// counting is a store that counts loads and can mix files of two builds.
type counting struct {
	*search.Memory
	loads  int
	stale  string // file of another build, until the head is forgotten
	before *search.Memory
}

func (c *counting) Load(ctx context.Context, name string, parse search.Parse) (any, error) {
	c.loads++
	if name == c.stale {
		return c.before.Load(ctx, name, parse)
	}
	return c.Memory.Load(ctx, name, parse)
}

func (c *counting) Forget(name string) {
	if name == search.HeadName {
		c.stale = ""
	}
}

func TestFewFilesAreRead(t *testing.T) {
	c := &counting{Memory: index(t, &search.Options{Language: "en"}, pages())}
	ask(t, c, "archive")
	if c.loads != 3 {
		t.Errorf("%d files were read for a question of one word, want the head, the terms and the pages", c.loads)
	}
}

// TestReplacedIndex: a head that was read before the site was replaced causes no error.
func TestReplacedIndex(t *testing.T) {
	old := index(t, &search.Options{Language: "en"}, pages()[:2])
	c := &counting{Memory: index(t, &search.Options{Language: "en"}, pages()), before: old, stale: search.HeadName}
	if r := ask(t, c, "underscore"); len(r.Hits) != 1 {
		t.Errorf("got %+v", r)
	}
}

func TestNoIndex(t *testing.T) {
	_, err := search.New(&search.Memory{}).Search(t.Context(), "x")
	if !errors.Is(err, search.ErrNoFile) {
		t.Errorf("got %v, want ErrNoFile", err)
	}
}

// FuzzAdd indexes arbitrary text and searches for it.
func FuzzAdd(f *testing.F) {
	f.Add("en", "no-unused-vars HTTPServer l'eau 東京 C++ \xff", "it's")
	f.Add("tr", "İstanbul ışık", "I")
	fuzzbound.Fuzz(f, func(t *testing.T, language, text, query string) {
		m := index(t, &search.Options{Language: language}, []search.Page{
			page(text, text, text, text),
			page("b", "B", "", query),
		})
		_ = ask(t, m, query).Text()
	})
}

func BenchmarkSearch(b *testing.B) {
	var list []search.Page
	for i := range 1000 {
		p := pages()[i%5]
		p.ID = fmt.Sprint(p.ID, i)
		list = append(list, p)
	}
	m := index(b, &search.Options{Language: "en"}, list)
	for b.Loop() {
		ask(b, m, "rate limit archive")
	}
}

// TestWholeHeading: a query that is a whole heading or title finds that first, although its words
// are more frequent elsewhere, and is not corrected to others.
func TestWholeHeading(t *testing.T) {
	files := &search.Memory{}
	b := search.NewBuilder(&search.Options{Language: "en"}, files.Write)
	add := func(id, title, heading, text string) {
		t.Helper()
		err := b.Add(search.Page{ID: id, Title: title, Sections: []search.Section{
			{Slug: "top", Heading: title, Text: "About it."}, {Slug: "one", Heading: heading, Text: text},
			{Slug: "two", Heading: "Other things", Text: "Nothing more."},
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	many := strings.Repeat("A token in a file. Each file has tokens. ", 20)
	for i := range 8 {
		add(fmt.Sprint("part", i), fmt.Sprint("Part ", i), "Token files", many)
	}
	add("authentication", "Authentication", "Tokens from a file", "The option names it, one in each line.")
	add("brewing", "Tea for two", "Water", many)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	x := search.New(files)
	for query, want := range map[string]string{
		"Tokens from a file": "authentication one", "tokens  FROM files": "authentication one", "tea for two": "brewing top",
	} {
		found, err := x.Search(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		if len(found.Hits) == 0 || found.Hits[0].Page+" "+found.Hits[0].Slug != want {
			t.Errorf("%q finds %+v, want %s first", query, found.Hits[:min(1, len(found.Hits))], want)
		}
	}
	found, err := x.Search(t.Context(), "to")
	if err != nil || len(found.Replaced) > 0 {
		t.Errorf("a short word is replaced by %v, %v", found.Replaced, err)
	}
}

// TestWriteFails: an error of write, such as that of a full disk, ends the build at once. Close
// writes all files: several with rows, several with terms, and the head.
func TestWriteFails(t *testing.T) {
	full := errors.New("no space left on device")
	build := func(fails int) (names []string, err error) {
		opts := &search.Options{Language: "en", RowsPerFile: 1, TermBytes: 100}
		b := search.NewBuilder(opts, func(name string, _ []byte) error {
			if names = append(names, name); len(names) == fails {
				return full
			}
			return nil
		})
		for _, p := range pages() {
			if err := b.Add(p); err != nil {
				t.Fatal(err)
			}
		}
		if len(names) > 0 {
			t.Errorf("Add wrote %v", names)
		}
		return names, b.Close()
	}
	all, err := build(0)
	if err != nil {
		t.Fatal(err)
	}
	kinds := make(map[string]int)
	for _, name := range all {
		kinds[strings.TrimRight(strings.TrimSuffix(name, ".json"), "0123456789")]++
	}
	if kinds["pages-"] < 2 || kinds["terms-"] < 2 || all[len(all)-1] != search.HeadName {
		t.Errorf("wrote %v, want several files of each kind", all)
	}
	for fails := range all {
		names, err := build(fails + 1)
		if !errors.Is(err, full) || !slices.Equal(names, all[:fails+1]) {
			t.Errorf("write %d fails: %v, and %v were written", fails+1, err, names)
		}
	}
}
