package serve

import (
	"regexp"
	"testing"
)

// TestTokenSyntax compares each byte with b64token of RFC 6750, section 2.1.
func TestTokenSyntax(t *testing.T) {
	syntax := regexp.MustCompile(`(?s)\A[A-Za-z0-9\-._~+/]+=*\z`)
	for c := range 256 {
		one := string([]byte{byte(c)})
		for _, token := range []string{one, "a" + one + "b", "ab" + one} {
			if got, want := isToken(token), syntax.MatchString(token); got != want {
				t.Errorf("isToken(%q) = %t, want %t", token, got, want)
			}
		}
	}
}
