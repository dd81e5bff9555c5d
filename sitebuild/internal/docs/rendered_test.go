package docs_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/sitebuild/internal/docs"
)

// rendered is a folder of HTML pages.
func rendered(pages map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, page := range pages {
		fsys[name] = &fstest.MapFile{Data: []byte(page)}
	}
	return fsys
}

func TestRendered(t *testing.T) {
	set, err := docs.Read(t.Context(), rendered(map[string]string{
		"index.html": `<html lang="en"><head><title>Manual</title><link rel="next" href="zoo/start.html"></head>` +
			`<main><h1>Manual</h1>` +
			`<p>See <a href="zoo/start.html#first-step">the start</a> and <a href="data.json">data</a>.</p></main>`,
		"zoo/start.html": `<html lang="en"><head><title>Start</title>` +
			`<link rel="canonical" href="https://example.com/v2/zoo/start">` +
			`<meta name="description" content="How to begin."><link rel="next" href="../about/index.html"></head>` +
			`<main><h1>Start</h1><section id="first-step"><h2>The first step</h2><p>Do it.</p></section></main>`,
		"about/index.html": `<main><h1>About</h1><p><img src="../logo.png" alt="Logo"> Us. <a href="../">Home</a></p></main>`,
		"moved.html":       `<meta http-equiv="refresh" content="0; url=zoo/start.html"><main>Moved</main>`,
		"genindex.html":    `<main><h1>Index</h1></main>`,
		"LICENSE.md":       "# License\n",
		"data.json":        "{}",
		"logo.png":         "\x89PNG\r\n\x1a\n",
	}), "public", nil)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, p := range set.Pages {
		ids = append(ids, p.ID)
	}
	if got := strings.Join(ids, " "); got != "home zoo/start about" {
		t.Errorf("pages %s", got)
	}
	if set.Nav[1].Title != "Zoo" {
		t.Errorf("the second entry of the navigation is %q, want the page that the first leads to", set.Nav[1].Title)
	}
	home := set.Page("home")
	if want := "See [the start](docs://zoo/start#first-step) and [data](data.json)."; !strings.Contains(home.Body, want) {
		t.Errorf("the first page is\n%s\nwithout %s", home.Body, want)
	}
	start := set.Page("zoo/start")
	if start.Description != "How to begin." || len(start.Sections) != 2 || start.Sections[1].Slug != "first-step" {
		t.Errorf("start: %q, %+v", start.Description, start.Sections)
	}
	if about := set.Page("about"); !strings.Contains(about.Body, "![Logo](docs://logo.png)") ||
		!strings.Contains(about.Body, "[Home](docs://home)") {
		t.Errorf("about:\n%s", about.Body)
	}
	if set.System != "html" || set.Language != "en" || len(set.Report.Findings()) > 0 {
		t.Errorf("system %q, language %q, findings %v", set.System, set.Language, set.Report.Findings())
	}
}

// A page that cannot be parsed is reported, and the others are read.
func TestUnreadablePage(t *testing.T) {
	set, err := docs.Read(t.Context(), rendered(map[string]string{
		"index.html": "<main><h1>Manual</h1><p>Text.</p></main>",
		"deep.html":  strings.Repeat("<div>", 10_000),
	}), "public", nil)
	if err != nil {
		t.Fatal(err)
	}
	found := ruletest.Findings(&set.Report)
	if len(set.Pages) != 1 || len(found) != 1 || found[0].Rule.ID != "docs/unreadable" ||
		found[0].File != "public/deep.html" {
		t.Errorf("%d pages, findings %v", len(set.Pages), found)
	}
}

