package main

import (
	"bytes"
	"encoding/json"
)

type tool struct {
	Name        string      `json:"name"`
	Title       string      `json:"title"`
	Description string      `json:"description"`
	InputSchema schema      `json:"inputSchema"`
	Annotations annotations `json:"annotations"`
}

// annotations are the same for every tool: a precomputed answer changes nothing and
// depends on nothing external.
type annotations struct {
	ReadOnlyHint    bool `json:"readOnlyHint"`
	DestructiveHint bool `json:"destructiveHint"`
	IdempotentHint  bool `json:"idempotentHint"`
	OpenWorldHint   bool `json:"openWorldHint"`
}

type schema struct {
	Type                 string     `json:"type"`
	Properties           parameters `json:"properties"`
	Required             []string   `json:"required"`
	AdditionalProperties bool       `json:"additionalProperties"`
}

// parameters keep their order, which is the order of the folders of a call.
type parameters []parameter

type parameter struct {
	name        string
	Type        string `json:"type"`
	Description string `json:"description"`
	Enum        any    `json:"enum,omitempty"`
	Minimum     int    `json:"minimum,omitempty"`
	Maximum     int    `json:"maximum,omitempty"`
	Examples    any    `json:"examples,omitempty"`
}

func (p parameters) MarshalJSON() ([]byte, error) {
	var buf bytes.Buffer
	buf.WriteByte('{')
	for i, one := range p {
		if i > 0 {
			buf.WriteByte(',')
		}
		name, err := json.Marshal(one.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(one)
		if err != nil {
			return nil, err
		}
		buf.Write(name)
		buf.WriteByte(':')
		buf.Write(value)
	}
	buf.WriteByte('}')
	return buf.Bytes(), nil
}

func newTool(name, title, description string, required []string, params ...parameter) tool {
	return tool{
		Name: name, Title: title, Description: description,
		InputSchema: schema{Type: "object", Properties: params, Required: required},
		Annotations: annotations{ReadOnlyHint: true, IdempotentHint: true},
	}
}

func tools(topicNames, methodNames, languageTags []string) []tool {
	return []tool{
		newTool("get_status", "Status code",
			"Explains one HTTP status code: meaning, typical cause, what client and server do, whether it may be retried and cached, related codes, an example and the RFC section. Knows all registered codes and some of nginx and Cloudflare.",
			[]string{"code"},
			parameter{
				name:        "code",
				Type:        "integer",
				Description: "The status code.",
				Minimum:     100,
				Maximum:     599,
				Examples:    []int{404, 429, 503},
			}),
		newTool("find_header", "Header field",
			"Explains one HTTP header field: what it says, in which messages, syntax by example, advice, related fields and the RFC section. Upper and lower case are the same.",
			[]string{"name"},
			parameter{
				name:        "name",
				Type:        "string",
				Description: "The field name, without a colon.",
				Examples:    []string{"Cache-Control", "ETag", "Retry-After"},
			}),
		newTool("compare_methods", "Compare two methods",
			"Compares two HTTP request methods: safe, idempotent, cacheable, content, retries, browsers, and when to choose which.",
			[]string{"a", "b"},
			parameter{name: "a", Type: "string", Description: "The first method.", Enum: methodNames},
			parameter{name: "b", Type: "string", Description: "The second method.", Enum: methodNames}),
		newTool("list_statuses", "List status codes",
			"Lists the HTTP status codes with one sentence each, of one class or all.",
			[]string{},
			parameter{
				name:        "class",
				Type:        "string",
				Description: "A class; leave it out for all.",
				Enum:        []string{"1xx", "2xx", "3xx", "4xx", "5xx"},
			}),
		newTool("list_headers", "List header fields",
			"Lists HTTP header fields with one sentence each, of one topic or all.",
			[]string{},
			parameter{name: "topic", Type: "string", Description: "A topic; leave it out for all.", Enum: topicNames}),
		newTool("localize_status", "Words for an error page",
			"Gives title and text for the error page of a status code in one of several languages.",
			[]string{"code", "language"},
			parameter{name: "code", Type: "integer", Description: "The status code.", Enum: glossaryCodes},
			parameter{name: "language", Type: "string", Description: "A language tag (RFC 5646).", Enum: languageTags}),
	}
}
