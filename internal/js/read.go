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
// Configuration files of other programs are read in the same way with [Options.Lenient]:
// what cannot be evaluated becomes an [Unknown] value, and the rest is read.
//
// Start with [Read].
package js

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/order"
	"github.com/slipway-mcp/slipway/internal/tree"
)

// Limits of a script. The time to read it is proportional to its length and the number of
// steps. A call also costs a step for every stepBytes of its function. With
// Options.Lenient, each byte of the files allows one more step and value.
const (
	maxSteps  = 500_000
	stepBytes = 16
	maxDepth  = 200
	maxText   = 4 << 20 // total bytes of concatenated strings, plus elements of copied lists and objects

	maxValues = 500_000 // of the result, with those that occur several times counted each time
)

// Unknown is the kind of a value that cannot be evaluated without running the script. The
// text of its node is the beginning of its source.
const Unknown = tree.Object + 1

// Options configures [Read]. nil and the zero value are the defaults.
type Options struct {
	// Files is the folder that the script may import files from, by relative paths. Nil
	// means that it can import nothing but "stax". Use the FS of an [os.Root], so that
	// symbolic links do not point outside it.
	Files fs.FS
	// Name is the path of the script in Files.
	Name string
	// Lenient reads as much of a script as possible. Values that cannot be evaluated are of
	// the kind [Unknown], statements that do something are skipped, a call of an unknown
	// function, such as defineConfig, is its first object or list, and the last of repeated
	// names counts. There are no problems. Invalid UTF-8 is replaced by U+FFFD, and positions
	// are those in the replaced text.
	Lenient bool
}

// Script is the value of a script.
type Script struct {
	// Root is the exported value. If it cannot be evaluated, it is nil or, with
	// Options.Lenient, [Unknown]. A value from an imported file has the position of the
	// import.
	Root *tree.Node
	// Problems are the reasons why Root is nil, as many as can be found; otherwise, they are
	// duplicate names in an object.
	Problems []tree.Problem
	// Imports are the paths in Options.Files of the files that were read.
	Imports []string
}

// reader evaluates a script while it scans the text. A function is the position of its
// body; a call reads from there again.
//
// Methods panic with a *fault where the text cannot be read or evaluated, and [reader.try]
// recovers it: at values that can be skipped, and around each module. No other panic is
// recovered.
type reader struct {
	opts    Options
	all     []byte // the texts of all modules
	modules []*module
	module  *module // the current one

	text []byte // all, up to the end of the current module
	at   int
	dry  int // while positive, expressions are skipped and values are meaningless
	// steps, depth and joined are the work so far, the nesting, and the bytes of texts that were
	// joined. Each has a limit, because a script can loop.
	steps  int
	depth  int
	joined int

	scope     *scope
	exporting bool // the declarations at the top are exports
	imported  int  // bytes of imported files
	problems  []tree.Problem
	reported  map[int]bool // positions of problems, since a function may be called repeatedly
	holes     bool         // some values could not be evaluated

	openPatterns int // apparent regular expressions without an end
}

// scope is a set of names. A name never changes its value.
type scope struct {
	up *scope
	// names are the variables declared in the scope itself; up is the enclosing scope.
	names map[string]value
}

// value is a node, a function, or undefined, which is the zero value.
type value struct {
	node *tree.Node
	fn   *function
}

// function is a function of the script, or a predeclared one.
type function struct {
	params []pattern
	body   int // where it begins
	size   int // bytes of parameters and body
	block  bool
	scope  *scope
	module *module
	given  builtin

	exports *module // its members are the exports of this module
}

// builtin is a predeclared function. at is the position of its call.
type builtin func(r *reader, at int, args []value) value

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

// Error implements the error interface.
func (f *fault) Error() string { return f.Message }

// Read evaluates a script.
func Read(text []byte, opts *Options) *Script {
	r := &reader{reported: map[int]bool{}}
	if opts != nil {
		r.opts = *opts
	}
	script := &module{
		name:    r.opts.Name,
		exports: map[string]value{},
	}
	r.add(script, text)
	r.module = script
	r.evaluate(script)
	out := &Script{}
	root := script.exports["default"].node
	switch {
	case script.state == failed:
		root = nil
	case root == nil && r.opts.Lenient:
	case root == nil:
		r.problem(tree.Problem{
			Offset:  len(text),
			Message: "the script exports nothing",
			Hint:    "write: export default defineMcp({ servers: { ... } })",
		})
	case r.holes:
		root = nil
	case r.settle(root, map[*tree.Node]int{}) > r.limit(maxValues):
		r.problem(tree.Problem{Message: largeObjects})
		root = nil
	}
	if root == nil && r.opts.Lenient {
		root = &tree.Node{
			Kind: Unknown,
			Text: "the export",
		}
	}
	out.Root = root
	for _, p := range r.problems {
		out.Problems = append(out.Problems, r.placed(p))
	}
	order.StableBy(out.Problems, func(a, b tree.Problem) int {
		return a.Offset - b.Offset
	})
	for _, m := range r.modules[1:] {
		out.Imports = append(out.Imports, m.name)
	}
	return out
}

