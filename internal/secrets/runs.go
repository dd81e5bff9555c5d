package secrets

import (
	"encoding/base64"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// minRun is the length of the shortest run of characters that can look random.
	minRun = 24
	// maxRandom is the length of the longest; longer runs are data.
	maxRandom = 128
	// maxDecoded limits how much of a base64 run is decoded and searched.
	maxDecoded = 8 << 20
)

// findRuns finds random-looking strings, and searches base64 content.
func (s *Scanner) findRuns(text string, depth int, add adder, variables *variableSet) {
	var pem pemBlocks
	for start := 0; start < len(text); {
		if !isBase64(text[start]) {
			start++
			continue
		}
		end := start + 1
		for end < len(text) && isBase64(text[end]) {
			end++
		}
		next := end
		for next < len(text) && text[next] == '=' && next-end < 2 {
			next++
		}
		if end-start >= minRun && !pem.contain(text, start) {
			s.run(text, start, end, depth, add, variables)
		}
		start = next
	}
}

// run checks one run of base64 characters.
func (s *Scanner) run(text string, start, end, depth int, add adder, variables *variableSet) {
	word := text[start:end]
	if depth < maxNested {
		if decoded := decodedText(word); decoded != "" {
			for _, m := range s.find(decoded, depth+1, variables) {
				add(m.Kind, m.What+" in base64", start, end)
			}
			return
		}
	}
	if digest(text, start, end) || illustrative(word) {
		return
	}
	at := start
	for part := range strings.SplitSeq(word, "/") {
		if chance(part) && !inURL(text, at) && !(end-start > maxRandom) {
			add(Entropy, "a random-looking string", at, at+len(part))
		}
		at += len(part) + 1
	}
}

// decodedText returns the text that word encodes in base64, or "" if it is not text.
func decodedText(word string) string {
	if len(word) > maxDecoded {
		word = word[:maxDecoded]
	}
	word = word[:len(word)/4*4+remainder(len(word)%4)]
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		decoded, err := encoding.DecodeString(word)
		if err == nil && len(decoded) >= 12 && isText(string(decoded)) {
			return string(decoded)
		}
	}
	return ""
}

// remainder returns how many characters of an incomplete group can be decoded.
func remainder(n int) int {
	if n == 1 {
		return 0
	}
	return n
}

// isText reports whether data is printable text.
func isText(data string) bool {
	if !utf8.ValidString(data) {
		return false
	}
	for _, r := range data {
		if !unicode.IsPrint(r) && r != '\n' && r != '\r' &&
			r != '\t' || r > unicode.MaxLatin1 && r < 0x2000 &&
			!unicode.IsLetter(r) {
			return false
		}
	}
	return true
}

// digest reports whether a run is a hash, a UUID, a version or an id. These are public,
// and their form alone only distinguishes them from secrets if all digits are hexadecimal
// or a telling name precedes them.
func digest(text string, start, end int) bool {
	word := text[start:end]
	if strings.Trim(strings.ToLower(word), "0123456789abcdef-") == "" {
		return true
	}
	before := strings.ToLower(text[max(0, start-24):start])
	rest := strings.TrimLeft(text[end:], "=")
	if strings.HasSuffix(before, ":") && strings.HasPrefix(rest, ":") {
		return true // a byte sequence of an HTTP structured field (RFC 8941, section 3.3.5)
	}
	for _, name := range table().DigestMarks {
		if strings.HasSuffix(before, name) ||
			strings.HasPrefix(strings.ToLower(word), name) {
			return true
		}
	}
	return false
}

// pemBlocks tracks the PEM blocks of a text, as far as it was read.
type pemBlocks struct{ start, end int }

// contain reports whether text[at] is in a PEM block. Certificates and public keys are
// public, and [findPrivateKeys] finds the others. at must not decrease between calls.
func (p *pemBlocks) contain(text string, at int) bool {
	for at >= p.end {
		i := strings.Index(text[p.end:], "-----BEGIN ")
		if i < 0 {
			p.start = len(text)
			p.end = len(text)
			return false
		}
		p.start = p.end + i
		if i = strings.Index(text[p.start:], "-----END "); i < 0 {
			p.start = len(text)
			p.end = len(text) // no block
			return false
		}
		p.end = p.start + i
	}
	return at >= p.start
}

// inURL reports whether text[at] is in the path, the query or the fragment of a URL,
// whose parts often look random but are public.
func inURL(text string, at int) bool {
	start := max(0, at-512)
	if i := strings.LastIndexAny(text[start:at], " \t\r\n\"'<>(`"); i >= 0 {
		start += i + 1
	}
	return strings.Contains(text[start:at], "://")
}

// chance reports whether a word looks random: [Random], or letters of one case mixed with
// many digits. Words of hexadecimal digits are treated as hashes.
func chance(word string) bool {
	if len(word) < minRun ||
		strings.Trim(strings.ToLower(word), "0123456789abcdef-") == "" {
		return false
	}
	if strings.ContainsAny(word, "_-") {
		// Separators join names, so one of the parts must look random by itself.
		longest := ""
		for part := range strings.FieldsFuncSeq(word, func(r rune) bool {
			return r == '_' || r == '-'
		}) {
			if len(part) > len(longest) {
				longest = part
			}
		}
		if len(longest) < 16 && separators(word) > len(word)/12 {
			return false
		}
	}
	if wordLetters(word)*5 >= len(word)*2 {
		return false
	}
	if Random(word) {
		return mixed(word)
	}
	digits := 0
	for i := range len(word) {
		if class(word[i]) == '0' {
			digits++
		}
	}
	oneCase := strings.ToLower(word) == word || strings.ToUpper(word) == word
	return oneCase && len(word) >= 32 && separators(word) == 0 && digits >= 6 &&
		digits <= len(word)/2 &&
		entropy(word) >= 4 && !spelled(word)
}

// wordLetters counts the letters in runs of three or more lower-case letters, including a
// preceding capital. Identifiers in source code consist of such runs.
func wordLetters(word string) int {
	count := 0
	run := 0
	end := func(at int) {
		if run >= 3 {
			count += run
			first := at - run - 1
			if first >= 0 && class(word[first]) == 'A' {
				count++
			}
		}
		run = 0
	}
	for i := range len(word) {
		if class(word[i]) == 'a' {
			run++
		} else {
			end(i)
		}
	}
	end(len(word))
	return count
}

// separators returns the number of characters in a word that separate its parts.
func separators(word string) int {
	return strings.Count(word, "_") + strings.Count(word, "-")
}

// mixed reports whether capitals and digits are spread over the word, rather than only at
// the beginnings of words.
func mixed(word string) bool {
	changes := 0
	last := byte(0)
	for i := range len(word) {
		kind := class(word[i])
		if i > 0 && kind != last {
			changes++
		}
		last = kind
	}
	return changes*3 >= len(word)
}
