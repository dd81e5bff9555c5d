package js

import (
	"fmt"
	"strings"

	"github.com/slipway-mcp/slipway/internal/tree"
)

// define is defineMcp and every other define... function of "stax": it returns its
// argument.
func define() *function {
	return &function{given: func(r *reader, at int, args []value) (value, error) {
		if len(args) != 1 || !isKind(args[0], tree.Object) {
			return value{}, r.fail(at, "it takes one object", "write: defineMcp({ servers: { ... } })")
		}
		return args[0], nil
	}}
}

// given returns the predeclared names.
func given() map[string]value {
	return map[string]value{
		"require": {fn: &function{given: func(r *reader, at int, args []value) (value, error) {
			if len(args) == 1 && isKind(args[0], tree.String) && args[0].node.Text == "stax" {
				return value{fn: define()}, nil
			}
			if len(args) != 1 || !isKind(args[0], tree.String) || r.opts.Files == nil {
				return value{}, r.fail(at, `a definitions script can require "stax" only`,
					"put all definitions into one file, or merge several files")
			}
			return r.require(at, args[0].node.Text)
		}}},
		"Boolean": {fn: &function{given: func(_ *reader, at int, args []value) (value, error) {
			return boolean(at, len(args) > 0 && truthy(args[0])), nil
		}}},
		"Object": {fn: &function{given: func(r *reader, at int, _ []value) (value, error) {
			return value{}, r.refuse(at, "Object()")
		}}},
		"String": {fn: &function{given: func(r *reader, at int, args []value) (value, error) {
			if len(args) > 0 { // map also passes the index
				if s, ok := textOf(args[0]); ok {
					return r.text1(at, s)
				}
			}
			return value{}, r.fail(at, "only a number, a string or a boolean can become a string", "")
		}}},
	}
}

// require returns what a file exports, as CommonJS does.
func (r *reader) require(at int, specifier string) (value, error) {
	m, err := r.load(at, specifier)
	switch {
	case err != nil:
		return value{}, err
	case m.state == failed:
		return value{}, &fault{hole: true}
	case m.common:
		return m.exports["default"], nil
	}
	return m.namespace(), nil
}

// member evaluates VALUE.name.
func (r *reader) member(v value, name string, at int) (value, error) {
	switch {
	case v.fn != nil && v.fn.exports != nil:
		part, _ := v.fn.exports.get(name)
		if part.hole {
			return value{}, &fault{hole: true}
		}
		return part, nil
	case v.fn != nil:
		if strings.HasPrefix(name, "define") || name == "default" { // stax.defineMcp
			return v, nil
		}
		if fn, ok := ofObject()[name]; ok {
			return value{fn: &function{given: fn}}, nil
		}
	case v.node == nil:
		return value{}, r.fail(at, fmt.Sprintf("nothing to take %q of", name), "")
	case name == prototype:
		return value{}, r.refuse(at, "."+name)
	case v.node.Kind == tree.Object:
		if n := v.node.Get(name); n != nil {
			return value{node: n}, nil
		}
		return value{}, nil
	case v.node.Kind == tree.Array && name == "length":
		return numeric(at, float64(len(v.node.Items))), nil
	case v.node.Kind == tree.Array:
		if method, ok := ofArray()[name]; ok {
			return value{fn: &function{given: func(r *reader, at int, args []value) (value, error) {
				return method(r, at, v.node, args)
			}}}, nil
		}
	case v.node.Kind == tree.String:
		if method, ok := ofString()[name]; ok {
			return value{fn: &function{given: func(r *reader, at int, args []value) (value, error) {
				if len(args) > 0 {
					return value{}, r.refuse(at, "an argument here")
				}
				return r.text1(v.node.Start, method(v.node.Text))
			}}}, nil
		}
	}
	return value{}, r.refuse(at, "."+name)
}

func ofString() map[string]func(string) string {
	return map[string]func(string) string{
		"toUpperCase": strings.ToUpper, "toLowerCase": strings.ToLower, "trim": strings.TrimSpace,
		"toString": func(s string) string { return s },
	}
}

type method = func(r *reader, at int, list *tree.Node, args []value) (value, error)

func ofArray() map[string]method {
	return map[string]method{
		"map":      mapped,
		"filter":   filtered,
		"concat":   joinedLists,
		"join":     joinedText,
		"includes": includes,
	}
}

