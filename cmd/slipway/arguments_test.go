package main

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/mcp"
)

func TestToolArguments(t *testing.T) {
	tool := &mcp.Tool{Name: "t", InputSchema: json.RawMessage(`{
		"type": "object",
		"properties": {
			"s": {"type": "string"},
			"i": {"type": "integer"},
			"n": {"type": "number"},
			"b": {"type": "boolean"},
			"o": {"type": "object"},
			"a": {"type": "array", "items": {"type": "string"}},
			"ints": {"type": "array", "items": {"type": "integer"}},
			"titled": {"type": "array", "items": {"anyOf": [{"const": "1", "title": "one"}, {"const": "2"}]}},
			"maybe": {"type": ["string", "null"]},
			"either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
			"pick": {"type": "integer", "enum": [1, 2]},
			"open": {},
			"any": true
		},
		"required": ["i"]
	}`)}
	tests := []struct {
		name  string
		pairs string // separated by spaces
		json  string
		want  string // the object, or the text of the error
	}{
		{"nothing", "", "", ""},
		{"an object as it was typed", "", `{"i": 1.0e2, "i": 2}`, `{"i": 1.0e2, "i": 2}`},
		{"strings are never read as JSON", "s=404", "", `{"s":"404"}`},
		{"a value with an equals sign", "s=a=b", "", `{"s":"a=b"}`},
		{"an empty string", "s=", "", `{"s":""}`},
		{"a string with markup", "s=<b>", "", `{"s":"<b>"}`},
		{"integers keep their digits", "i=9007199254740993", "", `{"i":9007199254740993}`},
		{"a fraction is not an integer", "i=1.5", "", `"1.5" is not of type integer`},
		{"a word is not an integer", "i=one", "", `argument i: "one" is not of type integer`},
		{"nor is nothing", "i=", "", `"" is not of type integer`},
		{"numbers keep their form", "n=1.0e2", "", `{"n":1.0e2}`},
		{"a boolean", "b=true", "", `{"b":true}`},
		{"no boolean", "b=yes", "", `not of type boolean`},
		{"an object", `o={"k":1}`, "", `{"o":{"k":1}}`},
		{"no object", "o=[1]", "", `not of type object`},
		{"a list as JSON", `a=["x","y"]`, "", `{"a":["x","y"]}`},
		{"a list by repetition", "a=x a=y", "", `{"a":["x","y"]}`},
		{"a list of one", "a=x", "", `{"a":["x"]}`},
		{"items have the type of the list", "a=1 a=true", "", `{"a":["1","true"]}`},
		{"a list of integers", "ints=1 ints=2", "", `{"ints":[1,2]}`},
		{"an item of another type", "ints=1 ints=two", "", `argument ints: "two" is not of type integer`},
		{"items that are constants", "titled=2", "", `{"titled":["2"]}`},
		{"what is no list cannot repeat", "s=x s=y", "", `argument s: given 2 times`},
		{"null where it is allowed", "maybe=null", "", `{"maybe":null}`},
		{"a string where null is, too", "maybe=nil", "", `{"maybe":"nil"}`},
		{"the first branch that fits", "either=4", "", `{"either":4}`},
		{"the other branch", "either=four", "", `{"either":"four"}`},
		{"choices are named", "pick=x", "", `"x" is not of type integer, one of 1, 2`},
		{"without a type JSON counts", "open=4", "", `{"open":4}`},
		{"without a type the rest is a string", "open=four", "", `{"open":"four"}`},
		{"a schema that is true", "any=false", "", `{"any":false}`},
		{"an argument the schema does not have", "zip=1", "", `{"zip":1}`},
		{"single arguments win", "s=b", `{"s":"a","i":1.0e2}`, `{"i":1.0e2,"s":"b"}`},
		{"no pair", "s t", "", `argument "s" is not key=value`},
		{"no key", "=x", "", `argument "=x" is not key=value`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var object json.RawMessage
			if tt.json != "" {
				object = json.RawMessage(tt.json)
			}
			got, err := toolArguments(tool, strings.Fields(tt.pairs), object)
			if err != nil {
				var f *failure
				if !strings.Contains(err.Error(), tt.want) || strings.HasPrefix(tt.want,
					"{") || !errors.As(err, &f) || f.code != exitUsage {
					t.Errorf("toolArguments: %v, want %s", err, tt.want)
				}
				return
			}
			if string(got) != tt.want {
				t.Errorf("toolArguments = %s, want %s", got, tt.want)
			}
		})
	}
}

func TestParametersKeepTheirOrder(t *testing.T) {
	tests := []struct{ name, schema, want string }{
		{"required first, in the order of the list",
			`{"properties":{"z":{},"a":{},"m":{}},"required":["m","z"]}`, "(m, z, [a])"},
		{"no properties", `{"type":"object"}`, "()"},
		{"not a schema", `[]`, "()"},
		{"properties that are not an object", `{"properties":[]}`, "()"},
		{"a property that is not a schema", `{"properties":{"a":1,"b":{}}}`, "([a], [b])"},
		{"a type that is none", `{"properties":{"a":{"type":4}}}`, "([a])"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := signature([]byte(tt.schema), maxArguments); got != tt.want {
				t.Errorf("signature = %s, want %s", got, tt.want)
			}
		})
	}
}

func TestJSONObject(t *testing.T) {
	tests := []struct{ name, flag, stdin, want string }{
		{"absent", "", "", ""},
		{"typed", ` {"a":1} `, "", `{"a":1}`},
		{"from stdin", "-", "{\"a\":1}\n", `{"a":1}`},
		{"nothing on stdin", "-", "", "error"},
		{"a list", "[]", "", "error"},
		{"no JSON", "{a}", "", "error"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := jsonObject("--json-args", tt.flag, strings.NewReader(tt.stdin))
			if err != nil {
				got = json.RawMessage("error")
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("jsonObject (-want +got):\n%s", diff)
			}
		})
	}
}
