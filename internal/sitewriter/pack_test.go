package sitewriter_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/packs"
	"github.com/slipway-mcp/slipway/internal/sitelint"
	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// cities returns a site with a resource and three answers for each of n cities. edited is the
// one with another text, or -1.
func cities(n, edited int) *sitewriter.Site {
	var list []*sitewriter.Answer
	for i := range n {
		name := fmt.Sprintf("city-%d", i)
		text := fmt.Sprintf("City %d. %s", i, strings.Repeat("All that is known of it. ", 40))
		if i == edited {
			text += "More is known now."
		}
		list = append(list, named(name, text), sitewriter.TextResource("city://"+name, "text/plain", text))
		for to := range 2 {
			list = append(list, sitewriter.Text("route", map[string]any{"a": name, "b": to}, text))
		}
	}
	s := site(append(list, greeting())...)
	s.Resources = func(yield func(*mcp.Resource, error) bool) {
		for i := range n {
			r := &mcp.Resource{
				URI:         fmt.Sprintf("city://city-%d", i),
				Description: fmt.Sprintf("What is known of city %d.", i),
				MIMEType:    "text/plain",
			}
			if !yield(r, nil) {
				return
			}
		}
	}
	return s
}

func greeting() *sitewriter.Answer {
	return &sitewriter.Answer{
		Prompt:    "greet",
		Arguments: json.RawMessage(`{"who":"Ada"}`),
		Result:    json.RawMessage(`{"messages":[{"role":"user","content":{"type":"text","text":"Hello Ada"}}]}`),
	}
}

// TestPacked verifies the packed layout in a folder: few files, every answer found and equal
// to that of the standard's layout, no finding, the same bytes again, and few files changed
// by one edit.
func TestPacked(t *testing.T) {
	const n = 300
	ctx := t.Context()
	dir := t.TempDir()
	write := func(s *sitewriter.Site, o *sitewriter.Options) *sitewriter.Result {
		t.Helper()
		r, err := sitewriter.Write(ctx, s, sitewriter.Dir(dir), o)
		if err != nil {
			t.Fatalf("%v: %v", err, r.Report.Findings())
		}
		return r
	}
	packed := &sitewriter.Options{Layout: sitewriter.Packed}
	r := write(cities(n, -1), packed)
	if r.Files > n+n/4 {
		t.Errorf("%d files for %d pages", r.Files, n)
	}
	checkAnswers(t, dir, n)
	report, err := sitelint.CheckDir(ctx, dir, nil)
	if err != nil || len(report.Findings()) > 0 {
		t.Fatalf("%d findings, such as %v; %v", len(report.Findings()), report.Findings()[:1], err)
	}
	if r := write(cities(n, -1), packed); r.Stale() {
		t.Errorf("a second write: %d created, %d changed, %d deleted", r.Created, r.Changed, r.Deleted)
	}
	// The resource, the pack, and the index.
	if r := write(cities(n, 150), packed); r.Created+r.Changed+r.Deleted > 3 {
		t.Errorf("an edit: %v", r.Changes)
	}
	if r := write(cities(n+1, 150), packed); r.Created+r.Changed+r.Deleted > 7 {
		t.Errorf("one more: %v", r.Changes)
	}
	if r := write(cities(n, -1), nil); r.Deleted == 0 || len(glob(t, dir, "packs/*")) > 0 {
		t.Errorf("the standard's layout: %d deleted", r.Deleted)
	}
	checkAnswers(t, dir, n)
	write(cities(n, -1), packed)
	if left := glob(t, dir, "tools/*/*"); len(left) > 0 {
		t.Errorf("%d files are left, such as %s", len(left), left[0])
	}
}

