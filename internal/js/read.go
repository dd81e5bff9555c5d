// Package js reads definitions written in TypeScript or JavaScript:
//
//	import { defineMcp } from "stax";
//	export default defineMcp({ servers: { ... } });
//
// The file is read, not run. The reader evaluates what such a file consists of: literals,
// constants, templates, spreads, conditionals, members, small functions that return a
// value, and the few methods used to build tables. Types are skipped. Everything else is
// rejected with its position. A script therefore has no access to files, network,
// environment or clock, needs no interruption, and requires no embedded runtime. In
// return, the source position of every value is known.
//
// A script may import other scripts and JSON files by relative paths, within one folder.
//
// Start with [Read].
package js

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/tree"
)

// Limits of a script. The time to read it is proportional to the number of steps.
const (
	maxSteps = 500_000
	maxDepth = 200
	maxText  = 4 << 20 // total bytes of concatenated strings, plus elements of copied lists and objects

	maxValues = 500_000 // of the result, with those that occur several times counted each time
)

// Options configures [Read]. nil and the zero value are the defaults.
type Options struct {
	// Files is the folder that the script may import files from, by relative paths. Nil
	// means that it can import nothing but "stax". Use the FS of an [os.Root], so that
	// symbolic links do not lead out of it.
	Files fs.FS
	// Name is the path of the script in Files.
	Name string
}

// Script is the value of a script.
type Script struct {
	// Root is the exported value, or nil if it cannot be evaluated. A value from an imported
	// file has the position of the import.
	Root *tree.Node
	// Problems are the reasons why Root is nil, as many as can be found; otherwise, they are
	// duplicate names in an object.
	Problems []tree.Problem
	// Imports are the paths in Options.Files of the files that were read.
	Imports []string
}

// reader evaluates a script while it scans the text. A function is the position of its
// body; a call reads from there again.
type reader struct {
	opts    Options
	all     []byte // the texts of all modules
	modules []*module
	module  *module // the current one

	text   []byte // all, up to the end of the current module
	at     int
	dry    int // while positive, expressions are skipped and values are meaningless
	steps  int
	depth  int
	joined int

	scope     *scope
	exporting bool // the declarations at the top are exports
	imported  int  // bytes of imported files
	problems  []tree.Problem
	reported  map[int]bool // positions of problems, since a function may be called repeatedly
	holes     bool         // some values could not be evaluated
}

// scope is a set of names. A name never changes its value.
type scope struct {
	up    *scope
	names map[string]value
}

// value is a node, a function, or undefined, which is the zero value.
type value struct {
	node *tree.Node
	fn   *function
	hole bool // it could not be evaluated, and the problem was reported
}

// function is a function of the script, or a predeclared one.
type function struct {
	params []pattern
	body   int // where it begins
	block  bool
	scope  *scope
	module *module
	given  func(r *reader, at int, args []value) (value, error)

	exports *module // its members are the exports of this module
}

// pattern is the target of a binding: a name, or members of an object.
type pattern struct {
	name     string
	members  []pattern // for { a, b: c }
	key      string    // the member to take
	fallback int       // where the default value begins, or 0
}

// fault aborts reading, or the evaluation of a value.
type fault struct {
	tree.Problem
	hole bool // caused by another fault, which was reported
}

func (f *fault) Error() string { return f.Message }

// Read evaluates a script.
func Read(text []byte, opts *Options) *Script {
	r := &reader{reported: map[int]bool{}}
	if opts != nil {
		r.opts = *opts
	}
	script := &module{name: r.opts.Name, exports: map[string]value{}}
	r.add(script, text)
	r.module = script
	r.evaluate(script)
	out := &Script{}
	root := script.exports["default"].node
	switch {
	case script.state == failed:
		root = nil
	case root == nil:
		r.problem(tree.Problem{Offset: len(text), Message: "the script exports nothing",
			Hint: "write: export default defineMcp({ servers: { ... } })"})
	case r.holes:
		root = nil
	case r.settle(root, map[*tree.Node]int{}) > maxValues:
		r.problem(tree.Problem{Message: "the script makes objects that are too large"})
		root = nil
	}
	out.Root = root
	for _, p := range r.problems {
		out.Problems = append(out.Problems, r.placed(p))
	}
	slices.SortStableFunc(out.Problems, func(a, b tree.Problem) int { return a.Offset - b.Offset })
	for _, m := range r.modules[1:] {
		out.Imports = append(out.Imports, m.name)
	}
	return out
}

