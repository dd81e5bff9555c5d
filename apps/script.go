package apps

import (
	_ "embed" // for the script
	"html/template"
)

//go:embed app.js
var script string

// JS returns the script for the document of a user interface: the class McpApp, which
// communicates with the host. It has no dependencies; its opening comment explains its
// use.
func JS() string { return script }

// Script returns [JS] as an element for the head of a document. The script must be
// inline, as a host receives only the document.
func Script() template.HTML {
	return template.HTML("<script>\n" + script + "</script>")
}

// Funcs returns the function mcpApp for the template of such a document:
//
//	page := template.Must(template.New("board").Funcs(apps.Funcs()).Parse(text))
//
// In the text, {{ mcpApp }} then inserts [Script].
func Funcs() template.FuncMap { return template.FuncMap{"mcpApp": Script} }
