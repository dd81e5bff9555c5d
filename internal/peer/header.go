package peer

import (
	"encoding/base64"
	"strings"
)

// HeaderValue returns s in the form of an HTTP header value of 2026-07-28: text that a
// header cannot contain as it is becomes base64.
func HeaderValue(s string) string {
	plain := s == strings.TrimSpace(s) && !strings.HasPrefix(s, "=?base64?")
	if plain && !strings.ContainsFunc(s, func(r rune) bool {
		return r < ' ' || r > '~'
	}) {
		return s
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
}
