package schema_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/slipway-mcp/slipway/internal/schema"
	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
)

// The tables combine every keyword with every kind of value.
var differentialSchemas = []string{
	`true`, `false`, `{}`,
	`{"type":"string"}`, `{"type":"integer"}`, `{"type":"number"}`, `{"type":"null"}`, `{"type":"object"}`,
	`{"type":"array"}`, `{"type":"boolean"}`,
	`{"type":["string","null"]}`, `{"type":["integer","array"]}`, `{"type":["number","object"]}`,
	`{"enum":["a","b",1,null]}`, `{"enum":[[1,{"a":2,"b":3}]]}`, `{"enum":[]}`,
	`{"enum":["a","b","c","d","e","f","g","h","i",7]}`,
	`{"const":1.0}`, `{"const":null}`, `{"const":{"b":3,"a":2}}`, `{"const":"é"}`, `{"const":1,"enum":[1,2]}`,
	`{"enum":[2],"const":1}`,
	`{"minimum":1}`, `{"maximum":1}`, `{"exclusiveMinimum":1}`, `{"exclusiveMaximum":1}`, `{"minimum":-0.5,"maximum":1e2}`,
	`{"multipleOf":2}`, `{"multipleOf":0.5}`,
	`{"minLength":2}`, `{"maxLength":2}`, `{"minLength":1.0}`, `{"pattern":"^a"}`, `{"pattern":"b+"}`,
	`{"pattern":"^\\w+$"}`,
	`{"items":{"type":"integer"}}`, `{"items":false}`, `{"items":true}`, `{"minItems":1}`, `{"maxItems":1}`,
	`{"uniqueItems":true}`, `{"uniqueItems":false}`,
	`{"prefixItems":[{"type":"integer"},{"type":"string"}]}`,
	`{"prefixItems":[{"type":"integer"}],"items":{"type":"string"}}`,
	`{"contains":{"type":"integer"}}`, `{"contains":{"type":"string"},"minContains":0}`,
	`{"contains":{"type":"integer"},"minContains":2,"maxContains":2}`,
	`{"properties":{"a":{"type":"integer"},"b":{"type":"string"}}}`, `{"required":["a"]}`, `{"required":["a","b"]}`,
	`{"properties":{"a":false}}`,
	`{"properties":{"a":true},"additionalProperties":false}`,
	`{"properties":{"a":{}},"additionalProperties":{"type":"integer"}}`, `{"additionalProperties":false}`,
	`{"patternProperties":{"^a":{"type":"integer"}}}`,
	`{"patternProperties":{"a":{"type":"integer"}},"properties":{"a":{"minimum":2}},"additionalProperties":false}`,
	`{"propertyNames":{"maxLength":1}}`, `{"propertyNames":{"enum":["a"]}}`, `{"minProperties":2}`, `{"maxProperties":1}`,
	`{"dependentRequired":{"a":["b"]}}`, `{"dependentSchemas":{"a":{"required":["b"]}}}`,
	`{"allOf":[{"minimum":1},{"maximum":3}]}`, `{"anyOf":[{"type":"string"},{"minimum":2}]}`,
	`{"oneOf":[{"type":"integer"},{"minimum":2}]}`, `{"not":{"type":"string"}}`, `{"not":{}}`,
	`{"if":{"type":"string"},"then":{"minLength":2},"else":{"minimum":2}}`,
	`{"if":{"required":["a"]},"then":{"required":["b"]}}`, `{"then":false}`, `{"if":false,"else":{"type":"string"}}`,
	`{"$ref":"#/$defs/x","$defs":{"x":{"type":"integer"}}}`,
	`{"$ref":"#/$defs/x","minimum":2,"$defs":{"x":{"type":"integer"}}}`,
	`{"$ref":"#here","$defs":{"x":{"$anchor":"here","type":"string"}}}`,
	`{"type":["object","integer"],"properties":{"a":{"$ref":"#"}},"additionalProperties":false}`,
	`{"items":{"$ref":"#"},"type":["array","integer"]}`,
	`{"properties":{"a":{"type":"integer"}},"unevaluatedProperties":false}`,
	`{"allOf":[{"properties":{"a":true}}],"unevaluatedProperties":{"type":"integer"}}`,
	`{"anyOf":[{"required":["a"],"properties":{"a":true}},{"properties":{"b":true}}],"unevaluatedProperties":false}`,
	`{"if":{"required":["a"],"properties":{"a":true}},"then":{"properties":{"b":true}},"else":{"properties":{"c":true}},` +
		`"unevaluatedProperties":false}`,
	`{"allOf":[{"unevaluatedProperties":true}],"unevaluatedProperties":false}`,
	`{"allOf":[{"unevaluatedItems":true}],"unevaluatedItems":false}`,
	`{"prefixItems":[true],"unevaluatedItems":{"type":"string"}}`,
	`{"contains":{"type":"integer"},"unevaluatedItems":false}`,
	`{"allOf":[{"prefixItems":[true,true]}],"unevaluatedItems":false}`,
	`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"integer"}],` +
		`"additionalItems":{"type":"string"}}`,
	`{"$schema":"http://json-schema.org/draft-07/schema#","items":{"type":"integer"},"additionalItems":false}`,
	`{"$schema":"http://json-schema.org/draft-07/schema#","additionalItems":false}`,
	`{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"a":["b"],"b":{"required":["c"]}}}`,
	`{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/definitions/x","minimum":5,` +
		`"definitions":{"x":{"type":"integer"}}}`,
	`{"$schema":"https://json-schema.org/draft/2020-12/schema","dependencies":{"a":["b"]},"additionalItems":false,` +
		`"format":"email","x-unknown":1}`,
}

