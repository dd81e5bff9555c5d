package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// zoo has one of each: every kind of field, of content, of question and of notification. It
// answers in both eras: server/discover makes it a server of 2026-07-28, whose questions are
// part of results.
type zoo struct {
	ask func(method string, params object) json.RawMessage // nil if the server cannot ask

	crashed string // the file that the tool crash creates, or empty

	mu      sync.Mutex // guards the following
	changed bool       // the lists have changed
	// subscribed has the URIs of subscriptions before 2026-07-28, listeners those since.
	subscribed map[string]bool
	listeners  map[*listener]bool
	reads      int // of the counter
}

// listener is a subscription of 2026-07-28.
type listener struct {
	// id is the id of the request that opened it. Notifications repeat it.
	id     json.RawMessage
	filter struct {
		Tools bool     `json:"toolsListChanged"`
		URIs  []string `json:"resourceSubscriptions"`
	}
	send func(object)
}

// listen acknowledges a subscription, and keeps it open until the client has gone.
func (z *zoo) listen(m *message, send func(object)) {
	l := &listener{
		id:   m.ID,
		send: send,
	}
	var r struct {
		Params struct {
			Notifications json.RawMessage `json:"notifications"`
		} `json:"params"`
	}
	_ = json.Unmarshal(m.raw, &r)
	_ = json.Unmarshal(r.Params.Notifications, &l.filter)
	l.notify("subscriptions/acknowledged", object{"notifications": object{
		"toolsListChanged": l.filter.Tools, "resourceSubscriptions": l.filter.URIs,
	}})
	z.mu.Lock()
	z.listeners[l] = true
	z.mu.Unlock()
	<-m.done
	z.mu.Lock()
	delete(z.listeners, l)
	z.mu.Unlock()
}

// notify sends a notification on the stream of the subscription.
func (l *listener) notify(method string, params object) {
	params["_meta"] = object{"io.modelcontextprotocol/subscriptionId": l.id}
	l.send(object{
		"jsonrpc": "2.0",
		"method":  "notifications/" + method,
		"params":  params,
	})
}

// notifyAll sends a notification to the listeners that want it.
func (z *zoo) notifyAll(method string, params func() object, wants func(*listener) bool) {
	z.mu.Lock()
	defer z.mu.Unlock()
	for l := range z.listeners {
		if wants(l) {
			l.notify(method, params())
		}
	}
}

// newZoo takes the file that the tool crash creates. Without one, there is no such tool.
func newZoo(crashed string) *zoo {
	if _, err := os.Stat(crashed); err == nil {
		crash()
	}
	return &zoo{
		crashed:    crashed,
		subscribed: make(map[string]bool),
		listeners:  make(map[*listener]bool),
	}
}

// crash ends the process like a program that fails at run time.
func crash() {
	fmt.Fprintln(os.Stderr, "FATAL: the license has expired")
	os.Exit(1)
}

// attach sets the function that asks the client.
func (z *zoo) attach(ask func(string, object) json.RawMessage) { z.ask = ask }

// request is the parts of a request that only the zoo reads, as they came.
type request struct {
	Params struct {
		Arguments      json.RawMessage            `json:"arguments"`
		InputResponses map[string]json.RawMessage `json:"inputResponses"`
		Argument       struct {
			Name  string `json:"name"`
			Value string `json:"value"`
		} `json:"argument"`
	} `json:"params"`
}

// schemaZoo has a member for every kind of field that a form can show.
const schemaZoo = `{
	"type": "object",
	"required": ["name", "pet"],
	"properties": {
		"name": {"type": "string", "minLength": 2, "description": "At least two characters"},
		"note": {"type": ["string", "null"], "description": "Absent, null and empty differ"},
		"level": {"enum": ["low", "high", null], "default": "low"},
		"pet": {"oneOf": [
			{"title": "Cat", "type": "object", "required": ["kind", "meows"],
				"properties": {"kind": {"const": "cat"}, "meows": {"type": "boolean"}}},
			{"title": "Dog", "type": "object", "required": ["kind", "barks"],
				"properties": {"kind": {"const": "dog"}, "barks": {"type": "integer", "minimum": 0}}}]},
		"size": {"anyOf": [{"type": "integer"}, {"type": "string", "pattern": "^[0-9]+ ?(cm|m)$"}]},
		"scores": {"type": "object", "additionalProperties": {"type": "number"}},
		"point": {"type": "array", "prefixItems": [{"type": "number", "title": "x"}, {"type": "number", "title": "y"}],
			"items": false},
		"tree": {"$ref": "#/$defs/node"},
		"serial": {"type": "integer", "description": "Up to 64 bits"},
		"price": {"type": "number", "multipleOf": 0.01},
		"photo": {"type": "string", "contentEncoding": "base64", "contentMediaType": "image/png"},
		"due": {"type": "string", "format": "date-time"},
		"tags": {"type": "array", "uniqueItems": true, "items": {"enum": ["red", "green", "blue"]}},
		"rows": {"type": "array", "items": {"$ref": "#/$defs/row"}},
		"both": {"allOf": [{"properties": {"a": {"type": "string"}}},
			{"properties": {"b": {"type": "integer"}}, "required": ["b"]}]},
		"anything": {}
	},
	"if": {"properties": {"level": {"const": "high"}}, "required": ["level"]},
	"then": {"required": ["note"]},
	"$defs": {
		"node": {"type": "object", "required": ["value"], "properties": {
			"value": {"type": "string"},
			"children": {"type": "array", "items": {"$ref": "#/$defs/node"}}}},
		"row": {"type": "object", "properties": {"id": {"type": "integer"}, "label": {"type": "string"}}}
	}
}`

