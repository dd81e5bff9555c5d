package lock

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/slipway-mcp/slipway/check"
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

// line adds a line without trailing white space.
func (r *reader) line(indent, label, text string) {
	r.lines = append(r.lines, strings.TrimRight(indent+label+text, " "))
}

// value writes a JSON value as indented lines, one per member, so that a difference in one
// member is a difference in one line.
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

// sortedKeys returns the keys of an object in order, which JSON does not define.
func sortedKeys(m map[string]any) []string {
	return slices.Sorted(maps.Keys(m))
}

// WriteDiff writes each drift for people: a heading with source and item, and below it a
// unified diff of the definition. The error is that of w.
func WriteDiff(w io.Writer, drifts []Drift) error {
	for _, d := range drifts {
		if _, err := fmt.Fprintf(w, "%s: %s\n", visible.Line(d.Source), d); err != nil {
			return err
		}
		if d.Item.Kind == Version || d.Item.Kind == Whole {
			continue
		}
		was := d.Was.lines()
		is := d.Is.lines()
		// The difference is not visible in the lines, such as a trailing space.
		if bytes.Equal(was, is) {
			was = d.Was.indented()
			is = d.Is.indented()
		}
		// Without "diff locked now".
		_, text, _ := bytes.Cut(diff.Diff("locked", was, "now", is), []byte("\n"))
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	return nil
}

// lines returns the readable form of a pin, which may be nil.
func (p *Pin) lines() []byte {
	if p == nil {
		return nil
	}
	lines := Readable(p.Definition)
	if p.Definition == nil {
		lines = []string{p.Digest}
		if p.Bytes > 0 {
			lines = append(lines, fmt.Sprintf("%d bytes", p.Bytes))
		}
	}
	return []byte(strings.Join(lines, "\n") + "\n")
}

// indented returns the definition of a pin, which may be nil, as indented JSON.
func (p *Pin) indented() []byte {
	var out bytes.Buffer
	if p == nil || json.Indent(&out, p.Definition, "", "  ") != nil {
		return nil
	}
	return []byte(visible.Lines(out.String()) + "\n")
}

// Summary returns how many items of each kind are locked, in words.
func (e *Entry) Summary() string {
	counts := make(map[Kind]int)
	for item := range e.Items {
		counts[item.Kind]++
	}
	var words []string
	for _, k := range []struct {
		kind Kind
		word string
	}{
		{Tools, "tool"},
		{Prompts, "prompt"},
		{Resources, "resource"},
		{Templates, "template"},
		{UI, "user interface"},
	} {
		if n := counts[k.kind]; n > 0 {
			words = append(words, check.Count(n, k.word))
		}
	}
	if counts[Instructions] > 0 {
		words = append(words, "instructions")
	}
	return cmp.Or(strings.Join(words, ", "), "nothing")
}
