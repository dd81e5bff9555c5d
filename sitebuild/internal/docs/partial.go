package docs

import (
	"errors"
	"path"
	"path/filepath"
	"strings"

	"github.com/slipway-mcp/slipway/internal/js"
	"github.com/slipway-mcp/slipway/internal/lazyregexp"
)

// A partial of MDX is a document that another one imports and shows as a component:
//
//	import Part from './_part.mdx';
//	<Part name="a" />

// partialImport matches the import of a document.
var partialImport = lazyregexp.New(`^import\s+([A-Z][\w$]*)\s+from\s+["']([^"'\n]+\.mdx?)["']`)

// hasModules reports whether the lines of a file may be imports and exports.
func (n *includer) hasModules(file string) bool {
	return path.Ext(file) == ".mdx" || n.r.system == "docusaurus"
}

// partials returns the documents that text imports, by the names of their components.
func (n *includer) partials(text, file string) map[string]string {
	if !n.hasModules(file) || !strings.Contains(text, "import") {
		return nil
	}
	var parts map[string]string
	odd := 0 // imports without an end, each of which is searched for one
	for at := 0; at < len(text) && odd <= maxOdd; {
		line, next := lineAt(text, at)
		if mark := fenceMark(line); mark != "" {
			at = fenceEnd(text, next, mark)
			continue
		}
		if !strings.HasPrefix(line, "import") {
			at = next
			continue
		}
		if m := partialImport().FindStringSubmatch(text[at:min(len(text), at+1000)]); m != nil {
			if parts == nil {
				parts = make(map[string]string)
			}
			parts[m[1]] = m[2]
		}
		switch end, err := js.ModuleEnd(text[at:]); {
		case err == nil:
			next = at + end // several may be on a line
		case errors.Is(err, js.ErrNoEnd):
			odd++
		}
		at = next
	}
	return parts
}

// components returns the line of text at i, or the lines that its tags extend over, with the
// components of partials replaced by their documents, and the end of these lines. The end is 0 if
// there is no such component.
func (n *includer) components(
	text string, i int, file string, parts map[string]string, number, depth int,
) (string, int) {
	_, end := lineAt(text, i)
	var b strings.Builder
	done := i
	within := false
	for at := i; at < end; at++ {
		switch {
		case text[at] == '`':
			at = codeSpan(text, at) - 1
			continue
		case strings.HasPrefix(text[at:], "{/*"):
			close := strings.Index(text[at:end], "*/")
			if close < 0 {
				close = end - at // the rest is a comment
			}
			at += close
			continue
		case text[at] != '<' || parts[tagName(text[at+1:])] == "" || n.odd > maxOdd:
			continue
		}
		t, ok := parseTag(text, at)
		if !ok {
			n.odd++
			continue
		}
		before := text[done:at]
		if done == i {
			rest, _ := lineAt(text, t.end)
			within = strings.TrimSpace(stripTags(before+rest)) != "" // more than tags
		}
		indent := ""
		if strings.TrimSpace(before) == "" && strings.LastIndexByte(before, '\n') < 0 {
			indent = before
		}
		b.WriteString(strings.TrimSuffix(before, indent))
		part := n.partial(parts[t.name], t, file, number, depth)
		one, inline := "", part == ""
		if within && !inline {
			one, inline = oneParagraph(part)
		}
		if inline {
			b.WriteString(indent + one)
		} else {
			b.WriteString("\n\n" + n.indented(part, indent) + "\n\n")
		}
		done = t.end
		at = t.end - 1
		if done > end {
			_, end = lineAt(text, done)
		}
	}
	if done == i {
		return "", 0
	}
	b.WriteString(text[done:end])
	return b.String(), end
}

// tagName returns the name of the opening tag whose "<" precedes text.
func tagName(text string) string {
	n := 0
	for n < min(len(text), maxTagName) && isTagByte(text[n], n == 0) {
		n++
	}
	return text[:n]
}

// maxTagName bounds the name of a component in bytes.
const maxTagName = 100

