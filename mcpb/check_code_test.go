package mcpb_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/mcpb"
)

// TestCheckManyImports verifies that a file with very many imports is checked in
// proportion to its length.
func TestCheckManyImports(t *testing.T) {
	many := make(map[string]string)
	for i := range 1500 {
		many[fmt.Sprintf("lib/f%d.js", i)] = ""
	}
	for name, fragment := range map[string]string{
		"computed":            "require(x);\n",
		"of a folder":         `require("./lib/"+x);`,
		"mapped":              `require("#a");`,
		"named by a launcher": `require("child_process");"lib/f7.js";`,
	} {
		t.Run(name, func(t *testing.T) {
			fuzzbound.LinearFrom(t, 128<<10, fragment, strings.TrimSpace, func(text string) {
				many["index.js"] = text
				if _, _, err := mcpb.Check(bundleOf(many), nil); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestCheckPlaces verifies the places of several findings in one file.
func TestCheckPlaces(t *testing.T) {
	_, report, err := mcpb.Check(bundleOf(map[string]string{
		"index.js": "require(\"a\"); /* ü */ require(\"b\");\n\n  require(\"c\");\n",
	}), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range ruletest.Findings(report) {
		if f.Rule.ID == "mcpb/import" {
			got = append(got, fmt.Sprintf("%d:%d", f.Line, f.Column))
		}
	}
	if want := "1:9 1:31 3:11"; strings.Join(got, " ") != want {
		t.Errorf("the imports are at %v, want %v", got, want)
	}
}
