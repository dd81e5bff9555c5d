package policy

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// test is the conditions of a rule about arguments, which need no record of them: it reads the JSON
// of a call. Cedar copies and hashes what it is given, which takes ten times as long as most
// conditions.
//
// A test never differs from Cedar: where it cannot be sure to have the same outcome, it says
// so, and Cedar evaluates the rule. That goes for everything that could be an error, such as
// an argument of another type, and for lists and objects.
//
// It is a list of instructions rather than a tree, because a request finds it in no cache: what is
// in one place is fetched at once.
type test struct {
	code  []instruction
	start int32 // the first instruction, or the outcome
}

// instruction is a condition about one argument.
type instruction struct {
	kind     kind
	optional bool  // an argument that does not exist leads to no
	place    int8  // of the argument in given.values, from 1; 0 if it is not known
	yes, no  int32 // the next instruction, or the outcome
	argument *argument
	number   int64
	text     []byte
	texts    pattern
}

// The outcomes of a test.
const (
	met   int32 = -1
	unmet int32 = -2
)

// kind is what an instruction asks of an argument.
type kind uint8

const (
	exists  kind = iota // null counts as absent, and lists and objects may be more than is converted
	matches             // a string: the pattern
	holds               // a string: text is part of it
	among               // a string: it is one of texts
	equal               // a whole number in plain digits: it is number
	less                // than number
	greater             // than number
)

// given are the arguments of a call. The first of those that rules read are at hand.
type given struct {
	raw    json.RawMessage
	index  *jsonscan.Index // of raw, or nil
	wanted []*argument
	values [4][]byte // of wanted
}

// read looks for arguments, and reports whether all can be converted. One that cannot fails all
// rules, also those that do not get to it.
func (g *given) read(wanted []*argument, now *Situation) bool {
	g.raw, g.index = now.Arguments, now.Index
	g.wanted = wanted[:min(len(wanted), len(g.values))]
	for i, a := range wanted {
		if !g.find(i, a.name) {
			return false
		}
	}
	return true
}

// find looks for the argument in a place, and reports whether it can be converted.
func (g *given) find(i int, name string) bool {
	value, rival := g.index.OnlyMember(g.raw, name)
	if rival != nil || !isSimple(value) {
		return false
	}
	if i < len(g.values) {
		g.values[i] = value
	}
	return true
}

// value returns the argument of an instruction, or nil.
func (g *given) value(in *instruction) []byte {
	if in.place > 0 {
		return g.values[in.place-1]
	}
	a := in.argument
	for i, wanted := range g.wanted {
		if wanted == a {
			return g.values[i]
		}
	}
	return g.index.Member(g.raw, a.name)
}

// isSimple reports whether an argument, which may be absent, is neither a list nor an object.
func isSimple(value []byte) bool {
	return value == nil || value[0] != '[' && value[0] != '{'
}

// decide returns the outcome for the arguments of a call.
func (t *test) decide(g *given) (applies, sure bool) {
	at := t.start
	for at >= 0 {
		in := &t.code[at]
		yes, sure := in.ask(g.value(in))
		switch {
		case !sure:
			return false, false
		case yes:
			at = in.yes
		default:
			at = in.no
		}
	}
	return at == met, true
}

// ask returns whether an argument, which may be absent, has what the instruction asks for.
func (in *instruction) ask(value []byte) (yes, sure bool) {
	if in.optional && (value == nil || value[0] == 'n') {
		return false, true
	}
	switch in.kind {
	case exists:
		return value != nil && value[0] != 'n', isSimple(value)
	case matches:
		text, ok := jsonscan.UnquoteBytes(value)
		return ok && in.texts.matches(text), ok
	case holds:
		text, ok := jsonscan.UnquoteBytes(value)
		return ok && bytes.Contains(text, in.text), ok
	case among:
		text, ok := jsonscan.UnquoteBytes(value)
		return ok && in.texts.contains(text), ok
	}
	number, err := strconv.ParseInt(string(value), 10, 64)
	switch {
	case err != nil:
		return false, false
	case in.kind == less:
		return number < in.number, true
	case in.kind == greater:
		return number > in.number, true
	}
	return number == in.number, true
}