// each calls the function in the first argument for every element of a list.
func (r *reader) each(at int, list *tree.Node, args []value, keep func(element *tree.Node, result value) error) error {
	if len(args) != 1 || args[0].fn == nil {
		return r.fail(at, "it takes a function", "")
	}
	for i, item := range list.Items {
		result, err := r.call(args[0].fn, at, []value{{node: item}, numeric(at, float64(i))})
		if err == nil {
			err = keep(item, result)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func mapped(r *reader, at int, list *tree.Node, args []value) (value, error) {
	out := &tree.Node{Kind: tree.Array, Start: list.Start}
	err := r.each(at, list, args, func(_ *tree.Node, result value) error {
		if result.node == nil {
			return r.fail(at, "the function returns no value", "")
		}
		out.Items = append(out.Items, result.node)
		return nil
	})
	return value{node: out}, err
}

func filtered(r *reader, at int, list *tree.Node, args []value) (value, error) {
	out := &tree.Node{Kind: tree.Array, Start: list.Start}
	err := r.each(at, list, args, func(item *tree.Node, result value) error {
		if truthy(result) {
			out.Items = append(out.Items, item)
		}
		return nil
	})
	return value{node: out}, err
}

func joinedLists(r *reader, at int, list *tree.Node, args []value) (value, error) {
	out := &tree.Node{Kind: tree.Array, Start: list.Start, Items: append([]*tree.Node{}, list.Items...)}
	for _, a := range args {
		switch {
		case isKind(a, tree.Array):
			out.Items = append(out.Items, a.node.Items...)
		case a.node != nil:
			out.Items = append(out.Items, a.node)
		}
	}
	if r.joined += len(out.Items); r.joined > maxText {
		return value{}, r.fail(at, "the script makes lists that are too long", "")
	}
	return value{node: out}, nil
}

func joinedText(r *reader, at int, list *tree.Node, args []value) (value, error) {
	sep := ","
	if len(args) > 0 {
		sep, _ = textOf(args[0])
	}
	var parts []string
	for _, item := range list.Items {
		s, ok := textOf(value{node: item})
		if !ok {
			return value{}, r.fail(at, "only strings and numbers can be joined", "")
		}
		parts = append(parts, s)
	}
	return r.text1(list.Start, strings.Join(parts, sep))
}

func includes(_ *reader, at int, list *tree.Node, args []value) (value, error) {
	for _, item := range list.Items {
		if len(args) > 0 && same(value{node: item}, args[0]) {
			return boolean(at, true), nil
		}
	}
	return boolean(at, false), nil
}

// ofObject returns the static methods of Object.
func ofObject() map[string]func(r *reader, at int, args []value) (value, error) {
	list := func(pick func(m tree.Member) *tree.Node) func(*reader, int, []value) (value, error) {
		return func(r *reader, at int, args []value) (value, error) {
			if len(args) != 1 || !isKind(args[0], tree.Object) {
				return value{}, r.fail(at, "it takes one object", "")
			}
			out := &tree.Node{Kind: tree.Array, Start: args[0].node.Start}
			for _, m := range args[0].node.Members {
				out.Items = append(out.Items, pick(m))
			}
			return value{node: out}, nil
		}
	}
	key := func(m tree.Member) *tree.Node { return &tree.Node{Kind: tree.String, Text: m.Key, Start: m.KeyStart} }
	return map[string]func(r *reader, at int, args []value) (value, error){
		"keys":   list(key),
		"values": list(func(m tree.Member) *tree.Node { return m.Value }),
		"entries": list(func(m tree.Member) *tree.Node {
			return &tree.Node{Kind: tree.Array, Start: m.KeyStart, Items: []*tree.Node{key(m), m.Value}}
		}),
		"fromEntries": fromEntries,
		"assign":      assign,
		"freeze": func(_ *reader, _ int, args []value) (value, error) {
			if len(args) == 0 {
				return value{}, nil
			}
			return args[0], nil
		},
	}
}

func fromEntries(r *reader, at int, args []value) (value, error) {
	if len(args) != 1 || !isKind(args[0], tree.Array) {
		return value{}, r.fail(at, "it takes a list of pairs", "")
	}
	out := &tree.Node{Kind: tree.Object, Start: args[0].node.Start}
	for _, pair := range args[0].node.Items {
		if pair.Kind != tree.Array || len(pair.Items) != 2 {
			return value{}, r.fail(at, "it takes a list of pairs", "")
		}
		name, ok := textOf(value{node: pair.Items[0]})
		if !ok {
			return value{}, r.fail(at, "a name is a string", "")
		}
		if name == prototype {
			return value{}, r.refuse(at, "the name "+prototype)
		}
		put(out, tree.Member{Key: name, Value: pair.Items[1], KeyStart: pair.Items[0].Start})
		if r.joined += len(out.Members); r.joined > maxText {
			return value{}, r.fail(at, "the script makes objects that are too large", "")
		}
	}
	return value{node: out}, nil
}

func assign(r *reader, at int, args []value) (value, error) {
	out := &tree.Node{Kind: tree.Object, Start: at}
	for _, a := range args {
		if !isKind(a, tree.Object) {
			return value{}, r.fail(at, "it takes objects", "")
		}
		for _, m := range a.node.Members {
			put(out, m)
		}
		if r.joined += len(a.node.Members) * len(out.Members); r.joined > maxText {
			return value{}, r.fail(at, "the script makes objects that are too large", "")
		}
	}
	return value{node: out}, nil
}
