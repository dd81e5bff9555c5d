package mcpb_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcpb"
)

// offers is a server with two tools and a prompt.
type offers struct{ mcp.Unimplemented }

func (offers) Catalog(context.Context) (*mcp.Catalog, error) {
	return &mcp.Catalog{
		Server: mcp.Implementation{Name: "offers", Version: "1.0.0"},
		Tools: []mcp.Tool{
			{Name: "one", Description: "First", Raw: []byte(`{"name":"one","inputSchema":{"type":"object"}}`)},
			{Name: "two", Description: "Second", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		},
		Prompts: []mcp.Prompt{{Name: "ask", Description: "Ask", Arguments: []mcp.PromptArgument{{Name: "what"}}}},
	}, nil
}

func (offers) GetPrompt(_ context.Context, p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
	return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{
		Role:    "user",
		Content: mcp.Text("Tell me of " + p.Arguments["what"]),
	}}}, nil
}

// pickyOffers rejects variables as arguments.
type pickyOffers struct{ offers }

func (pickyOffers) GetPrompt(context.Context, *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
	return nil, mcp.Errorf(mcp.CodeInvalidParams, "what must be a number")
}

const plainManifest = `{
  "manifest_version": "0.3", "name": "offers", "version": "1.0.0",
  "description": "A test", "author": {"name": "A"},
  "server": {"type": "node", "entry_point": "i.js", "mcp_config": {"command": "node", "args": ["i.js"]}}LISTS
}`

func manifestOf(t *testing.T, lists string) *mcpb.Manifest {
	t.Helper()
	m, err := mcpb.ParseManifest([]byte(strings.Replace(plainManifest, "LISTS", lists, 1)))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

const (
	goodTools   = `, "tools": [{"name": "one", "description": "First"}, {"name": "two"}]`
	goodPrompts = `, "prompts": [{"name": "ask", "arguments": ["what"], "text": "About ${arguments.what}"}]`
	goodStatic  = `, "_meta": {"com.microsoft.windows": {"static_responses": {"tools/list": {"tools": [
    {"name": "one", "inputSchema": {"type": "object"}}, DEFINITION]}}}}`
)

func TestDrift(t *testing.T) {
	cat, _ := offers{}.Catalog(t.Context())
	second, err := mcp.Marshal(&cat.Tools[1])
	if err != nil {
		t.Fatal(err)
	}
	static := strings.Replace(goodStatic, "DEFINITION", string(second), 1)
	tests := map[string]struct {
		lists string
		want  []string // rules and pointers, notes left out
	}{
		"agrees":         {goodTools + goodPrompts + static, nil},
		"generated":      {`, "tools_generated": true, "prompts_generated": true`, nil},
		"nothing listed": {"", []string{"mcpb/drift-tool /tools", "mcpb/drift-prompt /prompts"}},
		"gone tool": {
			`, "tools_generated": true, "tools": [{"name": "gone"}]` + goodPrompts,
			[]string{"mcpb/drift-tool /tools/0"},
		},
		"other words": {
			strings.Replace(goodTools, "First", "Primary", 1) + goodPrompts,
			[]string{"mcpb/drift-description /tools/0/description"},
		},
		"other arguments": {
			goodTools + strings.Replace(goodPrompts, `["what"]`, `["who"]`, 1),
			[]string{"mcpb/drift-argument /prompts/0/arguments"},
		},
		"gone prompt": {
			goodTools + strings.Replace(goodPrompts, `"ask"`, `"gone"`, 1),
			[]string{"mcpb/drift-prompt /prompts/0", "mcpb/drift-prompt /prompts"},
		},
		"other definition": {
			goodTools + goodPrompts + strings.Replace(static, `"type": "object"`, `"type": "object", "x": 1`, 1),
			[]string{"mcpb/drift-static /_meta/com.microsoft.windows/static_responses/tools~1list/tools/0"},
		},
		"a definition less": {
			goodTools + goodPrompts + strings.Replace(static, ", "+string(second), "", 1),
			[]string{"mcpb/drift-static /_meta/com.microsoft.windows/static_responses/tools~1list/tools"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, f := range ruletest.Findings(mcpb.Drift(manifestOf(t, test.lists), cat, "manifest.json")) {
				if f.Severity != check.Note {
					got = append(got, f.Rule.ID+" "+f.Pointer)
				}
				if f.Line < 2 && f.Pointer != "" && strings.Contains(test.lists, `"tools":`) {
					t.Errorf("%s is at line %d", f.Rule.ID, f.Line)
				}
			}
			slices.Sort(got)
			slices.Sort(test.want)
			if diff := cmp.Diff(got, test.want); diff != "" {
				t.Error(diff)
			}
		})
	}
	m := manifestOf(t, goodTools+goodPrompts)
	m.Version = "2.0.0"
	report := mcpb.Drift(m, cat, "")
	found := ruletest.Findings(report)
	if report.Count(check.Warning) != 1 || report.Count(check.Note) != 1 {
		t.Errorf("got %v, want a version that differs and a tool without hints", found)
	}
}

func TestUpdate(t *testing.T) {
	for name, lists := range map[string]string{
		"nothing listed": "",
		"all wrong":      `, "tools": [{"name": "gone"}], "prompts": []`,
		"static": goodTools + goodPrompts + strings.Replace(goodStatic,
			"DEFINITION", `{"name":"gone","inputSchema":{}}`, 1),
		"fine already": goodTools + goodPrompts,
	} {
		t.Run(name, func(t *testing.T) {
			m := manifestOf(t, lists)
			text, err := mcpb.Update(t.Context(), m, offers{})
			if err != nil {
				t.Fatal(err)
			}
			updated, err := mcpb.ParseManifest(text)
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			cat, _ := offers{}.Catalog(t.Context())
			report := mcpb.Drift(updated, cat, "")
			if !report.OK(true) {
				t.Errorf("still drifts: %v\n%s", ruletest.Findings(report), text)
			}
			if rest := plainManifest[:strings.Index(plainManifest, "LISTS")]; !strings.HasPrefix(string(text), rest) {
				t.Errorf("other bytes have changed:\n%s", text)
			}
			again, err := mcpb.Update(t.Context(), updated, offers{})
			if err != nil || string(again) != string(text) {
				t.Errorf("a second time changes it: %v\n%s", err, again)
			}
		})
	}
	picky, err := mcpb.Update(t.Context(), manifestOf(t, ""), pickyOffers{})
	if err != nil || !strings.Contains(string(picky), `"text": "Ask"`) {
		t.Errorf("of a prompt that takes no variables: %v\n%s", err, picky)
	}
	updated, _ := mcpb.Update(t.Context(), manifestOf(t, ""), offers{})
	if !strings.Contains(string(updated), "Tell me of ${arguments.what}") {
		t.Errorf("no text of the prompt in\n%s", updated)
	}
	generated := manifestOf(t, `, "tools_generated": true, "prompts_generated": true`)
	if text, err := mcpb.Update(t.Context(), generated, offers{}); err != nil || string(text) != string(generated.JSON()) {
		t.Errorf("generated lists were written: %v\n%s", err, text)
	}
}
