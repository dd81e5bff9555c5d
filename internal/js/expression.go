package js

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/internal/order"
	"github.com/slipway-mcp/slipway/internal/tree"
)

// expression evaluates the next expression.
func (r *reader) expression() value {
	defer r.step()()
	cond := r.binary(0)
	if r.peek("?.") || !r.punct("?") {
		return cond
	}
	yes := r.branch(r.dry == 0 && !truthy(cond))
	r.want(":")
	no := r.branch(r.dry == 0 && truthy(cond))
	if truthy(cond) {
		return yes
	}
	return no
}

// branch evaluates or skips an expression.
func (r *reader) branch(skip bool) value {
	if !skip {
		return r.expression()
	}
	r.pass()
	return value{}
}

// operators returns the binary operators by precedence, lowest first.
func operators() [][]string {
	return [][]string{
		{"??", "||"},
		{"&&"},
		{"===", "!=="},
		{"<=", ">=", "<", ">"},
		{"+", "-"},
		{"*", "/", "%"},
	}
}

// binary evaluates operands that are joined by operators of a level or higher ones.
func (r *reader) binary(level int) value {
	if level == len(operators()) {
		return r.cast()
	}
	left := r.binary(level + 1)
	for {
		r.space()
		if r.at >= len(r.text) || strings.IndexByte("?|&=!<>+-*/%", r.text[r.at]) < 0 {
			return left // most expressions have no operators
		}
		at := r.at
		i := slices.IndexFunc(operators()[level], func(o string) bool {
			return r.peek(o) &&
				!r.peek(o+"=") &&
				!r.peek(o+o)
		})
		if i < 0 {
			r.refuseLoose()
			return left
		}
		op := operators()[level][i]
		r.at += len(op)
		settled := op == "??" && !nullish(left) || op == "||" && truthy(left) ||
			op == "&&" && !truthy(left)
		if r.dry > 0 || settled { // the right side has no effect
			r.dry++
			r.binary(level + 1)
			r.dry--
			continue
		}
		left = r.combine(at, op, left, r.binary(level+1))
	}
}

// refuseLoose rejects operators that convert their operands, which definitions do not need.
func (r *reader) refuseLoose() {
	if (r.peek("==") && !r.peek("===")) ||
		(r.peek("!=") && !r.peek("!==")) {
		panic(fail(r.at, "== is not supported because it converts its operands", "compare with ==="))
	}
}

// combine applies an operator to two values. The text that it makes counts against maxText.
func (r *reader) combine(at int, op string, left, right value) value {
	numbers := isKind(left, tree.Number) && isKind(right, tree.Number)
	switch op {
	case "??", "||", "&&":
		return right
	case "===", "!==":
		return boolean(at, same(left, right) == (op == "==="))
	case "+":
		if numbers {
			return numeric(at, number(left)+number(right))
		}
		a, aok := textOf(left)
		b, bok := textOf(right)
		if !aok || !bok {
			panic(fail(at, "only strings and numbers can be added", ""))
		}
		return r.newText(left.node.Start, a+b)
	}
	if !numbers {
		panic(fail(at, fmt.Sprintf("%s requires numbers", op), ""))
	}
	return calculate(at, op, number(left), number(right))
}

// calculate evaluates the operators that only apply to numbers.
func calculate(at int, op string, a, b float64) value {
	var result float64
	switch op {
	case "<":
		return boolean(at, a < b)
	case "<=":
		return boolean(at, a <= b)
	case ">":
		return boolean(at, a > b)
	case ">=":
		return boolean(at, a >= b)
	case "-":
		result = a - b
	case "*":
		result = a * b
	case "/":
		result = a / b
	case "%":
		result = math.Mod(a, b)
	}
	if math.IsNaN(result) || math.IsInf(result, 0) {
		panic(fail(at, "the result is not a finite number", ""))
	}
	return numeric(at, result)
}

// nullish reports whether a value is null or undefined.
func nullish(v value) bool {
	v.known()
	return v.fn == nil && (v.node == nil || v.node.Kind == tree.Null)
}

// truthy converts a value to a boolean, as JavaScript does in a condition.
func truthy(v value) bool {
	if v.fn != nil {
		return true
	}
	if nullish(v) {
		return false
	}
	switch v.node.Kind {
	case tree.Bool:
		return v.node.Text == "true"
	case tree.String:
		return v.node.Text != ""
	case tree.Number:
		return number(v) != 0
	}
	return true
}

// same compares with ===: lists and objects are the same only if they are one value.
func same(a, b value) bool {
	a.known()
	b.known()
	if a.node == nil || b.node == nil {
		return a == b
	}
	if a.node.Kind == tree.Object || a.node.Kind == tree.Array {
		return a.node == b.node
	}
	return a.node.Kind == b.node.Kind && a.node.Text == b.node.Text
}

