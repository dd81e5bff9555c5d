package data

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"text/template/parse"
)

// templates are parsed templates by name, in the syntax of text/template, with the functions
// that they can call. They work on what data files contain: maps with string keys, lists,
// strings, numbers, booleans and nil.
//
// This is not text/template because that package can call any method by its name: a program
// that links it has to keep every exported method of every type, a tenth of its size. See
// docs/decisions/0089-templates-without-methods.md.
type templates struct {
	// trees are the templates, and calls the functions, by name.
	trees map[string]*parse.Tree
	calls map[string]any
}

// newTemplates returns a set without templates. calls are functions with one result, or with
// a second one of type error.
func newTemplates(calls map[string]any) *templates {
	all := builtins()
	for name, call := range calls {
		all[name] = call
	}
	return &templates{make(map[string]*parse.Tree), all}
}

// parse adds the template called name, and those that text defines.
func (ts *templates) parse(name, text string) error {
	trees, err := parse.Parse(name, text, "", "", ts.calls)
	if err != nil {
		return err
	}
	for name, tree := range trees {
		if ts.trees[name] == nil || !parse.IsEmptyTree(tree.Root) {
			ts.trees[name] = tree
		}
	}
	return nil
}

// has reports whether there is a template of that name.
func (ts *templates) has(name string) bool { return ts.trees[name] != nil }

// maxCalls is how deeply templates may call each other.
const maxCalls = 1000

// execute writes the template called name, applied to value. The error says where it
// occurred, as text/template does.
func (ts *templates) execute(out io.Writer, name string, value any) (err error) {
	tree := ts.trees[name]
	if tree == nil {
		return fmt.Errorf("template: %q is not defined", name)
	}
	s := &state{
		set:  ts,
		tree: tree,
		out:  out,
		vars: []variable{{"$", value}},
	}
	defer func() {
		failed := recover()
		if failure, ok := failed.(*executeError); ok {
			err = failure.err
		} else if failed != nil {
			panic(failed)
		}
	}()
	s.list(value, tree.Root)
	return nil
}

// executeError ends an execution. It is the only panic that execute recovers from.
type executeError struct{ err error }

// variable is a variable of a template.
type variable struct {
	name  string
	value any
}

// state is the state of an execution.
type state struct {
	// set has the other templates, and tree is the one that is executed.
	set  *templates
	tree *parse.Tree
	node parse.Node // for errors
	out  io.Writer
	// vars are the variables in scope, the innermost last. depth counts nested calls.
	vars  []variable
	depth int
}

// fail ends the execution with an error at the current node.
func (s *state) fail(format string, args ...any) {
	place, context := s.tree.ErrorContext(s.node)
	args = append([]any{place, s.tree.Name, context}, args...)
	panic(&executeError{fmt.Errorf("template: %s: executing %q at <%s>: "+format, args...)})
}

// flow is how a list of nodes ended.
type flow int

const (
	// onward continues with the next node; the others end a loop or one round of it.
	onward flow = iota
	broken
	continued
)

// list executes the nodes of a list.
func (s *state) list(dot any, list *parse.ListNode) flow {
	if list == nil {
		return onward
	}
	for _, n := range list.Nodes {
		if ended := s.walk(dot, n); ended != onward {
			return ended
		}
	}
	return onward
}

// walk executes a node.
func (s *state) walk(dot any, n parse.Node) flow {
	s.node = n
	switch n := n.(type) {
	case *parse.ActionNode:
		value := s.pipe(dot, n.Pipe)
		if len(n.Pipe.Decl) == 0 {
			s.print(value)
		}
	case *parse.TextNode:
		s.write(string(n.Text))
	case *parse.IfNode:
		return s.branch(dot, &n.BranchNode, false)
	case *parse.WithNode:
		return s.branch(dot, &n.BranchNode, true)
	case *parse.RangeNode:
		s.loop(dot, n)
	case *parse.TemplateNode:
		s.call(dot, n)
	case *parse.BreakNode:
		return broken
	case *parse.ContinueNode:
		return continued
	case *parse.CommentNode:
	default:
		s.fail("unknown node %s", n)
	}
	return onward
}

// write writes text.
func (s *state) write(text string) {
	if _, err := s.out.Write([]byte(text)); err != nil {
		s.fail("%w", err)
	}
}

// print writes a value.
func (s *state) print(value any) {
	if value == nil {
		s.write("<no value>")
		return
	}
	kind := reflect.TypeOf(value).Kind()
	if kind == reflect.Func || kind == reflect.Chan {
		s.fail("can't print %s of type %T", s.node, value)
	}
	s.write(fmt.Sprint(value))
}

// branch executes an if, or a with, which makes the value the dot.
func (s *state) branch(dot any, n *parse.BranchNode, with bool) flow {
	mark := len(s.vars)
	defer func() { s.vars = s.vars[:mark] }()
	value := s.pipe(dot, n.Pipe)
	if !truth(value) {
		return s.list(dot, n.ElseList)
	}
	if with {
		dot = value
	}
	return s.list(dot, n.List)
}

