package docs

import (
	"path"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/lazyregexp"
)

// Limits of included text.
const (
	maxIncludeDepth = 5
	maxIncluded     = 1 << 20 // bytes, in one page
)

// The include directives of documentation systems. Each matches the path; the wanted part
// of the file follows ":" or is in braces.
var (
	bookInclude    = lazyregexp.New(`\{\{\s*#(?:include|rustdoc_include|playground|playpen)\s+([^\s{}]+)[^{}]*\}\}`)
	snippetInclude = lazyregexp.New(`^([ \t]*)-+8<-+[ \t]+["']([^"']+)["'][ \t]*$`)
	snippetBlock   = lazyregexp.New(`^[ \t]*-+8<-+[ \t]*$`)
	markedInclude  = lazyregexp.New(`(?s)\{%-?\s*(include|include-markdown)\s+["']([^"']+)["'](.*?)-?%\}`)
	pressInclude   = lazyregexp.New(`<!--\s*@include:\s*([^\s{}]+?)(?:\{[^{}]*\})?\s*-->`)
	pressCode      = lazyregexp.New(`^[ \t]*<<<[ \t]+([^\s{}\[\]]+)`)
)

// includer replaces include directives by the files they name.
type includer struct {
	// r reads the files that file includes.
	r     *reader
	file  string
	left  int // bytes
	found []check.Finding
	// extra are the lines that were added before each line of the result.
	extra []int
	added int
	// used is true if there are directives.
	used bool
	// plugins are those whose parts are missing; raw is true within raw text of a template.
	plugins []string
	raw     bool
	odd     int // tags of components without an end
}

// include returns body with its includes expanded. base is how many lines of the file
// precede body.
func (r *reader) include(file, body string, base int) (string, *includer) {
	n := &includer{
		r:    r,
		file: file,
		left: maxIncluded,
	}
	if !n.mayInclude(body, file) {
		return body, n
	}
	var b strings.Builder
	n.expand(body, file, base+1, 0, func(from, to string) {
		lines := strings.Count(from, "\n")
		for strings.Count(to, "\n") < lines {
			to += "\n" // lines keep their numbers
		}
		b.WriteString(to)
		for range strings.Count(to, "\n") - lines {
			n.extra = append(n.extra, n.added)
			n.added++
		}
		for range max(1, lines) {
			n.extra = append(n.extra, n.added)
		}
	})
	return b.String(), n
}

// mayInclude reports whether a text may have a directive.
func (n *includer) mayInclude(text, file string) bool {
	return strings.Contains(text, "{{") ||
		strings.Contains(text, "8<") ||
		strings.Contains(text, "@include") ||
		strings.Contains(text, "<<<") ||
		n.r.config.plugins.include && strings.Contains(text, "{%") ||
		len(n.r.config.plugins.python) > 0 && (strings.Contains(text, ":::") || strings.Contains(text, "{")) ||
		n.hasModules(file) && strings.Contains(text, "import")
}

// expand calls emit with each line of text, or with the lines that a directive extends over, and
// their replacement. number is the line of the page for findings: that of the first line, or of the
// directive that includes text.
func (n *includer) expand(text, file string, number, depth int, emit func(from, to string)) {
	parts := n.partials(text, file)
	fenced := 0
	for at := 0; at < len(text); {
		line, next := lineAt(text, at)
		if mark := fenceMark(line); mark != "" && at >= fenced {
			fenced = fenceEnd(text, next, mark)
		}
		replaced := ""
		end := 0
		if at >= fenced && len(parts) > 0 {
			replaced, end = n.components(text, at, file, parts, number, depth)
		}
		if end == 0 && n.r.system == "mkdocs" {
			replaced, end = n.mkdocs(text, at, at < fenced, file, number, depth)
		}
		if end == 0 {
			end = next
			replaced = n.line(text[at:next], file, number, depth)
		}
		if n.r.config.plugins.python[syntaxTemplate] != "" {
			replaced = n.withoutTemplates(replaced)
		}
		emit(text[at:end], replaced)
		if depth == 0 {
			number += strings.Count(text[at:end], "\n")
		}
		at = end
	}
}

