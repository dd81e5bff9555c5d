// Package staticmcp reads and writes StaticMCP sites.
//
// A StaticMCP site is an MCP server whose answers were all computed beforehand
// and stored as files: a manifest mcp.json, one file per resource under
// resources/, one file per tool call under tools/. Any static host can carry it,
// and it can be read, compared and reviewed like source code. What is missing is
// somebody who speaks the protocol on its behalf; that is this package.
//
// [Open] takes a folder, a zip file or a URL and returns a [Site], which is a
// source like any other: every surface can show it, every verb can work on it.
// [EncodeName] is the rule that leads from a URI or an argument to the name of a
// file, and the one function to share with a program that writes sites by hand:
//
//	path := "tools/get_country/" + staticmcp.EncodeName("Côte d’Ivoire") + ".json"
//	// tools/get_country/cote_d_ivoire.json
//
// [Check] looks through a site for what breaks the standard, for what no reader
// would find and for what only some can use; [Fix] repairs what it can without
// losing anything.
//
// Writing follows the StaticMCP standard to the letter: section 1 for the
// manifest, 2 for folders, 3 for names, 4 for resources, 5 for answers. Reading
// is tolerant of what published generators made of the same text, with the
// standard's own spelling always tried first. Resource templates and prompts,
// of which the standard does not speak, are an addition that other readers
// ignore.
package staticmcp
