package router

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/nearest"
	"github.com/slipway-mcp/slipway/internal/schema"
	"github.com/slipway-mcp/slipway/mcp"
)

// rules are the constraints on a value beyond its type.
type rules struct {
	enum  []json.RawMessage // in the author's order
	texts map[string]bool   // the strings of enum

	bounds   []bound
	multiple *big.Rat
	multText string
	// low and high, and ulow and uhigh, are the bounds as integers, inclusive.
	low, high   int64
	ulow, uhigh uint64

	minLength, maxLength int // in code points; maxLength < 0 means none
	pattern              *regexp.Regexp
	format, formatText   string
	ofFormat             func(string) bool

	minItems, maxItems int            // maxItems < 0 means none
	unique             *schema.Schema // uniqueItems, or nil
}

// bound is one of the four keywords that limit a number.
type bound struct {
	keyword, text string
	value         *big.Rat
	float         float64
	upper, strict bool
}

func newRules() *rules {
	return &rules{low: math.MinInt64, high: math.MaxInt64, uhigh: math.MaxUint64, maxLength: -1, maxItems: -1}
}

func (r *rules) setTexts(values []string) {
	*r = *newRules()
	r.texts = make(map[string]bool, len(values))
	for _, v := range values {
		r.texts[v] = true
		r.enum = append(r.enum, quoteJSON(v))
	}
}

func quoteJSON(s string) []byte { return jsonscan.AppendQuote(nil, s) }

// keyword is a struct tag that is a JSON Schema keyword.
type keyword struct {
	name  string
	kinds []kind
	// list marks a keyword that applies to a slice itself; the others apply to its elements.
	list bool
	set  func(c *compiler, n *node, r *rules, text string) error
}

var (
	textKinds   = []kind{kindString, kindText, kindURL}
	numberKinds = []kind{kindInt, kindUint, kindFloat, kindNumber}
	listKinds   = []kind{kindSlice, kindArray}
)

// keywords returns all tags that check values. The tags "default", "example", "title",
// "doc" and "required" are handled separately.
func keywords() []keyword {
	return []keyword{
		{name: "enum", kinds: slices.Concat(textKinds, numberKinds), set: setEnum},
		{name: "minimum", kinds: numberKinds, set: setBound("minimum", false, false)},
		{name: "maximum", kinds: numberKinds, set: setBound("maximum", true, false)},
		{name: "exclusiveMinimum", kinds: numberKinds, set: setBound("exclusiveMinimum", false, true)},
		{name: "exclusiveMaximum", kinds: numberKinds, set: setBound("exclusiveMaximum", true, true)},
		{name: "multipleOf", kinds: numberKinds, set: setMultiple},
		{name: "minLength", kinds: textKinds, set: setCount(func(r *rules) *int { return &r.minLength })},
		{name: "maxLength", kinds: textKinds, set: setCount(func(r *rules) *int { return &r.maxLength })},
		{name: "pattern", kinds: textKinds, set: setPattern},
		{name: "format", kinds: textKinds, set: setFormat},
		{name: "minItems", kinds: listKinds, list: true, set: setCount(func(r *rules) *int { return &r.minItems })},
		{name: "maxItems", kinds: listKinds, list: true, set: setCount(func(r *rules) *int { return &r.maxItems })},
		{name: "uniqueItems", kinds: listKinds, list: true, set: setUnique},
	}
}

// tags applies the tags of a field.
func (c *compiler) tags(f *field, tag reflect.StructTag) {
	f.docs = docs{title: tag.Get("title"), text: tag.Get("doc"), example: tag.Get("example")}
	f.docs.text = cmp.Or(f.docs.text, tag.Get("description"), tag.Get("jsonschema"))
	c.misspelt(tag)
	if text := tag.Get("jsonschema"); isInstructions(text) {
		c.fault("jsonschema:%q is not a description: write its keywords as tags, such as enum:\"a,b\"", text)
	}
	if c.output && ownForm(f.node) {
		f.docs.example = "" // the tags describe the form of inputs
		return
	}
	c.setHeader(f, tag.Get("header"))
	for _, k := range keywords() {
		if text, ok := tag.Lookup(k.name); ok {
			c.apply(f, k, text)
		}
	}
	c.consistent(f.node)
	if f.docs.example != "" {
		if _, err := c.literal(f.node, f.docs.example); err != nil {
			c.fault("example:%q: %v", f.docs.example, err)
		}
	}
	if text, ok := tag.Lookup("default"); ok && !c.output {
		c.setDefault(f, text)
	}
}

// ownForm reports whether outputs of n have another form than inputs.
func ownForm(n *node) bool {
	n = pointee(n)
	return n.kind == kindForeign || n.kind == kindQuoted
}

