// Package open turns an argument that a user types, such as a path or a URL, into a
// Source. It is the only package that knows every format; all others work with a Source.
//
//	src, err := open.Open(ctx, "examples/http-reference", nil)
//
// Supported sources include a StaticMCP site as a folder, a zip file or an http or https
// URL; a server at such a URL or at a WebSocket URL; and a command that is a server. See
// [Open] for all. [Argument.Name] returns a short name for the same argument.
package open
