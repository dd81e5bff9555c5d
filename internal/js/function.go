package js

import (
	"fmt"
	"slices"
)

// function reads a declaration after the word function.
func (r *reader) function() {
	name := r.word()
	r.generics()
	if name == "" || !r.peek("(") {
		panic(r.unexpected())
	}
	r.declare(name, value{fn: r.functionTail(false)})
}

// functionTail reads the parameters and skips the body, which is read by each call.
func (r *reader) functionTail(arrow bool) *function {
	fn := &function{
		scope:  r.scope,
		module: r.module,
	}
	start := r.at
	if r.peek("(") {
		r.list("(", ")", func() {
			p := r.pattern("=,)")
			r.fallback(&p)
			fn.params = append(fn.params, p)
		})
		if r.punct(":") {
			r.annotation("{=")
		}
	} else {
		fn.params = []pattern{{name: r.word()}}
	}
	if arrow {
		r.want("=>")
	}
	fn.block = r.peek("{")
	fn.body = r.at
	if fn.block {
		r.skipBrackets()
	} else {
		r.pass()
	}
	fn.size = r.at - start
	return fn
}

// call evaluates a function for its arguments.
func (r *reader) call(fn *function, at int, args []value) value {
	defer r.step()()
	if fn.given != nil {
		return fn.given(r, at, args)
	}
	r.steps += fn.size / stepBytes
	back := r.at
	outer := r.scope
	caller := r.module
	defer func() {
		r.at = back
		r.scope = outer
		r.enter(caller)
	}()
	r.enter(fn.module)
	r.scope = &scope{
		up:    fn.scope,
		names: map[string]value{},
	}
	for i, p := range fn.params {
		v := value{}
		if i < len(args) {
			v = args[i]
		}
		r.bind(p, v, at)
	}
	r.at = fn.body
	if fn.block {
		return r.block()
	}
	return r.expression()
}

// block evaluates the body of a function: declarations, and the value that it returns.
func (r *reader) block() value {
	r.want("{")
	for {
		switch r.peekWord() {
		case "return":
			r.word()
			if r.peek(";") || r.peek("}") {
				return value{}
			}
			return r.expression()
		case "const", "let", "var", "function":
			r.statement()
			r.punct(";")
		default:
			if r.peek("}") {
				return value{}
			}
			panic(refuse(r.at, "this in a function"))
		}
	}
}

// undeclared returns the fault for a name that is not declared.
func undeclared(at int, name string) *fault {
	hint := "write the value out, or declare it above with const"
	if slices.Contains([]string{"process", "Deno", "Bun", "env"}, name) {
		hint = `name secrets in "secrets"; they are resolved when the server starts`
	}
	return fail(at,
		fmt.Sprintf("%s is not declared: a definitions script can only use its own declarations", name), hint)
}
