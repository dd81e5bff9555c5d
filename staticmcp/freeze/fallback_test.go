package freeze_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/sitelint"

	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/staticmcp"
	"github.com/slipway-mcp/slipway/staticmcp/freeze"
)

// down is an unreachable source.
type down struct{ mcp.Unimplemented }

func (down) Catalog(context.Context) (*mcp.Catalog, error) { return nil, errors.New("unreachable") }

func TestFallback(t *testing.T) {
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "site")
	src := &shop{}
	plan, err := freeze.NewPlan(ctx, src, &freeze.Options{
		Repeat: freeze.Repeat{SkipUnstable: true},
		Calls:  []staticmcp.Question{{Tool: "get_item", Arguments: json.RawMessage(`{"id":"a"}`)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := freeze.Run(ctx, plan, sitewriter.Dir(dir), nil); err != nil {
		t.Fatal(err)
	}
	open := func() *staticmcp.Site {
		site, err := staticmcp.OpenDir(ctx, dir, &staticmcp.Options{Poll: -1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { site.Close() })
		return site
	}
	call := func(s mcp.Source, tool, arguments string) string {
		t.Helper()
		result, err := s.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
		if err != nil {
			return err.Error()
		}
		text, _ := json.Marshal(result)
		return string(text)
	}
	f := freeze.NewFallback(open(), src, &freeze.FallbackOptions{Dir: dir})
	catalog, err := f.Catalog(ctx)
	if err != nil || catalog.Tool("delete_item") == nil || len(catalog.Tools) != 5 {
		t.Errorf("got %v %v", catalog, err)
	}
	before := src.calls.Load()
	if got := call(f, "get_item", `{"id":"a"}`); !strings.Contains(got, "item a") || src.calls.Load() != before {
		t.Errorf("a stored answer: got %s after %d calls", got, src.calls.Load()-before)
	}
	for _, id := range []string{"z", "Z", "y"} {
		if got := call(f, "get_item", `{"id":"`+id+`"}`); !strings.Contains(got, "item "+id) {
			t.Errorf("a miss: got %s", got)
		}
	}
	call(f, "delete_item", `{"id":"a"}`)
	src.secret = " AKIA" + "ABCDEFGHIJKLMNOP"
	call(f, "get_item", `{"id":"leak"}`)
	if result, err := f.ReadResource(ctx, &mcp.ReadResourceParams{URI: "shop://more"}); err != nil || result == nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}

	// The source is gone, but its answers remain.
	offline := freeze.NewFallback(open(), down{}, nil)
	for id, want := range map[string]string{"z": "item z", "y": "item y", "leak": "no stored answer"} {
		if got := call(offline, "get_item", `{"id":"`+id+`"}`); !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", id, got, want)
		}
	}
	if _, err := offline.ReadResource(ctx, &mcp.ReadResourceParams{URI: "shop://more"}); err != nil {
		t.Error(err)
	}
	if catalog, err := offline.Catalog(ctx); err != nil || catalog.Tool("get_item") == nil {
		t.Errorf("got %v %v", catalog, err)
	}
	report, err := sitelint.CheckDir(ctx, dir, nil)
	if err != nil || !report.OK(false) {
		t.Errorf("%v: %v", err, ruletest.Findings(report))
	}
	questions, err := open().Questions(ctx)
	if err != nil || len(questions) != len(plan.Questions)-2+3 { // without compute and now, with z, y and more
		t.Errorf("got %d questions of %d, %v", len(questions), len(plan.Questions), err)
	}
}

// joined is a shop that is joined with other sources.
type joined struct {
	shop
	sources []mcp.JoinedSource
}

func (j *joined) Catalog(ctx context.Context) (*mcp.Catalog, error) {
	catalog, err := j.shop.Catalog(ctx)
	catalog.Sources = j.sources
	return catalog, err
}

func (j *joined) ReadResource(ctx context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	result, err := j.shop.ReadResource(ctx, p)
	result.Contents[0].Text += strings.Join(p.Sources, " ")
	return result, err
}

// TestFallbackRestricted verifies that one of several sources answers for itself, and that its answers
// are not stored for the others.
func TestFallbackRestricted(t *testing.T) {
	src := &joined{sources: []mcp.JoinedSource{{Name: "a"}, {Name: "b"}}}
	dir := filepath.Join(t.TempDir(), "site")
	plan, err := freeze.NewPlan(t.Context(), &src.shop, &freeze.Options{Repeat: freeze.Repeat{SkipUnstable: true}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := freeze.Run(t.Context(), plan, sitewriter.Dir(dir), nil); err != nil {
		t.Fatal(err)
	}
	open := func() *staticmcp.Site {
		site, err := staticmcp.OpenDir(t.Context(), dir, &staticmcp.Options{Poll: -1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { site.Close() })
		return site
	}
	f := freeze.NewFallback(open(), src, &freeze.FallbackOptions{Dir: dir})
	for _, uri := range []string{"shop://about", "shop://more"} {
		for _, source := range []string{"a", "b"} {
			result, err := f.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri, Sources: []string{source}})
			if err != nil {
				t.Fatal(err)
			}
			read, err := result.Decode()
			if err != nil || read.Contents[0].Text != "about "+uri+source {
				t.Errorf("%s of %s: %+v, %v", uri, source, read, err)
			}
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := open().ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "shop://more"}); err == nil {
		t.Error("an answer of one source is stored for all")
	}
	src.sources = src.sources[:1]
	result, err := f.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "shop://about", Sources: []string{"a"}})
	if err != nil {
		t.Fatal(err)
	}
	if read, err := result.Decode(); err != nil || read.Contents[0].Text != "about shop://about" {
		t.Errorf("the only source: %+v, %v, want the answer of the site", read, err)
	}
}
