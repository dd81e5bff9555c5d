package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// attacks are strings that must stay strings. Each would set window.owned if it ran.
var attacks = []string{
	`<img src=x onerror="window.owned=1">`,
	`<script>window.owned=1</script>`,
	`"><svg onload=window.owned=1>`,
	`javascript:window.owned=1`,
	`[click](javascript:window.owned=1)`,
	`![x](https://attacker.example/pixel.png)`,
	`<a href="javascript:window.owned=1">link</a>`,
	"\u202eevil\u202c \u2066\u2067 right to left \u2069",
	"{{constructor.constructor('window.owned=1')()}}",
	"__proto__",
	"<style>*{display:none!important}</style>",
	"\x1b[31mred\x1b[0m \x00 \u2028 \ufeff",
}

// slowTexts are Markdown that takes a careless reader minutes, or exhausts its stack.
func slowTexts() []string {
	const n = 29_000 // twice as much is still drawn as Markdown
	return []string{
		"| a |\n" + strings.Repeat(" ", 2*n) + "x",
		"| a |\n" + strings.Repeat(" |", n) + "x",
		strings.Repeat("![](", n/2),
		strings.Repeat("[](", n/2) + "a",
		"![](" + strings.Repeat("a", 2*n),
		strings.Repeat("[", 2*n),
		strings.Repeat("![", n),
		strings.Repeat("`", n) + strings.Repeat("a", n),
		"# " + strings.Repeat("#", 2*n) + "a",
		"# " + strings.Repeat(" #", n) + "a\u2028",
		"- " + strings.Repeat(" ", 2*n) + "a\u2028",
		strings.Repeat(">", 2*n),
		strings.Repeat("- ", n) + "\n  x",
		strings.Repeat(" *a", n/3) + strings.Repeat(" _a", n/3),
		strings.Repeat("- ", n) + "x",
	}
}

// brokenQuestions are params of questions that have another form than the specification says.
var brokenQuestions = map[string][]any{
	"sampling/createMessage": {
		object{"messages": []any{nil, 1, []any{}}, "maxTokens": 1},
		object{"messages": []object{{"role": object{}, "content": []any{nil}}}, "maxTokens": 1},
	},
	"elicitation/create": {
		object{"message": object{"a": 1}, "requestedSchema": object{"type": "object", "properties": object{"a": nil}}},
	},
}

// hostile attacks the page with everything that it shows.
type hostile struct {
	word string // of 1 MB, without a place to break
}

// newHostile returns a server with a word of 1 MiB.
func newHostile() *hostile {
	return &hostile{word: strings.Repeat("W", 1<<20)}
}

// attack returns one of the attacks, with a number to tell them apart.
func attack(i int) string {
	return fmt.Sprintf("%d%s", i, attacks[i%len(attacks)])
}

// hostileURI is the user interface that attacks the page around it.
const hostileURI = "ui://hostile/page"

// answer puts an attack into every field that a page may show, valid JSON-RPC throughout.
func (h *hostile) answer(m *message, send func(object)) (any, object) {
	switch m.Method {
	case "initialize":
		return object{
			"protocolVersion": "2025-11-25",
			"serverInfo": object{
				"name": attack(0), "title": attack(1), "version": attack(2), "websiteUrl": "javascript:window.owned=1",
				"icons": []object{{"src": "https://attacker.example/icon.png"}, {"src": "javascript:window.owned=1"}},
			},
			"capabilities": object{
				"tools": object{}, "resources": object{"subscribe": true}, "prompts": object{}, "logging": object{},
				"completions": object{}, "experimental": object{attack(0): object{attack(1): attack(2)}},
			},
			"instructions": strings.Join(attacks, "\n\n") + "\n\n# " + h.word[:5000] +
				"\n\n" + slowTexts()[0][:20_000] + "x",
		}, nil
	case "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe":
		return object{}, nil
	case "tools/list":
		return object{"tools": h.tools()}, nil
	case "resources/list":
		return object{"resources": h.resources()}, nil
	case "resources/templates/list":
		return object{"resourceTemplates": []object{
			{"uriTemplate": "javascript:{x}", "name": attack(1), "description": attack(2)},
			{"uriTemplate": "evil://{" + "a}/{b}", "name": attack(0), "title": attack(3)},
		}}, nil
	case "prompts/list":
		list := []object{}
		for i := range attacks {
			list = append(list, object{
				"name": attack(i), "title": attack(i + 1), "description": attack(i + 2),
				"arguments": []object{{
					"name":        attack(i),
					"title":       attack(i + 3),
					"description": attack(i + 4),
					"required":    i%2 == 0,
				}},
			})
		}
		return object{"prompts": list}, nil
	case "completion/complete":
		return object{"completion": object{"values": attacks, "total": 12}}, nil
	case "prompts/get":
		return object{"description": attack(0), "messages": []object{
			{"role": attack(1), "content": object{"type": "text", "text": strings.Join(attacks, "\n")}},
			{"role": "user", "content": object{"type": "resource", "resource": object{
				"uri": "javascript:window.owned=1", "mimeType": "text/html", "text": attacks[0],
			}}},
		}}, nil
	case "resources/read":
		if m.Params.URI == hostileURI {
			list, _ := json.Marshal(attacks) // it escapes "<"
			return appDocument(hostileURI, strings.Replace(hostileApp, "ATTACKS", string(list), 1)), nil
		}
		return object{"contents": []object{
			{"uri": m.Params.URI, "mimeType": "text/html", "text": strings.Join(attacks, "\n")},
			{"uri": "javascript:window.owned=1", "mimeType": "text/markdown", "text": "# x\n\n" + strings.Join(attacks, "\n\n")},
			{"uri": attacks[0], "mimeType": "image/svg+xml", "blob": "PHN2ZyBvbmxvYWQ9IndpbmRvdy5vd25lZD0xIi8+"},
		}}, nil
	case "tools/call":
		return h.call(m, send)
	}
	return nil, object{"code": -32601, "message": attack(0), "data": attack(1)}
}

