package schema

import (
	"net/mail"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// Format is a value of the format keyword. Validate does not assert formats; callers that
// want to check them do so themselves.
type Format struct {
	// Text describes the format within a sentence, such as "an email address".
	Text string
	// Accepts reports whether a text has the format; nil if there is no check.
	Accepts func(string) bool
}

// Formats returns the formats of JSON Schema 2020-12 and OpenAPI by name. The map is shared
// and read-only.
func Formats() map[string]Format { return formats }

var (
	formatURI       = Format{"an absolute URI", isURI}
	formatReference = Format{"a URI reference", isReference}
	formatEmail     = Format{"an email address", isEmail}
)

// formats are the formats that schemas name, each with its description in messages. One
// without a function is known but not checked. JSON Schema 2020-12 lists most of them in
// section 7.3 of its validation part; byte, binary and password come from OpenAPI.
var formats = map[string]Format{
	"date-time":             {`a date and time such as "2026-07-28T12:00:00Z"`, layout(time.RFC3339)},
	"date":                  {`a date such as "2026-07-28"`, layout(time.DateOnly)},
	"time":                  {`a time of day such as "12:00:00Z"`, layout("15:04:05Z07:00")},
	"duration":              {`a duration such as "PT1H30M"`, isDuration},
	"email":                 formatEmail,
	"idn-email":             formatEmail,
	"hostname":              {"a host name", isHostname},
	"ipv4":                  {"an IPv4 address", isIPv4},
	"ipv6":                  {"an IPv6 address", isIPv6},
	"uri":                   formatURI,
	"iri":                   formatURI,
	"uri-reference":         formatReference,
	"iri-reference":         formatReference,
	"json-pointer":          {"a JSON pointer", isPointer},
	"uuid":                  {"a UUID", matches(`^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`)},
	"regex":                 {"a regular expression", isRegexp},
	"idn-hostname":          {"of the format idn-hostname", nil},
	"uri-template":          {"of the format uri-template", nil},
	"relative-json-pointer": {"of the format relative-json-pointer", nil},
	"byte":                  {"of the format byte", nil},
	"binary":                {"of the format binary", nil},
	"password":              {"of the format password", nil},
}

// CheckFormats verifies the members of an object against the formats of their properties in
// an object schema, which [Schema.Validate] does not assert. It returns nil if they match,
// otherwise an [*Error]. Properties below the first level, as of a $ref, are ignored.
func CheckFormats(object, content []byte) error {
	wrong := &Error{}
	for _, property := range jsonscan.Members(jsonscan.Member(object, "properties")) {
		name, _ := jsonscan.Unquote(jsonscan.Member(property.Value, "format"))
		text, isText := jsonscan.Unquote(jsonscan.Member(content, property.Name))
		format := formats[name]
		if format.Accepts != nil && isText && !format.Accepts(text) {
			wrong.Problems = append(wrong.Problems, Problem{
				Path:    property.Name,
				Pointer: "/" + jsonscan.EscapeToken(property.Name),
				Message: "must be " + format.Text,
			})
		}
	}
	if len(wrong.Problems) == 0 {
		return nil
	}
	return wrong
}

// matches returns a check for a pattern, which is compiled when it is first used.
func matches(pattern string) func(string) bool {
	compiled := sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(pattern)
	})
	return func(s string) bool { return compiled().MatchString(s) }
}

// layout returns a check for times in a layout of the package time.
func layout(layout string) func(string) bool {
	return func(s string) bool {
		_, err := time.Parse(layout, s)
		return err == nil
	}
}

// matchesDuration matches the durations of RFC 3339, appendix A, and also texts without a unit
// after P or T, which isDuration rejects.
var matchesDuration = matches(`^P(\d+W|(\d+Y)?(\d+M)?(\d+D)?(T(\d+H)?(\d+M)?(\d+S)?)?)$`)

// isDuration implements RFC 3339, appendix A: P1W, P3Y6M4DT12H30M5S and the like.
func isDuration(s string) bool {
	return matchesDuration(s) &&
		!strings.HasSuffix(s, "P") &&
		!strings.HasSuffix(s, "T")
}

// isEmail reports whether s is an address without a display name or angle brackets.
func isEmail(s string) bool {
	a, err := mail.ParseAddress(s)
	return err == nil && a.Name == "" && a.Address == s
}

// hostLabel is one label of a host name: at most 63 characters, no hyphen at either end (RFC
// 1123, section 2.1).
const hostLabel = `[0-9A-Za-z]([0-9A-Za-z-]{0,61}[0-9A-Za-z])?`

var matchesLabels = matches(`^` + hostLabel + `(\.` + hostLabel + `)*$`)

// isHostname limits a name to 253 characters, the most that fit into the 255 octets of a DNS
// name (RFC 1035, section 2.3.4).
func isHostname(s string) bool { return len(s) <= 253 && matchesLabels(s) }

func isIPv4(s string) bool {
	a, err := netip.ParseAddr(s)
	return err == nil && a.Is4()
}

// isIPv6 rejects an address with a zone, which has a meaning on one machine only.
func isIPv6(s string) bool {
	a, err := netip.ParseAddr(s)
	return err == nil && a.Is6() && a.Zone() == ""
}

// isURI reports whether s has a scheme. It also rejects the characters that RFC 3986 does not
// allow anywhere but [url.Parse] accepts.
func isURI(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.IsAbs() && !strings.ContainsAny(s, " <>\"{}|\\^`")
}

// isReference is isURI for relative references too.
func isReference(s string) bool {
	_, err := url.Parse(s)
	return err == nil && !strings.ContainsAny(s, " <>\"{}|\\^`")
}

// isPointer reports whether s is a JSON Pointer (RFC 6901): each "~" begins "~0" or "~1".
func isPointer(s string) bool {
	if s != "" && s[0] != '/' || !utf8.ValidString(s) {
		return false
	}
	rest := strings.NewReplacer("~0", "", "~1", "").Replace(s)
	return !strings.Contains(rest, "~")
}

// isRegexp accepts what Go accepts, which lacks the lookaround of ECMAScript.
func isRegexp(s string) bool {
	_, err := regexp.Compile(s)
	return err == nil
}
