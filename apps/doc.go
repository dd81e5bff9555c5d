// Package apps is the server's side of MCP Apps, the extension that lets a tool
// come with a user interface: an HTML document which the client's program, the
// host, shows in a sandboxed frame beside the tool's result.
//
//	board := &apps.App{URI: "ui://weather/board", Name: "board", HTML: page}
//	resource, contents := board.Resource(), board.Contents()
//
//	tool := mcp.Tool{Name: "get_weather", Meta: apps.ToolMeta(apps.ToolUI{ResourceURI: board.URI})}
//
// [ToolUI] links a tool to a user interface and says who may call it,
// [ResourceUI] says what the document may do. Both are written the way that the
// extension and every host of it want them, and read in all the ways that they
// are written. [Supported] tells a tool whether its caller can show a user
// interface at all, [Views] hides tools that are for user interfaces only from
// clients that do not declare the extension.
//
// [JS] is a small script for the document itself: it speaks to the host.
//
// The extension is io.modelcontextprotocol/ui, SEP-1865, in its version
// 2026-01-26.
package apps

const (
	// Extension is the id under which clients and servers declare the extension.
	Extension = "io.modelcontextprotocol/ui"
	// MIMEType is that of a user interface.
	MIMEType = "text/html;profile=mcp-app"
	// ProtocolVersion is the version of the messages between document and host.
	ProtocolVersion = "2026-01-26"
	// Scheme begins the URI of every user interface.
	Scheme = "ui://"
)
