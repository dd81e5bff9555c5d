package freeze

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"

	"github.com/slipway-mcp/slipway/internal/secrets"
)

// suspicion is a part of an answer that should not be published.
type suspicion struct {
	kind string // "secret", "personal" or "email"
	// about says in a few words what was found, and pointer where in the answer.
	about   string
	pointer string
	match   secrets.Match // of a secret
}

// pattern matches a kind of personal data.
type pattern struct {
	// kind and about are as in suspicion.
	kind, about string
	// hint must occur in the text for the expression to be tried at all.
	hint string
	// look finds candidates, which good then verifies.
	look *regexp.Regexp
	// good reports whether a match is genuine; nil means always.
	good func(match string) bool
}

// patterns is compiled when the first answer is scanned.
var patterns = sync.OnceValue(func() []pattern {
	return []pattern{
		{
			kind:  "personal",
			about: "a card number",
			look:  regexp.MustCompile(`\b\d(?:[ -]?\d){12,18}\b`),
			good:  isCard,
		},
		{
			kind:  "personal",
			about: "an IBAN",
			look:  regexp.MustCompile(`\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b`),
			good:  isIBAN,
		},
		{
			kind:  "email",
			about: "an e-mail address",
			hint:  "@",
			look:  regexp.MustCompile(`\b[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}\b`),
			good:  isPersonal,
		},
	}
})

// suspicions returns the secrets and the personal data in an answer.
func suspicions(scanner *secrets.Scanner, doc json.RawMessage) []suspicion {
	var found []suspicion
	for _, f := range scanner.FindDocument(doc) {
		found = append(found, suspicion{"secret", f.What, f.Pointer, f.Match})
	}
	seen := make(map[string]bool)
	mapTexts(doc, []string{"blob", "data"}, func(text string) string {
		for _, p := range patterns() {
			if p.hint != "" && !strings.Contains(text, p.hint) {
				continue
			}
			for _, match := range p.look.FindAllString(text, 100) {
				if p.good != nil && !p.good(match) || seen[p.about] {
					continue
				}
				seen[p.about] = true
				found = append(found, suspicion{
					kind:  p.kind,
					about: p.about,
				})
			}
		}
		return text
	})
	return found
}

// digits returns the digits of a text, without separators.
func digits(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, s)
}

// isCard reports whether a number is formatted like that of a payment card, and has a
// valid prefix, length and check digit.
func isCard(match string) bool {
	number := digits(match)
	if !cardGroups(match) || !cardIssuer(number) ||
		strings.Count(number, number[:1]) == len(number) {
		return false
	}
	sum := 0
	for i := range len(number) {
		d := int(number[len(number)-1-i] - '0')
		if i%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0
}

// cardGroups reports whether a number is unseparated, or in the groups printed on cards,
// with one kind of separator. Numbers grouped otherwise are not card numbers.
func cardGroups(match string) bool {
	separator := " "
	if strings.Contains(match, "-") {
		separator = "-"
	}
	var lengths []byte
	for group := range strings.SplitSeq(match, separator) {
		if len(group) > 19 || strings.Contains(group, " ") {
			return false
		}
		lengths = append(lengths, 'a'+byte(len(group)))
	}
	switch string(lengths) {
	case "eeee", "eeeed", "egf", "ege": // 4-4-4-4, 4-4-4-4-3, 4-6-5, 4-6-4
		return true
	}
	return len(lengths) == 1
}

// cardIssuer reports whether a number has the prefix and length of a card issuer.
func cardIssuer(number string) bool {
	begins := func(digits int, low, high string) bool {
		return number[:digits] >= low && number[:digits] <= high
	}
	switch len(number) {
	case 14:
		return begins(3, "300", "305") ||
			begins(2, "36", "36") ||
			begins(2, "38", "39")
	case 15:
		return begins(2, "34", "34") || begins(2, "37", "37")
	case 16:
		return begins(1, "4", "4") || begins(2, "51", "55") || begins(4, "2221", "2720") ||
			begins(4, "3528", "3589") ||
			begins(4, "6011", "6011") ||
			begins(3, "644", "659") ||
			begins(2, "62", "62")
	case 13, 19:
		return begins(1, "4", "4") || len(number) == 19 && begins(2, "62", "62")
	}
	return false
}

// isIBAN reports whether the check digits are correct.
func isIBAN(match string) bool {
	s := strings.ReplaceAll(match, " ", "")
	if len(s) < 15 || len(s) > 34 {
		return false
	}
	rest := 0
	for _, c := range s[4:] + s[:4] {
		switch {
		case c >= '0' && c <= '9':
			rest = (rest*10 + int(c-'0')) % 97
		default:
			rest = (rest*100 + int(c-'A') + 10) % 97
		}
	}
	return rest == 1
}

// isPersonal reports whether an e-mail address does not belong to a domain reserved for
// examples.
func isPersonal(match string) bool {
	domain := strings.ToLower(match[strings.LastIndexByte(match, '@')+1:])
	for _, example := range []string{
		"example.com", "example.org", "example.net", ".example", ".test", ".invalid",
		".localhost",
	} {
		if domain == example ||
			strings.HasSuffix(domain, "."+strings.TrimPrefix(example, ".")) {
			return false
		}
	}
	return true
}
