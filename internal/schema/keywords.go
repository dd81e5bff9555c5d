package schema

import (
	"errors"
	"fmt"
	"slices"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/nearest"
)

// only2020 and onlyDraft07 are the keywords that only one dialect has; the other ignores them.
var (
	only2020 = []string{"$dynamicRef", "prefixItems", "minContains", "maxContains", "unevaluatedItems",
		"unevaluatedProperties", "dependentRequired", "dependentSchemas"}
	onlyDraft07 = []string{"additionalItems", "dependencies"}
)

// keyword compiles one keyword, whose value begins at i, into n.
func (c *compiler) keyword(n *node, key string, i int) (err error) {
	if c.draft07 && slices.Contains(only2020, key) ||
		!c.draft07 && slices.Contains(onlyDraft07, key) {
		return nil
	}
	switch key {
	case "$schema":
		return c.sameDialect(i)
	case "$ref":
		return c.ref(n, i)
	case "$dynamicRef":
		return errors.New("not supported")
	case "$defs", "definitions":
		return c.eachMember(i, func(_ string, at int) error {
			_, err := c.schema(at)
			return err
		})
	case "type":
		return c.types(n, i)
	case "enum":
		return c.enum(n, i)
	case "const":
		n.addEnum(&enumRule{values: []literal{c.literal(i)}})

	case "minimum":
		return c.bound(n, i, bound{
			words:  "at least",
			beyond: -1,
		})
	case "maximum":
		return c.bound(n, i, bound{
			words:  "at most",
			beyond: 1,
		})
	case "exclusiveMinimum":
		return c.bound(n, i, bound{
			words:  "greater than",
			beyond: -1,
			strict: true,
		})
	case "exclusiveMaximum":
		return c.bound(n, i, bound{
			words:  "less than",
			beyond: 1,
			strict: true,
		})
	case "multipleOf":
		return c.multipleOf(n, i)

	case "minLength":
		return c.size(i, &n.textRules().min)
	case "maxLength":
		return c.size(i, &n.textRules().max)
	case "pattern":
		return c.pattern(n, i)

	case "allOf":
		n.applyRules().all, err = c.applied(n, i, n.applyRules().all)
	case "anyOf":
		n.applyRules().any, err = c.applied(n, i, nil)
	case "oneOf":
		n.applyRules().one, err = c.applied(n, i, nil)
	case "not":
		n.applyRules().not, err = c.appliedOne(n, i)
	case "if":
		n.applyRules().when, err = c.appliedOne(n, i)
	case "then":
		n.applyRules().then, err = c.appliedOne(n, i)
	case "else":
		n.applyRules().or, err = c.appliedOne(n, i)

	case "properties":
		return c.properties(n.objectRules(), i)
	case "required":
		return c.required(n.objectRules(), i)
	case "additionalProperties":
		n.objectRules().additional, err = c.schema(i)
	case "patternProperties":
		return c.patternProperties(n.objectRules(), n, i)
	case "propertyNames":
		n.objectRules().propertyNames, err = c.schema(i)
	case "minProperties":
		return c.size(i, &n.objectRules().min)
	case "maxProperties":
		return c.size(i, &n.objectRules().max)
	case "unevaluatedProperties":
		n.objectRules().unevaluated, err = c.schema(i)
	case "dependentRequired", "dependentSchemas", "dependencies":
		return c.dependencies(n.objectRules(), n, key, i)

	case "items":
		return c.items(n.arrayRules(), i)
	case "prefixItems":
		n.arrayRules().prefix, err = c.schemas(i)
	case "minItems":
		return c.size(i, &n.arrayRules().min)
	case "maxItems":
		return c.size(i, &n.arrayRules().max)
	case "uniqueItems":
		return c.unique(n.arrayRules(), i)
	case "contains":
		n.arrayRules().contains, err = c.schema(i)
	case "minContains":
		return c.size(i, &n.arrayRules().minContains)
	case "maxContains":
		return c.size(i, &n.arrayRules().maxContains)
	case "unevaluatedItems":
		n.arrayRules().unevaluated, err = c.schema(i)
	case "additionalItems":
		return c.additionalItems(n.arrayRules(), i)
	}
	return err // nil for an annotation, or an unknown keyword
}

// textRules returns the rules for strings, which it creates without limits on the first call.
// Most nodes have no rules for most types.
func (n *node) textRules() *textRules {
	if n.text == nil {
		n.text = &textRules{max: -1}
	}
	return n.text
}

