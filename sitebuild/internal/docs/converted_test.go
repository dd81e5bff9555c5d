package docs_test

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/sitebuild/internal/docs"
)

// word returns a Word document with one paragraph.
func word(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, err := w.Create("word/document.xml")
	if err == nil {
		_, err = f.Write([]byte(`<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">` +
			`<w:body><w:p><w:r><w:t>` + text + `</w:t></w:r></w:p></w:body></w:document>`))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

const notebook = `{"nbformat": 4, "cells": [{"cell_type": "markdown", "source": ` +
	`"# Plots\n\nSee [the start](start.md#first) and [policy](office-policy.docx).\n\n## Two lines\n"}]}`

// ids returns the paths of pages.
func ids(set *docs.Set) string {
	var list []string
	for _, p := range set.Pages {
		list = append(list, p.ID)
	}
	return strings.Join(list, " ")
}

func TestConverted(t *testing.T) {
	set, err := docs.Read(t.Context(), rendered(map[string]string{
		"start.md":                        "# Start\n\nSee [plots](plots.ipynb#two-lines).\n\n## First\n",
		"plots.ipynb":                     notebook,
		"office-policy.docx":              word(t, "Be kind."),
		".ipynb_checkpoints/plots.ipynb":  notebook,
		"broken.docx":                     "no zip",
		"~$fice-policy.docx":              "lock file of Word",
		"empty.ipynb":                     `{"nbformat": 4, "cells": []}`,
		"pictures/embedded-in-text.ipynb": `{"nbformat": 4, "cells": []}`,
	}), "docs", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := ids(set); got != "office-policy plots start" {
		t.Errorf("pages %s", got)
	}
	if got := set.Page("office-policy"); got.Title != "office policy" || !strings.Contains(got.Body, "Be kind.") {
		t.Errorf("the Word document is %q:\n%s", got.Title, got.Body)
	}
	plots := set.Page("plots")
	want := "See [the start](docs://start#first) and [policy](docs://office-policy)."
	if plots.Title != "Plots" || len(plots.Sections) != 2 || !strings.Contains(plots.Body, want) {
		t.Errorf("the notebook is %q with %d sections:\n%s", plots.Title, len(plots.Sections), plots.Body)
	}
	if start := set.Page("start"); !strings.Contains(start.Body, "[plots](docs://plots#two-lines)") {
		t.Errorf("the link to the notebook:\n%s", start.Body)
	}
	found := ruletest.Findings(&set.Report)
	if len(found) != 1 || found[0].Rule.ID != "docs/unreadable" || found[0].File != "docs/broken.docx" {
		t.Errorf("findings %v", found)
	}
}

// A generator's project has Word documents as downloads, and a rendered site has the
// notebooks too, from which its pages were made.
func TestConvertedDownloads(t *testing.T) {
	tests := []struct{ name, file, page, want string }{
		{"MkDocs", "mkdocs.yml", "docs/index.md", "home a"},
		{"rendered", "index.html", "b.html", "home b"},
	}
	for _, test := range tests {
		folder := rendered(map[string]string{
			test.file:      "site_name: Manual\n",
			test.page:      "# B\n",
			"docs/a.ipynb": notebook,
			"docs/b.docx":  word(t, "text"),
		})
		if test.name == "rendered" {
			folder["index.html"].Data = []byte("<main><h1>Manual</h1></main>")
			folder[test.page].Data = []byte("<main><h1>B</h1></main>")
		}
		set, err := docs.Read(t.Context(), folder, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := ids(set); got != test.want {
			t.Errorf("%s: pages %s, want %s", test.name, got, test.want)
		}
	}
}

func TestOneFileOfEachForm(t *testing.T) {
	for name, text := range map[string]string{
		"search.html": "<main><h1>Title</h1><p>Text.</p></main>", // a name that a generator's folder would not show
		"a.ipynb":     notebook,
		"a.docx":      word(t, "Title"),
		"a.MD":        "# Title\n",
	} {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if !docs.IsDocument(file) {
			t.Errorf("%s is not a document", name)
			continue
		}
		input, err := docs.OneFile(file, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := input.Site(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMissingProgram: without pdftotext, PDF is skipped with the command that installs it, and is
// not in the cache as a document without text.
func TestMissingProgram(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	set, err := docs.Read(t.Context(), rendered(map[string]string{
		"start.md":   "# Start\n\nSee [the manual](manual.pdf).\n",
		"manual.pdf": "%PDF-1.4",
	}), "docs", nil)
	if err != nil {
		t.Fatal(err)
	}
	found := ruletest.Findings(&set.Report)
	if got := ids(set); got != "start" || len(found) == 0 || found[0].Rule.ID != "docs/unreadable" ||
		found[0].File != "docs/manual.pdf" || !strings.Contains(found[0].Message, "pdftotext is not installed") ||
		!strings.Contains(found[0].Hint, "install") {
		t.Errorf("pages %s, findings %v", got, found)
	}
}

// TestRenderedWithPDF: beside rendered pages, PDF is a download.
func TestRenderedWithPDF(t *testing.T) {
	set, err := docs.Read(t.Context(), rendered(map[string]string{
		"guide/a.html":     "<title>A</title><main><h1>A</h1><p>See it.</p></main>",
		"guide/manual.pdf": "%PDF-1.4",
	}), "docs", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := ids(set); got != "guide/a" || len(ruletest.Findings(&set.Report)) > 0 {
		t.Errorf("pages %s, findings %v", got, ruletest.Findings(&set.Report))
	}
}
