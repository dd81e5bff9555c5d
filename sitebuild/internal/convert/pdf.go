package convert

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// pdfProgram extracts the text of PDF. It is a part of poppler, which most systems package.
const pdfProgram = "pdftotext"

const (
	// pdfTime is how long the program may take for a document.
	pdfTime = time.Minute
	// pdfStderr is how much of its messages is kept.
	pdfStderr = 4 << 10
)

// MissingError reports that a program that reads a form of documents is not installed.
type MissingError struct {
	// Program is its name, and Install what installs it.
	Program, Install string
}

// Error implements error.
func (e *MissingError) Error() string { return e.Program + " is not installed" }

// programOf returns the program that reads a file, or "".
func programOf(name string) string {
	if IsPDF(name) {
		return pdfProgram
	}
	return ""
}

// ReaderVersion identifies the program that reads a file, or is "" if that is Slipway itself or
// the program is missing: another version may read another text.
func ReaderVersion(name string) string {
	program := programOf(name)
	if program == "" {
		return ""
	}
	file, err := exec.LookPath(program)
	if err != nil {
		return ""
	}
	info, err := os.Stat(file)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s %d %d", file, info.Size(), info.ModTime().UnixNano())
}

// installPDF returns the command that installs the program.
func installPDF() string {
	switch runtime.GOOS {
	case "darwin":
		return "brew install poppler"
	case "windows":
		return "winget install oschwartz10612.Poppler"
	}
	return "sudo apt install poppler-utils (or dnf, apk, zypper)"
}

// readPDF reads a PDF document: its title, and the text of each page below a heading with the
// number of the page.
func readPDF(ctx context.Context, name string, data []byte, limit int64) (*Document, error) {
	described, err := describePDF(ctx, data, limit, pdfTime)
	if err != nil {
		return nil, err
	}
	return pdfDocument(name, described)
}

// describePDF returns what the program writes about a document, at most limit bytes within a
// time. The program reads the document from its standard input, so no file name is an argument.
func describePDF(
	ctx context.Context,
	data []byte,
	limit int64,
	most time.Duration,
) (string, error) {
	program, err := exec.LookPath(pdfProgram)
	if err != nil {
		return "", &MissingError{pdfProgram, installPDF()}
	}
	limited, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	cmd := exec.CommandContext(limited, program, "-htmlmeta", "-enc", "UTF-8", "-eol", "unix", "-", "-")
	cmd.Dir = os.TempDir() // not the documents
	cmd.Stdin = bytes.NewReader(data)
	out := &limitedBuffer{most: limit, stop: cancel}
	messages := &limitedBuffer{most: pdfStderr}
	cmd.Stdout = out
	cmd.Stderr = messages
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case out.full:
		return "", fmt.Errorf("its text has more than %d bytes", limit)
	case errors.Is(limited.Err(), context.DeadlineExceeded):
		return "", fmt.Errorf("%s takes more than %v", pdfProgram, most)
	case err != nil:
		why, _, _ := strings.Cut(strings.TrimSpace(messages.text.String()), "\n")
		return "", fmt.Errorf("%s: %w: %s", pdfProgram, err, strings.ToValidUTF8(why, ""))
	}
	return strings.ToValidUTF8(out.text.String(), ""), nil
}

