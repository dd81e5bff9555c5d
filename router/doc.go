// Package router makes an MCP server out of typed Go functions. [New] returns a
// [Router], an [mcp.Source] for every surface:
//
//	type Where struct {
//		City string `json:"city" doc:"city name"`
//		Unit string `json:"unit" enum:"celsius,fahrenheit" default:"celsius"`
//	}
//
//	r, err := router.New("weather", "1.0.0",
//		router.Tool("get_weather", "Current weather in a city",
//			func(ctx context.Context, in Where) (string, error) {
//				return "sunny in " + in.City, nil
//			}, router.ReadOnly))
//
// What is registered is a [Feature]: [Tool], [Resource], [Folder], [Template],
// [Prompt] and [App] make one, [Group] prefixes several, [Filter] decides who
// sees them, [Options] are settings of the whole. Options of one kind of feature
// do not compile with another.
//
// # Types
//
// The schema of a tool is made from its input type once, and so is the code that
// decodes and checks arguments in one pass. Fields are named as encoding/json
// names them, except that letter case counts. A field is required unless it is a
// pointer, has omitempty or omitzero, or a default. For a field that is not
// required, null counts as absent. All integers of JSON Schema are integers,
// 1.0 and 1e3 among them, and none is rounded.
//
// Tags are keywords of JSON Schema, in the words of that specification:
//
//	doc (or description, jsonschema)  title  example  default  required:"true|false"
//	enum:"a,b,c"  minimum  maximum  exclusiveMinimum  exclusiveMaximum  multipleOf
//	minLength  maxLength  pattern  format  minItems  maxItems  uniqueItems
//	header:"Name" (x-mcp-header of 2026-07-28)
//
// On a slice, the keywords that are not about its length are about its elements.
// A [time.Time] is an RFC 3339 text, a [time.Duration] one such as "1h30m", a
// [url.URL] a URI or a relative reference. A []byte is base64. Outputs may have map
// keys and the option "string" of json tags as encoding/json has them. A type
// may describe itself with a method JSONSchema() mcp.Schema, or Enum() []string.
//
// # Calls
//
// Functions run on the goroutine of their request. Under ctx, [mcp.RequestFrom]
// leads to the client: progress, log lines, questions, tasks.
package router
