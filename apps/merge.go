package apps

import (
	"encoding/json"
	"fmt"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// member is a member of an object, with its original bytes.
type member struct {
	// name is the decoded key; value is the text of the member, unchanged.
	name  string
	value json.RawMessage
}

// members returns the members of an object in order. A duplicate is an error, because
// readers disagree about which one counts.
func members(object json.RawMessage, what string) ([]member, error) {
	var all []member
	var seen jsonscan.KeySet
	end, err := jsonscan.Object(object, jsonscan.Space(object, 0), 0, func(key []byte, i int) (int, error) {
		if !seen.Add(key) {
			return i, fmt.Errorf("member %q is given twice", key)
		}
		start := jsonscan.Space(object, i)
		end, err := jsonscan.ValueAt(object, i, 1)
		if err == nil {
			all = append(all, member{string(key), object[start:end]})
		}
		return end, err
	})
	if err == nil {
		err = jsonscan.End(object, end)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not a JSON object: %w", what, err)
	}
	return all, nil
}

// encodeMembers is the inverse of members.
func encodeMembers(all []member) json.RawMessage {
	dst := []byte{'{'}
	for i, m := range all {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(jsonscan.AppendQuote(dst, m.name), ':')
		dst = jsonscan.AppendCompact(dst, m.value)
	}
	return append(dst, '}')
}

// missing appends the members of add that have lacks.
func missing(have, add []member) []member {
	for _, m := range add {
		if find(have, m.name) < 0 {
			have = append(have, m)
		}
	}
	return have
}

func find(all []member, name string) int {
	for i := range all {
		if all[i].name == name {
			return i
		}
	}
	return -1
}

// addUI merges the object ui into meta, under "ui".
func addUI(meta, ui json.RawMessage) (json.RawMessage, error) {
	if meta == nil {
		meta = json.RawMessage(`{}`)
	}
	all, err := members(meta, "_meta")
	if err != nil {
		return nil, err
	}
	at := find(all, "ui")
	if at < 0 {
		return encodeMembers(append(all, member{"ui", ui})), nil
	}
	own, err := members(all[at].value, "ui in _meta")
	if err != nil {
		return nil, err
	}
	add, err := members(ui, "ui")
	if err != nil {
		return nil, err
	}
	all[at].value = encodeMembers(missing(own, add))
	return encodeMembers(all), nil
}

// addMember adds a member to meta unless it exists.
func addMember(meta json.RawMessage, name string, value json.RawMessage) (json.RawMessage, error) {
	all, err := members(meta, "_meta")
	if err != nil {
		return nil, err
	}
	return encodeMembers(missing(all, []member{{name, value}})), nil
}
