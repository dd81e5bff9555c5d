package pathglob_test

import (
	"testing"

	"github.com/slipway-mcp/slipway/internal/pathglob"
	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
)

func TestCompile(t *testing.T) {
	for _, test := range []struct {
		glob, name string
		want       bool
	}{
		{"**/README.md", "README.md", true},
		{"**/README.md", "a/b/README.md", true},
		{"**/README.md", "a/README.md.md", false},
		{"drafts/**", "drafts/a/b.md", true},
		{"drafts/**", "a/drafts/b.md", false},
		{"./a/*.md", "a/b.md", true},
		{"a/*.md", "a/b/c.md", false},
		{"a?.md", "ab.md", true},
		{"[a-c].md", "b.md", true},
		{"**/{todo,notes/**}", "x/notes/a/b.md", true},
		{"**/*.{test,spec}.md", "a/b.spec.md", true},
		{"@(a|b).md", "b.md", true},
		{"+(a|b).md", "abba.md", true},
		{"a.b", "axb", false},
		{"**/_*/**", "a/_b/c.md", true},
		{"日本/*.md", "日本/a.md", true},
	} {
		pattern := pathglob.Compile(test.glob)
		if pattern == nil || pattern.MatchString(test.name) != test.want {
			t.Errorf("Compile(%q) matches %q: want %v", test.glob, test.name, test.want)
		}
	}
	for _, glob := range []string{"", "!a", "!(a).md", "{1..3}.md", "{a", "[a", "a\\", "/a"} {
		if pathglob.Compile(glob) != nil {
			t.Errorf("Compile(%q): want nil", glob)
		}
	}
}

func FuzzCompile(f *testing.F) {
	f.Add("**/{a,b}/@(c|d)*.[m-n]d")
	fuzzbound.Fuzz(f, func(_ *testing.T, glob string) {
		if pattern := pathglob.Compile(glob); pattern != nil {
			pattern.MatchString("a/b/c.md")
		}
		if rule, ok := pathglob.ParseIgnore(glob, true); ok {
			rule.Fits("a/b/c.md", false)
		}
	})
}
