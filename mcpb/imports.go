package mcpb

import (
	"bytes"
	"strings"
)

// jsImport is a module that JavaScript code loads.
type jsImport struct {
	name string // if computed, its known prefix
	at   int    // the offset of the name in the text
	// esm reports whether import loads it, which requires the exact file name; computed
	// whether its name is not a literal.
	esm, computed bool
	// lazy reports whether a function loads it when called, by require or import(), so
	// that the program starts without it.
	lazy bool
	// optional reports whether the program continues without it: it is inside try { }, or
	// .catch() follows.
	optional bool
}

// scanJavaScript finds the imports of a JavaScript file, which are static imports,
// re-exports, and calls of import(), require and the result of createRequire, and its
// string literals. It reads only tokens, so text that is not JavaScript has few imports or
// none.
func scanJavaScript(text []byte) *jsScanner {
	s := &jsScanner{
		text:    text,
		loaders: map[string]bool{"require": true, "__require": true, "__non_webpack_require__": true},
		makers:  map[string]bool{"createRequire": true},
	}
	for s.next() {
		switch {
		case s.kind == jsText:
			s.literal()
		case s.kind == jsWord:
			s.statement()
		}
	}
	return s
}

// statement reads from a word that may begin an import.
func (s *jsScanner) statement() {
	switch {
	case s.makers[s.word]:
		s.making()
	case s.before == "." && (s.word != "require" || s.earlier != "module"):
	case s.word == "import":
		s.importing()
	case s.word == "export":
		s.exporting()
	case s.word == "try":
		s.trying = true
	case s.loaders[s.word] && s.before != "function":
		s.calling(s.mayNotRun() || s.before == ">") // an arrow function needs no braces
	}
}

// mayNotRun reports whether a block is open that may not run when the file is loaded.
func (s *jsScanner) mayNotRun() bool { return s.depth > s.tries }

// importing reads the tokens after import.
func (s *jsScanner) importing() {
	// A top-level await loads its module together with the file.
	lazy := s.mayNotRun() || s.before != "await"
	if !s.next() {
		return
	}
	switch {
	case s.kind == jsText:
		s.add(s.start, s.at, false, true)
		return
	case s.word == "(":
		s.argument(lazy, true)
		return
	case s.word == ".": // import.meta
		return
	}
	s.upToFrom()
}

// exporting reads the tokens after export: only * and { } can be re-exports.
func (s *jsScanner) exporting() {
	if s.next() && (s.word == "*" || s.word == "{") {
		s.upToFrom()
	}
}

// maxClause limits the tokens between import and from.
const maxClause = 20_000

// upToFrom reads up to from "name", or to the end of the statement.
func (s *jsScanner) upToFrom() {
	for range maxClause {
		switch {
		case s.kind == jsWord && s.makers[s.word]:
			s.making()
		case s.kind == jsWord && s.word == "from" && s.before != ",":
			if s.next() && s.kind == jsText {
				s.add(s.start, s.at, false, true)
				return
			}
		}
		if !s.next() || s.word == ";" || s.word == "=" || s.word == "(" {
			return
		}
	}
}

// calling reads the tokens after a function that loads modules.
func (s *jsScanner) calling(lazy bool) {
	target := s.assigned
	assigns := s.before == "="
	if !s.next() {
		return
	}
	switch s.word {
	case "(":
		s.argument(lazy, false)
	case ".":
		if s.next() && s.word == "resolve" && s.next() && s.word == "(" {
			s.argument(true, false)
			n := len(s.found)
			if n > 0 && s.found[n-1].computed {
				s.found = s.found[:n-1] // it loads nothing
			}
		}
	case ";", ",":
		if assigns {
			s.name(s.loaders, target)
		}
	}
}

// making reads the tokens after createRequire: an alias of it, or a call, whose result
// loads modules.
func (s *jsScanner) making() {
	target := s.assigned
	if !s.next() {
		return
	}
	if s.word == ")" && !s.next() { // (0, module_1.createRequire)(…)
		return
	}
	switch s.word {
	case "as", ":":
		if s.next() && s.kind == jsWord {
			s.name(s.makers, s.word)
		}
	case "(":
		if s.skipCall(); s.word == "(" {
			s.argument(s.mayNotRun(), false)
			return
		}
		s.name(s.loaders, target)
	}
}

// skipCall skips to the token after the end of a call.
func (s *jsScanner) skipCall() {
	for open := 1; open > 0; {
		if !s.next() {
			return
		}
		switch s.word {
		case "(":
			open++
		case ")":
			open--
		}
	}
	rest := bytes.TrimLeft(s.text[s.at:], " \t")
	if len(rest) > 0 && rest[0] == '(' {
		s.next()
	}
}

