package policy

import (
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/cedar-policy/cedar-go"
)

// located is a rule with the place where it begins in a text.
type located struct {
	*cedar.Policy
	offset, line int
}

// inText yields the rules of a text one by one, so that loading needs little memory at a time: a Cedar
// parser needs 60 MB for 10,000 rules at once, after which the heap of a process is so scattered that
// each of its requests takes 5 % longer. The error, once rules has ended, is that of the parser, whose
// places are not those in the text.
func inText(text string) (rules iter.Seq[located], failed func() error) {
	var err error
	rules = func(yield func(located) bool) {
		line, counted := 1, 0
		for offset, statement := range statements(text) {
			var list cedar.PolicyList
			if list, err = cedar.NewPolicyListFromBytes("", []byte(statement)); err != nil {
				return
			}
			for _, p := range list { // none in a comment at the end
				begin := offset + p.Position().Offset
				line += strings.Count(text[counted:begin], "\n")
				counted = begin
				if !yield(located{p, begin, line}) {
					return
				}
			}
		}
	}
	return rules, func() error { return err }
}

// inList yields rules that have been parsed.
func inList(list cedar.PolicyList) iter.Seq[located] {
	return func(yield func(located) bool) {
		for _, p := range list {
			if at := p.Position(); !yield(located{p, at.Offset, at.Line}) {
				return
			}
		}
	}
}

// columnOf returns the column of a place in a text.
func columnOf(text string, offset int) int {
	line := strings.LastIndexByte(text[:offset], '\n') + 1
	return utf8.RuneCountInString(text[line:offset]) + 1
}

// statements yields the parts of a Cedar text that end with a semicolon, and the rest, each with its
// offset. A semicolon in a string or a comment ends nothing.
func statements(text string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		begin := 0
		for i := 0; i < len(text); {
			switch rest := text[i:]; {
			case rest[0] == ';':
				if i++; !yield(begin, text[begin:i]) {
					return
				}
				begin = i
			case rest[0] == '"':
				i += stringLen(rest)
			case strings.HasPrefix(rest, "//"):
				i += lenUntil(rest, 2, "\n")
			case strings.HasPrefix(rest, "/*"):
				i += lenUntil(rest, 2, "*/")
			default:
				i++
			}
		}
		if begin < len(text) {
			yield(begin, text[begin:])
		}
	}
}

// stringLen returns the length of the string that a text begins with.
func stringLen(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// lenUntil returns the length of a text up to and with the next end, which is searched from an offset.
func lenUntil(text string, from int, end string) int {
	at := strings.Index(text[from:], end)
	if at < 0 {
		return len(text)
	}
	return from + at + len(end)
}
