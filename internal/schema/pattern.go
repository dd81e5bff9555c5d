package schema

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// pattern is a regular expression from a schema.
type pattern struct {
	// source is the expression as the schema has it, for messages.
	source string
	match  *regexp.Regexp
	// cost is the approximate number of nanoseconds that the matcher may spend per byte.
	cost int
}

const (
	// maxPatternSize limits a pattern, in instructions of its program and in bytes: repetition can make a short
	// pattern huge.
	maxPatternSize = 10_000
	maxPatternText = 64 << 10
	// maxPatternWork limits all patterns of a schema together, in the sum of their sizes. That compiles in less than
	// a second.
	maxPatternWork = 250_000
	// patternWork is the least that a pattern costs, however small it is.
	patternWork = 100
)

// errTooLarge is why a pattern is not checked.
var errTooLarge = errors.New("too large")

// compilePattern compiles a pattern of the schema, unless the patterns are too large together.
func (c *compiler) compilePattern(source string) (*pattern, error) {
	if c.patterns > maxPatternWork {
		return nil, errors.New("the patterns of the schema are too large together")
	}
	p, work, err := compilePattern(source)
	c.patterns += work
	return p, err
}

// compilePattern compiles an ECMAScript regular expression for Go's matcher. work is what that costs, also if it fails,
// in instructions. An error states the feature that the matcher does not support.
func compilePattern(source string) (p *pattern, work int, err error) {
	work = patternWork
	if len(source) > maxPatternText {
		return nil, work, errTooLarge
	}
	translated, err := translate(source)
	if err != nil {
		return nil, work + len(source), err
	}
	work += len(translated)
	parsed, err := syntax.Parse(translated, syntax.Perl)
	if err != nil {
		var e *syntax.Error
		if errors.As(err, &e) {
			return nil, work, fmt.Errorf("%s: %q", e.Code, e.Expr)
		}
		return nil, work, err
	}
	size := programSize(parsed) // before it is compiled
	work += size + classRanges(parsed)/4
	if size > maxPatternSize {
		return nil, work, errTooLarge
	}
	match, err := regexp.Compile(translated)
	if err != nil {
		return nil, work, err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, work, err
	}
	return &pattern{
		source: source,
		match:  match,
		cost:   1 + 4*mostActive(program),
	}, work, nil
}

// programSize returns how many instructions an expression compiles to, at most, or more than maxPatternSize. It counts
// as [syntax.Compile] does for the result of [syntax.Regexp.Simplify].
func programSize(re *syntax.Regexp) int {
	if re.Op == syntax.OpLiteral {
		return max(1, len(re.Rune))
	}
	size := 0
	for _, sub := range re.Sub {
		size = min(size+programSize(sub), maxPatternSize+1)
	}
	switch re.Op {
	case syntax.OpCapture:
		size += 2
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest:
		size++
	case syntax.OpAlternate:
		size += len(re.Sub) - 1
	case syntax.OpRepeat: // copies, each of the optional ones with a branch: at most 1,000
		size = size*max(1, re.Min, re.Max) + max(1, re.Max-re.Min)
	case syntax.OpConcat:
	default:
		size++
	}
	return min(size, maxPatternSize+1)
}

// classRanges returns the number of ranges in the character classes of an expression. Repetitions share them.
func classRanges(re *syntax.Regexp) int {
	n := 0
	if re.Op == syntax.OpCharClass {
		n = len(re.Rune) / 2
	}
	for _, sub := range re.Sub {
		n += classRanges(sub)
	}
	return n
}

// maxActiveWork limits the work of mostActive, in instructions that it follows.
const maxActiveWork = 4 * maxPatternSize

