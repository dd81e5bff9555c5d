package docs

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/internal/js"
	"github.com/slipway-mcp/slipway/internal/lazyregexp"
)

// cleaner removes the parts of a document that are not text: comments, which a reader of
// the page never sees, scripts, shortcodes, and the JSX of MDX. It keeps their line
// breaks, so that line numbers stay correct.
type cleaner struct {
	jsx       bool // components are removed
	modules   bool // imports and exports are removed
	shortcode bool // Hugo shortcodes are removed

	out   strings.Builder
	links []string // targets of link components that are still open
	odd   int      // tags, expressions and statements without an end
	open  []int    // the lines of imports and exports without an end, which are kept, from 0

	// unclosed are the endings that do not occur in the rest of the text, so that each is
	// searched for only once.
	unclosed map[string]bool

	depth  int   // number of open components
	depths []int // depth at the start of each line except the first
}

// maxOdd is how many tags and expressions without an end are searched to the end of the
// text: each such search takes a while.
const maxOdd = 100

// clean returns body without the parts that are not text. Fenced code stays unchanged.
func (c *cleaner) clean(body string) string {
	c.out.Grow(len(body))
	text := 0 // start of the text since the last fence
	for at := 0; at < len(body); {
		line, next := lineAt(body, at)
		mark := fenceMark(line)
		if mark == "" {
			at = next
			continue
		}
		c.text(body[text:at])
		end := fenceEnd(body, next, mark)
		c.keep(body[at:end])
		at = end
		text = end
	}
	c.text(body[text:])
	if !c.jsx {
		return c.out.String()
	}
	return dedent(c.out.String(), c.depths)
}

// keep writes s unchanged.
func (c *cleaner) keep(s string) {
	c.out.WriteString(s)
	c.lines(s)
}

// lines records the depth of the lines that begin in s, for dedent.
func (c *cleaner) lines(s string) {
	if !c.jsx {
		return
	}
	for range strings.Count(s, "\n") {
		c.depths = append(c.depths, c.depth)
	}
}

// dedent removes the common indentation of lines within components, which Markdown would
// treat as code.
func dedent(text string, depths []int) string {
	lines := strings.SplitAfter(text, "\n")
	depth := func(i int) int {
		if i == 0 || i > len(depths) {
			return 0
		}
		return depths[i-1]
	}
	for i := 0; i < len(lines); {
		end := i
		common := -1
		for ; end < len(lines) && depth(end) == depth(i); end++ {
			bare := strings.TrimLeft(lines[end], " \t")
			n := len(lines[end]) - len(bare)
			if strings.TrimSpace(bare) != "" && (common < 0 || n < common) {
				common = n
			}
		}
		for ; i < end; i++ {
			if depth(i) > 0 && common > 0 && len(lines[i]) > common {
				lines[i] = lines[i][common:]
			}
		}
	}
	return strings.Join(lines, "")
}

// lineAt returns the line that begins at i, without its end, and the start of the next
// one.
func lineAt(text string, i int) (line string, next int) {
	end := strings.IndexByte(text[i:], '\n')
	if end < 0 {
		return text[i:], len(text)
	}
	return text[i : i+end], i + end + 1
}

// lineBreaks are the offsets of the line breaks in a text, for computing the line numbers
// of many offsets.
type lineBreaks []int

// breaksOf finds the line breaks in a text.
func breaksOf(text string) lineBreaks {
	breaks := make(lineBreaks, 0, strings.Count(text, "\n"))
	for i := range len(text) {
		if text[i] == '\n' {
			breaks = append(breaks, i)
		}
	}
	return breaks
}

// before returns how many line breaks precede an offset.
func (b lineBreaks) before(at int) int {
	n, _ := slices.BinarySearch(b, at)
	return n
}

// fenceMark returns the mark that opens fenced code on line, or "".
func fenceMark(line string) string {
	bare := strings.TrimLeft(line, " \t>")
	for _, c := range []string{"`", "~"} {
		mark := bare[:len(bare)-len(strings.TrimLeft(bare, c))]
		if len(mark) >= 3 && (c == "~" || !strings.Contains(bare[len(mark):], "`")) {
			return mark
		}
	}
	return ""
}

// fenceEnd returns the end of the fenced code whose first line is at i.
func fenceEnd(text string, i int, mark string) int {
	for i < len(text) {
		line, next := lineAt(text, i)
		bare := strings.TrimSpace(strings.TrimLeft(line, " \t>"))
		if strings.HasPrefix(bare, mark) && strings.Trim(bare, mark[:1]) == "" {
			return next
		}
		i = next
	}
	return i
}

