package docs

import (
	"bytes"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
)

func TestSlugs(t *testing.T) {
	s := newSlugger(headingSettings{})
	for _, test := range []struct{ heading, want string }{
		{"Hello, World!", "hello-world"},
		{"Hello World", "hello-world-1"},
		{"hello world", "hello-world-2"},
		{"hello-world-1", "hello-world-1-1"},
		{"C++ & Go", "c--go"},
		{"Schöne Größe", "schöne-größe"},
		{"東京", "東京"},
		{"snake_case", "snake_case"},
		{"!!!", "section"},
	} {
		if got := s.slug(&heading{name: test.heading}); got != test.want {
			t.Errorf("slug(%q) = %q, want %q", test.heading, got, test.want)
		}
	}
}

func TestUndecorated(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{":rocket: Get started", "Get started"},
		{"Get started :rocket:", "Get started"},
		{":material-home: Home", "Home"},
		{"Install {#install .wide}", "Install"},
		{"A picture { width=200 } here", "A picture here"},
		{"About {{ config.site_name }}", "About"},
		{"{% if a %}Text{% endif %}", "Text"},
		{"Use {{ .Values.image }} in charts", "Use {{ .Values.image }} in charts"},
		{"std::vector::size and 10:30:15", "std::vector::size and 10:30:15"},
		{"A set {a, b} and {\"k\": 1}", "A set {a, b} and {\"k\": 1}"},
	} {
		if got := undecorated(test.in); got != test.want {
			t.Errorf("undecorated(%q) = %q, want %q", test.in, got, test.want)
		}
	}
}

func TestClean(t *testing.T) {
	tests := map[string]struct{ in, want string }{
		"comment":               {"a <!-- b\nc --> d", "a \n d"},
		"comment in code":       {"`<!-- b -->`", "`<!-- b -->`"},
		"import":                {"import A from 'a'\n\ntext", "\n\ntext"},
		"a sentence":            {"text\nimport duties rise", "text\nimport duties rise"},
		"export over lines":     {"export const a = {\n  b: 1,\n}\n\ntext", "\n\n\n\ntext"},
		"export after import":   {"import {\n  a,\n} from 'y';\nexport const x = '(';\ntext", "\n\n\n\ntext"},
		"two on a line":         {"import a from 'a'; import b from 'b';\ntext", "\ntext"},
		"export without end":    {"export const a = ('\n\n## Kept", "export const a = ('\n\n## Kept"},
		"export in a sentence":  {"export the table (as CSV\n\n## Kept", "export the table (as CSV\n\n## Kept"},
		"tags":                  {"<Card>in</Card> out", "in out"},
		"unclosed":              {"a < b and {c", "a < b and {c"},
		"labels":                {`<Steps><Step title="First" /></Steps>`, "**First**"},
		"link":                  {`<Card title="Go" href="/x" description="d" />`, "[Go](/x): d"},
		"picture":               {`<img src={require('./a.png').default} alt="A" />`, "![A](./a.png)"},
		"HTML stays":            {`<details><summary>x</summary></details>`, `<details><summary>x</summary></details>`},
		"style":                 {"<style>\na {}\n</style>b", "\n\nb"},
		"expression":            {`{"text"} {props.x} {/* gone */}.`, "text {props.x} ."},
		"id in a comment":       {"## A {/* #b */}", "## A {#b}"},
		"fence":                 {"```jsx\n<A>{b}</A>\n```\n<A>b</A>", "```jsx\n<A>{b}</A>\n```\nb"},
		"escaped":               {`\<A> \{b}`, `\<A> \{b}`},
		"braces in attributes":  {"<A b={{c: '}'}} d={() => { return \"}\" }}>e</A>", "e"},
		"children are dedented": {"<A>\n    text\n\n    - item\n      more\n</A>", "\ntext\n\n- item\n  more\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := cleaner{jsx: true, modules: true}
			if got := c.clean(test.in); got != test.want {
				t.Errorf("clean(%q) = %q, want %q", test.in, got, test.want)
			}
		})
	}
}

func TestFrontMatter(t *testing.T) {
	tests := map[string]struct {
		text  string
		title string
		body  string
		lines int
		err   int // the line
	}{
		"YAML":            {"---\ntitle: A\n---\nb", "A", "b", 3, 0},
		"YAML in Windows": {"---\r\ntitle: A\r\n---\r\nb", "A", "b", 3, 0},
		"TOML":            {"+++\ntitle = 'A'\n+++\nb", "A", "b", 3, 0},
		"JSON":            {"{\n\"title\": \"A\"\n}\nb", "A", "b", 3, 0},
		"empty":           {"---\n---\nb", "", "b", 2, 0},
		"none":            {"b", "", "b", 0, 0},
		"a rule":          {"---\nb", "", "---\nb", 0, 0},
		"a number":        {"---\ntitle: 2.0\n---\n", "2", "", 3, 0},
		"broken YAML":     {"---\na: b\ntitle: [\n---\nb", "", "b", 4, 3},
		"prose":           {"---\n\n# Rule\n\nA *b*.\n\n---\nb", "", "---\n\n# Rule\n\nA *b*.\n\n---\nb", 0, 1},
		"a list":          {"---\n- a\n---\nb", "", "---\n- a\n---\nb", 0, 1},
		"prose and names": {"---\nText: `a`.\ntitle: A\n---\nb", "A", "b", 4, 1},
		"names in prose":  {"---\nText, `a`.\ntitle: A\n---\nb", "A", "---\nText, `a`.\ntitle: A\n---\nb", 0, 1},
		"broken TOML":     {"+++\na = 1\nb\n+++\nb", "", "b", 4, 3},
		"endless TOML":    {"+++\nb", "", "+++\nb", 0, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			values, body, lines, err := splitFrontMatter(test.text)
			line := 0
			if fe, ok := err.(*frontError); ok {
				line = fe.line
			}
			if got := readFront(values).title; got != test.title ||
				body != test.body ||
				lines != test.lines ||
				line != test.err {
				t.Errorf("got %q, %q, %d, %v", got, body, lines, err)
			}
		})
	}
}

