package router

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/internal/decimal"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/nearest"
	"github.com/slipway-mcp/slipway/internal/schema"
	"github.com/slipway-mcp/slipway/mcp"
)

// keyword is a struct tag that is a JSON Schema keyword.
type keyword struct {
	name  string
	kinds []kind
	// value returns the keyword's value in the schema for the text of the tag.
	value func(c *compiler, n *node, text string) (json.RawMessage, error)
}

// keywordValue is a keyword in the schema of a node.
type keywordValue struct {
	name  string
	value json.RawMessage
}

// The kinds that the keywords for texts, numbers and lists apply to.
var (
	textKinds   = []kind{kindString, kindText, kindURL}
	numberKinds = []kind{kindInt, kindUint, kindFloat, kindNumber}
	listKinds   = []kind{kindSlice, kindArray}
)

// keywords are all tags that check values, in the order of the schema. The tags "default",
// "example", "title", "doc" and "required" are handled separately.
var keywords = []keyword{
	{"enum", slices.Concat(textKinds, numberKinds), enumValue},
	{"minimum", numberKinds, numberValue},
	{"maximum", numberKinds, numberValue},
	{"exclusiveMinimum", numberKinds, numberValue},
	{"exclusiveMaximum", numberKinds, numberValue},
	{"multipleOf", numberKinds, multipleValue},
	{"minLength", textKinds, countValue},
	{"maxLength", textKinds, countValue},
	{"pattern", textKinds, patternValue},
	{"format", textKinds, formatValue},
	{"minItems", listKinds, countValue},
	{"maxItems", listKinds, countValue},
	{"uniqueItems", listKinds, boolValue},
}

// isOfLists reports whether a keyword applies to a slice itself; the others apply to its
// elements.
func (k *keyword) isOfLists() bool { return k.kinds[0] == kindSlice }

// tags applies the tags of a field.
func (c *compiler) tags(f *field, tag reflect.StructTag) {
	f.docs = docs{
		title:   tag.Get("title"),
		text:    tag.Get("doc"),
		example: tag.Get("example"),
	}
	f.docs.text = cmp.Or(f.docs.text, tag.Get("description"), tag.Get("jsonschema"))
	c.checkTagNames(tag)
	if text := tag.Get("jsonschema"); isInstructions(text) {
		c.fault("jsonschema:%q is not a description: write its keywords as tags, such as enum:\"a,b\"", text)
	}
	kind := pointee(f.node).kind
	if c.output && (kind == kindForeign || kind == kindQuoted) {
		f.docs.example = "" // the tags describe the form of inputs
		return
	}
	c.setHeader(f, tag.Get("header"))
	for i := range keywords {
		if text, ok := tag.Lookup(keywords[i].name); ok {
			c.applyKeyword(f, &keywords[i], text)
		}
	}
	for n := f.node; n != nil; n = n.elem {
		c.checkBounds(n)
	}
	if f.docs.example != "" {
		if _, err := c.literal(f.node, f.docs.example); err != nil {
			c.fault("example:%q: %v", f.docs.example, err)
		}
	}
	if text, ok := tag.Lookup("default"); ok && !c.output {
		c.setDefault(f, text)
	}
}

// applyKeyword adds a keyword to its target, which is copied so that only this field
// changes.
func (c *compiler) applyKeyword(f *field, k *keyword, text string) {
	at := &f.node
	for {
		own := **at
		own.keywords = slices.Clip(own.keywords)
		*at = &own
		isList := own.kind == kindSlice || own.kind == kindArray
		if own.kind != kindPointer && (!isList || k.isOfLists()) {
			break
		}
		at = &own.elem
	}
	target := *at
	if !slices.Contains(k.kinds, target.kind) {
		c.fault("%s:%q does not apply to %v", k.name, text, target.typ)
		return
	}
	value, err := k.value(c, target, text)
	if err == nil {
		err = target.setKeyword(k.name, value)
	}
	if err != nil {
		c.fault("%s:%q: %v", k.name, text, err)
	}
}

// setKeyword adds a keyword, or replaces it, and compiles the check.
func (n *node) setKeyword(name string, value json.RawMessage) error {
	n.keywords = slices.DeleteFunc(slices.Clone(n.keywords), func(k keywordValue) bool {
		return k.name == name
	})
	n.keywords = append(n.keywords, keywordValue{name, value})
	text := []byte{'{'}
	for _, k := range n.keywords {
		text = append(appendMember(text, k.name, k.value), ',')
	}
	check, err := schema.Compile(closeWith(text, '}'))
	n.check = check
	return err
}

// setHeader records the header in which clients repeat an argument, which must be a
// scalar (2026-07-28, "Streamable HTTP").
func (c *compiler) setHeader(f *field, name string) {
	if name == "" {
		return
	}
	switch pointee(f.node).kind {
	case kindString, kindText, kindTime, kindDuration, kindURL, kindBool, kindInt, kindUint:
	default:
		c.fault("header:%q does not apply to %v", name, f.node.typ)
		return
	}
	if !mcp.ValidHeaderName(name) {
		c.fault("header:%q is not the name of a header", name)
	}
	f.header = name
}

