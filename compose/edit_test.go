package compose_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/compose"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/mcptest"
)

func text(s string) *string { return &s }

func edit(t *testing.T, src mcp.Source, e *compose.Edits) mcp.Source {
	t.Helper()
	out, err := compose.Edit(src, e)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestEditIsASource(t *testing.T) {
	var s *shelf
	mcptest.TestSource(t, func(t *testing.T) mcp.Source {
		s = newShelf("a")
		return edit(t, s, &compose.Edits{
			Disabled: []string{"a_only"},
			Tools:    map[string]compose.ToolEdit{"find": {Name: "a.find", Description: text("Finds")}},
		})
	}, &mcptest.Options{
		CatalogAllocs: 1,
		Calls: []mcptest.Call{
			{Tool: "a.find", Args: `{"x":1}`, Want: `a:find{\"x\":1}`},
			{Tool: "find", WantError: true}, {Tool: "a_only", WantError: true},
		},
		Reads:   []mcptest.Read{{URI: "shelf://a/moby", Want: `"text":"a"`}},
		Prompts: []mcptest.Prompt{{Name: "ask", Args: map[string]string{"book": "moby"}, Want: "amoby"}},
		Completions: []mcptest.Completion{{
			Params: mcp.CompleteParams{Prompt: "ask", Argument: "book", Value: "mo"},
			Want:   []string{"mo"},
		}},
		Change: func(testing.TB, mcp.Source) {
			s.offer(shelfCatalog("a", "second"))
			s.tell(mcp.Change{Tools: true, Resources: true, Prompts: true})
		},
	})
}

func TestEdit(t *testing.T) {
	tests := []struct {
		name  string
		edits compose.Edits
		shown []string
		calls map[string]string // by visible name: the name that the source receives, or "" if it is not called
	}{
		{"nothing", compose.Edits{}, []string{"a", "b", "c"}, map[string]string{"a": "a"}},
		{
			"only some",
			compose.Edits{Enabled: []string{"c", "a", "x"}},
			[]string{"a", "c"},
			map[string]string{"a": "a", "b": ""},
		},
		{"none", compose.Edits{Enabled: []string{}}, nil, map[string]string{"a": ""}},
		{"not some", compose.Edits{Disabled: []string{"b"}}, []string{"a", "c"}, map[string]string{"a": "a", "b": ""}},
		{
			"both",
			compose.Edits{Enabled: []string{"a", "b"}, Disabled: []string{"b"}},
			[]string{"a"},
			map[string]string{"b": ""},
		},
		{
			"a new name",
			compose.Edits{Tools: map[string]compose.ToolEdit{"a": {Name: "z"}}},
			[]string{"z", "b", "c"},
			map[string]string{"z": "a", "a": "", "b": "b"},
		},
		{
			"a new name, and the lists have the old",
			compose.Edits{Enabled: []string{"a"}, Tools: map[string]compose.ToolEdit{"a": {Name: "z"}}},
			[]string{"z"},
			map[string]string{"z": "a", "a": ""},
		},
		{
			"names exchanged",
			compose.Edits{Tools: map[string]compose.ToolEdit{"a": {Name: "b"}, "b": {Name: "a"}}},
			[]string{"b", "a", "c"},
			map[string]string{"b": "a", "a": "b"},
		},
		{
			"the name of another",
			compose.Edits{Tools: map[string]compose.ToolEdit{"a": {Name: "b"}}},
			[]string{"b", "c"},
			map[string]string{"b": "a", "a": ""},
		},
		{
			"a new name for one that is not offered",
			compose.Edits{Disabled: []string{"a"}, Tools: map[string]compose.ToolEdit{"a": {Name: "z"}}},
			[]string{"b", "c"},
			map[string]string{"z": "", "a": ""},
		},
		{
			"its own name",
			compose.Edits{Tools: map[string]compose.ToolEdit{"a": {Name: "a"}}},
			[]string{"a", "b", "c"},
			map[string]string{"a": "a"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			src := edit(t, &part{name: "s", cat: &mcp.Catalog{Tools: tools("a", "b", "c")}}, &tt.edits)
			if diff := cmp.Diff(tt.shown, toolNames(t, src)); diff != "" {
				t.Errorf("shown (-want +got):\n%s", diff)
			}
			for name, want := range tt.calls {
				params := &mcp.CallToolParams{Name: name}
				result, err := src.CallTool(t.Context(), params)
				got := ""
				if err == nil {
					got = strings.TrimPrefix(result.Content[0].Text, "s:")
				}
				if got != want || params.Name != name {
					t.Errorf("CallTool(%q) asks for %q, %v, want %q; params have %q then", name, got, err, want, params.Name)
				}
			}
		})
	}
}

func TestEditChangesNoOtherByte(t *testing.T) {
	tests := []struct {
		name, raw, want string
		edit            compose.ToolEdit
	}{
		{"all", `{"x":1.0e2,"title":"T","name":"a","inputSchema":{"name":"kept"},"description":"\u0041"}`,
			`{"x":1.0e2,"title":"t","name":"b","inputSchema":{"name":"kept"},"description":"d"}`,
			compose.ToolEdit{Name: "b", Title: text("t"), Description: text("d")}},
		{
			"what was not there",
			`{"name":"a"}`,
			`{"name":"a","title":"t","description":""}`,
			compose.ToolEdit{Title: text("t"), Description: text("")},
		},
		{"quotes", `{"name":"a"}`, `{"name":"a","description":"\"<\n"}`, compose.ToolEdit{Description: text("\"<\n")}},
		{"nothing", `{"name":"a" }`, `{"name":"a" }`, compose.ToolEdit{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := &part{name: "s", cat: &mcp.Catalog{Tools: []mcp.Tool{{Name: "a", Raw: json.RawMessage(tt.raw)}}}}
			got := catalog(t, edit(t, p, &compose.Edits{Tools: map[string]compose.ToolEdit{"a": tt.edit}})).Tools[0]
			if string(got.Raw) != tt.want {
				t.Errorf("shown as  %s\nwant      %s", got.Raw, tt.want)
			}
			if raw := string(p.cat.Tools[0].Raw); raw != tt.raw {
				t.Errorf("the source's own definition was changed to %s", raw)
			}
		})
	}
	cooked := edit(t, &part{cat: &mcp.Catalog{Tools: tools("a")}},
		&compose.Edits{Tools: map[string]compose.ToolEdit{"a": {Name: "b", Title: text("t"), Description: text("d")}}})
	if got := catalog(t, cooked).Tools[0]; got.Name != "b" || got.Title != "t" || got.Description != "d" {
		t.Errorf("a definition without bytes of its own is shown as %+v", got)
	}
}

func TestEditRefusesOneNameForTwo(t *testing.T) {
	_, err := compose.Edit(&part{}, &compose.Edits{Tools: map[string]compose.ToolEdit{"a": {Name: "z"}, "b": {Name: "z"}}})
	if err == nil || err.Error() != `tool "a" and tool "b" would both be shown as "z"` {
		t.Errorf("Edit: %v", err)
	}
}

func TestEditsMissing(t *testing.T) {
	e := &compose.Edits{
		Enabled:  []string{"a", "x"},
		Disabled: []string{"y", "b"},
		Tools:    map[string]compose.ToolEdit{"x": {}, "w": {}, "withheld": {}},
	}
	cat := &mcp.Catalog{Tools: tools("a", "b"), WithheldTools: map[string]string{"withheld": "why"}}
	if got := e.Missing(cat); !slices.Equal(got, []string{"w", "x", "y"}) {
		t.Errorf("Missing = %q", got)
	}
}
