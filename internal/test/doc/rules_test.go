package doc

import (
	"bytes"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of the README: a newcomer must see the commands without scrolling, and read the
// page to its end.
const (
	readmeLines     = 120
	readmeFirstCode = 25
)

// firstCommands returns the commands in the first code block of the README. CI runs them.
func firstCommands() []string {
	return []string{"go run ./cmd/slipway serve examples/http-reference", "go test -short -vet=off ./..."}
}

func checkReadme(p Page) []Problem {
	var problems []Problem
	// A final newline results in an empty last element.
	if n := len(p.Lines) - 1; n > readmeLines {
		problems = append(problems, Problem{p.Path, n, fmt.Sprintf("%d lines, at most %d", n, readmeLines)})
	}
	start, block := p.firstCode()
	switch {
	case start == 0:
		return append(problems, Problem{p.Path, 0, "no code block"})
	case start > readmeFirstCode:
		problems = append(problems,
			Problem{p.Path, start, fmt.Sprintf("the first code block begins after line %d", readmeFirstCode)})
	}
	if !slices.Equal(block, firstCommands()) {
		problems = append(problems, Problem{p.Path, start,
			"the first code block is not exactly: " + strings.Join(firstCommands(), " and ")})
	}
	return problems
}

// firstCode returns the line on which the first code block opens, and its content.
func (p Page) firstCode() (start int, block []string) {
	p.fences(func(line int, text string, at fence, _ string) bool {
		switch at {
		case opening:
			start = line
		case inside:
			block = append(block, text)
		}
		return at != closing
	})
	return start, block
}

// checkTitle requires a title on pages, but not on fixtures and fragments.
func checkTitle(p Page) []Problem {
	first, _, nested := strings.Cut(p.Path, "/")
	isPage := !nested || first == "docs" || first == "changelog"
	if isPage && !strings.HasPrefix(p.Lines[0], "# ") {
		return []Problem{{p.Path, 1, "the page does not begin with a title"}}
	}
	return nil
}

// checkWords reports text that refers to a particular machine: its folders, and the hosts
// of package registries. Package clients know their registry; a file that names one
// breaks mirrors.
func checkWords(fsys fs.FS) ([]Problem, error) {
	foreign := regexp.MustCompile(`(?:^|[^\w./-])/(?:work|root)/|proxy\.golang` + `\.org|registry\.npmjs` + `\.org`)
	var problems []Problem
	err := walk(fsys, func(name string) error {
		text, err := fs.ReadFile(fsys, name)
		if err != nil || !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
			return err
		}
		for i, line := range strings.Split(string(text), "\n") {
			if word := foreign.FindString(line); word != "" {
				problems = append(problems, Problem{name, i + 1, fmt.Sprintf("names %q", strings.TrimSpace(word))})
			}
		}
		return nil
	})
	return problems, err
}

// checkPackageTable reports packages that doc.go at the root names and that do not exist.
func checkPackageTable(fsys fs.FS) []Problem {
	text, err := fs.ReadFile(fsys, "doc.go")
	if err != nil {
		return nil // a repository without Go documentation
	}
	named := regexp.MustCompile(`\bslipway/([a-z/]+)`)
	var problems []Problem
	for i, line := range strings.Split(string(text), "\n") {
		for _, m := range named.FindAllStringSubmatch(line, -1) {
			if files, _ := fs.Glob(fsys, m[1]+"/*.go"); len(files) == 0 {
				problems = append(problems,
					Problem{"doc.go", i + 1, fmt.Sprintf("names the package %s, which does not exist", m[0])})
			}
		}
	}
	return problems
}
