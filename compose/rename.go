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

// spelling is how the name of an item is shown. A later one takes a name from an earlier one.
type spelling int

const (
	spelledPlain    spelling = iota // its own name
	spelledPrefixed                 // after the name of its part
	spelledHashed                   // prefixed, with a hash of part and name as suffix
)

// spell returns the visible name of an item.
func (u *union) spell(o ownName, as spelling) string {
	switch as {
	case spelledPlain:
		return short(o.name)
	case spelledPrefixed:
		return prefixed(u.parts[o.part].Name, o.name)
	}
	part := u.parts[o.part].Name
	return hashedName(prefixed(part, o.name), part+"\x00"+o.name)
}

// visibleNames returns the visible names of the items of all parts, given their own. Unless names must
// not be prefixed, they are distinct, up to the hash of 32 bits: a part cannot take a name from another,
// whatever names it chooses. They do not depend on the order of the parts.
func (u *union) visibleNames(parts [][]string) map[ownName]string {
	visible := make(map[ownName]string)
	users := make(map[string]int) // distinct parts by name
	var waiting []ownName
	for i, names := range parts {
		for _, name := range names {
			o := ownName{i, name}
			if _, seen := visible[o]; !seen {
				visible[o] = name
				users[name]++
				waiting = append(waiting, o)
			}
		}
	}
	if u.opts.Prefix == PrefixNever {
		return visible
	}
	as := make(map[ownName]spelling, len(waiting))
	for _, o := range waiting {
		if u.opts.Prefix == PrefixAlways || users[o.name] > 1 {
			as[o] = spelledPrefixed
		}
	}
	holders := make(map[string]ownName, len(waiting)) // by visible name
	disputed := make(map[string]bool)                 // names that several items would have with the same spelling
	for len(waiting) > 0 {
		o := waiting[len(waiting)-1]
		waiting = waiting[:len(waiting)-1]
		name := u.spell(o, as[o])
		other, taken := holders[name]
		switch {
		case as[o] < spelledHashed && (disputed[name] || taken && as[o] < as[other]):
			as[o]++
			waiting = append(waiting, o)
			continue
		case taken && as[o] == as[other] && as[o] < spelledHashed:
			disputed[name] = true
			delete(holders, name)
			as[o]++
			as[other]++
			waiting = append(waiting, o, other)
			continue
		case taken && as[other] < as[o]:
			as[other]++
			waiting = append(waiting, other)
		}
		holders[name] = o
		visible[o] = name
	}
	return visible
}

// short returns a name that is short enough for every client. A longer name is cut and
// gets a hash of the full name as its suffix, so that it is stable between runs and stays
// distinct from similar names.
func short(whole string) string {
	if len(whole) <= maxName {
		return whole
	}
	return hashedName(whole, whole)
}

// hashedName returns a name that ends with a hash of the text that tells it from similar names.
func hashedName(name, text string) string {
	sum := sha256.Sum256([]byte(text))
	tail := "_" + hex.EncodeToString(sum[:4])
	return strings.ToValidUTF8(name[:min(len(name), maxName-len(tail))], "") + tail
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
