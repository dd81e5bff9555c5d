// Package apps is MCP Apps, the extension that lets a tool come with a user interface: an
// HTML document that the client application, the host, shows in a sandboxed frame next to
// the tool's result. It has the server side and, for programs with a page of their own,
// the host ([Host], [HostJS]).
//
//	board := &apps.App{URI: "ui://weather/board", Name: "board", HTML: page}
//	resource, contents := board.Resource(), board.Contents()
//
//	tool := mcp.Tool{Name: "get_weather", Meta: apps.ToolMeta(apps.ToolUI{ResourceURI: board.URI})}
//
// [ToolUI] links a tool to a user interface and defines who may call it; [ResourceUI]
// defines what the document may do. Both are written in the form that the extension
// specifies and all hosts accept, and read in all forms in use. [Supported] reports
// whether the caller of a tool can show user interfaces at all; [Views] hides tools that
// are for user interfaces only from clients that do not declare the extension.
//
// [JS] is a small script for the document itself, which communicates with the host.
//
// The extension is io.modelcontextprotocol/ui, SEP-1865, version 2026-01-26.
package apps

const (
	// Extension is the id under which clients and servers declare the extension.
	Extension = "io.modelcontextprotocol/ui"
	// MIMEType is the MIME type of user interfaces.
	MIMEType = "text/html;profile=mcp-app"
	// ProtocolVersion is the version of the messages between document and host.
	ProtocolVersion = "2026-01-26"
	// Scheme begins the URI of every user interface.
	Scheme = "ui://"
)
