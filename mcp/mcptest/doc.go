// Package mcptest tests MCP servers that are built with package mcp.
//
// [TestSource] is a test suite that defines the behaviour required of an [mcp.Source]. If
// you write a Source, call it from one of your tests:
//
//	func TestContract(t *testing.T) {
//		mcptest.TestSource(t, func(t *testing.T) mcp.Source { return newWeather(t) },
//			&mcptest.Options{Calls: []mcptest.Call{
//				{Tool: "forecast", Args: `{"city":"Lyon"}`, Want: "sunny"},
//			}})
//	}
//
// [Connect], [ConnectHTTP] and [ConnectStdio] return a [Client] that talks to a Source
// like a real client, in any version of the protocol, through an [server.Server] and over
// HTTP or a pair of streams, but in memory.
//
//	c := mcptest.Connect(t, newWeather(t), mcp.LatestVersion, nil)
//	got := c.CallTool("forecast", map[string]string{"city": "Lyon"})
//
// [RenderApp] shows the user interface of a tool in a browser, and clicks and types in it.
//
// [Golden] compares what clients see with a folder of golden files.
//
// The rules are those of https://modelcontextprotocol.io/specification, "Server
// Features", and of the documentation of [mcp.Source].
package mcptest
