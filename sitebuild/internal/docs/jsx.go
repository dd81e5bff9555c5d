package docs

import (
	"strings"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/internal/lazyregexp"
)

// tag is a tag of JSX.
type tag struct {
	// name is that of the element or component; empty for a fragment.
	name       string
	attributes map[string]string // texts; expressions include their braces
	// closing marks </a>, alone <a/>; end is the offset after the tag.
	closing, alone bool
	expressions    bool // an attribute is an expression
	end            int
}

// component reports whether the tag is not HTML, or not readable as HTML.
func (t *tag) component() bool {
	if t.name == "" {
		return true
	}
	c := t.name[0]
	return 'A' <= c && c <= 'Z' || strings.Contains(t.name, ".") || t.expressions
}

// parseTag parses the tag whose "<" is at i.
func parseTag(s string, i int) (*tag, bool) {
	t := &tag{attributes: make(map[string]string)}
	j := i + 1
	if j < len(s) && s[j] == '/' {
		t.closing = true
		j++
	}
	start := j
	for j < len(s) && isTagByte(s[j], j == start) {
		j++
	}
	t.name = s[start:j]
	if t.name == "" {
		t.end = j + 1
		return t, j < len(s) && s[j] == '>' // a fragment
	}
	for j < len(s) && j < i+maxExpression {
		switch c := s[j]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			j++
		case c == '>':
			t.end = j + 1
			return t, true
		case c == '/' && j+1 < len(s) && s[j+1] == '>':
			t.alone = true
			t.end = j + 2
			return t, true
		case c == '{':
			end := closingBrace(s, j)
			if end == 0 {
				return nil, false
			}
			t.expressions = true
			j = end
		default:
			if j = t.attribute(s, j); j == 0 {
				return nil, false
			}
		}
	}
	return nil, false
}

// isTagByte reports whether c can be in the name of a tag, as its first byte or a later one.
func isTagByte(c byte, first bool) bool {
	letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
	return letter ||
		!first && ('0' <= c && c <= '9' || c == '.' || c == '-' || c == ':' || c == '_')
}

// attribute parses the attribute at i and returns its end, or 0.
func (t *tag) attribute(s string, i int) int {
	j := i
	for j < len(s) && !strings.ContainsRune(" \t\r\n=>/{\"'<", rune(s[j])) && s[j] < utf8.RuneSelf {
		j++
	}
	if j == i {
		return 0
	}
	name := s[i:j]
	if j >= len(s) || s[j] != '=' {
		t.attributes[name] = "true"
		return j
	}
	if j++; j >= len(s) {
		return 0
	}
	switch s[j] {
	case '"', '\'':
		end := strings.IndexByte(s[j+1:], s[j])
		if end < 0 {
			return 0
		}
		t.attributes[name] = s[j+1 : j+1+end]
		return j + end + 2
	case '{':
		end := closingBrace(s, j)
		if end == 0 {
			return 0
		}
		t.expressions = true
		value := s[j:end]
		if text := literal(strings.TrimSpace(value[1 : len(value)-1])); text != nil {
			value = *text
		}
		t.attributes[name] = value
		return end
	}
	return 0
}

// quotedPath finds the path in an expression such as require('./a.png').default.
var quotedPath = lazyregexp.New("[\"'`]([^\"'`{}$]+\\.\\w+)[\"'`]")

// text returns the first of the attributes that is a plain text.
func (t *tag) text(names ...string) string {
	for _, name := range names {
		value := t.attributes[name]
		if value != "" && value[0] != '{' {
			return strings.Join(strings.Fields(value), " ")
		}
	}
	return ""
}

// component writes what a component displays, as far as its attributes show.
func (c *cleaner) component(t *tag) {
	switch {
	case t.closing:
		c.depth = max(0, c.depth-1)
	case !t.alone:
		c.depth++
	}
	if t.closing {
		n := len(c.links)
		if n > 0 && isLink(t.name) {
			if target := c.links[n-1]; target != "" {
				c.out.WriteString("](" + target + ")")
			}
			c.links = c.links[:n-1]
		}
		return
	}
	src := t.text("src")
	m := quotedPath().FindStringSubmatch(t.attributes["src"])
	if src == "" && m != nil {
		src = m[1]
	}
	target := t.text("to", "href")
	title := t.text("label", "title", "heading", "summary", "name")
	switch {
	case src != "":
		c.out.WriteString("![" + t.text("alt", "title") + "](" + strings.ReplaceAll(src, " ", "%20") + ")")
	case isLink(t.name) && !t.alone:
		if target != "" {
			c.out.WriteString("[")
		}
		c.links = append(c.links, target)
	case target != "" && title != "":
		c.out.WriteString("[" + title + "](" + target + ")")
		c.describe(t)
	case title != "" && t.name != "input" && t.name != "meta":
		c.out.WriteString("**" + title + "**")
		c.describe(t)
	case t.name == "TabItem":
		if value := t.text("value"); value != "" {
			c.out.WriteString("**" + value + "**")
		}
	case t.alone:
		c.out.WriteString(t.text("text"))
	}
}

// describe writes the description of a component after its title.
func (c *cleaner) describe(t *tag) {
	if text := t.text("description"); text != "" {
		c.out.WriteString(": " + text)
	}
}

// isLink reports whether a component is a link.
func isLink(name string) bool {
	return name == "a" || strings.HasSuffix(name, "Link")
}