// pdfDocument returns the document that the program describes: a page of HTML, whose text is
// preformatted, with a form feed after each page. The title is escaped. The text is not, so it
// ends with the last </pre>: a manual of HTML may contain others.
func pdfDocument(name, described string) (*Document, error) {
	head, rest, ok := strings.Cut(described, "<pre>")
	end := strings.LastIndex(rest, "</pre>")
	if !ok || end < 0 {
		return nil, fmt.Errorf("%s returned another form than poppler's", pdfProgram)
	}
	text := rest[:end]
	_, title, _ := strings.Cut(head, "<title>")
	title, _, _ = strings.Cut(title, "</title>")
	title = html.UnescapeString(title)
	if !isTitle(title) {
		title = nameTitle(name)
	}
	var body strings.Builder
	number := 0
	for text := range strings.SplitSeq(strings.TrimSuffix(text, "\f"), "\f") {
		number++
		var list strings.Builder
		for paragraph := range strings.SplitSeq(text, "\n\n") {
			writeParagraph(&list, paragraph)
		}
		if list.Len() > 0 {
			fmt.Fprintf(&body, "<h2 id=\"page-%d\">Page %d</h2>\n%s", number, number, list.String())
		}
	}
	if body.Len() == 0 {
		return &Document{}, nil // pictures of pages, for example
	}
	heading := "<h1>" + html.EscapeString(title) + "</h1>\n"
	return &Document{HTML: page(title, "", "", heading+body.String())}, nil
}

// bullets begin the items of lists.
const bullets = "•▪◦‣·●■"

// writeParagraph writes the lines of a paragraph as a paragraph, and those from the first bullet
// on as a list.
func writeParagraph(out *strings.Builder, text string) {
	list := ""
	at := 0
	for line := range strings.Lines(text) {
		if strings.IndexAny(strings.TrimSpace(line), bullets) == 0 {
			list = text[at:]
			break
		}
		at += len(line)
	}
	text = text[:at]
	if words := pdfWords(text); words != "" {
		out.WriteString("<p>" + html.EscapeString(words) + "</p>\n")
	}
	if list == "" {
		return
	}
	out.WriteString("<ul>")
	for line := range strings.Lines(list) {
		words := pdfWords(line)
		if item := strings.TrimLeft(words, bullets); item != words {
			out.WriteString("\n<li>")
			words = strings.TrimSpace(item)
		}
		out.WriteString(html.EscapeString(words) + "\n")
	}
	out.WriteString("</ul>\n")
}

// maxEllipsis is the most dots that count as an ellipsis. Longer runs are dot leaders.
const maxEllipsis = 4

// pdfWords returns the words of a text with a space between them. Dot leaders,
// as in a table of contents, become one ellipsis.
func pdfWords(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	var out strings.Builder
	for {
		start := strings.IndexByte(text, '.')
		if start < 0 {
			break
		}
		rest := strings.TrimLeft(text[start:], ". ")
		run := text[start : len(text)-len(rest)]
		if strings.Count(run, ".") > maxEllipsis {
			out.WriteString(strings.TrimRight(text[:start], " ") + " … ")
		} else {
			out.WriteString(text[:start] + run)
		}
		text = rest
	}
	out.WriteString(text)
	return strings.TrimSpace(out.String())
}

// isTitle reports whether the title of a document is one for people, rather than the name of the
// file that it was made from.
func isTitle(title string) bool {
	title = strings.TrimSpace(title)
	switch strings.ToLower(filepath.Ext(title)) {
	case ".doc", ".docx", ".odt", ".tex", ".dvi", ".pdf", ".indd", ".ppt", ".pptx", ".qxd", ".md", ".html":
		return false
	}
	return title != "" &&
		!strings.EqualFold(title, "untitled") &&
		!strings.HasPrefix(title, "Microsoft Word")
}

// limitedBuffer keeps what is written to it up to a limit, and calls stop, if there is one, for
// more.
type limitedBuffer struct {
	text bytes.Buffer // a field: its ReadFrom has no limit
	// most is the limit in bytes, and full reports that it was exceeded. The text is then cut.
	most int64
	stop func()
	full bool
}

// Write implements io.Writer.
func (b *limitedBuffer) Write(p []byte) (int, error) {
	room := b.most - int64(b.text.Len())
	if int64(len(p)) <= room {
		return b.text.Write(p)
	}
	b.text.Write(p[:max(0, room)])
	b.full = true
	if b.stop != nil {
		b.stop()
	}
	return len(p), nil
}
