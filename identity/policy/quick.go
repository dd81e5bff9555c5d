package policy

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// test is a condition about arguments that needs no record of them: it reads the JSON of a
// call. Cedar copies and hashes what it is given, which takes ten times as long as most
// conditions.
//
// A test never differs from Cedar: where it cannot be sure to have the same outcome, it says
// so, and Cedar evaluates the rule. That goes for everything that could be an error, such as
// an argument of another type, and for lists and objects.
type test func(given given) (met, sure bool)

// given are the arguments of a call. The one that was read last is at hand.
type given struct {
	arguments json.RawMessage
	name      string
	value     []byte
	known     bool // name and value are set
}

// member returns the value of an argument, or nil.
func (g given) member(name string) []byte {
	if g.known && g.name == name {
		return g.value
	}
	return jsonscan.Member(g.arguments, name)
}

// testOf returns the test of the conditions of a rule, or nil if they have another form.
func testOf(p *ast.Policy) test {
	all := always
	for _, c := range slices.Backward(p.Conditions) {
		one := testNode(c.Body)
		if one == nil {
			return nil
		}
		if c.Condition == ast.ConditionUnless {
			one = not(one)
		}
		all = and(one, all)
	}
	return all
}

func always(given) (met, sure bool) { return true, true }

// testNode returns the test of a node, or nil.
func testNode(n ast.IsNode) test {
	switch n := n.(type) {
	case ast.NodeValue:
		if b, ok := n.Value.(types.Boolean); ok {
			return func(given) (bool, bool) { return bool(b), true }
		}
	case ast.NodeTypeAnd:
		return join(n.BinaryNode, and)
	case ast.NodeTypeOr:
		return join(n.BinaryNode, func(a, b test) test { return not(and(not(a), not(b))) })
	case ast.NodeTypeNot:
		if one := testNode(n.Arg); one != nil {
			return not(one)
		}
	case ast.NodeTypeHas:
		return hasTest(n)
	case ast.NodeTypeLike:
		if like, ok := patternOf(n.Value); ok {
			return textTest(n.Arg, like.matches)
		}
	case ast.NodeTypeEquals:
		return equalTest(n.BinaryNode)
	case ast.NodeTypeNotEquals:
		if one := equalTest(n.BinaryNode); one != nil {
			return not(one)
		}
	case ast.NodeTypeLessThan:
		return orderTest(n.BinaryNode, func(a, b int64) bool { return a < b })
	case ast.NodeTypeLessThanOrEqual:
		return orderTest(n.BinaryNode, func(a, b int64) bool { return a <= b })
	case ast.NodeTypeGreaterThan:
		return orderTest(n.BinaryNode, func(a, b int64) bool { return a > b })
	case ast.NodeTypeGreaterThanOrEqual:
		return orderTest(n.BinaryNode, func(a, b int64) bool { return a >= b })
	case ast.NodeTypeContains:
		return memberTest(n.BinaryNode)
	}
	return nil
}

// and, as in Cedar, does not evaluate the right side if the left one is false.
func and(left, right test) test {
	return func(given given) (met, sure bool) {
		if met, sure = left(given); !sure || !met {
			return met, sure
		}
		return right(given)
	}
}

func not(one test) test {
	return func(given given) (met, sure bool) {
		met, sure = one(given)
		return !met, sure
	}
}

func join(n ast.BinaryNode, both func(left, right test) test) test {
	left, right := testNode(n.Left), testNode(n.Right)
	if left == nil || right == nil {
		return nil
	}
	return both(left, right)
}

// argumentOf returns the name of the argument that a node is, and reports whether it is one.
func argumentOf(n ast.IsNode) (string, bool) {
	access, ok := n.(ast.NodeTypeAccess)
	if !ok {
		return "", false
	}
	path, ok := contextPath(access)
	if !ok || len(path) != 2 || path[0] != "arguments" {
		return "", false
	}
	return path[1], true
}

