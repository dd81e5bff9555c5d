package js

import (
	"fmt"
	"slices"
)

// function reads a declaration after the word function.
func (r *reader) function() error {
	name := r.word()
	r.generics()
	if name == "" || !r.peek("(") {
		return r.unexpected()
	}
	fn, err := r.functionTail(false)
	if err != nil {
		return err
	}
	r.declare(name, value{fn: fn})
	return nil
}

// functionTail reads the parameters and skips the body.
func (r *reader) functionTail(arrow bool) (*function, error) {
	fn := &function{scope: r.scope, module: r.module}
	if r.punct("(") {
		for !r.punct(")") {
			p, err := r.pattern()
			if err != nil {
				return nil, err
			}
			if err := r.fallback(&p); err != nil {
				return nil, err
			}
			fn.params = append(fn.params, p)
			if !r.punct(",") && !r.peek(")") {
				return nil, r.unexpected()
			}
		}
		if r.punct(":") {
			if err := r.skipType(); err != nil {
				return nil, err
			}
		}
	} else {
		fn.params = []pattern{{name: r.word()}}
	}
	if arrow {
		if err := r.want("=>"); err != nil {
			return nil, err
		}
	}
	r.space()
	fn.body, fn.block = r.at, r.peek("{")
	if !fn.block {
		return fn, r.pass()
	}
	end, err := r.closing(r.at)
	r.at = end + 1
	return fn, err
}

// call evaluates a function for its arguments.
func (r *reader) call(fn *function, at int, args []value) (value, error) {
	leave, err := r.step()
	defer leave()
	if err != nil {
		return value{}, err
	}
	if fn.given != nil {
		return fn.given(r, at, args)
	}
	back, outer, caller := r.at, r.scope, r.module
	defer func() {
		r.at, r.scope = back, outer
		r.enter(caller)
	}()
	r.enter(fn.module)
	r.scope = &scope{up: fn.scope, names: map[string]value{}}
	for i, p := range fn.params {
		v := value{}
		if i < len(args) {
			v = args[i]
		}
		if err := r.bind(p, v, at); err != nil {
			return value{}, err
		}
	}
	r.at = fn.body
	if !fn.block {
		return r.expression()
	}
	r.punct("{")
	for {
		switch word := r.peekWord(); word {
		case "return":
			r.word()
			if r.peek(";") || r.peek("}") {
				return value{}, nil
			}
			return r.expression()
		case "const", "let", "var", "function":
			if err := r.statement(); err != nil {
				return value{}, err
			}
			r.punct(";")
		default:
			if r.peek("}") {
				return value{}, nil
			}
			return value{}, r.refuse(r.at, "this in a function")
		}
	}
}

func (r *reader) unknown(at int, name string) error {
	hint := "write the value out, or declare it above with const"
	if slices.Contains([]string{"process", "Deno", "Bun", "env"}, name) {
		hint = `what must not stand here is named in "secrets" and resolved when the server starts`
	}
	return r.fail(at, fmt.Sprintf("there is no %s: a definitions script sees nothing but itself", name), hint)
}
