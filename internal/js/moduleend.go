package js

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/internal/lazyregexp"
)

// Errors of [ModuleEnd].
var (
	// ErrNoStatement means that the text does not begin with an import or export. It may be prose.
	ErrNoStatement = errors.New("not an import or export")
	// ErrNoEnd means that the text begins like an import or export that has no end.
	ErrNoEnd = errors.New("the import or export has no end")
)

// maxModuleStatement bounds an import or export in bytes.
const maxModuleStatement = 256 << 10

// moduleHead matches the beginning of an import or export, as far as that distinguishes them from prose.
var moduleHead = lazyregexp.New(`^(?:import\s*(?:["'{*]|type\s+[{\w]|[\w$]+\s*(?:,|from\s*["']))|` +
	`export\s*(?:[{*]|default\b|(?:const|let|var)\s*(?:[{\[]|[\w$]+\s*[=:])|` +
	`(?:async\s+)?function\b\s*\*?\s*[\w$]*\s*\(|class\s+[\w$]+\s*(?:\{|extends\b)|` +
	`type\s+[\w$]+\s*[=<]|interface\s+[\w$]+\s*(?:[{<]|extends\b)))`)

// ModuleEnd returns the end of the import or export that begins text, as in MDX: the start of the
// next line, or of another statement on the same one. The values of an export may contain JSX.
// The next line is part of the statement only if it continues an expression. The error is
// [ErrNoStatement] or [ErrNoEnd]. The time is proportional to the length of the statement, at most 256 KiB.
func ModuleEnd(text string) (int, error) {
	if !moduleHead().MatchString(text[:min(len(text), 500)]) {
		return 0, ErrNoStatement
	}
	s := &moduleScanner{text: text[:min(len(text), maxModuleStatement)]}
	if s.code(0) {
		return s.at, nil
	}
	if s.prose {
		return 0, ErrNoStatement
	}
	return 0, ErrNoEnd
}

// moduleScanner finds the end of a statement. It knows strings, templates, comments, regular
// expressions and JSX, in which brackets have another meaning, and nothing else of the language.
type moduleScanner struct {
	text string
	at   int
	// depth is the nesting of brackets, templates and elements.
	depth int
	// value reports whether the last token ends an expression, so that a "/" divides and a "<"
	// compares; dot whether it is a "." and a name follows.
	value, dot bool
	// head is the kind of the statement: import, from, default, const, function, class or "".
	head string
	// quoted, assigned and block report whether the statement itself has had a string, a "=" or
	// a block.
	quoted, assigned, block bool
	// prose is set if words follow each other as in a sentence.
	prose bool
}

// before are the words after which an expression or another word may follow.
const before = " import export default from as with assert const let var async function class extends type interface " +
	"return typeof case in of instanceof new delete void throw await yield else do static get set "

// code scans up to the bracket that closes it, or to the end of the statement if that is 0, and
// reports whether there is one.
func (s *moduleScanner) code(closing byte) bool {
	if s.depth++; s.depth > maxDepth {
		return false
	}
	top := closing == 0
	s.value, s.dot = false, false
	for s.at < len(s.text) {
		c := s.text[s.at]
		ok := true
		switch {
		case c == '\n' && top && s.complete() && s.ends():
			s.at++
			return true
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			s.at++
		case strings.HasPrefix(s.text[s.at:], "//"):
			s.skipTo("\n")
		case strings.HasPrefix(s.text[s.at:], "/*"):
			ok = s.skipTo("*/")
			s.at = min(len(s.text), s.at+2)
		case c == '"' || c == '\'':
			ok = s.operand(top) && s.quote(c)
			s.quoted = s.quoted || top
		case c == '`':
			ok = s.template()
		case c == '(' || c == '[' || c == '{':
			s.at++
			ok = s.code(map[byte]byte{'(': ')', '[': ']', '{': '}'}[c])
			s.value = true
			s.block = top && c == '{'
		case c == ')' || c == ']' || c == '}':
			s.at++
			s.depth--
			return c == closing
		case c == '<' && !s.value && s.tagFollows():
			ok = s.element()
			s.value = true
		case c == '/' && !s.value:
			ok = s.pattern()
		case isWordByte(c):
			ok = s.word(top)
		case c == ';' && top:
			return s.semicolon()
		default:
			s.operator(c, top)
		}
		if !ok {
			return false
		}
	}
	return top && s.complete()
}

// complete reports whether the statement may end after the last token.
func (s *moduleScanner) complete() bool {
	switch s.head {
	case "import", "from":
		return s.quoted && s.value
	case "const":
		return s.assigned && s.value
	case "function", "class":
		return s.block
	}
	return s.value
}

// ends reports whether the statement ends at the line break at s.at: its next line is not the rest of
// an expression, or a comment.
func (s *moduleScanner) ends() bool {
	next := s.text[s.at+1:]
	line, _, _ := strings.Cut(next, "\n")
	bare := strings.TrimLeft(line, " \t")
	if strings.TrimSpace(bare) == "" {
		return true
	}
	if strings.HasPrefix(bare, "//") || strings.HasPrefix(bare, "/*") {
		return false
	}
	if s.head == "import" || s.head == "from" {
		return true
	}
	continues := []string{"&&", "||", "??", "?.", "? ", ": ", "=>"}
	if bare != line {
		continues = []string{".", "?", ":", "&", "|", "=", "%", ",", "+", "-", "*", "/", "<", "(", "["}
	}
	for _, mark := range continues {
		if strings.HasPrefix(bare, mark) {
			return false
		}
	}
	method := len(bare) > 1 && bare[0] == '.' && isWordByte(bare[1])
	export := s.head == "" && strings.HasPrefix(bare, "from")
	return !method && !export
}