func TestSummary(t *testing.T) {
	got := summary("# Summary\n\n- [A \\[x\\]](a.md)\n\t- [B](<b c.md>)\n- [C](c.md)\n")
	want := []navEntry{
		{title: "A [x]", ref: "a.md", line: 3, items: []navEntry{{title: "B", ref: "b c.md", line: 4}}},
		{title: "C", ref: "c.md", line: 5},
	}
	if diff := cmp.Diff(got, want, cmp.AllowUnexported(navEntry{})); diff != "" {
		t.Error(diff)
	}
}

// FuzzRead reads arbitrary documents together with arbitrary navigation files.
func FuzzRead(f *testing.F) {
	f.Add("page.mdx", "---\ntitle: a\n---\n# A {#b}\n<T a={b}>\n\n[x](y.md#z) ![i](j.png)\n\n```\ncode\n```\n</T>",
		"sidebars.js", "module.exports = {a: ['page', ...b]}")
	f.Add("a/index.md", "+++\n+++\nA\n=\n\n> ## b\n\n| a |\n|---|\n| [b](c) |", "mkdocs.yml", "nav:\n- a: [b, c: d]\n")
	f.Add("x.md", "<!-- a\n{{< b >}}\n`c", ".vitepress/config.ts",
		"export default defineConfig({themeConfig: {sidebar: [{text: 'a', items: f()}]}})")
	f.Add("x.md", "[a](b \\", "SUMMARY.md", "# S\n- [a](x.md)\n  - [b]()")
	f.Add("_index.md", "{\n}", "hugo.toml", "title = 'a'")
	fuzzbound.Fuzz(f, func(t *testing.T, name, text, navigation, nav string) {
		if len(text)+len(nav) > 1<<16 {
			return
		}
		files := fstest.MapFS{"known.md": {Data: []byte("# Known\n")}}
		for _, file := range []struct{ name, text string }{{name, text}, {navigation, nav}} {
			if clean := strings.Trim(file.name, "/"); len(clean) < 100 && validPath(clean) {
				files[clean] = &fstest.MapFile{Data: []byte(file.text)}
			}
		}
		set, err := Read(t.Context(), files, "x", nil)
		if err != nil {
			return
		}
		for _, p := range set.Pages {
			end := 0
			for i, s := range p.Sections {
				if s.Start < end || s.End < s.Start || s.End > len(p.Body) {
					t.Fatalf("section %d of %q is %d to %d of %d", i, p.Body, s.Start, s.End, len(p.Body))
				}
				end = s.End
			}
			if utf8.ValidString(text) && !utf8.ValidString(p.Body) {
				t.Errorf("%q became %q", text, p.Body)
			}
			for _, part := range split(p.Body, 64) {
				if len(part) > 200 {
					t.Errorf("a part of %d bytes", len(part))
				}
			}
		}
		if _, err := set.Site(t.Context(), nil); err != nil {
			t.Error(err)
		}
	})
}

// validPath reports whether a file can be created in a tree with the others.
func validPath(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." || part == "known.md" {
			return false
		}
	}
	return name != ""
}

func TestUntabled(t *testing.T) {
	for in, want := range map[string]string{
		"a | b":                               "a | b",
		"| a | b |\n| --- | :-: |\n| c | d |": "a   b\nc   d\n",
		"Text\na | b\n--|--\nc | d":           "Text\na   b\nc   d\n",
		"a\n---":                              "a\n---",
	} {
		var b bytes.Buffer
		b.WriteString(in)
		untabled(&b)
		if got := b.String(); got != want {
			t.Errorf("untabled(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestRowsStandAlone verifies that unclosed markup in one row of a table does not affect
// the next.
func TestRowsStandAlone(t *testing.T) {
	set, err := Read(t.Context(), fstest.MapFS{
		"a.md": {
			Data: []byte(
				"| a | b |\n| --- | --- |\n| ` | x |\n| [b](b.md) | <a id=\"here\"></a> |\n| ` | `[c](b.md)` |\n\n[here](#here)\n"),
		},
		"b.md": {Data: []byte("# B\n")},
	}, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if body := set.Page("a").Body; !strings.Contains(body, "[b](docs://b)") || !strings.Contains(body, "`[c](b.md)`") {
		t.Errorf("got %s", body)
	}
	if found := ruletest.Findings(&set.Report); len(found) > 0 {
		t.Errorf("got %v", found)
	}
}
