package check

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/internal/visible"
)

// Format is a form in which a [Report] can be written.
type Format string

// The formats.
const (
	Text   Format = "text"   // for people, see [Report.WriteText]
	JSON   Format = "json"   // see [Report.WriteJSON]
	GitHub Format = "github" // workflow commands: annotations in GitHub Actions
	SARIF  Format = "sarif"  // SARIF 2.1.0: code scanning, editors
	JUnit  Format = "junit"  // JUnit XML: Jenkins, GitLab and most other CI servers
)

// Formats returns all formats.
func Formats() []Format { return []Format{Text, JSON, GitHub, SARIF, JUnit} }

// WriteOptions are the options of [Report.Write]. Each is used by the formats named.
type WriteOptions struct {
	// Color colours severities for a terminal (text).
	Color bool
	// Strict reports warnings as failures, too (junit).
	Strict bool
	// Inputs are the paths, URLs or commands that were checked. Those without findings are
	// reported as passed (junit).
	Inputs []string
	// Cases are the tests that were made. Each is reported, with the findings that belong to
	// it (junit).
	Cases []Case
	// Root is the absolute path of the folder to which paths are made relative, usually that
	// of the repository (github, sarif). Files outside it, and all files if it is empty, keep
	// their path.
	Root string
	// Version is the version of Slipway without a leading "v", or empty (sarif).
	Version string
	// Rules are the known rules, with their usual severities (sarif). Only rules that have
	// findings are written.
	Rules []Rule
	// RulesURL is the address of the page with all rules, whose fragments are [Rule.Anchor]
	// (sarif).
	RulesURL string
}

// Case is a test that was made.
type Case struct {
	// File and Pointer are the place of the test. Findings at it or below it belong to it.
	File    string
	Pointer string
	Name    string
	Took    time.Duration
}

// owns reports whether a finding belongs to the test.
func (c *Case) owns(f *Finding) bool {
	rest, ok := strings.CutPrefix(f.Pointer, c.Pointer)
	return ok && f.File == c.File && (rest == "" || rest[0] == '/')
}

// Write writes the report in a format. Nil options mean the defaults. Control and invisible
// characters that messages quote from the input are escaped in every format.
func (r *Report) Write(w io.Writer, f Format, opts *WriteOptions) error {
	if opts == nil {
		opts = &WriteOptions{}
	}
	switch f {
	case Text:
		return r.WriteText(w, opts.Color)
	case JSON:
		return r.WriteJSON(w)
	case GitHub:
		return r.writeGitHub(w, opts)
	case SARIF:
		return r.writeSARIF(w, opts)
	case JUnit:
		return r.writeJUnit(w, opts)
	}
	return fmt.Errorf("unknown format %q", string(f))
}

// place is where a finding is, in the terms of tools that show it next to the line.
type place struct {
	file  string // path with slashes, relative to the root if possible, or URL
	entry string // name inside the archive file, or empty
	// Positions in an entry are not positions in the file.
	line, column, endColumn int
}

func (o *WriteOptions) placeOf(f *Finding) place {
	p := place{
		line:      f.Line,
		column:    f.Column,
		endColumn: f.EndColumn,
	}
	p.file, p.entry = splitEntry(f.File)
	if p.entry != "" {
		p.line = 0
		p.column = 0
		p.endColumn = 0
	}
	if p.file != "" && !isURL(p.file) {
		p.file = filepath.ToSlash(o.relative(p.file))
	}
	return p
}

// relative returns path relative to the root, if it is below it.
func (o *WriteOptions) relative(path string) string {
	if o.Root == "" {
		return path
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	below, err := filepath.Rel(o.Root, absolute)
	if err != nil || !filepath.IsLocal(below) {
		return path
	}
	return below
}

// splitEntry splits the place of an entry into the path of its archive and its name.
func splitEntry(file string) (archive, entry string) {
	for at := range len(file) {
		if file[at] == '!' &&
			slices.Contains([]string{".zip", ".mcpb", ".dxt"}, filepath.Ext(file[:at])) {
			return file[:at], file[at+1:]
		}
	}
	return file, ""
}

// isURL reports whether the file of a finding is a URL and not a path.
func isURL(file string) bool { return strings.Contains(file, "://") }

// describe returns the message of a finding and its hint, on a line each. A JSON pointer
// is included where it is the only place inside the file.
func (f *Finding) describe() string {
	text := visible.Line(f.Message)
	if f.Pointer != "" && f.Line == 0 {
		text = visible.Line(f.Pointer) + ": " + text
	}
	return text + hintLine(f)
}
