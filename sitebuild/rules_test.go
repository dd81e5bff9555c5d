package sitebuild_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRulesHaveAPlace verifies that docs/reference/rules.md lists the rules of all inputs.
func TestRulesHaveAPlace(t *testing.T) {
	page, err := os.ReadFile("../docs/reference/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	whole := regexp.MustCompile(`"((?:table|openapi|go|mapping)/[a-z-]+)"`)
	slug := regexp.MustCompile(`(?:found|once)\((?:check\.\w+, )?"([a-z-]+)"`)
	rules := map[string]bool{}
	for dir, format := range map[string]string{
		"internal/table":   "table/",
		"internal/openapi": "openapi/",
		"internal/gopkg":   "go/",
		".":                "mapping/",
	} {
		files, err := filepath.Glob(dir + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			for _, m := range slug.FindAllStringSubmatch(string(text), -1) {
				rules[format+m[1]] = true
			}
			for _, m := range whole.FindAllStringSubmatch(string(text), -1) {
				if strings.HasPrefix(m[1], format) && m[1] != "go/build" {
					rules[m[1]] = true
				}
			}
		}
	}
	for _, imported := range []string{"go/ast", "go/doc", "go/format", "go/parser", "go/scanner", "go/token"} {
		delete(rules, imported)
	}
	if len(rules) < 20 {
		t.Fatalf("only %d rules are found: %v", len(rules), rules)
	}
	for rule := range rules {
		if !strings.Contains(string(page), "`"+rule+"` |") {
			t.Errorf("docs/reference/rules.md says nothing about %s", rule)
		}
	}
}
