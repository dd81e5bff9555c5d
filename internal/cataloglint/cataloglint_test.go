package cataloglint_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/cataloglint"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/mcp"
)

func TestToolName(t *testing.T) {
	for name, want := range map[string]string{
		"get_user":               "",
		"":                       "error mcp/tool-name",
		"get user":               "error mcp/tool-name",
		"größe":                  "error mcp/tool-name",
		strings.Repeat("a", 129): "error mcp/tool-name",
		strings.Repeat("a", 65):  "warning mcp/tool-name-style",
		"users/get":              "warning mcp/tool-name-style",
		"getUser":                "warning mcp/tool-name-style",
		"get-user":               "warning mcp/tool-name-style",
	} {
		if got := strings.Join(saidOf(cataloglint.ToolName(name)), ", "); strings.TrimSpace(got) != want {
			t.Errorf("CheckToolName(%q) = %q, want %q", name, got, want)
		}
	}
}

// saidOf returns "severity rule pointer" for each finding.
func saidOf(findings []check.Finding) []string {
	var all []string
	for _, f := range ruletest.Record(findings...) {
		all = append(all, strings.TrimSpace(f.Severity.String()+" "+f.Rule.ID+" "+f.Pointer))
	}
	return all
}

func TestCatalog(t *testing.T) {
	fine := &mcp.Catalog{
		Server:    mcp.Implementation{Name: "n", Version: "1"},
		Tools:     []mcp.Tool{{Name: "a", Description: "d"}},
		Resources: []mcp.Resource{{URI: "r://a", Name: "a"}},
		Templates: []mcp.ResourceTemplate{{URITemplate: "r://{x}", Name: "t"}},
		Prompts:   []mcp.Prompt{{Name: "a"}},
	}
	if got := cataloglint.Catalog(fine); got != nil {
		t.Errorf("CheckCatalog(fine) = %v", got)
	}
	bad := &mcp.Catalog{
		Tools: []mcp.Tool{
			{Name: "a b", Description: "d"},
			{Name: "c", InputSchema: []byte(`{"type":"string"}`)},
			{Name: "c", Description: "d",
				InputSchema:  []byte(`{"type":"object","properties":{"x":{"type":"strin"}}}`),
				OutputSchema: []byte(`{"pattern":"(?=a)"}`)},
		},
		Resources: []mcp.Resource{{URI: "a", Name: "a"}, {URI: "r://b"}},
		Templates: []mcp.ResourceTemplate{{URITemplate: "r://{", Name: "t"}},
		Prompts:   []mcp.Prompt{{}},
		Missing: []mcp.Missing{
			{List: "tools/list", Entry: 3, Why: "tools/list: entry 3 has no name and is dropped"},
			{List: "prompts/list", Why: "prompts/list: database down"},
		},
	}
	want := []string{
		"error mcp/name /server",
		"error mcp/duplicate /tools/2",
		"error mcp/name /resources/1/name",
		"error mcp/name /prompts/0/name",
		"error mcp/entry",
		"error mcp/list",
		"error mcp/tool-name /tools/0/name",
		"warning mcp/description /tools/1/description",
		"error mcp/schema /tools/1/inputSchema/type",
		"error mcp/schema /tools/2/inputSchema/properties/x/type",
		"note mcp/schema-note /tools/2/outputSchema",
		"error mcp/uri /resources/0/uri",
		"error mcp/uri-template /resourceTemplates/0/uriTemplate",
	}
	if diff := cmp.Diff(want, saidOf(cataloglint.Catalog(bad))); diff != "" {
		t.Errorf("CheckCatalog (- want, + got):\n%s", diff)
	}
}
