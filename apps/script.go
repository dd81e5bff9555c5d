package apps

import (
	_ "embed" // for the script
	"html/template"
)

//go:embed app.js
var script string

// JS returns the script for the document of a user interface: the class McpApp,
// which speaks to the host. It needs nothing else, and its opening comment says
// how to use it.
func JS() string { return script }

// Script returns [JS] as an element for the head of a document. The document is
// all that a host gets, so the script has to be in it.
func Script() template.HTML {
	return template.HTML("<script>\n" + script + "</script>")
}

// Funcs returns the function mcpApp for a template of such a document:
//
//	page := template.Must(template.New("board").Funcs(apps.Funcs()).Parse(text))
//
// In the text, {{ mcpApp }} then stands for [Script].
func Funcs() template.FuncMap { return template.FuncMap{"mcpApp": Script} }
