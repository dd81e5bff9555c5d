// Package base64url decodes canonical base64url without padding (RFC 7515, section 2),
// for sealed or signed data. Other encodings of the same bytes would be different texts
// for code that stores or compares them.
package base64url

import (
	"encoding/base64"
	"errors"
	"strings"
)

// errLineBreak reports line breaks, which [base64.Encoding] would skip.
var errLineBreak = errors.New("base64url: line break")

// Decode returns the bytes that text encodes. Padding, line breaks and nonzero trailing
// bits are errors.
func Decode(text string) ([]byte, error) {
	if strings.ContainsAny(text, "\r\n") {
		return nil, errLineBreak
	}
	return base64.RawURLEncoding.Strict().DecodeString(text)
}
