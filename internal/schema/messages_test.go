package schema_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/schema"
)

const weather = `{"type":"object","properties":{
	"city":{"type":"string","minLength":1,"maxLength":5,"pattern":"^[A-Z]"},
	"unit":{"type":"string","enum":["celsius","fahrenheit"],"default":"celsius"},
	"code":{"type":"integer","minimum":100,"exclusiveMaximum":600,"multipleOf":2},
	"tags":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":3,"uniqueItems":true},
	"near":{"type":"object","properties":{"lat":{"type":"number"},"lon":{"type":"number"}},"required":["lat","lon"],` +
	`"additionalProperties":false},
	"when":{"anyOf":[{"type":"string"},{"type":"null"}]},
	"mode":{"const":"fast"},
	"we ird":{"type":["boolean","null"]}
},"required":["city"],"additionalProperties":false}`

const shapes = `{"$defs":{
	"circle":{"type":"object","properties":{"kind":{"const":"circle"},"r":{"type":"number"}},"required":["kind","r"]},
	"square":{"type":"object","properties":{"kind":{"const":"square"},"side":{"type":"number"}},"required":["kind","side"]}
},"type":"object","properties":{
	"shape":{"oneOf":[{"$ref":"#/$defs/circle"},{"$ref":"#/$defs/square"}]},
	"n":{"not":{"type":"null"}},
	"e":{"enum":[1,2.5,null,{"a": [1]}]},
	"any":{"anyOf":[{"minLength":3},{"type":"object","required":["a"]}]},
	"both":{"oneOf":[{"type":"number"},{"type":"integer"}]},
	"names":{"propertyNames":{"maxLength":2},"minProperties":1,"maxProperties":2},
	"has":{"contains":{"type":"integer"},"maxContains":1},
	"pair":{"prefixItems":[{"type":"string"}],"items":false},
	"dep":{"dependentRequired":{"card":["owner"]},"unevaluatedProperties":{"type":"string"}},
	"never":false
}}`

