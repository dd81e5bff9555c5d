package convert

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
	"github.com/slipway-mcp/slipway/sitebuild/internal/webpage"
)

const (
	limit     = 1 << 20
	wordSpace = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
	strict    = "http://purl.oclc.org/ooxml/wordprocessingml/main"
)

// pack returns a zip file.
func pack(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, text := range files {
		f, err := w.Create(name)
		if err == nil {
			_, err = f.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// docx returns a Word document with some styles, two lists, a link and a note.
func docx(t testing.TB, space, body string) []byte {
	open := func(name, text string) string {
		return `<?xml version="1.0"?><w:` + name + ` xmlns:w="` + space +
			`" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"` +
			` xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"` +
			` xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"` +
			` xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing">` + text +
			`</w:` + name + `>`
	}
	const relation = `http://schemas.openxmlformats.org/officeDocument/2006/relationships/`
	style := func(id, name, more string) string {
		return `<w:style w:styleId="` + id + `"><w:name w:val="` + name + `"/>` + more + `</w:style>`
	}
	return pack(t, map[string]string{
		"_rels/.rels": `<Relationships><Relationship Id="a" Type="` + relation +
			`officeDocument" Target="/word/document.xml"/></Relationships>`,
		"word/_rels/document.xml.rels": `<Relationships>
			<Relationship Id="s" Type="` + relation + `styles" Target="styles.xml"/>
			<Relationship Id="n" Type="` + relation + `numbering" Target="numbering.xml"/>
			<Relationship Id="f" Type="` + relation + `footnotes" Target="footnotes.xml"/>
			<Relationship Id="web" Type="` + relation + `hyperlink" Target="https://example.com/a" TargetMode="External"/>
			<Relationship Id="bad" Type="` + relation + `hyperlink" Target="javascript:alert(1)" TargetMode="External"/>
			</Relationships>`,
		"word/styles.xml": open("styles",
			style("Ttl", "Title", "")+style("H1", "heading 1", "")+style("H2", "heading 2", `<w:basedOn w:val="H1"/>`)+
				style("Own", "My Section", `<w:basedOn w:val="H2"/>`)+
				style("Loop", "loop", `<w:basedOn w:val="Loop2"/>`)+style("Loop2", "loop2", `<w:basedOn w:val="Loop"/>`)+
				style("Src", "Source Code", "")+style("Q", "Quote", "")+style("T1", "toc 1", "")+
				style("Em", "Emphasis", `<w:rPr><w:i/></w:rPr>`)+style("Verb", "Verbatim Char", "")),
		"word/numbering.xml": open("numbering",
			`<w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/></w:lvl>`+
				`<w:lvl w:ilvl="1"><w:numFmt w:val="bullet"/></w:lvl></w:abstractNum>`+
				`<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>`+
				`<w:num w:numId="2"><w:abstractNumId w:val="0"/></w:num>`+
				`<w:num w:numId="3"><w:abstractNumId w:val="0"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="7"/>`+
				`</w:lvlOverride></w:num>`),
		"word/footnotes.xml": open("footnotes", `<w:footnote w:type="separator" w:id="0"><w:p/></w:footnote>`+
			`<w:footnote w:id="1"><w:p><w:r><w:t>A note.</w:t></w:r></w:p></w:footnote>`),
		"word/document.xml": open("document", `<w:body>`+body+`</w:body>`),
		"docProps/core.xml": `<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/` +
			`core-properties" xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>The &amp; manual</dc:title>` +
			`<dc:description>What it says.</dc:description></cp:coreProperties>`,
	})
}

// p returns a paragraph of a style, or of none.
func p(style, content string) string {
	if style != "" {
		style = `<w:pPr><w:pStyle w:val="` + style + `"/></w:pPr>`
	}
	return `<w:p>` + style + content + `</w:p>`
}

// run returns text with properties.
func run(text, properties string) string {
	return `<w:r><w:rPr>` + properties + `</w:rPr><w:t xml:space="preserve">` + text + `</w:t></w:r>`
}

// item returns an item of a list.
func item(list, level, text string) string {
	return `<w:p><w:pPr><w:numPr><w:ilvl w:val="` + level + `"/><w:numId w:val="` + list + `"/></w:numPr></w:pPr>` +
		run(text, "") + `</w:p>`
}

// cell returns a cell of a table.
func tc(properties, text string) string {
	return `<w:tc><w:tcPr>` + properties + `</w:tcPr>` + p("", run(text, "")) + `</w:tc>`
}

func TestWord(t *testing.T) {
	h1 := p("H1", run("One", ""))
	tests := []struct{ name, body, want string }{
		{"a title and headings", p("Ttl", run("Guide", "")) + h1 + p("H2", run("Two", "<w:b/>")) + p("Own", run("Three", "")),
			"# Guide\n\n## One\n\n### Two\n\n### Three"},
		{"one main heading is the title", h1 + p("H2", run("Two", "")), "# One\n\n## Two"},
		{"several chapters have the title of the file", h1 + h1, "# The & manual\n\n## One\n\n## One"},
		{"a style based on itself", h1 + p("Loop", run("text", "")), "# One\n\ntext"},
		{"formats", h1 + p("", run("plain ", "")+run("bo", "<w:b/>")+run("ld", "<w:b/>")+run(" and ", "")+
			run("italic", "<w:i/>")+run(" ", "")+run("gone", "<w:strike/>")+run(" x", "")+
			run("2", `<w:vertAlign w:val="superscript"/>`)+run(" not", `<w:b w:val="0"/>`)+
			run(" styled", `<w:rStyle w:val="Em"/>`)),
			"# One\n\nplain **bold** and *italic* ~~gone~~ x^2 not *styled*"},
		{"what Markdown would read as markup", h1 + p("", run("# a *b* [c] &lt;d&gt; _e_", "")),
			"# One\n\n\\# a \\*b\\* \\[c\\] \\<d> \\_e\\_"},
		{"code", h1 + p("Src", run("if a {", "")+`<w:r><w:br/><w:tab/><w:t>b</w:t></w:r>`) + p("Src", run("}", "")) +
			p("", run("call ", "")+run("f(x)", `<w:rFonts w:ascii="Consolas"/>`)),
			"# One\n\n```\nif a {\n\tb\n}\n```\n\ncall `f(x)`"},
		{"a paragraph in a font for code", h1 + p("", run("make all", `<w:rFonts w:ascii="Courier New"/>`)),
			"# One\n\n```\nmake all\n```"},
		{"lists", h1 + item("1", "0", "a") + item("1", "1", "b") + item("1", "0", "c") + p("", run("between", "")) +
			item("2", "0", "d") + p("", run("again", "")) + item("3", "0", "e"),
			"# One\n\n1. a\n\n   - b\n\n2. c\n\nbetween\n\n3. d\n\nagain\n\n7. e"},
		{"a list of an unknown number is text", h1 + item("9", "0", "a"), "# One\n\na"},
		{"links", h1 + p("", `<w:hyperlink r:id="web">`+run("site", "")+`</w:hyperlink>`+run(" ", "")+
			`<w:hyperlink w:anchor="mark">`+run("below", "")+`</w:hyperlink>`+run(" ", "")+
			`<w:hyperlink r:id="bad">`+run("script", "")+`</w:hyperlink>`) +
			p("H2", `<w:bookmarkStart w:id="1" w:name="mark"/>`+run("Two", "")),
			"# One\n\n[site](https://example.com/a) [below](#mark) script\n\n## Two"},
		{"a link as a field", h1 + p("", `<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>HYPERLINK `+
			`"https://example.com/b" \o "tip"</w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r>`+
			run("field", "")+`<w:r><w:fldChar w:fldCharType="end"/></w:r>`+run(" after", "")),
			"# One\n\n[field](https://example.com/b) after"},
		{"what was deleted, moved away, or is hidden", h1 + p("", run("kept", "")+`<w:del>`+
			`<w:r><w:delText>deleted</w:delText></w:r></w:del><w:moveFrom>`+run("moved", "")+`</w:moveFrom><w:ins>`+
			run(" new", "")+`</w:ins>`+run("hidden", "<w:vanish/>")),
			"# One\n\nkept new"},
		{"a table of contents", p("T1", run("One ..... 2", "")) + `<w:sdt><w:sdtPr><w:docPartObj>` +
			`<w:docPartGallery w:val="Table of Contents"/></w:docPartObj></w:sdtPr><w:sdtContent>` +
			p("", run("Contents", "")) + `</w:sdtContent></w:sdt>` + h1, "# One"},
		{"a table with merged cells", h1 + `<w:tbl><w:tr>` + tc("", "A") + tc("", "B") + tc("", "C") + `</w:tr><w:tr>` +
			tc(`<w:vMerge w:val="restart"/>`, "tall") + tc(`<w:gridSpan w:val="2"/>`, "wide") + `</w:tr><w:tr>` +
			tc(`<w:vMerge/>`, "") + tc("", "x|y") + tc("", "z") + `</w:tr></w:tbl>`,
			"# One\n\n| A | B | C |\n| --- | --- | --- |\n| tall | wide |  |\n| tall | x\\|y | z |"},
		{"a quote", h1 + p("Q", run("said", "")), "# One\n\n> said"},
		{"a note", h1 + p("", run("Text.", "")+`<w:r><w:footnoteReference w:id="1"/></w:r>`),
			"# One\n\nText.^1\n\n**Notes**\n\n1. A note."},
		{"a picture is its description", h1 + p("", `<w:r><w:drawing><wp:inline><wp:docPr id="1" name="x" `+
			`descr="A &quot;cat&quot;"/></wp:inline></w:drawing></w:r>`), "# One\n\nA \"cat\""},
		{"a text box once", h1 + p("", run("before", "")+`<w:r><mc:AlternateContent><mc:Choice><w:drawing>`+
			`<w:txbxContent>`+p("", run("boxed", ""))+`</w:txbxContent></w:drawing></mc:Choice><mc:Fallback><w:pict>`+
			`<w:txbxContent>`+p("", run("boxed", ""))+`</w:txbxContent></w:pict></mc:Fallback></mc:AlternateContent></w:r>`),
			"# One\n\nbefore\n\nboxed"},
		{"a large first letter", h1 + `<w:p><w:pPr><w:framePr w:dropCap="drop"/></w:pPr>` + run("O", "") + `</w:p>` +
			p("", run("nce", "")), "# One\n\nOnce"},
		{"a formula", h1 + p("", run("so ", "")+`<m:oMath><m:f><m:num><m:r><m:t>a+b</m:t></m:r></m:num><m:den><m:sSup>`+
			`<m:e><m:r><m:t>x</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup></m:den></m:f></m:oMath>`),
			"# One\n\nso `(a+b)/(x^2)`"},
	}
	for _, test := range tests {
		for _, space := range []string{wordSpace, strict} {
			t.Run(test.name, func(t *testing.T) {
				d, err := Read(t.Context(), "my_manual.docx", docx(t, space, test.body), limit)
				if err != nil {
					t.Fatal(err)
				}
				page, err := webpage.Read([]byte(d.HTML))
				if err != nil {
					t.Fatal(err)
				}
				if got := strings.TrimSpace(page.Markdown); got != test.want {
					t.Errorf("the Markdown is\n%s\nwant\n%s\nfrom\n%s", got, test.want, d.HTML)
				}
				if page.Description != "What it says." {
					t.Errorf("the description is %q", page.Description)
				}
			})
		}
	}
}

func TestWordWithoutText(t *testing.T) {
	d, err := Read(t.Context(), "a.docx", docx(t, wordSpace, p("", "")), limit)
	if err != nil || d.HTML != "" || d.Markdown != "" {
		t.Errorf("got %+v, %v", d, err)
	}
}

func TestDamaged(t *testing.T) {
	long := strings.Repeat(p("", run(strings.Repeat("long ", 1000), "")), 300)
	deep := strings.Repeat("<w:ins>", 300) + strings.Repeat("</w:ins>", 300)
	tests := []struct {
		name, file string
		data       []byte
		want       string
	}{
		{"no zip", "a.docx", []byte("hello"), "it is not a Word document"},
		{"encrypted", "a.docx", []byte("\xd0\xcf\x11\xe0\xa1\xb1"), "without a password"},
		{"another zip", "a.docx", pack(t, map[string]string{"a.txt": "x"}), "it has no word/document.xml"},
		{"cut XML", "a.docx", docx(t, wordSpace, "<w:p>"), "word/document.xml: XML syntax error"},
		{"nested too deeply", "a.docx", docx(t, wordSpace, p("", deep)), "nested too deeply"},
		{"too much text", "a.docx", docx(t, wordSpace, long), "its text has more than 1048576 bytes"},
		{"too many elements", "a.docx", docx(t, wordSpace, "<w:p>"+strings.Repeat("<w:r/>", 600_000)+"</w:p>"),
			"more than 1000000 elements"},
		{"a bomb", "a.docx", docx(t, wordSpace, "<!--"+strings.Repeat(" ", 5<<20)+"-->"), "word/document.xml: "},
		{"no JSON", "a.ipynb", []byte("{"), "it is not a notebook"},
		{"another JSON", "a.ipynb", []byte(`{"cells": []}`), "nbformat is 0"},
		{"a notebook with too much text", "a.ipynb", []byte(`{"nbformat": 4, "cells": [` +
			`{"cell_type": "markdown", "source": "` + strings.Repeat("a", limit+1) + `"}]}`), "its text has more than"},
		{"another form", "a.odt", nil, "is not a notebook, a Word document or PDF"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d, err := Read(t.Context(), test.file, test.data, limit)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %.100v, %v; want an error with %q", d, err, test.want)
			}
		})
	}
}

func TestNotebook(t *testing.T) {
	type object = map[string]any
	code := func(source any, more object, outputs ...object) object {
		return object{"cell_type": "code", "source": source, "metadata": more, "outputs": outputs}
	}
	stream := func(text string) object { return object{"output_type": "stream", "text": text} }
	tests := []struct {
		name  string
		cells []object
		want  string
	}{
		{"text and code", []object{
			{"cell_type": "markdown", "source": []string{"# Plots\n", "\n", "Text ![p](attachment:p.png)."}},
			code([]string{"x = 1\n", "print(x)"}, nil, stream("1\n")),
		}, "# Plots\n\nText p.\n\n```julia\nx = 1\nprint(x)\n```\n\n```text\n1\n```\n\n"},
		{"outputs", []object{code("f", nil,
			object{"output_type": "execute_result", "data": object{
				"text/plain": []string{"   a\n", "0  1"}, "text/html": "<b>",
			}},
			object{"output_type": "display_data", "data": object{"image/png": "AAAA", "text/plain": "<Figure size 1x1>"}},
			object{"output_type": "display_data", "data": object{"text/markdown": "**m**", "text/plain": "m"}},
			object{"output_type": "error", "ename": "TypeError", "evalue": "\u001b[31mno\u001b[0m",
				"traceback": []string{"long"}},
			stream("10%\r100%\n"),
		)}, "```julia\nf\n```\n\n```text\n   a\n0  1\n```\n\n**m**\n\n```text\nTypeError: no\n```\n\n```text\n100%\n```\n\n"},
		{"hidden cells", []object{
			code("a", object{"tags": []string{"remove_cell"}}, stream("b")),
			code("c", object{"nbsphinx": "hidden"}),
			code("d", object{"tags": []string{"hide-input"}}, stream("e")),
			code("f", object{"tags": []string{"remove-output"}}, stream("g")),
		}, "```text\ne\n```\n\n```julia\nf\n```\n\n"},
		{"code that contains a fence", []object{code("'''\n```\n'''", nil)}, "````julia\n'''\n```\n'''\n````\n\n"},
		{"raw cells", []object{
			{"cell_type": "raw", "source": "kept", "metadata": object{}},
			{"cell_type": "raw", "source": "dropped", "metadata": object{"raw_mimetype": "text/latex"}},
		}, "kept\n\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			data, err := json.Marshal(object{"nbformat": 4, "cells": test.cells,
				"metadata": object{"language_info": object{"name": "julia"}}})
			if err != nil {
				t.Fatal(err)
			}
			d, err := Read(t.Context(), "my-plots.ipynb", data, limit)
			if err != nil {
				t.Fatal(err)
			}
			if d.Markdown != test.want {
				t.Errorf("the Markdown is\n%s\nwant\n%s", d.Markdown, test.want)
			}
			title := "my plots"
			if strings.HasPrefix(test.want, "# ") {
				title = ""
			}
			if d.Title != title {
				t.Errorf("the title is %q, want %q", d.Title, title)
			}
		})
	}
}

