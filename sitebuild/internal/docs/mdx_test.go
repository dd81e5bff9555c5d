package docs_test

import (
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/internal/test/sitetest"
	"github.com/slipway-mcp/slipway/sitebuild/internal/docs"
)

// readFolder reads a folder with these files.
func readFolder(t *testing.T, files map[string]string, opts *docs.Options) *docs.Set {
	t.Helper()
	in, err := docs.Dir(sitetest.Folder(t, files), opts)
	if err != nil {
		t.Fatal(err)
	}
	set, err := in.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// reported returns the findings of a set, one a line, by the paths of files below its folder.
func reported(set *docs.Set) string {
	var b strings.Builder
	for _, f := range ruletest.Findings(&set.Report) {
		_, file, found := strings.Cut(f.File, "/001/")
		if found {
			f.File = file
		}
		b.WriteString(f.String() + "\n")
	}
	return b.String()
}

// bodyOf returns the text of a page.
func bodyOf(t *testing.T, set *docs.Set, id string) string {
	t.Helper()
	for _, p := range set.Pages {
		if p.ID == id {
			return p.Body
		}
	}
	t.Fatalf("no page %q", id)
	return ""
}

// An import or export ends where JavaScript says, and one without an end loses no text.
func TestModuleStatements(t *testing.T) {
	set := readFolder(t, map[string]string{
		"docusaurus.config.js": "export default {title: 'Kit'}",
		"docs/index.mdx": "import {\n  A,\n} from './y';\nexport const smile = ':-(';\nexport const r = /\\(/;\n\n" +
			"# Kit\n\n## After a string\n\nText.\n",
		"docs/open.mdx": "# Open\n\nexport const a = ('\n\n## After an open string\n\nText.\n",
		"docs/prose.md": "# Prose\n\nexport the table (as CSV\n\n## After prose\n\nText.\n",
	}, nil)
	for id, want := range map[string]string{
		"home":  "# Kit\n\n## After a string\n\nText.\n",
		"open":  "# Open\n\nexport const a = ('\n\n## After an open string\n\nText.\n",
		"prose": "# Prose\n\nexport the table (as CSV\n\n## After prose\n\nText.\n",
	} {
		if got := strings.TrimLeft(bodyOf(t, set, id), "\n"); got != want {
			t.Errorf("%s: got %q, want %q", id, got, want)
		}
	}
	want := "docs/open.mdx:3: warning: an import or export has no end; its text is kept on the page [docs/statement]\n"
	if got := reported(set); got != want {
		t.Errorf("got findings\n%swant\n%s", got, want)
	}
}

// A document that another one imports is part of it, with its own links and properties.
func TestPartials(t *testing.T) {
	files := map[string]string{
		"docusaurus.config.js": "export default {title: 'Kit'}",
		"docs/guide/index.mdx": "import Part from '../_parts/_part.mdx';\nimport Site from '@site/docs/_parts/_site.md'\n" +
			"import Gone from './_gone.mdx'\n\n# Guide\n\n<Part\n  name=\"Larder\"\n/>\n\n- one\n\n  <Site />\n\n" +
			"`<Part />` and {/* <Part /> */}.\n\n```jsx\n<Part />\n```\n\n<Gone />\n\nSee [nothing](nothing.md).\n",
		"docs/_parts/_part.mdx": "---\ntitle: Part\n---\nimport Inner from './_inner.mdx';\n\n## Install {props.name}\n\n" +
			"See [the others](../other.md#a).\n\n<Inner />\n",
		"docs/_parts/_inner.mdx": "export const a = '(';\n\nInner text.\n",
		"docs/_parts/_site.md":   "Text of the site.\n\n    code\n",
		"docs/other.md":          "# Other\n\n## A\n\nText.\n",
	}
	want := "# Guide\n\n## Install Larder\n\nSee [the others](docs://other#a).\n\nInner text.\n\n- one\n\n" +
		"  Text of the site.\n\n      code\n\n`<Part />` and .\n\n```jsx\n<Part />\n```\n\nSee [nothing](nothing.md).\n"
	findings := "docs/guide/index.mdx:21: warning: ./_gone.mdx is not included: it is not in the folder, or too large" +
		` [docs/include]
docs/guide/index.mdx:23: warning: the link to nothing.md matches no page in the folder [docs/broken-link]
`
	set := readFolder(t, files, nil)
	got := strings.TrimLeft(bodyOf(t, set, "guide"), "\n")
	for strings.Contains(got, "\n\n\n") {
		got = strings.ReplaceAll(got, "\n\n\n", "\n\n")
	}
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := reported(set); got != findings {
		t.Errorf("got findings\n%swant\n%s", got, findings)
	}
}

// A partial of one paragraph within a line is part of that line; others are blocks.
func TestPartialsWithinLines(t *testing.T) {
	set := readFolder(t, map[string]string{
		"docusaurus.config.js": "export default {title: 'Kit'}",
		"docs/index.mdx": "import Part from './_part.mdx';\nimport List from './_list.mdx';\n\n# Kit\n\n" +
			"| A | B |\n| --- | --- |\n| <Part /> | x |\n| y | <Part\n/> |\n\n- <Part />\n- It says: <Part /> And <Part />\n\n" +
			"<Tabs><TabItem value=\"a\"><Part /></TabItem></Tabs>\n\nThe list: <List />\n",
		"docs/_part.mdx": "---\ntitle: Part\n---\nA short\n  [text](other.md).\n",
		"docs/_list.mdx": "- one\n- two\n",
		"docs/other.md":  "# Other\n\nText.\n",
	}, nil)
	part := "A short [text](docs://other)."
	want := "# Kit\n\n| A | B |\n| --- | --- |\n| " + part + " | x |\n| y | " + part + " |\n\n" +
		"- " + part + "\n- It says: " + part + " And " + part + "\n\n" +
		"**a**\n\n" + strings.Replace(part, "short ", "short\n  ", 1) + "\n\nThe list: \n\n- one\n- two\n"
	if got := squeezed(strings.TrimLeft(bodyOf(t, set, "home"), "\n")); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The properties of a partial are replaced once, in any order, and count towards its size.
func TestPartialProperties(t *testing.T) {
	chain := ""
	for _, name := range []string{"ab", "bc", "cd", "de", "ef", "fg", "gh", "ha"} {
		chain += " " + name[:1] + "=\"" + name[:1] + " {props." + name[1:] + "}\""
	}
	spaces := strings.Repeat(" ", 10_000)
	set := readFolder(t, map[string]string{
		"docusaurus.config.js": "export default {title: 'Kit'}",
		"docs/chain.mdx":       "import Part from './_part.mdx';\n\n# Chain\n\n<Part" + chain + " />\n",
		"docs/_part.mdx":       "{props.a}, {props.b}, {props.c}, {props.d}, {props.e}, {props.f}, {props.g}, {props.h}.\n",
		"docs/large.mdx": "import Part from './_many.mdx';\n\n# Large\n\n<Part a=\"" + strings.Repeat("a", 10_000) +
			"\" />\n\nAfter.\n",
		"docs/_many.mdx":  strings.Repeat("{props.a}\n", 1000),
		"docs/indent.mdx": "import Part from './_lines.mdx';\n\n# Indent\n\n" + spaces + "<Part />\n\nAfter.\n",
		"docs/_lines.mdx": strings.Repeat("Text.\n", 1000),
	}, nil)
	if got, want := bodyOf(t, set, "chain"), "a {props.b}, b {props.c}, c {props.d}, d {props.e}, e {props.f}, "+
		"f {props.g}, g {props.h}, h {props.a}.\n"; !strings.HasSuffix(got, "\n\n"+want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := squeezed(bodyOf(t, set, "large")), "# Large\n\nAfter.\n"; got != want {
		t.Errorf("got %d bytes, want %q", len(got), want)
	}
	if got := bodyOf(t, set, "indent"); len(got) > 100_000 || !strings.Contains(got, "Text.") {
		t.Errorf("got %d bytes", len(got))
	}
	want := "docs/large.mdx:5: warning: ./_many.mdx is not included: it is not in the folder, or too large " +
		"[docs/include]\n"
	if got := reported(set); got != want {
		t.Errorf("got findings\n%swant\n%s", got, want)
	}
}
