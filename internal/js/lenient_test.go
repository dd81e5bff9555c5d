package js_test

import (
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/js"
	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
	"github.com/slipway-mcp/slipway/internal/tree"
)

// readLenient reads a script that may import the file x.js.
func readLenient(text string) *js.Script {
	files := project(map[string]string{
		"x.js": "import {d} from './x'\nexport const b = ['b']\nexport default 1\nexport function e() { return [2] }",
	})
	return js.Read([]byte(text), &js.Options{Files: files, Name: "main.js", Lenient: true})
}

func TestLenient(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"JSON":      {`{"a": [1, "b", null, true]}`, `{a:[1 "b" null true]}`},
		"module":    {`module.exports = {a: 'b',};`, `{a:"b"}`},
		"exports":   {`exports.default = {a: 'b',};`, `{a:"b"}`},
		"default":   {`export default [ 'a', /* c */ "b" ] // d`, `["a" "b"]`},
		"constants": {"const b = ['x']\nconst c = 1\nexport default {a: b, c, ...{d: `e`}}", `{a:["x"] c:1 d:"e"}`},
		"function":  {"export default f()\nfunction f() { return [1] }", `[1]`},
		"wrapper":   {"export default defineConfig({a: 1})", `{a:1}`},
		"types":     {"const a: Record<string, T> = {b: 1} as const\nexport default a satisfies T", `{b:1}`},
		"unknown": {
			"export default {a: 1 + b, c: `${d}`, e() { return 1 }, f: x => 1, g: require('h')}",
			"{a:?1 + b? c:?`${d}`? e:?e() { return 1 }? f:?f: x => 1? g:?require('h')?}",
		},
		"recursive": {"const a = [...a]\nexport default a", `[?a?]`},
		"escapes":   {`export default 'a\'\u0041\x42\n'`, `"a'AB\n"`},
		"imports": {
			"import d, {b as c, e} from './x'\nimport {y} from 'y'\nexport default {a: c, c: d, e: e(), f: y}",
			`{a:["b"] c:1 e:[2] f:?y?}`,
		},
		"patterns":         {"export default {a: x.replace(/[\"'}/]/g, ''), c: 1}", `{a:?x.replace(/["'}/]/g, '')? c:1}`},
		"no export":        {`const a = 1`, `?the export?`},
		"regular nonsense": {`export default {{{[[(`, `{{{[[(:?{{[[(?}`},

		"an unknown condition": {
			`export default {a: b ? 1 : 2, c: [b && 1, b ?? 2], d: !b, e: b === 1}`,
			`{a:?b ? 1 : 2? c:[?b && 1? ?b ?? 2?] d:?!b? e:?b === 1?}`,
		},
		"a member of an unknown": {
			"const a = {b: f()}\nexport default {c: a.b.c, d: a.b ? 1 : 2}",
			`{c:?a.b.c? d:?a.b ? 1 : 2?}`,
		},
		"what follows a value": {
			"export default {a: 2 ** 3, b: [1 2], c: 'x'.replace('y'), d: 4}",
			`{a:?2 ** 3? b:[?1 2?] c:?'x'.replace('y')? d:4}`,
		},
		"spreads of unknown": {
			"export default {...a(), b: [1, ...c.d], ...e}",
			`{...a():?...a()? b:[1 ?c.d?] ...e:?...e?}`,
		},
		"computed names": {
			"export default {[a]: 1, ['b']: 2, [[c]]: 3}",
			`{[a]: 1:?[a]: 1? b:2 [[c]]: 3:?[[c]]: 3?}`,
		},
		"a function that acts": {
			"function f(a) { a.b = 1; return a }\nexport default f({c: 1})",
			`{c:1}`,
		},
		"a function of arguments": {
			"const f = (a, b = 2) => [a, b]\nexport default {c: f(1), d: f(x), e: f(1, x)}",
			`{c:[1 2] d:[?a? 2] e:[1 ?b?]}`,
		},
		"an unknown of Object": {
			"export default {a: Object.assign({}, b), c: Object.keys(b)}",
			`{a:?Object.assign({}, b)? c:?Object.keys(b)?}`,
		},
		"a wrapper of a wrapper": {
			"import { a } from 'a'\nexport default withB(x, a({c: 1}))",
			`{c:1}`,
		},
		"statements": {
			"'use strict'\nif (a) { b() }\nfor (const c of d) {\n e()\n}\nclass F { g = 1 }\nx.y = /['\"`]/\n" +
				"const z = new Z(),\n w = 1\nexport default {w, z}",
			`{w:1 z:?z?}`,
		},
		"an asynchronous function": {
			"export async function f() { return {a: 1} }\nmodule.exports = f()",
			`{a:1}`,
		},
		"declared without types": {
			"const a: Map<string, {b: c; d: e}> = [1], f: import('g').H = 2\nexport default [a, f] as import('i').J[]",
			`[[1] 2]`,
		},
		"objects named twice": {"export default {a: 1, b: 2, a: 3}", `{a:3 b:2}`},
		"an open string":      {"const a = 'b\nexport default {a, c: 'd\n, e: 1}", `{a:?a? c:?'d? e:1}`},
		"an open template":    {"export default [1, `a${", "[1 ?`a${?]"},
		"a required file": {
			"module.exports = {a: require('./x').b, b: require.resolve('./x')}",
			`{a:["b"] b:?require.resolve('./x')?}`,
		},
		"no UTF-8": {"export default ['\xff', 1]", "[\"\ufffd\" 1]"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			script := readLenient(test.text)
			if got := written(script.Root); got != test.want || len(script.Problems) > 0 {
				t.Errorf("Read(%q) = %s, %v; want %s", test.text, got, script.Problems, test.want)
			}
		})
	}
}

