// Package sitebuild writes StaticMCP sites.
//
// A builder (of documents, tables, or a frozen live server) provides a [Site]:
// definitions, and answers one by one. [Write] determines the path of each answer and
// writes the site to an [Output]: a folder, of which only changed files are written, an
// archive, or memory.
//
//	site := &sitebuild.Site{
//		Server: mcp.Implementation{Name: "countries", Version: "1.0.0"},
//		Tools:  []mcp.Tool{getCountry},
//		Answers: func(yield func(*sitebuild.Answer, error) bool) {
//			yield(sitebuild.Text("get_country", map[string]string{"name": "France"}, "Capital: Paris"), nil)
//		},
//	}
//	result, err := sitebuild.Write(ctx, site, sitebuild.Dir("public/mcp"), nil)
//
// The output follows the StaticMCP standard exactly and is reproducible, byte for byte,
// from the same input. Answers whose names collide are distinguished in the standard's
// own form of long names. Memory use depends on the number of answers, not on their size.
package sitebuild
