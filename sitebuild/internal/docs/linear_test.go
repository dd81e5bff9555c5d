package docs

import (
	"testing"
	"testing/fstest"

	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
	"github.com/slipway-mcp/slipway/internal/test/race"
)

// TestLinear verifies linear time for documents and navigation files with repeated
// fragments.
func TestLinear(t *testing.T) {
	race.SkipLong(t)
	same := func(text string) string { return text }
	tests := []struct {
		file string
		wrap func(text string) string
	}{
		{"page.md", same},
		{"page.mdx", same},
		{"front.md", func(text string) string { return "---\ntitle: a\nx: " + text + "\n---\n# A\n" }},
		{"front.toml.md", func(text string) string { return "+++\ntitle = 'a'\nx = " + text + "\n+++\n# A\n" }},
		{"table.md", func(text string) string { return "| a |\n| - |\n| " + text }},
		{"sidebars.js", func(text string) string { return "module.exports = {a: [" + text + "]}" }},
		{"docusaurus.config.js", same},
		{".vitepress/config.ts", func(text string) string {
			return "export default defineConfig({themeConfig: {sidebar: [{text: " + text + "}]}})"
		}},
		{".vitepress/config.mts", func(text string) string { return "const a = " + text + "\nexport default {a}" }},
		{"mkdocs.yml", same},
		{"mkdocs.yml", func(text string) string { return "nav:\n- a: " + text }},
		{"SUMMARY.md", func(text string) string { return "# Summary\n\n" + text }},
		{"book.toml", same},
		{"hugo.toml", func(text string) string { return "title = " + text }},
		{"known/_category_.json", same},
	}
	for _, test := range tests {
		t.Run(test.file, func(t *testing.T) {
			fuzzbound.Linear(t, test.wrap, func(text string) { buildText(t, test.file, text) })
		})
	}
}

// TestLinearFindings reads documents with a great many headings, findings and entries,
// each of which needs its position.
func TestLinearFindings(t *testing.T) {
	race.SkipLong(t)
	tests := []struct {
		file, fragment string
		wrap           func(text string) string
	}{
		{"page.md", "## a\nb\n\n", func(text string) string { return "# A\n\n" + text }},
		{"page.md", "[a](b.md)\n\n", func(text string) string { return "# A\n\n" + text }},
		{"page.mdx", "import a,\n", func(text string) string { return text }},
		{"page.mdx", "import * as a from /*\n", func(text string) string { return text }},
		{"page.mdx", "<A/>", func(text string) string { return "import A from './known.md'\n\nx " + text }},
		{"page.mdx", "<A", func(text string) string { return "import A from './known.md'\n\nx " + text }},
		{"page.mdx", "{/*<A/>", func(text string) string { return "import A from './known.md'\n\nx " + text }},
		{"sidebars.js", "'a',\nb(),\n", func(text string) string { return "module.exports = {a: [" + text + "]}" }},
		{".vitepress/config.ts", "{text: 'a', link: b()},\n", func(text string) string {
			return "export default {themeConfig: {sidebar: [" + text + "]}}"
		}},
	}
	for _, test := range tests {
		t.Run(test.file, func(t *testing.T) {
			fuzzbound.LinearFrom(t, 128<<10, test.fragment, test.wrap, func(text string) { buildText(t, test.file, text) })
		})
	}
}

// buildText builds a site from a file and others, if it can be read.
func buildText(t *testing.T, file, text string) {
	t.Helper()
	files := fstest.MapFS{"known.md": {Data: []byte("# Known\n")}, "known/a.md": {Data: []byte("# A\n")}}
	files[file] = &fstest.MapFile{Data: []byte(text)}
	set, err := Read(t.Context(), files, "x", nil)
	if err != nil {
		return
	}
	if _, err := set.Site(t.Context(), &Options{TermFiles: -1}); err != nil {
		t.Error(err)
	}
}