// problem records a problem, once per position.
func (r *reader) problem(p tree.Problem) {
	if !r.reported[p.Offset] {
		r.reported[p.Offset] = true
		r.problems = append(r.problems, p)
	}
}

// tolerant reads a value. If the value cannot be evaluated but can be skipped, the
// problem is recorded, the result is a hole, and reading continues after it.
func (r *reader) tolerant() (value, error) {
	start, scope, depth, dry := r.at, r.scope, r.depth, r.dry
	v, err := r.expression()
	var f *fault
	if dry > 0 || !errors.As(err, &f) {
		return v, err
	}
	r.at, r.scope, r.depth, r.dry = start, scope, depth, 0
	if r.pass() != nil {
		return value{}, err // it cannot be skipped either
	}
	if !f.hole {
		r.problem(f.Problem)
	}
	r.holes = true
	return value{hole: true}, nil
}

// get returns the value of a name.
func (r *reader) get(at int, name string) (value, error) {
	v, ok := r.lookup(name)
	switch {
	case r.dry > 0:
		return v, nil
	case !ok:
		return value{}, r.unknown(at, name)
	case v.hole:
		return value{}, &fault{hole: true}
	}
	return v, nil
}

func (r *reader) fail(at int, message, hint string) error {
	return &fault{Problem: tree.Problem{Offset: at, Message: message, Hint: hint}}
}

// refuse returns the error for an unsupported construct.
func (r *reader) refuse(at int, what string) error {
	return r.fail(at, what+" cannot be used: a definitions script is read, not run",
		"write the value out, or generate a .json file with a program of yours")
}

// step counts steps and depth. The caller defers the returned function.
func (r *reader) step() (leave func(), err error) {
	r.steps++
	r.depth++
	if r.steps > maxSteps || r.depth > maxDepth {
		return func() {}, r.fail(r.at, "the script does too much, or nests too deeply", "generate a .json file instead")
	}
	return func() { r.depth-- }, nil
}

func (r *reader) lookup(name string) (value, bool) {
	for s := r.scope; s != nil; s = s.up {
		if v, ok := s.names[name]; ok {
			return v, true
		}
	}
	return value{}, false
}

// statements reads to the end of the text or, in a block, to its closing brace.
func (r *reader) statements(block int) error {
	for {
		r.space()
		if r.at >= len(r.text) || block > 0 && r.text[r.at] == '}' {
			return nil
		}
		if r.punct(";") {
			continue
		}
		if err := r.statement(); err != nil {
			return err
		}
	}
}

func (r *reader) statement() error {
	start := r.at
	word := r.peekWord()
	switch word {
	case "import":
		return r.importing()
	case "export":
		r.word()
		return r.export()
	case "const", "let", "var":
		r.word()
		return r.declarations()
	case "function":
		r.word()
		return r.function()
	case "interface", "declare":
		return r.skipDeclaration()
	case "type":
		r.word()
		if r.peek("{") {
			return r.skipTypeExports()
		}
		r.word()
		r.generics()
		if err := r.want("="); err != nil {
			return err
		}
		return r.skipType()
	case "module":
		return r.commonJS()
	}
	if c := r.text[r.at]; c == '"' || c == '\'' { // "use strict"
		_, err := r.stringLiteral()
		return err
	}
	if word == "" && !r.peek("(") && !r.peek("[") {
		return r.unexpected()
	}
	return r.effect(start, word)
}

// skipTypeExports skips the rest of export type { A, B } from "path".
func (r *reader) skipTypeExports() error {
	end, err := r.closing(r.at)
	if err != nil {
		return err
	}
	r.at = end + 1
	if r.peekWord() != "from" {
		return nil
	}
	r.word()
	_, err = r.stringLiteral()
	return err
}

// effect rejects a statement with a side effect. One that can be skipped, such as a call
// or an assignment, is recorded, and reading continues after it.
func (r *reader) effect(start int, word string) error {
	refusal := r.fail(start, "a statement that does something cannot be used: a definitions script is read, not run",
		"make the value in one expression, with spreads, map, filter and Object.fromEntries")
	switch word {
	case "for", "while", "do", "if", "switch", "try", "throw", "class", "abstract", "async", "await", "enum", "namespace",
		"return", "with":
		return r.fail(start, fmt.Sprintf("%q here cannot be used: a definitions script is read, not run", word),
			"make the value in one expression, with ?:, map, filter and Object.fromEntries, or generate a .json file with a program of yours")
	}
	if r.pass() != nil || r.punct("=") && r.pass() != nil {
		return refusal
	}
	r.problem(refusal.(*fault).Problem)
	r.holes = true
	return nil
}

