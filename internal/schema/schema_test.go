package schema_test

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/internal/schema"
	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
)

func TestCompileErrors(t *testing.T) {
	deep := strings.Repeat(`{"items":`, 70) + `{}` + strings.Repeat(`}`, 70)
	wide := `{"allOf":[` + strings.Repeat(`{},`, 10_001) + `{}]}`
	for _, tt := range []struct{ name, schema, want string }{
		{"no JSON", `{`, `not valid JSON: unexpected end of input at byte 1`},
		{"text after", `{} {}`, `not valid JSON: text after the end of the value at byte 3`},
		{"no schema", `[]`, `want a schema, got an array`},
		{"no schema below", `{"properties":{"a":5}}`, `/properties/a: want a schema, got 5`},
		{"unknown type", `{"properties":{"a/b":{"type":"strng"}}}`,
			`/properties/a~1b/type: unknown type "strng", did you mean "string"?`},
		{"no type", `{"type":[]}`, `/type: want at least one type`},
		{"type no string", `{"type":["string",5]}`, `/type/1: want a string, got 5`},
		{"dialect", `{"$schema":"http://json-schema.org/draft-04/schema#"}`,
			`/$schema: unsupported dialect "http://json-schema.org/draft-04/schema#", want 2020-12 or draft-07`},
		{"dialect within", `{"properties":{"a":{"$schema":"http://json-schema.org/draft-07/schema#"}}}`,
			`/properties/a/$schema: dialect "http://json-schema.org/draft-07/schema#" within another`},
		{"keyword twice", `{"type":"string","type":"string"}`, `/type: given twice`},
		{"property twice", `{"properties":{"a":{},"a":{}}}`, `/properties/a: given twice`},
		{"draft-04 form", `{"minimum":1,"exclusiveMinimum":true}`, `/exclusiveMinimum: want a number, got true`},
		{"draft-03 form", `{"properties":{"a":{"required":true}}}`, `/properties/a/required: want an array, got true`},
		{"length", `{"minLength":-1}`, `/minLength: want a whole number that is not negative, got -1`},
		{"fraction", `{"maxItems":1.5}`, `/maxItems: want a whole number that is not negative, got 1.5`},
		{"multipleOf", `{"multipleOf":0}`, `/multipleOf: want a number greater than 0, got 0`},
		{"multipleOf long", `{"multipleOf":123456789012345678901234567890.5}`,
			`/multipleOf: 123456789012345678901234567890.5 has too many digits`},
		{"items array", `{"items":[{}]}`, `/items: want a schema (2020-12 has prefixItems for an array of them)`},
		{"no branch", `{"anyOf":[]}`, `/anyOf: want at least one schema`},
		{"unique", `{"uniqueItems":1}`, `/uniqueItems: want true or false, got 1`},
		{"properties", `{"properties":[]}`, `/properties: want an object, got an array`},
		{"dynamic", `{"$dynamicRef":"#a"}`, `/$dynamicRef: not supported`},
		{"ref outside", `{"items":{"$ref":"https://example.com/s.json#/a"}}`,
			`/items/$ref: "https://example.com/s.json#/a" points outside the schema and is not followed`},
		{"ref file", `{"$ref":"other.json"}`, `/$ref: "other.json" points outside the schema and is not followed`},
		{"ref nowhere", `{"$ref":"#/$defs/a"}`, `/$ref: "#/$defs/a" does not exist`},
		{"ref no anchor", `{"$ref":"#a"}`, `/$ref: "#a" does not exist`},
		{"ref to no schema", `{"$ref":"#/x","x":5}`, `/x: want a schema, got 5`},
		{"loop", `{"$ref":"#"}`, `/$ref: refers to itself`},
		{"loop of two", `{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`,
			`/$defs/b/$ref: refers to itself`},
		{"loop in a branch", `{"properties":{"a":{"anyOf":[{"type":"null"},{"$ref":"#/properties/a"}]}}}`,
			`/properties/a/anyOf/1/$ref: refers to itself`},
		{"loop in if", `{"if":{"not":{"$ref":"#"}}}`, `/if: refers to itself`},
		{"deep", deep, strings.Repeat("/items", 64) + `: schemas are nested more than 64 deep`},
		{"wide", wide, `/allOf/9999: more than 10000 subschemas`},
		{"long", strings.Repeat(" ", 1<<20) + "{}", `longer than 1048576 bytes`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := schema.Compile([]byte(tt.schema))
			if err == nil {
				t.Fatalf("Compile = %v, want the error %s", s, tt.want)
			}
			if got := err.Error(); got != tt.want {
				t.Errorf("Compile:\n got %s\nwant %s", got, tt.want)
			}
			var e *schema.CompileError
			if !errors.As(err, &e) {
				t.Errorf("Compile returned a %T, want a *CompileError", err)
			}
		})
	}
}

