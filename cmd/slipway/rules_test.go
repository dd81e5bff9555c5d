package main

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	godiff "github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/internal/test/race"
)

const rulesIntro = `# Rules

All rules that findings refer to, generated from the source code. The id of a rule never
changes. A single finding can be more or less serious than the rule: the severity below is
the usual one. With ` + "`--strict`" + `, warnings fail a check, too. Rules marked *yes* in the last column
have findings that ` + "`--fix`" + ` repairs.

`

// formatTitles are the sections of the page, by the part of a rule's id before the slash.
var formatTitles = map[string]string{
	"mcp":       "All servers",
	"apps":      "MCP Apps",
	"staticmcp": "StaticMCP sites",
	"mcpb":      "Bundles",
	"stax":      "Definitions and client files",
	"lock":      "Locks",
	"test":      "Saved calls",
	"serve":     "Configuration of serve",
	"freeze":    "Freezing",
	"site":      "Building sites",
	"docs":      "Documents",
	"table":     "Tables",
	"openapi":   "OpenAPI documents",
	"go":        "Go packages",
	"mapping":   "Mapping files",
	"doctor":    "Diagnoses",
}

// TestRulesPage verifies docs/reference/rules.md. With -update it writes the page.
func TestRulesPage(t *testing.T) {
	const page = "../../docs/reference/rules.md"
	var b strings.Builder
	b.WriteString(rulesIntro)
	format := ""
	for _, r := range rules() {
		if of, _, _ := strings.Cut(r.ID, "/"); of != format {
			b.WriteString(cmp.Or(map[bool]string{true: "\n"}[format != ""], ""))
			format = of
			fmt.Fprintf(&b, "## %s\n\n| rule | severity | finds | fix |\n| --- | --- | --- | --- |\n", formatTitles[of])
		}
		fix := map[bool]string{true: "yes"}[r.Fixable]
		fmt.Fprintf(&b, "| <a id=%q></a>`%s` | %s | %s | %s |\n", r.Anchor(), r.ID, r.Severity, r.Title, fix)
	}
	if *update {
		if err := os.WriteFile(page, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := godiff.Diff(string(got), b.String()); diff != "" {
		t.Errorf("the page is not up to date (-page +rules); run this test with -update:\n%s", diff)
	}
}

// TestRulesAreDeclared verifies that every declared rule is listed, has a title and is
// reported somewhere.
func TestRulesAreDeclared(t *testing.T) {
	race.SkipLong(t)
	listed := make(map[string]bool)
	for _, r := range rules() {
		format, _, _ := strings.Cut(r.ID, "/")
		if listed[r.ID] || r.Title == "" || strings.HasSuffix(r.Title, ".") || formatTitles[format] == "" {
			t.Errorf("rule %q is listed twice, has no title of one phrase, or no section", r.ID)
		}
		listed[r.ID] = true
	}
	declared, used := ruleSources(t)
	for id, name := range declared {
		if !listed[id] {
			t.Errorf("%s is declared, but not listed", id)
		}
		if used[name] < 2 { // the declaration and the report
			t.Errorf("%s: nothing reports %s", id, name)
		}
		delete(listed, id)
	}
	for id := range listed {
		t.Errorf("%s is listed, but not declared", id)
	}
}

// ruleSources returns the variables of all rules by id, and counts their uses.
func ruleSources(t *testing.T) (declared map[string]string, used map[string]int) {
	declared, used = make(map[string]string), make(map[string]int)
	declaration := regexp.MustCompile(`(?s)(\w+)\s+= (?:\w*[rR]ules\.Fixable\()?\w*[rR]ules\.\w+\("([a-z]+/[a-z0-9-]+)"`)
	variable := regexp.MustCompile(`\b[rR]ule[A-Z]\w*`)
	for _, dir := range []string{"apps", "lock", "mcp", "mcpb", "open", "sitebuild", "internal",
		"staticmcp", "stax", "cmd"} {
		err := filepath.WalkDir(filepath.Join("..", "..", dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, name := range variable.FindAll(text, -1) {
				used[string(name)]++
			}
			for _, m := range declaration.FindAllSubmatch(text, -1) {
				declared[string(m[2])] = string(m[1])
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return declared, used
}