// commonJS reads module.exports = VALUE.
func (r *reader) commonJS() error {
	start := r.at
	r.word()
	if !r.punct(".") || r.word() != "exports" || !r.punct("=") {
		return r.refuse(start, "module")
	}
	r.module.common = true
	return r.exportValue()
}

func (r *reader) export() error {
	start := r.at
	switch word := r.peekWord(); word {
	case "default":
		r.word()
		return r.exportValue()
	case "const", "let", "var", "function", "interface", "type", "declare":
		r.exporting = true
		err := r.statement()
		r.exporting = false
		return err
	case "":
		if r.peek("{") { // export { x as default }
			return r.exportList()
		}
		if r.punct("*") {
			return r.exportAll()
		}
	}
	return r.refuse(start, "this export")
}

// exportList reads { a, b as c }, which may come from another file.
func (r *reader) exportList() error {
	type item struct {
		at       int
		name, as string
	}
	var list []item
	r.punct("{")
	for !r.punct("}") {
		one := item{at: r.at, name: r.word()}
		if one.as = one.name; r.peekWord() == "as" {
			r.word()
			one.as = r.word()
		}
		list = append(list, one)
		if !r.punct(",") && !r.peek("}") {
			return r.unexpected()
		}
	}
	var from *module
	if r.peekWord() == "from" {
		var err error
		if from, err = r.from(); err != nil {
			return err
		}
	}
	for _, one := range list {
		v, ok := r.lookup(one.name)
		if from != nil {
			v, ok = from.get(one.name)
		}
		switch {
		case ok:
			r.module.exports[one.as] = v
		case one.as == "default":
			return r.unknown(one.at, one.name)
		} // else it is a type
	}
	if v := r.module.exports["default"]; v.hole {
		return &fault{hole: true}
	}
	return nil
}

// exportAll reads the rest of export * from, or export * as name from.
func (r *reader) exportAll() error {
	name := ""
	if r.peekWord() == "as" {
		r.word()
		name = r.word()
	}
	if r.peekWord() != "from" {
		return r.unexpected()
	}
	from, err := r.from()
	if err != nil {
		return err
	}
	if name != "" {
		r.module.exports[name] = from.namespace()
		return nil
	}
	for name, v := range from.exports {
		if _, own := r.module.exports[name]; !own && name != "default" {
			r.module.exports[name] = v
		}
	}
	return nil
}

// from reads from "path" and returns the file.
func (r *reader) from() (*module, error) {
	r.word()
	r.space()
	at := r.at
	specifier, err := r.stringLiteral()
	if err != nil {
		return nil, err
	}
	if err := r.attributes(); err != nil {
		return nil, err
	}
	return r.load(at, specifier)
}

// attributes skips with { type: "json" } after an import.
func (r *reader) attributes() error {
	if word := r.peekWord(); word != "with" && word != "assert" {
		return nil
	}
	r.word()
	if !r.peek("{") {
		return r.unexpected()
	}
	end, err := r.closing(r.at)
	r.at = end + 1
	return err
}

func (r *reader) exportValue() error {
	r.space()
	at := r.at
	v, err := r.expression()
	if err != nil {
		return err
	}
	if v.node == nil && (v.fn == nil || r.module.from == nil) {
		return r.fail(at, "what is exported is no object", "write: export default defineMcp({ servers: { ... } })")
	}
	r.module.exports["default"] = v
	return nil
}

// importing reads an import. Types are skipped, so they may come from anywhere; values
// come from "stax" or from a file.
func (r *reader) importing() error {
	start := r.at
	r.word()
	types := false
	if r.peekWord() == "type" {
		save := r.at
		r.word()
		if types = r.peekWord() != "from" && !r.peek(","); !types {
			r.at = save
		}
	}
	names := map[string]string{}
	if c := r.peekByte(); c != '"' && c != '\'' {
		if err := r.imports(names); err != nil {
			return err
		}
		if r.word() != "from" {
			return r.unexpected()
		}
	}
	r.space()
	at := r.at
	specifier, err := r.stringLiteral()
	if err == nil {
		err = r.attributes()
	}
	if err != nil || types {
		return err
	}
	var from *module
	if specifier != "stax" {
		var f *fault
		if from, err = r.load(at, specifier); errors.As(err, &f) {
			r.problem(f.Problem)
			r.holes = true
			from = &module{state: failed}
		}
	}
	for _, local := range slices.Sorted(maps.Keys(names)) {
		v, ok := fromStax(names[local]), true
		if from != nil {
			v, ok = from.get(names[local])
		}
		if from != nil && names[local] == "*" && from.state != failed {
			v, ok = from.namespace(), true
		}
		if _, taken := r.scope.names[local]; taken {
			return r.fail(start, fmt.Sprintf("the name %q is declared twice", local), "")
		}
		if ok { // else it is a type
			r.scope.names[local] = v
		}
	}
	return nil
}

