package mcptest

import (
	"encoding/json"
	"strings"

	"github.com/slipway-mcp/slipway/internal/lazyregexp"
	"github.com/slipway-mcp/slipway/mcp"
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
		if _, err := mcp.HeaderParams(s.schemas(t).InputSchema); err != nil {
			s.Errorf("tool %s: %v", short(t.Name), err)
		}
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
		if key == "" || !metaKey().MatchString(key) {
			s.Errorf("%s: _meta has the key %s, want [LABEL.LABEL.../]NAME", what, short(key))
		}
	}
}

// metaKey matches the keys of _meta: a name, which may be empty after a prefix. A prefix
// consists of labels with dots between them. Both begin and end with a letter or digit,
// labels with a letter.
var metaKey = lazyregexp.New(
	`^([a-zA-Z]([a-zA-Z0-9-]*[a-zA-Z0-9])?(\.[a-zA-Z]([a-zA-Z0-9-]*[a-zA-Z0-9])?)*/` +
		`)?([a-zA-Z0-9]([a-zA-Z0-9_.-]*[a-zA-Z0-9])?)?$`)
