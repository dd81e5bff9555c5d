package gopkg_test

import (
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/internal/test/sitetest"
	"github.com/slipway-mcp/slipway/sitebuild/internal/gopkg"
)

func TestMain(m *testing.M) { ruletest.Main(m, gopkg.Rules()) }

// TestUnreadable skips a file that is longer than the limit.
func TestUnreadable(t *testing.T) {
	dir := sitetest.Folder(t, map[string]string{
		"go.mod": "module example.org/a\n",
		"a.go":   "// Package a is short.\npackage a\n\n// A is one.\nconst A = 1\n",
		"b.go":   "package a\n\n// " + strings.Repeat("long ", 100) + "\nconst B = 1\n",
	})
	in, err := gopkg.New(dir, &gopkg.Options{MaxFileBytes: 100})
	if err != nil {
		t.Fatal(err)
	}
	b, err := sitetest.Open(t, in, nil)
	if err != nil {
		t.Fatal(err)
	}
	found := ruletest.Record(b.From.Findings...)
	if len(found) != 1 || found[0].Rule.ID != "go/unreadable" || !strings.HasSuffix(found[0].File, "b.go") {
		t.Errorf("findings %v, want one of go/unreadable about b.go", found)
	}
}
