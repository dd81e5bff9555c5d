// Package open turns what a person types, a path or a URL, into a Source. It is
// the one room that knows every format; everybody else is handed a Source.
//
//	src, err := open.Open(ctx, "examples/http-reference", nil)
//
// What can be opened: a StaticMCP site as a folder, as a zip file, or under an
// http or https URL; a server at such a URL, or at that of a WebSocket; a command
// that is a server. [Name] is a short name for the same argument.
package open
