package router_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/mcptest"
	"github.com/slipway-mcp/slipway/router"
)

// color provides its own schema; level declares its values.
type color struct{ R, G, B uint8 }

func (color) JSONSchema() mcp.Schema {
	return mcp.Schema{Type: "string", Extra: map[string]json.RawMessage{"pattern": json.RawMessage(`"^#[0-9a-f]{6}$"`)}}
}

func (c *color) UnmarshalJSON(text []byte) error {
	_, err := fmt.Sscanf(string(text), `"#%02x%02x%02x"`, &c.R, &c.G, &c.B)
	return err
}

type level string

func (level) Enum() []string { return []string{"low", "high"} }

type base struct {
	ID   int64  `json:"id" doc:"number of the item"`
	Note string `json:"note,omitempty"`
}

type tree struct {
	Name     string `json:"name"`
	Children []tree `json:"children,omitempty"`
}

type everything struct {
	base
	Text     string            `json:"text" minLength:"2" maxLength:"5" pattern:"^[a-z]+$"`
	Unit     string            `json:"unit" enum:"c,f" default:"c"`
	Count    int               `json:"count" minimum:"1" maximum:"10" default:"3"`
	Small    int8              `json:"small,omitempty"`
	Even     int               `json:"even,omitempty" multipleOf:"2"`
	Odd      int               `json:"odd,omitempty" enum:"1,3,5"`
	Size     uint64            `json:"size,omitempty"`
	Ratio    float64           `json:"ratio,omitempty" exclusiveMinimum:"0" exclusiveMaximum:"1"`
	Step     float64           `json:"step,omitempty" multipleOf:"0.1"`
	Flag     *bool             `json:"flag"`
	Mail     string            `json:"mail,omitempty" format:"email"`
	At       time.Time         `json:"at,omitzero"`
	Wait     time.Duration     `json:"wait,omitempty" default:"90s"`
	Data     []byte            `json:"data,omitempty"`
	Raw      json.RawMessage   `json:"raw,omitempty"`
	Any      any               `json:"any,omitempty"`
	Number   json.Number       `json:"number,omitempty" minimum:"0"`
	Tags     []string          `json:"tags,omitempty" minItems:"1" maxItems:"3" uniqueItems:"true" pattern:"^[a-z]"`
	Pair     [2]int            `json:"pair,omitzero"`
	Limits   map[string]int    `json:"limits,omitempty"`
	Names    map[string]string `json:"names,omitempty"`
	Rows     []base            `json:"rows,omitempty"`
	Next     *base             `json:"next,omitempty"`
	Tree     tree              `json:"tree,omitzero"`
	Color    color             `json:"color,omitzero"`
	Level    level             `json:"level,omitempty"`
	Addr     netip.Addr        `json:"addr,omitzero"`
	Big      *big.Int          `json:"big,omitempty"`
	Defaults []int             `json:"defaults,omitempty" default:"[1,2]"`
}

// call runs a tool that takes In, and returns the input that it received.
func call[In any](t testing.TB, arguments string, opts ...router.ToolOption) (in In, err error) {
	t.Helper()
	r, err := router.New("x", "1", router.Tool("t", "", func(_ context.Context, got In) (router.Void, error) {
		in = got
		return router.Void{}, nil
	}, opts...))
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.CallTool(context.Background(), &mcp.CallToolParams{Name: "t", Arguments: json.RawMessage(arguments)})
	return in, err
}