// tools returns a tool for each attack, one with a hostile user interface, one that only
// models see, and one with a name longer than any layout expects.
func (h *hostile) tools() []object {
	list := []object{}
	for i := range attacks {
		list = append(list, object{
			"name": attack(i), "title": attack(i + 1), "description": attack(i+2) + "\n\n" + attack(i+3),
			"icons": []object{
				{"src": "https://attacker.example/icon.png"},
				{"src": "data:text/html,<script>window.owned=1</script>"},
			},
			"inputSchema": object{"type": "object", "title": attack(i), "description": attack(i), "properties": object{
				attack(i): object{"type": "string", "title": attack(i + 1), "description": attack(i + 2), "default": attack(i + 3),
					"examples": []string{attack(i)}, "pattern": "(a+)+$"},
				"choice": object{"enum": []string{attack(i), attack(i + 1)}},
				"one": object{"oneOf": []object{
					{"title": attack(i), "type": "string"},
					{"title": attack(i + 1), "type": "null"},
				}},
			}, "required": []string{attack(i)}},
			"annotations": object{"title": attack(i + 4), "readOnlyHint": true},
		})
	}
	app := appTool("attack", hostileURI)
	app["title"] = attack(0)
	app["annotations"] = object{"readOnlyHint": true}
	hidden := object{
		"name":        "for_models",
		"inputSchema": object{"type": "object"},
		"_meta":       object{"ui": object{"visibility": []string{"model"}}},
	}
	return append(list, app, hidden, object{
		"name": "long", "title": h.word, "description": h.word,
		"inputSchema": object{"type": "object", "properties": object{
			h.word[:100_000]: object{"type": "string", "title": h.word[:100_000]},
		}},
		"annotations": object{"readOnlyHint": true},
	}, object{
		"name": "slow", "description": "# slow\n\n" + slowTexts()[1],
		"inputSchema": object{"type": "object"},
		"annotations": object{"readOnlyHint": true},
	}, object{
		"name":        "asks",
		"inputSchema": object{"type": "object"},
		"annotations": object{"readOnlyHint": true},
	}, object{
		"name":        "hang",
		"inputSchema": object{"type": "object"},
		"annotations": object{"readOnlyHint": true},
	})
}

// resources returns a list in which every text is an attack.
func (h *hostile) resources() []object {
	list := []object{}
	for i := range attacks {
		list = append(list, object{
			"uri": fmt.Sprintf("evil://%d/%s", i, attacks[i]), "name": attack(i), "title": attack(i + 1),
			"description": attack(i + 2), "mimeType": attack(i + 3),
		})
	}
	return append(list, object{
		"uri":         "javascript:window.owned=1",
		"name":        h.word,
		"description": h.word,
	})
}

// call sends the attacks as log messages and as methods that do not exist, then as content of
// every kind. The tools slow, asks and hang do what their names say.
func (h *hostile) call(m *message, send func(object)) (any, object) {
	switch m.Params.Name {
	case "hang":
		return nil, nil
	case "slow":
		list := []object{}
		for _, slow := range slowTexts() {
			list = append(list, object{"type": "text", "text": "# slow\n\n" + slow})
		}
		return object{"content": list}, nil
	case "asks":
		for method, all := range brokenQuestions {
			for i, params := range all {
				send(object{"jsonrpc": "2.0", "id": fmt.Sprint(method, i), "method": method, "params": params})
			}
		}
		return text("asked"), nil
	}
	for i := range attacks {
		send(object{"jsonrpc": "2.0", "method": "notifications/message", "params": object{
			"level": "error", "logger": attack(i), "data": attack(i + 1),
		}})
		send(object{
			"jsonrpc": "2.0",
			"method":  attacks[i],
			"params":  object{attack(i): attack(i)},
		})
	}
	content := []object{
		{"type": "text", "text": strings.Join(attacks, "\n\n")},
		{"type": "text", "text": h.word},
		{"type": "resource_link", "uri": "javascript:window.owned=1", "name": attack(0)},
		{"type": "image", "mimeType": `image/png" onerror="window.owned=1`, "data": "AAAA"},
		{"type": "image", "mimeType": "image/svg+xml", "data": "PHN2ZyBvbmxvYWQ9IndpbmRvdy5vd25lZD0xIi8+"},
		{"type": "audio", "mimeType": "audio/wav", "data": `" onerror="window.owned=1`},
		{"type": attacks[1], "text": attacks[2]},
	}
	return object{
		"content":           content,
		"structuredContent": object{attack(0): attack(1), "__proto__": object{"owned": attack(2)}, "long": h.word},
	}, nil
}
