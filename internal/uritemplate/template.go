// Package uritemplate expands URI templates (RFC 6570, levels 1 to 3) and extracts the
// values from URIs that match them.
//
// Start with [Parse], then use [Template.Expand] and [Template.Match]. Matching is the
// inverse of expansion, including percent-encoding, with two relaxations that servers
// need: a value may be unencoded where that is unambiguous, and query parameters may come
// in any order. It takes time linear in the length of the URI. [Overlap] reports whether
// two templates match the same URI.
package uritemplate

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// MaxBytes is the maximum length of a template, or of a URI to match.
const MaxBytes = 8192

// Template is a parsed template. It is immutable and safe for concurrent use.
type Template struct {
	text  string
	parts []part
	names []string
	match *regexp.Regexp
	// groups describes each group of match.
	groups []group
}

// part is a literal or an expression.
type part struct {
	literal  string // as in URIs
	operator *operator
	names    []string
}

// operator is a row of the table in appendix A of RFC 6570, and the pattern of its
// values.
type operator struct {
	symbol    byte // 0 for simple expansion
	first     string
	separator string
	named     bool
	ifEmpty   string
	reserved  bool // reserved characters are not encoded
	query     bool // parameters in any order
	value     string
}

// Patterns for values in a URI. Simple values may contain more characters than expansion
// produces, because many clients do not encode.
const (
	simpleValue   = `(?:[^/?#%,]|` + escaped + `)*`
	loneValue     = `(?:[^/?#%]|` + escaped + `)*` // may contain commas
	labelValue    = `(?:[^/?#%.]|` + escaped + `)*`
	paramValue    = `(?:[^/?#%;]|` + escaped + `)*`
	reservedValue = `(?:[^%]|` + escaped + `)*`

	escaped = `%[0-9A-Fa-f]{2}`
)

// operators are all operators.
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

// Parse parses a template. In addition to RFC 6570 it supports ":name" as a whole path
// segment, which means "{name}" ([Template.String]).
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
			return "", fmt.Errorf("a URI cannot contain %q", c)
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
	i := slices.IndexFunc(operators, func(o operator) bool {
		return o.symbol == s[0]
	})
	switch {
	case i > 0:
		s = s[1:]
	case strings.IndexByte("=,!@|$()", s[0]) >= 0:
		return part{}, fmt.Errorf("the operator %q is reserved", s[0])
	default:
		i = 0
	}
	p := part{
		operator: &operators[i],
		names:    strings.Split(s, ","),
	}
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

// isName implements section 2.3, without percent-encoding.
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
				return fmt.Errorf("duplicate variable %q", name)
			}
			t.names = append(t.names, name)
		}
	}
	return nil
}

// String returns the template in the notation of RFC 6570.
func (t *Template) String() string { return t.text }

// Names returns the variables in order. The slice must not be modified.
func (t *Template) Names() []string { return t.names }

// Optional reports whether a URI may omit the variable name altogether, rather than
// contain an empty value: query and path parameters.
func (t *Template) Optional(name string) bool {
	for _, p := range t.parts {
		if slices.Contains(p.names, name) {
			return p.operator.named
		}
	}
	return false
}