func TestInput(t *testing.T) {
	yes := true
	const rest = `"id":1,"text":"abc"`
	for _, tt := range []struct {
		name, arguments string
		want            func(*everything)
	}{
		{"least", `{` + rest + `}`, func(*everything) {}},
		{"white space", " {\n\t\"text\" : \"abc\" ,\r \"id\":1 } ", func(*everything) {}},
		{"escaped name", `{"\u0069d":1,"text":"abc"}`, func(*everything) {}},
		{"int64", `{"id":9007199254740993,"text":"abc"}`, func(e *everything) { e.ID = 9007199254740993 }},
		{"least int64", `{"id":-9223372036854775808,"text":"abc"}`, func(e *everything) { e.ID = -9223372036854775808 }},
		{"integer as fraction", `{"id":1.0,"text":"abc"}`, func(*everything) {}},
		{"integer as power", `{"id":12e2,"text":"abc"}`, func(e *everything) { e.ID = 1200 }},
		{"greatest uint64", `{` + rest + `,"size":18446744073709551615}`, func(e *everything) {
			e.Size = 18446744073709551615
		}},
		{"null is absent", `{` + rest + `,"unit":null,"count":null,"flag":null,"tags":null,"wait":null}`,
			func(*everything) {}},
		{"escapes",
			`{"id":1,"text":"abc","note":"a\"\\\n\u00e9\ud83d\ude00"}`, func(e *everything) { e.Note = "a\"\\\né😀" }},
		{"numbers", `{` + rest + `,"small":-128,"even":4,"odd":3,"ratio":5e-1,"step":0.3,"number":12345678901234567890.5}`,
			func(e *everything) {
				e.Small, e.Even, e.Odd, e.Ratio, e.Step, e.Number = -128, 4, 3, 0.5, 0.3, "12345678901234567890.5"
			}},
		{"texts", `{` + rest +
			`,"flag":true,"mail":"a@b.c","at":"2026-07-28T12:00:00Z","wait":"1h30m","data":"AQI=","level":"high","addr":"::1"}`,
			func(e *everything) {
				e.Flag, e.Mail, e.At, e.Wait, e.Data = &yes, "a@b.c", time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC), 90*time.Minute,
					[]byte{1, 2}
				e.Level, e.Addr = "high", netip.MustParseAddr("::1")
			}},
		{"as it is", `{` + rest + `,"raw":{"b": [1]},"any":{"x":[1,null]},"big":123456789012345678901234567890}`,
			func(e *everything) {
				e.Raw, e.Any = json.RawMessage(`{"b": [1]}`), map[string]any{"x": []any{1.0, nil}}
				e.Big, _ = new(big.Int).SetString("123456789012345678901234567890", 10)
			}},
		{"lists", `{` + rest + `,"tags":["a","b"],"pair":[1,2],"rows":[{"id":1},{"id":2,"note":"n"}],"defaults":[]}`,
			func(e *everything) {
				e.Tags, e.Pair, e.Rows, e.Defaults = []string{"a", "b"}, [2]int{1, 2}, []base{{ID: 1}, {ID: 2, Note: "n"}}, []int{}
			}},
		{"long list", `{` + rest + `,"defaults":[1,2,3,4,5,6,7,8,9,10]}`, func(e *everything) {
			e.Defaults = []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
		}},
		{"objects", `{` + rest + `,"limits":{"a":1,"b":2},"names":{"":"x"},"next":{"id":5},"color":"#0102ff"}`,
			func(e *everything) {
				e.Limits, e.Names, e.Next, e.Color = map[string]int{"a": 1, "b": 2}, map[string]string{"": "x"}, &base{ID: 5},
					color{1, 2, 255}
			}},
		{"recursive", `{` + rest + `,"tree":{"name":"a","children":[{"name":"b","children":[{"name":"c"}]}]}}`,
			func(e *everything) {
				e.Tree = tree{"a", []tree{{"b", []tree{{Name: "c"}}}}}
			}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := everything{
				base: base{ID: 1}, Text: "abc", Unit: "c", Count: 3, Wait: 90 * time.Second, Defaults: []int{1, 2},
			}
			tt.want(&want)
			got, err := call[everything](t, tt.arguments)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(everything{}), cmp.Comparer(func(a, b *big.Int) bool {
				return a == b || a != nil && b != nil && a.Cmp(b) == 0
			}), cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestInputErrors(t *testing.T) {
	const rest = `"id":1,"text":"abc"`
	for _, tt := range []struct{ name, arguments, want string }{
		{"missing", `{}`, `id: required; text: required`},
		{"misspelt", `{"id":1,"txet":"abc"}`,
			`txet: unknown argument, did you mean "text"? (accepted: id, note, text, unit, count, small, even, odd, size,` +
				` ratio, step, flag, mail, at, wait, data, raw, any, number, tags and 11 more); text: required`},
		{"letter case", `{"ID":1,"text":"abc"}`,
			`ID: unknown argument, did you mean "id"? (accepted: id, note, text, unit, count, small, even, odd, size, ratio,` +
				` step, flag, mail, at, wait, data, raw, any, number, tags and 11 more); id: required`},
		{"type", `{"id":"1","text":"abc"}`, `id: must be an integer (got "1")`},
		{"fraction", `{"id":1.5,"text":"abc"}`, `id: must be an integer (got 1.5)`},
		{"null", `{"id":null,"text":"abc"}`, `id: must be an integer (got null)`},
		{"too great", `{"id":9223372036854775808,"text":"abc"}`,
			`id: must fit a signed integer of 64 bits (got 9223372036854775808)`},
		{"huge", `{"id":1e999999999,"text":"abc"}`, `id: must fit a signed integer of 64 bits (got 1e999999999)`},
		{"tiny", `{"id":1e-999999999,"text":"abc"}`, `id: must be an integer (got 1e-999999999)`},
		{"int8", `{` + rest + `,"small":128}`, `small: must fit a signed integer of 8 bits (got 128)`},
		{"uint64", `{` + rest + `,"size":18446744073709551616}`,
			`size: must fit an unsigned integer of 64 bits (got 18446744073709551616)`},
		{"negative", `{` + rest + `,"size":-1}`, `size: must be at least 0 (got -1)`},
		{"float64", `{` + rest + `,"ratio":1e400}`, `ratio: must be a number of 64 bits (got 1e400)`},
		{"several", `{"id":1,"text":"A","unit":"k","count":11}`,
			`text: must have at least 2 characters (got 1); text: must match the pattern ^[a-z]+$ (got "A"); unit: must be ` +
				`one of "c", "f" (got "k"); count: must be at most 10 (got 11)`},
		{"stated and not", `{"id":1.5,"text":"abc","mail":"x","wait":"soon"}`,
			`id: must be an integer (got 1.5); mail: must be an email address (got "x"); wait: must be a duration such as ` +
				`"90s" or "1h30m" (got "soon")`},
		{"null and more", `{"id":1.5,"text":"abc","unit":null}`, `id: must be an integer (got 1.5)`},
		{"strict bound", `{` + rest + `,"ratio":1}`, `ratio: must be less than 1 (got 1)`},
		{"multiple", `{` + rest + `,"even":3}`, `even: must be a multiple of 2 (got 3)`},
		{"multiple of a fraction", `{` + rest + `,"step":0.35}`, `step: must be a multiple of 0.1 (got 0.35)`},
		{"enum of numbers", `{` + rest + `,"odd":2}`, `odd: must be one of 1, 3, 5 (got 2)`},
		{"Enum()", `{` + rest + `,"level":"hihg"}`, `level: must be one of "low", "high" (got "hihg", did you mean "high"?)`},
		{"time", `{` + rest + `,"at":"yesterday"}`,
			`at: must be a date and time such as "2026-07-28T12:00:00Z" (got "yesterday")`},
		{"base64", `{` + rest + `,"data":"%"}`, `data: must be base64 (RFC 4648, section 4)`},
		{"address", `{` + rest + `,"addr":"x"}`, `addr: ParseAddr("x"): unable to parse IP (got "x")`},
		{"own schema", `{` + rest + `,"color":"red"}`, `color: must match the pattern ^#[0-9a-f]{6}$ (got "red")`},
		{"number", `{` + rest + `,"number":-1}`, `number: must be at least 0 (got -1)`},
		{"items", `{` + rest + `,"tags":["a","a"]}`, `tags: items must differ, but those at 0 and 1 are the same`},
		{"few items", `{` + rest + `,"tags":[]}`, `tags: must have at least 1 item (got 0)`},
		{"item", `{` + rest + `,"tags":["a",1,"B"]}`,
			`tags[1]: must be a string (got 1); tags[2]: must match the pattern ^[a-z] (got "B")`},
		{"null item", `{` + rest + `,"rows":[null]}`, `rows[0]: must be an object (got null)`},
		{"array", `{` + rest + `,"pair":[1]}`, `pair: must have at least 2 items (got 1)`},
		{"nested", `{` + rest + `,"rows":[{"id":1},{"id":"x"}]}`, `rows[1].id: must be an integer (got "x")`},
		{"recursive", `{` + rest + `,"tree":{"name":"a","children":[{"nmae":"b"}]}}`,
			`tree.children[0].nmae: unknown member, did you mean "name"? (accepted: name,` +
				` children); tree.children[0].name: required`},
		{"map", `{` + rest + `,"limits":{"a b":"x"}}`, `limits["a b"]: must be an integer (got "x")`},
		{"twice", `{` + rest + `,"id":2}`, `id: given twice`},
		{"twice, escaped", `{` + rest + `,"\u0069d":2}`, `id: given twice`},
		{"twice in a map", `{` + rest + `,"names":{"a":"1","a":"2"}}`, `names.a: given twice`},
		{"twice in any", `{` + rest + `,"any":{"a":1,"a":2}}`, `any.a: given twice`},
		{"twice in raw", `{` + rest + `,"raw":[{"a":1,"a":2}]}`, `raw[0].a: given twice`},
		{"no object", `[]`, `must be an object (got an array)`},
		{"no JSON", `{"id":1,`, `not valid JSON: unexpected end of input at byte 8`},
		{"text after", `{` + rest + `} x`, `not valid JSON: text after the end of the value at byte 22`},
		{"no member", `{"id" 1}`, `not valid JSON: unexpected character '1' at byte 6`},
		{"not UTF-8", "{\"id\":1,\"text\":\"\xff\"}", `not valid JSON: invalid UTF-8 at byte 16`},
		{"too deep", `{` + rest + `,"any":` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `}`,
			`not valid JSON: nested too deeply at byte 538`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := call[everything](t, tt.arguments)
			want := "invalid arguments for t: " + tt.want
			if err == nil || err.Error() != want {
				t.Errorf("error\n got %v\nwant %s", err, want)
			}
		})
	}
}

// TestStrict: a misspelt optional argument is rejected with a suggestion, both by the
// schema and through a client, unless the tool or router is lenient.
func TestStrict(t *testing.T) {
	const misspelt = `{"city":"Lyon","unitt":"c"}`
	want := `invalid arguments for t: unitt: unknown argument, did you mean "unit"? (accepted: city, unit)`
	lenient := router.Options{Lenient: true}
	for name, c := range map[string]struct {
		features []router.Feature
		strict   bool
	}{
		"default":                {[]router.Feature{takes[where]()}, true},
		"lenient tool":           {[]router.Feature{takes[where](router.Lenient)}, false},
		"lenient server":         {[]router.Feature{takes[where](), lenient}, false},
		"strict tool of it":      {[]router.Feature{takes[where](router.Strict), lenient}, true},
		"lenient tool in groups": {[]router.Feature{router.Group("", takes[where](router.Lenient))}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := router.New("x", "1", c.features...)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range []mcp.Version{mcp.LatestLegacyVersion, mcp.LatestVersion} {
				client := mcptest.Connect(t, r, v, nil)
				if got := string(client.Tools()[0].InputSchema); strings.Contains(got, `"additionalProperties":false`) != c.strict {
					t.Errorf("%v: the schema is %s, want additionalProperties false: %t", v, got, c.strict)
				}
				got := client.CallTool("t", json.RawMessage(misspelt))
				if got.IsError != c.strict || c.strict && got.Content[0].Text != want {
					t.Errorf("%v: answered %+v, want %q: %t", v, got, want, c.strict)
				}
			}
		})
	}
}