// loop executes a range over a list, a map in the order of its keys, or a number.
func (s *state) loop(dot any, n *parse.RangeNode) {
	mark := len(s.vars)
	defer func() { s.vars = s.vars[:mark] }()
	over := reflect.ValueOf(s.pipe(dot, n.Pipe))
	inner := len(s.vars)
	ran := false
	// each executes the body, and reports whether the loop goes on.
	each := func(key, value any) bool {
		ran = true
		declared := n.Pipe.Decl
		if len(declared) > 0 {
			s.assign(n.Pipe, declared[len(declared)-1].Ident[0], value, 1)
		}
		if len(declared) > 1 {
			s.assign(n.Pipe, declared[0].Ident[0], key, 2)
		}
		ended := s.list(value, n.List)
		s.vars = s.vars[:inner]
		return ended != broken
	}
	switch over.Kind() {
	case reflect.Slice, reflect.Array:
		for i := range over.Len() {
			if !each(i, over.Index(i).Interface()) {
				return
			}
		}
	case reflect.Map:
		for _, key := range sortedKeys(over) {
			if !each(key.Interface(), over.MapIndex(key).Interface()) {
				return
			}
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if len(n.Pipe.Decl) > 1 {
			s.fail("can't use %v to iterate over more than one variable", over)
		}
		for i := range over.Int() {
			if !each(i, i) {
				return
			}
		}
	case reflect.Invalid: // nil is like an empty list
	default:
		s.fail("range can't iterate over %v", over)
	}
	if !ran {
		s.list(dot, n.ElseList)
	}
}

// assign gives a variable of a loop its value: in the scope of the loop, at the given place
// from its end, or, with =, to the variable of that name.
func (s *state) assign(pipe *parse.PipeNode, name string, value any, fromEnd int) {
	if pipe.IsAssign {
		s.change(name, value)
		return
	}
	s.vars[len(s.vars)-fromEnd].value = value
}

// sortedKeys returns the keys of a map with strings as keys, in order.
func sortedKeys(m reflect.Value) []reflect.Value {
	keys := m.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int {
		return strings.Compare(a.String(), b.String())
	})
	return keys
}

// call executes another template.
func (s *state) call(dot any, n *parse.TemplateNode) {
	tree := s.set.trees[n.Name]
	if tree == nil {
		s.fail("template %q not defined", n.Name)
	}
	if s.depth == maxCalls {
		s.fail("exceeded maximum template depth (%d)", maxCalls)
	}
	dot = s.pipe(dot, n.Pipe)
	inner := &state{
		set:   s.set,
		tree:  tree,
		out:   s.out,
		vars:  []variable{{"$", dot}},
		depth: s.depth + 1,
	}
	inner.list(dot, tree.Root)
}

// truth reports whether a value is not the zero value of its type, nor empty.
func truth(value any) bool {
	v := reflect.ValueOf(value)
	switch v.Kind() {
	case reflect.Invalid:
		return false
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() > 0
	case reflect.Func:
		return !v.IsNil()
	}
	return !v.IsZero()
}

// pipe evaluates a pipeline, and declares its variables.
func (s *state) pipe(dot any, pipe *parse.PipeNode) (value any) {
	if pipe == nil {
		return nil
	}
	s.node = pipe
	piped := false
	for _, cmd := range pipe.Cmds {
		value = s.command(dot, cmd, value, piped)
		piped = true
	}
	for _, v := range pipe.Decl {
		if pipe.IsAssign {
			s.change(v.Ident[0], value)
		} else {
			s.vars = append(s.vars, variable{v.Ident[0], value})
		}
	}
	return value
}

// change changes a variable.
func (s *state) change(name string, value any) {
	for i := len(s.vars) - 1; i >= 0; i-- {
		if s.vars[i].name == name {
			s.vars[i].value = value
			return
		}
	}
	s.fail("undefined variable: %s", name)
}

// command evaluates a command; last is the value piped into it.
func (s *state) command(dot any, cmd *parse.CommandNode, last any, piped bool) any {
	first := cmd.Args[0]
	if name, ok := first.(*parse.IdentifierNode); ok {
		return s.function(dot, name, cmd, cmd.Args[1:], last, piped)
	}
	s.node = first
	if len(cmd.Args) > 1 || piped {
		s.fail("can't give argument to non-function %s", first)
	}
	return s.argument(dot, first)
}

// argument evaluates a node that is not a command.
func (s *state) argument(dot any, n parse.Node) any {
	s.node = n
	switch n := n.(type) {
	case *parse.DotNode:
		return dot
	case *parse.NilNode:
		s.fail("nil is not a command")
	case *parse.BoolNode:
		return n.True
	case *parse.StringNode:
		return n.Text
	case *parse.NumberNode:
		return s.number(n)
	case *parse.FieldNode:
		return s.fields(dot, n.Ident)
	case *parse.VariableNode:
		for i := len(s.vars) - 1; i >= 0; i-- {
			if s.vars[i].name == n.Ident[0] {
				return s.fields(s.vars[i].value, n.Ident[1:])
			}
		}
		s.fail("undefined variable: %s", n.Ident[0])
	case *parse.ChainNode:
		if _, isNil := n.Node.(*parse.NilNode); isNil {
			s.fail("indirection through explicit nil in %s", n)
		}
		value := s.argument(dot, n.Node)
		s.node = n
		return s.fields(value, n.Field)
	case *parse.PipeNode:
		return s.pipe(dot, n)
	case *parse.IdentifierNode:
		return s.function(dot, n, n, nil, nil, false)
	}
	s.fail("can't handle %s", n)
	return nil
}

