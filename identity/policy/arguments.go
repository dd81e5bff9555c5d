package policy

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// usage is what the conditions of a rule read of the context.
type usage struct {
	context   map[string]bool // attributes
	arguments *argument       // nil if the rule reads no arguments
	whole     bool            // the rule uses the context or the arguments as a whole
}

// argument is the type of an argument, or of a member of an object in it.
type argument struct {
	kind string // the Cedar type; "" if it is not known
	// elements is the type of the elements, "" if it is not known, where rules use the argument as a set; mixed if they
	// disagree on it. Both are set by merge.
	elements  string
	mixed     bool
	members   map[string]*argument
	name      string       // set by [argument.setAttributes]
	attribute types.String // of the context; see [addArguments]
}

// usageOf returns what a rule reads of the context. The error is an argument that the rule
// uses as two types.
func usageOf(p *ast.Policy) (*usage, error) {
	u := &usage{context: make(map[string]bool)}
	var err error
	visit := func(n ast.IsNode) bool {
		if e := u.infer(n); e != nil && err == nil {
			err = e
		}
		path, ok := contextPath(n)
		if !ok {
			return true
		}
		if len(path) == 0 || len(path) == 1 && path[0] == "arguments" && !isHas(n) {
			u.whole = true
			return false
		}
		u.context[path[0]] = true
		if path[0] == "arguments" && len(path) > 1 {
			u.argument(path[1:])
		}
		return false
	}
	for _, c := range p.Conditions {
		ast.Inspect(ast.NewNode(c.Body), visit)
	}
	if u.whole {
		return u, fmt.Errorf("use single attributes of context and of context.arguments, such as " +
			"context.arguments.path, rather than the whole record")
	}
	return u, err
}

func isHas(n ast.IsNode) bool {
	_, ok := n.(ast.NodeTypeHas)
	return ok
}

// contextPath returns the attributes that lead from context to a node: "arguments", "path"
// for context.arguments.path, and for context.arguments has path.
func contextPath(n ast.IsNode) (path []string, ok bool) {
	switch n := n.(type) {
	case ast.NodeTypeVariable:
		return nil, n.Name == "context"
	case ast.NodeTypeAccess:
		path, ok = contextPath(n.Arg)
		return append(path, string(n.Value)), ok
	case ast.NodeTypeHas:
		path, ok = contextPath(n.Arg)
		return append(path, string(n.Value)), ok
	}
	return nil, false
}

// argument returns the argument at a path, adding it if necessary.
func (u *usage) argument(path []string) *argument {
	if u.arguments == nil {
		u.arguments = &argument{}
	}
	a := u.arguments
	for _, name := range path {
		if a.members == nil {
			a.members = make(map[string]*argument)
		}
		if a.members[name] == nil {
			a.members[name] = &argument{}
		}
		a = a.members[name]
	}
	return a
}

// infer takes the type of arguments from a node that uses them: from the literal that they
// are compared with, or from the operator.
func (u *usage) infer(n ast.IsNode) error {
	switch n := n.(type) {
	case ast.NodeTypeLike:
		return u.use(n.Arg, "String")
	case ast.NodeTypeEquals:
		return u.alike(n.BinaryNode)
	case ast.NodeTypeNotEquals:
		return u.alike(n.BinaryNode)
	case ast.NodeTypeLessThan:
		return u.ordered(n.BinaryNode)
	case ast.NodeTypeLessThanOrEqual:
		return u.ordered(n.BinaryNode)
	case ast.NodeTypeGreaterThan:
		return u.ordered(n.BinaryNode)
	case ast.NodeTypeGreaterThanOrEqual:
		return u.ordered(n.BinaryNode)
	case ast.NodeTypeContains:
		return u.contains(n.BinaryNode)
	case ast.NodeTypeContainsAll:
		return u.alike(n.BinaryNode)
	case ast.NodeTypeContainsAny:
		return u.alike(n.BinaryNode)
	case ast.NodeTypeIsEmpty:
		return u.use(n.Arg, anySet)
	case ast.NodeTypeNot:
		return u.use(n.Arg, "Bool")
	case ast.NodeTypeAnd:
		return u.both(n.BinaryNode, "Bool")
	case ast.NodeTypeOr:
		return u.both(n.BinaryNode, "Bool")
	case ast.NodeTypeExtensionCall:
		return u.method(n)
	}
	return nil
}

