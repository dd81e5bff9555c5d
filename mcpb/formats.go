package mcpb

import (
	"encoding/hex"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/check"
)

// format checks a string. It returns a rule and the problem, or "" for both. URLs and
// e-mail addresses follow the reference implementation: the parser of the URL standard,
// and zod's expression.
type format func(s string) (rule check.Rule, why string)

// formats returns the formats by the words in the tags of a manifest.
func formats() map[string]format {
	return map[string]format{
		"url": func(s string) (rule check.Rule, why string) {
			if why := urlFault(s); why != "" {
				return ruleURL, strconv.Quote(s) + " is not a URL: " + why
			}
			return rule, ""
		},
		"email":     formatOf(ruleEmail, isEmail, " is not an e-mail address"),
		"size":      formatOf(ruleFormat, isIconSize, " is not WIDTHxHEIGHT, such as 128x128"),
		"theme":     formatOf(ruleFormat, isTheme, " is not a theme, such as light or dark"),
		"resources": formatOf(ruleFormat, hasLocale, " has no "+localeVariable+" in it"),
		"locale":    formatOf(ruleFormat, isLocale, " is not a language tag, such as en-US"),
	}
}

// formatOf returns a format from a function that reports whether a string is valid.
func formatOf(rule check.Rule, valid func(s string) bool, why string) format {
	return func(s string) (check.Rule, string) {
		if valid(s) {
			return rule, ""
		}
		return rule, strconv.Quote(s) + why
	}
}

// isIconSize reports whether s is of the form WIDTHxHEIGHT, such as 128x128.
func isIconSize(s string) bool {
	width, height, _ := strings.Cut(s, "x")
	return digits(width) && digits(height)
}

// isTheme accepts any name: the specification lists light and dark, but leaves others open.
func isTheme(s string) bool { return s != "" }

// hasLocale reports whether a path has the variable for which the language is substituted.
func hasLocale(s string) bool {
	return strings.Contains(strings.ToLower(s), localeVariable)
}

// localeVariable is the placeholder for the language in the path of translations.
const localeVariable = "${locale}"

// isLocale reports whether s has the form of a language tag (BCP 47).
func isLocale(s string) bool {
	for i, part := range strings.Split(s, "-") {
		if len(part) > 8 || len(part) < 1 || i == 0 && len(part) < 2 ||
			!alphanumeric(part) {
			return false
		}
	}
	return true
}

func alphanumeric(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') &&
			(r < 'A' || r > 'Z') &&
			(r < '0' || r > '9')
	})
}

func digits(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r < '0' || r > '9'
	})
}

// isEmail reports whether s is an e-mail address. It compiles its pattern only when
// called, to keep startup fast.
func isEmail(s string) bool {
	if strings.HasPrefix(s, ".") || strings.Contains(s, "..") || !ascii(s) {
		return false
	}
	pattern := regexp.MustCompile(`(?i)^[A-Z0-9_'+\-.]*[A-Z0-9_+-]@([A-Z0-9][A-Z0-9\-]*\.)+[A-Z]{2,}$`)
	return pattern.MatchString(s)
}

func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r >= utf8.RuneSelf
	})
}

