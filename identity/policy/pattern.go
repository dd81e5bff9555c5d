package policy

import (
	"bytes"
	"encoding/json"

	"github.com/cedar-policy/cedar-go/types"
)

// pattern is a pattern of like: the texts between its wildcards. Cedar's own matches strings, into
// which each argument would have to be copied.
type pattern [][]byte

// patternOf returns the form of a pattern for bytes, and reports whether it has one.
func patternOf(p types.Pattern) (pattern, bool) {
	text, err := p.MarshalJSON()
	if err != nil {
		return nil, false
	}
	var parts []any // "Wildcard" or {"Literal": text}
	if err := json.Unmarshal(text, &parts); err != nil {
		return nil, false
	}
	texts := pattern{nil}
	for _, part := range parts {
		if part == "Wildcard" {
			texts = append(texts, nil)
			continue
		}
		literal, ok := part.(map[string]any)["Literal"].(string)
		if !ok {
			return nil, false
		}
		texts[len(texts)-1] = append(texts[len(texts)-1], literal...)
	}
	return texts, true
}

// matches reports whether the whole of s matches.
func (p pattern) matches(s []byte) bool {
	rest, ok := bytes.CutPrefix(s, p[0])
	if !ok || len(p) == 1 {
		return ok && len(rest) == 0
	}
	last := len(p) - 1
	for _, text := range p[1:last] {
		_, rest, ok = bytes.Cut(rest, text)
		if !ok {
			return false
		}
	}
	return bytes.HasSuffix(rest, p[last])
}

// contains reports whether s is one of the texts.
func (p pattern) contains(s []byte) bool {
	for _, text := range p {
		if string(text) == string(s) {
			return true
		}
	}
	return false
}