// semicolon ends the statement if nothing else follows on its line but a comment or another one.
func (s *moduleScanner) semicolon() bool {
	if !s.complete() {
		return false
	}
	s.at++
	line, _, _ := strings.Cut(s.text[s.at:], "\n")
	bare := strings.TrimSpace(line)
	switch {
	case bare == "" || strings.HasPrefix(bare, "//"):
		s.at = min(len(s.text), s.at+len(line)+1)
		return true
	case strings.HasPrefix(bare, "import ") || strings.HasPrefix(bare, "export "):
		s.at += strings.Index(line, bare)
		return true
	}
	s.prose = true
	return false
}

// operand reports whether a word, number or string may follow the last token. Two in a row are prose.
func (s *moduleScanner) operand(top bool) bool {
	s.prose = s.prose || top && s.value
	return !s.prose
}

// word scans a name or number.
func (s *moduleScanner) word(top bool) bool {
	start := s.at
	for s.at < len(s.text) && (isWordByte(s.text[s.at]) || s.text[s.at] == '.' && isDigit(s.text[start])) {
		s.at++
	}
	word := s.text[start:s.at]
	keyword := !s.dot && strings.Contains(before, " "+word+" ")
	s.dot = false
	if keyword {
		if top {
			s.setHead(word)
		}
		s.value = false
		return true
	}
	if !s.operand(top) {
		return false
	}
	s.value = true
	return true
}

// setHead notes the kind of the statement by one of its words.
func (s *moduleScanner) setHead(word string) {
	switch word {
	case "import", "default", "function", "class":
		if s.head == "" || s.head == "default" {
			s.head = word
		}
	case "const", "let", "var", "type":
		if s.head == "" {
			s.head = "const"
		}
	case "interface":
		if s.head == "" {
			s.head = "class"
		}
	case "from":
		if s.head == "" {
			s.head = "from"
		}
	}
}

// operator consumes one byte of an operator.
func (s *moduleScanner) operator(c byte, top bool) {
	s.at++
	s.dot = c == '.'
	if c == '*' && s.head == "" {
		s.head = "from" // export * from
	}
	if c == '=' && top {
		s.assigned = true
	}
	if (c == '+' || c == '-') && s.at < len(s.text) && s.text[s.at] == c {
		s.at++ // after or before a value, which it does not separate from others
		return
	}
	s.value = false
}

// isWordByte reports whether c can be part of a name or number.
func isWordByte(c byte) bool {
	return c == '_' || c == '$' || c == '#' || c >= utf8.RuneSelf ||
		isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// skipTo moves to a mark and reports whether there is one. Without it, it moves to the end.
func (s *moduleScanner) skipTo(mark string) bool {
	n := strings.Index(s.text[s.at:], mark)
	if n < 0 {
		s.at = len(s.text)
		return false
	}
	s.at += n
	return true
}

// quote skips a string.
func (s *moduleScanner) quote(mark byte) bool {
	for s.at++; s.at < len(s.text); s.at++ {
		switch s.text[s.at] {
		case '\\':
			s.at++
		case '\n':
			return false
		case mark:
			s.at++
			s.value = true
			return true
		}
	}
	return false
}

// template skips a template with the expressions in it.
func (s *moduleScanner) template() bool {
	for s.at++; s.at < len(s.text); s.at++ {
		switch {
		case s.text[s.at] == '\\':
			s.at++
		case s.text[s.at] == '`':
			s.at++
			s.value = true
			return true
		case strings.HasPrefix(s.text[s.at:], "${"):
			s.at += 2
			if !s.code('}') {
				return false
			}
			s.at--
		}
	}
	return false
}

// pattern skips a regular expression.
func (s *moduleScanner) pattern() bool {
	class := false
	for s.at++; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == '\\':
			s.at++
		case c == '\n':
			return false
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			for s.at++; s.at < len(s.text) && isWordByte(s.text[s.at]); s.at++ { // its flags
			}
			s.value = true
			return true
		}
	}
	return false
}

// tagFollows reports whether the "<" at s.at begins an element or a fragment.
func (s *moduleScanner) tagFollows() bool {
	next := s.text[min(len(s.text), s.at+1):]
	return next != "" && (next[0] == '>' || isWordByte(next[0]))
}

// element skips an element of JSX.
func (s *moduleScanner) element() bool {
	if s.depth++; s.depth > maxDepth {
		return false
	}
	defer func() { s.depth-- }()
	for s.at++; s.at < len(s.text); {
		switch c := s.text[s.at]; {
		case c == '"' || c == '\'': // without escapes, over lines
			s.at++
			if !s.skipTo(string(c)) {
				return false
			}
			s.at++
		case c == '{':
			s.at++
			if !s.code('}') {
				return false
			}
		case strings.HasPrefix(s.text[s.at:], "/>"):
			s.at += 2
			return true
		case c == '>':
			s.at++
			return s.children()
		case c == '<':
			if !s.element() {
				return false
			}
		default:
			s.at++
		}
	}
	return false
}

// children skips the contents of an element and its closing tag.
func (s *moduleScanner) children() bool {
	for s.at < len(s.text) {
		n := strings.IndexAny(s.text[s.at:], "<{")
		if n < 0 {
			return false
		}
		s.at += n
		switch {
		case strings.HasPrefix(s.text[s.at:], "</"):
			if !s.skipTo(">") {
				return false
			}
			s.at++
			return true
		case s.text[s.at] == '{':
			s.at++
			if !s.code('}') {
				return false
			}
		case !s.element():
			return false
		}
	}
	return false
}
