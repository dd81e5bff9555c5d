package freeze

import (
	"encoding/json"
	"slices"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// clean returns a result without the members that belong to the transfer rather than the
// answer: those that 2026-07-28 adds to every result, the server information, and isError
// if false. The rest stays byte for byte.
func clean(result any) (json.RawMessage, error) {
	doc, err := mcp.Marshal(result)
	if err != nil {
		return nil, err
	}
	raw, err := mcp.ParseRaw(doc)
	if err != nil {
		return nil, err
	}
	return mapObject(raw.Bytes(), func(name string, value []byte) []byte {
		switch {
		case name == "resultType", name == "ttlMs", name == "cacheScope", name == "isError" &&
			string(value) == "false":
			return nil
		case name == "_meta":
			kept := omit(value, "io.modelcontextprotocol/serverInfo")
			if len(kept) == len(`{}`) && len(value) > len(`{}`) {
				return nil
			}
			return kept
		}
		return value
	}), nil
}

// omit returns the compact object doc without a member.
func omit(doc []byte, member string) []byte {
	return mapObject(doc, func(name string, value []byte) []byte {
		if name == member {
			return nil
		}
		return value
	})
}

// mapObject returns the compact object doc with its values replaced by change; a nil value
// drops the member. A document that is not an object is returned as is.
func mapObject(doc []byte, change func(name string, value []byte) []byte) []byte {
	out := []byte{'{'}
	_, err := jsonscan.Object(doc, 0, 0, func(key []byte, i int) (int, error) {
		end, err := jsonscan.Value(doc, i)
		if err != nil {
			return end, err
		}
		if value := change(string(key), doc[i:end]); value != nil {
			out = append(jsonscan.AppendQuote(separated(out), string(key)), ':')
			out = append(out, value...)
		}
		return end, nil
	})
	if err != nil {
		return doc
	}
	return append(out, '}')
}

// separated appends a comma unless out has just been opened.
func separated(out []byte) []byte {
	if len(out) > 1 {
		out = append(out, ',')
	}
	return out
}

// skippedTexts are the members whose texts are identifiers.
var skippedTexts = []string{"type", "uri", "mimeType", "role"}

// replaceTexts applies the replacements to the texts in doc.
func replaceTexts(doc json.RawMessage, list []Replacement) json.RawMessage {
	if len(list) == 0 {
		return doc
	}
	return mapTexts(doc, skippedTexts, func(text string) string {
		for _, r := range list {
			text = r.Pattern.ReplaceAllString(text, r.With)
		}
		return text
	})
}

// mapTexts returns the compact value doc with change applied to all its decoded texts,
// except the names of members, and the values of those in skip.
func mapTexts(doc []byte, skip []string, change func(string) string) []byte {
	switch doc[0] {
	case '"':
		text, _ := jsonscan.Unquote(doc)
		if changed := change(text); changed != text {
			return jsonscan.AppendQuote(nil, changed)
		}
	case '{':
		return mapObject(doc, func(name string, value []byte) []byte {
			if slices.Contains(skip, name) {
				return value
			}
			return mapTexts(value, skip, change)
		})
	case '[':
		out := []byte{'['}
		_, err := jsonscan.Array(doc, 0, 0, func(i int) (int, error) {
			i = jsonscan.Space(doc, i)
			end, err := jsonscan.Value(doc, i)
			if err == nil {
				out = append(separated(out), mapTexts(doc[i:end], skip, change)...)
			}
			return end, err
		})
		if err == nil {
			return append(out, ']')
		}
	}
	return doc
}
