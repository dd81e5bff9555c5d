package main

import _ "embed" // for the documents

// fixtureApp shows what it receives. It has one barrier: an image without a text.
//
//go:embed fixture.html
var fixtureApp string

// hostileApp attacks the page around it, with messages and without.
//
//go:embed hostile.html
var hostileApp string

// withApp has one tool with the fixture.
type withApp struct{}

// answer implements server with one tool, whose app is a fixed page.
func (withApp) answer(m *message, _ func(object)) (any, object) {
	switch m.Method {
	case "initialize":
		return object{
			"protocolVersion": "2025-11-25",
			"serverInfo":      object{"name": "fixture", "version": "1"},
			"capabilities":    object{"tools": object{}, "resources": object{}},
		}, nil
	case "tools/list":
		return object{"tools": []object{appTool("show", "ui://fixture/page")}}, nil
	case "resources/list":
		return object{"resources": []object{}}, nil
	case "resources/read":
		return appDocument(m.Params.URI, fixtureApp), nil
	case "tools/call":
		return text("called"), nil
	}
	return missing(m)
}

// appTool returns a tool with a user interface.
func appTool(name, uri string) object {
	return object{
		"name": name,
		"inputSchema": object{"type": "object", "properties": object{
			"text": object{"type": "string"},
			"tone": object{"type": "string", "default": "plain"},
		}},
		"_meta": object{"ui": object{"resourceUri": uri}},
	}
}

// appDocument returns the contents of an app's resource.
func appDocument(uri, html string) object {
	return object{"contents": []object{{"uri": uri, "mimeType": "text/html;profile=mcp-app", "text": html}}}
}
