package ruletest

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/check"
)

func TestUnread(t *testing.T) {
	var rules check.RuleSet
	read := rules.Error("test/read", "a finding that is read")
	recorded := rules.Note("test/recorded", "a finding in no report")
	added := rules.Warning("test/added", "a finding that no test reads")
	report, other := &check.Report{}, &check.Report{}
	check.Reporter{Report: report}.Add(read.As(check.Note), "", "", "a")
	check.Reporter{Report: other}.Add(added, "", "", "b")
	if found := Findings(report); len(found) != 1 {
		t.Errorf("Findings = %v, want one", found)
	}
	Record(check.Reporter{}.Finding(recorded, "", "", "c"))
	if got, want := unread(rules.All()), []string{"test/added"}; !slices.Equal(got, want) {
		t.Errorf("unread = %q, want %q", got, want)
	}
}

// TestPackages verifies that each package with rules runs its tests with Main.
func TestPackages(t *testing.T) {
	// mcpb.Rules includes the rules of these packages.
	included := []string{"mcpb/internal/zip"}
	root := os.DirFS("../../..")
	declares, verifies := map[string]bool{}, map[string]bool{}
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".go" {
			return err
		}
		text, err := fs.ReadFile(root, name)
		if bytes.Contains(text, []byte("\nfunc Rules() []check.Rule {")) {
			declares[path.Dir(name)] = true
		}
		if strings.HasSuffix(name, "_test.go") && bytes.Contains(text, []byte("ruletest.Main(m, ")) {
			verifies[path.Dir(name)] = true
		}
		return err
	})
	if err != nil || len(declares) < 10 {
		t.Fatal(err, declares)
	}
	for dir := range declares {
		if !verifies[dir] && !slices.Contains(included, dir) {
			t.Errorf("the tests of %s have no TestMain that calls ruletest.Main", dir)
		}
	}
}