// mostActive returns a bound on the instructions of a program that a matcher has to follow at one
// character of a text, whatever the text is. ^.{1,1000}$ has 2,000 instructions, and few of them
// are ever active at once; of [a-z]{1,400}! almost all are. If the bound takes too much work, it is
// the number of instructions.
func mostActive(program *syntax.Prog) int {
	active := make([]bool, len(program.Inst)) // after the characters up to now
	var now, next, waiting []uint32           // instructions that are active: all, of the next character, to follow
	// follow adds an instruction to next, and those that it leads to without a character.
	follow := func(at uint32, atStart bool) {
		waiting = append(waiting[:0], at)
		for len(waiting) > 0 {
			at := waiting[len(waiting)-1]
			waiting = waiting[:len(waiting)-1]
			if active[at] {
				continue
			}
			active[at] = true
			next = append(next, at)
			switch i := &program.Inst[at]; i.Op {
			case syntax.InstAlt, syntax.InstAltMatch:
				waiting = append(waiting, i.Out, i.Arg)
			case syntax.InstCapture, syntax.InstNop:
				waiting = append(waiting, i.Out)
			case syntax.InstEmptyWidth:
				if atStart || syntax.EmptyOp(i.Arg)&syntax.EmptyBeginText == 0 {
					waiting = append(waiting, i.Out)
				}
			}
		}
	}
	follow(uint32(program.Start), true)
	most, work := 0, 0
	var earlier []uint32 // the instructions after some number of characters, to notice that they recur
	for step, limit := 1, 1; ; step++ {
		now, next = next, now[:0]
		most = max(most, len(now))
		if work += len(now); work > maxActiveWork {
			return len(program.Inst)
		}
		if step > 1 && slices.Equal(now, earlier) {
			return most
		}
		if step == limit {
			limit *= 2
			earlier = append(earlier[:0], now...)
		}
		for _, at := range now {
			active[at] = false
		}
		for _, at := range now {
			switch i := &program.Inst[at]; i.Op {
			case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
				follow(i.Out, false)
			}
		}
		follow(uint32(program.Start), false) // a match may begin anywhere
	}
}

// CheckPattern returns the reason why a value of the keyword pattern cannot be checked, or
// nil.
func CheckPattern(source string) error {
	_, _, err := compilePattern(source)
	return err
}

// Syntax that means something else in Go, translated to Go's notation.
const (
	anyButLineEnd = `[^\n\r\x{2028}\x{2029}]`
	// Both begin and end with a class, so that they cannot become the end of a range.
	space    = `\p{Zs}\t-\r\x{feff}\p{Zl}\p{Zp}`
	notSpace = `\w\x{0}-\x{8}\x{e}-\x{1f}!-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e}` +
		`\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff}\w`
)

// translator rewrites an ECMAScript regular expression in Go's notation.
type translator struct {
	// src is read from the offset i on, and out is what has been translated.
	src   string
	i     int
	out   strings.Builder
	class bool // between [ and ]
}

// translate returns the expression in Go's notation. An error says which syntax Go has no
// equivalent for.
func translate(source string) (string, error) {
	t := translator{src: source}
	for t.i < len(t.src) {
		if err := t.next(); err != nil {
			return "", err
		}
	}
	return t.out.String(), nil
}

// next translates the syntax element at i and moves i past it. Groups, quantifiers and
// alternatives mean the same in Go and are copied byte by byte.
func (t *translator) next() error {
	switch c := t.src[t.i]; {
	case c == '\\':
		return t.escape()
	case t.class:
		t.inClass(c)
	case c == '[':
		t.openClass()
	case c == '.':
		t.emit(1, anyButLineEnd)
	case c == '(' && t.ahead("(?="), c == '(' && t.ahead("(?!"):
		return errors.New("lookahead cannot be checked")
	case c == '(' && t.ahead("(?<="), c == '(' && t.ahead("(?<!"):
		return errors.New("lookbehind cannot be checked")
	default:
		t.out.WriteByte(c)
		t.i++
	}
	return nil
}

// emit writes s in place of the next n bytes.
func (t *translator) emit(n int, s string) {
	t.out.WriteString(s)
	t.i += n
}

// keep copies the next n bytes.
func (t *translator) keep(n int) { t.emit(n, t.src[t.i:t.i+n]) }

// ahead reports whether the rest of the source begins with prefix.
func (t *translator) ahead(prefix string) bool {
	return strings.HasPrefix(t.src[t.i:], prefix)
}

// openClass begins a character class. In ECMAScript, [] matches no character and [^] each one;
// in Go, a "]" right after the bracket is a member.
func (t *translator) openClass() {
	switch {
	case t.ahead("[^]"):
		t.emit(3, `(?s:.)`)
	case t.ahead("[]"):
		t.emit(2, `[^\x{0}-\x{10ffff}]`)
	case t.ahead("[^"):
		t.class = true
		t.emit(2, "[^")
	default:
		t.class = true
		t.emit(1, "[")
	}
}

