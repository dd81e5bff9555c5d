// Embedded is an MCP server without a router: a Source with one tool and one resource,
// served on http://127.0.0.1:8080/mcp until Ctrl-C.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/serve"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "embedded:", err)
		os.Exit(1)
	}
}

func run() error {
	ctx, stop := serve.Signals(context.Background(), nil)
	defer stop()
	return serve.Run(ctx, newRota(), &serve.Options{
		Observer: serve.Observer{Started: func(info *serve.Info) { fmt.Fprintln(os.Stderr, "serving on", info.Endpoint) }},
	})
}

// rota knows who is on call.
type rota struct {
	mcp.Unimplemented // prompts and completions: none
	catalog           *mcp.Catalog
	onCall            map[string]string
}

var _ mcp.Source = (*rota)(nil)

func newRota() *rota {
	return &rota{
		onCall: map[string]string{"billing": "Ada", "search": "Grace"},
		catalog: &mcp.Catalog{
			Server: mcp.Implementation{Name: "rota", Version: "1.0.0"},
			Tools: []mcp.Tool{{
				Name:        "on_call",
				Description: "Say who is on call for a team.",
				InputSchema: json.RawMessage(`{"type":"object","properties":{"team":{"type":"string"}},"required":["team"]}`),
				Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
			}},
			Resources: []mcp.Resource{{Name: "teams", URI: "rota://teams", MIMEType: "text/plain"}},
		},
	}
}

// Catalog returns a stored value, because the server calls it for every request.
func (r *rota) Catalog(context.Context) (*mcp.Catalog, error) { return r.catalog, nil }

func (r *rota) CallTool(_ context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	if p.Name != "on_call" {
		return nil, mcp.UnknownTool(p.Name)
	}
	var args struct{ Team string }
	if err := json.Unmarshal(p.Arguments, &args); err != nil {
		return nil, mcp.InvalidArguments(`give the team's name as "team"`)
	}
	name, ok := r.onCall[args.Team]
	if !ok {
		return nil, mcp.InvalidArguments(fmt.Sprintf("no team %q; there are: %s", args.Team, r.teams()))
	}
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(name + " is on call.")}}, nil
}

func (r *rota) ReadResource(_ context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	if p.URI != "rota://teams" {
		return nil, mcp.ResourceNotFound(p.URI, "")
	}
	text := mcp.ResourceContents{URI: p.URI, MIMEType: "text/plain", Text: r.teams()}
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{text}}, nil
}

func (r *rota) teams() string {
	return strings.Join(slices.Sorted(maps.Keys(r.onCall)), ", ")
}
