package compose_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/compose"
	"github.com/slipway-mcp/slipway/mcp"
)

// counter is a Source whose tools answer with its name.
type counter struct {
	mcp.Unimplemented
	name    string
	catalog *mcp.Catalog
}

func newCounter(name string, tools ...string) *counter {
	s := &counter{name: name, catalog: &mcp.Catalog{Server: mcp.Implementation{Name: name, Version: "1"}}}
	for _, tool := range tools {
		s.catalog.Tools = append(s.catalog.Tools, mcp.Tool{Name: tool})
	}
	return s
}

func (s *counter) Catalog(context.Context) (*mcp.Catalog, error) { return s.catalog, nil }

func (s *counter) CallTool(_ context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(s.name + "/" + p.Name)}}, nil
}

func originsOf(t *testing.T, src mcp.Source) map[string][]mcp.Origin {
	t.Helper()
	cat, err := src.Catalog(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string][]mcp.Origin)
	for i := range cat.Tools {
		all[cat.Tools[i].Name] = cat.Tools[i].Origins
	}
	return all
}

func TestOriginsThroughLayers(t *testing.T) {
	ctx := context.Background()
	edited, err := compose.Edit(newCounter("a", "get", "put"),
		&compose.Edits{Tools: map[string]compose.ToolEdit{"get": {Name: "fetch"}}})
	if err != nil {
		t.Fatal(err)
	}
	inner, err := compose.Union(ctx,
		[]compose.Named{{Name: "a", Source: edited}, {Name: "b", Source: newCounter("b", "fetch")}},
		&compose.UnionOptions{Absent: []string{"c"}})
	if err != nil {
		t.Fatal(err)
	}
	outer, err := compose.Union(ctx,
		[]compose.Named{{Name: "x", Source: compose.NewSwap(inner)}, {Name: "y", Source: newCounter("y", "put")}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]mcp.Origin{
		"a_fetch": {{Name: "get"}, {Source: "a", Name: "fetch", Prefixed: "a_fetch"},
			{Source: "x", Name: "a_fetch", Prefixed: "x_a_fetch"}},
		"x_put":   {{Source: "a", Name: "put", Prefixed: "a_put"}, {Source: "x", Name: "put", Prefixed: "x_put"}},
		"b_fetch": {{Source: "b", Name: "fetch", Prefixed: "b_fetch"}, {Source: "x", Name: "b_fetch", Prefixed: "x_b_fetch"}},
		"y_put":   {{Source: "y", Name: "put", Prefixed: "y_put"}},
	}
	if diff := cmp.Diff(want, originsOf(t, outer)); diff != "" {
		t.Errorf("origins (-want +got):\n%s", diff)
	}
	cat, err := outer.Catalog(ctx)
	if err != nil {
		t.Fatal(err)
	}
	sources := []mcp.JoinedSource{{Name: "x"}, {Name: "a"}, {Name: "b"}, {Name: "c", Unknown: true}, {Name: "y"}}
	if diff := cmp.Diff(sources, cat.Sources); diff != "" {
		t.Errorf("sources (-want +got):\n%s", diff)
	}
	labelled := originsOf(t, compose.Label("z", newCounter("z", "get")))
	if diff := cmp.Diff(map[string][]mcp.Origin{"get": {{Source: "z", Name: "get", Prefixed: "z_get"}}},
		labelled); diff != "" {
		t.Errorf("origins of a labelled source (-want +got):\n%s", diff)
	}
}

// offering offers one resource, one template and one prompt.
type offering struct {
	mcp.Unimplemented
	name string
}

func (s *offering) Catalog(context.Context) (*mcp.Catalog, error) {
	return &mcp.Catalog{
		Resources: []mcp.Resource{{Name: "r", URI: s.name + "://r"}},
		Templates: []mcp.ResourceTemplate{{Name: "t", URITemplate: s.name + "://{x}"}},
		Prompts:   []mcp.Prompt{{Name: "p"}},
	}, nil
}

// TestOriginsOfOtherItems: hosts of user interfaces need to know whose resources and prompts
// they are. The lists of the sources themselves stay unchanged.
func TestOriginsOfOtherItems(t *testing.T) {
	ctx := context.Background()
	labelled := compose.Label("a", &offering{name: "a"})
	joined, err := compose.Union(ctx,
		[]compose.Named{{Name: "x", Source: labelled}, {Name: "b", Source: &offering{name: "b"}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // labels are not added twice
		cat, err := joined.Catalog(ctx)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string][]mcp.Origin{}
		for _, r := range cat.Resources {
			got[r.URI] = r.Origins
		}
		for _, tm := range cat.Templates {
			got[tm.URITemplate] = tm.Origins
		}
		for _, p := range cat.Prompts {
			got[p.Name] = p.Origins
		}
		want := map[string][]mcp.Origin{
			"a://r":   {{Source: "a", Name: "a://r"}, {Source: "x", Name: "a://r"}},
			"a://{x}": {{Source: "a", Name: "a://{x}"}, {Source: "x", Name: "a://{x}"}},
			"b://r":   {{Source: "b", Name: "b://r"}},
			"b://{x}": {{Source: "b", Name: "b://{x}"}},
			"x_p":     {{Source: "a", Name: "p", Prefixed: "a_p"}, {Source: "x", Name: "p", Prefixed: "x_p"}},
			"b_p":     {{Source: "b", Name: "p", Prefixed: "b_p"}},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("origins (-want +got):\n%s", diff)
		}
	}
}

// TestCallOfAnotherTool moves a tool name to another source after a call was admitted and
// before it runs.
func TestCallOfAnotherTool(t *testing.T) {
	ctx := context.Background()
	a, b := newCounter("a", "get"), newCounter("b", "put")
	joined, err := compose.Union(ctx, []compose.Named{{Name: "a", Source: a}, {Name: "b", Source: b}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	swap := compose.NewSwap(compose.Label("a", newCounter("a", "get")))
	tests := []struct {
		name string
		src  mcp.Source
		move func()
	}{
		{"union", joined, func() { a.catalog, b.catalog = newCounter("a", "put").catalog, newCounter("b", "get").catalog }},
		{"one source for another", swap, func() { swap.Set(ctx, compose.Label("b", newCounter("b", "get"))) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			admitted := &mcp.CallToolParams{Name: "get", Origins: originsOf(t, tt.src)["get"]}
			if _, err := tt.src.CallTool(ctx, admitted); err != nil {
				t.Fatalf("CallTool before = %v", err)
			}
			tt.move()
			var e *mcp.Error
			if result, err := tt.src.CallTool(ctx, admitted); !errors.As(err, &e) || e.Code != mcp.CodeInvalidParams {
				t.Errorf("CallTool of what is another tool now = %v, %v", result, err)
			}
			if _, err := tt.src.CallTool(ctx, &mcp.CallToolParams{Name: "get"}); err != nil {
				t.Errorf("CallTool by a program = %v", err)
			}
		})
	}
}
