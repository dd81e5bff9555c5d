// Package interop holds the proof that Slipway works with programs its authors
// did not write: the official Go SDK, mcp-go, two generations of the
// TypeScript SDK, the MCP Inspector, and sites made by the docusaurus-smg
// generator or kept on a plain static host. Servers are foreign, too: those of
// both Go SDKs and the reference server of the TypeScript one stand behind slipway,
// over every transport they have.
//
// It contains tests only, and is a module of its own so that no foreign SDK
// enters Slipway's go.mod. The tests build the slipway binary from the source
// tree beside them and talk to it as a user's client would, over stdio and
// over HTTP, pinned to each protocol version the client knows. They import
// nothing of Slipway: what a site must answer is read from its files.
//
// Run everything with one command, from the root of the repository:
//
//	scripts/interop
//
// It installs Node and the npm packages the checks need into the user's cache
// folder. A plain go test ./... in this folder needs neither and leaves out
// what does; scripts/interop counts a check left out as a failure.
package interop
