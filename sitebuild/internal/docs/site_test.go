package docs_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/internal/test/naivesite"
	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/mcptest"
	"github.com/slipway-mcp/slipway/sitebuild/internal/docs"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// handbook is a small folder of documents with one long page.
func handbook() fstest.MapFS {
	var long strings.Builder
	long.WriteString("# Reference\n\nAll settings.\n")
	for i := range 40 {
		fmt.Fprintf(&long, "\n## Setting %d\n\n%s\n\n```yaml\nsetting%d: true\n```\n",
			i, strings.Repeat("It changes what the kettle does. ", 30), i)
	}
	return fstest.MapFS{
		"index.md": {
			Data: []byte("# Kettle\n\nA handbook. See [brewing](guide/brewing.md#water).\n\n![Picture](kettle.png)\n"),
		},
		"guide/brewing.md": {
			Data: []byte(
				"---\ndescription: How to brew tea.\n---\n# Brewing\n\n## Water\n\nFresh water.\n\n### Temperature\n\n" +
					"Ninety degrees.\n\n## Time\n\nThree minutes.\n"),
		},
		"reference.md": {Data: []byte(long.String())},
		"kettle.png":   {Data: []byte("\x89PNG")},
		"a/b c.md":     {Data: []byte("# Spaces\n\nIn a name.\n")},
		"hidden.md":    {Data: []byte("---\nhidden: true\n---\n# Hidden\n")},
	}
}

// written builds a site from files in a folder and returns its directory.
func written(t *testing.T, files fstest.MapFS, opts *docs.Options) string {
	t.Helper()
	set, err := docs.Read(t.Context(), files, "handbook", opts)
	if err != nil {
		t.Fatal(err)
	}
	site, err := set.Site(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "site")
	result, err := sitewriter.Write(t.Context(), site, sitewriter.Dir(dir), nil)
	if err != nil {
		t.Fatalf("%v: %v", err, ruletest.Findings(&result.Report))
	}
	return dir
}

func opened(t *testing.T, dir string) *staticmcp.Site {
	t.Helper()
	site, err := staticmcp.OpenDir(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { site.Close() })
	return site
}

func call(t *testing.T, site *staticmcp.Site, tool, arguments string) string {
	t.Helper()
	r, err := site.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	if err != nil {
		t.Fatalf("%s %s: %v", tool, arguments, err)
	}
	if r.Raw != nil {
		if err := json.Unmarshal(r.Raw.Bytes(), r); err != nil {
			t.Fatal(err)
		}
	}
	return r.Content[0].Text
}

func TestTools(t *testing.T) {
	site := opened(t, written(t, handbook(), &docs.Options{Name: "kettle", PartBytes: 4000}))
	tests := map[string]struct{ tool, arguments, want string }{
		"a page":              {"get_page", `{"path":"guide/brewing"}`, "# Brewing\n\n## Water"},
		"links are URIs":      {"get_page", `{"path":"home"}`, "[brewing](docs://guide/brewing#water)"},
		"a name with a space": {"get_page", `{"path":"a/b c"}`, "In a name."},
		"a section": {"get_section", `{"path":"guide/brewing","heading":"water"}`,
			"## Water\n\nFresh water.\n\n### Temperature\n\nNinety degrees.\n"},
		"a section below": {"get_section", `{"path":"guide/brewing","heading":"temperature"}`, "### Temperature"},
		"the first part":  {"get_page", `{"path":"reference"}`, "The next one: get_page with part=2."},
		"the first part by name": {"get_page", `{"path":"reference","part":1}`,
			"Sections for get_section: reference, setting-0,"},
		"a further part":          {"get_page", `{"path":"reference","part":3}`, "This is part 3 of"},
		"the whole page in parts": {"get_section", `{"path":"reference","heading":"setting-39"}`, "setting39: true"},
		"the table of contents":   {"get_nav", `{}`, "- Kettle — home\n"},
		"a group of it":           {"get_nav", `{"group":"guide"}`, "# Guide\n\n- Brewing — guide/brewing\n"},
		"the list":                {"list_pages", `{}`, "4 pages:\n\n- home: Kettle. A handbook."},
		"a description":           {"list_pages", `{}`, "- guide/brewing: Brewing. How to brew tea.\n"},
		"search":                  {"search", `{"query":"how long to brew"}`, "path: guide/brewing"},
		"search for a word":       {"search", `{"query":"minutes"}`, "heading: time (Time)"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := call(t, site, test.tool, test.arguments); !strings.Contains(got, test.want) {
				t.Errorf("%s %s = %q, want %q in it", test.tool, test.arguments, got, test.want)
			}
		})
	}
	if got := call(t, site, "get_page", `{"path":"hidden"}`); !strings.Contains(got, "no stored answer") {
		t.Errorf("a hidden page is answered: %q", got)
	}
}