// inClass translates a character of a class. A "[" is an ordinary character there in
// ECMAScript and has to be escaped for Go.
func (t *translator) inClass(c byte) {
	switch {
	case c == ']':
		t.class = false
		t.emit(1, "]")
	case t.ahead("[:") && strings.Contains(t.src[t.i+2:], ":]"):
		// Authors mean a class such as [:alpha:], which Go has and ECMAScript has not.
		t.keep(2 + strings.Index(t.src[t.i+2:], ":]") + 2)
	case c == '[':
		t.emit(1, `\[`)
	default:
		t.out.WriteByte(c)
		t.i++
	}
}

// escape translates an escape sequence.
func (t *translator) escape() error {
	if t.i+1 >= len(t.src) {
		return errors.New(`nothing follows the last "\"`)
	}
	switch c := t.src[t.i+1]; {
	case c == 's':
		t.set(space)
	case c == 'S':
		t.set(notSpace)
	case c == 'u', c == 'x' && t.ahead(`\x{`):
		return t.unicode()
	case c == 'c':
		return t.control()
	case c == 'b' && t.class:
		t.emit(2, `\x{8}`)
	case c == '0':
		t.emit(2, `\x{0}`)
	case '1' <= c && c <= '9', c == 'k':
		return errors.New("a reference to a group cannot be checked")
	case (c == 'p' || c == 'P') &&
		t.i+2 < len(t.src) &&
		t.src[t.i+2] == '{':
		return t.property()
	case c == 'Q' && !t.class:
		// Authors mean a literal text, which Go has and ECMAScript has not.
		text, _, ended := strings.Cut(t.src[t.i+2:], `\E`)
		t.keep(2 + len(text))
		if ended {
			t.keep(2)
		}
	case c >= utf8.RuneSelf:
		t.i++ // the backslash has no effect
	default:
		t.keep(2)
	}
	return nil
}

// set writes the ranges for an escape of two characters such as \s, which can also be in a
// class.
func (t *translator) set(ranges string) {
	if !t.class {
		ranges = "[" + ranges + "]"
	}
	t.emit(2, ranges)
}

// errSurrogate is why a pattern is not checked: texts in UTF-8 have no surrogates.
var errSurrogate = errors.New("half of a surrogate pair cannot be checked")

// unicode translates \uXXXX, a surrogate pair of them, and \u{X}, as well as Go's \x{X}.
func (t *translator) unicode() error {
	if t.i+2 < len(t.src) && t.src[t.i+2] == '{' {
		digits, _, _ := strings.Cut(t.src[t.i+3:], "}")
		if n, err := strconv.ParseUint(digits, 16, 32); err == nil && utf16.IsSurrogate(rune(n)) {
			return errSurrogate
		}
		t.emit(2, `\x`)
		return nil
	}
	r, ok := t.unit(t.i)
	if !ok {
		return errors.New(`"\u" needs four hexadecimal digits`)
	}
	n := 6
	if utf16.IsSurrogate(r) {
		low, _ := t.unit(t.i + n)
		if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
			return errSurrogate
		}
		n = 12
	}
	t.emit(n, fmt.Sprintf(`\x{%x}`, r))
	return nil
}

// unit parses the \uXXXX at src[i].
func (t *translator) unit(i int) (rune, bool) {
	if i+6 > len(t.src) || t.src[i:i+2] != `\u` {
		return 0, false
	}
	n, err := strconv.ParseUint(t.src[i+2:i+6], 16, 16)
	return rune(n), err == nil
}

// control translates \cX, the control character of a letter.
func (t *translator) control() error {
	if t.i+2 < len(t.src) {
		c := t.src[t.i+2] | 0x20
		if 'a' <= c && c <= 'z' {
			t.emit(3, fmt.Sprintf(`\x{%x}`, c-'a'+1))
			return nil
		}
	}
	return errors.New(`"\c" needs a letter`)
}

// property translates names such as \p{Script=Greek}. Go has neither short names of scripts, such as Grek, nor script
// extensions.
func (t *translator) property() error {
	name, _, _ := strings.Cut(t.src[t.i+3:], "}")
	key, value, ok := strings.Cut(name, "=")
	if !ok {
		t.keep(3)
		return nil
	}
	switch key {
	case "Script", "sc":
		_, ok = unicode.Scripts[value]
	case "General_Category", "gc":
		_, ok = unicode.Categories[value]
		if !ok {
			_, ok = unicode.CategoryAliases[value]
		}
	default:
		ok = false
	}
	if !ok {
		return fmt.Errorf("the property %q cannot be checked", name)
	}
	t.keep(3)
	t.i += len(key) + 1
	return nil
}
