package tree_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
	"github.com/slipway-mcp/slipway/internal/tree"
)

func TestParse(t *testing.T) {
	tests := map[string]struct {
		format     tree.Format
		text, want string
	}{
		"json": {
			tree.JSON,
			"\ufeff{\"b\": 1.50, \"a\": [true, null, \"x\\n\"]}\n",
			`{"b":1.50,"a":[true,null,"x\n"]}`,
		},
		"digits": {tree.JSON, `[9007199254740993]`, `[9007199254740993]`},
		"jsonc":  {tree.JSONC, "// c\n{\"a\": [1, /* x */ 2,], // y\n}", `{"a":[1,2]}`},
		"yaml": {
			tree.YAML,
			"a: yes\nb: true\nc: 0x10\nd: ~\ne: [1.5, 'x']\nf: 2001-01-01\n",
			`{"a":"yes","b":true,"c":16,"d":null,"e":[1.5,"x"],"f":"2001-01-01"}`,
		},
		"yaml digits": {
			tree.YAML,
			"a: 18446744073709551616\nb: 1.50\nc: -0.0\nd: 123456789012345678901234567890\ne: 0o17\nf: +1\ng: .5\n",
			`{"a":18446744073709551616,"b":1.50,"c":-0.0,"d":123456789012345678901234567890,"e":15,"f":1,"g":0.5}`,
		},
		"yaml anchors": {
			tree.YAML,
			"a: &x {k: 1, l: 2}\nb:\n  <<: *x\n  k: 3\nc: *x\n",
			`{"a":{"k":1,"l":2},"b":{"k":3,"l":2},"c":{"k":1,"l":2}}`,
		},
		"yaml empty": {tree.YAML, "# nothing\n", `null`},
		"toml": {
			tree.TOML,
			"[s.gh]\nargs = ['a', \"b\\n\"]\nn = 1_000\nenv = {A = \"b\", c.d = true}\n[s.\"x y\"]\nf = " +
				"1.5\n[[l]]\na=1\n[[l]]\na=2\n[l.m]\nb=3\n",
			`{"s":{"gh":{"args":["a","b\n"],"n":1000,"env":{"A":"b","c":{"d":true}}},"x ` +
				`y":{"f":1.5}},"l":[{"a":1},{"a":2,"m":{"b":3}}]}`,
		},
		"toml mark":      {tree.TOML, "\ufeffa = 1\r\n", `{"a":1}`},
		"toml date":      {tree.TOML, "a = 2001-01-01", `{"a":"2001-01-01"}`},
		"toml date list": {tree.TOML, "a = [ # c\n 1, # d\n]", `{"a":[1]}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			n, problems := tree.Parse([]byte(test.text), test.format)
			if n == nil || len(problems) > 0 {
				t.Fatalf("Parse = %v, %v", n, problems)
			}
			if got := string(n.AppendJSON(nil)); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestProblems(t *testing.T) {
	tests := map[string]struct {
		format    tree.Format
		text      string
		line, col int
		message   string
		duplicate bool
	}{
		"duplicate":         {tree.JSON, "{\"a\": 1,\n \"a\": 2}", 2, 2, "duplicate", true},
		"escaped duplicate": {tree.JSON, `{"a": 1, "\u0061": 2}`, 1, 10, "duplicate", true},
		"duplicate yaml":    {tree.YAML, "s:\n  a: 1\n  b: 2\n  a: 2\n", 4, 3, "duplicate", true},
		"duplicate toml":    {tree.TOML, "[s.a]\nx = 1\n[s.a]\n", 3, 4, "duplicate", true},
		"comment":           {tree.JSON, "{} // c", 1, 4, "allow comments", false},
		"trailing comma":    {tree.JSON, "[1,]", 1, 3, "trailing comma", false},
		"two commas":        {tree.JSONC, "[1,,2]", 1, 4, "unexpected character ','", false},
		"missing comma":     {tree.JSON, "{\"a\": 1\n\"b\": 2}", 2, 1, "unexpected character", false},
		"single quotes":     {tree.JSONC, "{'a': 1}", 1, 2, "unexpected character", false},
		"end":               {tree.JSON, "{\"a\":", 1, 6, "unexpected end", false},
		"more":              {tree.JSON, "{} {}", 1, 4, "text after", false},
		"open comment":      {tree.JSONC, "{} /*", 1, 4, "unterminated", false},
		"not UTF-8":         {tree.JSON, "\"\xff\"", 1, 2, "invalid UTF-8", false},
		"empty":             {tree.JSON, "", 1, 1, "unexpected end", false},
		"yaml":              {tree.YAML, "a: 1\n\tb: 2\n", 2, 1, "tab character", false},
		"second document":   {tree.YAML, "a: 1\n---\nb: 1\n", 2, 1, "second document", false},
		"toml":              {tree.TOML, "a = \n", 1, 5, "", false},
		"deep":              {tree.JSON, strings.Repeat("[", 200), 1, 130, "nested too deeply", false},
		"many":              {tree.YAML, "a: &a [x,x,x,x,x,x,x,x,x]\n" + laughs(), 0, 0, "too many values", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			n, problems := tree.Parse([]byte(test.text), test.format)
			if len(problems) != 1 || test.duplicate && test.format != tree.TOML && n == nil {
				t.Fatalf("Parse = %v, %v; want one problem", n, problems)
			}
			p := problems[0]
			line, col := check.LineColumn([]byte(test.text), p.Offset)
			if !strings.Contains(p.Message, test.message) ||
				p.Duplicate != test.duplicate ||
				test.line > 0 && (line != test.line || col != test.col) {
				t.Errorf("got %d:%d %+v, want %d:%d %q", line, col, p, test.line, test.col, test.message)
			}
		})
	}
}

// TestTOMLTwice verifies TOML's rules about duplicate tables and keys, and that reading
// continues after the first fault.
func TestTOMLTwice(t *testing.T) {
	tests := map[string]struct {
		text string
		want []string // "line:column pointer"
		gone bool     // nothing of the text can be used
	}{
		"keys": {"a = 1\nb = 2\na = 3\nb = 4\n", []string{"3:1 /a", "4:1 /b"}, false},
		"tables and keys": {
			"[s.a]\nx = 1\nx = 2\n[s.b]\n[s.a]\ny = 1\n[s.b.env]\nz = 1\nz = 2\n",
			[]string{"3:1 /s/a/x", "5:4 /s/a", "9:1 /s/b/env/z"},
			false,
		},
		"in the second table": {"[s.a]\nx = 1\n[s.a]\nx = 1\nx = 2\n", []string{"3:4 /s/a", "5:1 /s/a/x"}, false},
		"in braces": {
			"[s]\na = {b = 1, c = 2, b = 3}\nd = 1\nd = 2\n",
			[]string{"2:20 /s/a/b", "4:1 /s/d"},
			false,
		},
		"in a list": {"a = [{b = 1, b = 2}, {c = 1, c = 1}]\n", []string{"1:14 /a/0/b", "1:30 /a/1/c"}, false},
		"lists of tables": {
			"[[l]]\na = 1\na = 2\n[[l]]\na = 1\n[l.m]\nb = 1\nb = 2\n",
			[]string{"3:1 /l/0/a", "8:1 /l/1/m/b"},
			false,
		},
		"a list that is a table": {"[l]\n[[l]]\nx = 1\nx = 2\n", []string{"2:3 /l", "4:1 /l/0/x"}, false},
		"a value that is a table": {
			"a = 1\n[a]\nb = 1\n[a.c]\n[d]\nx.y = 1\nx.y = 2\n",
			[]string{"2:2 /a", "7:3 /d/x/y"},
			false,
		},
		"braces are closed":    {"a = {}\n[a.b]\nc = 1\nc = 2\n", []string{"2:2 /a", "4:1 /a/b/c"}, false},
		"dots define a table":  {"a.b = 1\n[a]\nc = 1\nc = 2\n", []string{"2:2 /a", "4:1 /a/c"}, false},
		"headers are closed":   {"[a.b]\nc = 1\n[a]\nb.d = 1\ne = 1\ne = 2\n", []string{"4:1 /a/b", "6:1 /a/e"}, false},
		"then a wrong value":   {"a = 1\na = 2\nb = 2001-99-99\n", []string{"2:1 /a", "3:10 "}, true},
		"then an unclosed one": {"a = 1\na = 2\nb = [\n", []string{"2:1 /a", "3:6 "}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			n, problems := tree.Parse([]byte(test.text), tree.TOML)
			var got []string
			for _, p := range problems {
				line, column := check.LineColumn([]byte(test.text), p.Offset)
				got = append(got, fmt.Sprintf("%d:%d %s", line, column, p.Pointer()))
			}
			if !slices.Equal(got, test.want) || (n == nil) != test.gone {
				t.Errorf("got %q and %v, want %q", got, n, test.want)
			}
		})
	}
}

// TestTOMLOnce verifies that repetitions permitted by TOML are accepted.
func TestTOMLOnce(t *testing.T) {
	for text, want := range map[string]string{
		"[f]\na.c = 1\na.t.s = true\n[f.a.x]\ny = 1\n": `{"f":{"a":{"c":1,"t":{"s":true},"x":{"y":1}}}}`,
		"[a.b]\nc = 1\n[a]\nd = 1\n":                   `{"a":{"b":{"c":1},"d":1}}`,
		"[[l]]\n[[l.m]]\na = 1\n[[l.m]]\na = 1\n":      `{"l":[{"m":[{"a":1},{"a":1}]}]}`,
		"a = {b.c = 1, b.d = 2}\n":                     `{"a":{"b":{"c":1,"d":2}}}`,
		"[[l]]\nx.y = 1\n[[l]]\nx.y = 1\n":             `{"l":[{"x":{"y":1}},{"x":{"y":1}}]}`,
	} {
		n, problems := tree.Parse([]byte(text), tree.TOML)
		if len(problems) > 0 {
			t.Errorf("%q: %v", text, problems)
			continue
		}
		if got := string(n.AppendJSON(nil)); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

// laughs returns nested lists of lists, by aliases.
func laughs() string {
	var b strings.Builder
	last := "a"
	for _, c := range "bcdefghi" {
		b.WriteString(string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+last+",", 8) + "*" + last + "]\n")
		last = string(c)
	}
	return b.String()
}

func TestPlaces(t *testing.T) {
	texts := map[tree.Format]string{
		tree.JSONC: "{ // c\n  \"s\": {\"é\": {\"args\": [1, \"x\"]}}}",
		tree.YAML:  "s:\n  é:\n    args: [1, x]\n",
		tree.TOML:  "[s.\"é\"]\nargs = [1, 'x']\n",
	}
	for format, text := range texts {
		t.Run(format.String(), func(t *testing.T) {
			n, _ := tree.Parse([]byte(text), format)
			for pointer, want := range map[string]string{
				"/s":          "s",
				"/s/é":        "é",
				"/s/é/args":   "args",
				"/s/é/args/1": "x",
				"/s/é/none":   "é",
			} {
				_, at := n.Find(pointer)
				if got := strings.TrimLeft(text[at:], `"'`); !strings.HasPrefix(got, want) {
					t.Errorf("Find(%q) is at %q, want %q", pointer, got, want)
				}
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"{\"a\": [1, 2,], // c\n}",
		"a: &x [1]\nb: *x\n<<: {c: 1}\n",
		"[a.b]\nc = {d = 'e'}\n[[l]]\nf = 1_0\n",
	} {
		for format := tree.JSON; format <= tree.TOML; format++ {
			f.Add([]byte(s), uint8(format))
		}
	}
	fuzzbound.Fuzz(f, func(t *testing.T, text []byte, format uint8) {
		if format < 1 || format > 4 {
			return
		}
		n, problems := tree.Parse(text, tree.Format(format))
		if n == nil && len(problems) == 0 {
			t.Fatal("neither a tree nor a problem")
		}
		for _, p := range problems {
			if p.Offset < 0 || p.Offset > len(text) {
				t.Fatalf("place %d of %d", p.Offset, len(text))
			}
		}
		if n == nil {
			return
		}
		if out := n.AppendJSON(nil); !json.Valid(out) {
			t.Fatalf("not JSON: %s", out)
		}
		if format == uint8(tree.JSON) && !json.Valid([]byte(strings.TrimPrefix(string(text), "\ufeff"))) {
			t.Fatalf("encoding/json refuses %q", text)
		}
	})
}

// TestLongLine reads a YAML document on one line. Counting the columns from the start of
// the line for every value takes more than a minute.
func TestLongLine(t *testing.T) {
	text := "[" + strings.Repeat("é, ", 190_000) + "é]"
	n, problems := tree.Parse([]byte(text), tree.YAML)
	if n == nil || len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, i := range []int{0, 1, 100_000, 190_000} {
		if at := n.Items[i].Start; !strings.HasPrefix(text[at:], "é") || at != 1+4*i {
			t.Errorf("item %d is at %d, want %d", i, at, 1+4*i)
		}
	}
}

// TestAliasInItself verifies that a value which contains itself is an error.
func TestAliasInItself(t *testing.T) {
	n, problems := tree.Parse([]byte("a: &x\n  b: *x\n"), tree.YAML)
	if n != nil || len(problems) != 1 || problems[0].Offset != 11 {
		t.Errorf("got %v, %v", n, problems)
	}
}