// use records that a node, if it is an argument, is used as a type.
func (u *usage) use(n ast.IsNode, kind string) error {
	access, ok := n.(ast.NodeTypeAccess)
	if !ok || kind == "" {
		return nil
	}
	path, ok := contextPath(access)
	if !ok || len(path) < 2 || path[0] != "arguments" {
		return nil
	}
	a := u.argument(path[1:])
	_, isSet := elementOf(kind)
	_, wasSet := elementOf(a.kind)
	switch {
	case a.kind == "", a.kind == anySet && isSet:
		a.kind = kind
	case a.kind != kind && !(kind == anySet && wasSet):
		return fmt.Errorf("context.%s is used as %s and as %s", strings.Join(path, "."), a.cedar(), cedarOf(kind))
	}
	return nil
}

// anySet is the kind of a set whose elements may have any type. The schema has strings for them.
const anySet = "Set<>"

// elementOf returns the kind of the elements of a set.
func elementOf(kind string) (element string, isSet bool) {
	element, isSet = strings.CutPrefix(kind, "Set<")
	return strings.TrimSuffix(element, ">"), isSet
}

func (u *usage) both(n ast.BinaryNode, kind string) error {
	if err := u.use(n.Left, kind); err != nil {
		return err
	}
	return u.use(n.Right, kind)
}

// alike records that both sides have the same type.
func (u *usage) alike(n ast.BinaryNode) error {
	if err := u.use(n.Left, kindOf(n.Right)); err != nil {
		return err
	}
	return u.use(n.Right, kindOf(n.Left))
}

// ordered is alike for < and its like, which compare only whole numbers and times.
func (u *usage) ordered(n ast.BinaryNode) error {
	kind := kindOf(n.Left)
	if kind == "" {
		kind = kindOf(n.Right)
	}
	if kind == "" {
		kind = "Long"
	}
	return u.both(n, kind)
}

func (u *usage) contains(n ast.BinaryNode) error {
	if err := u.use(n.Left, "Set<"+kindOf(n.Right)+">"); err != nil {
		return err
	}
	element, _ := elementOf(kindOf(n.Left))
	return u.use(n.Right, element)
}

// method records the type that a method of an extension has.
func (u *usage) method(n ast.NodeTypeExtensionCall) error {
	kind := ""
	switch n.Name {
	case "lessThan", "lessThanOrEqual", "greaterThan", "greaterThanOrEqual":
		kind = "decimal"
	case "ip", "decimal", "datetime", "duration":
		kind = "String"
	}
	for _, arg := range n.Args {
		if err := u.use(arg, kind); err != nil {
			return err
		}
	}
	return nil
}

// kindOf returns the type of a literal, or of an attribute of the schema, or "".
func kindOf(n ast.IsNode) string {
	switch n := n.(type) {
	case ast.NodeValue:
		switch v := n.Value.(type) {
		case types.String:
			return "String"
		case types.Long:
			return "Long"
		case types.Boolean:
			return "Bool"
		case types.Decimal:
			return "decimal"
		case types.Set:
			for element := range v.All() {
				if kind := kindOf(ast.NodeValue{Value: element}); kind != "" {
					return "Set<" + kind + ">"
				}
			}
		}
	case ast.NodeTypeSet:
		for _, element := range n.Elements {
			if kind := kindOf(element); kind != "" {
				return "Set<" + kind + ">"
			}
		}
	case ast.NodeTypeExtensionCall:
		if n.Name == "decimal" {
			return "decimal"
		}
	case ast.NodeTypeAccess:
		return attributeKind(n)
	case ast.NodeTypeGetTag:
		return "Set<String>"
	}
	return ""
}