// A page in another encoding is read as it declares; one that declares none is reported.
func TestEncodings(t *testing.T) {
	set, err := docs.Read(t.Context(), rendered(map[string]string{
		"index.html":  "<main><h1>Manual</h1><p>Text.</p></main>",
		"latin.html":  `<meta charset="iso-8859-1"><main><h1>Gr` + "\xfc\xdf" + `e</h1></main>`,
		"silent.html": "<main><h1>Gr\xfc\xdfe</h1></main>",
		"wide.html":   `<meta charset="utf-16"><main><h1>Gr` + "\xfc\xdf" + `e</h1></main>`,
		"korean.html": `<meta charset="iso-2022-kr"><main><h1>Greetings</h1><p>` + "\x1b$)C" + `</p></main>`,
		"half.html":   `<meta charset="windows-1253"><main><h1>Gr` + "\xff" + `e</h1></main>`,
	}), "public", nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range ruletest.Findings(&set.Report) {
		got = append(got, fmt.Sprintf("%s: %s [%s]", f.File, f.Message, f.Rule.ID))
	}
	slices.Sort(got)
	const foreign = "the page declares an encoding that it is not completely in, or that is not supported [docs/not-utf8]"
	want := []string{
		"public/half.html: " + foreign,
		"public/korean.html: " + foreign,
		"public/silent.html: the page is not UTF-8; its invalid bytes are removed [docs/not-utf8]",
		"public/wide.html: the page is not UTF-8; its invalid bytes are removed [docs/not-utf8]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for name, want := range map[string]string{
		"latin": "Grüße", "silent": "Gre", "wide": "Gre", "korean": "Greetings", "half": "Gr\ufffde",
	} {
		if p := set.Page(name); p == nil || p.Title != want {
			t.Errorf("%s: %+v, want the title %q", name, p, want)
		}
	}
}

// Documents in Markdown are never replaced by what was rendered from them.
func TestMarkdownBeforeRendered(t *testing.T) {
	set, err := docs.Read(t.Context(), rendered(map[string]string{
		"docs/start.md":          "# Start\n\nWritten.\n",
		"public/index.html":      "<main><h1>Start</h1><p>Rendered.</p></main>",
		"public/start.html":      "<main><h1>Start</h1><p>Rendered.</p></main>",
		"public/a/b/c/more.html": "<main><h1>More</h1><p>Rendered.</p></main>",
	}), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Pages) != 1 || set.System == "html" {
		t.Errorf("%d pages of %q, want the one in Markdown", len(set.Pages), set.System)
	}
}

func TestRenderedAddresses(t *testing.T) {
	pages := map[string]string{
		"index.html":      `<link rel="canonical" href="https://example.com/docs/"><main><h1>Manual</h1><p>Text.</p></main>`,
		"use/index.html":  `<link rel="canonical" href="https://example.com/docs/use/"><main><h1>Use</h1><p>Text.</p></main>`,
		"wrong.html":      `<link rel="canonical" href="https://example.com/docs/"><main><h1>Wrong</h1><p>Text.</p></main>`,
		"no-address.html": `<main><h1>None</h1><p>Text.</p></main>`,
	}
	for base, want := range map[string]map[string]string{
		"": {"home": "https://example.com/docs/", "use": "https://example.com/docs/use/", "wrong": "", "no-address": ""},
		"https://docs.example.org/v3": {"home": "https://docs.example.org/v3/", "use": "https://docs.example.org/v3/use/",
			"wrong": "https://docs.example.org/v3/wrong.html", "no-address": "https://docs.example.org/v3/no-address.html"},
	} {
		set, err := docs.Read(t.Context(), rendered(pages), "", nil)
		if err != nil {
			t.Fatal(err)
		}
		site, err := set.Site(t.Context(), &docs.Options{BaseURL: base})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for a, err := range site.Answers {
			if err != nil {
				t.Fatal(err)
			}
			text := string(a.Result)
			var arguments struct{ Path string }
			if a.Tool != "get_page" || json.Unmarshal(a.Arguments, &arguments) != nil {
				continue
			}
			_, link, _ := strings.Cut(text, "Published at ")
			link, _, _ = strings.Cut(link, `\n`)
			got[arguments.Path] = link
		}
		for path, address := range want {
			if got[path] != address {
				t.Errorf("with the base %q, %s is published at %q, want %q", base, path, got[path], address)
			}
		}
	}
}

// TestMarkdownBesidePages: Markdown next to the pages rendered from it is preferred to them, but
// not the copies of pages that Slipway publishes.
func TestMarkdownBesidePages(t *testing.T) {
	for mark, want := range map[string]string{"": "", sitewriter.TwinMark: "html"} {
		files := fstest.MapFS{}
		for _, name := range []string{"index", "a", "b"} {
			files[name+".html"] = &fstest.MapFile{Data: []byte("<title>x</title><main><h1>Page</h1><p>Text.</p></main>")}
			files[name+".md"] = &fstest.MapFile{Data: []byte("# Page\n\nText.\n" + mark)}
		}
		set, err := docs.Read(t.Context(), files, "public", nil)
		if err != nil {
			t.Fatal(err)
		}
		if set.System != want || len(set.Pages) != 3 {
			t.Errorf("with the mark %q: %d pages of the system %q, want 3 of %q", mark, len(set.Pages), set.System, want)
		}
	}
}