// line returns a line with its includes expanded.
func (n *includer) line(line, file string, number, depth int) string {
	bare := strings.TrimRight(line, "\r\n")
	if m := snippetInclude().FindStringSubmatch(bare); m != nil && n.r.system == "mkdocs" {
		return n.indented(n.read(line[len(m[1]):], m[2], file, number, depth), m[1])
	}
	if m := pressCode().FindStringSubmatch(bare); m != nil && n.r.system == "vitepress" {
		code := n.read("", m[1], file, number, depth)
		if code == "" {
			return line
		}
		return "```" + strings.TrimPrefix(path.Ext(m[1]), ".") + "\n" + code + "```\n"
	}
	for _, m := range append(bookInclude().FindAllStringSubmatch(bare, 10),
		pressInclude().FindAllStringSubmatch(bare, 10)...) {
		line = strings.Replace(line, m[0],
			strings.TrimSuffix(n.read(m[0]+"\n", m[1], file, number, depth), "\n"), 1)
	}
	return line
}

// read returns the wanted part of a file, or instead if the file is not available.
func (n *includer) read(instead, wanted, file string, number, depth int) string {
	n.used = true
	name, part, _ := strings.Cut(wanted, ":")
	name, region, _ := strings.Cut(name, "#")
	if part == "" {
		part = region
	}
	text, actual, ok := n.document(name, file)
	if !ok || depth >= maxIncludeDepth || len(text) > n.left {
		n.missing(name, number)
		return instead
	}
	n.left -= len(text)
	if isDocument(name) {
		_, text, _, _ = splitFrontMatter(text)
	}
	text = wantedLines(text, part)
	if isDocument(name) {
		text = n.nested(text, actual, number, depth)
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}

// nested returns an included text with its own includes expanded.
func (n *includer) nested(text, file string, number, depth int) string {
	var b strings.Builder
	n.expand(text, file, number, depth+1, func(_, to string) { b.WriteString(to) })
	return b.String()
}

// document returns an included file and its path. The name is relative to the document, the
// documents' root or the project's root.
func (n *includer) document(name, file string) (text, actual string, ok bool) {
	name, site := strings.CutPrefix(name, "@site/")
	if site && n.r.config.folder != "" {
		name = strings.TrimPrefix(name, n.r.config.folder+"/")
	}
	name = strings.TrimPrefix(name, "@/")
	tries := []string{path.Join(path.Dir(file), name), path.Join(n.r.config.root, name), path.Clean(name)}
	for _, base := range n.r.config.plugins.snippets {
		if inside, ok := strings.CutPrefix(base+"/", n.r.config.folder+"/"); ok && n.r.config.folder != "" {
			base = path.Clean(inside)
		}
		if path.Base(base) == name {
			tries = append(tries, base)
		}
		tries = append(tries, path.Join(base, name))
	}
	for _, try := range tries {
		info, ok := n.r.files[try]
		if ok && info.Size() <= maxIncluded {
			text, err := n.r.text(try)
			return withLineFeeds(decodeMarked(text)), try, err == nil
		}
	}
	return "", "", false
}

// wantedLines returns lines 2 to 5 of text for "2:5", or the lines between the marks of a
// named part, such as "ANCHOR: a" or "#region a".
func wantedLines(text, part string) string {
	if part == "" {
		return text
	}
	lines := strings.SplitAfter(text, "\n")
	from, to, ranged := strings.Cut(part, ":")
	first, errFirst := strconv.Atoi(from)
	last, errLast := strconv.Atoi(to)
	switch {
	case errFirst == nil && !ranged:
		last = first
	case errFirst == nil && to == "":
		last = len(lines)
	case from == "" && errLast == nil:
		first = 1
	case errFirst != nil || errLast != nil:
		return between(lines, part)
	}
	first = max(1, first)
	last = min(last, len(lines))
	if first > last {
		return ""
	}
	return strings.Join(lines[first-1:last], "")
}

// between returns the lines between the marks of a part, without any other marks.
func between(lines []string, part string) string {
	var b strings.Builder
	inside := false
	for _, line := range lines {
		begins := marks(line, "ANCHOR: "+part) || marks(line, "#region "+part) ||
			marks(line, "[start:"+part+"]")
		ends := marks(line, "ANCHOR_END: "+part) ||
			marks(line, "#endregion "+part) || marks(line, "[end:"+part+"]")
		switch {
		case begins:
			inside = true
		case ends:
			inside = false
		case inside && !strings.Contains(line, "ANCHOR: ") &&
			!strings.Contains(line, "ANCHOR_END: "):
			b.WriteString(line)
		}
	}
	return b.String()
}

// marks reports whether a line contains mark, not as the start of a longer name.
func marks(line, mark string) bool {
	_, after, ok := strings.Cut(line, mark)
	return ok && strings.TrimRight(strings.TrimSpace(after), "->*/ \t") == ""
}
