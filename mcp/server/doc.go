// Package server serves a Source to clients over HTTP, over stdin and stdout, and over
// any connection that carries messages.
//
// A [Server] serves every published version of the protocol, on one URL or one stream:
// 2024-11-05, 2025-03-26, 2025-06-18 and 2025-11-25 after an initialize handshake, and
// 2026-07-28 statelessly.
//
//	srv := server.New(source, nil)
//	http.ListenAndServe("127.0.0.1:8080", srv.HTTPHandler(nil)) // or
//	srv.ServeStdio(ctx, os.Stdin, os.Stdout, nil)
//
// A request passes three stages on one goroutine: the surface (http.go, stdio.go) checks
// the transport and scans the message once; the server (server.go, methods.go) finds the
// method and writes the answer; the Source does the work. Request ids, arguments and
// stored documents are passed on as the original bytes.
package server
