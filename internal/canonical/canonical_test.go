package canonical_test

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/internal/canonical"
	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
)

func TestAppend(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"RFC 8785, 3.2.2", `{
  "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
  "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
  "literals": [null, true, false]
}`, `{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],` +
			`"string":"€$\u000f\nA'B\"\\\\\"/"}`},
		{"RFC 8785, 3.2.3",
			`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One",` +
				`"\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`,
			"{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\",\"ö\":\"Latin Small Letter O With " +
				"Diaeresis\",\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\ufb33\":\"Hebrew Letter Dalet With " +
				"Dagesh\"}"},
		{"two above the basic plane", `{"\ud83d\ude01":1,"\ud83d\ude00":2}`, `{"😀":2,"😁":1}`},
		{"a name that begins another", `{"ab":1,"a":2,"":3}`, `{"":3,"a":2,"ab":1}`},
		{"members of members", `{"b":{"d":1,"c":[{"z":0,"y":0}]},"a":2}`, `{"a":2,"b":{"c":[{"y":0,"z":0}],"d":1}}`},
		{"white space", " \t\n[ 1 , { } , [ ] ]\r\n", `[1,{},[]]`},
		{"short escapes", `"\b\f\n\r\t\u0001\u001F\/\u007f"`, "\"\\b\\f\\n\\r\\t\\u0001\\u001f/\u007f\""},
		{"no escape for HTML", `"\u003cb\u003e & \u2028"`, "\"<b> & \u2028\""},
		{"a replacement character that was meant", `{"\ufffd":"\ufffd"}`, "{\"\ufffd\":\"\ufffd\"}"},
		{"a pair in a name", `{"\ud83d\ude00\"\\":1}`, `{"😀\"\\":1}`},
		{"negative zero", `[-0,-0.0,0e9]`, `[0,0,0]`},
		{"a scalar", `7`, `7`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := canonical.Append(nil, []byte(tt.text))
			if tt.want == "" {
				if err == nil {
					t.Errorf("Append = %s, want an error", got)
				}
				return
			}
			if err != nil || string(got) != tt.want {
				t.Errorf("Append = %s, %v\nwant     %s", got, err, tt.want)
			}
		})
	}
}

// TestDeepObjects guards the cost of objects in objects: each byte was moved as often as objects around it had to be
// sorted.
func TestDeepObjects(t *testing.T) {
	text := func(depth, size int) []byte {
		return []byte(strings.Repeat(`[{"b":{"z":[],"y":0},"a":`, depth) + `"` + strings.Repeat("x", size) + `"` +
			strings.Repeat(`}]`, depth))
	}
	for depth := range 40 {
		want := strings.Repeat(`[{"a":`, depth) + `"xx"` + strings.Repeat(`,"b":{"y":0,"z":[]}}]`, depth)
		got, err := canonical.Append([]byte("> "), text(depth, 2))
		if err != nil || string(got) != "> "+want {
			t.Fatalf("depth %d: Append = %s, %v, want > %s", depth, got, err, want)
		}
	}
	cost := func(text []byte) time.Duration {
		least := time.Hour
		for range 5 {
			began := time.Now()
			canonical.AppendExact(nil, text)
			least = min(least, time.Since(began))
		}
		return least
	}
	flat, deep := cost(text(8, 1<<20)), cost(text(250, 1<<20))
	if deep > 5*flat {
		t.Errorf("250 objects in each other take %v, and 8 take %v", deep, flat)
	}
}

