// Package staticmcp reads and writes StaticMCP sites.
//
// A StaticMCP site is an MCP server whose answers were all computed beforehand and stored
// as files: a manifest mcp.json, one file per resource under resources/, one file per
// tool call under tools/. Any static host can serve it, and it can be read, compared and
// reviewed like source code. This package speaks the protocol on its behalf.
//
// [Open] opens a site in an fs.FS, [OpenDir] a folder, [OpenZip] a zip file and [OpenURL]
// a web host. Each returns a [Site], an [mcp.Source] like any other. [EncodeName] maps a
// URI segment or an argument to a file name; it is the one function a program that writes
// sites itself needs:
//
//	path := "tools/get_country/" + staticmcp.EncodeName("Côte d’Ivoire") + ".json"
//	// tools/get_country/cote_d_ivoire.json
//
// Package internal/sitelint checks and repairs sites.
//
// Writing follows the StaticMCP standard to the letter: section 1 for the manifest, 2 for
// folders, 3 for names, 4 for resources, 5 for answers. Reading also accepts the variants
// of published generators, always trying the standard's own spelling first. Resource
// templates and prompts, which the standard does not mention, are an extension that other
// readers ignore.
package staticmcp