// number returns a constant: an int if it can be one.
func (s *state) number(n *parse.NumberNode) any {
	switch {
	case n.IsInt:
		if int64(int(n.Int64)) != n.Int64 {
			s.fail("%s overflows int", n.Text)
		}
		if n.IsFloat &&
			strings.ContainsAny(n.Text, ".eEpP") &&
			!strings.HasPrefix(n.Text, "0x") &&
			n.Text[0] != '\'' {
			return n.Float64
		}
		return int(n.Int64)
	case n.IsFloat:
		return n.Float64
	case n.IsUint:
		s.fail("%s overflows int", n.Text)
	}
	return n.Complex128
}

// fields follows names into maps.
func (s *state) fields(value any, names []string) any {
	for _, name := range names {
		m, ok := value.(map[string]any)
		switch {
		case value == nil:
			s.fail("nil data; no entry for key %q", name)
		case !ok:
			s.fail("can't evaluate field %s in type %T", name, value)
		}
		if value, ok = m[name]; !ok {
			s.fail("map has no entry for key %q", name)
		}
	}
	return value
}

// function calls a function; at is the node for errors.
func (s *state) function(dot any, name *parse.IdentifierNode, at parse.Node, args []parse.Node, last any,
	piped bool) any {
	if name.Ident == "and" || name.Ident == "or" {
		return s.shortCircuit(dot, name.Ident == "or", args, last, piped)
	}
	values := make([]any, 0, len(args)+1)
	for _, a := range args {
		if _, isNil := a.(*parse.NilNode); isNil {
			values = append(values, nil)
		} else {
			values = append(values, s.argument(dot, a))
		}
	}
	if piped {
		values = append(values, last)
	}
	s.node = at
	result, err := invoke(s.set.calls[name.Ident], values)
	if err != nil {
		s.fail("error calling %s: %w", name.Ident, err)
	}
	return result
}

// shortCircuit returns the first value that decides an "and" or an "or", otherwise the last,
// and evaluates no more of them.
func (s *state) shortCircuit(dot any, or bool, args []parse.Node, last any, piped bool) any {
	if len(args) == 0 && !piped {
		s.fail("wrong number of args: want at least 1 got 0")
	}
	var value any
	for _, a := range args {
		if value = s.argument(dot, a); truth(value) == or {
			return value
		}
	}
	if piped {
		return last
	}
	return value
}

// invoke calls a function with values. It returns an error if they do not fit.
func invoke(function any, values []any) (result any, err error) {
	f := reflect.ValueOf(function)
	if f.Kind() != reflect.Func {
		return nil, fmt.Errorf("%v is not a function", function)
	}
	typ := f.Type()
	fixed := typ.NumIn()
	if typ.IsVariadic() {
		fixed--
	}
	if len(values) < fixed || len(values) > fixed && !typ.IsVariadic() {
		return nil, fmt.Errorf("wrong number of args: want %d got %d", fixed, len(values))
	}
	in := make([]reflect.Value, len(values))
	for i, value := range values {
		want := reflect.Type(nil)
		if i < fixed {
			want = typ.In(i)
		} else {
			want = typ.In(fixed).Elem()
		}
		if in[i], err = fit(value, want); err != nil {
			return nil, err
		}
	}
	defer func() {
		if failed := recover(); failed != nil {
			if e, ok := failed.(error); ok {
				err = e
				return
			}
			err = fmt.Errorf("%v", failed)
		}
	}()
	out := f.Call(in)
	if len(out) > 1 {
		if failed, ok := out[1].Interface().(error); ok && failed != nil {
			return nil, failed
		}
	}
	return out[0].Interface(), nil
}

// fit returns a value as an argument of a type.
func fit(value any, want reflect.Type) (reflect.Value, error) {
	v := reflect.ValueOf(value)
	switch {
	case !v.IsValid():
		kind := want.Kind()
		if kind != reflect.Interface && kind != reflect.Map && kind != reflect.Slice {
			return v, fmt.Errorf("cannot assign nil to %s", want)
		}
		return reflect.Zero(want), nil
	case v.Type().AssignableTo(want):
		return v, nil
	case v.CanInt() && want.Kind() >= reflect.Int && want.Kind() <= reflect.Int64 &&
		!reflect.Zero(want).OverflowInt(v.Int()):
		return v.Convert(want), nil
	}
	return v, fmt.Errorf("wrong type for value; expected %s; got %s", want, v.Type())
}

// errNotComparable is the error of a comparison of values without an order.
var errNotComparable = errors.New("incompatible types for comparison")
