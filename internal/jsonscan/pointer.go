package jsonscan

import "strings"

var (
	tokenEscaper   = strings.NewReplacer("~", "~0", "/", "~1")
	tokenUnescaper = strings.NewReplacer("~1", "/", "~0", "~")
)

// EscapeToken escapes a member name for use as a reference token of a JSON pointer (RFC
// 6901, section 3).
func EscapeToken(name string) string {
	if !strings.ContainsAny(name, "~/") {
		return name
	}
	return tokenEscaper.Replace(name)
}

// UnescapeToken returns the member name that a reference token of a JSON pointer stands
// for (RFC 6901, section 4).
func UnescapeToken(token string) string {
	if strings.IndexByte(token, '~') < 0 {
		return token
	}
	return tokenUnescaper.Replace(token)
}