// TestNumbers has the samples of RFC 8785, appendix B.
func TestNumbers(t *testing.T) {
	for bits, want := range map[uint64]string{
		0x0000000000000000: "0",
		0x8000000000000000: "0",
		0x0000000000000001: "5e-324",
		0x8000000000000001: "-5e-324",
		0x7fefffffffffffff: "1.7976931348623157e+308",
		0xffefffffffffffff: "-1.7976931348623157e+308",
		0x4340000000000000: "9007199254740992",
		0xc340000000000000: "-9007199254740992",
		0x4430000000000000: "295147905179352830000",
		0x44b52d02c7e14af5: "9.999999999999997e+22",
		0x44b52d02c7e14af6: "1e+23",
		0x44b52d02c7e14af7: "1.0000000000000001e+23",
		0x444b1ae4d6e2ef4e: "999999999999999700000",
		0x444b1ae4d6e2ef4f: "999999999999999900000",
		0x444b1ae4d6e2ef50: "1e+21",
		0x3eb0c6f7a0b5ed8c: "9.999999999999997e-7",
		0x3eb0c6f7a0b5ed8d: "0.000001",
		0x41b3de4355555553: "333333333.3333332",
		0x41b3de4355555554: "333333333.33333325",
		0x41b3de4355555555: "333333333.3333333",
		0x41b3de4355555556: "333333333.3333334",
		0x41b3de4355555557: "333333333.33333343",
		0xbecbf647612f3696: "-0.0000033333333333333333",
		0x43143ff3c1cb0959: "1424953923781206.2",
	} {
		text := strconv.FormatFloat(math.Float64frombits(bits), 'e', 20, 64)
		if got, err := canonical.Append(nil, []byte(text)); err != nil || string(got) != want {
			t.Errorf("Append(%s) = %s, %v, want %s", text, got, err, want)
		}
	}
}

func TestAppendRefuses(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"nothing", ``, "end of input"},
		{"no JSON", `{"a":01}`, ""},
		{"more behind it", `{} {}`, ""},
		{"a member given twice", `{"b":1,"a":2,"b":1}`, `duplicate member "b"`},
		{"a member given twice, spelled in two ways", `{"a":1,"\u0061":2}`, `duplicate member "a"`},
		{"the same deeper down", `[{"x":{"a":1,"a":1}}]`, `duplicate member "a"`},
		{"half of a pair", `"\ud83d"`, `half of a surrogate pair: \ud83d`},
		{"the other half", `"\ude00\ud83d"`, `half of a surrogate pair: \ude00`},
		{"a half and a letter", `"\ud83d\u0041"`, `\ud83d`},
		{"half of a pair in a name", `{"x": 1, "\"\\\ud83d" : 1}`, `half of a surrogate pair: \ud83d`},
		{"too large a number", `[1e400]`, "1e400 is too large"},
		{"bytes that are not text", "\"\xff\"", ""},
		{"too deep", strings.Repeat("[", 600) + strings.Repeat("]", 600), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := canonical.Append(nil, []byte(tt.text))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Append = %s, %v, want an error with %q", got, err, tt.want)
			}
		})
	}
}

// FuzzAppend: the canonical form has the same meaning as the text, is its own canonical
// form, and is appended to dst.
func FuzzAppend(f *testing.F) {
	for _, seed := range []string{`{"b":[1,2.50,-0],"a":"\u20ac\n"}`, `{"\ud83d\ude00":1,"\ufb33":{"x":null}}`,
		`[1e21,1e-7,true]`, `{"a":1,"a":2}`, `"\ud83d"`} {
		f.Add([]byte(seed))
	}
	fuzzbound.Fuzz(f, func(t *testing.T, text []byte) {
		form, err := canonical.Append(nil, text)
		if err != nil {
			return
		}
		var was, is any
		if json.Unmarshal(text, &was) != nil {
			t.Fatalf("%q is not JSON", text)
		}
		if json.Unmarshal(form, &is) != nil || !reflect.DeepEqual(was, is) {
			t.Fatalf("%q became %q", text, form)
		}
		again, err := canonical.Append([]byte("x"), form)
		if err != nil || !bytes.Equal(again[1:], form) || again[0] != 'x' {
			t.Fatalf("the form of %q is %q, %v", form, again, err)
		}
	})
}

func TestAppendExact(t *testing.T) {
	for text, want := range map[string]string{
		`9007199254740993`:            `9007199254740993`,
		`9007199254740992.0`:          `9007199254740992`,
		`1.0`:                         `1`,
		`-0.0`:                        `0`,
		`1e400`:                       `1e400`,
		`1e-400`:                      `1e-400`,
		`0.1000`:                      `0.1`,
		`0.10000000000000000555`:      `0.10000000000000000555`,
		`12e-8`:                       `1.2e-7`,
		`{"b":1,"a":[2, {}],"b":2.0}`: `{"a":[2,{}],"b":1,"b":2}`,
		`"\ud83d"`:                    "\"\ufffd\"",
		`{"\ud83d":"\u0041"}`:         "{\"\ufffd\":\"A\"}",
	} {
		if got := string(canonical.AppendExact(nil, []byte(text))); got != want {
			t.Errorf("AppendExact(%s) = %s, want %s", text, got, want)
		}
	}
}
