package secrets

import (
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// adder adds a match.
type adder = func(kind Kind, what string, start, end int)

// findPrivateKeys finds PEM blocks with key material. Documentation often mentions only
// the first line.
func findPrivateKeys(text string, add adder) {
	const begin = "-----BEGIN "
	for from := 0; ; {
		i := strings.Index(text[from:], begin)
		if i < 0 {
			return
		}
		start := from + i
		from = start + len(begin)
		label, body, ok := strings.Cut(text[from:], "-----")
		if !ok || len(label) > 64 || !strings.Contains(label, "PRIVATE KEY") {
			continue
		}
		end := strings.Index(body, "-----")
		if end < 0 {
			end = min(len(body), 16<<10)
		}
		// Line endings may be written as \n.
		material := strings.ReplaceAll(strings.ReplaceAll(body[:end], `\n`, ""), `\r`, "")
		if longestRun(material, isBase64) >= 32 {
			bodyStart := from + len(label) + len("-----")
			add(PrivateKey, "a private key", start, bodyStart+end)
		}
	}
}

// longestRun returns the length of the longest run of bytes in a class.
func longestRun(text string, in func(byte) bool) int {
	longest := 0
	run := 0
	for i := range len(text) {
		if run++; !in(text[i]) {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}

// isBase64 reports whether c belongs to the alphabet of base64, in either variant.
func isBase64(c byte) bool { return classes[c]&base64Byte != 0 }

// isTokenByte reports whether c is in [tokenLetters].
func isTokenByte(c byte) bool { return classes[c]&tokenByte != 0 }

// findTokens finds words in the format of a service's credentials.
func findTokens(text string, add adder) {
	for start := 0; start < len(text); {
		if !isTokenByte(text[start]) {
			start++
			continue
		}
		end := start + 1
		for end < len(text) && isTokenByte(text[end]) {
			end++
		}
		if end-start >= minToken { // most words are shorter
			word := strings.TrimRight(text[start:end], ".-")
			if what := tokenForm(word); what != "" {
				add(Token, what, start, start+len(word))
			}
		}
		start = end
	}
}

// minToken is the length of the shortest token.
const minToken = 18

// tokenForm returns the kind of credentials in a word, or "".
func tokenForm(word string) string {
	if len(word) < minToken {
		return ""
	}
	if strings.HasPrefix(word, "eyJ") {
		parts := strings.Split(word, ".")
		if len(parts) == 3 &&
			len(parts[1]) >= 10 &&
			len(parts[2]) >= 16 {
			return "a JSON Web Token"
		}
	}
	return tokenKind(word, func(rest string) bool {
		if words(rest) || illustrative(rest) {
			return false
		}
		return strings.ContainsAny(rest, "0123456789") || entropy(rest) >= 3.5 &&
			(!spelled(rest) || strings.ToUpper(rest) == rest)
	})
}

// findPasswords finds passwords in URLs.
func findPasswords(text string, add adder) {
	for from := 0; ; {
		i := strings.Index(text[from:], "://")
		if i < 0 {
			return
		}
		start := from + i + len("://")
		from = start
		end := start
		for end < len(text) && end-start < 1<<10 && !strings.ContainsRune("/?# \t\r\n\"'<>`\\", rune(text[end])) {
			end++
		}
		at := strings.LastIndexByte(text[start:end], '@')
		if at < 0 {
			continue
		}
		user, password, ok := strings.Cut(text[start:start+at], ":")
		if ok && len(password) >= 3 && !illustrative(password) &&
			!strings.EqualFold(user, password) {
			add(Token, "a password in a URL", start+len(user)+1, start+at)
		}
	}
}

// findSchemes finds credentials after the name of an authentication scheme.
func findSchemes(text string, add adder) {
	for _, scheme := range []string{"Bearer ", "bearer ", "Basic ", "basic "} {
		for from := 0; ; {
			i := strings.Index(text[from:], scheme)
			if i < 0 {
				break
			}
			start := from + i + len(scheme)
			from = start
			end := start
			for end < len(text) && (isTokenByte(text[end]) || strings.IndexByte("+/=~", text[end]) >= 0) {
				end++
			}
			if isCredential(text[start:end], scheme[1:]) {
				add(Token, "credentials of the scheme "+strings.TrimSpace(scheme), start, end)
			}
		}
	}
}

// isCredential reports whether word is the credentials of a scheme, and not an example.
func isCredential(word, scheme string) bool {
	if strings.HasPrefix(scheme, "asic") {
		decoded, err := base64.StdEncoding.DecodeString(word)
		_, password, ok := strings.Cut(string(decoded), ":")
		return err == nil && ok && utf8.Valid(decoded) &&
			len(password) >= minSecret && !illustrative(password)
	}
	return len(word) >= 20 && strings.ContainsAny(word, "0123456789") &&
		!illustrative(word) && !spelled(word)
}

// findPairs finds values next to names that indicate a secret, and collects the variables
// of an environment.
func (s *Scanner) findPairs(text string, add adder, variables *variableSet) {
	for i := 0; i < len(text); i++ {
		if text[i] != '=' && text[i] != ':' {
			continue
		}
		name, quotedName := nameBefore(text, i)
		if name == "" {
			continue
		}
		kind := s.nameKind(name)
		if kind == otherName {
			continue
		}
		secret := kind == secretPairName
		start, end, quoted := valueAfter(text, i+1)
		if start == end {
			continue
		}
		value := text[start:end]
		variables.note(name, value, s.pairs)
		if secret && secretPair(name, value, quotedName, quoted, text[i] == '=') {
			add(Pair, "a value called "+name, start, end)
		}
		i = end - 1 // each value is read once
	}
}

// nameKind is what the name of a pair indicates.
type nameKind int

const (
	otherName      nameKind = iota
	variableOfHost          // of an environment, and not secret
	secretPairName
)

// maxNames limits how many names a Scanner remembers.
const maxNames = 1000

// nameKind returns what a name indicates.
func (s *Scanner) nameKind(name string) nameKind {
	if kind, ok := s.names.Load(name); ok {
		return kind.(nameKind)
	}
	kind := s.judgeName(name)
	if s.known.Load() < maxNames {
		if _, loaded := s.names.LoadOrStore(strings.Clone(name), kind); !loaded { // not a part of the text
			s.known.Add(1)
		}
	}
	return kind
}

// judgeName determines what nameKind caches. A name that indicates a secret counts as such
// even if it is also a variable of the environment.
func (s *Scanner) judgeName(name string) nameKind {
	if secretName(name) {
		return secretPairName
	}
	_, own := s.pairs[name]
	if own || slices.Contains(table().UsualVariables, strings.ToUpper(name)) {
		return variableOfHost
	}
	return otherName
}

// maxName is the longest name of a pair.
const maxName = 64

// nameBefore returns the name that ends before text[at], without its quotes.
func nameBefore(text string, at int) (name string, quoted bool) {
	end := at
	for end > 0 && (text[end-1] == ' ' || text[end-1] == '\t') && at-end < 4 {
		end--
	}
	for end > 0 && classes[text[end-1]]&quoteByte != 0 && at-end < 8 {
		end--
		quoted = true
	}
	start := end
	for start > 0 && end-start <= maxName && isTokenByte(text[start-1]) {
		start--
	}
	if end-start > maxName {
		return "", false
	}
	name = strings.TrimLeft(text[start:end], "-.")
	if name == "" || !unicode.IsLetter(rune(name[0])) && name[0] != '_' {
		return "", false
	}
	return name, quoted
}

// maxValue is the longest value of a pair.
const maxValue = 4 << 10

// valueAfter returns the position of the value after text[at-1], without its quotes.
func valueAfter(text string, at int) (start, end int, quoted bool) {
	for at < len(text) && (text[at] == ' ' || text[at] == '\t') {
		at++
	}
	escaped := 0
	for at < len(text) && text[at] == '\\' {
		at++
		escaped++
	}
	if at < len(text) && strings.IndexByte("\"'`", text[at]) >= 0 {
		quote := text[at]
		start = at + 1
		for end = start; end < len(text) && end-start < maxValue && text[end] != quote && text[end] != '\n'; end++ {
			if text[end] == '\\' && escaped == 0 && end+1 < len(text) {
				end++
			}
		}
		end = min(end, len(text))
		if end < len(text) && text[end] != quote {
			return start, start, false // the quote is not closed: an apostrophe
		}
		return start, start + len(strings.TrimRight(text[start:end], `\`)), true
	}
	start = at
	for end = start; end < len(text) && end-start < maxValue &&
		strings.IndexByte(" \t\r\n\"'`,;&<>\\|", text[end]) < 0; end++ {
	}
	return start, end, false
}

// secretName reports whether the name of a pair indicates a secret.
func secretName(name string) bool {
	return (Name(name) || isUpper(name) && variableName(name)) && !cursor(name)
}

// secretPair reports whether the value of a [secretName] is a secret rather than an
// example, a description or code.
func secretPair(name, value string, quotedName, quotedValue, assigned bool) bool {
	if illustrative(value) || hashedToken(name, value) {
		return false
	}
	digit := strings.ContainsAny(value, "0123456789")
	if strings.ContainsAny(value, " \t") {
		// A sentence, unless it is a passphrase of an environment.
		return isUpper(name) && quotedValue && digit && len(value) >= 12
	}
	if !quotedValue {
		value = strings.TrimRight(value, ".)]}")
		if strings.ContainsAny(value, "()[]{}*") ||
			strings.Contains(value, "://") || strings.HasPrefix(value, "=") ||
			strings.HasPrefix(value, "/") {
			return false // code, or a path
		}
	}
	letter := strings.ContainsFunc(value, unicode.IsLetter)
	switch {
	case len(value) < minSecret, Plain(value) &&
		!(digit && len(value) >= 8 && isUpper(name)):
		return false
	case isUpper(name) && assigned || quotedName && quotedValue:
		// NAME=VALUE of an environment, or "name": "value" of a document. A single lower-case
		// word is a name, not a secret.
		return digit || !identifier(value) || len(value) >= 16 && !spelledOut(value)
	case quotedValue && assigned:
		return len(value) >= 8 && digit && letter
	}
	return len(value) >= 8 && digit && letter && entropy(value) >= 2.8 &&
		!spelled(value) && !identifierPath(value)
}

// hashedToken reports whether a value is the hash of a token, as in the token file of serve. The
// hash of a password is none: passwords can be guessed.
func hashedToken(name, value string) bool {
	hash, ok := strings.CutPrefix(value, "sha256:")
	return ok && len(hash) == sha256.Size*2 &&
		strings.Trim(hash, "0123456789abcdef") == "" &&
		!strings.Contains(strings.ToLower(name), "pass")
}

// isUpper reports whether a name looks like that of an environment variable.
func isUpper(name string) bool {
	return len(name) >= 3 && strings.ToUpper(name) == name &&
		!strings.ContainsAny(name, ".-")
}

// cursor reports whether the name is that of another kind of token: for the next page, or
// for a request.
func cursor(name string) bool {
	parts := strings.Split(camel(name), "_")
	if len(parts) == 1 {
		parts = strings.FieldsFunc(camel(name), func(r rune) bool {
			return r == '-' || r == '.'
		})
	}
	return len(parts) > 1 && slices.Contains(table().CursorNames,
		parts[len(parts)-2])
}

// identifier reports whether a value is a word or an identifier from source code.
func identifier(value string) bool {
	return strings.Trim(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-.") == ""
}

// identifierPath reports whether a value is code such as req.Header2.Get.
func identifierPath(value string) bool {
	return strings.Contains(value, ".") &&
		strings.Trim(value, tokenLetters) == "" && !Random(value)
}

// spelledOut reports whether a value consists of words: in one case, or capitalized.
func spelledOut(value string) bool {
	return strings.ContainsAny(value, "_-.") || spelled(value)
}

// illustrative reports whether a value is an example or a placeholder.
func illustrative(value string) bool {
	v := strings.ToLower(strings.TrimSpace(value))
	if Placeholder(strings.TrimSpace(value)) || common(v) {
		return true
	}
	for _, part := range table().ExampleParts {
		if strings.Contains(v, part) {
			return true
		}
	}
	return slices.Contains(table().ExampleValues, v) || slices.ContainsFunc(table().ExamplePrefixes,
		func(prefix string) bool { return strings.HasPrefix(v, prefix) })
}
