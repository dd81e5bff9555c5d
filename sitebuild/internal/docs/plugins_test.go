package docs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/sitebuild/internal/docs"
)

// Text of extensions of MkDocs is on the page, or a finding names the plugin that writes it; pages have
// none of its syntax.
func TestMkDocsPlugins(t *testing.T) {
	set := readFolder(t, map[string]string{
		"mkdocs.yml": "site_name: K\nplugins:\n  - search\n  - include-markdown\n  - mkdocstrings:\n      handlers: {}\n" +
			"  - macros\nmarkdown_extensions:\n  - toc\n  - pymdownx.snippets:\n      base_path: [parts, docs]\n",
		"docs/index.md": "# K\n\n=== \"Tab\"\n\n    --8<-- \"a.md\"\n\n--8<--\na.md\n; b.md\n'sub/c.md'\n--8<--\n\n" +
			"{%\n  include-markdown \"../README.md\"\n  start=\"<!--start-->\"\n  end='<!--end-->'\n%}\n\n" +
			"--8<-- \"gone.md\"\n",
		"docs/api.md": "# API\n\n::: kit.Kettle\n    options:\n      show_root: true\n\n    handler: python\n\nAfter.\n\n" +
			"```\n::: kit.Kettle\n```\n",
		"docs/macro.md": "# Macro {{ version }}\n\n{% if a %}\nText {{ x }}.\n{% endif %}\n\n" +
			"{% raw %}{{ kept }}{% endraw %}\n",
		"parts/a.md":     "Part A.\n\nMore.\n",
		"parts/sub/c.md": "Part C.\n",
		"README.md":      "# Readme\n\n<!--start-->\nFrom [the readme](docs/api.md).\n<!--end-->\nNot this.\n",
	}, nil)
	for id, want := range map[string]string{
		"home": "# K\n\n=== \"Tab\"\n\n    Part A.\n\n    More.\n\nPart A.\n\nMore.\nPart C.\n\n\n\n" +
			"From [the readme](docs://api).\n\n\n\n--8<-- \"gone.md\"\n",
		"api":   "# API\n\n\n\n\n\n\n\nAfter.\n\n```\n::: kit.Kettle\n```\n",
		"macro": "# Macro \n\n\nText .\n\n\n{{ kept }}\n",
	} {
		if got := bodyOf(t, set, id); squeezed(got) != squeezed(want) {
			t.Errorf("%s: got %q, want %q", id, got, want)
		}
	}
	want := "docs/api.md: warning: what the plugin mkdocstrings writes is missing, on this and all other pages that use " +
		"it: 1 [docs/plugin]\n" +
		"docs/index.md:19: warning: gone.md is not included: it is not in the folder, or too large [docs/include]\n" +
		"docs/macro.md: warning: what the plugin macros writes is missing, on this and all other pages that use it: 1 " +
		"[docs/plugin]\n"
	if got := reported(set); got != want {
		t.Errorf("got findings\n%swant\n%s", got, want)
	}
}

// squeezed returns text with runs of empty lines as one.
func squeezed(text string) string {
	for strings.Contains(text, "\n\n\n") {
		text = strings.ReplaceAll(text, "\n\n\n", "\n\n")
	}
	return text
}

// Pages from the cache and patches of a site report the plugins whose parts are missing as the first
// build does.
func TestMkDocsPluginsCached(t *testing.T) {
	defer docs.SetMaxFull(10_000)()
	r := newRefreshed(t, sitewriter.Packed)
	r.put("../mkdocs.yml", "site_name: K\nplugins:\n  - macros\n  - mkdocstrings\n")
	r.put("part01/p1.md", r.get("part01/p1.md")+"\n::: kit.Kettle\n")
	r.age()
	at := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(r.dir, "mkdocs.yml"), at, at); err != nil {
		t.Fatal(err)
	}
	r.compare("the first build")
	r.compare("without a change")
	for _, step := range []struct{ name, with string }{
		{"part02/long.md", "\nA sentence.\n"},
		{"part02/long.md", "\n::: kit.Spout\n"},
		{"part02/long.md", "\nAnother sentence.\n"},
		{"index.md", "\nThe version {{ version }}.\n"},
		{"new.md", "# New\n\nText.\n"},
	} {
		before := ""
		if step.name != "new.md" {
			before = r.get(step.name)
		}
		r.put(step.name, before+step.with)
		r.compare(step.with + " in " + step.name)
	}
	if r.patches == 0 {
		t.Error("no build was a patch")
	}
	r.put("part02/long.md", strings.Replace(r.get("part02/long.md"), "::: kit.Spout\n", "", 1))
	r.compare("without the object")
}
