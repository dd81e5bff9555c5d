package schema

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/nearest"
)

// Error lists the problems of a text, up to a limit.
type Error struct {
	// Problems are in text order; there are between 1 and 16.
	Problems []Problem
	// More counts the problems that are not in Problems.
	More int
}

// Problem is one violation of the schema.
type Problem struct {
	// Path identifies the value, such as "unit" or "items[2].name"; it is empty for the
	// whole text.
	Path string
	// Pointer is Path as a JSON Pointer (RFC 6901). The last step of the pointer to a
	// missing member is its name.
	Pointer string
	// Message states what was expected, and what was found.
	Message string
}

// Error returns all problems on one line.
func (e *Error) Error() string {
	var b strings.Builder
	for i, p := range e.Problems {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(p.String())
	}
	if e.More > 0 {
		fmt.Fprintf(&b, "; and %d more", e.More)
	}
	return b.String()
}

// String returns the path and the message.
func (p Problem) String() string {
	if p.Path == "" {
		return p.Message
	}
	return p.Path + ": " + p.Message
}

const (
	// maxProblems is how many problems of one text are worded. The others are only counted.
	maxProblems = 16
	maxListed   = 20 // values or names in one message
	maxShown    = 64 // bytes of a value or a name
)

// Segment is one step of a path: the name of a member, or an index.
type Segment struct {
	Name string
	// Index is the index in an array plus one, or 0 for a member.
	Index int
}

// PathText formats a path as in [Problem.Path].
func PathText(path []Segment) string {
	var b []byte
	for _, s := range path {
		switch {
		case s.Index > 0:
			b = fmt.Appendf(b, "[%d]", s.Index-1)
		case !isPlain(s.Name):
			b = fmt.Appendf(b, "[%s]", Quote(s.Name))
		case len(b) > 0:
			b = append(b, '.')
			fallthrough
		default:
			b = append(b, s.Name...)
		}
	}
	return string(b)
}

// pointerOf formats a path as in [Problem.Pointer].
func pointerOf(path []Segment) string {
	var b []byte
	for _, s := range path {
		b = append(b, '/')
		if s.Index > 0 {
			b = strconv.AppendInt(b, int64(s.Index-1), 10)
		} else {
			b = append(b, jsonscan.EscapeToken(s.Name)...)
		}
	}
	return string(b)
}

// Locate returns the place of the value at a JSON Pointer in a valid JSON text. For a
// missing member or item, it is the opening bracket of the value that should have it; ok
// is then false.
func Locate(doc []byte, pointer string) (start, end int, ok bool) {
	start = jsonscan.Space(doc, 0)
	for step := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if pointer == "" {
			break
		}
		at := memberAt(doc, start, jsonscan.UnescapeToken(step))
		if at < 0 {
			return start, start + 1, false
		}
		start = at
	}
	end, err := jsonscan.Value(doc, start)
	if err != nil {
		return start, len(doc), false
	}
	return start, end, true
}

// memberAt returns the offset of a member, or of the last one if its name is repeated, or
// of an item, in the value at i; or -1.
func memberAt(doc []byte, i int, step string) int {
	found := -1
	if i >= len(doc) {
		return found
	}
	index := 0
	switch doc[i] {
	case '{':
		_, _ = jsonscan.Object(doc, i, 0, func(key []byte, at int) (int, error) {
			if string(key) == step {
				found = jsonscan.Space(doc, at)
			}
			return jsonscan.Value(doc, at)
		})
	case '[':
		_, _ = jsonscan.Array(doc, i, 0, func(at int) (int, error) {
			if strconv.Itoa(index) == step {
				found = jsonscan.Space(doc, at)
			}
			index++
			return jsonscan.Value(doc, at)
		})
	}
	return found
}

// isPlain reports whether a name needs no quotes in a path.
func isPlain(name string) bool {
	for i, c := range []byte(name) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '_', c == '$':
		case i > 0 && ('0' <= c && c <= '9' || c == '-'):
		default:
			return false
		}
	}
	return name != "" && len(name) <= maxShown
}