// urlFault returns why the parser of the URL standard, without a base, rejects s, or "".
// It is much more tolerant than net/url in some places, and stricter in others.
func urlFault(s string) string {
	s = strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
	s = strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(s)
	scheme, rest, ok := strings.Cut(s, ":")
	if !ok || !isScheme(scheme) {
		return "it does not begin with a scheme such as https:"
	}
	switch strings.ToLower(scheme) {
	case "http", "https", "ws", "wss", "ftp":
		return authorityFault(cutAny(strings.TrimLeft(rest, `/\`), `/\?#`), true)
	case "file":
		return fileFault(rest)
	}
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		return authorityFault(cutAny(after, "/?#"), false)
	}
	return ""
}

// isScheme reports whether s can be the scheme of a URI (RFC 3986, section 3.1).
func isScheme(s string) bool {
	return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*$`).MatchString(s)
}

// cutAny returns s up to the first of the characters.
func cutAny(s, characters string) string {
	if i := strings.IndexAny(s, characters); i >= 0 {
		return s[:i]
	}
	return s
}

// fileFault checks a file URL after its scheme: its host may be empty or a drive.
func fileFault(rest string) string {
	slash := func(i int) bool {
		return len(rest) > i && (rest[i] == '/' || rest[i] == '\\')
	}
	if !slash(0) || !slash(1) {
		return ""
	}
	host := cutAny(rest[2:], `/\?#`)
	if host == "" || regexp.MustCompile(`^[A-Za-z0-9][:|]$`).MatchString(host) { // a drive
		return ""
	}
	return hostFault(host, true)
}

// authorityFault checks user@host:port. special is true for web schemes.
func authorityFault(authority string, special bool) string {
	user := strings.LastIndexByte(authority, '@')
	host := authority[user+1:]
	bracket := strings.LastIndexByte(host, ']') + 1
	name, port, hasPort := strings.Cut(host[bracket:], ":")
	host = host[:bracket] + name
	n, err := strconv.ParseUint(port, 10, 64)
	switch {
	case host == "" && (special || user >= 0 || hasPort):
		return "there is no host"
	case port != "" && !digits(port):
		return "the port is not a number"
	case port != "" && (err != nil || n > 65535):
		return "the port is out of range"
	case host == "":
		return ""
	}
	return hostFault(host, special)
}

// hostFault checks a host: an IPv6 address in brackets, for web schemes a name or an IPv4
// address after percent-decoding, otherwise any text without forbidden characters.
func hostFault(host string, special bool) string {
	if strings.HasPrefix(host, "[") {
		inner, ok := strings.CutSuffix(host[1:], "]")
		addr, err := netip.ParseAddr(inner)
		if !ok || err != nil || !addr.Is6() || addr.Zone() != "" {
			return "the address in brackets is not one of IPv6"
		}
		return ""
	}
	const forbidden = "\x00 #/:<>?@[\\]^|"
	if !special {
		if strings.ContainsAny(host, forbidden) {
			return "the host has invalid characters"
		}
		return ""
	}
	host, ok := percentDecode(host)
	control := func(r rune) bool {
		return r < ' ' || r == 0x7f || r == utf8.RuneError
	}
	if !ok || strings.ContainsAny(host, forbidden+"%") ||
		strings.ContainsFunc(host, control) {
		return "the host has invalid characters"
	}
	return ipv4Fault(strings.NewReplacer("。", ".", "．", ".", "｡", ".").Replace(host))
}

// percentDecode decodes valid percent-encoded bytes and keeps the rest. It reports
// whether the result is UTF-8.
func percentDecode(s string) (string, bool) {
	s = regexp.MustCompile(`%[0-9A-Fa-f]{2}`).ReplaceAllStringFunc(s, func(encoded string) string {
		decoded, _ := hex.DecodeString(encoded[1:])
		return string(decoded)
	})
	return s, utf8.ValidString(s)
}

// ipv4Fault checks a host whose last label is a number: it must be a valid IPv4 address.
func ipv4Fault(host string) string {
	parts := strings.Split(host, ".")
	if len(parts) > 1 && parts[len(parts)-1] == "" {
		parts = parts[:len(parts)-1]
	}
	end := parts[len(parts)-1]
	if _, ok := ipv4Number(end); !ok && !digits(end) {
		return ""
	}
	if len(parts) > 4 {
		return "the address has too many parts"
	}
	for i, part := range parts {
		n, ok := ipv4Number(part)
		limit := uint64(256)
		if i == len(parts)-1 {
			limit = 1 << (8 * (5 - len(parts)))
		}
		if !ok || n >= limit {
			return "the address has a number that is out of range"
		}
	}
	return ""
}

// ipv4Number parses a part of an address: decimal, octal with prefix 0, or hexadecimal
// with prefix 0x.
func ipv4Number(s string) (uint64, bool) {
	base := 10
	switch {
	case len(s) >= 2 && (strings.HasPrefix(s, "0x") || strings.HasPrefix(s, "0X")):
		if s, base = s[2:], 16; s == "" {
			return 0, true
		}
	case len(s) >= 2 && s[0] == '0':
		s = s[1:]
		base = 8
	}
	if !alphanumeric(s) { // no signs or underscores
		return 0, false
	}
	n, err := strconv.ParseUint(s, base, 64)
	return n, err == nil
}