// isKind reports whether a value is a node of a kind.
func isKind(v value, k tree.Kind) bool {
	return v.node != nil && v.node.Kind == k
}

// number returns the number of a node whose kind is Number. Text out of range is infinite, as
// in JavaScript.
func number(v value) float64 {
	f, _ := strconv.ParseFloat(v.node.Text, 64)
	return f
}

// numeric returns a number, formatted like JavaScript does.
func numeric(at int, f float64) value {
	n := &tree.Node{
		Kind:  tree.Number,
		Start: at,
	}
	switch size := math.Abs(f); {
	case size == 0:
		n.Text = "0" // -0 too
	case size >= 1e21:
		n.Text = strconv.FormatFloat(f, 'g', -1, 64)
	case size < 1e-6:
		n.Text = strings.Replace(strconv.FormatFloat(f, 'e', -1, 64), "e-0", "e-", 1)
	default:
		n.Text = strconv.FormatFloat(f, 'f', -1, 64)
	}
	return value{node: n}
}

// boolean returns a boolean at a position.
func boolean(at int, is bool) value {
	return value{node: &tree.Node{
		Kind:  tree.Bool,
		Text:  strconv.FormatBool(is),
		Start: at,
	}}
}

// textNode returns a string at a position.
func textNode(at int, s string) *tree.Node {
	return &tree.Node{
		Kind:  tree.String,
		Text:  s,
		Start: at,
	}
}

// newText returns a new string, subject to the limit on text.
func (r *reader) newText(at int, s string) value {
	r.spend(len(s), at, longText)
	return value{node: textNode(at, s)}
}

// textOf returns a value as text in a template.
func textOf(v value) (string, bool) {
	if v.node == nil {
		return "", false
	}
	switch v.node.Kind {
	case tree.String, tree.Number, tree.Bool:
		return v.node.Text, true
	}
	return "", false
}

// cast reads a value and skips its type assertions.
func (r *reader) cast() value {
	v := r.unary()
	for r.keyword("as") || r.keyword("satisfies") {
		r.annotation(",]});\n")
	}
	return v
}

// unary reads a value with the operators before it and its suffixes.
func (r *reader) unary() value {
	defer r.step()()
	r.space()
	at := r.at
	switch {
	case r.peek("!=") || r.peek("--") || r.peek("++"):
		panic(r.unexpected())
	case r.punct("!"):
		return boolean(at, !truthy(r.unary()))
	case r.punct("-"):
		v := r.unary()
		if r.dry > 0 {
			return v
		}
		if !isKind(v, tree.Number) {
			panic(fail(at, "- requires a number", ""))
		}
		return numeric(at, -number(v))
	}
	return r.suffixes(r.primary(), at)
}

// suffixes reads members, calls and other suffixes of a value.
func (r *reader) suffixes(v value, start int) value {
	for {
		r.space()
		at := r.at
		switch {
		case r.peek("?.") || r.peek("."):
			optional := r.punct("?.")
			if !optional {
				r.punct(".")
			}
			name := r.name()
			if r.dry > 0 || optional && nullish(v) {
				v = value{}
				continue
			}
			v = r.member(v, name, at)
		case r.peek("[") && !r.newline(at):
			if key := r.bracketed("[", "]"); r.dry == 0 {
				v = r.index(v, key, at)
			}
		case r.peek("("):
			args := r.arguments()
			if r.dry > 0 {
				continue
			}
			if v.fn == nil {
				panic(fail(start, "this is not a function", ""))
			}
			v = r.tryCall(v.fn, start, args)
		case r.peek("<") && v.fn != nil && r.generics():
		case r.peek("!") && !r.peek("!="):
			r.punct("!")
		case r.peek("`"):
			panic(refuse(at, "a tagged template"))
		default:
			return v
		}
	}
}

// bracketed reads an expression in brackets.
func (r *reader) bracketed(opening, closing string) value {
	r.want(opening)
	v := r.expression()
	r.want(closing)
	return v
}

// newline reports whether at is the first token on its line.
func (r *reader) newline(at int) bool {
	before := bytes.TrimRight(r.text[:at], " \t\r\v\f\u00a0\ufeff")
	return len(before) == 0 || before[len(before)-1] == '\n'
}

// arguments reads the arguments of a call. Spread arguments are refused.
func (r *reader) arguments() (args []value) {
	r.list("(", ")", func() {
		if r.peek("...") {
			panic(refuse(r.at, "spreading arguments"))
		}
		if r.opts.Lenient {
			args = append(args, r.tolerant(",)"))
		} else {
			args = append(args, r.expression())
		}
	})
	return args
}

