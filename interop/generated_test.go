package interop_test

import (
	"encoding/base64"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// The generated site is too large for any server to list in one page, and has unusual
// values where a hand-written site is plain.
const (
	manyTools     = 300
	manyResources = 2500
)

// writeSite writes the generated site to a temporary folder and reads it back as a site.
func writeSite(t *testing.T) (site, mistakes) {
	t.Helper()
	dir := t.TempDir()
	manifest := object{
		"protocolVersion": v0618,
		"serverInfo":      object{"name": "generated-site", "version": "1.2.3"},
		"capabilities": object{
			"tools":             append(oddTools(), plainTools()...),
			"resources":         append(oddResources(t, dir), plainResources(t, dir)...),
			"resourceTemplates": itemTemplates(),
			"prompts":           prompts(),
		},
	}
	writeObject(t, filepath.Join(dir, "mcp.json"), manifest)
	writeAnswers(t, dir)
	writePrompts(t, dir)
	s := readSite(t, dir)
	s.calls = append(s.calls, spelledCalls(t, dir)...)
	return s, mistakes{
		tool:      "add",
		wrongType: object{"left": "one", "right": 2},
		missing:   object{"left": 1},
		unknown:   object{"left": 1, "right": 2, "middle": 3},
		unheld:    object{"left": 70, "right": 80},
		prompt:    "translate",
	}
}

func tool(name, description string, required []string, properties object) object {
	return object{
		"name": name, "title": "Title of " + name, "description": description,
		"inputSchema": object{"type": "object", "properties": properties, "required": required},
	}
}

func oddTools() []object {
	weather := tool("weather", "Every kind of content in one answer.", []string{}, object{})
	weather["outputSchema"] = object{
		"type":       "object",
		"properties": object{"wind": object{"type": "integer"}},
		"required":   []string{"wind"},
	}
	return []object{
		tool("title", "Looks a title up.", []string{"title"}, object{"title": object{"type": "string"}}),
		tool("add", "Adds two numbers.", []string{"left", "right"},
			object{"left": object{"type": "integer"}, "right": object{"type": "integer"}}),
		tool("paint", "Mixes a colour.", []string{"colour"},
			object{"colour": object{"type": "string", "enum": []string{"red", "green"}}, "gloss": object{"type": "boolean"}}),
		tool("dotted.tool-name", "Has every sign a tool name may have.", []string{}, object{}),
		tool("broken", "Always answers with an error of its own.", []string{}, object{}),
		weather,
	}
}

func plainTools() []object {
	out := make([]object, 0, manyTools)
	for i := range manyTools {
		out = append(out, tool(fmt.Sprintf("plain_%03d", i), fmt.Sprintf("Plain tool %d.", i), []string{}, object{}))
	}
	return out
}

func text(s string) object { return object{"type": "text", "text": s} }

func answer(content ...object) object { return object{"content": content} }

// spelling is a value as a client sends it, and its file name in the standard's encoding,
// written manually.
type spelling struct{ value, file string }

func spellings() []spelling {
	return []spelling{
		{"plain", "plain"},
		{"Two Words", "two_words"},
		{"  spaced  out ", "__spaced__out_"},
		{"Überraschung & Co.", "uberraschung___co_"},
		{"a/b\\c:d", "a_b_c_d"},
		{"..", "__"},
		{"🚀🚀", "____"},
		{"東京", "__"},
		{"C++", "c__"},
		{strings.Repeat("A", 250), strings.Repeat("a", 183) + "_6caae0a338faa11c"},
	}
}

// spelledCalls are the calls with unencoded values; readSite knows only the encoded
// names.
func spelledCalls(t *testing.T, dir string) []exchange {
	var out []exchange
	for _, s := range spellings() {
		want := readObject(t, filepath.Join(dir, "tools", "title", s.file+".json"))
		out = append(out, exchange{"title", object{"title": s.value}, want})
	}
	return out
}

func writeAnswers(t *testing.T, dir string) {
	put := func(path string, a object) { writeObject(t, filepath.Join(dir, "tools", path), a) }
	for _, s := range spellings() {
		put("title/"+s.file+".json", answer(text("This is "+s.file+" — ünïcode ✓ 🚢 \u2028 \"quoted\" <&>.")))
	}
	put("add/1/2.json", answer(text("3")))
	put("add/2/1.json", answer(text("3, turned around")))
	put("add/-5/5.json", answer(text("0")))
	put("paint/red.json", answer(text("matt red")))
	put("paint/red/true.json", answer(text("shiny red")))
	put("paint/green.json", answer(text("matt green")))
	put("dotted.tool-name.json", answer(text("dots are fine")))
	put("broken.json", object{"content": []object{text("this tool always fails")}, "isError": true})
	put("weather.json", everyContent())
	for i := range manyTools {
		put(fmt.Sprintf("plain_%03d.json", i), answer(text(fmt.Sprintf("answer %d", i))))
	}
}

func everyContent() object {
	return object{
		"content": []object{
			text(`{"wind":7}`),
			{"type": "image", "data": base64.StdEncoding.EncodeToString(pixel()), "mimeType": "image/png"},
			{"type": "audio", "data": base64.StdEncoding.EncodeToString([]byte("RIFF....WAVE")), "mimeType": "audio/wav"},
			{"type": "resource", "resource": object{"uri": "list://item/0001", "mimeType": "text/plain", "text": "inside"}},
			{
				"type":        "resource_link",
				"uri":         "list://item/0002",
				"name":        "item 2",
				"description": "The second.",
				"mimeType":    "text/plain",
			},
		},
		"structuredContent": object{"wind": 7},
	}
}

// pixel is a PNG of one transparent pixel.
func pixel() []byte {
	const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgAAIAAAUAAXpeqz8AAAAASUVORK5CYII="
	data, err := base64.StdEncoding.DecodeString(png)
	if err != nil {
		panic(err)
	}
	return data
}

// oddResources have URIs that are easily mapped to the wrong file. The last two map to
// the same file name, but only one of them has a file: the other must not be answered
// with its neighbour's text.
func oddResources(t *testing.T, dir string) []object {
	t.Helper()
	var out []object
	for _, r := range []struct{ uri, file string }{
		{"http://host:8080/a?b=c#d", "host_8080/a_b_c_d"},
		{"file:///etc//motd.txt", "etc/motd_txt"},
		{"urn:isbn:0451450523", "urn_isbn_0451450523"},
		{"https://Example.com/Überblick/テスト", "example_com/uberblick/___"},
		{"memo://same?name", "same_name"},
		{"memo://same!name", ""},
	} {
		out = append(out,
			object{"uri": r.uri, "name": "Odd " + r.uri, "description": "An odd URI.", "mimeType": "text/plain"})
		if r.file != "" {
			writeObject(t, filepath.Join(dir, "resources", r.file+".json"),
				object{"uri": r.uri, "mimeType": "text/plain", "text": "You asked for " + r.uri})
		}
	}
	writeObject(t, filepath.Join(dir, "resources", "image/pixel.json"),
		object{"uri": "image://image/pixel", "mimeType": "image/png", "blob": base64.StdEncoding.EncodeToString(pixel())})
	return append(out,
		object{"uri": "image://image/pixel", "name": "Pixel", "description": "One pixel.", "mimeType": "image/png"})
}

func plainResources(t *testing.T, dir string) []object {
	t.Helper()
	out := make([]object, 0, manyResources)
	for i := range manyResources {
		uri := fmt.Sprintf("list://item/%04d", i)
		out = append(out,
			object{"uri": uri, "name": fmt.Sprintf("Item %d", i), "description": "One of many.", "mimeType": "text/plain"})
		writeObject(t, filepath.Join(dir, "resources", "item", fmt.Sprintf("%04d.json", i)),
			object{"uri": uri, "mimeType": "text/plain", "text": fmt.Sprintf("text of item %d", i)})
	}
	return out
}

func itemTemplates() []object {
	return []object{{
		"uriTemplate": "list://item/{number}", "name": "Item", "title": "Any item",
		"description": "An item by its number of four digits.", "mimeType": "text/plain",
	}}
}

func prompts() []object {
	return []object{
		{"name": "greet", "title": "A greeting", "description": "Says hello."},
		{"name": "translate", "description": "Asks for a translation.", "arguments": []object{
			{"name": "language", "description": "The language to translate to.", "required": true},
		}},
	}
}

func writePrompts(t *testing.T, dir string) {
	t.Helper()
	ask := func(s string) object {
		return object{"description": s, "messages": []object{{"role": "user", "content": text(s)}}}
	}
	writeObject(t, filepath.Join(dir, "prompts", "greet.json"), ask("Say hello."))
	for _, language := range []string{"french", "finnish", "german"} {
		writeObject(t, filepath.Join(dir, "prompts", "translate", language+".json"), ask("Translate to "+language+"."))
	}
}