// apply adds a keyword to the rules of its target.
func (c *compiler) apply(f *field, k keyword, text string) {
	target := c.target(f, k)
	if !slices.Contains(k.kinds, target.kind) {
		c.fault("%s:%q does not apply to %v", k.name, text, target.typ)
		return
	}
	if target.rules == nil {
		target.rules = newRules()
	}
	if err := k.set(c, target, target.rules, text); err != nil {
		c.fault("%s:%q: %v", k.name, text, err)
	}
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

// target returns the node that a keyword applies to, copied so that only this field
// changes.
func (c *compiler) target(f *field, k keyword) *node {
	at := &f.node
	for {
		own := **at
		if own.rules != nil {
			copied := *own.rules
			own.rules = &copied
		}
		*at = &own
		switch {
		case own.kind == kindPointer, !k.list && (own.kind == kindSlice || own.kind == kindArray):
			at = &own.elem
		default:
			return *at
		}
	}
}

// consistent reports rules that no value can satisfy.
func (c *compiler) consistent(n *node) {
	for ; n != nil; n = n.elem {
		r := n.rules
		if r == nil {
			continue
		}
		if r.maxLength >= 0 && r.minLength > r.maxLength {
			c.fault("minLength %d is above maxLength %d", r.minLength, r.maxLength)
		}
		if r.maxItems >= 0 && r.minItems > r.maxItems {
			c.fault("minItems %d is above maxItems %d", r.minItems, r.maxItems)
		}
		c.boundsMeet(r)
	}
}

func (c *compiler) boundsMeet(r *rules) {
	for _, low := range r.bounds {
		for _, high := range r.bounds {
			if low.upper || !high.upper {
				continue
			}
			if d := low.value.Cmp(high.value); d > 0 || d == 0 && (low.strict || high.strict) {
				c.fault("no number is within %s %s and %s %s", low.keyword, low.text, high.keyword, high.text)
			}
		}
	}
}

func setEnum(c *compiler, n *node, r *rules, text string) error {
	r.enum, r.texts = nil, nil
	plain := *n
	plain.rules = nil
	for value := range strings.SplitSeq(text, ",") {
		value = strings.TrimSpace(value)
		raw, err := c.literal(&plain, value)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(r.enum, func(e json.RawMessage) bool { return string(e) == string(raw) }) {
			return fmt.Errorf("%s stands there twice", raw)
		}
		r.enum = append(r.enum, raw)
		if n.kind.stringly() {
			if r.texts == nil {
				r.texts = make(map[string]bool)
			}
			r.texts[value] = true
		}
	}
	return nil
}

func parseNumber(text string) (*big.Rat, error) {
	if jsonscan.Valid([]byte(text)) != nil || text[0] != '-' && (text[0] < '0' || text[0] > '9') {
		return nil, fmt.Errorf("want a number")
	}
	value, ok := exact([]byte(text))
	if !ok {
		return nil, fmt.Errorf("the number is out of range")
	}
	return value, nil
}

// exact returns the value of a JSON number. ok is false if its exponent is out of range
// for every Go number: such a text must not make us allocate a huge one.
func exact(raw []byte) (value *big.Rat, ok bool) {
	if len(raw) > 4096 {
		return nil, false
	}
	if i := slices.IndexFunc(raw, func(c byte) bool { return c == 'e' || c == 'E' }); i >= 0 {
		exponent, err := strconv.Atoi(string(raw[i+1:]))
		if err != nil || exponent > 5000 || exponent < -5000 {
			return nil, false
		}
	}
	return new(big.Rat).SetString(string(raw))
}

func setBound(name string, upper, strict bool) func(*compiler, *node, *rules, string) error {
	return func(_ *compiler, n *node, r *rules, text string) error {
		value, err := parseNumber(text)
		if err != nil {
			return err
		}
		float, _ := value.Float64()
		r.bounds = append(slices.Clip(r.bounds), bound{name, text, value, float, upper, strict})
		switch n.kind {
		case kindInt:
			return r.narrow(upper, strict, value)
		case kindUint:
			return r.narrowUnsigned(upper, strict, value)
		}
		return nil
	}
}

// nearestInside returns the integer closest to a bound that satisfies it.
func nearestInside(upper, strict bool, value *big.Rat) *big.Int {
	floor := new(big.Int).Div(value.Num(), value.Denom()) // rounds towards minus infinity
	switch {
	case upper && strict && value.IsInt():
		return floor.Sub(floor, big.NewInt(1))
	case upper:
		return floor
	case value.IsInt() && !strict:
		return floor
	}
	return floor.Add(floor, big.NewInt(1))
}

func (r *rules) narrow(upper, strict bool, value *big.Rat) error {
	limit := nearestInside(upper, strict, value)
	switch {
	case limit.IsInt64() && upper:
		r.high = min(r.high, limit.Int64())
	case limit.IsInt64():
		r.low = max(r.low, limit.Int64())
	case upper == (limit.Sign() < 0):
		return fmt.Errorf("no value of the field's type is within")
	}
	return nil
}

func (r *rules) narrowUnsigned(upper, strict bool, value *big.Rat) error {
	limit := nearestInside(upper, strict, value)
	switch {
	case limit.IsUint64() && upper:
		r.uhigh = min(r.uhigh, limit.Uint64())
	case limit.IsUint64():
		r.ulow = max(r.ulow, limit.Uint64())
	case upper == (limit.Sign() < 0):
		return fmt.Errorf("no value of the field's type is within")
	}
	return nil
}

func setMultiple(_ *compiler, _ *node, r *rules, text string) error {
	value, err := parseNumber(text)
	if err == nil && value.Sign() <= 0 {
		err = fmt.Errorf("want a number above 0")
	}
	r.multiple, r.multText = value, text
	return err
}

func setCount(which func(*rules) *int) func(*compiler, *node, *rules, string) error {
	return func(_ *compiler, _ *node, r *rules, text string) error {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return fmt.Errorf("want a number of at least 0")
		}
		*which(r) = n
		return nil
	}
}