// numberRules is textRules for numbers.
func (n *node) numberRules() *numberRules {
	if n.number == nil {
		n.number = new(numberRules)
	}
	return n.number
}

// objectRules is textRules for objects.
func (n *node) objectRules() *objectRules {
	if n.object == nil {
		n.object = &objectRules{max: -1}
	}
	return n.object
}

// arrayRules is textRules for arrays. By default, contains needs at least one item.
func (n *node) arrayRules() *arrayRules {
	if n.array == nil {
		n.array = &arrayRules{
			max:         -1,
			minContains: 1,
			maxContains: -1,
		}
	}
	return n.array
}

// applyRules returns the other schemas for the same value.
func (n *node) applyRules() *applyRules {
	if n.apply == nil {
		n.apply = new(applyRules)
	}
	return n.apply
}

// sameDialect rejects a $schema below the root that names another dialect.
func (c *compiler) sameDialect(i int) error {
	uri, err := c.string(i)
	if err != nil {
		return err
	}
	draft07, known := dialects(uri)
	if !known || draft07 != c.draft07 {
		return fmt.Errorf("dialect %s within another", Quote(uri))
	}
	return nil
}

// types compiles the keyword type, which is a name or an array of names.
func (c *compiler) types(n *node, i int) error {
	if c.raw[i] != '[' {
		return c.oneType(n, i)
	}
	if err := c.eachItem(i, func(at int) error {
		return c.oneType(n, at)
	}); err != nil {
		return err
	}
	if n.types == 0 {
		return errors.New("want at least one type")
	}
	return nil
}

// oneType adds the type at i to those that n accepts. An error suggests the nearest name.
func (c *compiler) oneType(n *node, i int) error {
	word, err := c.string(i)
	if err != nil {
		return err
	}
	var words []string
	for _, name := range kindNames {
		if name.word == word {
			n.types |= name.kind
			return nil
		}
		words = append(words, name.word)
	}
	if near := nearest.DidYouMean(word, words); near != "" {
		return fmt.Errorf("unknown type %s, did you mean %q?", Quote(word), near)
	}
	return fmt.Errorf("unknown type %s", Quote(word))
}

// literal returns the value at i in compact form, so that two values with other white space
// compare equal byte by byte.
func (c *compiler) literal(i int) literal {
	raw := c.token(i)
	if !jsonscan.IsCompact(raw) {
		raw = jsonscan.AppendCompact(nil, raw)
	}
	text, _ := jsonscan.UnquoteBytes(raw)
	return literal{
		raw:  raw,
		kind: kindOf(raw[0]),
		text: text,
	}
}

// enum compiles the keyword enum. With more than 8 values, strings are found in a set; below
// that, comparing one by one is faster.
func (c *compiler) enum(n *node, i int) error {
	e := new(enumRule)
	if err := c.eachItem(i, func(at int) error {
		e.values = append(e.values, c.literal(at))
		return nil
	}); err != nil {
		return err
	}
	if len(e.values) > 8 {
		e.texts = make(map[string]struct{}, len(e.values))
		for _, v := range e.values {
			if v.kind == kindString {
				e.texts[string(v.text)] = struct{}{}
			}
		}
	}
	n.addEnum(e)
	return nil
}

// addEnum adds e. If both enum and const are present, both apply.
func (n *node) addEnum(e *enumRule) {
	if n.enum == nil {
		n.enum = e
		return
	}
	a := n.applyRules()
	a.all = append(a.all, &node{enum: e})
}

// bound adds a limit for numbers. b has its words and direction; the value comes from i.
func (c *compiler) bound(n *node, i int, b bound) error {
	d, err := c.number(i)
	if err != nil {
		return err
	}
	b.Number = d
	b.text = Shorten(c.token(i))
	r := n.numberRules()
	r.bounds = append(r.bounds, b)
	return nil
}

// multipleOf compiles the divisor of numbers. It has to be positive, and its digits have to
// fit into 64 bits.
func (c *compiler) multipleOf(n *node, i int) error {
	d, err := c.number(i)
	if err != nil {
		return err
	}
	if d.Sign() <= 0 {
		return fmt.Errorf("want a number greater than 0, got %s", c.got(i))
	}
	v, ok := d.Divisor()
	if !ok {
		return fmt.Errorf("%s has too many digits", c.got(i))
	}
	v.Text = Shorten(c.token(i))
	n.numberRules().multiple = &v
	return nil
}

