package js

import (
	"fmt"
	"strings"

	"github.com/slipway-mcp/slipway/internal/tree"
)

// native returns a predeclared function as a value.
func native(fn builtin) value { return value{fn: &function{given: fn}} }

// listAt returns a list as a value.
func listAt(at int, items []*tree.Node) value {
	return value{node: &tree.Node{
		Kind:  tree.Array,
		Start: at,
		Items: items,
	}}
}

// define is defineMcp and every other define... function of "stax": it returns its
// argument.
func define(_ *reader, at int, args []value) value {
	if len(args) != 1 || !isKind(args[0], tree.Object) {
		panic(fail(at, "it takes one object", "write: defineMcp({ servers: { ... } })"))
	}
	return args[0]
}

// given returns the predeclared names.
func given() map[string]value {
	return map[string]value{
		"require": native(require),
		"Boolean": native(func(_ *reader, at int, args []value) value {
			return boolean(at, len(args) > 0 && truthy(args[0]))
		}),
		"Object": native(func(_ *reader, at int, _ []value) value {
			panic(refuse(at, "Object()"))
		}),
		"String": native(func(r *reader, at int, args []value) value {
			if len(args) > 0 { // map also passes the index
				if s, ok := textOf(args[0]); ok {
					return r.newText(at, s)
				}
			}
			panic(fail(at, "only numbers, strings and booleans can be converted to a string", ""))
		}),
	}
}

// require returns what a file exports, as CommonJS does.
func require(r *reader, at int, args []value) value {
	named := len(args) == 1 && isKind(args[0], tree.String)
	if named && args[0].node.Text == "stax" {
		return native(define)
	}
	if !named || r.opts.Files == nil {
		panic(fail(at, `only "stax" can be required`, oneFile))
	}
	m := r.load(at, args[0].node.Text)
	switch {
	case m.state == failed:
		return hole().known()
	case m.common:
		return m.exports["default"]
	}
	return m.namespace()
}

// member evaluates VALUE.name.
func (r *reader) member(v value, name string, at int) value {
	switch {
	case v.fn != nil && v.fn.exports != nil:
		part, _ := v.fn.exports.get(name)
		return part.known()
	case v.fn != nil:
		if strings.HasPrefix(name, "define") || name == "default" { // stax.defineMcp
			return v
		}
		if fn, ok := ofObject()[name]; ok {
			return native(fn)
		}
	case isKind(v, Unknown):
		return v.known()
	case v.node == nil:
		panic(fail(at, fmt.Sprintf("cannot read %q of undefined", name), ""))
	case name == prototype:
	case v.node.Kind == tree.Object:
		return value{node: v.node.Get(name)}
	case v.node.Kind == tree.Array && name == "length":
		return numeric(at, float64(len(v.node.Items)))
	case v.node.Kind == tree.Array:
		if method, ok := ofArray()[name]; ok {
			return native(func(r *reader, at int, args []value) value {
				return method(r, at, v.node, args)
			})
		}
	case v.node.Kind == tree.String:
		if method, ok := ofString()[name]; ok {
			return native(func(r *reader, at int, args []value) value {
				if len(args) > 0 {
					panic(refuse(at, "an argument here"))
				}
				return r.newText(v.node.Start, method(v.node.Text))
			})
		}
	}
	panic(refuse(at, "."+name))
}

// ofString returns the methods of strings, none of which takes an argument.
func ofString() map[string]func(string) string {
	return map[string]func(string) string{
		"toUpperCase": strings.ToUpper,
		"toLowerCase": strings.ToLower,
		"trim":        strings.TrimSpace,
		"toString":    func(s string) string { return s },
	}
}

// method is a method of lists. list is the value it is called on, and at the position of the
// call, for the nodes it returns.
type method = func(r *reader, at int, list *tree.Node, args []value) value

// ofArray returns the methods of lists.
func ofArray() map[string]method {
	return map[string]method{
		"map":      mapList,
		"filter":   filterList,
		"concat":   concatLists,
		"join":     joinText,
		"includes": includes,
	}
}

// each calls the function in the first argument for every element of a list. The result
// is the list of what keep returns, without nil.
func (r *reader) each(
	at int,
	list *tree.Node,
	args []value,
	keep func(element *tree.Node, result value) *tree.Node,
) value {
	if len(args) != 1 || args[0].fn == nil {
		panic(fail(at, "it takes a function", ""))
	}
	var items []*tree.Node
	for i, item := range list.Items {
		result := r.call(args[0].fn, at, []value{
			{node: item},
			numeric(at, float64(i)),
		})
		if kept := keep(item, result); kept != nil {
			items = append(items, kept)
		}
	}
	return listAt(list.Start, items)
}