// text writes a piece of text that contains no fenced code.
func (c *cleaner) text(s string) {
	clear(c.unclosed)
	lineStart := true
	statement := 0 // the end of the last import or export
	for i := 0; i < len(s); {
		end := 0
		switch {
		case s[i] == '`':
			end = codeSpan(s, i)
			c.keep(s[i:end])
		case s[i] == '\\' && i+1 < len(s) && s[i+1] < utf8.RuneSelf && s[i+1] != '\n':
			end = i + 2
			c.out.WriteString(s[i:end])
		case s[i] == '<':
			end = c.angle(s, i)
		case s[i] == '{':
			end = c.brace(s, i)
		case c.modules && isModule(s[i:]) && (lineStart && afterBlank(s, i, statement) || i > 0 && i == statement):
			end = c.module(s, i)
			statement = end
		}
		if end == 0 {
			end = c.plainEnd(s, i+1)
			c.keep(s[i:end])
		}
		lineStart = s[end-1] == '\n'
		i = end
	}
}

// plainEnd returns the end of the plain text that goes on at i: where text has something to check.
func (c *cleaner) plainEnd(s string, i int) int {
	special := "`\\<{"
	if c.jsx || c.modules { // a statement may begin on the next line
		if s[i-1] == '\n' {
			return i
		}
		special = "\n`\\<{"
	}
	switch n := strings.IndexAny(s[i:], special); {
	case n < 0:
		return len(s)
	case s[i+n] == '\n':
		return i + n + 1
	default:
		return i + n
	}
}

// blank writes the line breaks of s.
func (c *cleaner) blank(s string) {
	for range strings.Count(s, "\n") {
		c.out.WriteByte('\n')
	}
	c.lines(s)
}

// outsideFences returns text with its lines changed, except those of fenced code.
func outsideFences(text string, change func(line string) string) string {
	var b strings.Builder
	for at := 0; at < len(text); {
		line, next := lineAt(text, at)
		if mark := fenceMark(line); mark != "" {
			next = fenceEnd(text, next, mark)
			b.WriteString(text[at:next])
		} else {
			b.WriteString(change(text[at:next]))
		}
		at = next
	}
	return b.String()
}

// codeSpan returns the end of the code between backticks that begins at i, or of the
// backticks if they are not closed within the paragraph.
func codeSpan(s string, i int) int {
	run := len(s[i:]) - len(strings.TrimLeft(s[i:], "`"))
	for j := i + run; j < len(s); {
		k := strings.IndexAny(s[j:], "`\n")
		if k < 0 {
			break
		}
		j += k
		if s[j] == '\n' {
			if line, _ := lineAt(s, j+1); strings.TrimSpace(line) == "" {
				break
			}
			j++
			continue
		}
		n := len(s[j:]) - len(strings.TrimLeft(s[j:], "`"))
		if n == run {
			return j + n
		}
		j += n
	}
	return i + run
}

// isModule reports whether a line may begin an import or export.
func isModule(line string) bool {
	return strings.HasPrefix(line, "import") || strings.HasPrefix(line, "export")
}

// afterBlank reports whether the line that begins at i is preceded by an empty line, a heading,
// nothing, or only spaces after an import or export that ends at statement.
func afterBlank(s string, i, statement int) bool {
	before := strings.TrimRight(s[:i], " \t\r\n")
	if len(before) <= statement || strings.Count(s[len(before):i], "\n") > 1 {
		return true
	}
	return strings.HasPrefix(before[strings.LastIndexByte(before, '\n')+1:], "#")
}

// module removes the import or export that begins at i and returns its end, or 0 if there is none.
// One without an end is text: it must not take the rest of the page with it.
func (c *cleaner) module(s string, i int) int {
	if c.odd > maxOdd {
		return 0
	}
	n, err := js.ModuleEnd(s[i:])
	switch {
	case errors.Is(err, js.ErrNoEnd):
		c.odd++
		c.open = append(c.open, strings.Count(c.out.String(), "\n"))
		return 0
	case err != nil:
		return 0
	}
	c.blank(s[i : i+n])
	return i + n
}

// hiddenTags matches the start tags of elements whose content is not text.
var hiddenTags = lazyregexp.New(`(?i)^<(script|style)(\s[^>]*)?>`)

