package jsonscan_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
)

var seeds = []string{
	`null`, `true`, `false`, `0`, `-0`, `01`, `1.`, `1e400`, `-`, `1e`, `1E+2`, `.5`, `+1`, `1.0e2`,
	`""`, `"a"`, `"\u00fc"`, `"\ud83d\ude00"`, `"\ud800"`, `"\ud800\u0041"`, `"\x"`, `"\u12g4"`, "\"\x01\"", "\"\xff\"",
	"\"ü日本😀\"",
	`"12345678"`, `"1234567\""`, `"12345678901234567890\\"`, `"unclosed`, `"esc\`,
	`[]`, `[ ]`, `[1,2]`, `[1,]`, `[,]`, `[1 2]`, `{}`, `{ }`, `{"a":1}`, `{"a":1,}`, `{"a"}`, `{a:1}`, `{"a":1 "b":2}`,
	`{"a":[{"b":null}]}`,
	` {"a" : [ 1 , "x y" ] } `, `1 2`, `{}x`, "\ufeff{}", ``, ` `, "tru", "nul", "[", "{", `{"a":`,
	strings.Repeat("[", 513) + strings.Repeat("]", 513), strings.Repeat("[", 512) + strings.Repeat("]", 512),
}

// depth counts nesting as the limit does, for valid JSON.
func depth(b []byte) int {
	deepest, now, inString := 0, 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '[' || c == '{':
			now++
			deepest = max(deepest, now)
		case c == ']' || c == '}':
			now--
		}
	}
	return deepest
}

func agree(t *testing.T, in []byte) {
	t.Helper()
	want := json.Valid(in) && utf8.Valid(in) && depth(in) <= jsonscan.MaxDepth
	err := jsonscan.Valid(in)
	if got := err == nil; got != want {
		t.Fatalf("Valid(%q) = %v, want valid %v", in, err, want)
	}
	if !want {
		return
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, in); err != nil {
		t.Fatal(err)
	}
	got := jsonscan.AppendCompact(nil, in)
	if !bytes.Equal(got, compact.Bytes()) {
		t.Fatalf("AppendCompact(%q) = %q, want %q", in, got, compact.Bytes())
	}
	if is := jsonscan.IsCompact(in); is != bytes.Equal(got, in) {
		t.Fatalf("IsCompact(%q) = %v", in, is)
	}
	var s string
	if raw := bytes.TrimSpace(in); raw[0] == '"' && json.Unmarshal(raw, &s) == nil {
		for range 2 {
			if got, ok := jsonscan.Unquote(raw); !ok || got != s {
				t.Fatalf("Unquote(%q) = %q, want %q", raw, got, s)
			}
			raw = jsonscan.AppendQuote(nil, s)
		}
	}
}

func TestAgreesWithEncodingJSON(t *testing.T) {
	for _, s := range seeds {
		agree(t, []byte(s))
	}
}

func FuzzValid(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	fuzzbound.Fuzz(f, func(t *testing.T, in []byte) { agree(t, in) })
}

func FuzzAppendQuote(f *testing.F) {
	for _, s := range append(seeds, "<a href=\"x\">&</a>", "\u2028", "a\xffb", "\xe2\x82") {
		f.Add(s)
	}
	fuzzbound.Fuzz(f, func(t *testing.T, s string) {
		raw := jsonscan.AppendQuote(nil, s)
		if again := jsonscan.AppendQuote(nil, []byte(s)); !bytes.Equal(raw, again) {
			t.Fatalf("string %q, bytes %q", raw, again)
		}
		if err := jsonscan.Valid(raw); err != nil {
			t.Fatalf("AppendQuote(%q) = %q: %v", s, raw, err)
		}
		var got string
		if err := json.Unmarshal(raw, &got); err != nil || got != eachInvalidByteReplaced(s) {
			t.Fatalf("AppendQuote(%q) = %q, decodes to %q (%v)", s, raw, got, err)
		}
	})
}

// eachInvalidByteReplaced returns what a decoder returns: one U+FFFD per invalid byte.
func eachInvalidByteReplaced(s string) string { return string([]rune(s)) }

func TestErrorsNameThePlace(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"end", `{"a":`, "unexpected end of input at byte 5"},
		{"trailing", `{} x`, "text after the end of the value at byte 3"},
		{"control", "\"a\x01\"", "control character in a string at byte 2"},
		{"utf8", "\"a\xff\"", "invalid UTF-8 at byte 2"},
		{"character", `[1 2]`, "unexpected character '2' at byte 3"},
		{"byte", "\x00", "unexpected byte 0x00 at byte 0"},
		{"deep", strings.Repeat("[", 600), "nested too deeply at byte 512"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := jsonscan.Valid([]byte(tc.in))
			if err == nil || err.Error() != tc.want {
				t.Errorf("Valid(%q) = %v, want %s", tc.in, err, tc.want)
			}
		})
	}
}

func TestObjectAndArray(t *testing.T) {
	text := []byte(` { "a" : [1, "x"] , "b\u0063" : {"d":2} } `)
	var got []string
	_, err := jsonscan.Object(text, 0, 0, func(key []byte, i int) (int, error) {
		end, err := jsonscan.ValueAt(text, i, 1)
		if err == nil {
			got = append(got, string(key)+"="+string(text[i:end]))
		}
		if err == nil && text[i] == '[' {
			_, err = jsonscan.Array(text, i, 1, func(i int) (int, error) {
				end, err := jsonscan.ValueAt(text, i, 2)
				got = append(got, string(text[i:end]))
				return end, err
			})
		}
		return end, err
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(got, "|"), `a=[1, "x"]|1|"x"|bc={"d":2}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestScanningDoesNotAllocate(t *testing.T) {
	text := []byte(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hello"}}}`)
	if n := testing.AllocsPerRun(100, func() {
		if err := jsonscan.Valid(text); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("Valid allocates %v times, want 0", n)
	}
}

func BenchmarkValid(b *testing.B) {
	small := []byte(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hello"}}}`)
	large, _ := json.Marshal(map[string]string{
		"text": strings.Repeat("The quick brown fox jumps over the lazy dog. \n", 220),
	})
	for _, bm := range []struct {
		name string
		text []byte
	}{{"100B", small}, {"10KB", large}} {
		b.Run(bm.name, func(b *testing.B) {
			b.SetBytes(int64(len(bm.text)))
			b.ReportAllocs()
			for b.Loop() {
				if jsonscan.Valid(bm.text) != nil {
					b.Fatal("invalid")
				}
			}
		})
		b.Run(bm.name+"/encoding-json", func(b *testing.B) {
			b.SetBytes(int64(len(bm.text)))
			for b.Loop() {
				if !json.Valid(bm.text) {
					b.Fatal("invalid")
				}
			}
		})
	}
}

func TestMember(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"there", ` { "a" : 1, "b" : {"c":[2]} }`, `{"c":[2]}`},
		{"not there", `{"a":1}`, ""},
		{"given twice", `{"b":1,"b":2}`, "2"},
		{"its name escaped", `{"\u0062":true}`, "true"},
		{"no object", `["b",1]`, ""},
		{"nothing", "  ", ""},
		{"broken", `{"b":1,`, ""},
	} {
		if got := string(jsonscan.Member([]byte(c.text), "b")); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestOnlyMember(t *testing.T) {
	for _, c := range []struct{ name, text, member, value, rival string }{
		{"there", `{"a":1,"path":2}`, "path", "2", ""},
		{"another", `{"paths":1,"pat":2,"":3,"qath":4}`, "path", "", ""},
		{"given twice", `{"path":1,"path":2}`, "path", "2", "path"},
		{"given twice, escaped", `{"path":1,"\u0070ath":2}`, "path", "2", "path"},
		{"in another case", `{"Path":1}`, "path", "", "Path"},
		{"also in another case", `{"path":1,"PATH":2}`, "path", "1", "PATH"},
		{"in another case, escaped", `{"\u0050ath":1}`, "path", "", "Path"},
		{"folded by Unicode", `{"\u212aey":1}`, "key", "", "\u212aey"},
		{"capitals", `{"größe":1}`, "GRÖSSE", "", ""},
		{"capitals that fold", `{"Übung":1}`, "übung", "", "Übung"},
		{"long", `{"` + strings.Repeat("A", 100) + `":1}`, strings.Repeat("a", 100), "", strings.Repeat("A", 100)},
		{"no name", `{"":1}`, "", "1", ""},
		{"no object", `["path"]`, "path", "", ""},
		{"broken", `{"path":1,"Path":2`, "path", "", ""},
	} {
		value, rival := jsonscan.OnlyMember([]byte(c.text), c.member)
		if string(value) != c.value || string(rival) != c.rival {
			t.Errorf("%s: %s, %q, want %s, %q", c.name, value, rival, c.value, c.rival)
		}
	}
	if _, rival := jsonscan.OnlyMember([]byte(`{"":1,"":2}`), ""); rival == nil {
		t.Error("an empty name that is repeated has no rival")
	}
}

// TestPlainEnd reads strings of each short length with each special byte at each place, as encoding/json does.
func TestPlainEnd(t *testing.T) {
	for n := 1; n <= 40; n++ {
		for at := range n {
			for _, b := range []byte{'"', '\\', 0, 0x1f, 0x20, 0x21, 0x23, 0x5b, 0x5d, 0x7f} {
				text := []byte(`"` + strings.Repeat("a", n) + `"`)
				text[1+at] = b
				end, err := jsonscan.Value(text, 0)
				if got, want := err == nil && end == len(text), json.Valid(text); got != want {
					t.Errorf("%q: end %d, %v; want valid: %v", text, end, err, want)
				}
			}
		}
	}
}
