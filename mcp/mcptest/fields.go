package mcptest

import (
	"encoding/json"
	"strings"

	"github.com/slipway-mcp/slipway/internal/schema"
)

// checkFields: icons, _meta keys and headers follow their rules. A client omits a tool or
// an icon that does not.
func checkFields(s *suite) {
	cat := s.catalog()
	s.checkShown("the server", cat.Server)
	for _, e := range entriesOf(cat) {
		s.checkShown(e.what, e.value)
	}
	for _, t := range cat.Tools {
		s.checkHeaders("tool "+short(t.Name), s.schemas(t).InputSchema)
	}
}

// checkShown checks the icons of an entry and the keys of its _meta.
func (s *suite) checkShown(what string, entry any) {
	s.Helper()
	var wire struct {
		Icons []struct {
			Src string `json:"src"`
		} `json:"icons"`
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	s.decode(what, entry, &wire)
	for _, icon := range wire.Icons {
		if !strings.HasPrefix(icon.Src, "https://") && !strings.HasPrefix(icon.Src, "data:") {
			s.Errorf("%s: the icon %s is neither https nor a data URI", what, short(icon.Src))
		}
	}
	for key := range wire.Meta {
		if !validMetaKey(key) {
			s.Errorf("%s: _meta has the key %s, want [LABEL.LABEL.../]NAME", what, short(key))
		}
	}
}

// validMetaKey reports whether key is a name, optionally prefixed with labels and a
// slash.
func validMetaKey(key string) bool {
	prefix, name, found := strings.Cut(key, "/")
	if !found {
		prefix, name = "", key
	}
	if name != "" && !validLabel(name, "-_.", isAlphanumeric) {
		return false
	}
	if !found {
		return name != ""
	}
	for label := range strings.SplitSeq(prefix, ".") {
		if !validLabel(label, "-", isLetter) {
			return false
		}
	}
	return true
}

// validLabel reports whether the first character of text satisfies begins, the last is a
// letter or digit, and the others are letters, digits or in inner.
func validLabel(text, inner string, begins func(byte) bool) bool {
	if text == "" || !begins(text[0]) || !isAlphanumeric(text[len(text)-1]) {
		return false
	}
	for i := range len(text) {
		if !isAlphanumeric(text[i]) && strings.IndexByte(inner, text[i]) < 0 {
			return false
		}
	}
	return true
}

func isLetter(c byte) bool       { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
func isAlphanumeric(c byte) bool { return isLetter(c) || '0' <= c && c <= '9' }

// checkHeaders checks the arguments that clients repeat in a header.
func (s *suite) checkHeaders(what string, schema json.RawMessage) {
	s.Helper()
	seen := make(map[string]bool)
	var walk func(raw json.RawMessage, reachable bool)
	walk = func(raw json.RawMessage, reachable bool) {
		var node map[string]json.RawMessage
		if json.Unmarshal(raw, &node) != nil {
			var items []json.RawMessage
			if json.Unmarshal(raw, &items) == nil {
				for _, item := range items {
					walk(item, false)
				}
			}
			return
		}
		s.checkHeader(what, node, reachable, seen)
		for keyword, value := range node {
			var properties map[string]json.RawMessage
			switch {
			case holdsData[keyword]:
			case holdsSchemas[keyword] && json.Unmarshal(value, &properties) == nil:
				for _, property := range properties {
					walk(property, reachable && keyword == "properties")
				}
			default:
				walk(value, false)
			}
		}
	}
	walk(schema, true)
}

// Keywords whose values are not schemas, and those whose members are.
var (
	holdsData    = map[string]bool{"const": true, "default": true, "enum": true, "examples": true}
	holdsSchemas = map[string]bool{
		"properties": true, "patternProperties": true, "$defs": true, "definitions": true, "dependentSchemas": true,
	}
)

func (s *suite) checkHeader(what string, node map[string]json.RawMessage, reachable bool, seen map[string]bool) {
	s.Helper()
	raw, ok := node["x-mcp-header"]
	if !ok {
		return
	}
	var name, kind string
	_ = json.Unmarshal(raw, &name)
	_ = json.Unmarshal(node["type"], &kind)
	folded := strings.ToLower(name)
	switch {
	case !schema.IsToken(name):
		s.Errorf("%s: x-mcp-header is %s, want the name of a header", what, short(string(raw)))
	case seen[folded]:
		s.Errorf("%s: x-mcp-header %s is there twice", what, short(name))
	case kind != "string" && kind != "integer" && kind != "boolean":
		s.Errorf("%s: x-mcp-header %s annotates a %s, want a string, an integer or a boolean", what, short(name), short(kind))
	case !reachable:
		s.Errorf("%s: x-mcp-header %s cannot be reached through properties alone", what, short(name))
	}
	seen[folded] = true
}