// problem records a problem, once per position.
func (r *reader) problem(p tree.Problem) {
	if !r.reported[p.Offset] && !r.opts.Lenient {
		r.reported[p.Offset] = true
		r.problems = append(r.problems, p)
	}
}

// try calls read and returns the fault that stopped it, or nil.
func (r *reader) try(read func()) (f *fault) {
	depth := r.depth
	dry := r.dry
	defer func() {
		switch caught := recover().(type) {
		case nil:
		case *fault:
			f = caught
			r.depth = depth
			r.dry = dry
		default:
			panic(caught)
		}
	}()
	read()
	return nil
}

// skipFault records a fault whose value is missing from the result.
func (r *reader) skipFault(f *fault) {
	if !f.hole {
		r.problem(f.Problem)
	}
	r.holes = !r.opts.Lenient
}

// tolerant reads a value that ends before one of the bytes in stops. If the value cannot
// be evaluated but can be skipped, the problem is recorded, the result is [Unknown], and
// reading continues after it.
func (r *reader) tolerant(stops string) (v value) {
	if r.dry > 0 {
		return r.expression()
	}
	r.space()
	start := r.at
	f := r.try(func() { v = r.expression() })
	if f == nil && r.ends(stops) {
		return v
	}
	r.at = start
	if r.opts.Lenient {
		r.recover(f)
		r.skipUntil(stops)
		return r.unknown(start)
	}
	if r.try(r.pass) != nil {
		panic(f) // it cannot be skipped either
	}
	r.skipFault(f)
	return r.unknown(start)
}

// get returns the value of a variable used at at. A lenient reader takes a call of an unknown
// function for its first argument that is an object, since files often pass their settings
// through a helper. Otherwise, an undeclared name is a fault.
func (r *reader) get(at int, name string) value {
	v, ok := r.lookup(name)
	if r.dry > 0 {
		return value{fn: v.fn}
	}
	switch {
	case r.opts.Lenient && (!ok || isKind(v, Unknown)) && r.peek("("):
		return native(firstObject)
	case !ok:
		panic(undeclared(at, name))
	}
	return v.known()
}

// fail returns the fault at a position. The caller panics with it.
func fail(at int, message, hint string) *fault {
	return &fault{Problem: tree.Problem{
		Offset:  at,
		Message: message,
		Hint:    hint,
	}}
}

// refuse returns the fault for an unsupported construct.
func refuse(at int, what string) *fault {
	return fail(at, what+" is not supported: definitions scripts are read, not run",
		"write the value out, or generate a .json file with a program of yours")
}

// step counts steps and depth. The caller defers the returned function.
func (r *reader) step() (leave func()) {
	r.steps++
	r.depth++
	if r.steps > r.limit(maxSteps) || r.depth > maxDepth {
		panic(fail(r.at, "the script needs too many steps, or nests too deeply", "generate a .json file instead"))
	}
	return func() { r.depth-- }
}

// The messages for a script that exceeds maxText.
const (
	longText     = "the script builds too much text"
	longList     = "the script builds lists that are too long"
	largeObjects = "the script builds objects that are too large"
)

// spend counts bytes or elements of a new value against maxText.
func (r *reader) spend(count, at int, message string) {
	if r.joined += count; r.joined > maxText {
		panic(fail(at, message, ""))
	}
}

// lookup returns the value of a name in the closest scope that has it.
func (r *reader) lookup(name string) (value, bool) {
	for s := r.scope; s != nil; s = s.up {
		if v, ok := s.names[name]; ok {
			return v, true
		}
	}
	return value{}, false
}

// statements reads to the end of the text.
func (r *reader) statements() {
	if r.opts.Lenient {
		r.hoist()
	}
	for r.space(); r.at < len(r.text); r.space() {
		switch {
		case r.punct(";"):
		case r.opts.Lenient:
			r.tryStatement(r.statement)
		default:
			r.statement()
		}
	}
}

// statement reads one statement of a module, or a declaration in a function.
func (r *reader) statement() {
	start := r.at
	word := r.peekWord()
	switch word {
	case "import":
		r.importing()
		return
	case "export":
		r.word()
		r.export()
		return
	case "const", "let", "var":
		r.word()
		r.declarations()
		return
	case "function":
		r.word()
		r.function()
		return
	case "interface", "declare":
		r.skipDeclaration()
		return
	case "type":
		r.word()
		r.skipTypeStatement()
		return
	case "module", "exports":
		r.commonJS()
		return
	}
	switch c := r.text[r.at]; {
	case c == '"' || c == '\'': // "use strict"
		r.stringLiteral()
	case word == "" && c != '(' && c != '[':
		panic(r.unexpected())
	default:
		r.effect(start, word)
	}
}