// pattern compiles a pattern. It skips one that cannot be checked, with a note: real
// schemas contain lookaheads, and their tools should work.
func (c *compiler) pattern(n *node, i int) error {
	source, err := c.string(i)
	if err != nil {
		return err
	}
	p, err := c.compilePattern(source)
	if err != nil {
		c.note("pattern %s is not checked: %v", Quote(source), err)
		n.unsure = true
		return nil
	}
	n.textRules().pattern = p
	return nil
}

// applied appends to nodes the schemas of the array at i, which apply to the same value as
// n.
func (c *compiler) applied(n *node, i int, nodes []*node) ([]*node, error) {
	added, err := c.schemas(i)
	for _, sub := range added {
		c.edge(n, sub)
	}
	return append(nodes, added...), err
}

// appliedOne returns the schema at i, which applies to the same value as n.
func (c *compiler) appliedOne(n *node, i int) (*node, error) {
	sub, err := c.schema(i)
	c.edge(n, sub)
	return sub, err
}

// unique compiles uniqueItems.
func (c *compiler) unique(a *arrayRules, i int) error {
	if kindOf(c.raw[i]) != kindBoolean {
		return fmt.Errorf("want true or false, got %s", c.got(i))
	}
	a.unique = c.raw[i] == 't'
	return nil
}

// items compiles a schema for all items or, in draft-07, an array of schemas for the
// first items.
func (c *compiler) items(a *arrayRules, i int) (err error) {
	if c.raw[i] != '[' {
		a.items, err = c.schema(i) // in draft-07, additionalItems has no effect then
		return err
	}
	if !c.draft07 {
		return errors.New("want a schema (2020-12 has prefixItems for an array of them)")
	}
	if a.prefix, err = c.schemas(i); err == nil {
		a.items = a.rest
	}
	return err
}

// additionalItems compiles the keyword of draft-07, which only has an effect after an array
// of schemas in items. Both keywords set it, because either may come first.
func (c *compiler) additionalItems(a *arrayRules, i int) (err error) {
	if a.rest, err = c.schema(i); a.prefix != nil {
		a.items = a.rest
	}
	return err
}

// properties compiles the schemas of the members. A name may already be known from required.
func (c *compiler) properties(o *objectRules, i int) error {
	return c.eachMember(i, func(text string, at int) error {
		sub, err := c.schema(at)
		member := &o.names[o.name(text)]
		member.declared = true
		member.schema = sub
		return err
	})
}

// required marks the names that an object must have.
func (c *compiler) required(o *objectRules, i int) error {
	names, err := c.strings(i)
	for _, text := range names {
		o.names[o.name(text)].required = true
	}
	return err
}

// name returns the index of text in names, and adds it if it is new.
func (o *objectRules) name(text string) int {
	if o.index == nil {
		o.index = make(map[string]int)
	}
	k, ok := o.index[text]
	if !ok {
		k = len(o.names)
		o.index[text] = k
		o.names = append(o.names, name{text: text})
	}
	return k
}

// patternProperties compiles schemas for members whose names match a pattern. A pattern that
// Go cannot match makes n unsure: its members then pass unchecked, and no additional ones
// are rejected.
func (c *compiler) patternProperties(o *objectRules, n *node, i int) error {
	return c.eachMember(i, func(source string, at int) error {
		sub, err := c.schema(at)
		if err != nil {
			return err
		}
		p, err := c.compilePattern(source)
		if err != nil {
			c.note("members named by the pattern %s are not checked: %v", Quote(source), err)
			o.hidden = true
			n.unsure = true
			return nil
		}
		o.patterns = append(o.patterns, patternProperty{p, sub})
		return nil
	})
}

// dependencies compiles dependentRequired, dependentSchemas, and draft-07's dependencies,
// which combines both.
func (c *compiler) dependencies(o *objectRules, n *node, key string, i int) error {
	return c.eachMember(i, func(text string, at int) error {
		d := dependency{on: o.name(text)}
		var err error
		if key == "dependentRequired" || key == "dependencies" && c.raw[at] == '[' {
			var names []string
			names, err = c.strings(at)
			for _, name := range names {
				d.members = append(d.members, o.name(name))
			}
		} else if d.schema, err = c.schema(at); err == nil {
			c.edge(n, d.schema)
		}
		o.needs = append(o.needs, d)
		return err
	})
}