// written formats a value in short form, and unknown values as their source.
func written(n *tree.Node) string {
	var list []string
	switch n.Kind {
	case js.Unknown:
		return "?" + n.Text + "?"
	case tree.String:
		return `"` + strings.ReplaceAll(n.Text, "\n", `\n`) + `"`
	case tree.Array:
		for _, item := range n.Items {
			list = append(list, written(item))
		}
		return "[" + strings.Join(list, " ") + "]"
	case tree.Object:
		for _, m := range n.Members {
			list = append(list, m.Key+":"+written(m.Value))
		}
		return "{" + strings.Join(list, " ") + "}"
	}
	return string(n.AppendJSON(nil))
}

// An unknown value has its position in the script, or that of the import of its file.
func TestLenientPositions(t *testing.T) {
	text := "import d from './d'\nexport default {\n  a: [1, b.c],\n  d }\n"
	files := project(map[string]string{"d.js": "\n\nexport default [e]"})
	root := js.Read([]byte(text), &js.Options{Files: files, Name: "main.js", Lenient: true}).Root
	for pointer, want := range map[string]string{"/a/1": "b.c]", "/d/0": "'./d'"} {
		n, at := root.Find(pointer)
		if n.Kind != js.Unknown || !strings.HasPrefix(text[at:], want) {
			t.Errorf("%s is %v at %q, want an unknown value at %q", pointer, n.Kind, text[at:], want)
		}
	}
}

// A script that exceeds the limits is unknown as a whole.
func TestLenientBounded(t *testing.T) {
	tests := map[string]string{
		"doubling text":  "const a = 'xxxxxxxxxxxxxxxx';" + doubling("const %1 = %0 + %0;"),
		"doubling lists": "const a = [1];" + doubling("const %1 = [...%0, ...%0];"),
		"calls of calls": "const f0 = x => x;" + strings.Join(nested(40), "") + "export default { a: f40(1) }",
		"long functions": "function f() { return '" + strings.Repeat("x", 100_000) + "'.length }\n" +
			"export default [" + strings.Repeat("f(),", 100_000) + "]",
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			fuzzbound.Check(t, len(text), func() {
				if got := written(readLenient(text).Root); got != "?the export?" {
					t.Errorf("Read = %.200s, want an unknown export", got)
				}
			})
		})
	}
}

// TestLenientLinear verifies linear time for scripts with repeated fragments.
func TestLenientLinear(t *testing.T) {
	for _, before := range []string{"", "export default f({a: x => ["} {
		wrap := func(text string) string { return before + text }
		fuzzbound.Linear(t, wrap, func(text string) { readLenient(text) })
	}
	for _, fragment := range []string{
		"[{[", "a:1,", "f({", "const a: B<\n", "import a from './b'\n", "a: x/", "`${(", "('\n", "{[{", "/*", "a[1]",
		"x => (", "a?(b):", "{a: b,\n", "{a(", "function f(a = function g(", "module.exports = [",
	} {
		fuzzbound.LinearFrom(t, 8<<10, fragment, nil, func(text string) { readLenient("export default [" + text) })
	}
}

func FuzzLenient(f *testing.F) {
	f.Add([]byte("import {a} from './x'; export default defineConfig({a: [`x${b}`, ...c()], d() {}, [e]: f ? 1 : 2})"))
	fuzzbound.Fuzz(f, func(t *testing.T, text []byte) {
		if len(text) > 4096 {
			return
		}
		script := readLenient(string(text))
		if script.Root == nil || len(script.Problems) > 0 {
			t.Fatalf("Read = %v, %v; want a value and no problems", script.Root, script.Problems)
		}
		written(script.Root)
	})
}
