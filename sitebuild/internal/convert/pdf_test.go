package convert

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/sitebuild/internal/webpage"
)

// TestMain makes the test binary act as pdftotext when it is started under that name.
func TestMain(m *testing.M) {
	name := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
	if name == pdfProgram {
		os.Exit(actAsProgram())
	}
	os.Exit(m.Run())
}

// actAsProgram answers as the text on standard input says.
func actAsProgram() int {
	in, _ := io.ReadAll(os.Stdin)
	head := `<html><head><title>` + os.Getenv("PDF_TITLE") + "</title></head>\n<body>\n<pre>\n"
	switch string(in) {
	case "arguments":
		fmt.Printf("%s%s\f</pre>\n</body>\n</html>\n", head, strings.Join(os.Args[1:], " "))
	case "hang":
		select {}
	case "flood":
		fmt.Print(head)
		for {
			if _, err := fmt.Print(strings.Repeat("word ", 1000)); err != nil {
				return 0
			}
		}
	case "damaged":
		fmt.Fprintln(os.Stderr, "Syntax Error: no trailer\nmore")
		return 1
	case "other":
		fmt.Print("plain text\f")
	case "pictures":
		fmt.Print(head + "\f\f</pre>\n</body>\n</html>\n")
	default:
		fmt.Print(head + "First line\nof <b> *one* &lt; </pre>\n\n# no heading\n" +
			"use\n• tea\nand milk\n•\nwater\n\f\fThird page\n\f</pre>\n</body>\n</html>\n")
	}
	return 0
}

// install puts the test binary into PATH as pdftotext, alone.
func install(t *testing.T) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	name := filepath.Join(dir, pdfProgram)
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if err := os.Link(program, name); err != nil {
		data, err := os.ReadFile(program)
		if err == nil {
			err = os.WriteFile(name, data, 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
}

func TestPDF(t *testing.T) {
	install(t)
	t.Setenv("PDF_TITLE", "The &lt;manual&gt;")
	d, err := Read(t.Context(), "my_manual.pdf", []byte("text"), limit)
	if err != nil {
		t.Fatal(err)
	}
	page, err := webpage.Read([]byte(d.HTML))
	if err != nil {
		t.Fatal(err)
	}
	want := "# The \\<manual>\n\n## Page 1\n\nFirst line of \\<b> \\*one\\* \\&lt; \\</pre>\n\n" +
		"\\# no heading use\n\n- tea and milk\n- water\n\n## Page 3\n\nThird page"
	if got := strings.TrimSpace(page.Markdown); page.Title != "The <manual>" || got != want {
		t.Errorf("the page is %q:\n%s\nwant\n%s", page.Title, got, want)
	}
	d, err = Read(t.Context(), "my_manual.pdf", []byte("arguments"), limit)
	if err != nil || !strings.Contains(d.HTML, "-htmlmeta -enc UTF-8 -eol unix - -") {
		t.Errorf("the arguments are %v, %v", d, err)
	}
	for _, title := range []string{"", "Untitled", "Microsoft Word - a.doc", "thesis.dvi"} {
		t.Setenv("PDF_TITLE", title)
		d, err := Read(t.Context(), "guide/my_manual.pdf", []byte("text"), limit)
		if err != nil || !strings.Contains(d.HTML, "<title>my manual</title>") {
			t.Errorf("with the title %q, the page is %v, %v", title, d, err)
		}
	}
	if d, err := Read(t.Context(), "scan.pdf", []byte("pictures"), limit); err != nil || d.HTML != "" {
		t.Errorf("a document without text is %v, %v", d, err)
	}
	if ReaderVersion("a.pdf") == "" || ReaderVersion("a.docx") != "" {
		t.Errorf("the versions are %q and %q", ReaderVersion("a.pdf"), ReaderVersion("a.docx"))
	}
}

func TestUnreadablePDF(t *testing.T) {
	install(t)
	for text, want := range map[string]string{
		"flood":   "its text has more than 100000 bytes",
		"damaged": "pdftotext: exit status 1: Syntax Error: no trailer",
		"other":   "pdftotext returned another form than poppler's",
	} {
		if _, err := Read(t.Context(), "a.pdf", []byte(text), 100_000); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if _, err := describePDF(t.Context(), []byte("hang"), limit, time.Millisecond); err == nil ||
		err.Error() != "pdftotext takes more than 1ms" {
		t.Errorf("slow: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Read(ctx, "a.pdf", []byte("hang"), limit); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	var missing *MissingError
	if _, err := Read(t.Context(), "a.pdf", nil, limit); !errors.As(err, &missing) || missing.Install == "" {
		t.Errorf("without the program: %v", err)
	}
}

// TestPopplersPDF reads a document with poppler's program, if it is installed.
func TestPopplersPDF(t *testing.T) {
	if _, err := exec.LookPath(pdfProgram); err != nil {
		t.Skip("pdftotext is not installed")
	}
	d, err := Read(t.Context(), "real.pdf", twoPages(), limit)
	if err != nil {
		t.Fatal(err)
	}
	want := "<h1>Kettles</h1>\n<h2 id=\"page-1\">Page 1</h2>\n<p>Boil &lt;water&gt; &amp;lt; &lt;/pre&gt; hot</p>\n" +
		"<h2 id=\"page-2\">Page 2</h2>\n<p>Pour it</p>\n"
	if !strings.Contains(d.HTML, want) {
		t.Errorf("the document is\n%s", d.HTML)
	}
}

// twoPages returns a document with a text on each of two pages.
func twoPages() []byte {
	content := func(text string) string {
		stream := "BT /F 20 Tf 50 700 Td (" + text + ") Tj ET"
		return fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(stream), stream)
	}
	const page = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] " +
		"/Resources << /Font << /F 7 0 R >> >> /Contents %d 0 R >>"
	objects := []string{
		"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [3 0 R 4 0 R] /Count 2 >>",
		fmt.Sprintf(page, 5), fmt.Sprintf(page, 6),
		content("Boil <water> &lt; </pre> hot"), content("Pour it"),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
		"<< /Title (Kettles) >>",
	}
	out := "%PDF-1.4\n"
	table := fmt.Sprintf("xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for i, object := range objects {
		table += fmt.Sprintf("%010d 00000 n \n", len(out))
		out += fmt.Sprintf("%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	return fmt.Appendf(nil, "%s%strailer\n<< /Size %d /Root 1 0 R /Info 8 0 R >>\nstartxref\n%d\n%%%%EOF\n",
		out, table, len(objects)+1, len(out))
}

// TestPDFWords verifies that dot leaders are shortened, and other dots are not.
func TestPDFWords(t *testing.T) {
	for text, want := range map[string]string{
		"Naming . . . . . . . . 3\nParsing. . . . . . 4": "Naming … 3 Parsing … 4",
		"Copying.............24":                         "Copying … 24",
		"and so on... Then":                              "and so on... Then",
		"of a . . . list":                                "of a . . . list",
		". . . . . . 8":                                  "… 8",
		"v1.2.3 ends.":                                   "v1.2.3 ends.",
	} {
		if got := pdfWords(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