func TestValidate(t *testing.T) {
	for _, tt := range []struct {
		name, schema string
		valid        []string
		invalid      []string
	}{
		{"integers", `{"type":"integer"}`,
			[]string{"1", "1.0", "-0.0", "10e-1", "1.50e1", "1e400", "9007199254740993", "0e-99999999999999999999"},
			[]string{"1.5", "1e-1", "1e-400", "0.1e-99999999999999999999", "true"}},
		{"beyond 2^53", `{"minimum":9007199254740993,"maximum":9007199254740993}`,
			[]string{"9007199254740993", "9007199254740993.0", "9.007199254740993e15"},
			[]string{"9007199254740992", "9007199254740994", "9007199254740993.1", "-9007199254740993", "1e400"}},
		{"huge bounds", `{"exclusiveMinimum":-1e400,"exclusiveMaximum":1e400}`,
			[]string{"0", "9e399", "-9.9e399"}, []string{"1e400", "10e399", "-1e400", "1e99999999999999999999"}},
		{"decimal multiples", `{"multipleOf":0.1}`, []string{"0.3", "-0.7", "0", "1e5"}, []string{"0.35", "1e-2"}},
		{"big multiples", `{"multipleOf":9007199254740993}`,
			[]string{"9007199254740993", "18014398509481986", "9007199254740993e300"}, []string{"9007199254740992", "1e300"}},
		{"multiples of 2^64-1", `{"multipleOf":18446744073709551615}`, []string{"36893488147419103230", "0"},
			[]string{"36893488147419103231"}},
		{"enum of numbers", `{"enum":[100,0.5]}`, []string{"1e2", "100.0", "5e-1"}, []string{"1e3", "0.50001", `"100"`}},
		{"characters", `{"minLength":2,"maxLength":2}`,
			[]string{`"éé"`, `"😀😀"`, `"\ud83d\ude00a"`, `"\n\""`}, []string{`"é"`, `"\ud83d\ude00"`, `"abc"`}},
		{"escaped names", `{"properties":{"é":{"type":"integer"}},"additionalProperties":false}`,
			[]string{`{"é":1}`, `{"\u00e9":1}`}, []string{`{"\u00e9":"x"}`, `{"É":1}`}},
		{"escaped enum", `{"enum":["a\u002fb","\u00e9"]}`, []string{`"a/b"`, `"a\/b"`, `"é"`}, []string{`"a"`}},
		{"unique by value", `{"uniqueItems":true}`,
			[]string{`[1,"1",true,null,[],{},"true"]`, `[{"a":1},{"a":2}]`, `[[1,2],[2,1]]`},
			[]string{`[1,1.0]`, `["a","\u0061"]`, `[{"a":1,"b":[2]},{"b":[2e0],"a":1.0}]`}},
		{"many unique", `{"uniqueItems":true}`, []string{numbers(40)},
			[]string{numbers(40)[:len(numbers(40))-1] + `,3.90e1]`}},
		{"many names", `{"properties":{` + names(200) + `},"required":["n0","n199"],"additionalProperties":false}`,
			[]string{`{"n0":1,"n199":1}`},
			[]string{`{"n0":1}`, `{"n0":1,"n199":1,"n200":1}`, `{"n0":1,"n199":1,"n0":1}`, `{"n0":"x","n199":1}`}},
		{"given twice", `{}`, []string{`{"a":1,"A":1}`, `[{"a":1},{"a":1}]`},
			[]string{`{"a":1,"a":1}`, `[[{"x":{"a":1,"\u0061":2}}]]`,
				`{"1":1,"2":1,"3":1,"4":1,"5":1,"6":1,"7":1,"8":1,"9":1,"10":1,"9":2}`}},
		{"given twice beneath a branch", `{"anyOf":[{"properties":{"a":{}}}]}`, []string{`{"a":{}}`},
			[]string{`{"a":{"b":1,"b":1}}`}},
		{"white space", ` { "type" : [ "object" ] , "properties" : { "a" : { "enum" : [ [ 1 , 2 ] ] } } } `,
			[]string{" {\n\"a\"\t: [1,2]\r} ", `{"a":[ 1 , 2 ]}`}, []string{` {"a" : [ 1 ] } `}},
		{"not UTF-8", `{}`, []string{`"é"`}, []string{"\"\xff\"", "{\"\xff\":1}"}},
		{"recursion",
			`{"$defs":{"tree":{"type":"object","properties":{"left":{"$ref":"#/$defs/tree"},"right":{"$ref":"#/$defs/tree"}},` +
				`"additionalProperties":false}},"$ref":"#/$defs/tree"}`,
			[]string{`{"left":{"right":{}},"right":{}}`}, []string{`{"left":{"right":{"x":1}}}`, `{"left":[]}`}},
		{"ref by $id",
			`{"$id":"https://example.com/root.json","items":{"$ref":"item.json#/$defs/n"},"$defs":{"i":{"$id":"item.json",` +
				`"$defs":{"n":{"$ref":"#m"},"m":{"$anchor":"m","type":"integer"}}}}}`,
			[]string{`[1]`}, []string{`["x"]`}},
		{"ref with escapes", `{"$ref":"#/%24defs/a~1b%25","$defs":{"a/b%":{"type":"integer"}}}`, []string{`1`},
			[]string{`"x"`}},
		{"ref to a place without a keyword", `{"$ref":"#/x/1","x":[null,{"type":"integer"}]}`, []string{`1`},
			[]string{`"x"`}},
		{"ref into a part with an $id",
			`{"$ref":"#/$defs/i/x/n","$defs":{"i":{"$id":"http://example.com/i","x":{"n":{"$ref":"#/x/m"},` +
				`"m":{"type":"integer"}}}}}`,
			[]string{`1`}, []string{`"x"`}},
		{"format is no assertion", `{"format":"email"}`, []string{`"x"`}, nil},
		{"keywords have one case", `{"Type":"string","Required":["a"]}`, []string{`5`, `{}`}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := mustCompile(t, tt.schema)
			for _, doc := range tt.valid {
				if err := s.Validate([]byte(doc)); err != nil {
					t.Errorf("Validate(%s) = %v, want nil", doc, err)
				}
			}
			for _, doc := range tt.invalid {
				if err := s.Validate([]byte(doc)); err == nil {
					t.Errorf("Validate(%s) = nil, want an error", doc)
				}
			}
		})
	}
}

