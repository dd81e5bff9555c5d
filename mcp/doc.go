// Package mcp is the protocol core: the capabilities of a Model Context Protocol server
// ([Source], [Catalog] and the wire types), and the [Server] that exposes a Source to
// clients over HTTP and over stdin and stdout.
//
// A Source provides MCP capabilities: Go functions, a folder of answers, or a remote
// server. A Server serves it in every published version of the protocol, on one URL or
// one stream: 2024-11-05, 2025-03-26, 2025-06-18 and 2025-11-25 after an initialize
// handshake, and 2026-07-28 statelessly.
//
//	srv := mcp.NewServer(source, nil)
//	http.ListenAndServe("127.0.0.1:8080", srv.HTTPHandler(nil)) // or
//	srv.ServeStdio(ctx, os.Stdin, os.Stdout)
//
// A request passes three stages on one goroutine: the surface (http.go, stdio.go) checks
// the transport and scans the message once; the server (server.go, methods.go) finds the
// method and writes the answer; the Source does the work. Request ids, arguments and
// stored documents are passed on as the original bytes.
//
// Names on the wire are those of the specification,
// https://modelcontextprotocol.io/specification.
package mcp
