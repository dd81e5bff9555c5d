package tree_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
	"github.com/slipway-mcp/slipway/internal/tree"
)

func TestDocument(t *testing.T) {
	tests := map[string]struct{ name, text, want string }{
		"json": {
			"a.json",
			"\ufeff{ \"b\": [1, 2.50, true, null, \"x\\u00e9\"], \"a\": {} }",
			`{"b":[1,2.50,true,null,"xé"],"a":{}}`,
		},
		"guessed json": {"", ` [1]`, `[1]`},
		"yaml":         {"a.yaml", "b: [1, 2.50, true, ~, é]\na: {}\n", `{"b":[1,2.50,true,null,"é"],"a":{}}`},
		"names": {
			"a.yml",
			"responses:\n  200: ok\n  default: bad\n  no: 1\n",
			`{"responses":{"200":"ok","default":"bad","no":1}}`,
		},
		"words": {"a.yaml", "[yes, no, on, True, NULL]", `["yes","no","on",true,null]`},
		"numbers": {
			"a.yaml",
			"[0x1F, 1_000, +1, .5, 007, 1e3, .inf, -.nan, 12345678901234567890]",
			`[31,"1_000",1,0.5,7,1e3,".inf","-.nan",12345678901234567890]`,
		},
		"dates": {
			"a.yaml",
			"a: 2024-01-02\nb: 2024-01-02T03:04:05Z",
			`{"a":"2024-01-02","b":"2024-01-02T03:04:05Z"}`,
		},
		"blocks": {"a.yaml", "a: |\n  one\n  two\nb: >\n  one\n  two\n", `{"a":"one\ntwo\n","b":"one two\n"}`},
		"anchors": {
			"a.yaml",
			"a: &x {p: 1}\nb: *x\nc:\n  <<: *x\n  q: 2\nd:\n  <<: [*x, {p: 3, r: 4}]\n  p: 0\n",
			`{"a":{"p":1},"b":{"p":1},"c":{"q":2,"p":1},"d":{"p":0,"r":4}}`,
		},
		"tags":           {"a.yaml", "[!!str 12, !thing x, !!str true]", `["12","x","true"]`},
		"empty":          {"a.yaml", "", "null"},
		"only a comment": {"a.yaml", "# nothing\n", "null"},
		"two documents":  {"a.yaml", "a: 1\n---\na: 2\n", `{"a":1}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			root, err := tree.ReadDocument(test.name, []byte(test.text))
			if err != nil {
				t.Fatal(err)
			}
			if got := string(root.AppendJSON(nil)); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestDocumentPlaces(t *testing.T) {
	tests := map[string]string{
		"a.json": "{\n  \"ä\\\"b\": [\"é\", {\"c\": 1}],\n \"d\":\n true}",
		"a.yaml": "\n'ä\"b': [\"éé\", {c: 1}]\nd:\n true\n",
	}
	wants := map[string][3][2]int{
		"a.json": {{2, 17}, {2, 23}, {4, 2}},
		"a.yaml": {{2, 15}, {2, 19}, {4, 2}},
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			root, err := tree.ReadDocument(name, []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			for i, pointer := range []string{"/ä\"b/1", "/ä\"b/1/c", "/d"} {
				n := root.At(pointer)
				if n == nil {
					t.Fatalf("no %s", pointer)
				}
				if got := [2]int{n.Line, n.Column}; got != wants[name][i] {
					t.Errorf("%s is at %v, want %v", pointer, got, wants[name][i])
				}
			}
			if m := root.Member("d"); m.Column != 2 && m.Column != 1 || m.Line != 3 {
				t.Errorf("the name d is at %d:%d", m.Line, m.Column)
			}
		})
	}
}

func TestDocumentErrors(t *testing.T) {
	tests := map[string]struct{ name, text, want string }{
		"json end":    {"a.json", "{\"a\":\n 1", "line 2, column 3: unexpected end of input"},
		"json twice":  {"a.json", "{\"a\": 1,\n \"a\": 2}", `line 2, column 2: duplicate "a"`},
		"json empty":  {"a.json", "", "line 1, column 1: unexpected end of input"},
		"json deep":   {"a.json", strings.Repeat("[", 1000), "line 1, column 201: arrays and objects nest deeper than 200"},
		"yaml indent": {"a.yaml", "a:\n\tb: 1\n", "line 2, column 1: found character that cannot start any token"},
		"yaml member": {"a.yaml", "a:\n  b:\n    c: 1\n   d: 2\ne: 3\n", "line 4, column 4: did not find expected key"},
		"yaml item":   {"a.yaml", "a:\n  - b\n -c\n", "line 3, column 2: did not find expected key"},
		"yaml brace":  {"a.yaml", "a:\n  b: {c: 1\n  d: {e: 2}\n", "line 3, column 3: did not find expected ',' or '}'"},
		"yaml quote":  {"a.yaml", "a:\n  b: \"c\n  d: 1\n\ne: 2\n", "line 2, column 3: found unexpected end of stream"},
		"yaml colon": {
			"a.yaml",
			"a:\n  b: c: d\ne: 2\n",
			"line 2, column 3: mapping values are not allowed in this context",
		},
		"yaml twice": {"a.yaml", "a: 1\na: 2\n", `line 2, column 1: duplicate "a"`},
		"yaml circle": {
			"a.yaml",
			"a: &x\n  b: *x\n",
			"line 2, column 6: the alias *x has no anchor before it",
		},
		"yaml unknown": {"a.yaml", "a: *x\n", "line 1, column 1: unknown anchor 'x' referenced"},
		"yaml deep": {
			"a.yaml",
			strings.Repeat("[", 5000) + strings.Repeat("]", 5000),
			"line 1, column 201: arrays and objects nest deeper than 200",
		},
		"yaml bytes": {"a.yaml", "a: \xff\n", "the text is not UTF-8"},
		"laughs":     {"a.yaml", billion(), "the document has more than 5000000 values"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := tree.ReadDocument(test.name, []byte(test.text))
			if err == nil || err.Error() != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// billion returns a small text that aliases expand to a huge document.
func billion() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [1, 1]\n")
	for i := 1; i < 60; i++ {
		prev := string(rune('a'+(i-1)%26)) + strings.Repeat("x", (i-1)/26) + "0"
		next := string(rune('a'+i%26)) + strings.Repeat("x", i/26) + "0"
		b.WriteString(next + ": &" + next + " [*" + prev + ", *" + prev + "]\n")
	}
	return b.String()
}

func TestAccess(t *testing.T) {
	root, err := tree.ReadDocument("a.yaml", []byte("a: {b: [x, 2, [y]]}\nt: true\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := root.Get("a", "b").Strings(); len(got) != 2 || got[1] != "2" {
		t.Errorf("strings: %q", got)
	}
	if root.Get("a", "no", "b").String() != "" ||
		root.At("/a/b/9") != nil ||
		root.At("/a/b/x") != nil ||
		root.At("a") != nil {
		t.Error("something was found that is not there")
	}
	if !root.Get("t").True() || root.Get("a").True() || root.Get("nope").Is(tree.Null) {
		t.Error("kinds")
	}
}

func FuzzDocument(f *testing.F) {
	f.Add("a.json", `{"a":[1,"\u00e9",{}]}`)
	f.Add("a.yaml", "a: &x [1, 0x1f]\nb: {<<: {c: 1}, d: *x}\n? [k]\n: v\n")
	f.Add("a.yaml", "%YAML 1.1\n--- !!map {a: |\n x}\n")
	fuzzbound.Fuzz(f, func(t *testing.T, name, text string) {
		root, err := tree.ReadDocument(name, []byte(text))
		if err != nil {
			return
		}
		if out := root.AppendJSON(nil); !json.Valid(out) {
			t.Errorf("not JSON: %q of %q", out, text)
		}
	})
}