// effect rejects a statement with a side effect. One that can be skipped, such as a call
// or an assignment, is recorded, and reading continues after it.
func (r *reader) effect(start int, word string) {
	switch word {
	case "for", "while", "do", "if", "switch", "try", "throw", "class", "abstract", "async", "await", "enum",
		"namespace", "return", "with":
		panic(fail(start, fmt.Sprintf("%q here is not supported: definitions scripts are read, not run", word),
			"make the value in one expression, with ?:, map, filter and Object.fromEntries, "+
				"or generate a .json file with a program of yours"))
	}
	refusal := fail(start, "a statement with an effect is not supported: definitions scripts are read, not run",
		"make the value in one expression, with spreads, map, filter and Object.fromEntries")
	skipped := r.try(func() {
		r.pass()
		if r.punct("=") {
			r.pass()
		}
	})
	if skipped != nil {
		panic(refusal)
	}
	r.skipFault(refusal)
}

// commonJS reads module.exports = VALUE or, if lenient, exports.NAME = VALUE.
func (r *reader) commonJS() {
	start := r.at
	if r.word() == "exports" && r.opts.Lenient {
		r.skipUntil("=;\n")
	} else if !r.punct(".") || r.word() != "exports" {
		panic(refuse(start, "module"))
	}
	if !r.punct("=") {
		panic(refuse(start, "module"))
	}
	r.module.common = true
	r.exportValue()
}

// export reads the rest of a statement after the word export.
func (r *reader) export() {
	start := r.at
	switch r.peekWord() {
	case "default":
		r.word()
		r.exportValue()
		return
	case "const", "let", "var", "function", "interface", "type", "declare":
		r.exporting = true
		r.statement()
		r.exporting = false
		return
	case "":
		if r.peek("{") { // export { x as default }
			r.exportList()
			return
		}
		if r.punct("*") {
			r.exportAll()
			return
		}
	}
	panic(refuse(start, "this export"))
}

// alias reads "as NAME" after a name. Without it, the result is the name itself.
func (r *reader) alias(name string) string {
	if r.keyword("as") {
		return r.word()
	}
	return name
}

// exportList reads { a, b as c }, which may come from another file.
func (r *reader) exportList() {
	type item struct {
		at       int
		name, as string
	}
	var list []item
	r.list("{", "}", func() {
		one := item{
			at:   r.at,
			name: r.word(),
		}
		one.as = r.alias(one.name)
		list = append(list, one)
	})
	var from *module
	if r.keyword("from") {
		from = r.from()
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
			panic(undeclared(one.at, one.name))
		} // else it is a type
	}
	if v := r.module.exports["default"]; !r.opts.Lenient {
		v.known()
	}
}

// exportAll reads the rest of export * from, or export * as name from.
func (r *reader) exportAll() {
	as := r.alias("")
	if !r.keyword("from") {
		panic(r.unexpected())
	}
	from := r.from()
	if as != "" {
		r.module.exports[as] = from.namespace()
		return
	}
	for name, v := range from.exports {
		_, own := r.module.exports[name]
		if !own && name != "default" {
			r.module.exports[name] = v
		}
	}
}

// from reads the path after the word from, and returns the file.
func (r *reader) from() *module {
	at, specifier := r.specifier()
	return r.load(at, specifier)
}

// specifier reads the path of an import, and skips with { type: "json" } after it.
func (r *reader) specifier() (at int, path string) {
	r.space()
	at = r.at
	path = r.stringLiteral()
	if r.keyword("with") || r.keyword("assert") {
		if !r.peek("{") {
			panic(r.unexpected())
		}
		r.skipBrackets()
	}
	return at, path
}

// exportValue reads the default export.
func (r *reader) exportValue() {
	r.space()
	at := r.at
	v := value{}
	if r.opts.Lenient {
		v = r.tolerant(";\n")
	} else {
		v = r.expression()
	}
	if v.node == nil && (v.fn == nil || r.module.from == nil) {
		if !r.opts.Lenient {
			panic(fail(at, "the export is not an object", "write: export default defineMcp({ servers: { ... } })"))
		}
		v = r.unknown(at)
	}
	r.module.exports["default"] = v
}

