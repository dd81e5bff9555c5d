package js

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/internal/tree"
)

// expression evaluates the next expression.
func (r *reader) expression() (value, error) {
	leave, err := r.step()
	defer leave()
	if err != nil {
		return value{}, err
	}
	cond, err := r.binary(0)
	if err != nil || r.peek("?.") || !r.punct("?") {
		return cond, err
	}
	yes, err := r.branch(r.dry == 0 && !truthy(cond))
	if err != nil {
		return value{}, err
	}
	if err := r.want(":"); err != nil {
		return value{}, err
	}
	no, err := r.branch(r.dry == 0 && truthy(cond))
	if truthy(cond) {
		return yes, err
	}
	return no, err
}

// branch evaluates or skips an expression.
func (r *reader) branch(skip bool) (value, error) {
	if skip {
		return value{}, r.pass()
	}
	return r.expression()
}

// operators returns the binary operators by precedence, lowest first.
func operators() [][]string {
	return [][]string{{"??", "||"}, {"&&"}, {"===", "!=="}, {"<=", ">=", "<", ">"}, {"+", "-"}, {"*", "/", "%"}}
}

func (r *reader) binary(level int) (value, error) {
	if level == len(operators()) {
		return r.cast()
	}
	left, err := r.binary(level + 1)
	for err == nil {
		r.space()
		at, op := r.at, ""
		for _, o := range operators()[level] {
			if op == "" && r.peek(o) && !r.peek(o+"=") && !r.peek(o+o) {
				op = o
			}
		}
		if op == "" {
			return left, r.loose()
		}
		r.at += len(op)
		settled := r.dry == 0 && (op == "??" && !nullish(left) || op == "||" && truthy(left) || op == "&&" && !truthy(left))
		if settled {
			r.dry++
		}
		right, failed := r.binary(level + 1)
		if settled {
			r.dry--
		} else if failed == nil && r.dry == 0 {
			left, failed = r.combine(at, op, left, right)
		}
		err = failed
	}
	return left, err
}

// loose rejects operators with surprising semantics that definitions do not need.
func (r *reader) loose() error {
	if (r.peek("==") && !r.peek("===")) || (r.peek("!=") && !r.peek("!==")) {
		return r.fail(r.at, "comparing with == converts its sides first", "compare with ===")
	}
	return nil
}

func (r *reader) combine(at int, op string, left, right value) (value, error) {
	switch op {
	case "===", "!==":
		return boolean(at, same(left, right) == (op == "===")), nil
	case "+":
		if isKind(left, tree.Number) && isKind(right, tree.Number) {
			a, b := number(left), number(right)
			return numeric(at, a+b), nil
		}
		a, aok := textOf(left)
		b, bok := textOf(right)
		if !aok || !bok {
			return value{}, r.fail(at, "only strings and numbers can be put together", "")
		}
		return r.text1(left.node.Start, a+b)
	case "-", "*", "/", "%", "<", "<=", ">", ">=":
		if !isKind(left, tree.Number) || !isKind(right, tree.Number) {
			return value{}, r.fail(at, fmt.Sprintf("only numbers can stand beside %s", op), "")
		}
		return r.calculate(at, op, number(left), number(right))
	}
	return right, nil
}

// calculate evaluates the operators that only apply to numbers.
func (r *reader) calculate(at int, op string, a, b float64) (value, error) {
	switch op {
	case "<":
		return boolean(at, a < b), nil
	case "<=":
		return boolean(at, a <= b), nil
	case ">":
		return boolean(at, a > b), nil
	case ">=":
		return boolean(at, a >= b), nil
	}
	result := map[string]float64{"-": a - b, "*": a * b, "/": a / b, "%": math.Mod(a, b)}[op]
	if math.IsNaN(result) || math.IsInf(result, 0) {
		return value{}, r.fail(at, "this is no number that can be written", "")
	}
	return numeric(at, result), nil
}

func nullish(v value) bool { return v.fn == nil && (v.node == nil || v.node.Kind == tree.Null) }

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

func same(a, b value) bool {
	if a.node == nil || b.node == nil {
		return a == b
	}
	if a.node.Kind == tree.Object || a.node.Kind == tree.Array {
		return a.node == b.node
	}
	return a.node.Kind == b.node.Kind && a.node.Text == b.node.Text
}

func isKind(v value, k tree.Kind) bool { return v.node != nil && v.node.Kind == k }

