// Package convert reads documents that are not text files: notebooks of Jupyter become
// Markdown, and documents of Word and PDF become HTML, which package webpage turns into
// Markdown as it does any page.
//
// Only text is read. Macros, embedded objects and the code of notebooks are never run, and
// nothing outside the file is opened. Pictures are represented by their descriptions. PDF is
// read by pdftotext, a program that has to be installed.
package convert

import (
	"context"
	"fmt"
	"html"
	"path"
	"strings"

	"github.com/slipway-mcp/slipway/internal/barrier"
)

// Document is the content of a file. Either Markdown or HTML is set, unless the file has no
// text.
type Document struct {
	// Title and Language are what the properties of a notebook say, or empty. An HTML page has
	// its own.
	Title, Language string
	// HTML is a whole page, for the same conversion as pages of a website.
	Markdown, HTML string
}

// readerOf returns the reader of a form, by the ending of its files, or nil.
func readerOf(name string) func(ctx context.Context, name string, data []byte, limit int64) (*Document, error) {
	switch strings.ToLower(path.Ext(name)) {
	case ".ipynb":
		return ownReader(readNotebook)
	case ".docx":
		return ownReader(readWord)
	case ".pdf":
		return readPDF
	}
	return nil
}

// ownReader returns a reader of this package, which is too fast to be interrupted, as a reader.
func ownReader(read func(name string, data []byte, limit int64) (*Document, error)) func(
	context.Context, string, []byte, int64,
) (*Document, error) {
	return func(_ context.Context, name string, data []byte, limit int64) (*Document, error) {
		return read(name, data, limit)
	}
}

// Handles reports whether a file can be read, judging by the ending of its name: .ipynb, .docx
// or .pdf, in upper or lower case.
func Handles(name string) bool {
	return readerOf(name) != nil
}

// IsNotebook reports whether a file is a notebook, judging by the ending of its name.
func IsNotebook(name string) bool {
	return strings.EqualFold(path.Ext(name), ".ipynb")
}

// IsPDF reports whether a file is PDF, judging by the ending of its name.
func IsPDF(name string) bool { return strings.EqualFold(path.Ext(name), ".pdf") }

// Read reads the file called name, which [Handles] accepts. Its text, unpacked, may have at
// most limit bytes; more are an error, as is a file that is damaged or encrypted. The error is a
// [*MissingError] if a program has to be installed, and that of ctx if it ends first.
func Read(ctx context.Context, name string, data []byte, limit int64) (*Document, error) {
	read := readerOf(name)
	if read == nil {
		return nil, fmt.Errorf("%s is not a notebook, a Word document or PDF", name)
	}
	var d *Document
	err := barrier.Run("read "+name, func() (err error) {
		d, err = read(ctx, name, data, limit)
		return err
	})
	return d, err
}

// page returns an HTML page. body is HTML; the rest is text.
func page(title, description, language, body string) string {
	var b strings.Builder
	b.WriteString("<!DOCTYPE html>\n<html")
	if language != "" {
		b.WriteString(` lang="` + html.EscapeString(language) + `"`)
	}
	b.WriteString("><head><title>" + html.EscapeString(title) + "</title>")
	if description != "" {
		b.WriteString(`<meta name="description" content="` + html.EscapeString(description) + `">`)
	}
	b.WriteString("</head><body><main>\n" + body + "</main></body></html>\n")
	return b.String()
}

// nameTitle returns a title for a document that has none: the name of its file.
func nameTitle(name string) string {
	base := strings.TrimSuffix(path.Base(name), path.Ext(name))
	return strings.Join(strings.FieldsFunc(base, func(r rune) bool {
		return r == '_' || r == '-' || r == ' '
	}), " ")
}
