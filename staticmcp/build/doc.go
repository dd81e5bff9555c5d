// Package build writes StaticMCP sites.
//
// A builder (of documents, of tables, of a live server that is frozen) hands over
// a [Site]: definitions, and the answers one by one. [Write] finds out where each
// belongs and brings the whole to an [Output]: a folder, of which only what
// changed is written, an archive, or memory.
//
//	site := &build.Site{
//		Server: mcp.Implementation{Name: "countries", Version: "1.0.0"},
//		Tools:  []mcp.Tool{getCountry},
//		Answers: func(yield func(*build.Answer, error) bool) {
//			yield(build.Text("get_country", map[string]string{"name": "France"}, "Capital: Paris"), nil)
//		},
//	}
//	result, err := build.Write(ctx, site, build.Dir("public/mcp"), nil)
//
// What is written follows the StaticMCP standard to the letter and is the same,
// byte for byte, for the same input. Answers whose names collide are told apart
// in the standard's own form of long names. Memory is bounded by the number of
// answers, not by their size.
package build