// name adds a name to set. Short names are not added: in a minified program they are used
// for other things as well.
func (s *jsScanner) name(set map[string]bool, name string) {
	if len(name) < 3 {
		s.found = append(s.found, jsImport{
			at:       s.start,
			computed: true,
			lazy:     true,
			optional: s.tries > 0,
		})
		return
	}
	set[name] = true
}

// argument reads the module name in a call.
func (s *jsScanner) argument(lazy, esm bool) {
	if !s.next() || s.word == ")" {
		return
	}
	start := s.start
	end := s.at
	literal := s.kind == jsText
	if literal {
		if !s.next() {
			return
		}
		if s.word == ")" || s.word == "," {
			s.add(start, end, lazy, esm)
			return
		}
	}
	i := jsImport{
		at:       start,
		esm:      esm,
		computed: true,
		lazy:     lazy,
		optional: s.tries > 0,
	}
	if literal && s.word == "+" {
		i.name = string(s.text[start+1 : end-1])
	} else if !literal && s.text[start] == '`' {
		i.name = string(s.text[start+1 : max(start+1, end-2)])
	}
	s.found = append(s.found, i)
}

// add adds a module whose name is a literal. Names with escapes are rare, and skipped.
func (s *jsScanner) add(start, end int, lazy, esm bool) {
	name := string(s.text[start+1 : end-1])
	if strings.ContainsAny(name, "\\\n") {
		return
	}
	i := jsImport{
		name:     name,
		at:       start,
		lazy:     lazy,
		esm:      esm,
		optional: s.tries > 0,
	}
	if lazy && esm && !i.optional {
		rest := s.text[s.at:min(s.at+maxHandler, len(s.text))]
		rest, _, _ = bytes.Cut(rest, []byte(";"))
		i.optional = bytes.Contains(rest, []byte(".catch("))
	}
	s.found = append(s.found, i)
}

// maxHandler limits the text that is searched for the handling of a missing module.
const maxHandler = 400

const (
	maxLiterals = 10_000 // string literals kept per file
	maxLiteral  = 200    // their length in bytes
)

// literal keeps a string that may be the name of a program.
func (s *jsScanner) literal() {
	text := s.text[s.start+1 : s.at-1]
	if len(text) <= maxLiteral && len(s.literals) < maxLiterals {
		s.literals = append(s.literals, string(text))
	}
}

// endTry inspects the handler after a try block: if it gives up when a module is missing,
// the module is required.
func (s *jsScanner) endTry(first int) {
	rest := bytes.TrimSpace(s.text[s.at:min(s.at+maxHandler, len(s.text))])
	if !bytes.HasPrefix(rest, []byte("catch")) {
		return
	}
	open := 0
	for i, c := range rest {
		if c == '{' {
			open++
		} else if c == '}' {
			if open--; open <= 0 {
				rest = rest[:i]
				break
			}
		}
	}
	if !bytes.Contains(rest, []byte("process.exit")) &&
		!bytes.Contains(rest, []byte("throw ")) {
		return
	}
	for i := first; i < len(s.found); i++ {
		s.found[i].optional = false
	}
}

// jsKind is the type of a token.
type jsKind uint8

const (
	jsSign jsKind = iota // a single character
	jsWord               // a name, a keyword or a number
	jsText               // a string with its quotes, without relevant escapes
)

// jsScanner tokenizes JavaScript.
type jsScanner struct {
	text  []byte
	at    int // end of the current token
	start int // start of the current token
	kind  jsKind
	word  string // the token, unless it is a jsText

	before    string // the previous token, "" for a string
	earlier   string // the one before that
	assigned  string // the token before the last =
	depth     int    // number of open braces
	trying    bool   // the next brace opens a try block
	tries     int    // open try blocks
	blocks    []int  // open braces: for a try block, the number of imports found before it, else -1
	templates []int  // brace depths of open ${ } in templates

	loaders map[string]bool // functions that load modules
	makers  map[string]bool // functions that return loaders
	// found are the imports so far, and literals the strings that may be paths of modules.
	found    []jsImport
	literals []string
}

// next reads a token. It returns false at the end.
func (s *jsScanner) next() bool {
	s.earlier = s.before
	if s.kind == jsText {
		s.before = ""
	} else {
		s.before = s.word
	}
	if !s.skipBlanks() {
		return false
	}
	s.start = s.at
	s.kind = jsSign
	s.word = ""
	c := s.text[s.at]
	switch {
	case isWordByte(c):
		for s.at < len(s.text) && isWordByte(s.text[s.at]) {
			s.at++
		}
		// Only short words are compared, so a longer one is cut.
		s.kind, s.word = jsWord, string(s.text[s.start:min(s.at, s.start+32)])
		return true
	case c == '"' || c == '\'':
		s.kind = jsText
		s.quoted(c)
		return true
	case c == '`':
		s.at++
		s.template()
		return true
	case c == '/' && s.expressionFollows():
		s.pattern()
		return true
	}
	s.at++
	s.word = string(c)
	if c == '=' {
		s.assigned = s.before
	}
	s.brace(c)
	return true
}

