package doc

import (
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// link is the target of an inline link, and its line.
type link struct {
	target string
	line   int
}

func linkPattern() *regexp.Regexp { return regexp.MustCompile(`\]\(([^)\s]+)(?:\s+"[^"]*")?\)`) }
func codePattern() *regexp.Regexp { return regexp.MustCompile("`[^`]*`") }

// links returns the inline links of the page, except those in code.
func (p Page) links() []link {
	inline, code := linkPattern(), codePattern()
	var found []link
	p.fences(func(line int, text string, at fence, _ string) bool {
		if at == outside {
			for _, m := range inline.FindAllStringSubmatch(code.ReplaceAllString(text, "code"), -1) {
				found = append(found, link{m[1], line})
			}
		}
		return true
	})
	return found
}

// local splits the target of a link on the page from into a file and a heading. ok
// reports whether the target is a file.
func (l link) local(from string) (file, heading string, ok bool) {
	u, err := url.Parse(l.target)
	if err != nil || u.Scheme != "" || u.Host != "" {
		return "", "", false
	}
	if u.Path == "" {
		return from, u.Fragment, true
	}
	return path.Join(path.Dir(from), u.Path), u.Fragment, true
}

func checkLinks(fsys fs.FS, pages []Page, p Page) []Problem {
	var problems []Problem
	for _, l := range p.links() {
		file, heading, ok := l.local(p.Path)
		if !ok {
			continue
		}
		if _, err := fs.Stat(fsys, file); err != nil {
			problems = append(problems, Problem{p.Path, l.line, fmt.Sprintf("link to %s, which does not exist", l.target)})
			continue
		}
		if heading == "" {
			continue
		}
		i := slices.IndexFunc(pages, func(other Page) bool { return other.Path == file })
		if i < 0 || !slices.Contains(pages[i].anchors(), heading) {
			problems = append(problems, Problem{p.Path, l.line, fmt.Sprintf("link to %s: no such heading", l.target)})
		}
	}
	return problems
}

// anchors returns the fragments of the headings on the page.
func (p Page) anchors() []string {
	seen := map[string]int{}
	var anchors []string
	p.fences(func(_ int, text string, at fence, _ string) bool {
		title := strings.TrimLeft(text, "#")
		if at != outside || title == text || !strings.HasPrefix(title, " ") {
			return true
		}
		a := anchor(title)
		if n := seen[a]; n > 0 {
			anchors = append(anchors, fmt.Sprintf("%s-%d", a, n))
		} else {
			anchors = append(anchors, a)
		}
		seen[a]++
		return true
	})
	return anchors
}

// anchor returns the fragment of a heading in GitHub's format.
func anchor(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		default:
			return -1
		}
	}, strings.TrimSpace(title))
}

// checkNames reports files that are named in code but do not exist: paths of Go,
// Markdown, JavaScript and text archive files, relative to the root or the page.
func checkNames(fsys fs.FS, p Page) []Problem {
	named := regexp.MustCompile("`([A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)+\\.(?:go|md|mjs|txtar))`")
	var problems []Problem
	p.fences(func(line int, text string, at fence, _ string) bool {
		if at != outside {
			return true
		}
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			_, fromRoot := fs.Stat(fsys, path.Clean(m[1]))
			_, fromPage := fs.Stat(fsys, path.Join(path.Dir(p.Path), m[1]))
			if fromRoot != nil && fromPage != nil {
				problems = append(problems, Problem{p.Path, line, fmt.Sprintf("names %s, which does not exist", m[1])})
			}
		}
		return true
	})
	return problems
}

// checkOrphans reports pages under docs that no other page links to.
func checkOrphans(pages []Page) []Problem {
	reached := map[string]bool{}
	for _, p := range pages {
		for _, l := range p.links() {
			if file, _, ok := l.local(p.Path); ok && file != p.Path {
				reached[file] = true
			}
		}
	}
	var problems []Problem
	for _, p := range pages {
		if strings.HasPrefix(p.Path, "docs/") && !reached[p.Path] {
			problems = append(problems, Problem{p.Path, 0, "no other page links here"})
		}
	}
	return problems
}
