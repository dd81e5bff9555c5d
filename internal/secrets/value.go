package secrets

import (
	"math"
	"slices"
	"strings"
)

// Known returns the kind of credentials in s, or "". Credentials are detected anywhere in
// s, after white space, a quote or one of "=:,;@/?&".
func Known(s string) string {
	if _, rest, ok := strings.Cut(s, "-----BEGIN "); ok || strings.Contains(s, "PRIVATE KEY-----") {
		head, _, _ := strings.Cut(rest, "-----")
		if !ok || strings.Contains(head, "PRIVATE KEY") {
			return "a private key"
		}
	}
	for _, word := range strings.FieldsFunc(s,
		func(r rune) bool {
			return strings.ContainsRune(" \t\r\n\"'=:,;@/?&", r)
		}) {
		if parts := strings.Split(word, "."); len(parts) >= 3 && strings.HasPrefix(word, "eyJ") &&
			len(parts[1])+len(parts[2]) > 8 {
			return "a JSON Web Token"
		}
		what := tokenKind(word, func(rest string) bool {
			return strings.Trim(rest, tokenLetters) == "" && !words(rest)
		})
		if what != "" {
			return what
		}
	}
	for _, test := range []func(string) string{userinfo, webhook, bearer, botToken, assignment} {
		if what := test(s); what != "" {
			return what
		}
	}
	return ""
}

// userinfo detects a password before a host, in URLs and in the notation of some drivers:
// user:password@tcp(host).
func userinfo(s string) string {
	rest := s
	for {
		_, behind, ok := strings.Cut(rest, "://")
		if !ok {
			break
		}
		authority := behind
		if i := strings.IndexAny(behind, "/?# \t\n\"'"); i >= 0 {
			authority = behind[:i]
		}
		if i := strings.LastIndexByte(authority, '@'); i >= 0 {
			_, password, _ := strings.Cut(authority[:i], ":")
			if password != "" && !Placeholder(password) {
				return "a password before a host"
			}
		}
		rest = behind
	}
	user, host, ok := strings.Cut(s, "@tcp(")
	if !ok {
		user, host, ok = strings.Cut(s, "@unix(")
	}
	if _, password, colon := strings.Cut(user, ":"); ok && colon && host != "" && password != "" &&
		!strings.Contains(user, " ") && !Placeholder(password) {
		return "a password before a host"
	}
	return ""
}

// webhook detects URLs that are credentials in themselves.
func webhook(s string) string {
	for _, prefix := range table().Webhooks {
		if _, rest, ok := strings.Cut(s, prefix); ok && len(rest) >= 20 && strings.Contains(rest, "/") &&
			!strings.Contains(rest, "$") {
			return "the address of a webhook"
		}
	}
	return ""
}

// bearer detects credentials after the name of a scheme.
func bearer(s string) string {
	for _, scheme := range []string{"Bearer ", "Basic ", "bearer ", "basic "} {
		if _, rest, ok := strings.Cut(s, scheme); ok {
			word, _, _ := strings.Cut(rest, " ")
			if len(word) >= 8 && strings.Trim(word, tokenLetters+"+/=~") == "" &&
				strings.ContainsAny(word, "0123456789=") && !Placeholder(word) {
				return "what follows the name of a scheme"
			}
		}
	}
	return ""
}

// botToken detects tokens of the form 110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw.
func botToken(s string) string {
	id, token, ok := strings.Cut(s, ":")
	if ok && len(id) >= 8 && len(id) <= 11 &&
		strings.Trim(id, "0123456789") == "" && len(token) >= 33 &&
		len(token) <= 37 && strings.Trim(token, tokenLetters) == "" {
		return "the token of a bot"
	}
	return ""
}

// assignment detects password=value in connection strings and URL queries.
func assignment(s string) string {
	for _, part := range strings.FieldsFunc(s, func(r rune) bool {
		return strings.ContainsRune("; \t\n&?\"'", r)
	}) {
		name, value, ok := strings.Cut(part, "=")
		if ok && Name(strings.TrimLeft(name, "-")) && !Plain(value) {
			return "because of a name in it"
		}
	}
	return ""
}

// tokenLetters are the characters of tokens that are safe in URLs (RFC 7515), and the dot
// between the parts of some.
const tokenLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-."

// words reports whether s looks like words rather than random: lower-case letters with
// separators.
func words(s string) bool {
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz-_.") == "" &&
		strings.ContainsAny(s, "-_.")
}

// Name reports whether a variable, header, flag or parameter with this name usually
// contains a secret.
func Name(name string) bool {
	before, last := lastWords(name)
	return slices.Contains(table().SecretNames, last) ||
		last == "key" && slices.Contains(table().KeyNames, before)
}

