package compose

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
)

// maxName is the length that every known client accepts for the name of a tool;
// the specification allows more, some model providers do not.
const maxName = 64

// prefixed returns the name under which a source's own name is shown when it
// collides.
func prefixed(source, name string) string {
	return short(strings.Map(nameRune, source) + "_" + name)
}

// short returns a name that every client accepts by its length. Too long a one is
// cut and ends with a hash of the whole, so that it stays the same from run to run
// and distinct from its neighbours.
func short(whole string) string {
	if len(whole) <= maxName {
		return whole
	}
	sum := sha256.Sum256([]byte(whole))
	tail := "_" + hex.EncodeToString(sum[:4])
	return strings.ToValidUTF8(whole[:maxName-len(tail)], "") + tail
}

// nameRune keeps what every client accepts in the name of a tool.
func nameRune(r rune) rune {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
		return r
	}
	return '_'
}

// renamed returns the definition raw, or nil if it is nil, with the name to. Not
// a byte besides the name is changed.
func renamed(raw json.RawMessage, from, to string) json.RawMessage {
	return withText(raw, "name", from, to)
}

// withText does for any member with a text what renamed does for the name.
func withText(raw json.RawMessage, member, from, to string) json.RawMessage {
	if from == to {
		return raw
	}
	return withMembers(raw, []memberEdit{{member, to}})
}
