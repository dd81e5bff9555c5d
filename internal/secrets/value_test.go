package secrets

import (
	"strings"
	"testing"
)

// The table of bytes agrees with the alphabets that it stands for.
func TestClasses(t *testing.T) {
	const alphanumerics = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	for c := range 256 {
		for _, set := range []struct {
			name    string
			got     bool
			members string
		}{
			{"alphanumeric", isAlphanumeric(byte(c)), alphanumerics},
			{"base64", isBase64(byte(c)), alphanumerics + "+/-_"},
			{"token", isTokenByte(byte(c)), tokenLetters},
			{"quote", classes[c]&quoteByte != 0, "\"'`\\"},
		} {
			if want := strings.IndexByte(set.members, byte(c)) >= 0; set.got != want {
				t.Errorf("%q: %s = %v, want %v", byte(c), set.name, set.got, want)
			}
		}
	}
}