var differentialDocs = []string{
	`null`, `true`, `false`, `0`, `-0`, `1`, `1.0`, `1.5`, `2`, `3`, `-1`, `100`, `1e2`, `-0.5`, `123456789012`,
	`""`, `"a"`, `"b"`, `"ab"`, `"abc"`, `"é"`, `"\u00e9"`, `"😀"`, `"😀😀"`, `"i"`, `"z"`,
	`[]`, `[1]`, `["a"]`, `[1,1.0]`, `[1,"a"]`, `["a",1]`, `[1,2,3]`, `[1,{"b":3,"a":2}]`, `[{"a":1},{"a":1}]`, `[[],[]]`,
	`[[1],[2]]`, `[null,null]`, `[1,[2,[3]]]`, `["1",1,true,false,null]`,
	`{}`, `{"a":1}`, `{"a":"x"}`, `{"b":"x"}`, `{"b":2}`, `{"a":1,"b":"x"}`, `{"a":2,"b":3}`, `{"aa":1}`, `{"aa":"x"}`,
	`{"c":null}`, `{"a":1,"c":1}`, `{"a":{"a":{}}}`, `{"a":{"b":1}}`,
	`{"a":1,"b":2,"c":3}`,
}

// TestAgainstJSONSchemaGo expects the verdicts of another implementation.
func TestAgainstJSONSchemaGo(t *testing.T) {
	for _, text := range differentialSchemas {
		other := otherSchema(text)
		if other == nil {
			t.Errorf("the other implementation refuses %s", text)
			continue
		}
		s := mustCompile(t, text)
		for _, doc := range differentialDocs {
			want := otherAccepts(other, doc)
			err := s.Validate([]byte(doc))
			if got := err == nil; got != want {
				t.Errorf("%s accepts %s = %t (%v), want %t", text, doc, got, err, want)
			}
		}
	}
}

func otherSchema(text string) *jsonschema.Resolved {
	var s jsonschema.Schema
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return nil
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return nil
	}
	return resolved
}

func otherAccepts(s *jsonschema.Resolved, doc string) bool {
	var value any
	if err := json.Unmarshal([]byte(doc), &value); err != nil {
		panic(err)
	}
	return s.Validate(value) == nil
}

func FuzzAgainstJSONSchemaGo(f *testing.F) {
	for i, text := range differentialSchemas {
		f.Add(text, differentialDocs[i%len(differentialDocs)])
	}
	fuzzbound.Fuzz(f, func(t *testing.T, text, doc string) {
		s, err := schema.Compile([]byte(text))
		if err != nil {
			return
		}
		checkAnswer(t, s, doc)
		text, doc, ok := comparable(text, doc)
		if !ok || len(s.Notes()) > 0 {
			return
		}
		if s, err = schema.Compile([]byte(text)); err != nil {
			t.Fatalf("Compile(%s): %v", text, err)
		}
		other := otherSchema(text)
		if other == nil {
			return
		}
		err = s.Validate([]byte(doc))
		if want := otherAccepts(other, doc); (err == nil) != want {
			t.Errorf("%s accepts %s = %t (%v), want %t", text, doc, err == nil, err, want)
		}
	})
}

