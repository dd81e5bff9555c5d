// Package mcpb reads, checks and creates MCP bundles: zip archives with an MCP server,
// its dependencies, and a manifest.json that specifies how to start it.
//
// [ParseManifest] reads a manifest of any version from 0.1 to 0.4. [Check] reports all
// problems of a bundle, packed or as a folder, with their positions and hints:
//
//	m, report, err := mcpb.Check(os.DirFS("my-server"), nil)
//	if err != nil { ... } // there is no manifest that could be read
//	if !report.OK(strict) { ... }
//
// [Expand] turns a manifest and the user's values into the command line of the server, and
// [Open] starts it. [Pack] and [Unpack] convert between a folder and an archive; [Sign] and
// [Verify] sign archives. [Archive], which reads them strictly, is package internal/zip;
// signatures are package internal/cms.
//
// The format is that of the MCPB manifest specification. Where its prose, its schemas and
// its reference implementation differ, the more tolerant reading is accepted with a
// warning, so that a strict check accepts only what works everywhere.
package mcpb
