package compose

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
)

// maxName is the longest tool name that every known client accepts. The specification
// allows longer names; some model providers do not.
const maxName = 64

// prefixed returns a name prefixed with its source, for names that collide.
func prefixed(source, name string) string {
	return short(strings.Map(nameRune, source) + "_" + name)
}

// short returns a name that is short enough for every client. A longer name is cut and
// gets a hash of the full name as its suffix, so that it is stable between runs and stays
// distinct from similar names.
func short(whole string) string {
	if len(whole) <= maxName {
		return whole
	}
	sum := sha256.Sum256([]byte(whole))
	tail := "_" + hex.EncodeToString(sum[:4])
	return strings.ToValidUTF8(whole[:maxName-len(tail)], "") + tail
}

// nameRune replaces characters that some clients reject in tool names.
func nameRune(r rune) rune {
	switch {
	case 'a' <= r &&
		r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
		return r
	}
	return '_'
}

// renamed returns the definition raw with its name replaced. All other bytes stay the
// same. It returns nil if raw is nil.
func renamed(raw json.RawMessage, from, to string) json.RawMessage {
	return withText(raw, "name", from, to)
}

// withText does for any text member what renamed does for the name.
func withText(raw json.RawMessage, member, from, to string) json.RawMessage {
	if from == to {
		return raw
	}
	return withMembers(raw, []memberEdit{{member, to}})
}
