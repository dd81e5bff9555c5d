package freeze

import (
	"encoding/json"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// cleaned returns a result without the members that belong to the transfer rather than
// the answer: those that 2026-07-28 adds to every result, the server information, and
// isError if false. The rest stays byte for byte.
func cleaned(result any) (json.RawMessage, error) {
	doc, err := mcp.Marshal(result)
	if err != nil {
		return nil, err
	}
	raw, err := mcp.ParseRaw(doc)
	if err != nil {
		return nil, err
	}
	return filtered(raw.Bytes(), func(name string, value []byte) ([]byte, bool) {
		switch name {
		case "resultType", "ttlMs", "cacheScope":
			return nil, false
		case "isError":
			return value, string(value) != "false"
		case "_meta":
			return cleanMeta(value)
		}
		return value, true
	})
}

// serverInfo is the member of _meta with the server information.
const serverInfo = "io.modelcontextprotocol/serverInfo"

func cleanMeta(meta []byte) ([]byte, bool) {
	if meta[0] != '{' {
		return meta, true
	}
	kept, err := filtered(meta, func(name string, value []byte) ([]byte, bool) { return value, name != serverInfo })
	if err != nil {
		return meta, true
	}
	return kept, len(kept) > len(`{}`) || len(meta) == len(`{}`)
}

// filtered returns the compact object doc with the members for which keep returns true.
func filtered(doc []byte, keep func(name string, value []byte) ([]byte, bool)) ([]byte, error) {
	out := []byte{'{'}
	_, err := jsonscan.Object(doc, 0, 0, func(key []byte, i int) (int, error) {
		end, err := jsonscan.Value(doc, i)
		if err != nil {
			return end, err
		}
		value, ok := keep(string(key), doc[i:end])
		if !ok {
			return end, nil
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(jsonscan.AppendQuote(out, string(key)), ':')
		out = append(out, value...)
		return end, nil
	})
	return append(out, '}'), err
}

// replaced applies the replacements to the decoded texts in doc, which are all strings
// that are values.
func replaced(doc json.RawMessage, list []Replacement) (json.RawMessage, error) {
	if len(list) == 0 {
		return doc, nil
	}
	return rewrite(doc, func(text string) string {
		for _, r := range list {
			text = r.Pattern.ReplaceAllString(text, r.With)
		}
		return text
	})
}

// rewrite returns the compact value doc with change applied to all its texts, except the
// names of members, URIs and types.
func rewrite(doc []byte, change func(string) string) (json.RawMessage, error) {
	switch doc[0] {
	case '"':
		text, _ := jsonscan.Unquote(doc)
		if changed := change(text); changed != text {
			return jsonscan.AppendQuote(nil, changed), nil
		}
		return doc, nil
	case '{':
		out := []byte{'{'}
		_, err := jsonscan.Object(doc, 0, 0, func(key []byte, i int) (int, error) {
			end, err := jsonscan.Value(doc, i)
			if err != nil {
				return end, err
			}
			value := json.RawMessage(doc[i:end])
			if name := string(key); name != "type" && name != "uri" && name != "mimeType" && name != "role" {
				if value, err = rewrite(value, change); err != nil {
					return end, err
				}
			}
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(jsonscan.AppendQuote(out, string(key)), ':')
			out = append(out, value...)
			return end, nil
		})
		return append(out, '}'), err
	case '[':
		out := []byte{'['}
		_, err := jsonscan.Array(doc, 0, 0, func(i int) (int, error) {
			i = jsonscan.Space(doc, i)
			end, err := jsonscan.Value(doc, i)
			if err != nil {
				return end, err
			}
			value, err := rewrite(doc[i:end], change)
			if err != nil {
				return end, err
			}
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(out, value...)
			return end, nil
		})
		return append(out, ']'), err
	}
	return doc, nil
}
