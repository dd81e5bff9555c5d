package js

import "unicode"

// generics skips <...> if it is next.
func (r *reader) generics() bool {
	if !r.peek("<") {
		return false
	}
	depth := 0
	for i := r.at; i < len(r.text); i++ {
		switch r.text[i] {
		case '<':
			depth++
		case '>':
			if i > 0 && r.text[i-1] == '=' {
				continue
			}
			if depth--; depth == 0 {
				r.at = i + 1
				return true
			}
		case ';':
			r.steps += (i - r.at) / stepBytes
			return false
		}
	}
	r.steps += (len(r.text) - r.at) / stepBytes
	return false
}

// skipDeclaration skips an interface or a declare statement.
func (r *reader) skipDeclaration() {
	for r.at < len(r.text) {
		switch r.peekByte() {
		case '{':
			r.skipBrackets()
			return
		case ';':
			return
		}
		r.at++
	}
	panic(r.unexpected())
}

// skipTypeStatement skips what follows the word type: a declaration, or a list of exports
// as in export type { A, B } from "path".
func (r *reader) skipTypeStatement() {
	if r.peek("{") {
		r.skipBrackets()
		if r.keyword("from") {
			r.stringLiteral()
		}
		return
	}
	r.word()
	r.generics()
	r.want("=")
	r.skipType()
}

// skipType skips a type of TypeScript, which has no effect on values: members of a union or an
// intersection, each with its operators.
func (r *reader) skipType() {
	defer r.step()()
	r.punct("|")
	for more := true; more; more = r.punct("|") || r.punct("&") {
		for r.keyword("keyof") || r.keyword("readonly") || r.keyword("typeof") || r.keyword("unique") {
		}
		r.skipPrimaryType()
	}
}

// annotation skips a type. A lenient reader skips to one of the bytes in stops if the
// type cannot be read or does not end there.
func (r *reader) annotation(stops string) {
	start := r.at
	f := r.try(r.skipType)
	if f == nil && r.ends(stops) {
		return
	}
	if !r.opts.Lenient {
		panic(f)
	}
	r.at = start
	r.skipUntil(stops)
}

// skipPrimaryType skips a type without operators, and the brackets of its arrays.
func (r *reader) skipPrimaryType() {
	switch c := r.peekByte(); {
	case c == '{' || c == '[' || c == '(':
		r.skipBrackets()
		if c == '(' && r.punct("=>") {
			r.skipType()
			return
		}
	case c == '"' || c == '\'':
		r.stringLiteral()
	case c == '`':
		r.skipTemplate()
	case '0' <= c && c <= '9' || c == '-':
		r.at++
		for r.at < len(r.text) &&
			(unicode.IsDigit(rune(r.text[r.at])) || r.text[r.at] == '.') {
			r.at++
		}
	default:
		r.name()
		for r.punct(".") {
			r.word()
		}
		r.generics()
	}
	for r.peek("[") {
		r.skipBrackets()
	}
}