// skipBlanks skips whitespace and comments.
func (s *jsScanner) skipBlanks() bool {
	for s.at < len(s.text) {
		rest := s.text[s.at:]
		switch {
		case rest[0] <= ' ':
			s.at++
		case bytes.HasPrefix(rest, []byte("//")) ||
			s.at == 0 && bytes.HasPrefix(rest, []byte("#!")):
			s.skipTo("\n")
		case bytes.HasPrefix(rest, []byte("/*")):
			s.at += 2
			s.skipTo("*/")
		default:
			return true
		}
	}
	return false
}

// skipTo continues after the next end, or at the end of the text if there is none.
func (s *jsScanner) skipTo(end string) {
	i := bytes.Index(s.text[s.at:], []byte(end))
	if i >= 0 {
		s.at += i + len(end)
		return
	}
	s.at = len(s.text)
}

// quoted reads a string. One that does not end on its line is invalid.
func (s *jsScanner) quoted(quote byte) {
	for s.at++; s.at < len(s.text); s.at++ {
		switch s.text[s.at] {
		case '\\':
			s.at++
		case '\n':
			s.kind = jsSign
			return
		case quote:
			s.at++
			return
		}
	}
	s.at = len(s.text)
	s.kind = jsSign
}

// template reads a template up to its end or the next ${.
func (s *jsScanner) template() {
	for s.at < len(s.text) {
		c := s.text[s.at]
		s.at++
		switch {
		case c == '\\':
			s.at++
		case c == '`':
			s.word = ")" // a value has ended
			if s.text[s.start] == '`' {
				s.kind = jsText
				s.word = ""
			}
			return
		case c == '$' && s.at < len(s.text) && s.text[s.at] == '{':
			s.at++
			s.templates = append(s.templates, s.depth)
			s.word = "("
			return
		}
	}
	s.at = len(s.text)
}

// pattern reads a regular expression.
func (s *jsScanner) pattern() {
	class := false
	for s.at++; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == '\\':
			s.at++
		case c == '\n':
			return
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			s.at++
			s.word = ")"
			return
		}
	}
	s.at = len(s.text)
}

// brace tracks braces, and continues a template after its ${ }.
func (s *jsScanner) brace(c byte) {
	switch c {
	case '{':
		s.depth++
		before := -1
		if s.trying {
			before = len(s.found)
			s.tries++
		}
		s.blocks = append(s.blocks, before)
	case '}':
		if n := len(s.templates); n > 0 && s.templates[n-1] == s.depth {
			s.templates = s.templates[:n-1]
			s.template()
			return
		}
		if n := len(s.blocks); n > 0 {
			if first := s.blocks[n-1]; first >= 0 {
				s.tries--
				s.endTry(first)
			}
			s.blocks = s.blocks[:n-1]
			s.depth--
		}
	}
	s.trying = false
}

// expressionFollows reports whether a slash begins a regular expression, because no value
// precedes it.
func (s *jsScanner) expressionFollows() bool {
	switch s.before {
	case "return", "typeof", "case", "in", "of", "delete", "void", "throw", "new", "else", "do", "instanceof", "yield",
		"await":
		return true
	case ")", "]", "}", "":
		return false
	}
	return !isWordByte(s.before[0])
}

// isWordByte reports whether c can be in an identifier or private name of JavaScript. All bytes of
// other characters than ASCII can.
func isWordByte(c byte) bool {
	return c == '_' || c == '$' || c == '#' || c >= 0x80 ||
		'0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// nodeBuiltin reports whether a module is built into Node.
func nodeBuiltin(name string) bool {
	if strings.HasPrefix(name, "node:") {
		return true
	}
	name, _, _ = strings.Cut(name, "/")
	return strings.Contains(nodeModules, " "+name+" ")
}

// nodeModules lists the modules of Node itself, between spaces, and electron, which its program
// provides.
const nodeModules = " assert async_hooks buffer child_process cluster console constants crypto dgram " +
	"diagnostics_channel dns domain events fs http http2 https inspector module net os path perf_hooks process " +
	"punycode querystring readline repl stream string_decoder sys timers tls trace_events tty url util v8 vm wasi " +
	"worker_threads zlib electron "
