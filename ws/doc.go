// Package ws carries MCP over WebSocket: a surface for a server, and a dialer
// for clients.
//
//	http.Handle("/ws", ws.NewHandler(server, nil))
//
//	conn, err := ws.Dial(ctx, "ws://127.0.0.1:8080/ws", nil)
//
// The specification defines no WebSocket transport, but allows others that keep
// its messages and patterns (Transports, Custom Transports). This one puts one
// JSON-RPC message into one text frame. A client up to 2025-11-25 has a session
// that lasts as long as its connection; a request of 2026-07-28 says everything
// about itself, here as anywhere else. Both may use one connection.
//
// # Subprotocols
//
// The server chooses from what the client offers, and says nothing that was not
// offered: mcp.v1, else mcp, else mcp.version.X for a version X that it speaks.
// A client that offers none is served all the same, unless
// [Options.RequireSubprotocol] is set. mcp.auth.TOKEN is no subprotocol but a
// bearer token, from those that cannot set a header: web pages.
//
// # Close codes
//
//	1001  the server is ending
//	1002  the client broke the WebSocket protocol
//	1003  a binary frame
//	1007  a text frame that is not UTF-8
//	1008  the client reads too slowly
//	1009  a message over [Options.MaxMessage]
package ws