// angle handles the markup that begins with the "<" at i and returns its end, or 0 if the
// "<" is ordinary text.
func (c *cleaner) angle(s string, i int) int {
	if strings.HasPrefix(s[i:], "<!--") {
		end := c.closing(s, i+4, "-->")
		if end > 0 {
			c.blank(s[i:end])
		}
		return end
	}
	m := hiddenTags().FindStringSubmatch(s[i:min(len(s), i+500)])
	if m != nil {
		if at := c.closing(s, i, "</"+m[1]); at > 0 {
			if end := c.closing(s, at, ">"); end > 0 {
				c.blank(s[i:end])
				return end
			}
		}
	}
	if !c.jsx || c.odd > maxOdd {
		return 0
	}
	t, ok := parseTag(s, i)
	if !ok {
		c.odd++
		return 0
	}
	if !t.component() {
		return 0
	}
	c.component(t)
	c.blank(s[i:t.end])
	return t.end
}

// closing returns the end of the first ending at or after i, ignoring case, or 0. It
// remembers an ending that no longer occurs.
func (c *cleaner) closing(s string, i int, ending string) int {
	ending = strings.ToLower(ending)
	if c.unclosed[ending] {
		return 0
	}
	for at := i; ; at++ {
		next := strings.IndexByte(s[min(at, len(s)):], ending[0])
		if next < 0 || at+next+len(ending) > len(s) {
			break
		}
		at += next
		if end := at + len(ending); strings.EqualFold(s[at:end], ending) {
			return end
		}
	}
	if c.unclosed == nil {
		c.unclosed = make(map[string]bool)
	}
	c.unclosed[ending] = true
	return 0
}

// shortcodes matches Hugo shortcodes; their quoted or bare words are kept for links.
var shortcodes = lazyregexp.New(`^\{\{[<%]\s*/?\s*([\w./-]+)\s*(.*?)\s*/?\s*[>%]\}\}`)

// brace handles the markup that begins with the "{" at i and returns its end, or 0 if the
// "{" is ordinary text.
func (c *cleaner) brace(s string, i int) int {
	if c.shortcode && strings.HasPrefix(s[i:], "{{") {
		m := shortcodes().FindStringSubmatch(s[i:min(len(s), i+2000)])
		if m == nil {
			return 0
		}
		if m[1] == "ref" || m[1] == "relref" {
			c.out.WriteString(strings.Trim(strings.TrimPrefix(m[2], "path="), "\"`'"))
		}
		c.blank(m[0])
		return i + len(m[0])
	}
	if !c.jsx || c.odd > maxOdd {
		return 0
	}
	if i+1 < len(s) && s[i+1] == '#' {
		return 0 // an explicit id of a heading
	}
	end := closingBrace(s, i)
	if end == 0 {
		c.odd++
		return 0
	}
	inner := strings.TrimSpace(s[i+1 : end-1])
	switch {
	case strings.HasPrefix(inner, "/*") && strings.HasSuffix(inner, "*/"):
		id := strings.TrimSpace(strings.Trim(inner, "/*"))
		if strings.HasPrefix(id, "#") && !strings.ContainsAny(id, " \n") {
			c.out.WriteString("{" + id + "}") // an explicit id in the form of newer MDX
		}
	case literal(inner) != nil:
		c.keep(*literal(inner))
		return end
	default:
		c.keep(s[i:end])
		return end
	}
	c.blank(s[i:end])
	return end
}

// literal returns the text of a JavaScript expression that is a plain string literal, or
// nil.
func literal(expression string) *string {
	if n := len(expression); n >= 2 {
		q := expression[0]
		inner := expression[1 : n-1]
		if (q == '"' || q == '\'' || q == '`') &&
			expression[n-1] == q &&
			!strings.ContainsAny(inner, string(q)+"\\$") {
			return &inner
		}
	}
	return nil
}

// maxExpression bounds an expression in JSX.
const maxExpression = 20_000

// closingBrace returns the end of the expression whose "{" is at i, or 0.
func closingBrace(s string, i int) int {
	depth := 0
	for j := i; j < len(s) && j < i+maxExpression; j++ {
		switch s[j] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return j + 1
			}
		case '"', '\'', '`':
			if end := quoteEnd(s, j); end > 0 {
				j = end - 1
			}
		}
	}
	return 0
}

// quoteEnd returns the end of the quoted text that begins at i, or 0.
func quoteEnd(s string, i int) int {
	for j := i + 1; j < len(s) && j < i+maxExpression; j++ {
		switch {
		case s[j] == '\\':
			j++
		case s[j] == s[i]:
			return j + 1
		case s[j] == '\n' && s[i] != '`':
			return 0
		}
	}
	return 0
}
