// Package edge writes the MCP endpoint of a site for hosts that run JavaScript.
//
// A StaticMCP site is files. [Write] adds one module, a standard fetch handler without
// dependencies, that answers MCP clients from these files, so that the address
// https://docs.example.com/mcp works in a client without installing anything:
//
//	result, err := edge.Write(&edge.Options{Host: "cloudflare", Published: "public", Site: "mcp"})
//
// The module gives the answers of a [staticmcp.Site] byte for byte, over HTTP without
// sessions, for every version of the protocol. It is assembled from the parts in js; their
// tables, limits, messages and stemmers are generated from the Go sources, and tests
// compare both implementations.
package edge

//go:generate go test -run TestTables|TestStemmers . -update