// hasTest tests that an argument exists: null counts as absent, and lists and objects may be
// more than is converted.
func hasTest(n ast.NodeTypeHas) test {
	path, ok := contextPath(n)
	if !ok || path[0] != "arguments" || len(path) > 2 {
		return nil
	}
	if len(path) == 1 { // every call has arguments, if only none
		return always
	}
	return func(given given) (met, sure bool) {
		value := given.member(path[1])
		return value != nil && value[0] != 'n', isSimple(value)
	}
}

// isSimple reports whether an argument, which may be absent, is neither a list nor an object.
func isSimple(value []byte) bool {
	return value == nil || value[0] != '[' && value[0] != '{'
}

// textTest tests an argument that is a string.
func textTest(n ast.IsNode, met func([]byte) bool) test {
	name, ok := argumentOf(n)
	if !ok {
		return nil
	}
	return func(given given) (bool, bool) {
		text, ok := jsonscan.UnquoteBytes(given.member(name))
		return ok && met(text), ok
	}
}

// numberTest tests an argument that is a whole number in plain digits.
func numberTest(n ast.IsNode, met func(int64) bool) test {
	name, ok := argumentOf(n)
	if !ok {
		return nil
	}
	return func(given given) (bool, bool) {
		number, err := strconv.ParseInt(string(given.member(name)), 10, 64)
		return err == nil && met(number), err == nil
	}
}

// equalTest tests an argument that is compared with a literal.
func equalTest(n ast.BinaryNode) test {
	argument, literal := n.Left, n.Right
	if _, ok := literal.(ast.NodeValue); !ok {
		argument, literal = literal, argument
	}
	value, ok := literal.(ast.NodeValue)
	if !ok {
		return nil
	}
	switch want := value.Value.(type) {
	case types.String:
		return textTest(argument, func(s []byte) bool { return string(s) == string(want) })
	case types.Long:
		return numberTest(argument, func(n int64) bool { return n == int64(want) })
	}
	return nil
}

// orderTest tests a whole number that is compared with a literal.
func orderTest(n ast.BinaryNode, less func(left, right int64) bool) test {
	if value, ok := n.Right.(ast.NodeValue); ok {
		if limit, ok := value.Value.(types.Long); ok {
			return numberTest(n.Left, func(n int64) bool { return less(n, int64(limit)) })
		}
	}
	if value, ok := n.Left.(ast.NodeValue); ok {
		if limit, ok := value.Value.(types.Long); ok {
			return numberTest(n.Right, func(n int64) bool { return less(int64(limit), n) })
		}
	}
	return nil
}

// memberTest tests that a list of texts contains an argument.
func memberTest(n ast.BinaryNode) test {
	set, ok := n.Left.(ast.NodeTypeSet)
	if !ok {
		return nil
	}
	var texts []string
	for _, element := range set.Elements {
		value, ok := element.(ast.NodeValue)
		if !ok {
			return nil
		}
		text, ok := value.Value.(types.String)
		if !ok {
			return nil
		}
		texts = append(texts, string(text))
	}
	return textTest(n.Right, func(s []byte) bool { return slices.Contains(texts, string(s)) })
}

// quick reports whether any open rule is met, if all of them have tests that are sure.
func (c *candidates) quick(now *Situation) (met, sure bool) {
	given := given{arguments: now.Arguments}
	for _, a := range c.reads.arguments {
		value, rival := jsonscan.OnlyMember(now.Arguments, a.name)
		given.name, given.value, given.known = a.name, value, true
		// An argument that cannot be converted fails all rules, also those that do not get to it.
		if rival != nil || !isSimple(value) {
			return false, false
		}
	}
	for _, rules := range [...]ruleList{c.forbids, c.permits} {
		for _, r := range rules {
			if r.program.test == nil {
				return false, false
			}
			applies, sure := r.program.test(given)
			if !sure {
				return false, false
			}
			met = met || applies
		}
	}
	return met, true
}

// decideQuick decides by the fixed rules and the open ones, whose tests are sure.
func (c *candidates) decideQuick(s *Set, now *Situation) Decision {
	v := c.fixed.clip()
	given := given{arguments: now.Arguments}
	for _, rules := range [...]ruleList{c.forbids, c.permits} {
		if v.denies() {
			break
		}
		for _, r := range rules {
			if applies, _ := r.program.test(given); !applies {
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
