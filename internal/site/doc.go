// Package site holds what reading and checking StaticMCP sites share: the stores of files
// (a folder, a zip or a web host, as a [Store]), the names of files ([EncodeName],
// [ResourcePaths]), and the few members of definitions and answers that decide where an
// answer is stored.
//
// It knows neither the protocol nor JSON Schema, so that both packages stay close to the
// bottom of the import graph.
package site
