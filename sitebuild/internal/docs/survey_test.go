package docs_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/sitebuild/internal/docs"
)

// definitions returns what a survey and the site must have in common.
func definitions(t *testing.T, s *sitewriter.Site) string {
	t.Helper()
	text, err := json.MarshalIndent([]any{s.Server, s.Instructions, s.Tools, s.Templates, s.Prompts}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	resources := 0
	for _, err := range s.Resources {
		if err != nil {
			t.Fatal(err)
		}
		resources++
	}
	if resources == 0 {
		t.Error("no resources, so that the capability would be missing")
	}
	return string(text)
}

// TestSurveyAgrees compares the survey of a project of each documentation system with its
// site.
func TestSurveyAgrees(t *testing.T) {
	archives, err := filepath.Glob("testdata/systems/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no archives", err)
	}
	folders := []string{"../../../examples/handbook"}
	for _, name := range archives {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), "x")
		for _, f := range archive.Files {
			path := filepath.Join(dir, filepath.FromSlash(f.Name))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, f.Data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		folders = append(folders, dir)
	}
	for _, dir := range folders {
		for _, opts := range []*docs.Options{nil, {NoSections: true, BaseURL: "https://example.com/x/"}} {
			input, err := docs.Dir(dir, opts)
			if err != nil {
				t.Fatal(err)
			}
			site, err := input.Site(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			survey, err := input.Survey(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if survey.Answers != nil {
				t.Error(dir, "the survey has answers")
			}
			if diff := cmp.Diff(definitions(t, site), definitions(t, survey)); diff != "" {
				t.Errorf("%s: the survey (+) differs from the site: %s", dir, diff)
			}
		}
	}
}

// TestSurveyWithoutPages: a folder without documents is an error of the survey already, with
// the same words.
func TestSurveyWithoutPages(t *testing.T) {
	input, err := docs.Dir(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, want := input.Site(t.Context())
	_, got := input.Survey(t.Context())
	if got == nil || want == nil || got.Error() != want.Error() || !strings.Contains(got.Error(), "no visible documents") {
		t.Errorf("got %v, want %v", got, want)
	}
}
