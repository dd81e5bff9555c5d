// Package ws implements MCP over WebSocket: a handler for servers and a dialer for
// clients.
//
//	http.Handle("/ws", ws.NewHandler(server, nil))
//
//	conn, err := ws.Dial(ctx, "ws://127.0.0.1:8080/ws", nil)
//
// The specification defines no WebSocket transport, but allows custom ones that keep its
// messages and patterns (Transports, Custom Transports). Here, each text frame carries
// one JSON-RPC message. Up to 2025-11-25, a session lasts as long as its connection;
// requests of 2026-07-28 are self-contained, as on every transport. One connection may
// carry both.
//
// # Subprotocols
//
// The server selects one of the offered subprotocols, in this order: mcp.v1, mcp, then
// mcp.version.X for a version X that it supports. A client that offers none is served
// without one, unless [Options.RequireSubprotocol] is set. mcp.auth.TOKEN is not a
// subprotocol but a bearer token, for clients that cannot set headers: web pages.
//
// # Close codes
//
//	1001  the server is shutting down
//	1002  the client broke the WebSocket protocol
//	1003  a binary frame
//	1007  a text frame that is not UTF-8
//	1008  the client reads too slowly, or failed [Options.Revalidate]
//	1009  a message over [Options.MaxMessage]
//	1013  a limit of [server.Budget] is reached
package ws
