// Package doc checks the repository's pages:
//
//   - Guides are short; reference pages are listed.
//   - Links, and the files and tests that are named, exist.
//   - The README is short and begins with working commands.
//   - Displayed code is compiled and tested.
//   - Every page is linked from another one.
//   - No file refers to the machine it was written on.
//   - Pages avoid a list of words that have plainer equivalents.
//   - The table of packages in the module's doc.go names packages that exist.
//
// [Load] reads the pages; the tests apply the rules. [Sessions] parses the terminal
// sessions on a page, so that a test of the command can run and compare them.
package doc

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Page is a Markdown file.
type Page struct {
	Path  string // relative to the root of the repository
	Lines []string
}

// Problem is one error on a page.
type Problem struct {
	Path string
	Line int // counted from 1; 0 for the whole file
	Text string
}

// String returns the problem on one line.
func (p Problem) String() string {
	return fmt.Sprintf("%s:%d: %s", p.Path, p.Line, p.Text)
}

// Load reads all Markdown files in fsys except test data and files installed by other
// programs. The pages are sorted by path.
func Load(fsys fs.FS) ([]Page, error) {
	var pages []Page
	err := walk(fsys, func(name string) error {
		if path.Ext(name) != ".md" {
			return nil
		}
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		pages = append(pages, Page{name, strings.Split(string(text), "\n")})
		return nil
	})
	return pages, err
}

// walk calls visit for every file that belongs to the repository. It skips test data and
// the names of folders that git ignores.
func walk(fsys fs.FS, visit func(name string) error) error {
	return fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		ignored := slices.Contains([]string{".git", ".cache", "dist", "node_modules", "results", "testdata"}, path.Base(name))
		switch {
		case ignored && d.IsDir():
			return fs.SkipDir
		case ignored || d.IsDir(): // node_modules may be a link
			return nil
		default:
			return visit(name)
		}
	})
}

// fence is the role of a line in the fenced code blocks of a page.
type fence int

const (
	// The place of a line: outside code blocks, the line that opens one, inside, or the line that
	// closes it.
	outside fence = iota
	opening
	inside
	closing
)

// fences yields each line of the page with its number, counted from 1, its role, and the
// language of its block.
func (p Page) fences(yield func(line int, text string, at fence, language string) bool) {
	mark := ""
	language := ""
	for i, text := range p.Lines {
		trimmed := strings.TrimLeft(text, " ")
		at := outside
		switch {
		case mark == "" && strings.HasPrefix(trimmed, "```"):
			at = opening
			mark = trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, "`"))]
			language = strings.TrimSpace(trimmed[len(mark):])
		case mark != "" && strings.TrimSpace(trimmed) == mark:
			at = closing
		case mark != "":
			at = inside
		}
		if !yield(i+1, text, at, language) {
			return
		}
		if at == closing {
			mark = ""
			language = ""
		}
	}
}
