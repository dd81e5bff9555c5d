// Package schema validates JSON texts against JSON Schemas and reports errors that a
// model can act on.
//
// It is designed for tool arguments. A schema is compiled once into a plan that checks
// the bytes of each text in a single pass, without decoding them into Go values;
// validating a valid text allocates nothing. Problems are located and worded only once a
// text is known to be invalid:
//
//	s, err := schema.Compile(tool.InputSchema)
//	err = s.Validate(arguments)
//	// unit: must be one of "celsius", "fahrenheit" (got "kelvin"); days: required
//
// Schemas are as untrusted as texts. Their size and nesting are limited, a $ref never
// leaves the schema, one that refers back to itself is rejected when compiling, and the
// work spent on one text is bounded.
//
// The package supports the dialects 2020-12, which is the default, and draft-07, except
// $dynamicRef. As the specifications allow, it does not assert format and the content
// keywords. Beyond the specifications, it compares numbers of any size exactly, and
// reports a repeated member name as a problem.
package schema

import (
	"bytes"

	"github.com/slipway-mcp/slipway/internal/decimal"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// Limits for schemas. A schema that exceeds one does not compile.
const (
	MaxBytes      = 1 << 20 // bytes of text
	MaxDepth      = 64      // nesting of subschemas
	MaxSubschemas = 10_000  // total subschemas
)

// Schema is a compiled schema. It is immutable and safe for concurrent use.
type Schema struct {
	root  *node
	notes []string
}

// Notes returns one-line remarks on parts of the schema that cannot be checked and are
// therefore ignored: patterns with an ECMAScript feature that a linear-time matcher does
// not support, such as a lookahead.
func (s *Schema) Notes() []string {
	return append([]string(nil), s.notes...)
}

// Validate returns nil if doc is one JSON value in UTF-8 that satisfies the schema,
// otherwise an [*Error].
func (s *Schema) Validate(doc []byte) error {
	if s.Accepts(doc) {
		return nil
	}
	return s.explain(doc)
}

// Accepts reports whether [Schema.Validate] returns nil. It allocates nothing.
func (s *Schema) Accepts(doc []byte) bool {
	w := walker{
		doc:    doc,
		budget: budgetFor(doc),
		quiet:  1,
	}
	end, err := w.value(s.root, 0, 0)
	return err == nil && jsonscan.End(doc, end) == nil
}

// AcceptsToken is [Schema.Accepts] for a valid string, number, boolean or null without
// white space around it. It ignores the keywords that apply other schemas, such as anyOf.
func (s *Schema) AcceptsToken(raw []byte) bool {
	w := walker{
		doc:    raw,
		budget: budgetFor(raw),
		quiet:  1,
	}
	kind := kindOf(raw[0])
	w.scalar(s.root, kind, raw)
	if s.root.enum != nil && w.stop == nil {
		w.enum(s.root.enum, kind, span{end: len(raw)})
	}
	return w.stop == nil
}

// AcceptsCount is [Schema.Accepts] for a valid array of count items that satisfy the
// schema: it checks the keywords of the whole array.
func (s *Schema) AcceptsCount(raw []byte, count int) bool {
	rules := s.root.array
	if rules.unique {
		return s.Accepts(raw)
	}
	return count >= rules.min && (rules.max < 0 || count <= rules.max)
}

// explain walks an invalid doc a second time to collect its problems.
func (s *Schema) explain(doc []byte) *Error {
	if err := jsonscan.Valid(doc); err != nil {
		return &Error{Problems: []Problem{{Message: "not valid JSON: " + err.Error()}}}
	}
	w := walker{
		doc:    doc,
		budget: budgetFor(doc),
	}
	_, _ = w.value(s.root, 0, 0)
	if w.stop != nil {
		w.problems = append(w.problems, Problem{Message: "too much work to check against the schema"})
	}
	return &Error{
		Problems: w.problems,
		More:     w.more,
	}
}

// budgetFor returns the work that a text may cause beyond the first pass, in units of
// about a nanosecond. It grows with the text, so the cost stays linear. Without it, a
// schema whose branches refer to itself twice takes time exponential in the nesting of
// the text.
func budgetFor(doc []byte) int { return 4<<20 + 256*len(doc) }

// kinds is a set of JSON types.
type kinds uint8

const (
	kindNull kinds = 1 << iota
	kindBoolean
	kindString
	kindNumber
	kindInteger
	kindArray
	kindObject
)

// kindOf returns the type of a value that begins with c: kindNumber for all numbers, or 0
// if no value begins with c.
func kindOf(c byte) kinds {
	switch {
	case c == '"':
		return kindString
	case c == '{':
		return kindObject
	case c == '[':
		return kindArray
	case c == 't' || c == 'f':
		return kindBoolean
	case c == 'n':
		return kindNull
	case c == '-' || '0' <= c && c <= '9':
		return kindNumber
	}
	return 0
}

// node is a compiled schema object. A nil *node and the zero node accept everything.
type node struct {
	never bool  // the schema false
	types kinds // 0 means all

	enum   *enumRule
	number *numberRules
	text   *textRules
	object *objectRules
	array  *arrayRules
	apply  *applyRules

	// unsure marks a node that cannot be checked completely: it may accept too much, but
	// never rejects wrongly.
	unsure bool
}

// enumRule is the enum keyword, or const as an enum of one.
type enumRule struct {
	values []literal
	// texts, if not nil, is the set of all string values.
	texts map[string]struct{}
}

// literal is a value from the schema.
type literal struct {
	raw  []byte
	kind kinds
	text []byte // the decoded value of a string
}

// numberRules are the keywords for numbers. A number has to pass all bounds.
type numberRules struct {
	bounds   []bound
	multiple *decimal.Divisor
}

// bound is minimum, maximum, exclusiveMinimum or exclusiveMaximum.
type bound struct {
	decimal.Number
	text, words string
	beyond      int  // the result of comparing a number beyond the bound with the bound
	strict      bool // the bound itself is not allowed
}

// textRules are the keywords for strings.
type textRules struct {
	min, max int // in code points; max < 0 means none
	pattern  *pattern
}

// arrayRules are the keywords for arrays. prefix has the schemas of the first items, and items
// that of each later one.
type arrayRules struct {
	prefix                   []*node
	items                    *node
	rest                     *node // draft-07's additionalItems
	min, max                 int   // max < 0 means none, as for maxContains
	unique                   bool
	contains                 *node
	minContains, maxContains int
	unevaluated              *node
}

// objectRules are the keywords for objects. names has all members that any keyword mentions,
// in the order of the schema.
type objectRules struct {
	names  []name
	index  map[string]int // from name to index in names, if there are many
	hidden bool           // a key of patternProperties cannot be checked

	patterns      []patternProperty
	additional    *node
	propertyNames *node
	min, max      int
	needs         []dependency
	unevaluated   *node
}

// name is a member that the schema mentions.
type name struct {
	text     string
	schema   *node
	declared bool // in properties
	required bool
}

// patternProperty is the schema for members whose names match a pattern.
type patternProperty struct {
	pattern *pattern
	schema  *node
}

// dependency is a requirement that applies if the member names[on] is present.
type dependency struct {
	on      int
	members []int // indexes in names
	schema  *node
}

// applyRules are the keywords that apply other schemas to the same value.
type applyRules struct {
	ref                 *node
	all, any, one       []*node
	not, when, then, or *node
}

// find returns the index of a member in names, or -1. Few names are compared one by one, which
// is faster than hashing the key.
func (o *objectRules) find(key []byte) int {
	if o.index != nil {
		if i, ok := o.index[string(key)]; ok {
			return i
		}
		return -1
	}
	for i := range o.names {
		if o.names[i].text == string(key) {
			return i
		}
	}
	return -1
}

// accepts reports whether the string token raw is among the values.
func (e *enumRule) accepts(raw []byte, kind kinds) bool {
	if kind == kindString {
		text, _ := jsonscan.UnquoteBytes(raw)
		if e.texts != nil {
			_, ok := e.texts[string(text)]
			return ok
		}
		for i := range e.values {
			v := &e.values[i]
			if v.kind == kindString && bytes.Equal(v.text, text) {
				return true
			}
		}
		return false
	}
	for i := range e.values {
		v := &e.values[i]
		if v.kind == kind && equal(v.raw, raw) {
			return true
		}
	}
	return false
}