func TestMessages(t *testing.T) {
	long := strings.Repeat("é", 100)
	for _, tt := range []struct{ name, schema, doc, want string }{
		{"enum", weather, `{"city":"Lyon","unit":"kelvin"}`, `unit: must be one of "celsius", "fahrenheit" (got "kelvin")`},
		{"enum near", weather, `{"city":"Lyon","unit":"celcius"}`,
			`unit: must be one of "celsius", "fahrenheit" (got "celcius", did you mean "celsius"?)`},
		{"enum type", weather, `{"city":"Lyon","unit":5}`, `unit: must be one of "celsius", "fahrenheit" (got 5)`},
		{"required", weather, `{}`, `city: required`},
		{"required, misspelt", `{"required":["color"]}`, `{"colour":"red"}`,
			`color: required (did you write "colour" for it?)`},
		{"type", weather, `{"city":"Lyon","code":"404"}`, `code: must be an integer (got "404")`},
		{"no integer", weather, `{"city":"Lyon","code":404.5}`, `code: must be an integer (got 404.5)`},
		{"types", weather, `{"city":"Lyon","we ird":[]}`, `["we ird"]: must be a boolean or null (got an array)`},
		{"unknown", weather, `{"city":"Lyon","unti":1}`,
			`unti: unknown argument, did you mean "unit"? (accepted: city, unit, code, tags, near, when, mode, "we ird")`},
		{"unknown member", weather, `{"city":"Lyon","near":{"lat":1,"lon":2,"long":3}}`,
			`near.long: unknown member, did you mean "lon"? (accepted: lat, lon)`},
		{"none accepted", `{"additionalProperties":false}`, `{"a":1}`, `a: unknown argument (none is accepted)`},
		{"bounds", weather, `{"city":"Lyon","code":98}`, `code: must be at least 100 (got 98)`},
		{"several", weather, `{"city":"","code":601}`,
			`city: must not be empty; city: must match the pattern ^[A-Z] (got ""); code: must be less than 600 (got 601); ` +
				`code: must be a multiple of 2 (got 601)`},
		{"too long", weather, `{"city":"London"}`, `city: must have at most 5 characters (got 6)`},
		{"items", weather, `{"city":"Lyon","tags":["a",2,"a"]}`,
			`tags[1]: must be a string (got 2); tags: items must differ, but those at 0 and 2 are the same`},
		{"few items", weather, `{"city":"Lyon","tags":[]}`, `tags: must have at least 1 item (got 0)`},
		{"many items", weather, `{"city":"Lyon","tags":["a","b","c","d"]}`, `tags: must have at most 3 items (got 4)`},
		{"twice", weather, `{"city":"Lyon","city":"Nice"}`, `city: given twice`},
		{"twice in an unknown part", `{}`, `{"a":[{"b":1,"\u0062":2}]}`, `a[0].b: given twice`},
		{"const", weather, `{"city":"Lyon","mode":"slow"}`, `mode: must be "fast" (got "slow")`},
		{"root", weather, `[1]`, `must be an object (got an array)`},
		{"nullable", weather, `{"city":"Lyon","when":5}`, `when: must be a string or null (got 5)`},
		{"form by content", shapes, `{"shape":{"kind":"square","side":"2"}}`, `shape.side: must be a number (got "2")`},
		{"form by type", shapes, `{"shape":5}`,
			`shape: must be an object with "kind", "r" or an object with "kind", "side" (got 5)`},
		{"two forms", shapes, `{"both":5}`, `both: must match exactly one of 2 forms, but matches 2`},
		{"not", shapes, `{"n":null}`, `n: must not be null (got null)`},
		{"mixed enum", shapes, `{"e":3}`, `e: must be one of 1, 2.5, null, {"a":[1]} (got 3)`},
		{"no form", shapes, `{"any":""}`, `any: must have at least 3 characters (got 0)`},
		{"names", shapes, `{"names":{"abc":1}}`, `names.abc: its name must have at most 2 characters (got 3)`},
		{"few members", shapes, `{"names":{}}`, `names: must have at least 1 member (got 0)`},
		{"contains", shapes, `{"has":["a"]}`, `has: must have at least 1 item of a certain form: an integer (got 0)`},
		{"contains too many", shapes, `{"has":[1,2]}`, `has: must have at most 1 item of a certain form: an integer (got 2)`},
		{"items false", shapes, `{"pair":["a","b"]}`, `pair[1]: not allowed`},
		{"dependent", shapes, `{"dep":{"card":"x"}}`, `dep.owner: required when "card" is given`},
		{"unevaluated", shapes, `{"dep":{"x":1}}`, `dep.x: must be a string (got 1)`},
		{"false", shapes, `{"never":1}`, `never: not allowed`},
		{"long value", `{"enum":["a"]}`, `"` + long + `"`, `must be "a" (got "` + strings.Repeat("é", 31) + `…")`},
		{"broken", weather, `{"city":`, `not valid JSON: unexpected end of input at byte 8`},
		{"empty", weather, ``, `not valid JSON: unexpected end of input at byte 0`},
		{"text after", weather, `{"city":"Lyon"} x`, `not valid JSON: text after the end of the value at byte 16`},
		{"broken after a problem", weather, `{"city":5,`, `not valid JSON: unexpected end of input at byte 10`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := mustCompile(t, tt.schema)
			err := s.Validate([]byte(tt.doc))
			if err == nil {
				t.Fatalf("Validate(%s) = nil, want %s", tt.doc, tt.want)
			}
			if got := err.Error(); got != tt.want {
				t.Errorf("Validate(%s)\n got %s\nwant %s", tt.doc, got, tt.want)
			}
		})
	}
}

func mustCompile(t testing.TB, text string) *schema.Schema {
	t.Helper()
	s, err := schema.Compile([]byte(text))
	if err != nil {
		t.Fatalf("Compile(%s): %v", text, err)
	}
	return s
}

// TestManyProblems guards the work for a text with many problems: those that are only counted were worded, too, with a
// search for similar names.
func TestManyProblems(t *testing.T) {
	var properties, text strings.Builder
	for n := range 30 {
		fmt.Fprintf(&properties, `"property_number_%d":{"type":"string"},`, n)
	}
	for n := range 20_000 {
		fmt.Fprintf(&text, `"proprety_numbr_%d":1,`, n)
	}
	s := mustCompile(t, `{"type":"object","additionalProperties":false,"properties":{`+properties.String()+`"z":true}}`)
	var err error
	used := allocated(func() { err = s.Validate([]byte(`{` + text.String() + `"z":1}`)) })
	var e *schema.Error
	if !errors.As(err, &e) || len(e.Problems)+e.More != 20_000 || used > 20 {
		t.Errorf("%d MiB are allocated for the problems of %.200v", used, err)
	}
}
