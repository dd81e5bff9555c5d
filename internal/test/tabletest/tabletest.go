// Package tabletest verifies the tables of data in this repository against their JSON
// Schemas, so that a mistaken edit is an error with its file and line.
package tabletest

import (
	"errors"
	"os"
	"testing"

	"github.com/slipway-mcp/slipway/internal/schema"
	"github.com/slipway-mcp/slipway/internal/tree"
)

// Check validates tables, JSON or YAML files, against the schema in another file.
func Check(t testing.TB, schemaFile string, tables ...string) {
	t.Helper()
	text, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := schema.Compile(text)
	if err != nil {
		t.Fatalf("%s: %v", schemaFile, err)
	}
	if len(tables) == 0 {
		t.Errorf("%s: no table", schemaFile)
	}
	for _, name := range tables {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		root, err := tree.ReadDocument(name, text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var invalid *schema.Error
		if !errors.As(compiled.Validate(root.AppendJSON(nil)), &invalid) {
			continue
		}
		for _, p := range invalid.Problems {
			line, column := root.Locate(p.Path)
			t.Errorf("%s:%d:%d: %s: %s", name, line, column, p.Path, p.Message)
		}
	}
}
