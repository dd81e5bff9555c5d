package router_test

import (
	"context"
	"encoding/json"
	"math/big"
	"reflect"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/router"
)

// common is a type that encoding/json, jsonschema-go and the plan all support.
type common struct {
	Text  string           `json:"text" minLength:"1" maxLength:"4" pattern:"^[^ ]*$"`
	Unit  string           `json:"unit,omitempty" enum:"c,f,"`
	Count int64            `json:"count" minimum:"-5" exclusiveMaximum:"1000000000000000000"`
	Small uint8            `json:"small,omitempty" maximum:"200"`
	Ratio float64          `json:"ratio,omitempty" minimum:"-1.5"`
	Flag  bool             `json:"flag,omitempty"`
	Tags  []string         `json:"tags,omitempty" minItems:"1" uniqueItems:"true"`
	Rows  []commonRow      `json:"rows,omitempty"`
	Names map[string]int32 `json:"names,omitempty"`
	Next  *commonRow       `json:"next,omitempty"`
	Any   any              `json:"any,omitempty"`
}

type commonRow struct {
	ID   int    `json:"id"`
	Note string `json:"note,omitempty"`
}

// FuzzInput compares the plan with the decoder of the standard library and an independent
// validator: input that the plan accepts must be accepted and decoded alike by both;
// input that it rejects must be rejected by one of them, or by a rule of ours.
func FuzzInput(f *testing.F) {
	for _, seed := range []string{
		`{"text":"a","count":1}`,
		`{"text":"é😀","count":9007199254740993,"unit":"c","small":200,"ratio":-1.5,"flag":true}`,
		`{"text":"a","count":1,"tags":["a","b"],"rows":[{"id":1},{"id":2,"note":"\u0041"}],"names":{"a":1},"next":{"id":3},` +
			`"any":{"x":[1,null]}}`,
		`{"text":"a","count":1.0,"small":1e2,"next":null,"unit":null}`,
		`{"count":1,"text":"a","text":"b"}`,
		`{"Text":"a","count":1}`,
		`{"text":"a b","count":-6,"small":201,"tags":[],"rows":[{}],"names":{"a":2147483648}}`,
		` { "text" : "a" , "count" : 1 } `,
		`{"text":"a","count":1}x`,
		`[]`, `{`, `{"text":"\ud800","count":0}`, `{"text":"a","count":1e400,"ratio":1e400}`,
	} {
		f.Add([]byte(seed))
	}
	var got common
	r, err := router.New("x", "1", router.Tool("t", "", func(_ context.Context, in common) (router.Void, error) {
		got = in
		return router.Void{}, nil
	}))
	if err != nil {
		f.Fatal(err)
	}
	c, _ := r.Catalog(context.Background())
	var s jsonschema.Schema
	if err := json.Unmarshal(c.Tools[0].InputSchema, &s); err != nil {
		f.Fatal(err)
	}
	peer, err := s.Resolve(nil)
	if err != nil {
		f.Fatal(err)
	}
	fuzzbound.Fuzz(f, func(t *testing.T, text []byte) {
		got = common{}
		_, err := r.CallTool(context.Background(), &mcp.CallToolParams{Name: "t", Arguments: text})
		if len(text) == 0 {
			return
		}
		var value any
		var want common
		decodeErr := json.Unmarshal(text, &value)
		typedErr := json.Unmarshal(text, &want)
		if err != nil {
			if decodeErr == nil && typedErr == nil && peer.Validate(value) == nil && !ours(text, err) {
				t.Fatalf("%q: refused with %v, which no other check reports", text, err)
			}
			return
		}
		switch {
		case decodeErr != nil:
			t.Fatalf("%q: accepted, but it is not JSON: %v", text, decodeErr)
		case strings.Contains(string(text), "null") || inexact(text):
			return // null means absent here, and 1.0 is an integer
		case folded(text):
			return // encoding/json ignores the case of names
		case typedErr != nil:
			t.Fatalf("%q: accepted, but encoding/json says %v", text, typedErr)
		case !reflect.DeepEqual(got, want):
			t.Fatalf("%q: read as %+v, by encoding/json as %+v", text, got, want)
		}
		if err := peer.Validate(value); err != nil {
			t.Fatalf("%q: accepted, but jsonschema-go says %v", text, err)
		}
	})
}

