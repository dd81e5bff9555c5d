// Package router builds an MCP server from typed Go functions. [New] returns a [Router],
// an [mcp.Source] for every surface:
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
// A server is a list of [Feature] values: [Tool], [Resource], [Folder], [Template],
// [Prompt] and [App] each return one, [Group] prefixes the names of several, [Filter]
// decides who sees them, and [Options] configures the whole router. An option of the
// wrong kind of feature does not compile.
//
// # Types
//
// Each tool gets its input schema, and the code that decodes and checks arguments in one
// pass, from its input type, once. Fields are named as in encoding/json, but case
// matters. A field is required unless it is a pointer, has omitempty or omitzero, or has
// a default. For an optional field, null means absent. Every JSON Schema integer is
// accepted, including 1.0 and 1e3, and none is rounded.
//
// Struct tags are JSON Schema keywords, under the names of that specification:
//
//	doc (or description, jsonschema)  title  example  default  required:"true|false"
//	enum:"a,b,c"  minimum  maximum  exclusiveMinimum  exclusiveMaximum  multipleOf
//	minLength  maxLength  pattern  format  minItems  maxItems  uniqueItems
//	header:"Name" (x-mcp-header of 2026-07-28)
//
// On a slice, minItems, maxItems and uniqueItems apply to the slice, all other keywords
// to its elements. A [time.Time] is an RFC 3339 string, a [time.Duration] a string such
// as "1h30m", a [url.URL] a URI or a relative reference, a []byte base64. Outputs also
// support the map keys and the "string" option that encoding/json supports. A type may
// provide its own schema with a method JSONSchema() mcp.Schema, or its values with Enum()
// []string.
//
// # Calls
//
// Functions run on the goroutine of their request. [mcp.RequestFrom] returns that request
// from ctx, for progress, log lines, questions to the client, and tasks.
package router