// Shorten returns a JSON string or number, truncated if it is long.
func Shorten(raw []byte) string {
	if len(raw) <= maxShown {
		return string(raw)
	}
	end := maxShown
	for end > 0 && !utf8.RuneStart(raw[end]) {
		end--
	}
	cut := strings.TrimRight(string(raw[:end]), `\`) + "…"
	if raw[0] == '"' {
		cut += `"`
	}
	return cut
}

// Describe returns a JSON value as messages show it: shortened, or only its type.
func Describe(raw []byte) string {
	switch kindOf(raw[0]) {
	case kindObject:
		return "an object"
	case kindArray:
		return "an array"
	}
	return Shorten(raw)
}

// Quote returns a text as a JSON string, truncated if it is long.
func Quote(text string) string {
	return Shorten(jsonscan.AppendQuote(nil, text))
}

// kindNames are the types in the order in which messages list them.
var kindNames = [...]struct {
	kind kinds
	word string // in schemas
	text string // in a sentence
}{
	{kindObject, "object", "an object"},
	{kindArray, "array", "an array"},
	{kindString, "string", "a string"},
	{kindInteger, "integer", "an integer"},
	{kindNumber, "number", "a number"},
	{kindBoolean, "boolean", "a boolean"},
	{kindNull, "null", "null"},
}

// texts describes the types of the set.
func (k kinds) texts() []string {
	var texts []string
	for _, name := range kindNames {
		if k&name.kind != 0 {
			texts = append(texts, name.text)
		}
	}
	return texts
}

// alternatives joins texts as in "a, b or c".
func alternatives(texts []string) string {
	if len(texts) < 2 {
		return strings.Join(texts, "")
	}
	last := len(texts) - 1
	return strings.Join(texts[:last], ", ") + " or " + texts[last]
}

// listed joins texts with commas, and states how many it omits.
func listed(texts []string) string {
	if len(texts) <= maxListed {
		return strings.Join(texts, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(texts[:maxListed], ", "),
		len(texts)-maxListed)
}

// counted returns a number with its noun, as in "1 item" or "2 items".
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// describe describes the values that n accepts in a few words, or returns "" if that
// takes more.
func (n *node) describe() string { return n.describeWithin(4) }

// describeWithin is describe that follows at most depth references, since they can be long
// chains.
func (n *node) describeWithin(depth int) string {
	switch {
	case n == nil || depth == 0:
		return ""
	case n.enum != nil && len(n.enum.values) > 0 && len(n.enum.values) <= maxListed:
		return alternatives(n.enum.shown())
	case n.types == kindObject && n.object != nil:
		var required []string
		for _, name := range n.object.names {
			if name.required {
				required = append(required, Quote(name.text))
			}
		}
		if len(required) > 0 && len(required) <= maxListed {
			return "an object with " + strings.Join(required, ", ")
		}
		return "an object"
	case n.types != 0:
		return alternatives(n.types.texts())
	case n.apply != nil && n.apply.ref != nil:
		return n.apply.ref.describeWithin(depth - 1)
	}
	return ""
}

// shown returns the values as messages show them: as JSON, cut to a limit.
func (e *enumRule) shown() []string {
	texts := make([]string, len(e.values))
	for i, v := range e.values {
		texts[i] = Shorten(v.raw)
	}
	return texts
}

// message returns the message for a value that is not among those of e.
func (e *enumRule) message(raw []byte) string {
	values := e.shown()
	found := Describe(raw)
	if text, ok := jsonscan.Unquote(raw); ok {
		if near := nearest.DidYouMean(text, e.strings()); near != "" {
			found += ", did you mean " + Quote(near) + "?"
		}
	}
	switch {
	case len(values) == 0:
		return "no value is accepted (got " + found + ")"
	case len(values) == 1:
		return fmt.Sprintf("must be %s (got %s)", values[0], found)
	}
	return fmt.Sprintf("must be one of %s (got %s)", listed(values), found)
}

// strings returns the values that are strings, decoded, to suggest one of them.
func (e *enumRule) strings() []string {
	var texts []string
	for _, v := range e.values {
		if v.kind == kindString {
			texts = append(texts, string(v.text))
		}
	}
	return texts
}