// ours reports whether err is a rule that neither of the others has.
func ours(text []byte, err error) bool {
	for _, rule := range []string{"given twice", "UTF-8", "nested too deeply", "required"} {
		if strings.Contains(err.Error(), rule) {
			return true
		}
	}
	// The validator reads numbers as float64, which rounds integers over 2^53.
	return inexact(text)
}

// inexact reports whether text contains a number in an unusual notation.
func inexact(text []byte) bool {
	dec := json.NewDecoder(strings.NewReader(string(text)))
	dec.UseNumber()
	for {
		token, err := dec.Token()
		if err != nil {
			return false
		}
		n, ok := token.(json.Number)
		if !ok {
			continue
		}
		exact, ok := new(big.Float).SetPrec(200).SetString(n.String())
		if !ok || strings.ContainsAny(n.String(), ".eE") {
			return true
		}
		if f, accuracy := exact.Float64(); accuracy != big.Exact || f > 1<<53 || f < -1<<53 {
			return true
		}
	}
}

// folded reports whether text contains a name that matches a field only if case is
// ignored, or matches none.
func folded(text []byte) bool {
	known := map[string]bool{}
	for _, t := range []reflect.Type{reflect.TypeFor[common](), reflect.TypeFor[commonRow]()} {
		for i := range t.NumField() {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			known[name] = true
		}
	}
	var walk func(i, depth int) (int, bool)
	walk = func(i, depth int) (int, bool) {
		found := false
		if i = jsonscan.Space(text, i); i < len(text) && (text[i] == '{' || text[i] == '[') {
			each := func(i int) (int, error) {
				end, inner := walk(i, depth+1)
				found = found || inner
				return end, nil
			}
			if text[i] == '[' {
				end, _ := jsonscan.Array(text, i, depth, each)
				return end, found
			}
			end, _ := jsonscan.Object(text, i, depth, func(key []byte, i int) (int, error) {
				found = found || !known[string(key)]
				return each(i)
			})
			return end, found
		}
		end, _ := jsonscan.ValueAt(text, i, depth)
		return end, false
	}
	_, found := walk(0, 0)
	return found
}

// FuzzOutput compares the encoder with that of the standard library.
func FuzzOutput(f *testing.F) {
	f.Add("a<b", int64(1), 1.5, true, []byte{1}, "k", uint8(3))
	f.Add("\xff\u2028", int64(-1), 1e-9, false, []byte(nil), "", uint8(0))
	fuzzbound.Fuzz(f, func(t *testing.T, text string, n int64, x float64, flag bool, data []byte, key string,
		small uint8) {
		type row struct {
			Text string         `json:"text"`
			N    int64          `json:"n,omitempty"`
			X    float64        `json:"x"`
			Y    float32        `json:"y"`
			Flag *bool          `json:"flag,omitempty"`
			Data []byte         `json:"data,omitempty"`
			Map  map[string]any `json:"map"`
			List []uint8        `json:"list,omitempty"`
			Rows [][]int        `json:"rows"`
		}
		in := row{text, n, x, float32(x), &flag, data, map[string]any{key: text, "b": n}, nil, [][]int{{int(small)}, {}}}
		want, wantErr := mcp.Marshal(in)
		got, err := answer(t, in)
		if (err != nil) != (wantErr != nil) {
			t.Fatalf("%+v: error %v, that of encoding/json %v", in, err, wantErr)
		}
		var sent struct{ StructuredContent json.RawMessage }
		if err == nil && json.Unmarshal([]byte(got), &sent) == nil && !sameJSON(sent.StructuredContent, want) {
			t.Fatalf("%+v:\n got %s\nwant %s", in, sent.StructuredContent, want)
		}
	})
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}
