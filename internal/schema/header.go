package schema

import "strings"

const tokenLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~"

// IsToken reports whether s is a token (RFC 9110, section 5.6.2), as the value of the
// annotation x-mcp-header must be.
func IsToken(s string) bool { return s != "" && strings.Trim(s, tokenLetters) == "" }