// attributeKind returns the type of an attribute of the principal or the resource.
func attributeKind(n ast.NodeTypeAccess) string {
	of, ok := n.Arg.(ast.NodeTypeVariable)
	if !ok || of.Name == "context" {
		return ""
	}
	switch n.Value {
	case "groups", "roles", "scopes":
		return "Set<String>"
	case "authenticated", "locked", "readOnly", "destructive", "idempotent", "openWorld":
		return "Bool"
	}
	return "String"
}

// cedar returns the type as Cedar text. All members are optional.
func (a *argument) cedar() string {
	if a == nil {
		return "{}"
	}
	if len(a.members) == 0 {
		if a.kind == "" && a.elements != "" {
			return "Set<" + a.elements + ">"
		}
		return cedarOf(a.kind)
	}
	var b strings.Builder
	b.WriteByte('{')
	for i, name := range slices.Sorted(maps.Keys(a.members)) {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Quote(name) + "?: " + a.members[name].cedar())
	}
	b.WriteByte('}')
	return b.String()
}

// cedarOf returns a kind as Cedar text.
func cedarOf(kind string) string {
	switch kind {
	case "":
		return "String"
	case anySet:
		return "Set<String>"
	}
	return kind
}

// merge adds the types of another rule. A name that is a decimal for one rule and a whole
// number for another is an error: only one of them could ever be evaluated.
func (a *argument) merge(other *argument, path string) error {
	if other == nil {
		return nil
	}
	numbers := true
	if element, isSet := elementOf(other.kind); isSet {
		a.mixed = a.mixed || a.elements != "" && element != "" && element != a.elements
		a.elements, numbers = join(a.elements, element)
	} else {
		a.kind, numbers = join(a.kind, other.kind)
	}
	if !numbers {
		return fmt.Errorf("%s is compared with whole numbers and with decimals; use one of them in all rules", path)
	}
	for name, member := range other.members {
		if a.members == nil {
			a.members = make(map[string]*argument)
		}
		if a.members[name] == nil {
			a.members[name] = &argument{}
		}
		if err := a.members[name].merge(member, path+"."+name); err != nil {
			return err
		}
	}
	return nil
}

// join returns the kind that decides how an argument is converted, if rules use it as one and as another: that of
// numbers. ok is false if they use it as whole numbers and as decimals.
func join(one, other string) (kind string, ok bool) {
	switch {
	case one == "Long" && other == "decimal", one == "decimal" && other == "Long":
		return one, false
	case one == "", other == "Long", other == "decimal":
		return cmp.Or(other, one), true
	}
	return one, true
}

// Limits of arguments that rules read.
const (
	maxArgumentDepth = 16
	maxArgumentItems = 10_000
)

// argumentPrefix precedes the names of arguments among the attributes of the context.
const argumentPrefix = "arguments."

// addArguments adds the arguments that rules use to the context, one attribute each: Cedar
// hashes and copies every record that it is given, which for a record of its own would cost a
// fifth of a decision. What Cedar cannot represent becomes a string, so that a rule about it errs,
// and a forbid denies; null counts as absent. An argument that is repeated, or given in another case, is
// an error, because programs differ in which of them they read.
func addArguments(context cedar.RecordMap, wanted []*argument, now *Situation) error {
	c := converter{left: maxArgumentItems}
	for _, want := range wanted {
		value, rival := now.Index.OnlyMember(now.Arguments, want.name)
		if rival != nil {
			return &argumentError{ambiguous(want.name, rival)}
		}
		if value == nil {
			continue
		}
		converted, err := c.value(value, want, 0)
		if err != nil {
			return &argumentError{fmt.Errorf("%s: %w", want.name, err)}
		}
		if converted != nil {
			context[want.attribute] = converted
		}
	}
	return nil
}

// argumentError is the reason why the arguments of a request have no form for rules.
type argumentError struct{ err error }

