// Package mcp has what the author of a Model Context Protocol server uses: [Source] and
// [Catalog], the wire types, [Request] and [Error]. Package mcp/server serves a Source to
// clients.
//
// A Source provides MCP capabilities: Go functions, a folder of answers, or a remote
// server. Implement its five methods, or embed [Unimplemented] and implement some of them:
//
//	type clock struct{ mcp.Unimplemented }
//
//	func (clock) Catalog(context.Context) (*mcp.Catalog, error) { return catalog, nil }
//
//	func (clock) CallTool(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
//		return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(time.Now().String())}}, nil
//	}
//
// Names on the wire are those of the specification,
// https://modelcontextprotocol.io/specification.
package mcp
