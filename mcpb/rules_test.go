package mcpb_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/mcpb"
)

var update = flag.Bool("update", false, "rewrite docs/mcpb-rules.md")

// TestRulesAreListed compares the list of rules with the source code, in both directions,
// and the page with the list.
func TestRulesAreListed(t *testing.T) {
	listed := map[string]bool{}
	for _, r := range mcpb.Rules() {
		if listed[r.ID] {
			t.Errorf("%s is listed twice", r.ID)
		}
		listed[r.ID] = true
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, name := range files {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, m := range regexp.MustCompile(`"(mcpb/[a-z0-9-]+)"`).FindAllStringSubmatch(string(source), -1) {
			used[m[1]] = true
			if !listed[m[1]] {
				t.Errorf("%s: %s is not in Rules", name, m[1])
			}
		}
	}
	for id := range listed {
		if !used[id] {
			t.Errorf("no source has %s", id)
		}
	}
}

func TestRulesPage(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Rules for bundles\n\n" +
		"`slipway bundle validate` and `slipway check` hold a bundle to these rules; the last\n" +
		"three kinds are for a bundle that is about to be started, and for `slipway bundle test`.\n" +
		"The severity is the worst that a rule reports: with `--strict`, warnings refuse a\n" +
		"bundle, too. The page is generated from the list in package `mcpb`.\n\n" +
		"| rule | severity | what it finds |\n| --- | --- | --- |\n")
	for _, r := range mcpb.Rules() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.ID, r.Severity, r.Title)
	}
	const page = "../docs/mcpb-rules.md"
	if *update {
		if err := os.WriteFile(page, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), b.String()); diff != "" {
		t.Errorf("the page is not the list; go test ./mcpb -run Page -update\n%s", diff)
	}
}