// testOf returns the test of the conditions of a rule, or nil if they have another form. arguments
// are those that the rules of the Set read.
func testOf(p *ast.Policy, arguments *argument) *test {
	b := testBuilder{arguments: arguments}
	start := met
	for _, c := range slices.Backward(p.Conditions) {
		var ok bool
		if c.Condition == ast.ConditionUnless {
			start, ok = b.add(c.Body, unmet, start)
		} else {
			start, ok = b.add(c.Body, start, unmet)
		}
		if !ok {
			return nil
		}
	}
	return &test{slices.Clip(b.code), start}
}

// anyOf returns the test that is met if one of tests is, in their order, for given whose values are
// the first of arguments. Its code begins in room, which is empty.
func anyOf(tests []*test, arguments []*argument, room []instruction) test {
	all := test{code: room, start: unmet}
	for _, t := range slices.Backward(tests) {
		first, next := int32(len(all.code)), all.start
		move := func(at int32) int32 {
			switch at {
			case met:
				return met
			case unmet:
				return next
			}
			return first + at
		}
		for _, in := range t.code {
			in.yes, in.no = move(in.yes), move(in.no)
			if i := slices.Index(arguments, in.argument); i < len(given{}.values) {
				in.place = int8(i + 1)
			}
			all.code = append(all.code, in)
		}
		all.start = move(t.start)
	}
	return all
}

// testBuilder adds the instructions of conditions from the last to the first, so that it is known
// where each continues.
type testBuilder struct {
	code      []instruction
	arguments *argument
}

// add adds the instructions of a node that continue at yes or no. It returns the first of them, and
// false if the node has none.
func (b *testBuilder) add(n ast.IsNode, yes, no int32) (first int32, ok bool) {
	switch n := n.(type) {
	case ast.NodeValue:
		if holds, ok := n.Value.(types.Boolean); ok && bool(holds) {
			return yes, true
		} else if ok {
			return no, true
		}
	case ast.NodeTypeAnd: // the right side is not evaluated if the left one is false
		if yes, ok = b.add(n.Right, yes, no); ok {
			return b.add(n.Left, yes, no)
		}
	case ast.NodeTypeOr:
		if no, ok = b.add(n.Right, yes, no); ok {
			return b.add(n.Left, yes, no)
		}
	case ast.NodeTypeNot:
		return b.add(n.Arg, no, yes)
	case ast.NodeTypeHas:
		return b.addHas(n, yes, no)
	case ast.NodeTypeLike:
		like, ok := patternOf(n.Value)
		if ok && len(like) == 3 && len(like[0])+len(like[2]) == 0 {
			return b.ask(n.Arg, instruction{kind: holds, text: like[1], yes: yes, no: no})
		}
		if ok {
			return b.ask(n.Arg, instruction{kind: matches, texts: like, yes: yes, no: no})
		}
	case ast.NodeTypeEquals:
		return b.addEqual(n.BinaryNode, yes, no)
	case ast.NodeTypeNotEquals:
		return b.addEqual(n.BinaryNode, no, yes)
	case ast.NodeTypeLessThan:
		return b.addOrder(n.Left, n.Right, yes, no)
	case ast.NodeTypeGreaterThan:
		return b.addOrder(n.Right, n.Left, yes, no)
	case ast.NodeTypeLessThanOrEqual: // not greater
		return b.addOrder(n.Right, n.Left, no, yes)
	case ast.NodeTypeGreaterThanOrEqual:
		return b.addOrder(n.Left, n.Right, no, yes)
	case ast.NodeTypeContains:
		return b.addContains(n.BinaryNode, yes, no)
	}
	return 0, false
}

// ask adds an instruction about the argument that a node is.
func (b *testBuilder) ask(n ast.IsNode, in instruction) (first int32, ok bool) {
	access, ok := n.(ast.NodeTypeAccess)
	if !ok {
		return 0, false
	}
	path, ok := contextPath(access)
	if !ok || len(path) != 2 || path[0] != "arguments" {
		return 0, false
	}
	return b.askOf(path[1], in)
}