// index evaluates VALUE[key].
func (r *reader) index(v, key value, at int) value {
	if isKind(v, tree.Array) && isKind(key, tree.Number) {
		i := number(key)
		if i >= 0 &&
			i < float64(len(v.node.Items)) &&
			i == math.Trunc(i) {
			return value{node: v.node.Items[int(i)]}
		}
		return value{}
	}
	name, ok := textOf(key)
	if !ok {
		panic(fail(at, "the name of a member must be a string or a number", ""))
	}
	return r.member(v, name, at)
}

// primary reads a literal, a name, a function or an expression in parentheses.
func (r *reader) primary() value {
	r.space()
	at := r.at
	switch c := r.peekByte(); {
	case c == '{':
		return r.object()
	case c == '[':
		return r.array()
	case c == '"' || c == '\'':
		n := textNode(at, r.stringLiteral())
		n.End = r.at
		return value{node: n}
	case c == '`':
		return r.template()
	case '0' <= c && c <= '9' || c == '.':
		return r.number()
	case c == '(':
		return r.parenthesis()
	}
	switch name := r.name(); name {
	case "true", "false":
		return boolean(at, name == "true")
	case "null":
		return value{node: &tree.Node{
			Kind:  tree.Null,
			Start: at,
		}}
	case "undefined":
		return value{}
	case "new", "await", "async", "function", "class", "typeof", "yield", "delete", "void", "this":
		panic(refuse(at, fmt.Sprintf("%q", name)))
	default:
		if !r.peek("=>") {
			return r.get(at, name)
		}
		r.at = at
		return value{fn: r.functionTail(true)}
	}
}

// parenthesis reads (VALUE) or a function.
func (r *reader) parenthesis() value {
	start := r.at
	r.skipBrackets()
	arrow := r.peek("=>")
	if !arrow && r.punct(":") { // a result type, or the second half of a conditional
		arrow = r.try(r.skipType) == nil && r.peek("=>")
	}
	r.at = start
	if arrow {
		return value{fn: r.functionTail(true)}
	}
	return r.bracketed("(", ")")
}

