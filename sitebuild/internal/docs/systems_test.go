package docs_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/sitebuild/internal/docs"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata")

// TestSystems reads a small project of each documentation system and compares the result
// with the file "want" in its archive.
func TestSystems(t *testing.T) {
	archives, err := filepath.Glob("testdata/systems/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no archives", err)
	}
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files := fstest.MapFS{}
			want := -1
			for i, f := range archive.Files {
				if f.Name == "want" {
					want = i
					continue
				}
				files[f.Name] = &fstest.MapFile{Data: f.Data}
			}
			set, err := docs.Read(t.Context(), files, "x", nil)
			if err != nil {
				t.Fatal(err)
			}
			got := show(set)
			if *update {
				if want < 0 {
					archive.Files = append(archive.Files, txtar.File{Name: "want"})
					want = len(archive.Files) - 1
				}
				archive.Files[want].Data = []byte(got)
				if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if want < 0 {
				t.Fatal("the archive has no part want")
			}
			if diff := cmp.Diff(got, string(archive.Files[want].Data)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// show formats a set for review.
func show(s *docs.Set) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %q, %q, language %q\n\nnavigation:\n", s.System, s.Title, s.Description, s.Language)
	var nav func(items []*docs.NavItem, indent string)
	nav = func(items []*docs.NavItem, indent string) {
		for _, i := range items {
			fmt.Fprintf(&b, "%s- %s", indent, i.Title)
			if i.Page != nil {
				fmt.Fprintf(&b, " (%s)", i.Page.ID)
			}
			if i.URL != "" {
				fmt.Fprintf(&b, " <%s>", i.URL)
			}
			b.WriteByte('\n')
			nav(i.Items, indent+"  ")
		}
	}
	nav(s.Nav, "")
	b.WriteString("\nfindings:\n")
	for _, f := range ruletest.Findings(&s.Report) {
		fmt.Fprintf(&b, "%s\n", f)
		if f.Hint != "" {
			fmt.Fprintf(&b, "  %s\n", f.Hint)
		}
	}
	for _, i := range s.Images {
		fmt.Fprintf(&b, "image %s %s %d bytes\n", i.URI(), i.MIMEType, len(i.Data))
	}
	for _, p := range s.Pages {
		fmt.Fprintf(&b, "\n== %s (%s): %s", p.ID, p.File, p.Title)
		if p.Description != "" {
			fmt.Fprintf(&b, ": %s", p.Description)
		}
		b.WriteByte('\n')
		for _, section := range p.Sections {
			fmt.Fprintf(&b, "#%s %d %q\n", section.Slug, section.Level, section.Text)
		}
		for line := range strings.Lines(p.Body) {
			b.WriteString("| " + line)
		}
	}
	return b.String()
}
