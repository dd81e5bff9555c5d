package mcpb

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// metaWindows is the key of _meta under which Windows stores the server's answers, so
// that it can be listed without starting it.
const metaWindows = "com.microsoft.windows"

// StaticCatalog returns the catalog that the manifest records for its server, in the
// static_responses of _meta["com.microsoft.windows"]. It is nil if the manifest has no
// complete list of tools there, or declares that there are more (tools_generated,
// prompts_generated): then only the running server knows.
func (m *Manifest) StaticCatalog() *mcp.Catalog {
	var meta struct {
		Responses struct {
			Initialize struct {
				ServerInfo   mcp.Implementation         `json:"serverInfo"`
				Instructions string                     `json:"instructions"`
				Capabilities map[string]json.RawMessage `json:"capabilities"`
			} `json:"initialize"`
			Tools *struct {
				Tools []json.RawMessage `json:"tools"`
				Next  string            `json:"nextCursor"`
			} `json:"tools/list"`
		} `json:"static_responses"`
	}
	raw := m.Meta[metaWindows]
	if raw == nil || m.ToolsGenerated || m.PromptsGenerated ||
		json.Unmarshal(raw, &meta) != nil {
		return nil
	}
	known := &meta.Responses
	if known.Tools == nil || known.Tools.Next != "" ||
		needsMore(known.Initialize.Capabilities) {
		return nil
	}
	cat := &mcp.Catalog{
		Server:       known.Initialize.ServerInfo,
		Instructions: known.Initialize.Instructions,
	}
	if cat.Server.Name == "" {
		cat.Server = mcp.Implementation{
			Name:    m.Name,
			Title:   m.DisplayName,
			Version: m.Version,
		}
	}
	for _, raw := range known.Tools.Tools {
		var tool mcp.Tool
		if json.Unmarshal(raw, &tool) != nil || tool.Name == "" {
			return nil
		}
		tool.Raw = jsonscan.AppendCompact(nil, raw)
		cat.Tools = append(cat.Tools, tool)
	}
	return cat
}

// needsMore reports whether a server has capabilities besides tools.
func needsMore(capabilities map[string]json.RawMessage) bool {
	for _, name := range []string{"resources", "prompts", "completions", "logging", "tasks"} {
		if _, ok := capabilities[name]; ok {
			return true
		}
	}
	return false
}

// OpenStatic returns the catalog that the manifest of the bundle at name records for its
// server, as a Source that answers every call with the error that the server was not
// started. It needs no option values, and validates the bundle like [Open]. The Source is
// nil if [Manifest.StaticCatalog] is.
func OpenStatic(ctx context.Context, name string, opts *OpenOptions) (mcp.Source, error) {
	if opts == nil {
		opts = &OpenOptions{}
	}
	c, err := openContent(ctx, name, opts)
	if err != nil {
		return nil, err
	}
	known := c.shown.StaticCatalog()
	if err := c.release(); err != nil || known == nil {
		return nil, err
	}
	return &staticSource{catalog: known}, nil
}

// staticSource is a bundle whose server is not started.
type staticSource struct {
	mcp.Unimplemented
	catalog *mcp.Catalog
}

var _ mcp.Source = (*staticSource)(nil)

// Catalog implements mcp.Source.
func (s *staticSource) Catalog(context.Context) (*mcp.Catalog, error) {
	return s.catalog, nil
}

// CallTool implements mcp.Source.
func (s *staticSource) CallTool(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return nil, errNotStarted
}

// errNotStarted is the error of all calls to a bundle that was opened only to list it.
var errNotStarted = errors.New("the server of the bundle was not started: only its manifest was read")
