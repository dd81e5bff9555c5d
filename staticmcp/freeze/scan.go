package freeze

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// suspicion is something in an answer that the whole world should not read.
type suspicion struct {
	kind  string // "secret", "personal" or "email"
	about string
	shown string // the beginning of it, which gives nothing away
}

// pattern is what a kind of secret looks like.
type pattern struct {
	kind, about string
	// hint must be in the text for the expression to be tried at all.
	hint string
	look *regexp.Regexp
	// good reports whether a match is one indeed, or is nil.
	good func(match string) bool
}

// patterns is compiled when the first answer is scanned.
var patterns = sync.OnceValue(func() []pattern {
	secret := func(about, hint, expression string) pattern {
		return pattern{kind: "secret", about: about, hint: hint, look: regexp.MustCompile(expression)}
	}
	return []pattern{
		secret("a private key", "PRIVATE KEY", `-----BEGIN [A-Z ]*PRIVATE KEY-----`),
		secret("an AWS access key", "A", `\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`),
		secret("a GitHub token", "gh", `\bgh[pousr]_[A-Za-z0-9]{36,}\b`),
		secret("a GitHub token", "github_pat_", `\bgithub_pat_[A-Za-z0-9_]{60,}\b`),
		secret("a GitLab token", "glpat-", `\bglpat-[A-Za-z0-9_-]{20,}`),
		secret("a Slack token", "xox", `\bxox[abeoprs]-[A-Za-z0-9-]{10,}`),
		secret("a Google API key", "AIza", `\bAIza[0-9A-Za-z_-]{35}\b`),
		secret("an npm token", "npm_", `\bnpm_[A-Za-z0-9]{36}\b`),
		secret("a Stripe key", "_live_", `\b[rs]k_live_[A-Za-z0-9]{20,}\b`),
		secret("an API key", "sk-", `\bsk-(?:ant-|proj-)?[A-Za-z0-9_-]{32,}`),
		secret("a JSON Web Token", "eyJ", `\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,}`),
		secret("a password in a URL", "://", `[a-z][a-z0-9+.-]*://[^\s/:@"]+:[^\s/@"]{3,}@[^\s"]+`),
		{kind: "personal", about: "a card number", look: regexp.MustCompile(`\b\d(?:[ -]?\d){12,18}\b`), good: isCard},
		{kind: "personal", about: "an IBAN", look: regexp.MustCompile(`\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b`), good: isIBAN},
		{kind: "email", about: "an e-mail address", hint: "@", look: regexp.MustCompile(`\b[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}\b`), good: isPersonal},
	}
})

// suspicions looks through the texts of an answer.
func suspicions(doc json.RawMessage) []suspicion {
	var found []suspicion
	seen := make(map[string]bool)
	eachText(doc, func(text string) {
		for _, p := range patterns() {
			if p.hint != "" && !strings.Contains(text, p.hint) {
				continue
			}
			for _, match := range p.look.FindAllString(text, 100) {
				if p.good != nil && !p.good(match) || seen[p.about+match] {
					continue
				}
				seen[p.about+match] = true
				found = append(found, suspicion{p.kind, p.about, hidden(match)})
			}
		}
	})
	return found
}

// hidden shows the first characters of a secret.
func hidden(s string) string {
	const few = 6
	if len(s) <= few {
		return "…"
	}
	return strings.ToValidUTF8(s[:few], "") + "…"
}

// eachText calls visit with every text in doc that can be a secret. What is
// binary cannot be read.
func eachText(doc []byte, visit func(string)) {
	i := jsonscan.Space(doc, 0)
	if i == len(doc) {
		return
	}
	switch doc[i] {
	case '"':
		if text, ok := jsonscan.Unquote(doc[i:]); ok {
			visit(text)
		}
	case '{':
		_, _ = jsonscan.Object(doc, i, 0, func(key []byte, i int) (int, error) {
			end, err := jsonscan.Value(doc, i)
			if name := string(key); err == nil && name != "blob" && name != "data" {
				eachText(doc[i:end], visit)
			}
			return end, err
		})
	case '[':
		_, _ = jsonscan.Array(doc, i, 0, func(i int) (int, error) {
			i = jsonscan.Space(doc, i)
			end, err := jsonscan.Value(doc, i)
			if err == nil {
				eachText(doc[i:end], visit)
			}
			return end, err
		})
	}
}

func digits(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, s)
}

// isCard reports whether a number is written like that of a payment card, and has
// the beginning, the length and the check digit of one.
func isCard(match string) bool {
	number := digits(match)
	if !cardGroups(match) || !cardIssuer(number) || strings.Count(number, number[:1]) == len(number) {
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

// cardGroups reports whether a number is in one piece, or in the groups that
// cards show, with one separator. Other numbers in a row are no card.
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

// cardIssuer reports whether numbers of cards begin so, and are as long.
func cardIssuer(number string) bool {
	begins := func(digits int, low, high string) bool {
		return number[:digits] >= low && number[:digits] <= high
	}
	switch len(number) {
	case 14:
		return begins(3, "300", "305") || begins(2, "36", "36") || begins(2, "38", "39")
	case 15:
		return begins(2, "34", "34") || begins(2, "37", "37")
	case 16:
		return begins(1, "4", "4") || begins(2, "51", "55") || begins(4, "2221", "2720") ||
			begins(4, "3528", "3589") || begins(4, "6011", "6011") || begins(3, "644", "659") || begins(2, "62", "62")
	case 13, 19:
		return begins(1, "4", "4") || len(number) == 19 && begins(2, "62", "62")
	}
	return false
}

// isIBAN reports whether the check digits are right.
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

// isPersonal reports whether an address is not one of those that are made for
// examples.
func isPersonal(match string) bool {
	domain := strings.ToLower(match[strings.LastIndexByte(match, '@')+1:])
	for _, example := range []string{"example.com", "example.org", "example.net", ".example", ".test", ".invalid", ".localhost"} {
		if domain == example || strings.HasSuffix(domain, "."+strings.TrimPrefix(example, ".")) {
			return false
		}
	}
	return true
}
