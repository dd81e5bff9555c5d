package docs_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/sitebuild/internal/docs"
)

// headingsPage has the headings whose ids TestHeadingIDs compares.
const headingsPage = `# Über Änderung
## C & C
## 日本語
## 가나 ガ
## Duplicate
## Duplicate
## Duplicate 1
## 3 steps
## ` + "`code`" + ` and **bold** [link](./guide/install)
## Foo {#Custom}
## Custom
## !!!
## !!!
## Ünïcode—dash “quotes”
## İstanbul ΟΔΟΣ
## ½ ﬁ ①
## 🚀 Start
## a  b
## snake_case --flag
## $100 \* 5
## हिन्दी में
## <b>x</b> y<br>z
`

// Headings have the ids that their generator gives them. The ids are from builds with MkDocs 1.4 (and
// pymdownx 9.5), VitePress 1.6 and Hugo 0.111, from github-slugger 2.0, which Docusaurus uses, and from
// the rules of mdBook 0.5. Headings without an id are called section.
func TestHeadingIDs(t *testing.T) {
	mkdocs := func(toc string) map[string]string {
		return map[string]string{"mkdocs.yml": "site_name: x\nmarkdown_extensions:\n  - attr_list\n" + toc}
	}
	for _, test := range []struct {
		name   string
		config map[string]string
		folder string
		want   string
	}{
		{name: "MkDocs", folder: "docs/",
			config: mkdocs(""),
			want: "uber-anderung c-c _1 _2 duplicate duplicate_1 duplicate-1 3-steps " +
				"code-and-bold-link Custom custom _3 _4 unicodedash-quotes istanbul 12-fi-1 " +
				"start a-b snake_case-flag 100-5 _5 x-yz"},
		{name: "MkDocs with a separator", folder: "docs/",
			config: mkdocs("  - toc:\n      separator: _\n"),
			want: "uber_anderung c_c _1 _2 duplicate duplicate_1 duplicate_2 3_steps " +
				"code_and_bold_link Custom custom _3 _4 unicodedash_quotes istanbul 12_fi_1 " +
				"start a_b snake_case_--flag 100_5 _5 x_yz"},
		{name: "MkDocs with letters of all languages", folder: "docs/",
			config: mkdocs("  - toc:\n      slugify: !!python/name:markdown.extensions.toc.slugify_unicode\n"),
			want: "über-änderung c-c 日本語 가나-ガ duplicate duplicate_1 duplicate-1 3-steps " +
				"code-and-bold-link Custom custom _1 _2 ünïcodedash-quotes i\u0307stanbul-οδος ½-ﬁ-① " +
				"start a-b snake_case-flag 100-5 हनद-म x-yz"},
		{name: "pymdownx", folder: "docs/",
			config: mkdocs("  - toc:\n      slugify: !!python/object/apply:pymdownx.slugs.slugify {}\n"),
			want: "Über-Änderung C--C 日本語 가나-ガ Duplicate Duplicate_1 Duplicate-1 3-steps " +
				"code-and-bold-link Custom Custom_1 _1 _2 Ünïcodedash-quotes İstanbul-ΟΔΟΣ ½-ﬁ-① " +
				"-Start a--b snake_case---flag 100--5 हनद-म x-yz"},
		{name: "pymdownx with case lower", folder: "docs/",
			config: mkdocs("  - toc:\n      permalink: true\n" +
				"      slugify: !!python/object/apply:pymdownx.slugs.slugify\n        kwds: {case: lower}\n"),
			want: "über-änderung c--c 日本語 가나-ガ duplicate duplicate_1 duplicate-1 3-steps " +
				"code-and-bold-link Custom custom _1 _2 ünïcodedash-quotes istanbul-οδος ½-ﬁ-① " +
				"-start a--b snake_case---flag 100--5 हनद-म x-yz"},
		{name: "pymdownx with case fold", folder: "docs/",
			config: mkdocs("  - toc:\n      slugify: !!python/object/apply:pymdownx.slugs.slugify {kwds: {case: fold}}\n"),
			want: "über-änderung c--c 日本語 가나-ガ duplicate duplicate_1 duplicate-1 3-steps " +
				"code-and-bold-link Custom custom _1 _2 ünïcodedash-quotes istanbul-οδοσ ½-fi-① " +
				"-start a--b snake_case---flag 100--5 हनद-म x-yz"},
		{name: "pymdownx, earlier names", folder: "docs/",
			config: mkdocs("  - toc:\n      slugify: !!python/name:pymdownx.slugs.gfm\n"),
			want: "Über-Änderung c--c 日本語 가나-ガ duplicate duplicate_1 duplicate-1 3-steps " +
				"code-and-bold-link Custom custom _1 _2 Ünïcodedash-quotes İstanbul-ΟΔΟΣ ½-ﬁ-① " +
				"-start a--b snake_case---flag 100--5 हनद-म x-yz"},
		{name: "VitePress", folder: "",
			config: map[string]string{".vitepress/config.mts": "export default {}\n"},
			want: "uber-anderung c-c 日本語 \u1100\u1161\u1102\u1161-ガ duplicate duplicate-1 duplicate-1-1 _3-steps " +
				"code-and-bold-link Custom custom section section-1 unicode—dash-quotes " +
				"istanbul-οδος _1⁄2-fi-1 🚀-start a-b snake-case-flag _100-5 हिन्दी-में x-yz"},
		{name: "Docusaurus", folder: "docs/",
			config: map[string]string{"docusaurus.config.js": "export default {}\n"},
			want: "über-änderung c--c 日本語 가나-ガ duplicate duplicate-1 duplicate-1-1 3-steps " +
				"code-and-bold-link Custom custom section section-1 ünïcodedash-quotes " +
				"i\u0307stanbul-οδος -ﬁ- -start a--b snake_case---flag 100--5 हिन्दी-में x-yz"},
		{name: "Docusaurus with capital letters", folder: "docs/",
			config: map[string]string{"docusaurus.config.js": "export default {markdown: {anchors: {maintainCase: true}}}\n"},
			want: "Über-Änderung C--C 日本語 가나-ガ Duplicate Duplicate-1 Duplicate-1-1 3-steps " +
				"code-and-bold-link Custom Custom-1 section section-1 Ünïcodedash-quotes " +
				"İstanbul-ΟΔΟΣ -ﬁ- -Start a--b snake_case---flag 100--5 हिन्दी-में x-yz"},
		{name: "mdBook", folder: "src/",
			config: map[string]string{"book.toml": "[book]\n",
				"src/SUMMARY.md": "# Summary\n\n- [A](a.md)\n- [B](guide/install.md)\n"},
			want: "über-änderung c--c 日本語 가나-ガ duplicate duplicate-1 duplicate-1-1 3-steps " +
				"code-and-bold-link Custom custom section section-1 ünïcodedash-quotes " +
				"istanbul-οδος ½-ﬁ-① -start a--b snake_case---flag 100--5 हिनदी-में x-yz"},
		{name: "Hugo", folder: "content/",
			config: map[string]string{"hugo.toml": "title = 'x'\n"},
			want: "über-änderung c--c 日本語 가나-ガ duplicate duplicate-1 duplicate-1-1 3-steps " +
				"code-and-bold-linkguideinstall Custom custom heading heading-1 " +
				"ünïcodedash-quotes istanbul-οδοσ -ﬁ- -start a--b snake_case---flag 100--5 हनद-म " +
				"bxb-ybrz"},
		{name: "Hugo with ASCII", folder: "content/",
			config: map[string]string{"hugo.toml": "[Markup.goldmark.parser]\nautoHeadingIDType = 'github-ascii'\n"},
			want: "uber-anderung c--c heading - duplicate duplicate-1 duplicate-1-1 3-steps " +
				"code-and-bold-linkguideinstall Custom custom heading-1 heading-2 " +
				"unicodedash-quotes istanbul- -- -start a--b snake_case---flag 100--5 --1 " +
				"bxb-ybrz"},
		{name: "no system", folder: "",
			config: nil,
			want: "über-änderung c--c 日本語 가나-ガ duplicate duplicate-1 duplicate-1-1 3-steps " +
				"code-and-bold-link Custom custom section section-1 ünïcodedash-quotes " +
				"i\u0307stanbul-οδος -ﬁ- -start a--b snake_case---flag 100--5 हिन्दी-में x-yz"},
	} {
		t.Run(test.name, func(t *testing.T) {
			files := fstest.MapFS{
				test.folder + "a.md":             {Data: []byte(headingsPage)},
				test.folder + "guide/install.md": {Data: []byte("# Install\n")},
			}
			for name, text := range test.config {
				files[name] = &fstest.MapFile{Data: []byte(text)}
			}
			set, err := docs.Read(t.Context(), files, "x", nil)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range set.Page("a").Sections {
				got = append(got, s.Slug)
			}
			if diff := cmp.Diff(got, strings.Fields(test.want)); diff != "" {
				t.Errorf("ids (-got +want):\n%s", diff)
			}
		})
	}
}

// Links may have the ids of the generator or those of GitHub, and lead to the generator's.
func TestHeadingLinks(t *testing.T) {
	set, err := docs.Read(t.Context(), fstest.MapFS{
		"mkdocs.yml": {Data: []byte("site_name: x\n")},
		"docs/a.md":  {Data: []byte("# Über Änderung\n\n## 日本語\n\n## Twice\n\n## Twice\n")},
		"docs/b.md": {Data: []byte("# B\n\n[1](a.md#uber-anderung) [2](a.md#über-änderung) [3](a.md#_1) " +
			"[4](a.md#日本語) [5](a.md#twice_1) [6](a.md#twice-1)\n")},
	}, "x", nil)
	if err != nil {
		t.Fatal(err)
	}
	want := "# B\n\n[1](docs://a#uber-anderung) [2](docs://a#uber-anderung) [3](docs://a#_1) [4](docs://a#_1) " +
		"[5](docs://a#twice_1) [6](docs://a#twice_1)\n"
	if got := set.Page("b").Body; got != want {
		t.Errorf("body %q, want %q", got, want)
	}
	if found := set.Report.Findings(); len(found) != 0 {
		t.Error(found)
	}
}
