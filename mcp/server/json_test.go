package server_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/slipway-mcp/slipway/mcp"
)

func marshaled(t *testing.T, v any) string {
	t.Helper()
	text, err := mcp.Marshal(v)
	if err != nil {
		t.Fatalf("Marshal(%T): %v", v, err)
	}
	return string(text)
}

// Which members are always encoded, and which are omitted if empty.
func TestJSON(t *testing.T) {
	for _, c := range []struct {
		name  string
		value any
		want  string
	}{
		{"Tool", mcp.Tool{}, `{"name":"","description":"","inputSchema":{"type":"object"}}`},
		{"Tool with empty slices", mcp.Tool{Name: "t", Icons: []mcp.Icon{}},
			`{"name":"t","description":"","inputSchema":{"type":"object"}}`},
		{"Tool in full", newGallery().catalog.Tools[0], `{"name":"full","title":"Full","description":"has <every> ` +
			`field",` +
			`"inputSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",` +
			`"properties":{"z":{"type":"integer"},"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"string"}},` +
			`"additionalProperties":false},` +
			`"outputSchema":{"type":"object","properties":{"n":{"type":"number"}}},` +
			`"annotations":{"title":"Hinted","readOnlyHint":true,"destructiveHint":false,"idempotentHint":false,` +
			`"openWorldHint":false},` +
			`"icons":[{"src":"data:image/svg+xml;base64,PHN2Zy8+","mimeType":"image/svg+xml","sizes":["any"],` +
			`"theme":"dark"}],"_meta":{"com.example/shelf":7}}`},
		{"Tool kept as it was written",
			mcp.Tool{Name: "t", Title: "unused", Raw: json.RawMessage(`{"name":"t","x":1.50}`)}, `{"name":"t","x":1.50}`},

		{"ToolAnnotations", mcp.ToolAnnotations{},
			`{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":true}`},
		{
			"ToolAnnotations in full",
			mcp.ToolAnnotations{
				Title:           "T",
				ReadOnlyHint:    true,
				DestructiveHint: ptr(false),
				IdempotentHint:  true,
				OpenWorldHint:   ptr(false),
			},
			`{"title":"T","readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}`,
		},

		{"Schema", mcp.Schema{}, `{"type":""}`},
		{"Schema with empty slices",
			mcp.Schema{Type: "object", Properties: mcp.Properties{}, Required: []string{}, Enum: []any{}},
			`{"type":"object","properties":{},"required":[]}`},
		{"Schema with a default of false", mcp.Schema{Type: "boolean", Default: json.RawMessage(`false`)},
			`{"type":"boolean","default":false}`},
		{"Schema with a default of 0", mcp.Schema{Type: "integer", Default: json.RawMessage(`0`)},
			`{"type":"integer","default":0}`},
		{"Schema with a default of null", mcp.Schema{Type: "null", Default: json.RawMessage(`null`)},
			`{"type":"null","default":null}`},
		{
			"Schema with other keywords",
			mcp.Schema{
				Type:        "string",
				Description: "d",
				Extra: map[string]json.RawMessage{"minLength": json.RawMessage(`1`),
					"$comment": json.RawMessage(`"<"`)},
			},
			`{"type":"string","description":"d","$comment":"<","minLength":1}`,
		},
		{"Schema in full", mcp.Schema{
			Type: "object", Title: "T", Description: "d",
			Properties: mcp.Properties{
				{Name: "z", Schema: mcp.Schema{Type: "array", Items: &mcp.Schema{Type: "number"}}},
				{Name: "a", Schema: mcp.Schema{Type: "string", Enum: []any{"<", nil, 1, true}}},
			},
			Required: []string{"z"},
		}, `{"type":"object","title":"T","description":"d","properties":{"z":{"type":"array",` +
			`"items":{"type":"number"}},"a":{"type":"string","enum":["<",null,1,true]}},"required":["z"]}`},

		{"CallToolResult", mcp.CallToolResult{}, `{"content":[],"isError":false}`},
		{"CallToolResult by pointer", &mcp.CallToolResult{IsError: true}, `{"content":[],"isError":true}`},
		{
			"CallToolResult in full",
			mcp.CallToolResult{
				Content:           []mcp.Content{mcp.Text("t")},
				StructuredContent: json.RawMessage(`[1]`),
				Meta:              json.RawMessage(`{}`),
			},
			`{"content":[{"type":"text","text":"t"}],"structuredContent":[1],"isError":false,"_meta":{}}`,
		},
		{"CallToolResult kept as it was written",
			mcp.CallToolResult{IsError: true, Raw: parsed(`{"content":[],"x":1.50}`)}, `{"content":[],"x":1.50}`},

		{"Content text", mcp.Text(""), `{"type":"text","text":""}`},
		{"Content image", mcp.Image(nil, ""), `{"type":"image","data":"","mimeType":""}`},
		{"Content audio", mcp.Audio([]byte{0xfb, 0xff}, "audio/wav"),
			`{"type":"audio","data":"+/8=","mimeType":"audio/wav"}`},
		{"Content resource", mcp.EmbeddedResource(mcp.ResourceContents{URI: "u:"}),
			`{"type":"resource","resource":{"uri":"u:","text":""}}`},
		{"Content resource_link", mcp.ResourceLink(mcp.Resource{Name: "n", URI: "u:"}),
			`{"type":"resource_link","name":"n","uri":"u:"}`},
		{"Content with annotations",
			mcp.Content{Type: mcp.TypeText, Annotations: &mcp.Annotations{Priority: ptr(0.0)},
				Meta: json.RawMessage(`{}`)},
			`{"type":"text","text":"","annotations":{"priority":0},"_meta":{}}`},
		{"Content resource_link with annotations twice", mcp.Content{
			Type: mcp.TypeResourceLink, Annotations: &mcp.Annotations{Priority: ptr(1.0)}, Meta: json.RawMessage(`{"a":1}`),
			Link: &mcp.Resource{
				Name:        "n",
				URI:         "u:",
				Annotations: &mcp.Annotations{Priority: ptr(0.0)},
				Meta:        json.RawMessage(`{"b":1}`),
			},
		}, `{"type":"resource_link","name":"n","uri":"u:","annotations":{"priority":1},"_meta":{"a":1}}`},

		{"Prompt", mcp.Prompt{}, `{"name":"","description":"","arguments":[]}`},
		{"Prompt in full", newGallery().catalog.Prompts[0], `{"name":"full","title":"Full",` +
			`"description":"has every field",` +
			`"arguments":[{"name":"style","title":"Style","description":"which style","required":true}],` +
			`"icons":[{"src":"data:image/svg+xml;base64,PHN2Zy8+","mimeType":"image/svg+xml","sizes":["any"],` +
			`"theme":"dark"}],"_meta":{"com.example/shelf":7}}`},
		{"PromptArgument", mcp.PromptArgument{}, `{"name":"","description":"","required":false}`},
		{"PromptMessage", mcp.PromptMessage{Role: mcp.RoleSystem, Content: mcp.Text("be")},
			`{"role":"system","content":{"type":"text","text":"be"}}`},
		{"PromptMessage with an image",
			mcp.PromptMessage{Role: mcp.RoleUser, Content: mcp.Image([]byte("i"), "image/png")},
			`{"role":"user","content":{"type":"image","data":"aQ==","mimeType":"image/png"}}`},
		{"GetPromptResult", mcp.GetPromptResult{}, `{"messages":[]}`},
		{
			"GetPromptResult in full",
			mcp.GetPromptResult{
				Description: "d",
				Messages:    []mcp.PromptMessage{{Role: mcp.RoleUser, Content: mcp.Text("t")}},
				Meta:        json.RawMessage(`{}`),
			},
			`{"description":"d","messages":[{"role":"user","content":{"type":"text","text":"t"}}],"_meta":{}}`,
		},

		{"Completion", mcp.Completion{}, `{"values":[]}`},
		{"Completion in full", mcp.Completion{Values: []string{"<"}, Total: ptr(0), HasMore: ptr(false)},
			`{"values":["<"],"total":0,"hasMore":false}`},
		{"CompleteResult", mcp.CompleteResult{}, `{"completion":{"values":[]}}`},
		{
			"CompleteResult of too many",
			mcp.CompleteResult{Completion: mcp.Completion{Values: make([]string, 101), HasMore: ptr(false)}},
			`{"completion":{"values":[` + strings.Repeat(`"",`, 99) + `""],"total":101,"hasMore":true}}`,
		},
		{"CompleteResult of as many as may be", mcp.CompleteResult{Completion: mcp.Completion{Values: make([]string,
			100)}},
			`{"completion":{"values":[` + strings.Repeat(`"",`, 99) + `""]}}`},
		{
			"CompleteResult with its own total",
			mcp.CompleteResult{Completion: mcp.Completion{Values: make([]string, 101), Total: ptr(5000)}},
			`{"completion":{"values":[` + strings.Repeat(`"",`, 99) + `""],"total":5000,"hasMore":true}}`,
		},

		{"Resource", mcp.Resource{}, `{"name":"","uri":""}`},
		{"Resource of no bytes", mcp.Resource{Name: "n", URI: "u:", Size: ptr(int64(0)), Icons: []mcp.Icon{}},
			`{"name":"n","uri":"u:","size":0}`},
		{"ResourceTemplate", mcp.ResourceTemplate{}, `{"name":"","uriTemplate":""}`},
		{"ResourceContents", mcp.ResourceContents{}, `{"uri":"","text":""}`},
		{"ResourceContents of an empty file", mcp.ResourceContents{URI: "u:", Blob: []byte{}},
			`{"uri":"u:","blob":""}`},
		{"ResourceContents with both", mcp.ResourceContents{URI: "u:", Text: "unused", Blob: []byte("b")},
			`{"uri":"u:","blob":"Yg=="}`},
		{
			"ResourceContents in full",
			mcp.ResourceContents{Name: "n", URI: "u:", MIMEType: "m", Text: "t", Title: "T",
				Meta: json.RawMessage(`{}`)},
			`{"name":"n","uri":"u:","mimeType":"m","text":"t","title":"T","_meta":{}}`,
		},
		{"ReadResourceResult", mcp.ReadResourceResult{}, `{"contents":[]}`},

		{"Implementation", mcp.Implementation{}, `{"name":"","version":""}`},
		{"Icon", mcp.Icon{}, `{"src":""}`},
		{"Annotations", mcp.Annotations{Audience: []string{}}, `{}`},
		{"CallToolParams", mcp.CallToolParams{}, `{"name":""}`},
		{"ReadResourceParams", mcp.ReadResourceParams{}, `{"uri":""}`},
		{"GetPromptParams", mcp.GetPromptParams{}, `{"name":""}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := marshaled(t, c.value); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// Invalid JSON from a source is an error, and does not break the message.
func TestJSONRefused(t *testing.T) {
	for _, c := range []struct {
		name  string
		value any
	}{
		{"no type", mcp.Content{Text: "t"}},
		{"unknown type", mcp.Content{Type: "hologram"}},
		{"resource without one", mcp.Content{Type: mcp.TypeResource}},
		{"link without one", mcp.Content{Type: mcp.TypeResourceLink}},
		{"block that is not json", mcp.Content{Raw: json.RawMessage(`{"type":`)}},
		{"block behind a block", mcp.Content{Raw: json.RawMessage(`{}{}`)}},
		{"meta that is not json", mcp.Content{Type: mcp.TypeText, Meta: json.RawMessage(`{`)}},
		{"structured content that is not json", mcp.CallToolResult{StructuredContent: json.RawMessage(`{"a":1},"b":2`)}},
		{"structured content that is empty", mcp.CallToolResult{StructuredContent: json.RawMessage{}}},
		{"bad block in a prompt", mcp.GetPromptResult{Messages: []mcp.PromptMessage{{}}}},
		{"input schema that is not json", mcp.Tool{InputSchema: json.RawMessage(`{`)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if text, err := mcp.Marshal(c.value); err == nil {
				t.Errorf("Marshal = %s, want an error", text)
			}
		})
	}
	for _, c := range []struct{ name, text string }{
		{"no type", `{"text":"t"}`},
		{"not an object", `[]`},
		{"data that is not base64", `{"type":"image","data":"*"}`},
		{"resource without one", `{"type":"resource"}`},
		{"resource with both", `{"type":"resource","resource":{"uri":"u:","text":"","blob":""}}`},
		{"blob that is not base64", `{"type":"resource","resource":{"uri":"u:","blob":"*"}}`},
	} {
		t.Run("decode "+c.name, func(t *testing.T) {
			var content mcp.Content
			if err := json.Unmarshal([]byte(c.text), &content); err == nil {
				t.Errorf("Unmarshal = %+v, want an error", content)
			}
		})
	}
}

// everyValue contains each wire type at least once, with all fields set.
func everyValue() []any {
	g := newGallery().catalog
	values := []any{
		g.Server, g.Tools[0], g.Tools[1], *g.Tools[0].Annotations, g.Resources[0], g.Resources[1], g.Templates[0],
		g.Templates[1],
		g.Prompts[0], mcp.Prompt{Name: "bare", Arguments: []mcp.PromptArgument{}}, g.Prompts[0].Arguments[0],
		galleryIcons[0], *galleryAnnotations,
		mcp.CallToolResult{Content: galleryContent(), StructuredContent: json.RawMessage(`{"a":[1.50]}`), IsError: true,
			Meta: galleryMeta},
		mcp.CallToolResult{Content: []mcp.Content{}},
		mcp.ReadResourceResult{Contents: newGallery().reads["gallery://full"].Contents, Meta: galleryMeta},
		mcp.ReadResourceResult{Contents: newGallery().reads["gallery://bare"].Contents},
		*newGallery().prompts["full"],
		mcp.CompleteResult{Completion: mcp.Completion{Values: []string{"a"}, Total: ptr(3), HasMore: ptr(false)}},
		mcp.Schema{
			Type:        "object",
			Title:       "T",
			Description: "d",
			Required:    []string{},
			Enum:        []any{json.Number("9007199254740993"), "a", nil},
			Properties: mcp.Properties{
				{Name: "z", Schema: mcp.Schema{Type: "array", Items: &mcp.Schema{Type: "number"}}},
				{Name: "a", Schema: mcp.Schema{Type: "string"}},
			},
			Default: json.RawMessage(`{"z":[1.50]}`), Extra: map[string]json.RawMessage{"minProperties": json.RawMessage(`1`)},
		},
		mcp.CallToolParams{Name: "n", Arguments: json.RawMessage(`{"a":1.50}`)},
		mcp.ReadResourceParams{URI: "u:"},
		mcp.GetPromptParams{Name: "n", Arguments: map[string]string{"a": "b"}},
		mcp.ElicitParams{Mode: "url", Message: "m", RequestedSchema: json.RawMessage(`{}`), URL: "https://x",
			ElicitationID: "e"},
		mcp.ElicitResult{Action: "accept", Content: json.RawMessage(`{"a":1}`)},
		mcp.CreateMessageResult{SamplingMessage: mcp.SamplingText("assistant", "<hi>"), Model: "m",
			StopReason: "endTurn"},
		mcp.ListRootsResult{Roots: []mcp.Root{{URI: "file:///x", Name: "x"}}},
	}
	for _, c := range galleryContent() {
		values = append(values, c, mcp.PromptMessage{Role: mcp.RoleAssistant, Content: c})
	}
	return append(values, mcp.Content{Type: "hologram", Raw: json.RawMessage(`{"type":"hologram","depth":1.50}`)})
}

func TestJSONRoundTrip(t *testing.T) {
	for _, value := range everyValue() {
		name := reflect.TypeOf(value).Name()
		t.Run(name, func(t *testing.T) {
			text := marshaled(t, value)
			back := reflect.New(reflect.TypeOf(value))
			if err := json.Unmarshal([]byte(text), back.Interface()); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			want := value
			if tool, ok := want.(mcp.Tool); ok {
				tool.Execution = nil // which exists in one version only
				if tool.InputSchema == nil {
					tool.InputSchema = json.RawMessage(`{"type":"object"}`)
				}
				if a := tool.Annotations; a.DestructiveHint == nil {
					tool.Annotations = &mcp.ToolAnnotations{DestructiveHint: ptr(true), OpenWorldHint: ptr(true)}
				}
				want = tool
			}
			if diff := cmp.Diff(want, back.Elem().Interface(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("-want +got:\n%s\n%s", diff, text)
			}
			if again := marshaled(t, back.Elem().Interface()); again != text {
				t.Errorf("encoded again:\n%s\nwant\n%s", again, text)
			}
		})
	}
}

// Models and people read the messages, so < is not escaped.
func TestJSONEscapesNothing(t *testing.T) {
	const odd = "<a href='x'>&\u2028\u2029"
	quoted := `"` + odd + `"`
	raw := json.RawMessage(`{"k":` + quoted + `}`)
	annotations := &mcp.Annotations{Audience: []string{odd}, LastModified: odd}
	icons := []mcp.Icon{{Src: odd, MIMEType: odd, Sizes: []string{odd}, Theme: odd}}
	resource := mcp.Resource{
		Name:        odd,
		URI:         odd,
		Title:       odd,
		Description: odd,
		MIMEType:    odd,
		Annotations: annotations,
		Icons:       icons,
		Meta:        raw,
	}
	contents := mcp.ResourceContents{Name: odd, URI: odd, MIMEType: odd, Text: odd, Title: odd, Meta: raw}
	words := mcp.Content{Type: mcp.TypeText, Text: odd, Annotations: annotations, Meta: raw}
	for _, value := range []any{
		odd, map[string]any{odd: odd},
		mcp.Implementation{Name: odd, Title: odd, Version: odd, Description: odd, WebsiteURL: odd, Icons: icons},
		mcp.Tool{Name: odd, Title: odd, Description: odd, InputSchema: raw, OutputSchema: raw,
			Annotations: &mcp.ToolAnnotations{Title: odd}, Icons: icons, Meta: raw},
		mcp.Schema{Type: odd, Title: odd, Description: odd, Required: []string{odd}, Enum: []any{odd}, Default: raw,
			Properties: mcp.Properties{{Name: odd, Schema: mcp.Schema{Type: odd}}}, Extra: map[string]json.RawMessage{odd: raw}},
		resource, contents, words, mcp.ResourceLink(resource), mcp.EmbeddedResource(contents), mcp.Image(nil, odd),
		mcp.ResourceTemplate{Name: odd, URITemplate: odd, Title: odd, Description: odd, MIMEType: odd,
			Annotations: annotations, Icons: icons, Meta: raw},
		mcp.Prompt{Name: odd, Title: odd, Description: odd,
			Arguments: []mcp.PromptArgument{{Name: odd, Title: odd, Description: odd}}, Icons: icons, Meta: raw},
		mcp.CallToolResult{Content: []mcp.Content{words}, StructuredContent: raw, Meta: raw},
		mcp.ReadResourceResult{Contents: []mcp.ResourceContents{contents}, Meta: raw},
		mcp.GetPromptResult{Description: odd, Messages: []mcp.PromptMessage{{Role: odd, Content: words}}, Meta: raw},
		mcp.CompleteResult{Completion: mcp.Completion{Values: []string{odd}}},
		mcp.GetPromptParams{Name: odd, Arguments: map[string]string{odd: odd}},
	} {
		text := marshaled(t, value)
		if strings.Contains(text, `\u00`) || !strings.Contains(text, "<a href='x'>&") {
			t.Errorf("%T: %s", value, text)
		}
	}
}

// Manually written schemas keep their content and order.
func TestSchemaOrder(t *testing.T) {
	const text = `{"type":"object","description":"d","properties":{"operation":{"type":"string","enum":["add",` +
		`"subtract"]},"b":{"type":"number","minimum":0},"a":{"type":"number","default":0.50}},` +
		`"required":["operation","a","b"],"$defs":{"z":1,"a":2},"additionalProperties":false,"x-order":["b","a"]}`
	var s mcp.Schema
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	if got := marshaled(t, s); got != text {
		t.Errorf("got  %s\nwant %s", got, text)
	}
	if s.Properties[1].Name != "b" ||
		string(s.Properties[1].Schema.Extra["minimum"]) != "0" ||
		string(s.Extra["$defs"]) != `{"z":1,"a":2}` {
		t.Errorf("decoded %+v", s)
	}
	for _, bad := range []string{`[]`, `{"properties":[]}`, `{"properties":{"a":1}}`, `{"type":1}`, `true`} {
		if err := json.Unmarshal([]byte(bad), &s); err == nil {
			t.Errorf("Unmarshal(%s) = %+v, want an error", bad, s)
		}
	}
}

// The examples documented by other servers.
func TestDocumentedExamples(t *testing.T) {
	calculator := mcp.Schema{
		Type: "object",
		Properties: mcp.Properties{
			{
				Name: "operation",
				Schema: mcp.Schema{
					Type:        "string",
					Description: "Operation to perform",
					Enum:        []any{"add", "subtract", "multiply", "divide"},
				},
			},
			{Name: "a", Schema: mcp.Schema{Type: "number", Description: "First operand"}},
			{Name: "b", Schema: mcp.Schema{Type: "number", Description: "Second operand"}},
		},
		Required: []string{"operation", "a", "b"},
	}
	schema, err := mcp.Marshal(calculator)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		value any
		text  string
	}{
		{"tool", mcp.Tool{
			Name: "calculator", Description: "Performs arithmetic operations", InputSchema: schema,
			Annotations: &mcp.ToolAnnotations{
				Title:           "Calculator",
				ReadOnlyHint:    true,
				DestructiveHint: ptr(false),
				IdempotentHint:  true,
				OpenWorldHint:   ptr(false),
			},
		}, `{
			"name": "calculator",
			"description": "Performs arithmetic operations",
			"inputSchema": {
				"type": "object",
				"properties": {
					"operation": {"type": "string", "description": "Operation to perform",
						"enum": ["add", "subtract", "multiply", "divide"]},
					"a": {"type": "number", "description": "First operand"},
					"b": {"type": "number", "description": "Second operand"}
				},
				"required": ["operation", "a", "b"]
			},
			"annotations": {"title": "Calculator", "readOnlyHint": true, "destructiveHint": false,
				"idempotentHint": true, "openWorldHint": false}
		}`},
		{"call result", mcp.CallToolResult{
			Content:           []mcp.Content{mcp.Text("Weather in NYC: 72F")},
			StructuredContent: json.RawMessage(`{"temperature": 72, "unit": "fahrenheit", "condition": "Sunny"}`),
			Meta:              json.RawMessage(`{"source": "weather-api"}`),
		}, `{
			"content": [{"type": "text", "text": "Weather in NYC: 72F"}],
			"structuredContent": {"temperature": 72, "unit": "fahrenheit", "condition": "Sunny"},
			"_meta": {"source": "weather-api"},
			"isError": false
		}`},
		{
			"prompt",
			mcp.Prompt{Name: "code_review", Description: "Generates a code review prompt",
				Arguments: []mcp.PromptArgument{
					{Name: "language", Description: "Programming language", Required: true},
					{Name: "code", Description: "Code to review", Required: true},
				}}, `{
			"name": "code_review",
			"description": "Generates a code review prompt",
			"arguments": [
				{"name": "language", "description": "Programming language", "required": true},
				{"name": "code", "description": "Code to review", "required": true}
			]
		}`,
		},
		{"prompt message", mcp.PromptMessage{Role: mcp.RoleUser, Content: mcp.Text("Hello world!")},
			`{"role": "user", "content": {"type": "text", "text": "Hello world!"}}`},
		{"completion", mcp.Completion{Values: []string{"Alice", "Bob", "Charlie"}, Total: ptr(10), HasMore: ptr(true)},
			`{"values": ["Alice", "Bob", "Charlie"], "total": 10, "hasMore": true}`},
		{
			"resource",
			mcp.Resource{
				Name:        "config",
				URI:         "file:///app/config.json",
				Description: "Application configuration file",
				MIMEType:    "application/json",
				Title:       "App Config",
			},
			`{
			"name": "config", "uri": "file:///app/config.json", "description": "Application configuration file",
			"mimeType": "application/json", "title": "App Config"
		}`,
		},
		{
			"resource template",
			mcp.ResourceTemplate{
				Name:        "user",
				URITemplate: "https://api.example.com/users/{id}",
				Description: "User profile data",
				MIMEType:    "application/json",
				Title:       "User Profile",
			},
			`{
			"name": "user", "uriTemplate": "https://api.example.com/users/{id}", "description": "User profile data",
			"mimeType": "application/json", "title": "User Profile"
		}`,
		},
		{"read result", mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{
			Name:     "user_data.json",
			URI:      "https://api.example.com/users/123",
			MIMEType: "application/json",
			Text:     `{"id": 123, "name": "Alice"}`,
			Title:    "User 123",
		}}}, `{
			"contents": [{
				"name": "user_data.json", "uri": "https://api.example.com/users/123", "mimeType": "application/json",
				"text": "{\"id\": 123, \"name\": \"Alice\"}", "title": "User 123"
			}]
		}`},
		{
			"text content",
			mcp.ResourceContents{
				Name:     "example.txt",
				URI:      "file:///path/to/example.txt",
				MIMEType: "text/plain",
				Text:     "File content here...",
				Title:    "Example File",
			},
			`{
			"name": "example.txt", "uri": "file:///path/to/example.txt", "mimeType": "text/plain",
			"text": "File content here...", "title": "Example File"
		}`,
		},
		{
			"binary content",
			mcp.ResourceContents{
				Name:     "image.png",
				URI:      "file:///path/to/image.png",
				MIMEType: "image/png",
				Blob:     []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d"),
			},
			`{
			"name": "image.png", "uri": "file:///path/to/image.png", "mimeType": "image/png", "blob": "iVBORw0KGgoAAAAN"
		}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(members(t, c.text), members(t, marshaled(t, c.value))); diff != "" {
				t.Errorf("encoded, -want +got:\n%s", diff)
			}
			back := reflect.New(reflect.TypeOf(c.value))
			if err := json.Unmarshal([]byte(c.text), back.Interface()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(members(t, c.text), members(t, marshaled(t, back.Interface()))); diff != "" {
				t.Errorf("decoded and encoded, -want +got:\n%s", diff)
			}
		})
	}
	var compact bytes.Buffer
	_ = json.Compact(&compact, schema)
	if compact.String() != string(schema) ||
		!strings.HasPrefix(string(schema), `{"type":"object","properties":{"operation":`) {
		t.Errorf("the schema came out as %s", schema)
	}
}

// members decodes JSON for comparisons that ignore the order of members.
func members(t *testing.T, text string) (v any) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}
