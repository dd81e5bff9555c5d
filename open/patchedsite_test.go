package open

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/sitebuild"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// TestPatchedSite: after each edit of a served folder, answers and searches are those of the folder opened
// again, and an edit of a text reads no other documents.
func TestPatchedSite(t *testing.T) {
	race.SkipLong(t)
	dir, cache := t.TempDir(), t.TempDir()
	page := func(n int) string { return filepath.Join(dir, fmt.Sprintf("p%d.md", n)) }
	edit := func(n int, change func(text string) string) {
		text, err := os.ReadFile(page(n))
		if err := errors.Join(err, os.WriteFile(page(n), []byte(change(string(text))), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for n := 10; n < 60; n++ { // more than fits into an llms-full.txt
		var text strings.Builder
		fmt.Fprintf(&text, "# Kettle %d\n\nThe kettle number %d.\n", n, n)
		for part := range 9 {
			fmt.Fprintf(&text, "\n## Part %d\n\n", part)
			text.WriteString(strings.Repeat("It heats the water in the kettle, and then the tea. ", 200) + "\n")
		}
		if err := os.WriteFile(page(n), []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	opened := func(cache string) (*builder, *watchedSite) {
		b, err := newBuilder(dir, &Options{PageCache: cache, Site: &staticmcp.Options{Poll: -1, Recheck: -1}})
		if err != nil {
			t.Fatal(err)
		}
		site, err := b.open(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = site.Close() })
		return b, site
	}
	b, served := opened(cache)
	documents := 0
	b.progress = func(p sitebuild.Progress) {
		if p.Stage == "documents" {
			documents++
		}
	}
	var calls []mcp.CallToolParams
	for _, query := range []string{"spout", "zebra", "kettle 41", "lid"} {
		arguments, _ := json.Marshal(map[string]string{"query": query})
		calls = append(calls, mcp.CallToolParams{Name: "search", Arguments: arguments})
	}
	for _, path := range []string{"p41", "p42", "p58"} {
		arguments, _ := json.Marshal(map[string]string{"path": path})
		calls = append(calls, mcp.CallToolParams{Name: "get_page", Arguments: arguments})
	}
	answers := func(src mcp.Source) (all []string) {
		for i := range calls {
			result, err := src.CallTool(t.Context(), &calls[i])
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(result)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, string(text))
		}
		return all
	}
	before := answers(served)
	for _, step := range []struct {
		name    string
		patched bool
		edit    func()
	}{
		{"a sentence", true, func() {
			edit(41, func(text string) string { return text + "\nIts spout is blue.\n" })
		}},
		{"two pages", true, func() {
			edit(42, func(text string) string { return text + "\nA zebra drinks from the spout.\n" })
			edit(58, func(text string) string { return text + "\nThe lid is open.\n" })
		}},
		{"a section", false, func() {
			edit(41, func(text string) string { return text + "\n## The zebra\n\nIt has a lid.\n" })
		}},
		{"a sentence less", true, func() {
			edit(41, func(text string) string { return strings.Replace(text, "Its spout is blue.", "It is red.", 1) })
		}},
		{"nothing", true, func() {}},
	} {
		step.edit()
		documents = 0
		if err := b.build(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if (documents == 0) != step.patched {
			t.Errorf("%s: %d reports of documents, a patch is wanted: %t", step.name, documents, step.patched)
		}
		_, fresh := opened("")
		now := answers(served)
		if diff := cmp.Diff(answers(fresh), now); diff != "" {
			t.Errorf("%s: %s", step.name, diff)
		}
		if same := cmp.Equal(before, now); same != (step.name == "nothing") {
			t.Errorf("%s: the answers are the same as before: %t", step.name, same)
		}
		before = now
	}
}
