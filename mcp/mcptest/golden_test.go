package mcptest

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/mcp"
)

func goldenOptions() *GoldenOptions {
	return &GoldenOptions{
		Calls: []Call{
			{Tool: "find", Args: `{"title":"Emma"}`},
			{Tool: "find", WantError: true},
			{Tool: "raw"},
			{Tool: "none", WantError: true},
			{Tool: "wait", Blocks: true},
		},
		Reads:       []Read{{URI: "library://plan"}, {URI: "LIBRARY//:plan"}, {URI: "library://book/../x"}},
		Prompts:     []Prompt{{Name: "review", Args: map[string]string{"title": "Emma"}}, {Name: "review"}},
		Completions: []Completion{{Params: mcp.CompleteParams{Prompt: "review", Argument: "tone"}}},
	}
}

// played runs Golden and returns its reports.
func played(t *testing.T, source mcp.Source, dir string, opts *GoldenOptions) []string {
	t.Helper()
	t.Setenv(UpdateVariable, "")
	rec := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		Golden(rec, source, dir, opts)
	}()
	<-done
	return rec.reports
}

func filesIn(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestGoldenKept uses Golden as authors do, and shows what its files look like.
func TestGoldenKept(t *testing.T) {
	Golden(t, newLibrary(), "testdata/library", goldenOptions())
	want := []string{
		"calls/find.json", "calls/none.json", "calls/raw.json", "completions.json", "prompts.json", "prompts/review.json",
		"reads/LIBRARY___plan-2.json", "reads/library___book_.._x.json", "reads/library___plan.json",
		"resources.json", "server.json", "templates.json", "tools.json",
	}
	got := filesIn(t, "testdata/library")
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestGoldenNothingAsked(t *testing.T) {
	dir := t.TempDir()
	if got := played(t, newLibrary(), dir, &GoldenOptions{Update: true}); got != nil {
		t.Fatalf("reports %q", got)
	}
	if diff := cmp.Diff([]string{"prompts.json", "resources.json", "server.json", "templates.json", "tools.json"},
		filesIn(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if got := played(t, newLibrary(), dir, nil); got != nil {
		t.Errorf("what was written is not what is seen: %q", got)
	}
}

func TestGoldenReports(t *testing.T) {
	tests := []struct {
		name   string
		change func(t *testing.T, l *library, dir string, o *GoldenOptions)
		want   []string // parts of the reports, one for each report except the hint
	}{
		{"nothing", func(*testing.T, *library, string, *GoldenOptions) {}, nil},
		{"another answer", func(_ *testing.T, l *library, _ string, _ *GoldenOptions) {
			l.call = func(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
				r, err := goodCall(ctx, p)
				if p.Name == "find" && err == nil {
					r.StructuredContent = json.RawMessage(`{"shelf":4}`)
				}
				return r, err
			}
		}, []string{"-        \"shelf\": 3\n+        \"shelf\": 4\n"}},
		{"another offer", func(_ *testing.T, l *library, _ string, _ *GoldenOptions) {
			l.kept.Tools[0].Description = "loses a book"
		}, []string{"-    \"description\": \"finds a book\",\n+    \"description\": \"loses a book\",\n"}},
		{"an answer missing", func(_ *testing.T, _ *library, _ string, o *GoldenOptions) {
			o.Reads = append(o.Reads, Read{URI: "library://cover"})
		}, []string{"library___cover.json is missing; it would be\n["}},
		{"an obsolete answer", func(_ *testing.T, _ *library, _ string, o *GoldenOptions) {
			o.Completions = nil
		}, []string{"completions.json is obsolete"}},
		{"an obsolete list", func(_ *testing.T, l *library, _ string, _ *GoldenOptions) {
			l.kept.Templates = nil
		}, []string{"templates.json is obsolete"}},
		{"other ends of lines", func(t *testing.T, _ *library, dir string, _ *GoldenOptions) {
			rewrite(t, filepath.Join(dir, "tools.json"), "\n", "\r\n")
		}, nil},
		{"files of others", func(t *testing.T, _ *library, dir string, _ *GoldenOptions) {
			if err := os.WriteFile(filepath.Join(dir, "notes.json"), []byte("mine"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir, opts, l := t.TempDir(), goldenOptions(), newLibrary()
			opts.Update = true
			if got := played(t, newLibrary(), dir, opts); got != nil {
				t.Fatalf("writing reports %q", got)
			}
			opts.Update = false
			tt.change(t, l, dir, opts)
			got := played(t, l, dir, opts)
			if tt.want == nil {
				if got != nil {
					t.Errorf("reports %q, want nothing", got)
				}
				return
			}
			if len(got) != len(tt.want)+1 || !strings.Contains(got[len(got)-1], UpdateVariable) {
				t.Fatalf("reports %q, want %d and a hint", got, len(tt.want))
			}
			for i, want := range tt.want {
				if !strings.Contains(got[i], want) {
					t.Errorf("reports %s\nwant %s", got[i], want)
				}
			}
			l.version.Store(l.kept)
			opts.Update = true
			if got := played(t, l, dir, opts); got != nil {
				t.Errorf("rewriting it reports %q", got)
			}
			opts.Update = false
			if got := played(t, l, dir, opts); got != nil {
				t.Errorf("rewritten, it reports %q", got)
			}
		})
	}
}

func rewrite(t *testing.T, path, old, fresh string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.ReplaceAll(text, []byte(old), []byte(fresh)), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestGoldenWithoutFiles(t *testing.T) {
	got := played(t, newLibrary(), filepath.Join(t.TempDir(), "none"), nil)
	if len(got) != 1 || !strings.Contains(got[0], "has no golden files; "+UpdateVariable) {
		t.Errorf("reports %q, want how to write them", got)
	}
}

func TestGoldenByEnvironment(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(UpdateVariable, "1")
	Golden(t, newLibrary(), dir, nil)
	if len(filesIn(t, dir)) == 0 {
		t.Error("nothing is written")
	}
}

func TestGoldenMask(t *testing.T) {
	dir := t.TempDir()
	opts := goldenOptions()
	opts.Update = true
	masked := make(map[string]bool)
	opts.Mask = func(file string, text []byte) []byte {
		masked[file] = true
		return bytes.ReplaceAll(text, []byte("shelf 3"), []byte("shelf N"))
	}
	played(t, newLibrary(), dir, opts)
	text, err := os.ReadFile(filepath.Join(dir, "calls", "find.json"))
	if err != nil || !bytes.Contains(text, []byte("on shelf N")) {
		t.Errorf("calls/find.json = %s, %v; want it masked", text, err)
	}
	if len(masked) != len(filesIn(t, dir)) {
		t.Errorf("masked are %v, want all files", slices.Sorted(maps.Keys(masked)))
	}
}

func TestGoldenVersion(t *testing.T) {
	dir := t.TempDir()
	played(t, newLibrary(), dir, &GoldenOptions{Version: mcp.Version20260728, Update: true})
	text, err := os.ReadFile(filepath.Join(dir, "server.json"))
	if err != nil || !bytes.Contains(text, []byte("2026-07-28")) {
		t.Errorf("server.json = %s, %v; want the answer to server/discover", text, err)
	}
}

func TestLineDiff(t *testing.T) {
	many := strings.Repeat("x\n", 3000)
	tests := []struct{ name, want, got, diff string }{
		{"a line", "a\nb\nc\n", "a\nB\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"},
		{"far from the beginning", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\n5\n7\n8\n9\n",
			"@@ -3,7 +3,6 @@\n 3\n 4\n 5\n-6\n 7\n 8\n 9\n"},
		{"two places", "a\nb\nc\nd\n", "A\nb\nc\nD\n", "@@ -1,4 +1,4 @@\n-a\n+A\n b\n c\n-d\n+D\n"},
		{"more at the end", "a\n", "a\nb\n", "@@ -1,1 +1,2 @@\n a\n+b\n"},
		{"nothing in common", "a\n", "b\n", "@@ -1,1 +1,1 @@\n-a\n+b\n"},
		{"many lines", many, strings.ReplaceAll(many, "x", "y"),
			"@@ -1,3000 +1,3000 @@\n" + strings.Repeat("-x\n", 3000) + strings.Repeat("+y\n", 3000)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.diff, lineDiff([]byte(tt.want), []byte(tt.got))); diff != "" {
				t.Errorf("lineDiff (-want +got):\n%s", diff)
			}
		})
	}
}
