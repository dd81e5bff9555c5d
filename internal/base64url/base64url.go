// Package base64url decodes base64url without padding (RFC 7515, section 2) in its one
// canonical form, for what is sealed or signed: other forms of the same bytes would be
// other texts for whatever remembers or compares them.
package base64url

import (
	"encoding/base64"
	"errors"
	"strings"
)

// errLineBreak is for what [base64.Encoding] skips.
var errLineBreak = errors.New("base64url: line break")

// Decode returns the bytes that text encodes. Padding, line breaks and trailing bits that
// count for nothing are errors.
func Decode(text string) ([]byte, error) {
	if strings.ContainsAny(text, "\r\n") {
		return nil, errLineBreak
	}
	return base64.RawURLEncoding.Strict().DecodeString(text)
}