// fromStax returns an export of "stax": its functions, or undefined for its types.
func fromStax(name string) value {
	if name == "*" || name == "default" || strings.HasPrefix(name, "define") {
		return value{fn: define()}
	}
	return value{}
}

// imports reads the names between import and from. The result maps the local names to the
// exported ones: "default", or "*" for all.
func (r *reader) imports(names map[string]string) error {
	for {
		switch {
		case r.punct("*"):
			if r.word() != "as" {
				return r.unexpected()
			}
			names[r.word()] = "*"
		case r.punct("{"):
			for !r.punct("}") {
				name := r.word()
				if name == "type" && r.peekWord() != "" && r.peekWord() != "as" {
					name = r.word()
				}
				local := name
				if r.peekWord() == "as" {
					r.word()
					local = r.word()
				}
				if local == "" {
					return r.unexpected()
				}
				names[local] = name
				if !r.punct(",") && !r.peek("}") {
					return r.unexpected()
				}
			}
		default:
			name := r.word()
			if name == "" {
				return r.unexpected()
			}
			names[name] = "default"
		}
		if !r.punct(",") {
			return nil
		}
	}
}

// declarations reads the declarators after const.
func (r *reader) declarations() error {
	for {
		p, err := r.pattern()
		if err != nil {
			return err
		}
		if err := r.want("="); err != nil {
			return err
		}
		r.space()
		at := r.at
		v, err := r.tolerant()
		if err != nil {
			return err
		}
		if err := r.bind(p, v, at); err != nil {
			return err
		}
		if !r.punct(",") {
			return nil
		}
	}
}

// pattern reads a name or { members }, and an optional type.
func (r *reader) pattern() (p pattern, err error) {
	if r.punct("{") {
		p.members = []pattern{}
		for !r.punct("}") {
			m := pattern{}
			m.key = r.word()
			m.name = m.key
			if r.punct(":") {
				if m.name = r.word(); m.name == "" {
					return p, r.refuse(r.at, "a pattern in a pattern")
				}
			}
			if m.name == "" {
				return p, r.unexpected()
			}
			if err := r.fallback(&m); err != nil {
				return p, err
			}
			p.members = append(p.members, m)
			if !r.punct(",") && !r.peek("}") {
				return p, r.unexpected()
			}
		}
	} else if p.name = r.word(); p.name == "" {
		return p, r.unexpected()
	}
	r.punct("?")
	if r.punct(":") {
		err = r.skipType()
	}
	return p, err
}

// fallback skips a default value and records its position.
func (r *reader) fallback(p *pattern) error {
	if r.peek("=>") || r.peek("==") || !r.punct("=") {
		return nil
	}
	r.space()
	p.fallback = r.at
	return r.pass()
}

// pass skips an expression without evaluating it.
func (r *reader) pass() error {
	r.dry++
	_, err := r.expression()
	r.dry--
	return err
}

func (r *reader) bind(p pattern, v value, at int) error {
	if v == (value{}) && p.fallback > 0 && r.dry == 0 {
		back := r.at
		r.at = p.fallback
		var err error
		if v, err = r.expression(); err != nil {
			return err
		}
		r.at = back
	}
	if p.members == nil {
		if _, taken := r.scope.names[p.name]; taken && r.dry == 0 && r.scope.up == nil {
			return r.fail(at, fmt.Sprintf("the name %q is declared twice", p.name), "")
		}
		r.declare(p.name, v)
		return nil
	}
	for _, m := range p.members {
		part := value{}
		switch {
		case r.dry > 0:
		case v.hole:
			part = v
		case v.fn != nil && v.fn.exports != nil:
			part, _ = v.fn.exports.get(m.key)
		case v.fn != nil: // const { defineMcp } = require("stax")
			part = v
		case v.node != nil && v.node.Kind == tree.Object:
			if n := v.node.Get(m.key); n != nil {
				part.node = n
			}
		default:
			return r.fail(at, "only an object can be taken apart", "")
		}
		if err := r.bind(m, part, at); err != nil {
			return err
		}
	}
	return nil
}

// declare sets a name, and exports it if its declaration says so.
func (r *reader) declare(name string, v value) {
	r.scope.names[name] = v
	if r.exporting && r.scope.up == nil {
		r.module.exports[name] = v
	}
}