// Error implements the error interface.
func (e *argumentError) Error() string { return "argument " + e.err.Error() }

// ambiguous returns the error for a member that another program may not read the way a rule does.
func ambiguous(name string, rival []byte) error {
	if string(rival) == name {
		return fmt.Errorf("%s is repeated", name)
	}
	return fmt.Errorf("%s is spelled %.100q, which servers that ignore case read as the same", name, rival)
}

// setAttributes sets the attributes of the context under which the arguments are found.
func (a *argument) setAttributes() {
	for name, member := range a.members {
		member.name = name
		member.attribute = types.String(argumentPrefix + name)
	}
}

// flattenArguments replaces context.arguments.NAME by an attribute of the context, in a rule
// in Cedar's JSON form. Rules use no other expression of the arguments; see usageOf. The result also errs where the
// rule compares an argument with a value of another type; see guardNode.
func flattenArguments(rule []byte, used *argument) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(rule))
	decoder.UseNumber()
	var tree any
	if err := decoder.Decode(&tree); err != nil {
		return nil, err
	}
	flattenNode(tree)
	return json.Marshal(used.guardNode(tree))
}

// guardNode makes comparisons in a node err if an argument has another type than the value that the rule compares it
// with: Cedar's == and contains are false then, and a forbid would not deny a call whose server converts the argument.
func (a *argument) guardNode(node any) any {
	switch node := node.(type) {
	case []any:
		for i, element := range node {
			node[i] = a.guardNode(element)
		}
	case map[string]any:
		for name, member := range node {
			node[name] = a.guardNode(member)
		}
		guarded := any(node)
		for _, operator := range []string{"==", "!=", "contains"} {
			operands, _ := node[operator].(map[string]any)
			for _, side := range []string{"left", "right"} {
				if operator == "contains" && side == "left" {
					continue // errs by itself unless it is a set
				}
				if of := a.at(operands[side]); of != nil && of.kind != "" {
					guarded = binary("&&", of.typed(operands[side]), guarded)
				}
			}
		}
		return guarded
	}
	return node
}

// at returns the argument that a node reads, after flattenNode, or nil.
func (a *argument) at(node any) *argument {
	outer, _ := node.(map[string]any)
	access, _ := outer["."].(map[string]any)
	name, ok := access["attr"].(string)
	if !ok {
		return nil
	}
	if isContext(access["left"]) {
		if name, ok = strings.CutPrefix(name, argumentPrefix); !ok {
			return nil
		}
	} else if a = a.at(access["left"]); a == nil {
		return nil
	}
	return a.members[name]
}

// typed returns a node that is true for an argument of the type that the rule expects, and an error for others.
func (a *argument) typed(node any) any {
	value := func(v any) any { return map[string]any{"Value": v} }
	switch a.kind {
	case "String":
		return map[string]any{"like": map[string]any{"left": node, "pattern": []any{"Wildcard"}}}
	case "Long":
		return binary("<=", node, value(int64(math.MaxInt64)))
	case "Bool":
		return binary("||", node, value(true))
	case "decimal":
		most := map[string]any{"decimal": []any{value("922337203685477.5807")}}
		return map[string]any{"lessThanOrEqual": []any{node, most}}
	}
	// Of a set, what its elements are is found out when it is converted.
	return binary("||", map[string]any{"isEmpty": map[string]any{"arg": node}}, value(true))
}

// binary returns a node of Cedar's JSON form.
func binary(operator string, left, right any) any {
	return map[string]any{operator: map[string]any{"left": left, "right": right}}
}

