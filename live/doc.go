// Package live makes a Source of a server that runs somewhere else, and keeps it
// alive: a child process that speaks over stdin and stdout, an HTTP endpoint, or
// any connection that carries messages.
//
//	src, err := live.Open(ctx, &live.Command{Path: "npx", Args: []string{"-y", "some-server"}}, nil)
//	src, err := live.Open(ctx, &live.Endpoint{URL: "https://example.com/mcp"}, nil)
//
// [Open] connects, asks the server what it offers, and returns a [Source]. What
// the server defines and answers reaches clients in its own bytes, members that
// this package does not know included. Client and server may speak different
// versions of the protocol, and different eras.
//
// # It does not stay broken
//
// A process that dies, a server that restarts, a session that was forgotten: calls
// in flight fail at once, in words that hold the exit status and the last lines
// the process wrote to stderr, and the next call restarts it or reconnects. A call
// that was in flight is repeated only if its tool says that this does no harm
// (readOnlyHint or idempotentHint), or if the server cannot have seen it.
// Attempts that fail are made again after 100 milliseconds, then twice as long,
// up to 30 seconds. [Source.State] tells how it is.
//
// # It does not leak
//
// [Source.Close] ends the server and waits until its process, whatever that has
// started, and all goroutines are gone.
//
// The transports are those of https://modelcontextprotocol.io/specification,
// "Transports", in all published versions.
package live