// number reads a number: decimal, hexadecimal, octal or binary, with optional separators.
func (r *reader) number() value {
	at := r.at
	for r.at < len(r.text) && strings.IndexByte("0123456789abcdefABCDEFxXoO_.+-", r.text[r.at]) >= 0 {
		c := r.text[r.at]
		if (c == '+' || c == '-') && r.text[r.at-1]|0x20 != 'e' {
			break
		}
		r.at++
	}
	text := strings.ReplaceAll(string(r.text[at:r.at]), "_", "")
	octal := len(text) > 1 && text[0] == '0' && text[1] <= '9' // or with a point
	if i, err := strconv.ParseInt(text, 0, 64); err == nil && !octal {
		return numeric(at, float64(i))
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || strings.ContainsAny(text, "xX") {
		panic(fail(at, "not a number", ""))
	}
	return numeric(at, f)
}

// template reads a template and joins its parts.
func (r *reader) template() value {
	start := r.at
	var b strings.Builder
	for r.at++; r.at < len(r.text); {
		switch c := r.text[r.at]; {
		case c == '`':
			r.at++
			return r.newText(start, b.String())
		case c == '\\':
			r.escape(&b)
		case bytes.HasPrefix(r.text[r.at:], []byte("${")):
			r.at += 2
			r.space()
			at := r.at
			v := r.expression()
			r.want("}")
			text, ok := textOf(v)
			if !ok && r.dry == 0 {
				panic(fail(at, "a template can only contain strings and numbers", ""))
			}
			b.WriteString(text)
		case c == '\r': // JavaScript normalizes line endings in templates
			b.WriteByte('\n')
			if r.at++; r.at < len(r.text) && r.text[r.at] == '\n' {
				r.at++
			}
		default:
			b.WriteByte(c)
			r.at++
		}
	}
	panic(fail(start, "unterminated template", ""))
}

// array reads a list. Elements that cannot be evaluated are reported and unknown.
func (r *reader) array() value {
	n := &tree.Node{
		Kind:  tree.Array,
		Start: r.at,
	}
	r.list("[", "]", func() {
		r.space()
		at := r.at
		spread := r.punct("...")
		v := r.tolerant(",]")
		copied := spread && isKind(v, tree.Array)
		switch {
		case r.dry > 0:
		case copied:
			n.Items = append(n.Items, v.node.Items...)
		case v.node != nil && !spread, isKind(v, Unknown):
			n.Items = append(n.Items, v.node)
		case r.opts.Lenient:
			n.Items = append(n.Items, r.unknown(at).node)
		default:
			panic(fail(at, "this value cannot be an element of a list", ""))
		}
		cost := 1
		if copied {
			cost += len(v.node.Items)
		}
		r.spend(cost, at, longList)
	})
	n.End = r.at
	return value{node: n}
}

// object reads an object. Its members have the order of JavaScript; see [object.set].
func (r *reader) object() value {
	o := newObject(r.at)
	written := map[string]bool{}
	r.list("{", "}", func() {
		cost := 1
		if r.opts.Lenient {
			r.tryProperty(o, written)
		} else {
			r.property(o, written)
			cost = len(o.node.Members)
		}
		r.spend(cost, o.node.Start, largeObjects)
	})
	n := o.ordered()
	n.End = r.at
	return value{node: n}
}

// property reads one member of an object, or a spread. written contains the names that
// are written out, as opposed to spread.
func (r *reader) property(o *object, written map[string]bool) {
	r.space()
	at := r.at
	if r.punct("...") {
		r.spread(o, at)
		return
	}
	name, short := r.propertyName()
	if name == prototype {
		panic(refuse(at, "the name "+prototype))
	}
	m := tree.Member{
		Key:      name,
		KeyStart: at,
		KeyEnd:   r.at,
	}
	switch {
	case r.punct(":"):
	case short && (r.peek(",") || r.peek("}")):
		r.at = at // the name is also the value
	case r.peek("("):
		panic(refuse(at, "a method"))
	default:
		panic(r.unexpected())
	}
	v := r.tolerant(",}")
	if r.dry > 0 {
		return
	}
	if v.fn != nil {
		panic(fail(at, fmt.Sprintf("%q is a function, not a value", name), "call it"))
	}
	m.Value = v.node
	again := written[name] && !isKind(v, Unknown) && !r.opts.Lenient
	written[name] = true
	if again {
		r.problem(tree.Problem{
			Offset:    at,
			Message:   fmt.Sprintf("duplicate name %q", name),
			Hint:      "JavaScript uses the last one only; give each its own name",
			Duplicate: true,
		})
	}
	switch {
	case v.node == nil: // undefined
	case again:
		o.add(m) // so that the duplicate is checked too
	default:
		o.set(m)
	}
}

// spread reads the object after "..." and sets its members.
func (r *reader) spread(o *object, at int) {
	v := r.tolerant(",}")
	switch {
	case r.dry > 0 || isKind(v, Unknown) && !r.opts.Lenient || nullish(v) ||
		isKind(v, tree.Bool):
		return
	case !isKind(v, tree.Object):
		panic(fail(at, "only an object can be spread into an object", ""))
	}
	steps := len(v.node.Members) * (1 + len(o.node.Members))
	r.spend(steps, at, largeObjects)
	for _, m := range v.node.Members {
		o.set(m)
	}
}

// prototype is the name of an object's prototype, which is not a member.
const prototype = "__proto__"

// object is an object under construction.
type object struct {
	node    *tree.Node
	places  map[string]int // the last member of each name, in node.Members
	indexed bool           // some names are array indexes
}

// newObject returns an empty object that begins at a position.
func newObject(at int) *object {
	return &object{
		node: &tree.Node{
			Kind:  tree.Object,
			Start: at,
		},
		places: map[string]int{},
	}
}

// set adds a member, or replaces the one of that name.
func (o *object) set(m tree.Member) {
	if i, ok := o.places[m.Key]; ok {
		o.node.Members[i] = m
		return
	}
	o.add(m)
}

// add adds a member without replacing another of that name.
func (o *object) add(m tree.Member) {
	_, isIndex := arrayIndex(m.Key)
	o.indexed = o.indexed || isIndex
	o.places[m.Key] = len(o.node.Members)
	o.node.Members = append(o.node.Members, m)
}

// ordered returns the object with its members in the order of JavaScript: names that are
// array indexes come first, in numerical order.
func (o *object) ordered() *tree.Node {
	if !o.indexed {
		return o.node
	}
	order.StableBy(o.node.Members, func(a, b tree.Member) int {
		i, isIndex := arrayIndex(a.Key)
		j, alsoIndex := arrayIndex(b.Key)
		switch {
		case isIndex && alsoIndex:
			return cmp.Compare(i, j)
		case isIndex:
			return -1
		case alsoIndex:
			return 1
		}
		return 0
	})
	return o.node
}

// arrayIndex returns the number of a name that JavaScript orders as an array index.
func arrayIndex(name string) (uint64, bool) {
	i, err := strconv.ParseUint(name, 10, 32)
	return i, err == nil && i < 1<<32-1 && strconv.FormatUint(i, 10) == name
}

// propertyName reads the name of a member. short reports whether the name alone may also
// be the value.
func (r *reader) propertyName() (name string, short bool) {
	switch c := r.peekByte(); {
	case c == '"' || c == '\'':
		return r.stringLiteral(), false
	case c == '[':
		at := r.at + 1
		text, ok := textOf(r.bracketed("[", "]"))
		if !ok && r.dry == 0 {
			panic(fail(at, "a name is a string", ""))
		}
		return text, false
	case '0' <= c && c <= '9':
		return r.number().node.Text, false
	}
	return r.name(), true
}