// TestIgnored: the client is notified of an ignored argument.
func TestIgnored(t *testing.T) {
	r, err := router.New("x", "1", takes[where](router.Lenient))
	if err != nil {
		t.Fatal(err)
	}
	c := mcptest.Connect(t, r, mcp.LatestLegacyVersion, nil)
	c.CallTool("t", map[string]string{"city": "Lyon", "unitt": "c"})
	got := c.Notifications()
	if len(got) != 1 ||
		!strings.Contains(string(got[0].Params), `unitt: unknown argument, ignored; did you mean \"unit\"?`) {
		t.Errorf("notifications = %+v, want one about unitt", got)
	}
}

func TestInputSchema(t *testing.T) {
	r, err := router.New("x", "1", takes[everything]())
	if err != nil {
		t.Fatal(err)
	}
	c, _ := r.Catalog(context.Background())
	want := `{"type":"object","properties":{` +
		`"id":{"type":"integer","description":"number of the item"},` +
		`"note":{"type":"string"},` +
		`"text":{"type":"string","minLength":2,"maxLength":5,"pattern":"^[a-z]+$"},` +
		`"unit":{"type":"string","enum":["c","f"],"default":"c"},` +
		`"count":{"type":"integer","minimum":1,"maximum":10,"default":3},` +
		`"small":{"type":"integer","minimum":-128,"maximum":127},` +
		`"even":{"type":"integer","multipleOf":2},` +
		`"odd":{"type":"integer","enum":[1,3,5]},` +
		`"size":{"type":"integer","minimum":0},` +
		`"ratio":{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1},` +
		`"step":{"type":"number","multipleOf":0.1},` +
		`"flag":{"type":"boolean"},` +
		`"mail":{"type":"string","format":"email"},` +
		`"at":{"type":"string","format":"date-time"},` +
		`"wait":{"type":"string","default":"90s","examples":["90s","1h30m"]},` +
		`"data":{"type":"string","contentEncoding":"base64"},` +
		`"raw":{},"any":{},` +
		`"number":{"type":"number","minimum":0},` +
		`"tags":{"type":"array","items":{"type":"string","pattern":"^[a-z]"},"minItems":1,"maxItems":3,"uniqueItems":true},` +
		`"pair":{"type":"array","items":{"type":"integer"},"minItems":2,"maxItems":2},` +
		`"limits":{"type":"object","additionalProperties":{"type":"integer"}},` +
		`"names":{"type":"object","additionalProperties":{"type":"string"}},` +
		`"rows":{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer",` +
		`"description":"number of the item"},"note":{"type":"string"}},"required":["id"],"additionalProperties":false}},` +
		`"next":{"type":"object","properties":{"id":{"type":"integer","description":"number of the item"},` +
		`"note":{"type":"string"}},"required":["id"],"additionalProperties":false},` +
		`"tree":{"$ref":"#/$defs/tree"},` +
		`"color":{"type":"string","pattern":"^#[0-9a-f]{6}$"},` +
		`"level":{"type":"string","enum":["low","high"]},` +
		`"addr":{"type":"string"},"big":{},` +
		`"defaults":{"type":"array","items":{"type":"integer"},"default":[1,2]}},` +
		`"required":["id","text"],"additionalProperties":false,` +
		`"$defs":{"tree":{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array",` +
		`"items":{"$ref":"#/$defs/tree"}}},"required":["name"],"additionalProperties":false}}}`
	if diff := cmp.Diff(strings.Split(want, `,"`), strings.Split(string(c.Tools[0].InputSchema), `,"`)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestJSONSchemaTag: input types written for go-sdk work unchanged.
func TestJSONSchemaTag(t *testing.T) {
	type in struct {
		Name string `json:"name" jsonschema:"the name of the person"`
	}
	r, err := router.New("x", "1", takes[in]())
	if err != nil {
		t.Fatal(err)
	}
	c, _ := r.Catalog(context.Background())
	if got, want := string(c.Tools[0].InputSchema),
		`{"type":"object","properties":{"name":{"type":"string","description":"the name of the person"}},`+
			`"required":["name"],"additionalProperties":false}`; got != want {
		t.Errorf("schema %s, want %s", got, want)
	}
}

func TestHandWrittenSchema(t *testing.T) {
	const text = `{"type": "object",
		"properties": {"to": {"type": "string", "minLength": 1}, "cc": {"type": "string"}, "how": {"enum": ["post",` +
		` "mail"], "default": "mail"}},
		"required": ["to"], "dependentRequired": {"cc": ["how"]}, "additionalProperties": false}`
	type in struct {
		To  string `json:"to"`
		Cc  string `json:"cc"`
		How string `json:"how"`
	}
	for _, tt := range []struct{ name, arguments, want string }{
		{"fine", `{"to":"me"}`, ""},
		{"wrong", `{"to":"","extra":1}`,
			`invalid arguments for t: to: must not be empty; extra: unknown argument (accepted: to, cc, how)`},
		{"none", ``, `invalid arguments for t: to: required`},
		{"value", `{"to":"me","how":"fax"}`, `invalid arguments for t: how: must be one of "post", "mail" (got "fax")`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			typed, err := call[in](t, tt.arguments, router.Schema(text))
			if msg := message(err); msg != tt.want || err == nil && typed != (in{To: "me", How: "mail"}) {
				t.Errorf("struct: %+v, %s, want %s", typed, msg, tt.want)
			}
			raw, err := call[json.RawMessage](t, tt.arguments, router.Schema(text))
			if msg := message(err); msg != tt.want || err == nil && string(raw) != `{"to":"me","how":"mail"}` {
				t.Errorf("raw: %s, %s, want %s", raw, msg, tt.want)
			}
			loose, err := call[map[string]any](t, tt.arguments, router.Schema(text))
			if msg := message(err); msg != tt.want || err == nil && loose["how"] != "mail" {
				t.Errorf("map: %v, %s, want %s", loose, msg, tt.want)
			}
		})
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestOwnCopies: changes that one call makes to its arguments are invisible to others.
func TestOwnCopies(t *testing.T) {
	type in struct {
		List []int           `json:"list,omitempty" default:"[1,2]"`
		Map  map[string]int  `json:"map,omitempty" default:"{\"a\":1}"`
		Raw  json.RawMessage `json:"raw,omitempty"`
	}
	r, err := router.New("x", "1", router.Tool("t", "", func(_ context.Context, in in) (string, error) {
		text := fmt.Sprint(in.List, in.Map, string(in.Raw))
		in.List[0], in.Map["a"], in.Raw[0] = 9, 9, '9'
		return text, nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	arguments := json.RawMessage(`{"raw":[1]}`)
	for range 2 {
		got, err := r.CallTool(context.Background(), &mcp.CallToolParams{Name: "t", Arguments: arguments})
		if err != nil || got.Content[0].Text != "[1 2] map[a:1][1]" {
			t.Errorf("result = %+v, %v", got, err)
		}
	}
}