func setUnique(_ *compiler, _ *node, r *rules, text string) error {
	unique, err := strconv.ParseBool(text)
	if err != nil {
		return fmt.Errorf("want true or false")
	}
	if unique {
		r.unique, err = schema.Compile([]byte(`{"uniqueItems":true}`))
	}
	return err
}

func setPattern(_ *compiler, _ *node, r *rules, text string) (err error) {
	r.pattern, err = regexp.Compile(text)
	return err
}

func setFormat(_ *compiler, n *node, r *rules, text string) error {
	all := schema.Formats()
	known, ok := all[text]
	if !ok {
		names := slices.Sorted(maps.Keys(all))
		if near := nearest.DidYouMean(text, names); near != "" {
			return fmt.Errorf("unknown format, did you mean %q?", near)
		}
		return fmt.Errorf("unknown format")
	}
	r.format, r.formatText, r.ofFormat = text, known.Text, known.Accepts
	return nil
}

// acceptsText reports whether s satisfies all rules except the format, which is not part
// of the schema check.
func (r *rules) acceptsText(s string) bool {
	if r.texts != nil && !r.texts[s] {
		return false
	}
	if r.minLength > 0 || r.maxLength >= 0 {
		if n := utf8.RuneCountInString(s); n < r.minLength || r.maxLength >= 0 && n > r.maxLength {
			return false
		}
	}
	return r.pattern == nil || r.pattern.MatchString(s)
}

func (r *rules) acceptsInt(value int64, raw []byte) bool {
	return value >= r.low && value <= r.high && r.acceptsRare(raw)
}

func (r *rules) acceptsUint(value uint64, raw []byte) bool {
	return value >= r.ulow && value <= r.uhigh && r.acceptsRare(raw)
}

func (r *rules) acceptsFloat(value float64, raw []byte) bool {
	for i := range r.bounds {
		b := &r.bounds[i]
		switch {
		case b.upper && (value > b.float || b.strict && value == b.float):
			return false
		case !b.upper && (value < b.float || b.strict && value == b.float):
			return false
		}
	}
	return r.acceptsRare(raw)
}

// acceptsExact is for numbers that are kept as text.
func (r *rules) acceptsExact(raw []byte) bool {
	if len(r.bounds) == 0 {
		return r.acceptsRare(raw)
	}
	value, ok := exact(raw)
	if !ok {
		return false
	}
	for i := range r.bounds {
		b := &r.bounds[i]
		d := value.Cmp(b.value)
		if b.strict && d == 0 || b.upper && d > 0 || !b.upper && d < 0 {
			return false
		}
	}
	return r.acceptsRare(raw)
}

// acceptsRare checks the keywords that few numbers have.
func (r *rules) acceptsRare(raw []byte) bool {
	if r.enum == nil && r.multiple == nil {
		return true
	}
	value, ok := exact(raw)
	if !ok {
		return false
	}
	if r.multiple != nil && !new(big.Rat).Quo(value, r.multiple).IsInt() {
		return false
	}
	return r.enum == nil || slices.ContainsFunc(r.enum, func(e json.RawMessage) bool {
		member, ok := exact(e)
		return ok && member.Cmp(value) == 0
	})
}
