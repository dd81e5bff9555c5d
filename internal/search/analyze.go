package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	snowball "github.com/blevesearch/snowballstem"
)

const (
	// maxWord is the longest word, in bytes, that is indexed.
	maxWord = 64
	// maxParts is the number of parts up to which a compound such as no-unused-vars is
	// also indexed as a whole. URLs have more.
	maxParts = 5
)

// token is a search term found in a text.
type token struct {
	term string // the indexed form
	word string // the word as written, in lower case
	at   int    // offset of the word in the text
	// compound marks a term that combines the preceding tokens.
	compound bool
	stop     bool
}

// analyzer splits texts into tokens. It is not safe for concurrent use.
type analyzer struct {
	// lang is the language of the texts, stops its words that are not indexed, and weak those
	// that get a lower weight in queries.
	lang  language
	stops map[string]bool
	weak  map[string]bool
	stems map[string]string // cache of stem
	// stemOf returns the stem of a word if it is known. If it is not nil, there is no cache.
	stemOf func(word string) (stem string, ok bool)
	// env and parts are reused for every text, so an analyzer serves one goroutine.
	env   *snowball.Env
	parts []part
}

// part is a part of a word, between connectors or humps.
type part struct {
	// text is a part of a word, which begins at the offset at.
	text string
	at   int
}

// newAnalyzer returns an analyzer for a language. Stop words are also known without their
// apostrophe.
func newAnalyzer(code string) *analyzer {
	l := languageOf(code)
	a := &analyzer{
		lang:  l,
		stops: make(map[string]bool),
		weak:  make(map[string]bool),
		stems: make(map[string]string),
		env:   snowball.NewEnv(""),
	}
	for word := range strings.FieldsSeq(l.Stops) {
		a.stops[word] = true
		a.stops[strings.ReplaceAll(word, "'", "")] = true
	}
	for word := range strings.FieldsSeq(l.Weak) {
		a.weak[word] = true
	}
	return a
}

// tokens calls visit for each token of text, in order.
func (a *analyzer) tokens(text string, visit func(token)) {
	pieces(text, func(piece string, at int, unspaced bool) {
		if unspaced {
			pairs(piece, at, visit)
		} else {
			a.word(piece, at, visit)
		}
	})
}

// pieces calls visit for each word of text, in order, and for each run of characters of scripts
// without spaces.
func pieces(text string, visit func(piece string, at int, unspaced bool)) {
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
			if classes[c] != classWord {
				i++
				continue
			}
			end := wordEnd(text, i)
			visit(text[i:end], i, false)
			i = end
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case isUnspaced(r):
			end := i + n
			for end < len(text) {
				r, n := utf8.DecodeRuneInString(text[end:])
				if !isUnspaced(r) {
					break
				}
				end += n
			}
			visit(text[i:end], i, true)
			i = end
		case isWordRune(r):
			end := wordEnd(text, i)
			visit(text[i:end], i, false)
			i = end
		default:
			i += n
		}
	}
}

// Classes of ASCII characters, for wordEnd.
const (
	classOther = iota
	classWord
	classConnector
	classSign // + and #
)

// classes are the classes of ASCII characters.
var classes = func() (c [utf8.RuneSelf]uint8) {
	for i := range c {
		switch r := rune(i); {
		case isWordRune(r):
			c[i] = classWord
		case isConnector(r):
			c[i] = classConnector
		case r == '+' || r == '#':
			c[i] = classSign
		}
	}
	return c
}()

// wordEnd returns the end of the word that begins at i: letters and digits, with
// connectors between them.
func wordEnd(text string, i int) int {
	end := i
	for j := i; j < len(text); {
		if c := text[j]; c < utf8.RuneSelf {
			switch class := classes[c]; {
			case class == classWord:
				j++
				end = j
				continue
			case class == classConnector && j == end:
				j++
				continue
			case class != classSign:
				return end
			}
		}
		r, n := utf8.DecodeRuneInString(text[j:])
		switch {
		case isWordRune(r) && !isUnspaced(r):
			end = j + n
		case j == end && isConnector(r):
		case j == end && (r == '+' || r == '#'):
			// C#, F#, C++
			k := j + len(text[j:]) - len(strings.TrimLeft(text[j:], "+#"))
			if k-i <= 4 && j-i == 1 && k-j <= 2 {
				return k
			}
			return end
		default:
			return end
		}
		j += n
	}
	return end
}

// pairs yields the overlapping letter pairs of a text in a script without spaces.
func pairs(text string, at int, visit func(token)) {
	before := -1
	count := 0
	for i, r := range text {
		if before >= 0 {
			two := text[before : i+runeLen(r)]
			visit(token{
				term: two,
				word: two,
				at:   at + before,
			})
		}
		before = i
		count++
	}
	if count == 1 {
		visit(token{
			term: text,
			word: text,
			at:   at,
		})
	}
}

// word yields the parts of a word, and, if there are several, the whole word.
func (a *analyzer) word(text string, at int, visit func(token)) {
	a.parts = a.split(a.parts[:0], text)
	var whole strings.Builder
	count := 0
	for _, p := range a.parts {
		folded := fold(p.text)
		if folded == "" || len(folded) > maxWord {
			continue
		}
		count++
		t := a.token(folded)
		t.at = at + p.at
		visit(t)
		whole.WriteString(folded)
	}
	if count < 2 ||
		count > maxParts ||
		whole.Len() > maxWord ||
		a.lang.Elides && strings.ContainsFunc(text, isApostrophe) {
		return
	}
	visit(token{
		term:     plain(whole.String()),
		word:     whole.String(),
		at:       at,
		compound: true,
	})
}