func numbers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, ",%d", i)
	}
	return "[" + b.String()[1:] + "]"
}

func names(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"n%d":{"type":"integer"}`, i)
	}
	return b.String()[1:]
}

func TestPatterns(t *testing.T) {
	for _, tt := range []struct {
		pattern       string
		match, differ []string
	}{
		{`^\d{3}$`, []string{"123"}, []string{"12", "1234", "١٢٣"}},
		{`^a.c$`, []string{"abc", "a😀c"}, []string{"a\nc", "a\rc", "a\u2028c"}},
		{`^\s$`, []string{" ", "\v", "\u00a0", "\ufeff"}, []string{"x"}},
		{`^\S$`, []string{"x", "\u00a1"}, []string{" ", "\u3000"}},
		{`^[\S\n]$`, []string{"x", "\n"}, []string{"\t"}},
		{`^[^\s]$`, []string{"x"}, []string{"\u2003"}},
		{`^\u00e9\u{1F600}\ud83d\ude00\x41\cA\0$`, []string{"é😀😀A\x01\x00"}, []string{"é"}},
		{`^[^]$`, []string{"\n", "x"}, []string{""}},
		{`[]`, nil, []string{"", "x"}},
		{`^[[\]\b]$`, []string{"[", "]", "\b"}, []string{"x"}},
		{`^(?<year>\d+)\/x$`, []string{"12/x"}, []string{"/x"}},
		{`^\p{Script=Greek}+\p{gc=Lu}\P{L}$`, []string{"αβA1"}, []string{"abA1"}},
		{`^\é$`, []string{"é"}, []string{`\é`}},
		{`^[[:digit:].]+$`, []string{"1.2"}, []string{"a"}},
		{`^(a|b)*?é$`, []string{"abé"}, []string{"ac"}},
		{`^[\s-x][-\s][\w-\S]$`, []string{" --", "-\u2028é", "x a"}, []string{"y--", "-x-", "x- "}},
		{`^[[:].$`, []string{"[a", ":😀"}, []string{"[\r", "]a"}},
		{`^\Qa.\s[\E.$`, []string{`a.\s[x`}, []string{`ab [x`, "a.\\s[\r"}},
		{`^\x{e9}\u{00e9}$`, []string{"éé"}, []string{"é"}},
		{`^(?i:k)s$`, []string{"\u212as", "Ks"}, []string{"K\u017f"}},
	} {
		t.Run(tt.pattern, func(t *testing.T) {
			quoted := strings.ReplaceAll(tt.pattern, `\`, `\\`)
			s := mustCompile(t, `{"pattern":"`+quoted+`"}`)
			if notes := s.Notes(); len(notes) > 0 {
				t.Fatalf("Notes = %q, want none", notes)
			}
			for _, text := range tt.match {
				if err := s.Validate(quote(text)); err != nil {
					t.Errorf("%q does not match: %v", text, err)
				}
			}
			for _, text := range tt.differ {
				if err := s.Validate(quote(text)); err == nil {
					t.Errorf("%q matches", text)
				}
			}
		})
	}
}

func quote(s string) []byte {
	var b strings.Builder
	for _, r := range s {
		if r < ' ' || r == '"' || r == '\\' {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return []byte(`"` + b.String() + `"`)
}

// TestUncheckedPatterns: whatever cannot be checked is noted, and never makes a valid
// text invalid.
func TestUncheckedPatterns(t *testing.T) {
	const ahead = `{"pattern":"^(?!x)"}`
	for _, tt := range []struct {
		name, schema string
		notes        []string
		valid        []string
		invalid      []string
	}{
		{"lookahead", `{"properties":{"a":` + ahead + `}}`,
			[]string{`/properties/a/pattern: pattern "^(?!x)" is not checked: lookahead cannot be checked`},
			[]string{`{"a":"y"}`, `{"a":"x"}`}, nil},
		{"lookbehind", `{"pattern":"(?<=a)b"}`,
			[]string{`/pattern: pattern "(?<=a)b" is not checked: lookbehind cannot be checked`}, []string{`"b"`}, nil},
		{
			"group reference",
			`{"pattern":"(a)\\1"}`,
			[]string{`/pattern: pattern "(a)\\1" is not checked: a reference to a group cannot be checked`},
			[]string{`"b"`},
			nil,
		},
		{"broken", `{"pattern":"("}`, []string{`/pattern: pattern "(" is not checked: missing closing ): "("`},
			[]string{`"b"`}, nil},
		{
			"too large",
			`{"pattern":"((a{100}){100}){100}"}`,
			[]string{`/pattern: pattern "((a{100}){100}){100}" is not checked: invalid repeat count: "{100}"`},
			[]string{`"b"`},
			nil,
		},
		{
			"half a pair",
			`{"pattern":"\\ud83d"}`,
			[]string{`/pattern: pattern "\\ud83d" is not checked: half of a surrogate pair cannot be checked`},
			[]string{`"b"`},
			nil,
		},
		{"half a pair in braces", `{"pattern":"\\u{d83d}|\\x{DE00}"}`, nil, []string{`"b"`}, nil},
		{
			"short name of a script",
			`{"pattern":"^\\p{sc=Latn}$"}`,
			[]string{`/pattern: pattern "^\\p{sc=Latn}$" is not checked: the property "sc=Latn" cannot be checked`},
			[]string{`"b"`, `"β"`},
			nil,
		},
		{"script extensions", `{"pattern":"^\\p{scx=Greek}$"}`, nil, []string{`"\u0342"`, `"b"`}, nil},
		{"category as a script", `{"pattern":"^\\p{Script=Lu}$"}`, nil, []string{`"b"`}, nil},
		{"range up to a class", `{"pattern":"^[\\t-\\s]$"}`, nil, []string{`"b"`}, nil},
		{"not", `{"not":` + ahead + `}`, nil, []string{`"x"`, `"y"`}, nil},
		{"not of a certain part", `{"not":{"type":"string","items":` + ahead + `}}`, nil, []string{`"x"`, `5`}, nil},
		{"oneOf", `{"oneOf":[` + ahead + `,{"type":"string"}]}`, nil, []string{`"x"`}, nil},
		{"if", `{"if":{"properties":{"a":` + ahead + `}},"then":false,"else":{"type":"string"}}`, nil, []string{`{"a":"x"}`},
			[]string{}},
		{"refused if", `{"if":{"type":"object","properties":{"a":` + ahead + `}},"else":{"type":"string"}}`, nil,
			[]string{`"x"`}, []string{`5`}},
		{"behind a ref", `{"not":{"$ref":"#/$defs/a"},"$defs":{"a":` + ahead + `}}`, nil, []string{`"x"`}, nil},
		{"maxContains", `{"contains":` + ahead + `,"maxContains":1}`, nil, []string{`["x","x"]`}, []string{`[]`}},
		{"names", `{"patternProperties":{"^(?!x)":{"type":"integer"}},"additionalProperties":false}`, nil,
			[]string{`{"a":"b"}`}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := mustCompile(t, tt.schema)
			if len(s.Notes()) == 0 {
				t.Error("there is no note")
			}
			if tt.notes != nil {
				if diff := cmp.Diff(tt.notes, s.Notes()); diff != "" {
					t.Errorf("Notes (-want +got):\n%s", diff)
				}
			}
			for _, doc := range tt.valid {
				if err := s.Validate([]byte(doc)); err != nil {
					t.Errorf("Validate(%s) = %v, want nil", doc, err)
				}
			}
			for _, doc := range tt.invalid {
				if err := s.Validate([]byte(doc)); err == nil {
					t.Errorf("Validate(%s) = nil, want an error", doc)
				}
			}
		})
	}
}

// TestLongPatterns verifies that patterns for long texts accept them: their programs are large, and
// following them takes little work.
func TestLongPatterns(t *testing.T) {
	for _, tt := range []struct {
		pattern, part string
		count, texts  int // parts of a text, and texts
	}{
		{`^.{1,1000}$`, "x", 500, 21},
		{`^\\w{1,1000}$`, "x", 500, 21},
		{`^.{0,600}$`, "é", 500, 21},
		{`^(a|b){500}$`, "a", 500, 21},
		{`^([a-z]{1,20} ?){1,40}$`, "abc ", 40, 3}, // a word can end anywhere, so this takes more work
		{`^(https?://)?[^ ]{1,1000}$`, "h", 500, 21},
	} {
		s := mustCompile(t, `{"items":{"pattern":"`+tt.pattern+`"}}`)
		if notes := s.Notes(); len(notes) > 0 {
			t.Errorf("%s is not checked: %q", tt.pattern, notes)
		}
		text := `"` + strings.Repeat(tt.part, tt.count) + `"`
		if err := s.Validate([]byte("[" + text + strings.Repeat(","+text, tt.texts-1) + "]")); err != nil {
			t.Errorf("%s: %v", tt.pattern, err)
		}
	}
}

// TestHostileSchemas: a schema can neither crash the process nor take more than a moment
// of its time.
func TestHostileSchemas(t *testing.T) {
	double := `{"properties":{"x":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}`
	chain := `{"$ref":"#/$defs/a0","$defs":{` + refChain(5000) + `}}`
	nested := strings.Repeat(`{"x":`, 500) + "1" + strings.Repeat("}", 500)
	laughs := `{"$ref":"#/$defs/a0","$defs":{`
	for i := range 60 {
		laughs += fmt.Sprintf(`"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]},`, i, i+1, i+1)
	}
	laughs += `"a60":{}}}`
	for _, tt := range []struct{ name, schema, doc string }{
		{"twice at each level", double, nested},
		{"a long chain at each level", chain, nested},
		{"a billion branches", laughs, `1`},
		{"a branch for each item", `{"items":{"anyOf":[` + strings.Repeat(`{"type":"string"},`, 5000) + `{"type":"null"}]}}`,
			numbers(100_000)},
		{"many enum values", `{"items":{"enum":` + numbers(50_000) + `}}`, "[" + strings.Repeat("-1,", 100_000) + "0]"},
		{"a pattern with many ways", `{"items":{"pattern":"[a-z]{1,400}!"}}`, `["` + strings.Repeat("x", 1<<16) + `"]`},
		{"many ways from the start", `{"items":{"pattern":"^(.{0,200})*x$"}}`, `["` + strings.Repeat("y", 1<<16) + `"]`},
		{"a slow pattern", `{"items":{"pattern":"(x{1,100}){1,9}y"}}`, `["` + strings.Repeat("x", 1<<20) + `"]`},
		{"unique and deep", `{"items":{"uniqueItems":true}}`,
			"[[" + strings.Repeat("[", 500) + strings.Repeat("1,", 1<<19) + "1" + strings.Repeat("]", 500) + ",1]]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := mustCompile(t, tt.schema)
			err := s.Validate([]byte(tt.doc))
			const want = "too much work to check against the schema"
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Validate = %.200v, want %s", err, want)
			}
		})
	}
}

func refChain(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"a%d":{"$ref":"#/$defs/a%d"},`, i, i+1)
	}
	fmt.Fprintf(&b, `"a%d":{"properties":{"x":{"$ref":"#/$defs/a0"}}}`, n)
	return b.String()
}

func TestProblemsAreLimited(t *testing.T) {
	s := mustCompile(t, `{"items":{"type":"string"}}`)
	err := s.Validate([]byte(numbers(1000)))
	var e *schema.Error
	if !errors.As(err, &e) {
		t.Fatalf("Validate returned a %T, want an *Error", err)
	}
	if len(e.Problems) != 16 {
		t.Errorf("Validate found %d problems, want 16", len(e.Problems))
	}
	want := schema.Problem{Path: "[2]", Pointer: "/2", Message: "must be a string (got 2)"}
	if e.Problems[2] != want {
		t.Errorf("the third is %+v, want %+v", e.Problems[2], want)
	}
}

// FuzzNumbers compares the arithmetic on digits with that of math/big.
func FuzzNumbers(f *testing.F) {
	for _, n := range []string{"0", "1", "-1.50", "0.001e3", "12345678901234567890123", "1e30", "9.99E-7"} {
		f.Add(n, "0.5")
		f.Add("7", n)
	}
	fuzzbound.Fuzz(f, func(t *testing.T, a, b string) {
		x, ok1 := number(a)
		y, ok2 := number(b)
		if !ok1 || !ok2 {
			return
		}
		check := func(text string, want bool) {
			t.Helper()
			s, err := schema.Compile([]byte(text))
			if err != nil {
				return // a divisor may be rejected
			}
			if got := s.Validate([]byte(b)) == nil; got != want {
				t.Errorf("%s accepts %s = %t, want %t", text, b, got, want)
			}
		}
		check(`{"minimum":`+a+`}`, y.Cmp(x) >= 0)
		check(`{"exclusiveMaximum":`+a+`}`, y.Cmp(x) < 0)
		check(`{"const":`+a+`}`, y.Cmp(x) == 0)
		check(`{"type":"integer"}`, y.IsInt())
		if x.Sign() > 0 {
			check(`{"multipleOf":`+a+`}`, new(big.Rat).Quo(y, x).IsInt())
		}
	})
}

// number parses a JSON number of moderate size.
func number(text string) (*big.Rat, bool) {
	if len(text) > 40 || strings.TrimSpace(text) != text {
		return nil, false
	}
	if _, exp, ok := strings.Cut(strings.ToLower(text), "e"); ok && len(exp) > 4 {
		return nil, false
	}
	s, err := schema.Compile([]byte(`{"type":"number"}`))
	if err != nil || s.Validate([]byte(text)) != nil {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}
