package js

import (
	"bytes"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/tree"
)

// hole returns the value of what could not be evaluated.
func hole() value { return value{node: &tree.Node{Kind: Unknown}} }

// known returns v, and panics with a fault that is not reported again if v is unknown.
func (v value) known() value {
	if isKind(v, Unknown) {
		panic(&fault{hole: true})
	}
	return v
}

// unknown returns the value of the text from start to the current position, which cannot
// be evaluated.
func (r *reader) unknown(start int) value {
	const shown = 60
	source := bytes.ToValidUTF8(r.text[start:min(r.at, start+10*shown)], nil)
	text := []rune(strings.Join(strings.Fields(string(source)), " "))
	if len(text) > shown {
		text = append(text[:shown], '…')
	}
	return value{node: &tree.Node{
		Kind:  Unknown,
		Text:  string(text),
		Start: start,
		End:   r.at,
	}}
}

// limit returns a limit of [Read], which a lenient reader raises for long files.
func (r *reader) limit(strict int) int {
	if r.opts.Lenient {
		return strict + len(r.all)
	}
	return strict
}

// recover continues after a fault, which may be nil. It panics with the fault if the
// limits of the script are exceeded: everything else would fail too.
func (r *reader) recover(f *fault) {
	if f != nil && (r.steps > r.limit(maxSteps) || r.joined > maxText) {
		panic(f)
	}
}

// ends reports whether a value or type that was just read is complete: one of the bytes in
// stops, a closing bracket or the end follows. It is always true unless the reader is
// lenient, as the caller then expects certain bytes itself.
func (r *reader) ends(stops string) bool {
	if !r.opts.Lenient {
		return true
	}
	c := r.peekByte()
	return c == 0 || strings.IndexByte(stops+")]}", c) >= 0 ||
		strings.Contains(stops, "\n") && r.newline(r.at)
}

// hoist declares the functions of a module, which may be called before they are declared.
func (r *reader) hoist() {
	start := r.at
	for r.space(); r.at < len(r.text); r.space() {
		r.tryStatement(func() {
			for slices.Contains([]string{"export", "default", "async"}, r.peekWord()) {
				r.word()
			}
			if !r.keyword("function") {
				panic(r.unexpected())
			}
			r.function()
		})
	}
	r.at = start
}

// tryStatement reads a statement, or skips it if that fails.
func (r *reader) tryStatement(read func()) {
	start := r.at
	f := r.try(read)
	if f == nil {
		return
	}
	r.recover(f)
	r.exporting = false
	r.at = start
	r.word()
	r.skipUntil(";\n}")
	r.at = min(r.at+1, len(r.text))
}

// tryProperty reads a member of an object, which is unknown if that fails.
func (r *reader) tryProperty(o *object, written map[string]bool) {
	r.space()
	start := r.at
	f := r.try(func() { r.property(o, written) })
	if f == nil {
		return
	}
	r.recover(f)
	if r.dry > 0 {
		panic(f)
	}
	r.at = start
	r.skipUntil(",}")
	v := r.unknown(start)
	name := v.node.Text
	end := r.at
	r.at = start
	c := r.text[start]
	if c != '[' && r.try(func() { name, _ = r.propertyName() }) != nil {
		name = v.node.Text
	}
	r.at = end
	o.set(tree.Member{
		Key:      name,
		Value:    v.node,
		KeyStart: start,
		KeyEnd:   start,
	})
}

// tryCall calls a function. If a lenient reader cannot evaluate its body, the result is
// that of [firstObject].
func (r *reader) tryCall(fn *function, at int, args []value) (result value) {
	if !r.opts.Lenient || r.dry > 0 || fn.given != nil {
		return r.call(fn, at, args)
	}
	f := r.try(func() { result = r.call(fn, at, args) })
	if f == nil {
		return result
	}
	r.recover(f)
	return firstObject(r, at, args)
}

// firstObject is a function whose effect is unknown. Those in configuration, such as
// defineConfig, return their first object or list.
func firstObject(_ *reader, _ int, args []value) value {
	for _, a := range args {
		if isKind(a, tree.Object) || isKind(a, tree.Array) {
			return a
		}
	}
	return hole().known()
}

// skipUntil moves to the first of the bytes in stops outside brackets, strings, templates,
// regular expressions and comments. A closing bracket without an opening one also stops
// it, unless stops contains ";".
func (r *reader) skipUntil(stops string) {
	depth := 0
	for r.at < len(r.text) {
		c := r.text[r.at]
		if depth == 0 && strings.IndexByte(stops, c) >= 0 {
			return
		}
		switch c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth < 0 && !strings.Contains(stops, ";") {
				return
			}
			depth = max(depth, 0)
		case '"', '\'', '`', '/':
			if r.skipQuoted(c) {
				continue
			}
		}
		r.at++
	}
}

// skipQuoted skips a string, a template, a comment or a regular expression that begins
// with c, and reports whether there is one. A string without an end extends to the end of
// the line, a template without one to the next backquote.
func (r *reader) skipQuoted(c byte) bool {
	start := r.at
	switch c {
	case '`':
		if r.try(r.skipTemplate) != nil {
			r.at = start + 1
			r.skipTo("`")
			r.punct("`")
		}
		return true
	case '/':
		switch rest := r.text[start:]; {
		case bytes.HasPrefix(rest, []byte("//")):
			r.skipTo("\n")
			return true
		case bytes.HasPrefix(rest, []byte("/*")):
			r.at += 2
			r.skipTo("*/")
			r.punct("*/")
			return true
		}
		return r.skipPattern()
	}
	if r.try(func() { r.stringLiteral() }) != nil {
		r.skipTo("\n")
	}
	return true
}

// skipTo moves to the next mark, or to the end of the text.
func (r *reader) skipTo(mark string) {
	n := bytes.Index(r.text[r.at:], []byte(mark))
	if n < 0 {
		n = len(r.text) - r.at
	}
	r.at += n
}

// maxOpenPatterns limits how many apparent regular expressions without an end are searched
// to the end of their line.
const maxOpenPatterns = 100

// skipPattern skips a regular expression, in which quotes and brackets have other
// meanings, and reports whether there is one. A "/" after a value is a division.
func (r *reader) skipPattern() bool {
	before := bytes.TrimRight(r.text[:r.at], " \t\r\n")
	afterValue := len(before) > 0 &&
		strings.IndexByte("(,=:[!&|?{};+>", before[len(before)-1]) < 0 &&
		!bytes.HasSuffix(before, []byte("return"))
	if afterValue || r.openPatterns > maxOpenPatterns {
		return false
	}
	class := false
	for i := r.at + 1; i < len(r.text) && r.text[i] != '\n'; i++ {
		switch c := r.text[i]; {
		case c == '\\':
			i++
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			r.at = i + 1
			return true
		}
	}
	r.openPatterns++
	return false
}