// lowBounds and highBounds are the keywords that limit a value, and whether they exclude
// the bound itself. typeRange adds those of the type.
var (
	lowBounds = map[string]bool{
		"minimum":          false,
		"exclusiveMinimum": true,
		"minLength":        false,
		"minItems":         false,
	}
	highBounds = map[string]bool{
		"maximum":          false,
		"exclusiveMaximum": true,
		"maxLength":        false,
		"maxItems":         false,
	}
)

// checkBounds reports bounds that no value is within. The keywords of a node never mix
// numbers, lengths and items.
func (c *compiler) checkBounds(n *node) {
	all := n.keywords
	lowest, highest := n.typeRange()
	if lowest != "" && len(all) > 0 {
		all = append(slices.Clip(all),
			keywordValue{"minimum", json.RawMessage(lowest)},
			keywordValue{"maximum", json.RawMessage(highest)})
	}
	for _, low := range all {
		excludesLow, isLow := lowBounds[low.name]
		for _, high := range all {
			excludesHigh, isHigh := highBounds[high.name]
			if isLow && isHigh &&
				isEmptyRange(low.value, high.value, excludesLow || excludesHigh) {
				c.fault("no %v is within %s %s and %s %s", n.typ, low.name,
					low.value, high.name, high.value)
			}
		}
	}
}

// isEmptyRange reports whether no number is between low and high, which are themselves
// within unless strict is set.
func isEmptyRange(low, high []byte, strict bool) bool {
	from := decimal.Parse(low)
	to := decimal.Parse(high)
	order := from.Compare(&to)
	return order > 0 || order == 0 && strict
}

// typeRange returns the least and greatest values of an integer type, or "".
func (n *node) typeRange() (lowest, highest string) {
	switch n.kind {
	case kindInt:
		unused := 64 - n.bits
		least := int64(math.MinInt64) >> unused
		most := int64(math.MaxInt64) >> unused
		return fmt.Sprint(least), fmt.Sprint(most)
	case kindUint:
		return "0", fmt.Sprint(uint64(math.MaxUint64) >> (64 - n.bits))
	}
	return "", ""
}

// enumValue parses the values with the type of the field, without the keywords that
// precede the tag.
func enumValue(c *compiler, n *node, text string) (json.RawMessage, error) {
	plain := *n
	plain.keywords = nil
	plain.check = nil
	n.enum = nil
	for value := range strings.SplitSeq(text, ",") {
		raw, err := c.literal(&plain, strings.TrimSpace(value))
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(n.enum, func(e json.RawMessage) bool {
			return string(e) == string(raw)
		}) {
			return nil, fmt.Errorf("duplicate %s", raw)
		}
		n.enum = append(n.enum, raw)
	}
	return arrayOf(n.enum), nil
}

// arrayOf returns the values as a JSON array.
func arrayOf(values []json.RawMessage) json.RawMessage {
	array := []byte{'['}
	for _, v := range values {
		array = append(append(array, v...), ',')
	}
	return closeWith(array, ']')
}

// numberValue reads the tag of a keyword whose value is a number. Its digits are kept as
// written.
func numberValue(_ *compiler, _ *node, text string) (json.RawMessage, error) {
	if !isNumber(text) {
		return nil, errors.New("want a number")
	}
	return json.RawMessage(text), nil
}

// multipleValue parses multipleOf, which must be above 0 (JSON Schema validation, section
// 6.2.1).
func multipleValue(c *compiler, n *node, text string) (json.RawMessage, error) {
	value, err := numberValue(c, n, text)
	if err == nil && isEmptyRange([]byte{'0'}, value, true) {
		err = errors.New("want a number above 0")
	}
	return value, err
}

// countValue parses a length or count, of which only digits are valid: 1e2 is a number as
// well, but likely a mistake.
func countValue(_ *compiler, _ *node, text string) (json.RawMessage, error) {
	if text == "" || strings.Trim(text, "0123456789") != "" || !isNumber(text) {
		return nil, errors.New("want a number of at least 0")
	}
	return json.RawMessage(text), nil
}

// boolValue reads the tag of a keyword whose value is true or false.
func boolValue(_ *compiler, _ *node, text string) (json.RawMessage, error) {
	value, err := strconv.ParseBool(text)
	if err != nil {
		return nil, errors.New("want true or false")
	}
	return strconv.AppendBool(nil, value), nil
}

// patternValue reads the tag pattern. One that cannot be checked is a mistake of the author.
func patternValue(_ *compiler, _ *node, text string) (json.RawMessage, error) {
	return quoteJSON(text), schema.CheckPattern(text)
}

// formatValue accepts the formats that the server verifies, and no others, so that a
// misspelt one is not ignored.
func formatValue(_ *compiler, n *node, text string) (json.RawMessage, error) {
	known, ok := schema.Formats()[text]
	if !ok {
		names := slices.Sorted(maps.Keys(schema.Formats()))
		if near := nearest.DidYouMean(text, names); near != "" {
			return nil, fmt.Errorf("unknown format, did you mean %q?", near)
		}
		return nil, errors.New("unknown format")
	}
	n.format = known
	return quoteJSON(text), nil
}

// quoteJSON returns a text as a JSON string.
func quoteJSON(s string) []byte { return jsonscan.AppendQuote(nil, s) }

// appendMember appends a member of an object to dst.
func appendMember(dst []byte, name string, value []byte) []byte {
	dst = append(jsonscan.AppendQuote(dst, name), ':')
	return append(dst, value...)
}