// askOf adds an instruction about an argument.
func (b *testBuilder) askOf(name string, in instruction) (first int32, ok bool) {
	in.argument = b.arguments.members[name]
	if in.argument == nil {
		return 0, false
	}
	b.code = append(b.code, in)
	return int32(len(b.code) - 1), true
}

func (b *testBuilder) addHas(n ast.NodeTypeHas, yes, no int32) (first int32, ok bool) {
	path, ok := contextPath(n)
	if !ok || path[0] != "arguments" || len(path) > 2 {
		return 0, false
	}
	if len(path) == 1 { // every call has arguments, if only none
		return yes, true
	}
	if a := b.arguments.members[path[1]]; a != nil && yes >= 0 {
		// A condition that is only asked if the argument exists, as most are: both are one instruction.
		if next := b.code[yes]; next.argument == a && next.no == no {
			next.optional = true
			return b.askOf(path[1], next)
		}
	}
	return b.askOf(path[1], instruction{kind: exists, yes: yes, no: no})
}

// addEqual adds the comparison of an argument with a literal.
func (b *testBuilder) addEqual(n ast.BinaryNode, yes, no int32) (first int32, ok bool) {
	argument, literal := n.Left, n.Right
	if _, ok := literal.(ast.NodeValue); !ok {
		argument, literal = literal, argument
	}
	value, ok := literal.(ast.NodeValue)
	if !ok {
		return 0, false
	}
	switch want := value.Value.(type) {
	case types.String:
		return b.ask(argument, instruction{kind: among, texts: pattern{[]byte(want)}, yes: yes, no: no})
	case types.Long:
		return b.ask(argument, instruction{kind: equal, number: int64(want), yes: yes, no: no})
	}
	return 0, false
}

// addOrder adds the comparison of a whole number with a literal: that the left one is less.
func (b *testBuilder) addOrder(left, right ast.IsNode, yes, no int32) (first int32, ok bool) {
	if limit, ok := longOf(right); ok {
		return b.ask(left, instruction{kind: less, number: limit, yes: yes, no: no})
	}
	if limit, ok := longOf(left); ok {
		return b.ask(right, instruction{kind: greater, number: limit, yes: yes, no: no})
	}
	return 0, false
}

// longOf returns a literal that is a whole number.
func longOf(n ast.IsNode) (number int64, ok bool) {
	value, ok := n.(ast.NodeValue)
	if !ok {
		return 0, false
	}
	long, ok := value.Value.(types.Long)
	return int64(long), ok
}

// addContains adds that a list of texts contains an argument.
func (b *testBuilder) addContains(n ast.BinaryNode, yes, no int32) (first int32, ok bool) {
	set, ok := n.Left.(ast.NodeTypeSet)
	if !ok {
		return 0, false
	}
	var texts pattern
	for _, element := range set.Elements {
		value, ok := element.(ast.NodeValue)
		if !ok {
			return 0, false
		}
		text, ok := value.Value.(types.String)
		if !ok {
			return 0, false
		}
		texts = append(texts, []byte(text))
	}
	return b.ask(n.Right, instruction{kind: among, texts: texts, yes: yes, no: no})
}

// quick reports whether any open rule is met, if all of them have tests that are sure.
func (c *candidates) quick(g *given, now *Situation) (met, sure bool) {
	if !g.read(c.reads.arguments, now) {
		return false, false
	}
	for _, rules := range [...]ruleList{c.forbids, c.permits} {
		for _, r := range rules {
			if r.program.test == nil {
				return false, false
			}
			applies, sure := r.program.test.decide(g)
			if !sure {
				return false, false
			}
			met = met || applies
		}
	}
	return met, true
}

// decideQuick decides by the fixed rules and the open ones, whose tests are sure.
func (c *candidates) decideQuick(s *Set, g *given, now *Situation) Decision {
	v := c.fixed.clip()
	for _, rules := range [...]ruleList{c.forbids, c.permits} {
		if v.denies() {
			break
		}
		for _, r := range rules {
			if applies, _ := r.program.test.decide(g); !applies {
				continue
			}
			if r.Forbid {
				v.forbids = append(v.forbids, r)
			} else {
				v.permits = append(v.permits, r)
			}
		}
	}
	d := v.decision(c.what)
	c.offerScopes(s, &d, &v, now)
	return d
}
