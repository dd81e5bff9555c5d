// Package serve makes a Source available to clients: on an HTTP address with the
// endpoint, health checks and graceful shutdown, or on a pair of streams.
//
//	ctx, stop := serve.Signals(context.Background(), nil)
//	defer stop()
//	err := serve.Run(ctx, src, nil) // http://127.0.0.1:8080/mcp, until Ctrl-C
//
// Clients can also open a WebSocket, at /ws or at the endpoint.
//
// [Run] listens on an address, [Serve] takes a listener, [NewHandler] returns a handler
// for a program with its own http.Server, and [Stdio] serves one client on stdin and
// stdout.
//
// # Health
//
// GET or HEAD, without authentication and regardless of Host and Origin:
//
//	/livez    200 as long as the process answers
//	/readyz   200 if the source is available and the server is not draining, else 503
//	/healthz  the same with a JSON summary; /health is another name for it
//
// Use /livez to decide on restarts, /readyz to decide on routing traffic. The summary
// includes the upstream servers ([Reporting.Upstreams]), and so do the metrics. [Processes]
// lists the servers on this machine, including details that are not exposed over HTTP.
package serve
