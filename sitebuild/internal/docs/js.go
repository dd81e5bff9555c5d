package docs

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// jsValue is a value written literally in a JavaScript file. A value that only running
// the code would reveal is jsUnknown.
type jsValue struct {
	kind    jsKind
	text    string // of a string, a number, an identifier; for jsUnknown, a description
	list    []*jsValue
	keys    []string
	members map[string]*jsValue
	at      int // where it begins in the file
}

type jsKind uint8

const (
	jsUnknown jsKind = iota
	jsString
	jsNumber
	jsBool
	jsNull
	jsArray
	jsObject
)

// jsFile reads the literals of a JavaScript or TypeScript file. It runs nothing: names
// are looked up among the constants of the file, and a function that only returns a value
// counts as that value.
type jsFile struct {
	src   string
	at    int
	depth int
	// steps is the remaining budget, in values; an imported file shares the budget of its
	// importer.
	steps *int
	// odd counts apparent regular expressions without an end.
	odd int

	names    map[string]int // where the value of a constant begins
	returns  map[string]int // where the return value of a function begins
	reading  map[string]bool
	exported int // where the exported value begins, or -1

	// load returns the text of an imported file, or "". imports maps names to the file and
	// the name they are imported from.
	load    func(path string) string
	imports map[string]jsImport
	nested  int
}

type jsImport struct{ from, name string }

const (
	maxJSDepth = 200
	maxJSSteps = 2_000_000
	maxJSBytes = 4 << 20
	// bytesPerStep is how many bytes of a file cost one step.
	bytesPerStep = 16
)

// readJS returns the value that a file exports. It is jsUnknown if it cannot be
// determined without running the file. load, if not nil, returns the files it imports.
func readJS(src string, load func(path string) string) *jsValue {
	f := newJS(src, load, 0)
	if f == nil {
		return &jsValue{text: "a file this long"}
	}
	if c := f.peek(); c == '{' || c == '[' {
		return f.value() // JSON
	}
	f.noteImports()
	f.statements()
	if f.exported < 0 {
		return &jsValue{text: "no export"}
	}
	f.at = f.exported
	return f.value()
}

// maxImports is how many files a value may be imported through.
const maxImports = 5

func newJS(src string, load func(string) string, nested int) *jsFile {
	if len(src) > maxJSBytes {
		return nil
	}
	if load == nil {
		load = func(string) string { return "" }
	}
	steps := maxJSSteps
	return &jsFile{
		steps:    &steps,
		src:      strings.ToValidUTF8(src, "\ufffd"),
		load:     load,
		nested:   nested,
		exported: -1,
		names:    make(map[string]int),
		returns:  make(map[string]int),
		reading:  make(map[string]bool),
		imports:  make(map[string]jsImport),
	}
}

// imported finds imports of files: import a, {b as c} from './d'.
var imported = lazily(`(?m)^import\s+(?:type\s+)?([\w$]+)?\s*,?\s*(?:\{([^{}]*)\})?\s*from\s*['"](\.[^'"]+)['"]`)

// noteImports records the names imported from files relative to this one.
func (f *jsFile) noteImports() {
	for _, m := range imported().FindAllStringSubmatch(f.src, 100) {
		if m[1] != "" {
			f.imports[m[1]] = jsImport{m[3], "default"}
		}
		for item := range strings.SplitSeq(m[2], ",") {
			name, as, ok := strings.Cut(strings.TrimSpace(item), " as ")
			if !ok {
				as = name
			}
			if name != "" {
				f.imports[strings.TrimSpace(as)] = jsImport{m[3], strings.TrimSpace(name)}
			}
		}
	}
}

// fromImport returns the value of an imported name, or nil. The value has no position in
// this file.
func (f *jsFile) fromImport(name string, call bool) *jsValue {
	i, ok := f.imports[name]
	if !ok || f.nested >= maxImports {
		return nil
	}
	src := f.load(i.from)
	if src == "" {
		return nil
	}
	other := newJS(src, f.load, f.nested+1)
	// Reading the file again for each name also costs steps.
	if *f.steps -= 1 + len(src)/bytesPerStep; other == nil || *f.steps < 0 {
		return nil
	}
	other.steps = f.steps
	other.noteImports()
	other.statements()
	var v *jsValue
	switch {
	case i.name == "default" && other.exported >= 0:
		other.at = other.exported
		v = other.value()
	case call:
		v = other.named(i.name, other.returns)
	default:
		v = other.named(i.name, other.names)
	}
	v.moved(f.at)
	return v
}