// headingJoint is in the terms for whole headings, and in no other term.
const headingJoint = "="

// headingTerm returns the term for a heading with several different terms, or "" if they are too
// few or too many: one word is found by its title or heading anyway, and few queries are long.
// It is a checksum after the first term, whose file has both.
func headingTerm(terms []string) string {
	if len(terms) < 2 || len(terms) > weigh().MaxHeading {
		return ""
	}
	return terms[0] + headingJoint + sum([]byte(strings.Join(terms, headingJoint)))
}

// split splits a word at its connectors and humps.
func (a *analyzer) split(parts []part, text string) []part {
	start := 0
	cut := func(end, next int) {
		if end > start {
			parts = append(parts, part{text[start:end], start})
		}
		start = next
	}
	var last rune
	for i, r := range text {
		after := i + runeLen(r)
		switch {
		case isApostrophe(r):
			if a.lang.Elides {
				cut(i, after)
			}
		case isConnector(r):
			cut(i, after)
		case unicode.IsUpper(r) &&
			(unicode.IsLower(last) ||
				i > start && unicode.IsUpper(last) && lowerFollows(text[after:])):
			cut(i, i) // as in camelCase and HTTPServer
		}
		last = r
	}
	cut(len(text), len(text))
	return parts
}

// lowerFollows reports whether text begins with a lower-case letter that is not just a
// plural s, as in URLs.
func lowerFollows(text string) bool {
	r, n := utf8.DecodeRuneInString(text)
	return unicode.IsLower(r) && (r != 's' || len(text) > n)
}

// token returns the token for a lower-case word.
func (a *analyzer) token(word string) token {
	if a.stops[word] {
		return token{
			term: plain(word),
			word: word,
			stop: true,
		}
	}
	bare := strings.TrimSuffix(strings.ReplaceAll(strings.ReplaceAll(word, "’", "'"), "'s", ""), "'")
	bare = strings.ReplaceAll(bare, "'", "")
	if bare == "" {
		bare = word
	}
	return token{
		term: a.stem(bare),
		word: bare,
		stop: a.stops[bare],
	}
}

// maxStems bounds the cache of stems.
const maxStems = 200_000

// stem returns the term of a word: its stem without accents, so that queries match with
// or without them.
func (a *analyzer) stem(word string) string {
	if a.stemOf != nil {
		if term, ok := a.stemOf(word); ok {
			return term
		}
	} else if term, ok := a.stems[word]; ok {
		return term
	}
	term := plain(a.stemmed(word))
	if term == "" {
		term = word
	}
	if a.stemOf == nil && len(a.stems) < maxStems {
		a.stems[strings.Clone(word)] = term
	}
	return term
}

// stemmed returns the stem of a word. Words with digits or signs are names, and stay.
func (a *analyzer) stemmed(word string) string {
	if a.lang.stem == nil || strings.ContainsFunc(word, func(r rune) bool {
		return !unicode.IsLetter(r)
	}) {
		return word
	}
	a.env.SetCurrent(word)
	a.lang.stem(a.env)
	return a.env.Current()
}

// runeLen returns the number of bytes of a rune; an invalid one counts as a single byte.
func runeLen(r rune) int { return max(1, utf8.RuneLen(r)) }

func isWordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	return unicode.In(r, unicode.L, unicode.N, unicode.Mn, unicode.Mc)
}

// isUnspaced reports whether r belongs to a script without spaces between words, or to
// Korean, which attaches endings to words.
func isUnspaced(r rune) bool {
	return r >= 0x0e00 &&
		unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
			unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

func isConnector(r rune) bool {
	switch r {
	case '-', '_', '.', ':', '/', '@', '\u2010', '\u2011':
		return true
	}
	return isApostrophe(r)
}

func isApostrophe(r rune) bool { return r == '\'' || r == '’' }

// fold returns text in lower case.
func fold(text string) string {
	for i := range len(text) {
		c := text[i]
		if c >= utf8.RuneSelf || 'A' <= c && c <= 'Z' {
			return strings.ToLower(strings.ToValidUTF8(text, ""))
		}
	}
	return text
}

// accented lists accented letters, bare the same letters without accents.
const (
	accented = "àáâãäåāăąçćĉċčďđèéêëēĕėęěĝğġģĥħìíîïĩīĭįıĵ" +
		"ķĺļľŀłñńņňòóôõöøōŏőŕŗřśŝşšșţťŧțùúûüũūŭůűųŵýÿŷźżžё"
	bare = "aaaaaaaaacccccddeeeeeeeeegggghhiiiiiiiiij" +
		"klllllnnnnooooooooorrrsssssttttuuuuuuuuuuwyyyzzzе"
)

// plain removes accents from text, which is in lower case.
func plain(text string) string {
	if strings.IndexFunc(text, func(r rune) bool {
		return r >= utf8.RuneSelf
	}) < 0 {
		return text
	}
	letters := []rune(bare)
	return strings.Map(func(r rune) rune {
		switch {
		case r < utf8.RuneSelf:
			return r
		case 0x300 <= r && r <= 0x36f:
			return -1
		case r == 'ß':
			return 's'
		}
		at := 0
		for _, a := range accented {
			if a == r {
				return letters[at]
			}
			at++
		}
		return r
	}, text)
}
