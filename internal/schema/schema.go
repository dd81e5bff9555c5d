// Package schema checks JSON texts against JSON Schemas and says what is wrong
// in words that a model can act on.
//
// It exists for the arguments of tools. A schema is compiled once into a plan
// that walks the bytes of each text in a single pass, without decoding them into
// Go values; a valid text costs no allocation. Problems are searched for, and
// worded, only once a text has turned out to be invalid:
//
//	s, err := schema.Compile(tool.InputSchema)
//	err = s.Validate(arguments)
//	// unit: must be one of "celsius", "fahrenheit" (got "kelvin"); days: required
//
// Schemas come from strangers, as texts do. Their size and nesting are limited,
// a $ref never leaves the schema, one that leads back to itself is refused when
// compiling, and the work spent on one text has a bound.
//
// Understood are the 2020-12 dialect, which is the default, and draft-07, except
// $dynamicRef and, as the specifications allow, without asserting format and the
// content keywords. Beyond what they demand, numbers are compared exactly
// whatever their size, and a member name given twice is a problem.
package schema

import (
	"bytes"
	"errors"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// Limits of a schema. One that exceeds them does not compile.
const (
	MaxBytes      = 1 << 20 // the length of its text
	MaxDepth      = 64      // subschemas within subschemas
	MaxSubschemas = 10_000  // all subschemas together
)

// Schema is a compiled schema. It is immutable and safe for concurrent use.
type Schema struct {
	root  *node
	notes []string
}

// Notes are one-line remarks on parts of the schema that cannot be checked and
// are taken as fulfilled: patterns that need an ECMAScript feature which a
// matcher of linear time does not have, such as a lookahead.
func (s *Schema) Notes() []string { return append([]string(nil), s.notes...) }

// Validate reports with a nil error that doc is one JSON value in UTF-8 that the
// schema accepts. Otherwise the error is an [*Error].
func (s *Schema) Validate(doc []byte) error {
	w := walker{doc: doc, budget: budgetFor(doc), quiet: 1}
	end, err := w.value(s.root, 0, 0)
	if err == nil {
		if end = jsonscan.Space(doc, end); end == len(doc) {
			return nil
		}
	}
	return s.explain(doc)
}

// explain walks an invalid doc a second time to find all of its problems.
func (s *Schema) explain(doc []byte) *Error {
	if err := jsonscan.Valid(doc); err != nil {
		return &Error{Problems: []Problem{{Message: "not valid JSON: " + err.Error()}}}
	}
	w := walker{doc: doc, budget: budgetFor(doc)}
	_, err := w.value(s.root, 0, 0)
	if errors.Is(err, errBudget) {
		w.problems = append(w.problems, Problem{Message: "too much work to check against the schema"})
	}
	return &Error{Problems: w.problems, More: w.more}
}

// budgetFor is how much work a text may cause in units of about a nanosecond,
// beyond the first walk over it. It grows with the text so that the cost stays
// linear; without it, a schema whose branches refer to itself twice takes a time
// exponential in the nesting of the text.
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

// kindOf tells the type of the value that begins with c. Every number is a
// kindNumber here; 0 means that no value begins so.
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

// node is a compiled schema object. A nil *node accepts everything, and so does
// the zero node.
type node struct {
	never bool  // the schema false
	types kinds // 0 stands for all

	enum   *enumRule
	number *numberRules
	text   *textRules
	object *objectRules
	array  *arrayRules
	apply  *applyRules

	// unsure marks a node whose acceptance proves little, because something
	// in it could not be checked; its refusal is certain.
	unsure bool
}

// enumRule is the enum keyword, or const as an enum of one.
type enumRule struct {
	values []literal
	// texts, if not nil, is the set of all string values.
	texts map[string]struct{}
}

// literal is a value that stands in the schema.
type literal struct {
	raw  []byte
	kind kinds
	text []byte // a string, decoded
}

type numberRules struct {
	bounds   []bound
	multiple *divisor
}

// bound is one of minimum, maximum, exclusiveMinimum and exclusiveMaximum.
type bound struct {
	decimal
	text, words string
	beyond      int  // what comparing a number beyond the bound with it yields
	strict      bool // the bound itself is beyond it
}

type textRules struct {
	min, max int // in code points; max < 0 stands for none
	pattern  *pattern
}

type arrayRules struct {
	prefix                   []*node
	items                    *node
	hasItems                 bool
	rest                     *node // draft-07's additionalItems
	min, max                 int
	unique                   bool
	contains                 *node
	hasContains              bool
	minContains, maxContains int
	unevaluated              *node
	hasUnevaluated           bool
}

type objectRules struct {
	names  []name
	index  map[string]int // from name to its place in names, if they are many
	hidden bool           // a key of patternProperties cannot be checked

	patterns      []patternProperty
	additional    *node
	hasAdditional bool
	propertyNames *node
	min, max      int
	needs         []dependency

	unevaluated    *node
	hasUnevaluated bool
}

// name is a member that the schema mentions.
type name struct {
	text     string
	schema   *node
	declared bool // in properties
	required bool
}

type patternProperty struct {
	pattern *pattern
	schema  *node
}

// dependency is what the member at names[on] brings along.
type dependency struct {
	on      int
	members []int // in names
	schema  *node
}

// applyRules are the keywords that apply other schemas to the same value.
type applyRules struct {
	ref                 *node
	all, any, one       []*node
	hasAny, hasOne      bool
	not, when, then, or *node
	hasNot, hasIf       bool
}

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
			if v := &e.values[i]; v.kind == kindString && bytes.Equal(v.text, text) {
				return true
			}
		}
		return false
	}
	for i := range e.values {
		if v := &e.values[i]; v.kind == kind && equal(v.raw, raw) {
			return true
		}
	}
	return false
}