// moved sets the position of a value and all values in it.
func (v *jsValue) moved(at int) {
	v.at = at
	for _, e := range v.list {
		e.moved(at)
	}
	for _, e := range v.members {
		e.moved(at)
	}
}

// statements records where the values of constants, functions and the export begin.
func (f *jsFile) statements() {
	for f.at = 0; f.at < len(f.src); {
		f.space()
		if f.at >= len(f.src) {
			return
		}
		word := f.identifier()
		switch word {
		case "const", "let", "var":
			f.space()
			if name := f.identifier(); name != "" && f.assignment() {
				f.names[name] = f.at
			}
			f.endStatement()
		case "async":
		case "function":
			f.function()
		case "export":
			f.space()
			before := f.at
			if f.identifier() == "default" {
				f.space()
				f.exported = f.at
				f.endStatement()
			} else {
				f.at = before // export const
			}
		case "module", "exports":
			before := f.at
			if f.assignment() {
				if strings.HasPrefix(f.src[before:], ".exports") || word == "exports" {
					f.exported = f.at
				}
			}
			f.endStatement()
		default:
			f.endStatement()
		}
	}
}

// function records where the return value of a function begins, if the function does
// nothing else.
func (f *jsFile) function() {
	f.space()
	name := f.identifier()
	f.skip("{")
	if f.at >= len(f.src) {
		return
	}
	f.at++
	f.space()
	before := f.at
	if f.identifier() == "return" {
		f.space()
		f.returns[name] = f.at
	}
	f.at = before
	f.skip("}")
}

// assignment moves past "=", skipping a type annotation, and reports whether there is
// one.
func (f *jsFile) assignment() bool {
	f.skip("=;\n")
	if f.at < len(f.src) &&
		f.src[f.at] == '=' &&
		!strings.HasPrefix(f.src[f.at:], "==") &&
		!strings.HasPrefix(f.src[f.at:], "=>") {
		f.at++
		f.space()
		return true
	}
	return false
}

// endStatement moves past the end of a statement or a block.
func (f *jsFile) endStatement() {
	f.skip(";\n}")
	f.at = min(f.at+1, len(f.src))
}

// skip moves to the first of the stops outside brackets, strings and comments.
func (f *jsFile) skip(stops string) {
	depth := 0
	for f.at < len(f.src) {
		c := f.src[f.at]
		if depth == 0 && strings.IndexByte(stops, c) >= 0 {
			return
		}
		switch c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth < 0 {
				if !strings.Contains(stops, ";") {
					return
				}
				depth = 0
			}
		case '"', '\'', '`':
			f.quoted()
			continue
		case '/':
			if f.comment() || f.pattern() {
				continue
			}
		}
		f.at++
	}
}

// comment moves past a comment, and reports whether there is one.
func (f *jsFile) comment() bool {
	end := ""
	switch rest := f.src[f.at:]; {
	case strings.HasPrefix(rest, "//"):
		end = "\n"
	case strings.HasPrefix(rest, "/*"):
		end = "*/"
	default:
		return false
	}
	n := strings.Index(f.src[f.at+2:], end)
	if n < 0 {
		f.at = len(f.src)
		return true
	}
	f.at += 2 + n
	if end == "*/" {
		f.at += 2
	}
	return true
}

// pattern moves past a regular expression, in which quotes and brackets have other
// meanings. A "/" after a value is a division.
func (f *jsFile) pattern() bool {
	if f.odd > maxOdd {
		return false
	}
	before := strings.TrimRight(f.src[:f.at], " \t\r\n")
	if before != "" &&
		strings.IndexByte("(,=:[!&|?{};+>", before[len(before)-1]) < 0 &&
		!strings.HasSuffix(before, "return") {
		return false
	}
	class := false
	for i := f.at + 1; i < len(f.src) && f.src[i] != '\n'; i++ {
		switch c := f.src[i]; {
		case c == '\\':
			i++
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			f.at = i + 1
			return true
		}
	}
	f.odd++
	return false
}

func (f *jsFile) space() {
	for f.at < len(f.src) {
		switch f.src[f.at] {
		case ' ', '\t', '\r', '\n':
			f.at++
		case '/':
			if !f.comment() {
				return
			}
		default:
			return
		}
	}
}