// lastWords returns the last two words of a name in lower case, "" for missing ones.
func lastWords(name string) (before, last string) {
	parts := strings.FieldsFunc(camel(name), func(r rune) bool {
		return r == '_' || r == '-' || r == '.' || r == ' '
	})
	parts = append([]string{"", ""}, parts...)
	return parts[len(parts)-2], parts[len(parts)-1]
}

// camel converts apiKey to api_key.
func camel(name string) string {
	var b strings.Builder
	lower := false
	for _, r := range name {
		upper := 'A' <= r && r <= 'Z'
		if upper && lower {
			b.WriteByte('_')
		}
		lower = 'a' <= r && r <= 'z' || '0' <= r && r <= '9'
		b.WriteRune(r)
	}
	return strings.ToLower(b.String())
}

// Identity reports whether a variable with this name contains an identifier, which may
// look random but is public.
func Identity(name string) bool {
	before, last := lastWords(name)
	return slices.Contains(table().PublicNames, last) || last == "key" && before == "public"
}

// Plain reports whether value is never a secret by itself: a reference, a switch, a
// number, a path, a URL.
func Plain(value string) bool {
	v := strings.TrimSpace(value)
	switch {
	case len(v) < 4, Placeholder(v), strings.Trim(v, "0123456789.,-+") == "":
		return true
	case strings.Contains(v, "://"),
		strings.HasPrefix(v, "/"),
		strings.HasPrefix(v, "./"),
		strings.HasPrefix(v, "~"),
		strings.HasPrefix(v, "../"):
		return true
	case len(v) > 2 &&
		v[1] == ':' &&
		(v[2] == '\\' || v[2] == '/'):
		return true
	}
	return slices.Contains(table().Constants, strings.ToLower(v))
}

// Placeholder reports whether s is a placeholder for a value.
func Placeholder(s string) bool {
	return strings.HasPrefix(s, "$") ||
		strings.HasPrefix(s, "{") || strings.HasPrefix(s, "<") &&
		strings.HasSuffix(s, ">") ||
		strings.HasPrefix(s, "%") &&
			strings.HasSuffix(s, "%") || strings.Trim(s, "*xX.") == ""
}

// Random reports whether s looks random: one long word of letters in both cases with
// digits, or of hexadecimal digits, with high entropy.
func Random(s string) bool {
	if strings.Trim(s, tokenLetters+"+/=") != "" || contentAddress(s) {
		return false
	}
	hex := strings.Trim(s, "0123456789abcdef") == "" ||
		strings.Trim(s, "0123456789ABCDEF") == ""
	if hex {
		return len(s) >= 32 && entropy(s) >= 3
	}
	return len(s) >= 24 && entropy(s) >= 4 && !spelled(s) &&
		strings.ContainsAny(s, "0123456789") &&
		strings.ContainsFunc(s, func(r rune) bool {
			return 'a' <= r && r <= 'z'
		}) &&
		strings.ContainsFunc(s, func(r rune) bool { return 'A' <= r && r <= 'Z' })
}

// contentAddress reports whether s is the address of published content: a version 0 CID
// of IPFS, which is the base58 form of a SHA-256.
func contentAddress(s string) bool {
	return len(s) == 46 && strings.HasPrefix(s, "Qm") &&
		!strings.ContainsAny(s, "0OIl-_+/=")
}

// spelled reports whether s is composed of words, such as
// com.example.ApplicationFactory2: it has long runs of letters of one kind.
func spelled(s string) bool {
	runs := 1
	last := byte(0)
	for i := range len(s) {
		kind := class(s[i])
		if i > 0 && kind != last && (last != 'A' || kind != 'a') {
			runs++
		}
		last = kind
	}
	return len(s) >= 4*runs
}

// class returns 'a' for lower-case letters, 'A' for capitals, '0' for digits, and '-' for
// other bytes.
func class(c byte) byte {
	switch {
	case 'a' <= c && c <= 'z':
		return 'a'
	case 'A' <= c && c <= 'Z':
		return 'A'
	case '0' <= c && c <= '9':
		return '0'
	}
	return '-'
}

// The sets of bytes that whole texts are searched for.
const (
	alphanumeric = 1 << iota
	base64Byte   // of both alphabets, without padding
	tokenByte    // in tokenLetters
	quoteByte    // around a name, perhaps escaped
)

// classes contains the sets of each byte. One look-up decides, as most of the time of a search is
// spent here.
var classes = func() (sets [256]byte) {
	for c := range 256 {
		if class(byte(c)) != '-' {
			sets[c] = alphanumeric | base64Byte | tokenByte
		}
	}
	for members, set := range map[string]byte{"+/-_": base64Byte, "_-.": tokenByte, "\"'`\\": quoteByte} {
		for i := range len(members) {
			sets[members[i]] |= set
		}
	}
	return sets
}()

// entropy returns the Shannon entropy in bits per byte.
func entropy(s string) float64 {
	var counts [256]int
	for i := range len(s) {
		counts[s[i]]++
	}
	bits := 0.0
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(s))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}
