package doc

import (
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// banned lists words and phrases that pages, comments and messages do not use, each with
// the usual one. Patterns match whole words in any case.
func banned() []struct{ pattern, instead string } {
	return []struct{ pattern, instead string }{
		{`somebody|nobody|whoever|anybody`, "name the user, the caller or the client"},
		{`anew|afresh|once more`, "again, re-"},
		{`mend(s|ed|ing)?|puts? right`, "fix, repair"},
		{`(is|are|was|were|be|been|being) told|hears? of|heard of`, "is notified, receives, reports"},
		{`for want of|without which`, "missing"},
		{`at rest`, "idle"},
		{`of one's own`, "custom"},
		{`what becomes of|what came of|what comes of`, "the outcome of, the effect on"},
		{`(takes?|took|taking|taken|in) the place of`, "replace"},
		{`brings? along`, "includes"},
		{`by heart`, "by name"},
		{`by hand`, "manually"},
		{`looks? (at|into)|looked (at|into)|looking (at|into)`, "inspect, read, check"},
		{`held? (to|against) (what|its|the rules?)`, "verify against, restrict to"},
		{`so to say|as it were`, "leave it out"},
		{`put in front`, "prefix"},
		{`the last words`, "the last stderr lines"},
		{`(comes?|came) to collide`, "name collision"},
		{`made sure of`, "verified"},
		{`heeds?|heeded`, "support, follow"},
		{`leads? nowhere|leads? out of`, "is broken, points outside"},
	}
}

// checkProse reports banned words on a page, outside code blocks.
func checkProse(p Page) []Problem {
	if !prose(p.Path) {
		return nil
	}
	var problems []Problem
	p.fences(func(line int, text string, at fence, _ string) bool {
		if at == outside {
			problems = append(problems, bannedIn(p.Path, line, text)...)
		}
		return true
	})
	return problems
}

// prose reports whether the page is ours to word: content of examples and of tests may
// be written like the documents of other projects.
func prose(name string) bool {
	first, _, _ := strings.Cut(name, "/")
	return first != "examples" && first != "interop"
}

// bannedIn returns a problem for each banned word in text.
func bannedIn(name string, line int, text string) []Problem {
	if !anyBanned.MatchString(text) {
		return nil
	}
	var problems []Problem
	for _, b := range banned() {
		if found := wholeWords(b.pattern).FindString(text); found != "" {
			problems = append(problems, Problem{name, line, fmt.Sprintf("%q: %s", found, b.instead)})
		}
	}
	return problems
}

// anyBanned matches text with at least one banned word.
var anyBanned = wholeWords(allBanned())

func wholeWords(pattern string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(` + pattern + `)\b`)
}

// CheckGoWords reports banned words in the comments and string literals of the Go files
// in fsys, tests included. It skips this package, which lists them.
func CheckGoWords(fsys fs.FS) ([]Problem, error) {
	var problems []Problem
	err := walk(fsys, func(name string) error {
		if path.Ext(name) != ".go" || path.Dir(name) == "internal/test/doc" {
			return nil
		}
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		if !anyBanned.Match(text) {
			return nil
		}
		files := token.NewFileSet()
		file := files.AddFile(name, -1, len(text))
		var s scanner.Scanner
		s.Init(file, text, nil, scanner.ScanComments)
		for {
			pos, tok, literal := s.Scan()
			if tok == token.EOF {
				return nil
			}
			if tok != token.COMMENT && tok != token.STRING {
				continue
			}
			for i, line := range strings.Split(literal, "\n") {
				problems = append(problems, bannedIn(name, file.Line(pos)+i, line)...)
			}
		}
	})
	return problems, err
}

func allBanned() string {
	var all []string
	for _, b := range banned() {
		all = append(all, b.pattern)
	}
	return strings.Join(all, "|")
}