// peek returns the next byte that is not white space, or 0.
func (f *jsFile) peek() byte {
	f.space()
	if f.at < len(f.src) {
		return f.src[f.at]
	}
	return 0
}

func (f *jsFile) identifier() string {
	start := f.at
	for f.at < len(f.src) {
		c := f.src[f.at]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == '$' || f.at > start && '0' <= c && c <= '9') {
			break
		}
		f.at++
	}
	return f.src[start:f.at]
}

// quoted reads a string. ok is false if the string has placeholders.
func (f *jsFile) quoted() (text string, ok bool) {
	mark := f.src[f.at]
	f.at++
	var b strings.Builder
	ok = true
	for f.at < len(f.src) {
		c := f.src[f.at]
		f.at++
		switch {
		case c == mark:
			return b.String(), ok
		case c == '\\' && f.at < len(f.src):
			f.escape(&b)
		case c == '$' && mark == '`' && f.at < len(f.src) && f.src[f.at] == '{':
			ok = false
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), false
}

func (f *jsFile) escape(b *strings.Builder) {
	c := f.src[f.at]
	f.at++
	switch c {
	case 'n':
		b.WriteByte('\n')
	case 't':
		b.WriteByte('\t')
	case '\n', 'r':
	case 'u', 'x':
		digits := 2
		if c == 'u' {
			digits = 4
		}
		if f.at+digits <= len(f.src) {
			if n, err := strconv.ParseUint(f.src[f.at:f.at+digits], 16, 32); err == nil {
				b.WriteRune(rune(n))
				f.at += digits
			}
		}
	default:
		b.WriteByte(c)
	}
}

// value reads an expression and moves past it.
func (f *jsFile) value() *jsValue {
	*f.steps--
	if f.depth++; f.depth > maxJSDepth || *f.steps < 0 {
		f.at = len(f.src)
		f.depth--
		return &jsValue{text: "an expression this deep"}
	}
	defer func() { f.depth-- }()
	c := f.peek()
	start := f.at
	v := f.primary(c)
	v.at = start
	// The following byte shows whether the expression continues.
	switch next := f.afterValue(); next {
	case ',', ']', '}', ')', ';', 0:
		return v
	case '\n':
		return v
	}
	f.skip(",]});")
	return &jsValue{
		text: clipped(f.src[start:min(f.at, len(f.src))]),
		at:   start,
	}
}

// afterValue returns the byte that follows a value, past "as const" and the like; it is a
// line break if the next line begins another statement.
func (f *jsFile) afterValue() byte {
	before := f.at
	c := f.peek()
	broken := strings.Contains(f.src[before:min(f.at, len(f.src))], "\n")
	word := f.identifier()
	switch {
	case word == "as" || word == "satisfies":
		f.skip(",]});")
		if next := f.peek(); next != 0 && strings.IndexByte(",]})", next) >= 0 {
			return next
		}
		return ';'
	case word != "" && broken:
		f.at = before
		return '\n'
	case word != "":
		return 'x'
	}
	return c
}

func clipped(s string) string {
	const shown = 60
	return shorten(strings.Join(strings.Fields(clip(s, 10*shown)), " "), shown)
}

func (f *jsFile) primary(c byte) *jsValue {
	switch {
	case c == '{':
		return f.object()
	case c == '[':
		return f.array()
	case c == '"' || c == '\'' || c == '`':
		start := f.at
		text, ok := f.quoted()
		if !ok {
			return &jsValue{text: clipped(f.src[start:f.at])}
		}
		return &jsValue{
			kind: jsString,
			text: text,
		}
	case '0' <= c && c <= '9' || c == '-':
		start := f.at
		for f.at < len(f.src) && strings.IndexByte("0123456789.-+eExX_abcdefABCDEF", f.src[f.at]) >= 0 {
			f.at++
		}
		return &jsValue{
			kind: jsNumber,
			text: f.src[start:f.at],
		}
	case c == '(':
		f.at++
		v := f.value()
		if f.peek() == ')' {
			f.at++
		}
		return v
	}
	start := f.at
	name := f.identifier()
	switch name {
	case "":
		f.at = min(f.at+1, len(f.src))
		return &jsValue{text: clipped(f.src[start:min(len(f.src), start+60)])}
	case "true", "false":
		return &jsValue{
			kind: jsBool,
			text: name,
		}
	case "null", "undefined":
		return &jsValue{kind: jsNull}
	}
	if f.at < len(f.src) && f.src[f.at] == '(' {
		return f.call(name)
	}
	return f.named(name, f.names)
}

// call reads a call: of a function of the file, or of one such as defineConfig that
// returns its argument.
func (f *jsFile) call(name string) *jsValue {
	f.at++
	var given *jsValue
	for c := f.peek(); c != ')' && c != 0; c = f.peek() {
		before := f.at
		if v := f.value(); given == nil && (v.kind == jsObject || v.kind == jsArray) {
			given = v
		}
		if f.peek() == ',' || f.at == before {
			f.at = min(f.at+1, len(f.src))
		}
	}
	f.at = min(f.at+1, len(f.src))
	if _, known := f.returns[name]; known {
		return f.named(name, f.returns)
	}
	if v := f.fromImport(name, true); v != nil && v.kind != jsUnknown {
		return v
	}
	if given != nil && name != "require" {
		return given
	}
	return &jsValue{text: name + "(…)"}
}

// named returns the value that begins where places has it.
func (f *jsFile) named(name string, places map[string]int) *jsValue {
	at, ok := places[name]
	if !ok {
		if v := f.fromImport(name, false); v != nil {
			return v
		}
	}
	if !ok || f.reading[name] {
		return &jsValue{text: name}
	}
	back := f.at
	f.reading[name] = true
	f.at = at
	v := f.value()
	delete(f.reading, name)
	f.at = back
	copied := *v
	return &copied
}

func (f *jsFile) array() *jsValue {
	v := &jsValue{kind: jsArray}
	f.at++
	for {
		switch c := f.peek(); {
		case c == 0:
			return v
		case c == ']':
			f.at++
			return v
		case c == ',':
			f.at++
		case strings.HasPrefix(f.src[f.at:], "..."):
			f.at += 3
			if spread := f.value(); spread.kind == jsArray {
				v.list = append(v.list, spread.list...)
			} else {
				v.list = append(v.list, &jsValue{
					text: spread.text,
					at:   spread.at,
				})
			}
		default:
			before := f.at
			v.list = append(v.list, f.value())
			if f.at == before {
				f.at = min(f.at+1, len(f.src))
			}
		}
	}
}

func (f *jsFile) object() *jsValue {
	v := &jsValue{
		kind:    jsObject,
		members: make(map[string]*jsValue),
	}
	f.at++
	for {
		switch c := f.peek(); {
		case c == 0:
			return v
		case c == '}':
			f.at++
			return v
		case c == ',' || c == ';':
			f.at++
		case strings.HasPrefix(f.src[f.at:], "..."):
			f.at += 3
			spread := f.value()
			for _, key := range spread.keys {
				v.set(key, spread.members[key])
			}
			if spread.kind != jsObject {
				v.set(fmt.Sprintf("...%s", spread.text), spread)
			}
		default:
			f.member(v, c)
		}
	}
}

func (v *jsValue) set(key string, value *jsValue) {
	if _, ok := v.members[key]; !ok {
		v.keys = append(v.keys, key)
	}
	v.members[key] = value
}

// member reads one member of an object.
func (f *jsFile) member(v *jsValue, c byte) {
	before := f.at
	key := ""
	switch {
	case c == '"' || c == '\'' || c == '`':
		key, _ = f.quoted()
	case '0' <= c && c <= '9':
		key = f.primary(c).text
	default:
		key = f.identifier()
	}
	switch c := f.peek(); {
	case key != "" && c == ':':
		f.at++
		v.set(key, f.value())
	case key != "" && (c == ',' || c == '}'):
		v.set(key, f.named(key, f.names)) // { name }
	default: // a method or a computed name
		f.skip(",}")
		v.set(cmp.Or(key, clipped(f.src[before:f.at])), &jsValue{
			text: "a function",
			at:   before,
		})
		if f.at == before {
			f.at = min(f.at+1, len(f.src))
		}
	}
}

// get returns a member, or an unknown value if it does not exist.
func (v *jsValue) get(path ...string) *jsValue {
	for _, key := range path {
		next := v.members[key]
		if next == nil {
			return &jsValue{at: v.at}
		}
		v = next
	}
	return v
}

// str returns the text of a string, or "" for any other value.
func (v *jsValue) str() string {
	if v.kind == jsString {
		return v.text
	}
	return ""
}