// png is an image of 1 pixel, and wav a sound of 8 samples.
const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// wav is a sound of eight samples.
var wav = base64.StdEncoding.EncodeToString([]byte("RIFF\x2c\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00" +
	"\x40\x1f\x00\x00\x40\x1f\x00\x00\x01\x00\x08\x00data\x08\x00\x00\x00\x80\xa0\x80\x60\x80\xa0\x80\x60"))

// markdown has each element that the page renders.
const markdown = "# Weekly report\n\nSales **rose** by `12 %`, see [the site](https://example.com/report).\n\n" +
	"| region | sold |\n| --- | ---: |\n| north | 120 |\n| south | 80 |\n\n" +
	"1. check the *numbers*\n2. send it\n\n> One line of a quote\n\n```go\nfmt.Println(\"hello\")\n```\n\n" +
	"- [x] done\n- [ ] open\n"

// tools returns the current tools; the tool change adds, removes and edits some of them.
func (z *zoo) tools() []object {
	tool := func(name, about, schema string) object {
		return object{"name": name, "description": about, "inputSchema": json.RawMessage(schema),
			"annotations": object{"readOnlyHint": true}}
	}
	one := func(values string) string {
		return `{"type":"object","required":["kind"],"properties":{"kind":{"enum":[` + values + `]}}}`
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	none := `{"type":"object"}`
	list := []object{
		tool("echo_fields", "Returns its arguments as they came", schemaZoo),
		tool("show", "Returns content of one kind",
			one(`"markdown","json","image","audio","links","resources","table","wrong","right","error","html",`+
				`"malformed"`)),
		tool("ask", "Asks a question", one(`"form","url","sampling","roots","two"`)),
		tool("log", "Sends log messages and progress", none),
		tool("change", "Changes its lists", none),
		tool("touch", "Changes the counter", none),
	}
	if z.crashed != "" {
		list = append(list, tool("crash", "Ends the server", none))
	}
	list[1]["outputSchema"] = object{"type": "object", "required": []string{"total"},
		"properties": object{"total": object{"type": "integer"}}}
	if z.changed {
		list[3]["description"] = "Sends log messages, and progress in three steps"
		list = append(list[:2], list[3:]...)
		list = append(list, tool("added", "Was not here before", none))
	}
	return list
}

// answer serves both eras: methods that exist in one of them only are missing in the other,
// and results of 2026-07-28 say how long they may be cached.
func (z *zoo) answer(m *message, send func(object)) (any, object) {
	var r request
	_ = json.Unmarshal(m.raw, &r) // it was decoded before
	capabilities := object{
		"tools": object{"listChanged": true}, "resources": object{"subscribe": true, "listChanged": true},
		"prompts": object{}, "logging": object{}, "completions": object{},
	}
	info := object{"name": "zoo", "title": "Zoo", "version": "2.0.0"}
	cached := func(o object) object {
		if m.modern {
			o["resultType"] = "complete"
			o["ttlMs"] = 0
			o["cacheScope"] = "private"
		}
		return o
	}
	switch m.Method {
	case "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe":
		if m.modern {
			return missing(m)
		}
	case "subscriptions/listen":
		if !m.modern || m.done == nil {
			return missing(m)
		}
		z.listen(m, send)
		return nil, nil
	}
	switch m.Method {
	case "initialize":
		return object{
			"protocolVersion": "2025-11-25",
			"serverInfo":      info,
			"capabilities":    capabilities,
		}, nil
	case "server/discover":
		if !m.modern {
			return missing(m)
		}
		o := cached(object{"supportedVersions": []string{"2026-07-28"}, "capabilities": capabilities})
		o["_meta"] = object{"io.modelcontextprotocol/serverInfo": info}
		return o, nil
	case "ping", "logging/setLevel":
		return object{}, nil
	case "resources/subscribe", "resources/unsubscribe":
		z.mu.Lock()
		defer z.mu.Unlock()
		z.subscribed[m.Params.URI] = m.Method == "resources/subscribe"
		return object{}, nil
	case "tools/list":
		return cached(object{"tools": z.tools()}), nil
	case "resources/list":
		return cached(object{"resources": []object{
			{"uri": "zoo://counter", "name": "counter", "mimeType": "application/json", "description": "Counts its reads"},
			{"uri": "zoo://report", "name": "report", "mimeType": "text/markdown", "size": len(markdown)},
			{"uri": "zoo://logo", "name": "logo", "mimeType": "image/png"},
		}}), nil
	case "resources/templates/list":
		return cached(object{"resourceTemplates": []object{
			{"uriTemplate": "zoo://{section}/{page}", "name": "page", "mimeType": "text/plain"},
		}}), nil
	case "prompts/list":
		return cached(object{"prompts": []object{{"name": "review", "description": "Reviews code", "arguments": []object{
			{"name": "language", "required": true}, {"name": "code", "description": "What to review", "required": true},
		}}}}), nil
	case "prompts/get":
		return cached(object{"messages": []object{
			{"role": "user", "content": object{"type": "text", "text": "Review this **code**."}},
			{"role": "assistant", "content": object{"type": "resource", "resource": object{
				"uri": "zoo://report", "mimeType": "text/markdown", "text": markdown}}},
			{"role": "user", "content": object{"type": "image", "mimeType": "image/png", "data": png}},
		}}), nil
	case "completion/complete":
		return cached(object{"completion": complete(r.Params.Argument.Value)}), nil
	case "resources/read":
		return cached(z.read(m.Params.URI)), nil
	case "tools/call":
		result, failure := z.call(m, &r, send)
		if o, ok := result.(object); ok && m.modern && o["resultType"] == nil {
			o["resultType"] = "complete"
		}
		return result, failure
	}
	return missing(m)
}

// complete returns the suggestions that begin with what was typed.
func complete(typed string) object {
	found := []string{}
	for _, v := range []string{"api", "apps", "guide", "go", "java", "rust"} {
		if strings.HasPrefix(v, typed) {
			found = append(found, v)
		}
	}
	return object{"values": found, "total": len(found), "hasMore": false}
}

// read returns a resource; zoo://counter counts its reads, so that a test sees a cached one.
func (z *zoo) read(uri string) object {
	one := object{"uri": uri, "mimeType": "text/plain", "text": "read " + uri}
	switch uri {
	case "zoo://counter":
		z.mu.Lock()
		defer z.mu.Unlock()
		z.reads++
		one["mimeType"] = "application/json"
		one["text"] = fmt.Sprintf(`{"reads":%d}`, z.reads)
	case "zoo://report":
		one["mimeType"] = "text/markdown"
		one["text"] = markdown
	case "zoo://logo":
		one = object{"uri": uri, "mimeType": "image/png", "blob": png}
	}
	return object{"contents": []object{one}}
}

// call runs a tool. send writes a notification before the answer.
func (z *zoo) call(m *message, r *request, send func(object)) (any, object) {
	kind, _ := m.Params.Arguments["kind"].(string)
	notify := func(method string, params object) {
		send(object{
			"jsonrpc": "2.0",
			"method":  "notifications/" + method,
			"params":  params,
		})
	}
	switch m.Params.Name {
	case "echo_fields":
		return text(string(r.Params.Arguments)), nil
	case "show":
		return show(kind), nil
	case "ask":
		return z.question(m, r, kind), nil
	case "log":
		for i, level := range []string{"debug", "info", "notice", "warning", "error"} {
			data := object{"step": i, "text": "the " + level + " line"}
			notify("message", object{
				"level":  level,
				"logger": "zoo",
				"data":   data,
			})
			done := object{
				"progressToken": m.Params.Meta.Token,
				"progress":      i + 1,
				"total":         5,
				"message":       level,
			}
			notify("progress", done)
			time.Sleep(200 * time.Millisecond)
		}
		return text("logged"), nil
	case "change":
		z.mu.Lock()
		z.changed = !z.changed
		z.mu.Unlock()
		if m.modern {
			none := func() object { return object{} }
			z.notifyAll("tools/list_changed", none, func(l *listener) bool {
				return l.filter.Tools
			})
		} else {
			notify("tools/list_changed", object{})
		}
		return text("changed"), nil
	case "touch":
		z.mu.Lock()
		listens := z.subscribed["zoo://counter"]
		z.mu.Unlock()
		if listens {
			notify("resources/updated", object{"uri": "zoo://counter"})
		}
		z.notifyAll("resources/updated", func() object { return object{"uri": "zoo://counter"} }, func(l *listener) bool {
			return slices.Contains(l.filter.URIs, "zoo://counter")
		})
		return text("touched"), nil
	case "added":
		return text("new"), nil
	case "crash":
		if os.WriteFile(z.crashed, nil, 0o600) == nil {
			crash()
		}
	}
	return nil, object{"code": -32602, "message": "no tool " + m.Params.Name}
}

// embedded returns a resource as content.
func embedded(member, data, uri, mimeType string) object {
	return object{"type": "resource", "resource": object{"uri": uri, "mimeType": mimeType, member: data}}
}

// show returns content of one kind.
func show(kind string) object {
	result := text(kind)
	items := func(list ...object) object { return object{"content": list} }
	switch kind {
	case "markdown":
		result = text(markdown)
	case "html":
		result = text("<h1>Not a heading</h1>\n<script>window.owned=1</script>")
	case "json":
		result = text(`{"list":[{"id":9007199254740993,"name":"needle"},{"id":2,"name":"hay"}],` +
			`"deep":{"a":{"b":{"c":"found"}}}}`)
	case "image":
		result = items(object{
			"type":     "image",
			"mimeType": "image/png",
			"data":     png,
		})
	case "audio":
		result = items(object{
			"type":     "audio",
			"mimeType": "audio/wav",
			"data":     wav,
		})
	case "links":
		result = items(
			object{"type": "resource_link", "uri": "zoo://report", "name": "report", "description": "The report of the week",
				"mimeType": "text/markdown", "size": 1234},
			object{"type": "resource_link", "uri": "https://example.com/a?b=c", "name": "a web page"},
			object{"type": "text", "text": "See https://example.com/page for more.",
				"annotations": object{"audience": []string{"user"}, "priority": 0.9}},
		)
	case "resources":
		result = items(
			embedded("text", markdown, "zoo://report", "text/markdown"),
			embedded("blob", png, "zoo://logo", "image/png"),
			embedded("blob", "UEsFBgAAAAAAAAAAAAAAAAAAAAAAAA==", "zoo://data", "application/zip"),
		)
	case "table":
		result["structuredContent"] = object{"total": 2, "rows": []object{
			{"id": 1, "name": "one, or \"first\""}, {"id": 2, "name": "two"},
		}}
	case "wrong":
		result["structuredContent"] = object{"total": "many"}
	case "right":
		result["structuredContent"] = object{"total": 7}
	case "error":
		result["isError"] = true
	case "malformed":
		result = object{"content": object{"type": "text", "text": "not in a list"}}
	}
	return result
}

// elicitations are the questions by kind.
func elicitation(kind string) (method string, params object) {
	switch kind {
	case "url":
		return "elicitation/create", object{"mode": "url", "message": "Sign in first", "elicitationId": "e1",
			"url": "https://example.com/sign-in?next=%2F"}
	case "sampling":
		return "sampling/createMessage", object{"maxTokens": 100, "systemPrompt": "Be brief.", "messages": []object{
			{"role": "user", "content": object{"type": "text", "text": "What is the **capital** of Norway?"}}}}
	case "roots":
		return "roots/list", object{}
	}
	return "elicitation/create", object{"mode": "form", "message": "Whose room is it?", "requestedSchema": object{
		"type": "object", "required": []string{"guest"}, "properties": object{
			"guest":  object{"type": "string", "minLength": 2},
			"nights": object{"type": "integer", "minimum": 1, "maximum": 30, "default": 1},
			"view":   object{"type": "string", "enum": []string{"sea", "garden"}},
		}}}
}

// question asks, and returns the answers as text: on the connection, or inside of the result.
func (z *zoo) question(m *message, r *request, kind string) object {
	kinds := []string{kind}
	if kind == "two" {
		kinds = []string{"form", "sampling"}
	}
	answers := object{}
	for _, k := range kinds {
		method, params := elicitation(k)
		switch {
		case !m.modern && z.ask != nil:
			answers[k] = z.ask(method, params)
		case r.Params.InputResponses[k] != nil:
			answers[k] = r.Params.InputResponses[k]
		default:
			wanted := object{}
			for _, open := range kinds {
				method, params := elicitation(open)
				wanted[open] = object{"method": method, "params": params}
			}
			return object{
				"resultType":    "input_required",
				"inputRequests": wanted,
				"requestState":  "round-1",
			}
		}
	}
	encoded, _ := json.Marshal(answers) // JSON of the client
	return text(string(encoded))
}
