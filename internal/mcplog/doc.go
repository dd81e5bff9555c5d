// Package mcplog reads and writes recordings of MCP conversations: .mcplog files, which
// may be compressed with gzip.
//
// A recording is a text of JSON lines. The first one is the [Header]; every other one is
// an [Event]. Lines are only appended, so a recording whose program was killed is
// complete except for its last line, which a reader ignores.
//
//	w, err := mcplog.NewWriter(file, &mcplog.Header{By: "slipway 1.0"}, nil)
//	opts := &server.Options{Tap: w.Tap(0)}
//
// [Read] reads a recording, [Recording.Exchanges] pairs requests with their responses,
// [NewScript] answers from it like the server that was recorded, and [Replay] sends
// its requests again and compares the answers.
package mcplog
