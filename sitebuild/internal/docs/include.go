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
	snippetInclude = lazyregexp.New(`^[ \t]*-+8<-+[ \t]+["']([^"']+)["'][ \t]*$`)
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
}

// include returns body with its includes expanded. base is how many lines of the file
// precede body.
func (r *reader) include(file, body string, base int) (string, *includer) {
	n := &includer{
		r:    r,
		file: file,
		left: maxIncluded,
	}
	if !strings.Contains(body, "{{") &&
		!strings.Contains(body, "8<") &&
		!strings.Contains(body, "@include") &&
		!strings.Contains(body, "<<<") {
		return body, n
	}
	var b strings.Builder
	number := base
	for line := range strings.Lines(body) {
		number++
		text := n.line(line, file, number, 0)
		b.WriteString(text)
		for range strings.Count(text, "\n") - strings.Count(line, "\n") {
			n.extra = append(n.extra, n.added)
			n.added++
		}
		n.extra = append(n.extra, n.added)
	}
	return b.String(), n
}

// line returns a line with its includes expanded.
func (n *includer) line(line, file string, number, depth int) string {
	bare := strings.TrimRight(line, "\r\n")
	if m := snippetInclude().FindStringSubmatch(bare); m != nil && n.r.system == "mkdocs" {
		return n.read(line, m[1], file, number, depth)
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
	text, ok := n.text(name, file)
	if !ok || depth >= maxIncludeDepth || len(text) > n.left {
		n.found = append(n.found, finding(ruleInclude, n.r.place(n.file), number, "",
			"%s is not included: it is not in the folder, or too large", name))
		return instead
	}
	n.left -= len(text)
	if isDocument(name) {
		_, text, _, _ = splitFrontMatter(text)
	}
	var b strings.Builder
	for line := range strings.Lines(wantedLines(text, part)) {
		if isDocument(name) {
			line = n.line(line, path.Join(path.Dir(file), name), number, depth+1)
		}
		b.WriteString(line)
	}
	if text = b.String(); text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}

// text returns an included file, whose name is relative to the document, the documents'
// root or the project's root.
func (n *includer) text(name, file string) (string, bool) {
	name = strings.TrimPrefix(name, "@/")
	for _, try := range []string{path.Join(path.Dir(file), name), path.Join(n.r.config.root, name), path.Clean(name)} {
		info, ok := n.r.files[try]
		if ok && info.Size() <= maxIncluded {
			text, err := n.r.text(try)
			return withLineFeeds(decodeMarked(text)), err == nil
		}
	}
	return "", false
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