func TestParts(t *testing.T) {
	site := opened(t, written(t, handbook(), &docs.Options{PartBytes: 4000}))
	whole := ""
	for part := 1; ; part++ {
		text := call(t, site, "get_page", fmt.Sprintf(`{"path":"reference","part":%d}`, part))
		if strings.Contains(text, "no stored answer") {
			break
		}
		if len(text) > 5500 || strings.Count(text, "```")%2 != 0 {
			t.Errorf("part %d has %d bytes, %d fences", part, len(text), strings.Count(text, "```"))
		}
		body, _, _ := strings.Cut(text, "\n---\nThis is part")
		whole += body + "\n"
	}
	want := string(handbook()["reference.md"].Data)
	if strings.Join(strings.Fields(whole), " ") != strings.Join(strings.Fields(want), " ") {
		t.Error("the parts together are not the page")
	}
}

// TestStandardReader reads the built site strictly by the standard.
func TestStandardReader(t *testing.T) {
	dir := written(t, handbook(), nil)
	naive := naivesite.Site{FS: os.DirFS(dir), Encode: staticmcp.EncodeName}
	for _, test := range []struct {
		want      string
		tool      string
		arguments []string
	}{
		{"Ninety degrees", "get_page", []string{"guide/brewing"}},
		{"Ninety degrees", "get_section", []string{"guide/brewing", "temperature"}},
		{"path: guide/brewing", "search", []string{"temperature"}},
		{"- Brewing — guide/brewing", "get_nav", nil},
		{"4 pages", "list_pages", nil},
	} {
		if got, err := naive.Call(test.tool, test.arguments...); err != nil || !strings.Contains(got, test.want) {
			t.Errorf("%s(%q) = %q, %v, want %q in it", test.tool, test.arguments, got, err, test.want)
		}
	}
	if text, kind, err := naive.Resource("docs://guide/brewing"); err != nil ||
		kind != "text/markdown" ||
		!strings.HasPrefix(text, "# Brewing") {
		t.Errorf("the resource of a page: %q, %s, %v", text, kind, err)
	}
}

// TestSameAnswerEverywhere verifies that a stored search equals what our reader computes.
func TestSameAnswerEverywhere(t *testing.T) {
	dir := written(t, handbook(), nil)
	site := opened(t, dir)
	names, err := filepath.Glob(filepath.Join(dir, "tools", "search", "*.json"))
	if err != nil || len(names) < 10 {
		t.Fatal(names, err)
	}
	naive := naivesite.Site{FS: os.DirFS(dir), Encode: staticmcp.EncodeName}
	for _, name := range names {
		word := strings.TrimSuffix(filepath.Base(name), ".json")
		stored, err := naive.Call("search", word)
		if err != nil {
			t.Fatal(err)
		}
		if got := call(t, site, "search", fmt.Sprintf(`{"query":%q}`, word)); got != stored {
			t.Errorf("search %q: %q, and %q is stored", word, got, stored)
		}
	}
}

func TestSource(t *testing.T) {
	dir := written(t, handbook(), nil)
	mcptest.TestSource(t, func(t *testing.T) mcp.Source { return opened(t, dir) }, nil)
}

