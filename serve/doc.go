// Package serve puts a Source where clients can reach it: on an HTTP address
// with the endpoint, health checks and a graceful end, or on a pair of streams.
//
//	ctx, stop := serve.Signals(context.Background(), nil)
//	defer stop()
//	err := serve.Run(ctx, src, nil) // http://127.0.0.1:8080/mcp, until Ctrl-C
//
// Clients that want a WebSocket open one at /ws, or at the endpoint.
//
// [Run] listens, [Serve] takes a listener, [Handler] is for a program that has
// an http.Server of its own, [Stdio] serves one client on stdin and stdout.
//
// # Health
//
// GET or HEAD, without authentication and whatever the Host and Origin:
//
//	/livez    200 as long as the process answers
//	/readyz   200 if the source is there and the server is not draining, else 503
//	/healthz  the same with a JSON summary; /health is another name for it
//
// Restart a server on /livez, send it traffic on /readyz. The summary has the servers
// behind the Source ([Options.Upstreams]), and so have the metrics. [Processes] finds
// what runs on this machine, with what is not for everybody.
package serve
