// Package slipway is the documentation of a library for MCP (Model Context Protocol)
// servers and clients. It has no code; the packages below it do.
//
// Everything is a Source: Go functions, a site of files, a bundle, a definitions file of
// many servers, a server that runs elsewhere. A surface shows a Source to clients of every
// protocol version, and a verb turns it into something else.
//
//	I want to                                          import
//	offer Go functions as tools                        slipway/router
//	run a server as a program: stdio, HTTP, WebSocket  slipway/serve
//	serve inside my own HTTP service                   slipway/mcp/server
//	implement a Source myself                          slipway/mcp
//	test a server                                      slipway/mcp/mcptest
//	call a server                                      slipway/client
//	open a path, URL or command of any kind            slipway/open
//	check a site, bundle, definitions file or server   slipway/open, findings in slipway/check
//	join, edit or swap Sources                         slipway/compose
//	approve what servers offer                         slipway/lock
//	build a site from documents, tables, APIs          slipway/sitebuild
//	freeze a server to a site                          slipway/staticmcp/freeze
//	read a site                                        slipway/staticmcp
//	pack, sign, verify and run bundles                 slipway/mcpb
//	read, merge and render definitions                 slipway/stax, slipway/stax/clients
//	keep the servers of definitions running            slipway/fleet
//	show a user interface next to a tool's result      slipway/apps
//	put the inspector into my own program              slipway/inspect
//
// The smallest server:
//
//	func main() {
//		serve.Main(router.New("hello", "1.0.0",
//			router.Tool("greet", "Greets a person", greet)))
//	}
package slipway
