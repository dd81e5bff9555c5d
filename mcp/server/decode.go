package server

import (
	"encoding/json"
	"fmt"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// fields maps the member names of an object to their destinations: a *string, a
// *json.RawMessage, a *map[string]string, or nested fields. Unlike encoding/json, it is
// case-sensitive and rejects repeated members, so that all readers of the same bytes
// interpret them in the same way.
type fields map[string]any

// decode decodes the object raw, which is valid JSON. Other members are ignored.
func (f fields) decode(raw []byte) error {
	if !jsonscan.IsObject(raw) {
		return fmt.Errorf("want an object")
	}
	var seen jsonscan.KeySet
	_, err := jsonscan.Object(raw, 0, 0, func(key []byte, i int) (int, error) {
		if !seen.Add(key) {
			return i, fmt.Errorf("duplicate %q", key)
		}
		end, err := jsonscan.Value(raw, i)
		if err != nil {
			return end, err
		}
		if into, ok := f[string(key)]; ok {
			if err := decodeInto(into, raw[i:end]); err != nil {
				return end, fmt.Errorf("%s: %w", key, err)
			}
		}
		return end, nil
	})
	return err
}

// decodeInto decodes one value, in new memory, so that it does not keep the whole
// message.
func decodeInto(into any, raw []byte) error {
	switch into := into.(type) {
	case *string:
		s, ok := jsonscan.Unquote(raw)
		if !ok {
			return fmt.Errorf("want a string")
		}
		*into = s
	case *json.RawMessage:
		*into = append(json.RawMessage(nil), raw...)
	case *map[string]string:
		return decodeStrings(into, raw)
	case fields:
		return into.decode(raw)
	}
	return nil
}

// decodeStrings decodes an object of strings. null leaves the map unchanged.
func decodeStrings(into *map[string]string, raw []byte) error {
	if string(raw) == "null" {
		return nil
	}
	if !jsonscan.IsObject(raw) {
		return fmt.Errorf("want an object of strings")
	}
	m := make(map[string]string)
	_, err := jsonscan.Object(raw, 0, 0, func(key []byte, i int) (int, error) {
		if _, ok := m[string(key)]; ok {
			return i, fmt.Errorf("duplicate %q", key)
		}
		end, err := jsonscan.Value(raw, i)
		if err != nil {
			return end, err
		}
		s, ok := jsonscan.Unquote(raw[i:end])
		if !ok {
			return end, fmt.Errorf("%s: want a string", key)
		}
		m[string(key)] = s
		return end, nil
	})
	*into = m
	return err
}

// decodeParams decodes the params of a method that is not on a hot path.
func (rc *request) decodeParams(f fields) error {
	if rc.msg.params == nil {
		return invalidParams("params are required")
	}
	if err := f.decode(rc.msg.params); err != nil {
		return invalidParams("params: %v", err)
	}
	return nil
}
