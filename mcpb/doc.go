// Package mcpb reads, checks and makes MCP bundles: zip archives that hold an
// MCP server, what it needs, and a manifest.json that says how to start it.
//
// [ParseManifest] reads a manifest of any version, 0.1 to 0.4. [Check] says
// everything that is wrong with a bundle, packed or as a folder, with the place
// and the way out:
//
//	m, report, err := mcpb.Check(os.DirFS("my-server"), nil)
//	if err != nil { ... } // there is no manifest that could be read
//	if !report.OK(strict) { ... }
//
// [Expand] turns a manifest and what the user filled in into the command line
// of the server.
//
// The format is that of the MCPB manifest specification. Where its prose, its
// schemas and its reference program differ, the more tolerant reading is
// accepted with a warning, so that a strict check keeps to what works everywhere.
package mcpb