// blockLine matches the beginning of a line that is more than the text of a paragraph.
var blockLine = lazyregexp.New("^(?:\t|    |[ \t]*(?:$|#|[-+*][ \t]|[>|<{]|[0-9]+[.)][ \t]|```|~~~|:::|--|==))")

// oneParagraph returns a text as one line if it is a paragraph.
func oneParagraph(text string) (string, bool) {
	var lines []string
	for line := range strings.Lines(text) {
		if blockLine().MatchString(strings.TrimRight(line, "\n")) {
			return "", false
		}
		lines = append(lines, strings.TrimSpace(line))
	}
	return strings.Join(lines, " "), true
}

// partial returns the document of a component.
func (n *includer) partial(name string, t *tag, file string, number, depth int) string {
	n.used = true
	text, actual, ok := n.document(name, file)
	if !ok || depth >= maxIncludeDepth || len(text) > n.left {
		n.missing(name, number)
		return ""
	}
	n.left -= len(text)
	_, text, _, _ = splitFrontMatter(text)
	text = n.nested(text, actual, number, depth)
	text = (&cleaner{modules: true}).clean(text) // its statements, which may be indented below
	if text, ok = n.withProps(text, t.attributes); !ok {
		n.missing(name, number)
		return ""
	}
	return strings.Trim(relinked(text, path.Dir(actual), path.Dir(file)), "\n")
}

// indented returns text with its lines indented, except empty ones, unless that is too large.
func (n *includer) indented(text, indent string) string {
	size := len(indent) * (strings.Count(text, "\n") + 1)
	if indent == "" || size > n.left {
		return text
	}
	n.left -= size
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			b.WriteString(indent)
		}
		b.WriteString(line)
	}
	return b.String()
}

// missing reports a file that cannot be included.
func (n *includer) missing(name string, number int) {
	hint := ""
	if n.r.config.folder != "" {
		hint = "if it is outside of the folder, build from the one with " + path.Base(n.r.config.file)
	}
	n.found = append(n.found, finding(ruleInclude, n.r.place(n.file), number, hint,
		"%s is not included: it is not in the folder, or too large", name))
}

// propertyUse matches the use of a property, by its name.
var propertyUse = lazyregexp.New(`\{props\.([^\s{}]+)\}`)

// withProps replaces {props.NAME} by the attribute of that name, if that is a text, and reports whether
// the result is not too large.
func (n *includer) withProps(text string, attributes map[string]string) (string, bool) {
	if len(attributes) == 0 || !strings.Contains(text, "{props.") {
		return text, true
	}
	var b strings.Builder
	done := 0
	for _, m := range propertyUse().FindAllStringSubmatchIndex(text, -1) {
		value := attributes[text[m[2]:m[3]]]
		if value == "" || value[0] == '{' {
			continue
		}
		if len(value) > n.left {
			return "", false
		}
		n.left -= len(value)
		b.WriteString(text[done:m[0]] + value)
		done = m[1]
	}
	return b.String() + text[done:], true
}

// relativeLink matches the target of a link or picture in Markdown that may be relative.
var relativeLink = lazyregexp.New(`(\]\(\s*<?|(?m:^[ \t]{0,3}\[[^\]\n]+\]:[ \t]+<?))` +
	`([^\s()<>#:/?][^\s()<>#:?]*)([\s()>#?]|$)`)

// relinked returns text of the folder from with its relative links as those of the folder to.
func relinked(text, from, to string) string {
	if from == to || !strings.Contains(text, "]") {
		return text
	}
	return outsideFences(text, func(line string) string {
		return relativeLink().ReplaceAllStringFunc(line, func(link string) string {
			m := relativeLink().FindStringSubmatch(link)
			rel, err := filepath.Rel(filepath.FromSlash(to), filepath.FromSlash(path.Join(from, m[2])))
			if err != nil {
				return link
			}
			return m[1] + filepath.ToSlash(rel) + m[3]
		})
	})
}
