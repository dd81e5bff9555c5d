// Package mcptest helps to test MCP servers that are built with package mcp.
//
// [TestSource] is the definition of what an [mcp.Source] must do, as a suite of
// tests: whoever writes a Source calls it from a test of their own.
//
//	func TestContract(t *testing.T) {
//		mcptest.TestSource(t, func(t *testing.T) mcp.Source { return newWeather(t) },
//			&mcptest.Options{Calls: []mcptest.Call{
//				{Tool: "forecast", Args: `{"city":"Lyon"}`, Want: "sunny"},
//			}})
//	}
//
// [Connect], [ConnectHTTP] and [ConnectStdio] give a [Client] that speaks to a
// Source as real clients do, in any version of the protocol, through an
// [mcp.Server] and over HTTP or a pair of streams, but in memory.
//
//	c := mcptest.Connect(t, newWeather(t), mcp.LatestVersion, nil)
//	got := c.CallTool("forecast", map[string]string{"city": "Lyon"})
//
// [Golden] keeps what clients see in a folder of files, and shows what has changed.
//
// The rules behind all are those of https://modelcontextprotocol.io/specification,
// "Server Features", and of the documentation of [mcp.Source].
package mcptest
