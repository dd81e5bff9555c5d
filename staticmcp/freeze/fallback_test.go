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
