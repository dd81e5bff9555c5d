package mcp

import (
	"bytes"
	"encoding/json"
)

// Marshal is json.Marshal without HTML escapes: "<" stays "<". Use it for all parts of
// messages. It fails for the same values as json.Marshal, such as channels and NaN.
func Marshal(v any) (json.RawMessage, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}