// checkAnswer checks what must be true for every text.
func checkAnswer(t *testing.T, s *schema.Schema, doc string) {
	t.Helper()
	err := s.Validate([]byte(doc))
	if err == nil {
		return
	}
	e, ok := err.(*schema.Error)
	if !ok || len(e.Problems) == 0 {
		t.Fatalf("Validate(%q) = %#v, want an Error with problems", doc, err)
	}
	if strings.ContainsAny(err.Error(), "\n\r") && !strings.ContainsAny(doc, "\n\r") {
		t.Errorf("Validate(%q) = %q, want one line", doc, err)
	}
}

// comparable rewrites both texts so that names are unique and numbers are float64 values,
// and reports whether the two implementations should then agree.
func comparable(text, doc string) (text2, doc2 string, ok bool) {
	var schemaValue, value any
	if json.Unmarshal([]byte(text), &schemaValue) != nil || json.Unmarshal([]byte(doc), &value) != nil {
		return "", "", false
	}
	if !plain(schemaValue, 0) || !plain(value, 0) {
		return "", "", false
	}
	a, _ := json.Marshal(schemaValue)
	b, _ := json.Marshal(value)
	return string(a), string(b), true
}

// foldedKeywords are those that the other implementation recognizes in any case.
var foldedKeywords = []string{
	"$id", "$schema", "$ref", "$comment", "$defs", "definitions", "dependencies", "$anchor", "$dynamicAnchor",
	"$dynamicRef", "$vocabulary", "title", "description", "default", "deprecated", "readOnly", "writeOnly",
	"examples", "type", "enum", "const", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
	"minLength", "maxLength", "pattern", "prefixItems", "items", "minItems", "maxItems", "additionalItems",
	"uniqueItems", "contains", "minContains", "maxContains", "unevaluatedItems", "minProperties", "maxProperties",
	"required", "dependentRequired", "properties", "patternProperties", "additionalProperties", "propertyNames",
	"unevaluatedProperties", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas",
	"contentEncoding", "contentMediaType", "contentSchema", "format",
}

// plain reports whether a value contains nothing that the other implementation is known
// to treat differently: it compares numbers as float64, reads patterns as Go's, and
// recognizes keywords in any case. Depth is limited because it takes time exponential in
// it.
func plain(v any, depth int) bool {
	switch v := v.(type) {
	case float64:
		return v == float64(int32(v))
	case string:
		return !strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune(`\.[`, r) })
	case []any:
		return depth < 6 && !slices.ContainsFunc(v, func(e any) bool { return !plain(e, depth+1) })
	case map[string]any:
		for k := range maps.Keys(v) {
			if !plain(k, depth) || slices.ContainsFunc(foldedKeywords, func(w string) bool {
				return w != k && strings.EqualFold(w, k)
			}) {
				return false
			}
		}
		// It treats a null keyword as absent, and supports some keywords of later drafts in
		// draft-07.
		if v["$schema"] != nil {
			return false
		}
		return depth < 6 && !slices.ContainsFunc(slices.Collect(maps.Values(v)), func(e any) bool {
			return !plain(e, depth+1)
		})
	}
	return true
}

func ExampleSchema_Validate() {
	s, err := schema.Compile([]byte(`{
		"type": "object",
		"properties": {"city": {"type": "string"}, "unit": {"enum": ["celsius", "fahrenheit"]}},
		"required": ["city"],
		"additionalProperties": false
	}`))
	if err != nil {
		panic(err)
	}
	fmt.Println(s.Validate([]byte(`{"city": "Lyon"}`)))
	err = s.Validate([]byte(`{"town": "Lyon", "unit": "kelvin"}`))
	fmt.Println(strings.ReplaceAll(err.Error(), "; ", "\n"))
	// Output:
	// <nil>
	// town: unknown argument (accepted: city, unit)
	// unit: must be one of "celsius", "fahrenheit" (got "kelvin")
	// city: required
}
