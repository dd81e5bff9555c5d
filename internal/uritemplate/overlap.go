package uritemplate

import (
	"slices"
	"strings"
)

// token is one step of a template as a pattern: a specific character, or one or any
// number of characters outside a set.
type token struct {
	char   byte
	many   bool   // matches any number of characters
	except string // characters that it does not match
}

// maxForms limits the forms of one template that are compared.
const maxForms = 64

// forms returns t as patterns, one for each combination of expressions that a URI may
// omit. Beyond maxForms, all other expressions are assumed to be present.
func (t *Template) forms() [][]token {
	forms := [][]token{nil}
	for _, p := range t.parts {
		given := p.tokens()
		missing := len(forms)
		if p.operator != nil && p.operator.first != "" && 2*missing <= maxForms {
			forms = append(forms, forms...)
		}
		for i := range forms {
			if i < missing {
				forms[i] = append(forms[i][:len(forms[i]):len(forms[i])], given...)
			}
		}
	}
	return forms
}

func (p *part) tokens() []token {
	if p.operator == nil {
		return literalTokens(p.literal)
	}
	except := "/?#"
	switch {
	case p.operator.reserved:
		except = ""
	case p.operator.query:
		except = "#"
	case p.operator.symbol == '/':
		except = "?#"
	}
	all := literalTokens(p.operator.first)
	return append(all, token{except: except}, token{
		many:   true,
		except: except,
	})
}

func literalTokens(s string) []token {
	all := make([]token, len(s))
	for i := range len(s) {
		all[i].char = s[i]
	}
	return all
}

// Overlap returns a URI that both templates match, if one exists.
func Overlap(a, b *Template) (uri string, found bool) {
	for _, fa := range slices.Backward(a.forms()) { // shortest first
		for _, fb := range slices.Backward(b.forms()) {
			s := search{
				a:    fa,
				b:    fb,
				dead: make(map[[2]int]bool),
			}
			if s.from(0, 0) {
				return string(s.witness), true
			}
		}
	}
	return "", false
}

// search finds a text that two patterns both match.
type search struct {
	a, b    []token
	dead    map[[2]int]bool
	witness []byte
}

// from reports whether a[i:] and b[j:] both match some text, and leaves it in witness.
func (s *search) from(i, j int) bool {
	if i == len(s.a) && j == len(s.b) {
		return true
	}
	at := [2]int{i, j}
	if s.dead[at] {
		return false
	}
	s.dead[at] = true // until proven otherwise, which ends the search
	if i < len(s.a) && s.a[i].many && s.from(i+1, j) ||
		j < len(s.b) && s.b[j].many && s.from(i, j+1) {
		return true
	}
	if i == len(s.a) || j == len(s.b) {
		return false
	}
	c, ok := common(s.a[i], s.b[j])
	if !ok {
		return false
	}
	s.witness = append(s.witness, c)
	if s.from(after(s.a[i], i), after(s.b[j], j)) {
		return true
	}
	s.witness = s.witness[:len(s.witness)-1]
	return false
}

// after returns the next index after a token has matched a character. A token with many
// stays; skipping it is tried separately.
func after(t token, i int) int {
	if t.many {
		return i
	}
	return i + 1
}

// common returns a character that both tokens match.
func common(a, b token) (byte, bool) {
	switch {
	case a.char != 0 && b.char != 0:
		return a.char, a.char == b.char
	case a.char != 0:
		return a.char, strings.IndexByte(b.except, a.char) < 0
	case b.char != 0:
		return b.char, strings.IndexByte(a.except, b.char) < 0
	case a.many && b.many:
		return 0, false // needs no character: skipping either token is tried separately
	}
	return 'x', true
}