// mapList is LIST.map(f).
func mapList(r *reader, at int, list *tree.Node, args []value) value {
	return r.each(at, list, args, func(_ *tree.Node, result value) *tree.Node {
		if result.node == nil {
			panic(fail(at, "the function returns no value", ""))
		}
		return result.node
	})
}

// filterList is LIST.filter(f).
func filterList(r *reader, at int, list *tree.Node, args []value) value {
	return r.each(at, list, args, func(item *tree.Node, result value) *tree.Node {
		if truthy(result) {
			return item
		}
		return nil
	})
}

// concatLists is LIST.concat(a, b, …).
func concatLists(r *reader, at int, list *tree.Node, args []value) value {
	items := append([]*tree.Node{}, list.Items...)
	for _, a := range args {
		switch {
		case isKind(a, tree.Array):
			items = append(items, a.node.Items...)
		case a.node != nil:
			items = append(items, a.node)
		}
	}
	r.spend(len(items), at, longList)
	return listAt(list.Start, items)
}

// joinText is LIST.join(separator).
func joinText(r *reader, at int, list *tree.Node, args []value) value {
	sep := ","
	if len(args) > 0 {
		sep, _ = textOf(args[0])
	}
	var parts []string
	for _, item := range list.Items {
		s, ok := textOf(value{node: item})
		if !ok {
			panic(fail(at, "only strings and numbers can be joined", ""))
		}
		parts = append(parts, s)
	}
	return r.newText(list.Start, strings.Join(parts, sep))
}

// includes is LIST.includes(value).
func includes(_ *reader, at int, list *tree.Node, args []value) value {
	for _, item := range list.Items {
		if len(args) > 0 && same(value{node: item}, args[0]) {
			return boolean(at, true)
		}
	}
	return boolean(at, false)
}

// ofObject returns the static methods of Object.
func ofObject() map[string]builtin {
	list := func(pick func(m tree.Member) *tree.Node) builtin {
		return func(_ *reader, at int, args []value) value {
			if len(args) != 1 || !isKind(args[0], tree.Object) {
				panic(fail(at, "it takes one object", ""))
			}
			var items []*tree.Node
			for _, m := range args[0].node.Members {
				items = append(items, pick(m))
			}
			return listAt(args[0].node.Start, items)
		}
	}
	key := func(m tree.Member) *tree.Node {
		return textNode(m.KeyStart, m.Key)
	}
	return map[string]builtin{
		"keys":   list(key),
		"values": list(func(m tree.Member) *tree.Node { return m.Value }),
		"entries": list(func(m tree.Member) *tree.Node {
			return listAt(m.KeyStart, []*tree.Node{key(m), m.Value}).node
		}),
		"fromEntries": fromEntries,
		"assign":      assign,
		"freeze": func(_ *reader, _ int, args []value) value {
			return append(args, value{})[0] // undefined without an argument
		},
	}
}

// fromEntries is Object.fromEntries(pairs).
func fromEntries(r *reader, at int, args []value) value {
	pairs := fail(at, "it takes a list of pairs", "")
	if len(args) != 1 || !isKind(args[0], tree.Array) {
		panic(pairs)
	}
	out := newObject(args[0].node.Start)
	for _, pair := range args[0].node.Items {
		if pair.Kind != tree.Array || len(pair.Items) != 2 {
			panic(pairs)
		}
		name, ok := textOf(value{node: pair.Items[0]})
		if !ok {
			panic(fail(at, "a name is a string", ""))
		}
		if name == prototype {
			panic(refuse(at, "the name "+prototype))
		}
		out.set(tree.Member{
			Key:      name,
			Value:    pair.Items[1],
			KeyStart: pair.Items[0].Start,
		})
		r.spend(len(out.node.Members), at, largeObjects)
	}
	return value{node: out.ordered()}
}

// assign is Object.assign(a, b, …). The result is a new object: no value changes.
func assign(r *reader, at int, args []value) value {
	out := newObject(at)
	for _, a := range args {
		if !isKind(a, tree.Object) {
			panic(fail(at, "it takes objects", ""))
		}
		for _, m := range a.node.Members {
			out.set(m)
		}
		r.spend(len(a.node.Members)*len(out.node.Members), at, largeObjects)
	}
	return value{node: out.ordered()}
}
