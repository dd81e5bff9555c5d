package lock

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/visible"
)

// Readable formats a definition as lines for people: members in order, multi-line text as
// separate lines, invisible characters as escapes.
func Readable(definition json.RawMessage) []string {
	var v any
	if definition == nil || json.Unmarshal(definition, &v) != nil {
		return nil
	}
	r := &reader{}
	r.value("", "", v)
	return r.lines
}

// reader formats values in the style of YAML.
type reader struct{ lines []string }

func (r *reader) line(indent, label, text string) {
	r.lines = append(r.lines, strings.TrimRight(indent+label+text, " "))
}

func (r *reader) value(indent, label string, v any) {
	switch v := v.(type) {
	case map[string]any:
		if label != "" || len(v) == 0 {
			r.line(indent, label, map[bool]string{true: "{}"}[len(v) == 0])
			indent += "  "
		}
		for _, key := range sortedKeys(v) {
			r.value(indent, visible.Line(key)+": ", v[key])
		}
	case []any:
		r.line(indent, label, map[bool]string{true: "[]"}[len(v) == 0])
		for _, item := range v {
			r.value(indent+"  ", "- ", item)
		}
	case string:
		r.text(indent, label, v)
	default:
		text, _ := json.Marshal(v) // a number, true, false or null
		r.line(indent, label, string(text))
	}
}

// text writes a string, as an indented block if it has several lines.
func (r *reader) text(indent, label, text string) {
	if !strings.Contains(text, "\n") {
		r.line(indent, label, visible.Lines(text))
		return
	}
	r.line(indent, label, "|")
	for line := range strings.SplitSeq(text, "\n") {
		r.line(indent+"  ", "", visible.Lines(line))
	}
}

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }
