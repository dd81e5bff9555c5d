// Package uritemplate expands URI templates (RFC 6570, levels 1 to 3) and, the
// other way, finds the values in a URI that a template describes.
//
// Start with [Parse]; then [Template.Expand] and [Template.Match]. Matching is
// the inverse of expansion, percent-encoding included, with what servers need
// beyond it: a value may stand there unencoded if nothing else can be meant,
// and the parameters of a query may come in any order. It takes time linear in
// the length of the URI. [Overlap] says whether two templates claim one URI.
package uritemplate

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// MaxBytes is how long a template or a URI to match may be.
const MaxBytes = 8192

// Template is a parsed template. It is immutable and safe for concurrent use.
type Template struct {
	text  string
	parts []part
	names []string
	match *regexp.Regexp
	// groups says what each group of match is.
	groups []group
}

// part is a literal or an expression.
type part struct {
	literal  string // as it stands in URIs
	operator *operator
	names    []string
}

// operator is a row of the table in appendix A of RFC 6570, and how its
// expansion is recognized.
type operator struct {
	symbol    byte // 0 for simple expansion
	first     string
	separator string
	named     bool
	ifEmpty   string
	reserved  bool // reserved characters stay as they are
	query     bool // parameters, in any order
	value     string
}

// What a value may consist of in a URI. Of a simple value it is more than
// expansion makes, since many clients do not encode.
const (
	simpleValue   = `(?:[^/?#%,]|` + escaped + `)*`
	loneValue     = `(?:[^/?#%]|` + escaped + `)*` // it may hold commas
	labelValue    = `(?:[^/?#%.]|` + escaped + `)*`
	paramValue    = `(?:[^/?#%;]|` + escaped + `)*`
	reservedValue = `(?:[^%]|` + escaped + `)*`

	escaped = `%[0-9A-Fa-f]{2}`
)

// operators is the whole list.
var operators = []operator{
	{symbol: 0, separator: ",", value: simpleValue},
	{symbol: '+', separator: ",", reserved: true, value: reservedValue},
	{symbol: '#', first: "#", separator: ",", reserved: true, value: reservedValue},
	{symbol: '.', first: ".", separator: ".", value: labelValue},
	{symbol: '/', first: "/", separator: "/", value: loneValue},
	{symbol: ';', first: ";", separator: ";", named: true, value: paramValue},
	{symbol: '?', first: "?", separator: "&", named: true, ifEmpty: "=", query: true},
	{symbol: '&', first: "&", separator: "&", named: true, ifEmpty: "=", query: true},
}

// Parse reads a template. Beside RFC 6570 it understands ":name" as a whole
// path segment, which counts as "{name}" ([Template.String]).
func Parse(text string) (*Template, error) {
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("the template is longer than %d bytes", MaxBytes)
	}
	text = colons(text)
	t := &Template{text: text}
	for rest := text; rest != ""; {
		open := strings.IndexAny(rest, "{}")
		if open < 0 {
			open = len(rest)
		}
		if open > 0 {
			literal, err := literalText(rest[:open])
			if err != nil {
				return nil, err
			}
			t.parts = append(t.parts, part{literal: literal})
			rest = rest[open:]
			continue
		}
		end := strings.IndexByte(rest, '}')
		if rest[0] == '}' || end < 0 {
			return nil, errors.New("a brace without its pair")
		}
		p, err := expression(rest[1:end])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", rest[:end+1], err)
		}
		t.parts = append(t.parts, p)
		rest = rest[end+1:]
	}
	if err := t.collect(); err != nil {
		return nil, err
	}
	return t, t.compile()
}

// colons rewrites path segments of the form ":name".
func colons(text string) string {
	if !strings.Contains(text, "/:") {
		return text
	}
	segments := strings.Split(text, "/")
	for i, s := range segments {
		name, ok := strings.CutPrefix(s, ":")
		if i > 0 && ok && isName(name) && !strings.Contains(name, ".") {
			segments[i] = "{" + name + "}"
		}
	}
	return strings.Join(segments, "/")
}

// literalText returns a literal as expansion writes it.
func literalText(s string) (string, error) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c <= ' ', c == 0x7f, strings.IndexByte("\"'<>\\^`|", c) >= 0 && c != '\'':
			return "", fmt.Errorf("%q cannot stand in a URI", c)
		case c == '%' && !isEscape(s, i):
			return "", errors.New("a percent sign must begin an escape such as %20")
		}
	}
	return encode(nil, s, true), nil
}

func expression(s string) (part, error) {
	if s == "" {
		return part{}, errors.New("an empty expression")
	}
	i := slices.IndexFunc(operators, func(o operator) bool { return o.symbol == s[0] })
	switch {
	case i > 0:
		s = s[1:]
	case strings.IndexByte("=,!@|$()", s[0]) >= 0:
		return part{}, fmt.Errorf("the operator %q is reserved", s[0])
	default:
		i = 0
	}
	p := part{operator: &operators[i], names: strings.Split(s, ",")}
	for _, name := range p.names {
		switch {
		case strings.HasSuffix(name, "*") || strings.Contains(name, ":"):
			return part{}, errors.New("modifiers (level 4) are not supported")
		case !isName(name):
			return part{}, fmt.Errorf("%q is not a variable name", name)
		}
	}
	return p, nil
}

// isName follows section 2.3, without percent-encoding.
func isName(s string) bool {
	for label := range strings.SplitSeq(s, ".") {
		if label == "" {
			return false
		}
		for _, c := range []byte(label) {
			if c != '_' && !('0' <= c && c <= '9') && !('a' <= c|0x20 && c|0x20 <= 'z') {
				return false
			}
		}
	}
	return true
}

func (t *Template) collect() error {
	for _, p := range t.parts {
		for _, name := range p.names {
			if slices.Contains(t.names, name) {
				return fmt.Errorf("the variable %q is given twice", name)
			}
			t.names = append(t.names, name)
		}
	}
	return nil
}

// String returns the template in the notation of RFC 6570.
func (t *Template) String() string { return t.text }

// Names returns the variables in their order. The slice must not be changed.
func (t *Template) Names() []string { return t.names }

// Optional reports whether a URI can lack the variable name altogether, rather
// than hold an empty value: those of queries and path parameters.
func (t *Template) Optional(name string) bool {
	for _, p := range t.parts {
		if slices.Contains(p.names, name) {
			return p.operator.named
		}
	}
	return false
}
