package openapi_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/test/sitetest"
)

// long returns a document with 900 operations, 600 schemas including a very long one, and
// an operation with a long description.
func long() string {
	var b strings.Builder
	b.WriteString("openapi: 3.1.0\ninfo: {title: Long, version: '1'}\npaths:\n")
	for i := range 900 {
		fmt.Fprintf(&b,
			"  /things/%d/parts:\n    get: {operationId: getThing%d, tags: [t%d], summary: Get the parts of the thing "+
				"number %d, responses: {200: {description: ok}}}\n",
			i, i, min(i%5, 1), i)
	}
	b.WriteString("  /long:\n    get:\n      operationId: getLong\n      description: |\n")
	for i := range 2000 {
		fmt.Fprintf(&b, "        Line %d of a description.\n", i)
	}
	b.WriteString("      responses: {200: {description: ok}}\ncomponents:\n  schemas:\n")
	for i := range 600 {
		fmt.Fprintf(&b, "    Schema%d: {type: object, description: The schema that has the number %d in its name}\n", i, i)
	}
	b.WriteString("    Wide:\n      type: object\n      properties:\n")
	for i := range 1500 {
		fmt.Fprintf(&b, "        member%d: {type: string, description: The member with the number %d}\n", i, i)
	}
	return b.String()
}

// pieces calls a tool for every part of its answer and returns the texts.
func pieces(t *testing.T, b *sitetest.Built, tool, arguments, number, count string) []string {
	t.Helper()
	var texts []string
	for n, of := 1, 1; n <= of; n++ {
		call := arguments
		if n > 1 {
			call = strings.TrimSuffix(arguments, "}") + fmt.Sprintf(`,%q:%d}`, number, n)
			call = strings.Replace(call, "{,", "{", 1)
		}
		got := b.Call(tool, call)
		var structured map[string]any
		if err := json.Unmarshal([]byte(got.Structured), &structured); err != nil || got.IsError {
			t.Fatalf("%s %s: %v: %.200s", tool, call, err, got.Text)
		}
		if structured[number] != float64(n) {
			t.Fatalf("%s %s: %s is %v", tool, call, number, structured[number])
		}
		of = int(structured[count].(float64))
		if len(got.Text) > 25_000 || len(got.Structured) > 50_000 {
			t.Errorf("%s %s: %d bytes of text, %d of structured content", tool, call, len(got.Text), len(got.Structured))
		}
		if next := fmt.Sprintf("The next one: %s with %s=%d.",
			tool, number, n+1); strings.Contains(got.Text, next) != (n < of) {
			t.Errorf("%s %s ends with %q", tool, call, got.Text[max(0, len(got.Text)-100):])
		}
		texts = append(texts, got.Text)
	}
	if len(texts) < 2 {
		t.Errorf("%s %s has %d pieces", tool, arguments, len(texts))
	}
	return texts
}

// TestLongAnswers uses a document with answers too long for a model: every part is short,
// and together they are complete.
func TestLongAnswers(t *testing.T) {
	b := must(t, folder(t, "openapi.yaml", long()), nil)
	operations := strings.Join(pieces(t, b, "list_operations", `{}`, "page", "pages"), "")
	tagged := strings.Join(pieces(t, b, "list_operations", `{"tag":"t1"}`, "page", "pages"), "")
	schemas := strings.Join(pieces(t, b, "list_schemas", `{}`, "page", "pages"), "")
	description := strings.Join(pieces(t, b, "get_operation", `{"operation_id":"getLong"}`, "part", "parts"), "")
	wide := strings.Join(pieces(t, b, "get_schema", `{"name":"Wide"}`, "part", "parts"), "")
	for i := range 900 {
		if !strings.Contains(operations, fmt.Sprintf("getThing%d ", i)) ||
			strings.Contains(tagged, fmt.Sprintf("getThing%d ", i)) != (i%5 > 0) {
			t.Fatalf("operation %d", i)
		}
	}
	for i := range 600 {
		if !strings.Contains(schemas, fmt.Sprintf("Schema%d ", i)) {
			t.Fatalf("schema %d", i)
		}
	}
	for i := range 1500 {
		if !strings.Contains(description, fmt.Sprintf("Line %d of", i)) ||
			!strings.Contains(wide, fmt.Sprintf("member%d:", i)) {
			t.Fatalf("line %d: %.500s %.500s", i, description, wide)
		}
	}
	// The first part can also be requested by its number.
	if got := b.Call("get_schema", `{"name":"Wide","part":1}`); !strings.Contains(got.Text, "This is part 1 of") {
		t.Errorf("part 1: %.200s", got.Text)
	}
	// Short answers are not split.
	if got := b.Call("get_operation", `{"operation_id":"getThing1"}`); strings.Contains(got.Structured, "part") &&
		strings.Contains(got.Text, "This is part") {
		t.Errorf("a short answer: %s", got.Structured)
	}
}