func TestSameBytes(t *testing.T) {
	one, two := written(t, handbook(), nil), written(t, handbook(), nil)
	err := filepath.WalkDir(one, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(one, name)
		a, _ := os.ReadFile(name)
		b, err := os.ReadFile(filepath.Join(two, rel))
		if string(a) != string(b) {
			t.Errorf("%s differs", rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A title or heading with generator syntax is shown without it, and keeps its anchor.
func TestPlainTitles(t *testing.T) {
	set, err := docs.Read(t.Context(), fstest.MapFS{
		"a.md": {
			Data: []byte("---\ntitle: \":rocket: Start {{ product }}\"\n---\n\nText.\n\n" +
				"## :gear: Settings\n\nMore.\n"),
		},
		"b.md": {Data: []byte("# :rocket:\n\nOnly an icon.\n")},
	}, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	a := set.Page("a")
	heading := a.Sections[len(a.Sections)-1]
	if a.Title != "Start" || heading.Heading != "Settings" || heading.Slug != "gear-settings" {
		t.Errorf("title %q, heading %q, slug %q", a.Title, heading.Heading, heading.Slug)
	}
	if got := set.Page("b").Title; got != ":rocket:" {
		t.Errorf("a title that is only an icon = %q", got)
	}
}

func TestLLMSFull(t *testing.T) {
	race.SkipLong(t)
	dir := written(t, handbook(), &docs.Options{BaseURL: "https://example.com/handbook/"})
	full, err := os.ReadFile(filepath.Join(dir, "llms-full.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"# Kettle\n", "https://example.com/handbook/\n", "\n---\n",
		"setting39: true", "# Spaces\n", "Ninety degrees.",
	} {
		if !strings.Contains(string(full), want) {
			t.Errorf("%q is missing", want)
		}
	}
	if strings.Contains(string(full), "# Hidden") {
		t.Error("a hidden page is included")
	}

	linked := fstest.MapFS{
		"a.md": {Data: []byte("# A\n\nSee [b](sub/b.md#two) and [b][b].\n\n[b]: sub/b.md\n\n" +
			"```\n[code](docs://sub/b)\n```\n")},
		"sub/b.md": {Data: []byte("# B\n\n## Two\n\nBack to [a](../a.md).\n")},
	}
	dir = written(t, linked, &docs.Options{BaseURL: "https://example.com/x"})
	full, err = os.ReadFile(filepath.Join(dir, "llms-full.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"[b](https://example.com/x/sub/b#two)", "[b]: https://example.com/x/sub/b\n",
		"[a](https://example.com/x/a)", "[code](docs://sub/b)",
	} {
		if !strings.Contains(string(full), want) {
			t.Errorf("%q is missing in:\n%s", want, full)
		}
	}

	large := handbook()
	for i := range 2 {
		large[fmt.Sprintf("large%d.md", i)] = &fstest.MapFile{
			Data: []byte("# Large\n\n" + strings.Repeat("Tea with milk.\n\n", 150_000)),
		}
	}
	dir = written(t, large, nil)
	if _, err := os.Stat(filepath.Join(dir, "llms-full.txt")); err == nil {
		t.Error("llms-full.txt is written for documents beyond its limit")
	}
	if list, _ := os.ReadFile(filepath.Join(dir, "llms.txt")); strings.Contains(string(list), "llms-full") {
		t.Error("llms.txt links to an llms-full.txt that does not exist")
	}
}

func TestLLMSText(t *testing.T) {
	dir := written(t, handbook(), &docs.Options{BaseURL: "https://example.com/handbook/"})
	got, err := os.ReadFile(filepath.Join(dir, "llms.txt"))
	if err != nil {
		t.Fatal(err)
	}
	want := `# Kettle

## Documentation

- [Kettle](https://example.com/handbook/): A handbook. See brewing.
- [Reference](https://example.com/handbook/reference): All settings.

## A

- [Spaces](https://example.com/handbook/a/b%20c): In a name.

## Guide

- [Brewing](https://example.com/handbook/guide/brewing): How to brew tea.

## Optional

- [All pages in one file](llms-full.txt)
`
	if string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestLLMS(t *testing.T) {
	mux := http.NewServeMux()
	serve := func(path, kind, text string) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			fmt.Fprint(w, text)
		})
	}
	elsewhere := httptest.NewServer(
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("another host was asked") }))
	defer elsewhere.Close()
	serve("/docs/llms.txt", "text/plain", `# Kettle

> Tea, on time.

- [Start](start.md): Where to begin.

## Guides

- [Brewing](/docs/guide/brewing): In HTML, with Markdown beside it.
- [Elsewhere](`+elsewhere.URL+`/x.md)
- [Sent away](away.md)
- [Gone](gone.md)
- [Twice](start.md)
- [Picture](picture.png)
`)
	serve("/docs/start.md", "text/markdown", "# Start here\n\nSee [brewing](guide/brewing.md).\n")
	serve("/docs/guide/brewing", "text/html", "<html>")
	serve("/docs/guide/brewing.md", "text/markdown; charset=utf-8", "# Brewing\n\n## Water\n\nFresh.\n")
	serve("/docs/picture.png.md", "image/png", "x")
	mux.HandleFunc("/docs/away.md",
		func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, http.StatusFound) })
	web := httptest.NewServer(mux)
	defer web.Close()
	list, err := docs.LLMS(web.URL+"/docs/llms.txt", nil)
	if err != nil {
		t.Fatal(err)
	}
	set, err := list.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := strings.ReplaceAll(show(set), web.URL, "WEB")
	got = strings.ReplaceAll(got, elsewhere.URL, "ELSEWHERE")
	want := `llms.txt: "Kettle", "Tea, on time.", language ""

navigation:
- Start (start)
- Guides
  - Brewing (guide/brewing)

findings:
WEB/docs/llms.txt:10: note: ELSEWHERE/x.md is skipped: it is on another host [docs/page-left-out]
WEB/docs/llms.txt:11: warning: WEB/docs/away.md is skipped: it redirects to an address elsewhere [docs/page-left-out]
WEB/docs/llms.txt:12: warning: WEB/docs/gone.md is skipped: the host answers with status 404 [docs/page-left-out]
WEB/docs/llms.txt:14: warning: WEB/docs/picture.png is skipped: the host answers with status 404 [docs/page-left-out]

== start (start.md): Start: Where to begin.
#start-here 1 "See brewing."
| # Start here
| 
| See [brewing](docs://guide/brewing).

== guide/brewing (guide/brewing.md): Brewing: In HTML, with Markdown beside it.
#brewing 1 ""
#water 2 "Fresh."
| # Brewing
| 
| ## Water
| 
| Fresh.
`
	if got != want {
		t.Errorf("got %s", got)
	}
}

func TestLLMSFile(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"llms.txt": "# Kettle\n\n- [Start](start.md)\n- [Everything](llms-full.txt)\n" +
			"- [Out](../out.md)\n- [Rooted](/etc/passwd)\n- " +
			"[Web](https://example.com/x.md)\n",
		"start.md": "# Start\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	list, err := docs.LLMS(filepath.Join(dir, "llms.txt"), nil)
	if err != nil {
		t.Fatal(err)
	}
	set, err := list.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Pages) != 1 || set.Pages[0].ID != "start" || len(ruletest.Findings(&set.Report)) != 3 {
		t.Errorf("pages %v, findings %v", set.Pages, ruletest.Findings(&set.Report))
	}
}

func TestDirReadsWhatLiesBeside(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"mkdocs.yml": "site_name: Kettle\nnav:\n- Second: b.md\n- First: a.md\n",
		"docs/a.md":  "# A\n",
		"docs/b.md":  "# B\n",
		"other/c.md": "# C\n",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for folder, want := range map[string]string{
		"docs":  "mkdocs Kettle b a",
		"other": " other c",
		".":     "mkdocs Kettle b a",
	} {
		input, err := docs.Dir(filepath.Join(dir, folder), nil)
		if err != nil {
			t.Fatal(err)
		}
		set, err := input.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := set.System + " " + set.Title
		for _, p := range set.Pages {
			got += " " + p.ID
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", folder, got, want)
		}
	}
}

// TestNotUTF8 reads a document without its invalid bytes.
func TestNotUTF8(t *testing.T) {
	files := fstest.MapFS{"a.md": {Data: []byte("# A\n\ncaf\xe9 noir\n")}}
	set, err := docs.Read(t.Context(), files, "x", nil)
	if err != nil {
		t.Fatal(err)
	}
	found := ruletest.Findings(&set.Report)
	if len(found) != 1 || found[0].Rule.ID != "docs/not-utf8" || found[0].Line != 3 {
		t.Errorf("findings %v, want one of docs/not-utf8 in line 3", found)
	}
	if body := set.Page("a").Body; !strings.Contains(body, "caf noir") {
		t.Errorf("the page is %q", body)
	}
}

// TestUnusualFiles reads what editors of other systems write, and reports what it skips.
func TestUnusualFiles(t *testing.T) {
	files := fstest.MapFS{
		"utf16.md":       {Data: []byte("\xff\xfe#\x00 \x00\xdc\x00\n\x00\n\x00t\x00")},
		"mac.md":         {Data: []byte("# Mac\r\rOne.\r\r## Two\r\rThree.\r")},
		"part.txt":       {Data: []byte("\xff\xfeH\x00\xdf\x00\r\x00i\x00")},
		"whole.md":       {Data: []byte("# Whole\n\n<!-- @include: part.txt -->\n")},
		"list.md":        {Data: []byte("---\n- a\n---\n# List\n")},
		"link.md":        {Data: []byte("mac.md"), Mode: fs.ModeSymlink},
		"a.rst":          {Data: []byte("A\n=\n")},
		"b/c.ADOC":       {Data: []byte("= C\n")},
		"link.png":       {Data: []byte("mac.md"), Mode: fs.ModeSymlink},
		"latest":         {Data: []byte("v2"), Mode: fs.ModeSymlink},
		"node_modules":   {Data: []byte("v2"), Mode: fs.ModeSymlink},
		"dangling":       {Data: []byte("v1"), Mode: fs.ModeSymlink},
		"v2/new.md":      {Data: []byte("# New\n")},
		"caf\xe9.md":     {Data: []byte("# Lost\n")},
		"d\xe9/inner.md": {Data: []byte("# Lost\n")},
	}
	set, err := docs.Read(t.Context(), files, "x", nil)
	if err != nil {
		t.Fatal(err)
	}
	if p := set.Page("utf16"); p == nil || p.Title != "Ü" {
		t.Errorf("UTF-16: %+v", p)
	}
	p := set.Page("mac")
	if p == nil || p.Title != "Mac" || len(p.Sections) != 2 || !strings.Contains(p.Body, "\nThree.\n") {
		t.Errorf("carriage returns: %+v", p)
	}
	if p := set.Page("whole"); p == nil || !strings.Contains(p.Body, "\nHß\ni\n") {
		t.Errorf("an included file in UTF-16: %+v", p)
	}
	var got []string
	for _, f := range ruletest.Findings(&set.Report) {
		got = append(got, fmt.Sprintf("%s: %s [%s]", f.File, f.Message, f.Rule.ID))
	}
	slices.Sort(got)
	want := []string{
		"x/a.rst: documents in reStructuredText or AsciiDoc are skipped: 2 [docs/unrendered]",
		"x/caf\xe9.md: the document is skipped: its name is not UTF-8 [docs/unreadable]",
		"x/d\xe9: the folder is skipped: its name is not UTF-8 [docs/unreadable]",
		"x/latest: documents below it are skipped: it is a symbolic link, which is not followed [docs/symlink]",
		"x/link.md: the document is skipped: it is a symbolic link, which is not followed [docs/symlink]",
		"x/list.md: the text between two lines of --- is not front matter and stays on the page [docs/front-matter]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// locked is a folder with a file or folder that cannot be opened.
type locked struct {
	fstest.MapFS
	name string
}

func (l locked) Open(name string) (fs.File, error) {
	if name == l.name {
		return nil, &fs.PathError{Op: "openat", Path: path.Base(name), Err: fs.ErrPermission}
	}
	return l.MapFS.Open(name)
}

func (l locked) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == l.name {
		return nil, &fs.PathError{Op: "openat", Path: path.Base(name), Err: fs.ErrPermission}
	}
	return l.MapFS.ReadDir(name)
}

func TestUnreadableFile(t *testing.T) {
	for name, want := range map[string]string{
		"guide/a.md": "open manual/guide/a.md: permission denied",
		"guide":      "read manual/guide: permission denied",
		".":          "read manual: permission denied",
	} {
		files := locked{fstest.MapFS{"guide/a.md": {Data: []byte("# A\n")}}, name}
		_, err := docs.Read(t.Context(), files, "manual", nil)
		if err == nil || err.Error() != want || !errors.Is(err, fs.ErrPermission) {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
}

// TestLinkOutside reports a link to a folder outside, which a build cannot read.
func TestLinkOutside(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"docs/a.md": "# A\n", "shared/b.md": "# B\n"} {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join("..", "shared"), filepath.Join(dir, "docs", "shared")); err != nil {
		t.Skip(err) // Windows permits it only to some
	}
	root, err := os.OpenRoot(filepath.Join(dir, "docs"))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	set, err := docs.Read(t.Context(), root.FS(), "docs", nil)
	if err != nil {
		t.Fatal(err)
	}
	found := ruletest.Findings(&set.Report)
	if len(found) != 1 || found[0].Rule.ID != "docs/symlink" || found[0].File != "docs/shared" {
		t.Errorf("findings %v, want one of docs/symlink", found)
	}
}

func TestLimits(t *testing.T) {
	for name, opts := range map[string]*docs.Options{
		"pages": {MaxPages: 2},
		"bytes": {MaxTotalBytes: 100},
	} {
		if _, err := docs.Read(t.Context(), handbook(), "", opts); err == nil || !strings.Contains(err.Error(), "more than") {
			t.Errorf("%s: %v", name, err)
		}
	}
	set, err := docs.Read(t.Context(), handbook(), "x", &docs.Options{MaxFileBytes: 1000, MaxImageBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	if set.Page("reference") != nil || set.Images != nil || ruletest.Findings(&set.Report)[0].Rule.ID != "docs/too-large" {
		t.Errorf("%v, %v", set.Images, ruletest.Findings(&set.Report))
	}
}
