package router

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/schema"
)

// maxShown is the number of bytes of a value to quote in a message.
const maxShown = 64

// shown returns a JSON string or number, truncated if it is long.
func shown(raw []byte) string {
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

// found describes a value of any type.
func found(raw []byte) string {
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	}
	return shown(raw)
}

// pathText formats a path as package schema does in its messages.
func pathText(path []segment) string {
	var b []byte
	for _, s := range path {
		switch {
		case s.index > 0:
			b = append(strconv.AppendInt(append(b, '['), int64(s.index-1), 10), ']')
		case isPlain(s.name):
			if len(b) > 0 {
				b = append(b, '.')
			}
			b = append(b, s.name...)
		default:
			b = append(append(append(b, '['), shown(quoteJSON(s.name))...), ']')
		}
	}
	return string(b)
}

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

// explain words all errors in the input that d has decoded. It returns nil if there are
// none.
func (d *decoder) explain(check *schema.Schema) error {
	if !d.failed && len(d.problems) == 0 {
		return nil
	}
	problems := d.problems
	if d.failed {
		stated, more := d.stated(check)
		if len(stated) == 0 && len(problems) == 0 {
			stated = []problem{{d.where, "this value is not accepted"}}
		}
		if problems = append(stated, problems...); more > 0 {
			problems = append(problems, problem{"", fmt.Sprintf("and %d more", more)})
		}
	}
	texts := make([]string, len(problems))
	for i, p := range problems {
		texts[i] = p.text
		if p.path != "" {
			texts[i] = p.path + ": " + p.text
		}
	}
	return errors.New(strings.Join(texts, "; "))
}

// stated returns the violations of the schema, except those of nulls that mean absent,
// and how many were omitted.
func (d *decoder) stated(check *schema.Schema) (problems []problem, more int) {
	var invalid *schema.Error
	if !errors.As(check.Validate(d.doc), &invalid) {
		return nil, 0
	}
	for _, p := range invalid.Problems {
		if !slices.Contains(d.nulls, p.Path) {
			problems = append(problems, problem{p.Path, p.Message})
		}
	}
	return problems, invalid.More
}

// distinctNames scans a value and rejects objects with a repeated name.
func distinctNames(doc []byte, i, depth int) (int, error) {
	if i = jsonscan.Space(doc, i); i >= len(doc) {
		return jsonscan.ValueAt(doc, i, depth)
	}
	switch doc[i] {
	case '{':
		var seen jsonscan.KeySet
		return jsonscan.Object(doc, i, depth, func(key []byte, at int) (int, error) {
			if !seen.Add(key) {
				return at, fmt.Errorf("%q is given twice", key)
			}
			return distinctNames(doc, at, depth+1)
		})
	case '[':
		return jsonscan.Array(doc, i, depth, func(at int) (int, error) {
			return distinctNames(doc, at, depth+1)
		})
	}
	return jsonscan.ValueAt(doc, i, depth)
}