func TestLongOutputIsCut(t *testing.T) {
	line := strings.Repeat("x", 99) + "\n"
	got := cutOutput(strings.Repeat(line, 100))
	if len(got) > maxOutput+40 || !strings.HasSuffix(got, "\n[60 more lines]") {
		t.Errorf("%d bytes, ending in %q", len(got), got[len(got)-30:])
	}
}

func TestOlderNotebook(t *testing.T) {
	d, err := Read(t.Context(), "a.ipynb", []byte(`{"nbformat": 3, "metadata": {}, "worksheets": [{"cells": [
		{"cell_type": "heading", "level": 2, "source": ["Part"]},
		{"cell_type": "code", "language": "r", "input": ["1"],
			"outputs": [{"output_type": "pyout", "text": ["[1] 1"]}]}]}]}`),
		limit)
	if want := "## Part\n\n```r\n1\n```\n\n```text\n[1] 1\n```\n\n"; err != nil || d.Markdown != want {
		t.Errorf("got %+v, %v", d, err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add("a.docx", docx(f, wordSpace, p("H1", run("One", ""))+item("1", "0", "a")+"<w:tbl><w:tr>"+
		tc(`<w:gridSpan w:val="3"/>`, "x")+"</w:tr></w:tbl>"))
	f.Add("a.ipynb", []byte(`{"nbformat": 4, "cells": [{"cell_type": "code", "source": "a", "outputs": [{}]}]}`))
	fuzzbound.Fuzz(f, func(t *testing.T, name string, data []byte) {
		if programOf(name) != "" {
			return // another program reads it
		}
		if d, err := Read(t.Context(), name, data, 1<<16); err == nil && d.HTML != "" {
			if _, err := webpage.Read([]byte(d.HTML)); err != nil && !strings.Contains(err.Error(), "nest") {
				t.Error(err)
			}
		}
	})
}

// FuzzWord varies the text of a document, which FuzzRead cannot inside of a zip file.
func FuzzWord(f *testing.F) {
	f.Add(p("H1", run("One", "")) + item("1", "0", "a") + item("3", "1", "b"))
	f.Add("<w:tbl><w:tr>" + tc(`<w:vMerge/>`, "x") + tc(`<w:vMerge w:val="restart"/>`, "y") + "</w:tr></w:tbl>")
	f.Add(p("", `<w:r><w:fldChar w:fldCharType="end"/><w:instrText>HYPERLINK</w:instrText></w:r>`))
	fuzzbound.Fuzz(f, func(t *testing.T, body string) {
		d, err := Read(t.Context(), "a.docx", docx(t, wordSpace, body), 1<<16)
		if err != nil || d.HTML == "" {
			return
		}
		if _, err := webpage.Read([]byte(d.HTML)); err != nil && !strings.Contains(err.Error(), "nest") {
			t.Error(err)
		}
	})
}
