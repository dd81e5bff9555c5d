package doctest

import (
	"bytes"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// What the README must keep to: a newcomer sees the commands without scrolling
// and reads the page to its end.
const (
	readmeLines     = 180
	readmeFirstCode = 25
)

// firstCommands returns what the first code block of the README consists of.
// CI runs them from there.
func firstCommands() []string {
	return []string{"go run ./cmd/slipway serve examples/http-reference", "go test ./..."}
}

func checkReadme(p Page) []Problem {
	var problems []Problem
	// A final newline makes an empty last element.
	if n := len(p.Lines) - 1; n > readmeLines {
		problems = append(problems, Problem{p.Path, n, fmt.Sprintf("%d lines, at most %d", n, readmeLines)})
	}
	start, block := p.firstCode()
	switch {
	case start == 0:
		return append(problems, Problem{p.Path, 0, "no code block"})
	case start > readmeFirstCode:
		problems = append(problems, Problem{p.Path, start, fmt.Sprintf("the first code block begins after line %d", readmeFirstCode)})
	}
	if !slices.Equal(block, firstCommands()) {
		problems = append(problems, Problem{p.Path, start,
			"the first code block is not exactly: " + strings.Join(firstCommands(), " and ")})
	}
	return problems
}

// firstCode returns the number of the line on which the first code block opens
// and the lines in it.
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

// checkTitle is for what people read as pages, not for fixtures and fragments.
func checkTitle(p Page) []Problem {
	first, _, nested := strings.Cut(p.Path, "/")
	isPage := !nested || first == "docs" || first == "changelog"
	if isPage && !strings.HasPrefix(p.Lines[0], "# ") {
		return []Problem{{p.Path, 1, "the page does not begin with a title"}}
	}
	return nil
}

// checkWords finds what belongs to a machine and not to the project: folders of
// the machine it was written on, and the hosts that packages came from. The
// ordinary clients know their registry; a file that names one breaks a mirror.
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
