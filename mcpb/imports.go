package mcpb

import (
	"bytes"
	"strings"
)

// jsImport is a module that JavaScript loads by a literal name.
type jsImport struct {
	name string
	at   int // the offset of the name in the text
	// lazy says that it is loaded when a function is called, by require or import(),
	// so that the program starts without it.
	lazy bool
	// optional says that it stands within try { }.
	optional bool
}

// scanImports returns what a file of JavaScript imports: static imports, exports
// from elsewhere, and calls of require and import() with a literal. It reads tokens
// only, so text that is not JavaScript yields few or none.
func scanImports(text []byte) []jsImport {
	s := &jsScanner{text: text}
	for s.next() {
		if s.kind != jsWord || s.before == "." {
			continue
		}
		switch s.word {
		case "import":
			s.importing()
		case "export":
			s.exporting()
		case "require":
			if s.before != "function" {
				s.calling(s.depth > 0)
			}
		case "try":
			s.trying = true
		}
	}
	return s.found
}

// importing reads what follows the word import.
func (s *jsScanner) importing() {
	if !s.next() {
		return
	}
	switch {
	case s.kind == jsText:
		s.add(false)
		return
	case s.word == "(":
		s.argument(true)
		return
	case s.word == ".": // import.meta
		return
	}
	s.upToFrom()
}

// exporting reads what follows the word export: only * and { } can be from elsewhere.
func (s *jsScanner) exporting() {
	if s.next() && (s.word == "*" || s.word == "{") {
		s.upToFrom()
	}
}

// maxClause bounds the tokens between import and from.
const maxClause = 20_000

// upToFrom reads up to from "name", or to the end of the statement.
func (s *jsScanner) upToFrom() {
	for range maxClause {
		if !s.next() || s.word == ";" || s.word == "=" || s.word == "(" {
			return
		}
		if s.kind == jsWord && s.word == "from" {
			if s.next() && s.kind == jsText {
				s.add(false)
				return
			}
		}
	}
}

// calling reads the argument of a call of require.
func (s *jsScanner) calling(lazy bool) {
	if s.next() && s.word == "(" {
		s.argument(lazy)
	}
}

func (s *jsScanner) argument(lazy bool) {
	if s.next() && s.kind == jsText {
		s.add(lazy)
	}
}

func (s *jsScanner) add(lazy bool) {
	if name := string(s.text[s.start+1 : s.at-1]); !strings.ContainsAny(name, "\\\n") {
		s.found = append(s.found, jsImport{name: name, at: s.start, lazy: lazy, optional: s.tries > 0})
	}
}

// jsKind is what a token is.
type jsKind uint8

const (
	jsSign jsKind = iota // a single character
	jsWord               // a name, a keyword or a number
	jsText               // a string without escapes that matter, quotes included
)

// jsScanner reads JavaScript token by token.
type jsScanner struct {
	text  []byte
	at    int // behind the current token
	start int // where it begins
	kind  jsKind
	word  string // the token, unless it is a jsText

	before    string // the token before, "" for a string
	depth     int    // of open braces
	trying    bool   // the next brace opens a try block
	tries     int    // open try blocks
	blocks    []bool // open braces: whether each is that of a try block
	templates []int  // depths at which ${ } of a template ends

	found []jsImport
}

// next reads a token. It returns false at the end.
func (s *jsScanner) next() bool {
	if s.kind == jsText {
		s.before = ""
	} else {
		s.before = s.word
	}
	if !s.skipBlanks() {
		return false
	}
	s.start, s.kind, s.word = s.at, jsSign, ""
	c := s.text[s.at]
	switch {
	case isWordByte(c):
		for s.at < len(s.text) && isWordByte(s.text[s.at]) {
			s.at++
		}
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
	s.brace(c)
	return true
}

// skipBlanks moves behind white space and comments.
func (s *jsScanner) skipBlanks() bool {
	for s.at < len(s.text) {
		rest := s.text[s.at:]
		switch {
		case rest[0] <= ' ':
			s.at++
		case bytes.HasPrefix(rest, []byte("//")) || s.at == 0 && bytes.HasPrefix(rest, []byte("#!")):
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

func (s *jsScanner) skipTo(end string) {
	if i := bytes.Index(s.text[s.at:], []byte(end)); i >= 0 {
		s.at += i + len(end)
		return
	}
	s.at = len(s.text)
}

// quoted reads a string. One that its line does not end is none.
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
	s.at, s.kind = len(s.text), jsSign
}

// template reads a template up to its end, or to the next ${.
func (s *jsScanner) template() {
	for s.at < len(s.text) {
		c := s.text[s.at]
		s.at++
		switch {
		case c == '\\':
			s.at++
		case c == '`':
			s.word = ")" // a value has ended
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

// brace keeps count of braces, and goes on with a template that ${ } interrupted.
func (s *jsScanner) brace(c byte) {
	switch c {
	case '{':
		s.depth++
		s.blocks = append(s.blocks, s.trying)
		if s.trying {
			s.tries++
		}
	case '}':
		if n := len(s.templates); n > 0 && s.templates[n-1] == s.depth {
			s.templates = s.templates[:n-1]
			s.template()
			return
		}
		if n := len(s.blocks); n > 0 {
			if s.blocks[n-1] {
				s.tries--
			}
			s.blocks = s.blocks[:n-1]
			s.depth--
		}
	}
	s.trying = false
}

// expressionFollows reports whether a slash begins a regular expression: no value
// has ended before it.
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

func isWordByte(c byte) bool {
	return c == '_' || c == '$' || c == '#' || c >= 0x80 ||
		'0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// nodeBuiltin reports whether Node has a module of that name itself.
func nodeBuiltin(name string) bool {
	if strings.HasPrefix(name, "node:") {
		return true
	}
	name, _, _ = strings.Cut(name, "/")
	return strings.Contains(nodeModules, " "+name+" ")
}

const nodeModules = " assert async_hooks buffer child_process cluster console constants crypto dgram " +
	"diagnostics_channel dns domain events fs http http2 https inspector module net os path perf_hooks process " +
	"punycode querystring readline repl stream string_decoder sys timers tls trace_events tty url util v8 vm wasi " +
	"worker_threads zlib electron "
