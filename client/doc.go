// Package client creates a Source from a server that runs elsewhere, and keeps it alive: a
// child process on stdin and stdout, an HTTP endpoint, or any connection that carries
// messages.
//
//	src, err := client.Open(ctx, &client.Command{Path: "npx", Args: []string{"-y", "some-server"}}, nil)
//	src, err := client.Open(ctx, &client.Endpoint{URL: "https://example.com/mcp"}, nil)
//
// [Open] connects, requests the catalog, and returns a [Source]. The server's definitions
// and answers reach clients as unchanged bytes, including members that this package does
// not know. Client and server may speak different versions of the protocol, even of
// different eras.
//
// # Recovery
//
// If a process dies, a server restarts or a session is forgotten, calls in flight fail
// immediately with an error that contains the exit status and the last stderr lines, and
// the next call restarts the process or reconnects. A call in flight is retried only if
// its tool declares that this is safe (readOnlyHint or idempotentHint), or if the server
// cannot have received it. Failed attempts are retried after 100 milliseconds, then after
// twice as long each time, up to 30 seconds. [Source.State] returns the current state.
//
// # Cleanup
//
// [Source.Close] stops the server and waits until its process, all of its descendants,
// and all goroutines have ended.
//
// The transports are those of https://modelcontextprotocol.io/specification,
// "Transports", in all published versions.
package client