// importing reads an import. Types are skipped, so they may come from anywhere; values
// come from "stax" or from a file.
func (r *reader) importing() {
	start := r.at
	r.word()
	types := false
	if save := r.at; r.keyword("type") {
		types = r.peekWord() != "from" && !r.peek(",")
		if !types {
			r.at = save // it is the name of the import
		}
	}
	names := map[string]string{}
	if c := r.peekByte(); c != '"' && c != '\'' {
		r.imports(names)
		if r.word() != "from" {
			panic(r.unexpected())
		}
	}
	at, specifier := r.specifier()
	if types {
		return
	}
	var from *module
	if specifier != "stax" {
		f := r.try(func() { from = r.load(at, specifier) })
		if f != nil {
			r.skipFault(f)
			from = &module{state: failed}
		}
	}
	for _, local := range slices.Sorted(maps.Keys(names)) {
		v := fromStax(names[local])
		ok := true
		if from != nil {
			v, ok = from.get(names[local])
		}
		if from != nil && names[local] == "*" && from.state != failed {
			v = from.namespace()
			ok = true
		}
		if _, taken := r.scope.names[local]; taken {
			panic(declaredTwice(start, local))
		}
		if ok { // else it is a type
			r.scope.names[local] = v
		}
	}
}

// declaredTwice returns the fault for a name with two declarations.
func declaredTwice(at int, name string) *fault {
	return fail(at, fmt.Sprintf("the name %q is declared twice", name), "")
}

// fromStax returns an export of "stax": its functions, or undefined for its types.
func fromStax(name string) value {
	if name == "*" || name == "default" || strings.HasPrefix(name, "define") {
		return native(define)
	}
	return value{}
}

// imports reads the names between import and from. The result maps the local names to the
// exported ones: "default", or "*" for all.
func (r *reader) imports(names map[string]string) {
	for {
		switch {
		case r.punct("*"):
			if r.word() != "as" {
				panic(r.unexpected())
			}
			names[r.word()] = "*"
		case r.peek("{"):
			r.list("{", "}", func() {
				name := r.word()
				next := r.peekWord()
				if name == "type" && next != "" && next != "as" {
					name = r.word()
				}
				local := r.alias(name)
				if local == "" {
					panic(r.unexpected())
				}
				names[local] = name
			})
		default:
			names[r.name()] = "default"
		}
		if !r.punct(",") {
			return
		}
	}
}

// declarations reads the declarators after const.
func (r *reader) declarations() {
	for more := true; more; more = r.punct(",") {
		p := r.pattern("=;\n")
		r.want("=")
		r.space()
		at := r.at
		r.bind(p, r.tolerant(",;\n"), at)
	}
}

// pattern reads a name or { members }, and an optional type; see [reader.annotation].
func (r *reader) pattern(stops string) (p pattern) {
	if r.peek("{") {
		p.members = []pattern{}
		r.list("{", "}", func() {
			m := pattern{key: r.word()}
			m.name = m.key
			if r.punct(":") {
				if m.name = r.word(); m.name == "" {
					panic(refuse(r.at, "a pattern in a pattern"))
				}
			}
			if m.name == "" {
				panic(r.unexpected())
			}
			r.fallback(&m)
			p.members = append(p.members, m)
		})
	} else {
		p.name = r.name()
	}
	r.punct("?")
	if r.punct(":") {
		r.annotation(stops)
	}
	return p
}

// fallback skips a default value and records its position.
func (r *reader) fallback(p *pattern) {
	if r.peek("=>") || r.peek("==") || !r.punct("=") {
		return
	}
	r.space()
	p.fallback = r.at
	r.pass()
}

// pass skips an expression without evaluating it.
func (r *reader) pass() {
	r.dry++
	r.expression()
	r.dry--
}

// bind gives the names of a pattern their values. at is the position of the value.
func (r *reader) bind(p pattern, v value, at int) {
	if v == (value{}) && p.fallback > 0 && r.dry == 0 {
		back := r.at
		r.at = p.fallback
		v = r.expression()
		r.at = back
	}
	if p.members == nil {
		_, taken := r.scope.names[p.name]
		if taken && r.dry == 0 && r.scope.up == nil {
			panic(declaredTwice(at, p.name))
		}
		r.declare(p.name, v)
		return
	}
	for _, m := range p.members {
		part := value{}
		switch {
		case r.dry > 0:
		case isKind(v, Unknown):
			part = v
		case v.fn != nil && v.fn.exports != nil:
			part, _ = v.fn.exports.get(m.key)
		case v.fn != nil: // const { defineMcp } = require("stax")
			part = v
		case isKind(v, tree.Object):
			part.node = v.node.Get(m.key)
		default:
			panic(fail(at, "only an object can be taken apart", ""))
		}
		r.bind(m, part, at)
	}
}

// declare sets a name, and exports it if its declaration says so.
func (r *reader) declare(name string, v value) {
	r.scope.names[name] = v
	if r.exporting && r.scope.up == nil {
		r.module.exports[name] = v
	}
}
