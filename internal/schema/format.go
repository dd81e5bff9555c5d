package schema

import (
	"net/mail"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// Format is a value of the format keyword. Validate does not assert formats; callers that
// want to check them do so themselves.
type Format struct {
	// Text describes the format within a sentence, such as "an email address".
	Text string
	// Accepts reports whether a text has the format; nil if there is no check.
	Accepts func(string) bool
}

// Formats returns the formats of JSON Schema 2020-12 and OpenAPI by name.
func Formats() map[string]Format {
	uri := Format{"an absolute URI", isURI}
	reference := Format{"a URI reference", isReference}
	email := Format{"an email address", isEmail}
	all := map[string]Format{
		"date-time": {`a date and time such as "2026-07-28T12:00:00Z"`, layout(time.RFC3339)},
		"date":      {`a date such as "2026-07-28"`, layout(time.DateOnly)},
		"time":      {`a time of day such as "12:00:00Z"`, isTime},
		"duration":  {`a duration such as "PT1H30M"`, isDuration},
		"email":     email, "idn-email": email,
		"hostname": {"a host name", isHostname},
		"ipv4":     {"an IPv4 address", isIPv4}, "ipv6": {"an IPv6 address", isIPv6},
		"uri": uri, "iri": uri, "uri-reference": reference, "iri-reference": reference,
		"json-pointer": {"a JSON pointer", isPointer},
		"uuid":         {"a UUID", isUUID}, "regex": {"a regular expression", isRegexp},
	}
	for _, name := range []string{"idn-hostname", "uri-template", "relative-json-pointer", "byte", "binary", "password"} {
		all[name] = Format{Text: "of the format " + name}
	}
	return all
}

func layout(layout string) func(string) bool {
	return func(s string) bool {
		_, err := time.Parse(layout, s)
		return err == nil
	}
}

func isTime(s string) bool {
	_, err := time.Parse("15:04:05Z07:00", s)
	return err == nil
}

// isDuration implements RFC 3339, appendix A: P1W, P3Y6M4DT12H30M5S and the like.
func isDuration(s string) bool {
	s, ok := strings.CutPrefix(s, "P")
	if !ok {
		return false
	}
	if weeks, found := strings.CutSuffix(s, "W"); found {
		return isDigits(weeks)
	}
	date, clock, hasClock := strings.Cut(s, "T")
	if hasClock && clock == "" || date == "" && !hasClock {
		return false
	}
	return units(date, "YMD") && units(clock, "HMS")
}

// units reports whether s is a sequence of numbers, each followed by one of letters, in
// that order.
func units(s, letters string) bool {
	for s != "" {
		i := strings.IndexAny(s, letters)
		if i < 0 || !isDigits(s[:i]) {
			return false
		}
		letters = letters[strings.IndexByte(letters, s[i])+1:]
		s = s[i+1:]
		if letters == "" && s != "" {
			return false
		}
	}
	return true
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

func isEmail(s string) bool {
	a, err := mail.ParseAddress(s)
	return err == nil && a.Name == "" && a.Address == s
}

func isHostname(s string) bool {
	if len(s) > 253 || s == "" {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, c := range []byte(label) {
			if c != '-' && !('0' <= c && c <= '9') && !('a' <= c|0x20 && c|0x20 <= 'z') {
				return false
			}
		}
	}
	return true
}

func isIPv4(s string) bool {
	a, err := netip.ParseAddr(s)
	return err == nil && a.Is4()
}

func isIPv6(s string) bool {
	a, err := netip.ParseAddr(s)
	return err == nil && a.Is6() && a.Zone() == ""
}

func isURI(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.IsAbs() && !strings.ContainsAny(s, " <>\"{}|\\^`")
}

func isReference(s string) bool {
	_, err := url.Parse(s)
	return err == nil && !strings.ContainsAny(s, " <>\"{}|\\^`")
}

func isPointer(s string) bool {
	if s != "" && s[0] != '/' || !utf8.ValidString(s) {
		return false
	}
	rest := strings.NewReplacer("~0", "", "~1", "").Replace(s)
	return !strings.Contains(rest, "~")
}

func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i, c := range []byte(s) {
		switch {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return false
			}
		case !('0' <= c && c <= '9') && !('a' <= c|0x20 && c|0x20 <= 'f'):
			return false
		}
	}
	return true
}

func isRegexp(s string) bool {
	_, err := regexp.Compile(s)
	return err == nil
}
