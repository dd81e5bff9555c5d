package openapi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/tree"
)

// maxNesting is the depth to which unnamed schemas are written out.
const maxNesting = 6

// describe returns the type of a schema as one line of text.
func (a *api) describe(at place, depth int) string {
	n := at.node
	if ref := refOf(n); ref != "" {
		if s := a.schemaOf(ref, at.file, n); s != nil {
			return s.name
		}
		return "?"
	}
	if depth > maxNesting {
		return "…"
	}
	words := []string{a.typeWords(at, depth)}
	if at.flag("nullable") {
		words[0] += " or null"
	}
	words = append(words, limits(n)...)
	for _, flag := range []struct{ name, words string }{
		{"readOnly", "read only"},
		{"writeOnly", "write only"},
		{"deprecated", "deprecated"},
	} {
		if at.flag(flag.name) {
			words = append(words, flag.words)
		}
	}
	return strings.Join(words, ", ")
}

// typeWords returns the type itself, without constraints.
func (a *api) typeWords(at place, depth int) string {
	n := at.node
	if values := n.Get("enum").Elements(); len(values) > 0 {
		return "one of " + literals(values)
	}
	if value := n.Get("const"); value != nil {
		return "always " + string(value.AppendJSON(nil))
	}
	for _, c := range []struct{ keyword, joint string }{
		{"oneOf", " | "},
		{"anyOf", " | "},
		{"allOf", " & "},
	} {
		if parts := at.list(c.keyword); len(parts) > 0 {
			var words []string
			for _, part := range parts {
				words = append(words, a.describe(part, depth+1))
			}
			return strings.Join(words, c.joint)
		}
	}
	types := n.Get("type").Strings()
	if len(types) == 0 {
		switch {
		case n.Get("properties") != nil, n.Get("additionalProperties") != nil:
			types = []string{"object"}
		case n.Get("items") != nil:
			types = []string{"array"}
		default:
			return "any value"
		}
	}
	for i, t := range types {
		values := at.get("additionalProperties")
		isMap := n.Get("properties") == nil && values.node.Is(tree.Object)
		switch {
		case t == "array" && n.Get("items") != nil:
			types[i] = "array of " + a.describe(at.get("items"), depth+1)
		case t == "object" && isMap:
			types[i] = "object with values: " + a.describe(values, depth+1)
		}
	}
	text := strings.Join(types, " or ")
	if format := at.text("format"); format != "" {
		text += " (" + format + ")"
	}
	return text
}

// literals lists values, truncated if there are many.
func literals(values []*tree.Node) string {
	const most = 40
	var words []string
	for _, v := range values[:min(most, len(values))] {
		words = append(words, string(v.AppendJSON(nil)))
	}
	if more := len(values) - most; more > 0 {
		words = append(words, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(words, ", ")
}

// limits describes the keywords that constrain a type.
func limits(n *tree.Node) []string {
	var words []string
	for _, c := range []struct{ keyword, word string }{
		{"minimum", "at least"},
		{"maximum", "at most"},
		{"exclusiveMinimum", "more than"},
		{"exclusiveMaximum", "less than"},
		{"multipleOf", "a multiple of"},
		{"minLength", "min length"},
		{"maxLength", "max length"},
		{"pattern", "pattern"},
		{"minItems", "min items"},
		{"maxItems", "max items"},
		{"minProperties", "min properties"},
		{"maxProperties", "max properties"},
		{"contentMediaType", "content"},
		{"contentEncoding", "encoded as"},
	} {
		v := n.Get(c.keyword)
		if v.Is(tree.Number) || v.Is(tree.String) {
			words = append(words, c.word+" "+v.Text)
		}
	}
	if n.Get("uniqueItems").True() {
		words = append(words, "all different")
	}
	if v := n.Get("default"); v != nil {
		words = append(words, "default "+short(string(v.AppendJSON(nil))))
	}
	return words
}

// short truncates a text that appears within a line.
func short(s string) string {
	const most = 200
	return clip(s, most)
}

// writeMembers writes the members of a schema as a list: those of an object, of an
// array's items, or of the parts of a combined schema.
func (a *api) writeMembers(b *strings.Builder, at place, indent string, depth int) {
	n := at.node
	if refOf(n) != "" || depth > maxNesting {
		return // named schemas have their own answer; deeper nesting is not shown
	}
	parts := slices.Concat(at.list("allOf"), at.list("oneOf"), at.list("anyOf"))
	if items := at.get("items"); items.node != nil {
		parts = append(parts, items)
	}
	if more := at.get("additionalProperties"); more.node.Is(tree.Object) {
		parts = append(parts, more)
	}
	for _, part := range parts {
		a.writeMembers(b, part, indent, depth+1)
	}
	required := n.Get("required").Strings()
	for _, m := range at.fields("properties") {
		b.WriteString(indent + "- " + m.name + ": " + a.describe(m.place, depth))
		if slices.Contains(required, m.name) {
			b.WriteString(", required")
		}
		if about := oneLine(m.text("description")); about != "" {
			b.WriteString(" — " + about)
		}
		b.WriteByte('\n')
		a.writeMembers(b, m.place, indent+"  ", depth+1)
	}
}

// oneLine returns a description without its line breaks, truncated.
func oneLine(text string) string {
	const most = 500
	return clip(strings.Join(strings.Fields(text), " "), most)
}

// schemaText returns the answer of get_schema as text.
func (a *api) schemaText(s *schema) string {
	var b strings.Builder
	b.WriteString(s.name + ": " + a.describe(s.place, 0) + "\n")
	if about := strings.TrimSpace(s.text("description")); about != "" {
		b.WriteString("\n" + about + "\n")
	}
	var members strings.Builder
	a.writeMembers(&members, s.place, "", 0)
	if members.Len() > 0 {
		b.WriteString("\n" + members.String())
	}
	if d := s.get("discriminator").text("propertyName"); d != "" {
		b.WriteString("\nThe member " + d + " says which of them it is.\n")
	}
	writeExample(&b, "", s.node.Get("example"))
	for _, example := range s.node.Get("examples").Elements() {
		writeExample(&b, "", example)
	}
	return b.String()
}

// maxExample is the maximum length of an example that is shown.
const maxExample = 4000

// writeExample writes an example unless it is missing or too long.
func writeExample(b *strings.Builder, name string, value *tree.Node) {
	if value == nil {
		return
	}
	text := string(value.AppendJSON(nil))
	if len(text) > maxExample {
		return
	}
	if name != "" {
		name = " (" + name + ")"
	}
	b.WriteString("\nExample" + name + ": " + text + "\n")
}
