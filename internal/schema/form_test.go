package schema_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/schema"
)

// outline returns a form on one line: kinds, keys and what is special.
func outline(f *schema.Form) string {
	if f == nil {
		return "-"
	}
	text := f.Kind
	if f.Key != "" {
		text = f.Key + "=" + text
	}
	if f.Required {
		text += "*"
	}
	if f.Nullable {
		text += "?"
	}
	if f.Ref != "" {
		text += "@" + f.Ref
	}
	var parts []string
	for _, o := range f.Options {
		parts = append(parts, string(o.Value)+":"+o.Label)
	}
	for _, c := range f.Children {
		parts = append(parts, outline(c))
	}
	if f.Items != nil {
		parts = append(parts, "..."+outline(f.Items))
	}
	for _, b := range f.Branches {
		parts = append(parts, b.Label+"|"+outline(b))
	}
	if parts != nil {
		text += "(" + strings.Join(parts, " ") + ")"
	}
	if f.More != "" {
		text += "+" + f.More
	}
	return text
}

func TestForm(t *testing.T) {
	for name, test := range map[string]struct{ schema, want string }{
		"object": {`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["b"]}`,
			`object(a=text b=integer*)`},
		"nullable enum":     {`{"enum":["a","b",null]}`, `enum?("a":a "b":b)`},
		"nullable by type":  {`{"type":["string","null"]}`, `text?`},
		"nullable by anyOf": {`{"anyOf":[{"type":"integer"},{"type":"null"}],"title":"n"}`, `integer?`},
		"only null":         {`{"type":"null"}`, `null`},
		"const":             {`{"const":{"x":1}}`, `const`},
		"enum with titles":  {`{"oneOf":[{"const":1,"title":"one"},{"const":2}]}`, `enum(1:one 2:2)`},
		"several types":     {`{"type":["string","number"]}`, `choice(string|text number|number)`},
		"choice by const": {`{"oneOf":[{"type":"object",
			"properties":{"kind":{"const":"cat"},"meow":{"type":"boolean"}}},{"type":"object",
			"properties":{"kind":{"const":"dog"}}}]}`,
			`choice(kind: cat|object(kind=const meow=boolean) kind: dog|object(kind=const))`},
		"choice by required": {`{"anyOf":[{"type":"object",
			"properties":{"id":{}},"required":["id"]},{"type":"object","title":"By name","properties":{"name":{}}}]}`,
			`choice(id|object(id=any*) By name|object(name=any))`},
		"map": {`{"type":"object","additionalProperties":{"type":"number"}}`, `map(...number)`},
		"pattern map": {`{"type":"object","patternProperties":{"^x-":{"type":"string"}},"additionalProperties":false}`,
			`map(...text)`},
		"array": {`{"type":"array","items":{"enum":["a"]},"uniqueItems":true}`, `array(...enum("a":a))`},
		"tuple": {`{"prefixItems":[{"type":"string"},{"type":"number"}],"items":false}`, `tuple(text number)`},
		"old tuple": {`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}],
			"additionalItems":{"type":"number"}}`, `tuple(text ...number)`},
		"merged allOf": {`{"allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"$ref":"#/$defs/b"}],
			"$defs":{"b":{"type":"object","properties":{"b":{"type":"boolean"}}}}}`, `object(a=text* b=boolean)`},
		"ref by anchor": {`{"properties":{"x":{"$ref":"#n"}},"$defs":{"n":{"$anchor":"n","type":"integer"}}}`,
			`object(x=integer)`},
		"ref with an escape": {`{"$ref":"#/$defs/a%25%7e1b","$defs":{"a%/b":{"type":"integer"}}}`, `integer`},
		"recursive": {`{"type":"object","properties":{"name":{"type":"string"},"child":{"$ref":"#"}}}`,
			`object(name=text child=object@#)`},
		"recursive list": {`{"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":{
			"children":{"type":"array","items":{"$ref":"#/$defs/node"}}}}}}`,
			`object(children=array(...object@/$defs/node))`},
		"required without properties": {`{"type":"object","required":["a"]}`, `object(a=any*)`},
		"formats": {`{"properties":{"d":{"type":"string","format":"date"},"f":{"type":"string","contentEncoding":"base64"},
			"l":{"type":"string","maxLength":4000},"e":{"format":"email"}}}`, `object(d=date f=file l=longtext e=email)`},
		"more than a form": {`{"type":"object","not":{"required":["x"]},"if":{},"then":{}}`, `object+not, if, then`},
		"nothing":          {`false`, `none`},
		"anything":         {`true`, `any`},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := schema.NewForm([]byte(test.schema), nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := outline(f); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			if _, err := json.Marshal(f); err != nil {
				t.Error(err)
			}
		})
	}
}

// A recursive schema is opened step by step.
func TestFormOfReference(t *testing.T) {
	const tree = `{"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":{
		"left":{"$ref":"#/$defs/node"},"big":{"type":"integer","minimum":9007199254740993}}}}}`
	f, err := schema.NewForm([]byte(tree), &schema.FormOptions{Pointer: "/$defs/node"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := outline(f), `object(left=object@/$defs/node big=integer)`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := f.Children[1].Min; got != "9007199254740993" {
		t.Errorf("minimum %s: it must keep all digits", got)
	}
	if got := f.Children[1].Pointer; got != "/$defs/node/properties/big" {
		t.Errorf("pointer %s", got)
	}
	if _, err := schema.NewForm([]byte(tree), &schema.FormOptions{Pointer: "/none"}); err == nil {
		t.Error("a form of nothing")
	}
}

// A schema that doubles at each level ends in a note instead of in memory.
func TestFormIsBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/l0","$defs":{`)
	for i := range 30 {
		next := string(rune('0'+(i+1)/10)) + string(rune('0'+(i+1)%10))
		name := "l0"
		if i > 0 {
			name = "l" + string(rune('0'+i/10)) + string(rune('0'+i%10))
		}
		b.WriteString(`"` + name + `":{"properties":{"a":{"$ref":"#/$defs/l` + next +
			`"},"b":{"$ref":"#/$defs/l` + next + `"}}},`)
	}
	b.WriteString(`"l30":{}}}`)
	f, err := schema.NewForm([]byte(b.String()), nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(f)
	if err != nil || len(text) > 4<<20 || !strings.Contains(string(text), "larger than a form") {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

func TestProblemPlaces(t *testing.T) {
	s, err := schema.Compile([]byte(`{"properties":{"a/b":{"items":{"type":"string"}},"c":{}},"required":["c"]}`))
	if err != nil {
		t.Fatal(err)
	}
	doc := []byte(`{ "a/b" : [ "x", 17 ] }`)
	var found *schema.Error
	if !errors.As(s.Validate(doc), &found) || len(found.Problems) != 2 {
		t.Fatalf("problems: %v", found)
	}
	places := map[string]string{
		"/a~1b/1": "17",
		"/c":      "{",
	}
	for _, p := range found.Problems {
		start, end, _ := schema.Locate(doc, p.Pointer)
		if got := string(doc[start:end]); got != places[p.Pointer] || got == "" {
			t.Errorf("%s is at %q, want %q", p.Pointer, got, places[p.Pointer])
		}
	}
}