// flattenNode replaces the accesses in a node of the JSON form.
func flattenNode(node any) {
	switch node := node.(type) {
	case []any:
		for _, element := range node {
			flattenNode(element)
		}
	case map[string]any:
		if has, _ := node["has"].(map[string]any); has["attr"] == "arguments" && isContext(has["left"]) {
			clear(node)
			node["Value"] = true // every call has arguments, if only none
			return
		}
		for _, operator := range []string{".", "has"} {
			access, _ := node[operator].(map[string]any)
			if name, ok := access["attr"].(string); ok && isArguments(access["left"]) {
				access["left"] = map[string]any{"Var": "context"}
				access["attr"] = argumentPrefix + name
			}
		}
		for _, member := range node {
			flattenNode(member)
		}
	}
}

// isArguments reports whether a node of the JSON form is context.arguments.
func isArguments(node any) bool {
	outer, _ := node.(map[string]any)
	access, _ := outer["."].(map[string]any)
	return access["attr"] == "arguments" && isContext(access["left"])
}

// isContext reports whether a node of the JSON form is the variable context.
func isContext(node any) bool {
	variable, _ := node.(map[string]any)
	return variable["Var"] == "context"
}

// converter converts JSON, within the limits.
type converter struct{ left int }

// value converts a JSON value; nil means null. want, which may be nil, is how rules use it.
func (c *converter) value(raw []byte, want *argument, depth int) (types.Value, error) {
	if c.left--; c.left < 0 || depth > maxArgumentDepth {
		return nil, fmt.Errorf("more than %d values or %d levels", maxArgumentItems, maxArgumentDepth)
	}
	switch raw[0] {
	case '"':
		s, ok := jsonscan.Unquote(raw)
		if !ok {
			return nil, fmt.Errorf("not a string")
		}
		return types.String(s), nil
	case 't', 'f':
		return types.Boolean(raw[0] == 't'), nil
	case 'n':
		return nil, nil
	case '[':
		var elements []types.Value
		for _, element := range jsonscan.Elements(raw) {
			of := want.element()
			v, err := c.value(element, of, depth+1)
			if err != nil {
				return nil, err
			}
			if v != nil && of.excludes(v) {
				return types.String(raw), nil
			}
			if v != nil {
				elements = append(elements, v)
			}
		}
		return cedar.NewSet(elements...), nil
	case '{':
		return c.object(raw, want, depth)
	}
	return number(string(raw), want != nil && want.kind == "decimal"), nil
}

func (c *converter) object(raw []byte, want *argument, depth int) (types.Value, error) {
	members := make(cedar.RecordMap)
	if want == nil {
		return cedar.NewRecord(members), nil // rules read no member of it
	}
	for name, of := range want.members {
		value, rival := jsonscan.OnlyMember(raw, name)
		if rival != nil {
			return nil, ambiguous(name, rival)
		}
		if value == nil {
			continue
		}
		v, err := c.value(value, of, depth+1)
		if err != nil {
			return nil, err
		}
		if v != nil {
			members[types.String(name)] = v
		}
	}
	return cedar.NewRecord(members), nil
}

// element returns the type of the elements of a set.
func (a *argument) element() *argument {
	if a == nil || a.elements == "" {
		return nil
	}
	return &argument{
		kind:  a.elements,
		mixed: a.mixed,
	}
}

// excludes reports whether a value has another type than all rules expect.
func (a *argument) excludes(v types.Value) bool {
	if a == nil || a.mixed {
		return false
	}
	is := true
	switch a.kind {
	case "String":
		_, is = v.(types.String)
	case "Long":
		_, is = v.(types.Long)
	case "Bool":
		_, is = v.(types.Boolean)
	case "decimal":
		_, is = v.(types.Decimal)
	}
	return !is
}

// number converts a JSON number: to a whole number if it is one, in any notation, otherwise
// to a decimal if it fits, otherwise to a string.
func number(text string, decimal bool) types.Value {
	if decimal {
		if d, err := types.ParseDecimal(text); err == nil {
			return d
		}
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			if d, err := cedar.NewDecimal(n, 0); err == nil {
				return d
			}
		}
		return types.String(text)
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return types.Long(n)
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return types.Long(int64(f))
	}
	if d, err := types.ParseDecimal(text); err == nil {
		return d
	}
	return types.String(text)
}