func number(v value) float64 {
	f, _ := strconv.ParseFloat(v.node.Text, 64)
	return f
}

// numeric returns a number, formatted like JavaScript does.
func numeric(at int, f float64) value {
	n := &tree.Node{Kind: tree.Number, Start: at}
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

func boolean(at int, is bool) value {
	return value{node: &tree.Node{Kind: tree.Bool, Text: strconv.FormatBool(is), Start: at}}
}

// text1 returns a new string, subject to the limit on text.
func (r *reader) text1(at int, s string) (value, error) {
	if r.joined += len(s); r.joined > maxText {
		return value{}, r.fail(at, "the script puts too much text together", "")
	}
	return value{node: &tree.Node{Kind: tree.String, Text: s, Start: at}}, nil
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
func (r *reader) cast() (value, error) {
	v, err := r.unary()
	for err == nil && (r.peekWord() == "as" || r.peekWord() == "satisfies") {
		r.word()
		err = r.skipType()
	}
	return v, err
}

func (r *reader) unary() (value, error) {
	leave, err := r.step()
	defer leave()
	if err != nil {
		return value{}, err
	}
	r.space()
	at := r.at
	switch {
	case r.peek("!=") || r.peek("--") || r.peek("++"):
		return value{}, r.unexpected()
	case r.punct("!"):
		v, err := r.unary()
		return boolean(at, !truthy(v)), err
	case r.punct("-"):
		v, err := r.unary()
		if err != nil || r.dry > 0 {
			return v, err
		}
		if !isKind(v, tree.Number) {
			return v, r.fail(at, "only a number can be negative", "")
		}
		return numeric(at, -number(v)), nil
	}
	v, err := r.primary()
	if err != nil {
		return v, err
	}
	return r.suffixes(v, at)
}

// suffixes reads members, calls and other suffixes of a value.
func (r *reader) suffixes(v value, start int) (value, error) {
	for {
		r.space()
		at := r.at
		var err error
		switch {
		case r.peek("?.") || r.peek("."):
			optional := r.punct("?.")
			if !optional {
				r.punct(".")
			}
			name := r.word()
			if name == "" {
				return v, r.unexpected()
			}
			if r.dry > 0 || optional && nullish(v) {
				v = value{}
				continue
			}
			v, err = r.member(v, name, at)
		case r.peek("[") && !r.newline(at):
			r.punct("[")
			var key value
			if key, err = r.expression(); err == nil {
				err = r.want("]")
			}
			if err == nil && r.dry == 0 {
				v, err = r.index(v, key, at)
			}
		case r.peek("("):
			var args []value
			if args, err = r.arguments(); err == nil && r.dry == 0 {
				if v.fn == nil {
					return v, r.fail(start, "this is no function", "")
				}
				v, err = r.call(v.fn, start, args)
			}
		case r.peek("<") && v.fn != nil && r.generics():
		case r.peek("!") && !r.peek("!="):
			r.punct("!")
		case r.peek("`"):
			return v, r.refuse(at, "a tagged template")
		default:
			return v, nil
		}
		if err != nil {
			return v, err
		}
	}
}

// newline reports whether at is the first token on its line.
func (r *reader) newline(at int) bool {
	line := r.text[bytes.LastIndexByte(r.text[:at], '\n')+1 : at]
	return len(bytes.TrimSpace(line)) == 0
}

func (r *reader) arguments() (args []value, err error) {
	r.punct("(")
	for !r.punct(")") {
		if r.peek("...") {
			return nil, r.refuse(r.at, "spreading arguments")
		}
		v, err := r.expression()
		if err != nil {
			return nil, err
		}
		args = append(args, v)
		if !r.punct(",") && !r.peek(")") {
			return nil, r.unexpected()
		}
	}
	return args, nil
}

func (r *reader) index(v, key value, at int) (value, error) {
	if isKind(v, tree.Array) && isKind(key, tree.Number) {
		if i := number(key); i >= 0 && i < float64(len(v.node.Items)) && i == math.Trunc(i) {
			return value{node: v.node.Items[int(i)]}, nil
		}
		return value{}, nil
	}
	name, ok := textOf(key)
	if !ok {
		return value{}, r.fail(at, "a member is named by a string or a number", "")
	}
	return r.member(v, name, at)
}

func (r *reader) primary() (value, error) {
	at := r.at
	switch c := r.peekByte(); {
	case c == '{':
		return r.object()
	case c == '[':
		return r.array()
	case c == '"' || c == '\'':
		s, err := r.stringLiteral()
		return value{node: &tree.Node{Kind: tree.String, Text: s, Start: at, End: r.at}}, err
	case c == '`':
		return r.template()
	case '0' <= c && c <= '9' || c == '.':
		return r.number()
	case c == '(':
		return r.parenthesis()
	}
	at = r.at
	name := r.peekWord()
	if name == "" {
		return value{}, r.unexpected()
	}
	r.word()
	switch name {
	case "true", "false":
		return boolean(at, name == "true"), nil
	case "null":
		return value{node: &tree.Node{Kind: tree.Null, Start: at}}, nil
	case "undefined":
		return value{}, nil
	case "new", "await", "async", "function", "class", "typeof", "yield", "delete", "void", "this":
		return value{}, r.refuse(at, fmt.Sprintf("%q", name))
	}
	if r.peek("=>") {
		r.at = at
		fn, err := r.functionTail(true)
		return value{fn: fn}, err
	}
	return r.get(at, name)
}

// parenthesis reads (VALUE) or a function.
func (r *reader) parenthesis() (value, error) {
	start := r.at
	end, err := r.closing(start)
	if err != nil {
		return value{}, err
	}
	r.at = end + 1
	arrow := r.peek("=>")
	if !arrow && r.punct(":") { // a result type, or the second half of a conditional
		arrow = r.skipType() == nil && r.peek("=>")
	}
	r.at = start
	if arrow {
		fn, err := r.functionTail(true)
		return value{fn: fn}, err
	}
	r.punct("(")
	v, err := r.expression()
	if err != nil {
		return v, err
	}
	return v, r.want(")")
}

func (r *reader) number() (value, error) {
	at := r.at
	for r.at < len(r.text) && strings.IndexByte("0123456789abcdefABCDEFxXoO_.+-", r.text[r.at]) >= 0 {
		if c := r.text[r.at]; (c == '+' || c == '-') && r.text[r.at-1]|0x20 != 'e' {
			break
		}
		r.at++
	}
	text := strings.ReplaceAll(string(r.text[at:r.at]), "_", "")
	if i, err := strconv.ParseInt(text, 0, 64); err == nil && !(len(text) > 1 && text[0] == '0' && text[1] <= '9') {
		return numeric(at, float64(i)), nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || strings.ContainsAny(text, "xX") {
		return value{}, r.fail(at, "not a number", "")
	}
	return numeric(at, f), nil
}

func (r *reader) template() (value, error) {
	start := r.at
	var b strings.Builder
	for r.at++; r.at < len(r.text); {
		switch c := r.text[r.at]; {
		case c == '`':
			r.at++
			return r.text1(start, b.String())
		case c == '\\':
			if err := r.escape(&b); err != nil {
				return value{}, err
			}
		case bytes.HasPrefix(r.text[r.at:], []byte("${")):
			r.at += 2
			r.space()
			at := r.at
			v, err := r.expression()
			if err == nil {
				err = r.want("}")
			}
			if err != nil {
				return value{}, err
			}
			text, ok := textOf(v)
			if !ok && r.dry == 0 {
				return value{}, r.fail(at, "only a string or a number can stand in a template", "")
			}
			b.WriteString(text)
		case c == '\r': // normalize line endings
			b.WriteByte('\n')
			if r.at++; r.at < len(r.text) && r.text[r.at] == '\n' {
				r.at++
			}
		default:
			b.WriteByte(c)
			r.at++
		}
	}
	return value{}, r.fail(start, "the template is not closed", "")
}

func (r *reader) array() (value, error) {
	n := &tree.Node{Kind: tree.Array, Start: r.at}
	r.punct("[")
	for !r.punct("]") {
		r.space()
		at := r.at
		spread := r.punct("...")
		v, err := r.tolerant()
		switch {
		case err != nil:
			return value{}, err
		case r.dry > 0 || v.hole:
		case spread && isKind(v, tree.Array):
			n.Items = append(n.Items, v.node.Items...)
		case spread || v.node == nil:
			return value{}, r.fail(at, "this cannot be an element of a list", "")
		default:
			n.Items = append(n.Items, v.node)
		}
		if r.joined++; spread && isKind(v, tree.Array) {
			r.joined += len(v.node.Items)
		}
		if r.joined > maxText {
			return value{}, r.fail(at, "the script makes lists that are too long", "")
		}
		if !r.punct(",") && !r.peek("]") {
			return value{}, r.unexpected()
		}
	}
	n.End = r.at
	return value{node: n}, nil
}

func (r *reader) object() (value, error) {
	n := &tree.Node{Kind: tree.Object, Start: r.at}
	written := map[string]bool{}
	r.punct("{")
	for !r.punct("}") {
		if err := r.property(n, written); err != nil {
			return value{}, err
		}
		if r.joined += len(n.Members); r.joined > maxText {
			return value{}, r.fail(n.Start, "the script makes objects that are too large", "")
		}
		if !r.punct(",") && !r.peek("}") {
			return value{}, r.unexpected()
		}
	}
	n.End = r.at
	return value{node: n}, nil
}

// property reads one member of an object, or a spread.
func (r *reader) property(n *tree.Node, written map[string]bool) error {
	r.space()
	at := r.at
	if r.punct("...") {
		v, err := r.tolerant()
		if err != nil || r.dry > 0 || v.hole || nullish(v) || isKind(v, tree.Bool) {
			return err
		}
		if !isKind(v, tree.Object) {
			return r.fail(at, "only an object can be spread into an object", "")
		}
		if r.joined += len(v.node.Members) * (1 + len(n.Members)); r.joined > maxText {
			return r.fail(at, "the script makes objects that are too large", "")
		}
		for _, m := range v.node.Members {
			put(n, m)
		}
		return nil
	}
	name, short, err := r.propertyName()
	if err != nil {
		return err
	}
	if name == prototype {
		return r.refuse(at, "the name "+prototype)
	}
	m := tree.Member{Key: name, KeyStart: at, KeyEnd: r.at}
	var v value
	switch {
	case r.punct(":"):
		v, err = r.tolerant()
	case short && (r.peek(",") || r.peek("}")):
		r.at = at // the name is also the value
		v, err = r.tolerant()
	case r.peek("("):
		return r.refuse(at, "a method")
	default:
		return r.unexpected()
	}
	if err != nil || r.dry > 0 || v.hole {
		return err
	}
	if v.fn != nil {
		return r.fail(at, fmt.Sprintf("%q is a function, not a value", name), "call it")
	}
	m.Value = v.node
	switch {
	case written[name]:
		r.twice(at, name)
		if v.node != nil {
			n.Members = append(n.Members, m) // so that the duplicate is checked too
		}
	case v.node != nil:
		put(n, m)
	}
	written[name] = true
	return nil
}

func (r *reader) twice(at int, name string) {
	r.problem(tree.Problem{Offset: at, Message: fmt.Sprintf("the name %q is given twice", name),
		Hint: "JavaScript uses the last one only; give each its own name", Duplicate: true})
}

// prototype is the name of an object's prototype, which is not a member.
const prototype = "__proto__"

// put sets a member, replacing any of that name. Names that are array indexes come first,
// in numerical order.
func put(n *tree.Node, m tree.Member) {
	if old := n.Member(m.Key); old != nil {
		*old = m
		return
	}
	at := len(n.Members)
	if index, ok := arrayIndex(m.Key); ok {
		at = slices.IndexFunc(n.Members, func(other tree.Member) bool {
			i, ok := arrayIndex(other.Key)
			return !ok || i > index
		})
		if at < 0 {
			at = len(n.Members)
		}
	}
	n.Members = slices.Insert(n.Members, at, m)
}

// arrayIndex returns the number of a name that JavaScript orders as an array index.
func arrayIndex(name string) (uint64, bool) {
	i, err := strconv.ParseUint(name, 10, 32)
	return i, err == nil && i < 1<<32-1 && strconv.FormatUint(i, 10) == name
}

func (r *reader) propertyName() (name string, short bool, err error) {
	switch c := r.peekByte(); {
	case c == '"' || c == '\'':
		name, err = r.stringLiteral()
		return name, false, err
	case c == '[':
		r.punct("[")
		at := r.at
		v, err := r.expression()
		if err == nil {
			err = r.want("]")
		}
		text, ok := textOf(v)
		if err == nil && !ok && r.dry == 0 {
			err = r.fail(at, "a name is a string", "")
		}
		return text, false, err
	case '0' <= c && c <= '9':
		v, err := r.number()
		if err != nil {
			return "", false, err
		}
		return v.node.Text, false, nil
	}
	if name = r.word(); name == "" {
		return "", false, r.unexpected()
	}
	return name, true, nil
}