func glob(t *testing.T, dir, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// checkAnswers verifies that the site in dir has the answers of cities.
func checkAnswers(t *testing.T, dir string, n int) {
	t.Helper()
	s, err := staticmcp.OpenDir(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := 0; i < n; i += 97 {
		for tool, arguments := range map[string]string{
			"city": `{"name":"city-%d"}`, "route": `{"a":"city-%d","b":1}`,
		} {
			result, stored, err := s.Lookup(t.Context(), &mcp.CallToolParams{
				Name:      tool,
				Arguments: fmt.Appendf(nil, arguments, i),
			})
			if err != nil || !stored || !strings.Contains(string(result.Raw.Bytes()), fmt.Sprintf("City %d. ", i)) {
				t.Fatalf("%s of city %d: %v, %v", tool, i, stored, err)
			}
		}
	}
	questions, err := s.Questions(t.Context())
	if want := 4*n + 1; err != nil || len(questions) != want {
		t.Errorf("%d questions, want %d: %v", len(questions), want, err)
	}
}

// TestPackedCollisions verifies that answers whose names collide are distinguished in packs, too.
func TestPackedCollisions(t *testing.T) {
	m, _ := written(t, site(named("東京", "Tokyo"), named("北京", "Beijing")),
		&sitewriter.Options{Layout: sitewriter.Packed})
	s, err := staticmcp.Open(t.Context(), m, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for name, want := range map[string]string{"東京": "Tokyo", "北京": "Beijing"} {
		result, _, err := s.Lookup(t.Context(), &mcp.CallToolParams{
			Name:      "city",
			Arguments: fmt.Appendf(nil, `{"name":%q}`, name),
		})
		if err != nil || result == nil || !bytes.Contains(result.Raw.Bytes(), []byte(want)) {
			t.Errorf("%s: %v, %v", name, result, err)
		}
	}
}

// TestPackedAdd verifies that answers can be added next to packs, and that those in packs are
// not stored twice.
func TestPackedAdd(t *testing.T) {
	dir := t.TempDir()
	s := site(named("Rome", "one"))
	if _, err := sitewriter.Write(t.Context(), s, sitewriter.Dir(dir),
		&sitewriter.Options{Layout: sitewriter.Packed}); err != nil {
		t.Fatal(err)
	}
	catalog := &mcp.Catalog{Server: s.Server, Tools: s.Tools}
	added, err := sitewriter.Add(context.Background(), dir, catalog,
		[]*sitewriter.Answer{named("Rome", "another"), named("Oslo", "two")}, nil)
	if err != nil || len(added) != 1 {
		t.Fatalf("%d added, %v", len(added), err)
	}
	if _, err := os.Stat(filepath.Join(dir, "tools/city/oslo.json")); err != nil {
		t.Error(err)
	}
	opened, err := staticmcp.OpenDir(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	for name, want := range map[string]string{"Rome": "one", "Oslo": "two"} {
		result, stored, err := opened.Lookup(t.Context(), &mcp.CallToolParams{
			Name:      "city",
			Arguments: fmt.Appendf(nil, `{"name":%q}`, name),
		})
		if err != nil || !stored || !bytes.Contains(result.Raw.Bytes(), []byte(want)) {
			t.Errorf("%s: %v, %v, %v", name, result, stored, err)
		}
	}
}

// TestPackedStandardReader verifies what a reader that knows only the standard finds in a
// packed site: the manifest, every resource, and the prompt's file.
func TestPackedStandardReader(t *testing.T) {
	m, _ := written(t, cities(20, -1), &sitewriter.Options{Layout: sitewriter.Packed})
	for i := range 20 {
		if _, err := fs.Stat(m, fmt.Sprintf("resources/city-%d.json", i)); err != nil {
			t.Error(err)
		}
	}
	if _, err := fs.Stat(m, "prompts/greet/ada.json"); err != nil {
		t.Error(err)
	}
	manifest, err := fs.ReadFile(m, "mcp.json")
	if err != nil || !bytes.Contains(manifest, []byte(packs.MetaName)) {
		t.Errorf("the manifest lacks the table: %v", err)
	}
}
