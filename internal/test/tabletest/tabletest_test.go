package tabletest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/test/tabletest"
)

// recorder keeps the errors that a test would report.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

func TestCheckNamesTheLine(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	schema := write("schema.json", `{"type":"array","items":{"type":"object","properties":{"a":{"type":"string"}},`+
		`"required":["a"],"additionalProperties":false}}`)
	for text, want := range map[string]string{
		"[\n  {\"a\": \"x\"}]":                  "",
		"[\n  {\"a\": \"x\"},\n  {\"a\": 1}\n]": ":3:4: [1].a: ",
		"[\n  {\"b\": \"x\"}]":                  ":2:4: [0].b: ",
		"[\n  {\n]":                             "line 3",
	} {
		r := &recorder{TB: t}
		tabletest.Check(r, schema, write("table.json", text))
		if got := strings.Join(r.errors, "\n"); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
