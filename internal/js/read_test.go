package js_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/js"
	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
	"github.com/slipway-mcp/slipway/internal/tree"
)

func read(text string) (*tree.Node, []tree.Problem) {
	script := js.Read([]byte(text), nil)
	return script.Root, script.Problems
}

func TestRead(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"the authoring form": {
			`import { defineMcp } from "stax";
export default defineMcp({
servers: {
github: { command: "npx", args: ["-y", 'x'], secrets: ["GITHUB_TOKEN"], },
},
});`, `{"servers":{"github":{"command":"npx","args":["-y","x"],"secrets":["GITHUB_TOKEN"]}}}`},
		"types": {
			`#!/usr/bin/env tsx
import type { McpConfig } from "./types";
import { defineMcp as d, type McpServer } from "stax";
interface A { x: { y: string } }
type B<T> = Record<string, T[]> | { a: "b" } | ((x: number) => void);
const base: Partial<McpServer> = { cwd: "/w" } as const;
const s = { ...base, env: <never>undefined ?? { A: "1" } } satisfies A;
export default d<A>({ s: s! } as unknown as A);`, ``},
		"typed": {
			`import type { C } from "./types";
interface A { x: { y: string } }
export type B<T> = Record<string, T[]> | { a: "b" } | ((x: number) => void);
const base: Partial<C> = { cwd: "/w" } as const;
const f = (n: number, o: { a?: string } = {}): B<string> => ({ n, o });
export default { ...base, f: f(1)!, g: [f(2, { a: "x" })] } satisfies A as unknown as C;`,
			`{"cwd":"/w","f":{"n":1,"o":{}},"g":[{"n":2,"o":{"a":"x"}}]}`},
		"constants and templates": {
			"const host = 'example.com', port = 8_080;\nconst url = `https://${host}:${port + 1}/` + \"mcp\";\nexport " +
				"default { url, ['a' + 1]: 0x10, 'b c': -1.5e1, \"d\": null, e: undefined, f: !0 }",
			`{"url":"https://example.com:8081/mcp","a1":16,"b c":-15,"d":null,"f":true}`},
		"calculations": {
			`const second = 1_000; export default { a: 30 * second, b: 10 - 2 - 1, c: 7 % 4 + 6 / 3 * 2, d: 2 > 1, e: 1 ` +
				`+ 1 <= 2 && 3 < 2, f: 1 + 2 * 3 === 7, g: -2*-3 }`,
			`{"a":30000,"b":7,"c":7,"d":true,"e":false,"f":true,"g":6}`},
		"numbers as JavaScript writes them": {
			"export default { a: `${-0}`, b: -0, c: `${0.0000001}`, d: `${1e21} ${1.5e-7}`, [-0]: 1 }",
			`{"0":1,"a":"0","b":0,"c":"1e-7","d":"1e+21 1.5e-7"}`},
		"names that are indexes come first": {
			`const o = { b: 1, 2: 1, a: 1, "10": 1, 1: 1, "01": 1, ...{ 0: 1 } }; export default { k: ` +
				`Object.keys(o).join(), o: Object.fromEntries([["z", 1], ["3", 1]]) }`,
			`{"k":"0,1,2,10,b,a,01","o":{"3":1,"z":1}}`},
		"line ends of templates": {
			"export default { a: `x\r\ny\rz\nw`, b: `x\\\r\ny`, c: 'x\\\ry' }", `{"a":"x\ny\nz\nw","b":"xy","c":"xy"}`},
		"no prototype":              {`export default { __proto__: { a: 1 } }`, ``},
		"no quoted prototype":       {`export default { "__proto__": { a: 1 } }`, ``},
		"no prototype of an object": {`export default { a: {}.__proto__ }`, ``},
		"texts of numbers":          {`export default { a: [1, 2].map(String) }`, `{"a":["1","2"]}`},
		"only what is there":        {`export default { a: ["x", false, "", "y", null].filter(Boolean) }`, `{"a":["x","y"]}`},
		"conditions": {
			`const dev = false; export default { a: dev ? 1 : 2, b: dev || "x", c: dev && "y", d: null ?? 3, e: dev === ` +
				`false ? (1) : (2), ...(dev && {z: 1}), ...(!dev ? {w: 1} : {}) }`,
			`{"a":2,"b":"x","c":false,"d":3,"e":1,"w":1}`},
		"functions": {
			`const npx = (pkg: string, ...[]) => 1; export default {}`, ``},
		"functions of the file": {
			`function npx(pkg: string, env = { A: "d" }) { const args = ["-y", pkg]; return { command: "npx", args, env }; }
const one = x => x + 1;
export default { a: npx("p"), b: npx("q", { A: one(1) }), c: one("x") };`,
			`{"a":{"command":"npx","args":["-y","p"],"env":{"A":"d"}},"b":{"command":"npx","args":["-y","q"],` +
				`"env":{"A":2}},"c":"x1"}`},
		"tables": {
			`const names = ["a", "b"];
export default { s: Object.fromEntries(names.map((n, i) => [n, { n: n.toUpperCase(), i }])), k: Object.keys({ ` +
				`x: 1 }).concat(names, "c").join("-"), f: names.filter(n => n !== "a"), l: names.length, i: names[1], h: ` +
				`names.includes("b") };`,
			`{"s":{"a":{"n":"A","i":0},"b":{"n":"B","i":1}},"k":"x-a-b-c","f":["b"],"l":2,"i":"b","h":true}`},
		"destructured": {`const { a, b: c = 2 } = { a: 1 }; export default { a, c }`, `{"a":1,"c":2}`},
		"common JS":    {`const { defineMcp } = require("stax"); module.exports = defineMcp({ a: 1 });`, `{"a":1}`},
		"namespace": {
			`import * as stax from "stax"; const c = stax.defineMcp({ a: 1 }); export { c as default }`,
			`{"a":1}`,
		},
		"escapes":         {`export default { a: '\x41\u00e9\u{1F600}\ud83d\ude00\n\q' }`, `{"a":"Aé😀😀\nq"}`},
		"comments":        {"/* a */ export default { // b\n a: 1, /* , */ }", `{"a":1}`},
		"spread over":     {`const a = { x: 1, y: 2 }; export default { ...a, x: 3 }`, `{"x":3,"y":2}`},
		"optional member": {`const a = { x: { y: 1 } }; export default { a: a?.x?.y, b: a.z?.y ?? 0 }`, `{"a":1,"b":0}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			n, problems := read(test.text)
			got := ""
			if n != nil {
				got = string(n.AppendJSON(nil))
			}
			if got != test.want || (len(problems) > 0) != (test.want == "") {
				t.Errorf("Read = %s, %v; want %s", got, problems, test.want)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	tests := map[string]struct {
		text         string
		line, column int
		message      string
	}{
		"environment":         {"export default {\n  a: process.env.TOKEN }", 2, 6, "process is not declared"},
		"another module":      {"import fs from 'fs';\nexport default {}", 1, 16, `cannot import "fs"`},
		"dynamic import":      {"export default { a: import('x') }", 1, 21, "import is not declared"},
		"require":             {"const a = require('fs'); export default {}", 1, 11, "can be required"},
		"a class":             {"class A {}", 1, 1, `"class" here`},
		"new":                 {"export default { a: new Date() }", 1, 21, `"new" is not supported`},
		"a loop":              {"for (;;) {}", 1, 1, `"for" here`},
		"a regexp":            {"export default { a: /x/ }", 1, 21, "unexpected character '/'"},
		"a condition":         {"if (x) {}", 1, 1, `"if" here`},
		"a power":             {"export default { a: 2 ** 3 }", 1, 23, "unexpected character '*'"},
		"not a finite number": {"export default { a: 1 / 0 }", 1, 23, "not a finite number"},
		"text times two":      {"export default { a: 'x' * 2 }", 1, 25, "requires numbers"},
		"nothing":             {"const a = 1", 1, 12, "exports nothing"},
		"not an object":       {"import {defineMcp} from 'stax'\nexport default defineMcp([])", 2, 16, "takes one object"},
		"an open string":      {"export default { a: 'x\n }", 1, 21, "unterminated"},
		"an open comment":     {"export default { a: 1 /* }", 1, 27, "unexpected end"},
		"a function":          {"export default { a: x => 1 }", 1, 18, "is a function"},
		"twice declared":      {"const a = 1; const a = 2", 1, 24, "declared twice"},
		"endless":             {"const f = x => f(x); export default { a: f(1) }", 1, 0, "too many steps"},
		"too deep":            {"export default " + strings.Repeat("[", 500), 1, 0, "too many steps"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			n, problems := read(test.text)
			if n != nil || len(problems) != 1 {
				t.Fatalf("Read = %v, %v; want one problem", n, problems)
			}
			line, column := check.LineColumn([]byte(test.text), problems[0].Offset)
			if line != test.line ||
				test.column > 0 && column != test.column ||
				!strings.Contains(problems[0].Message, test.message) {
				t.Errorf("%d:%d: %s; want %d:%d: %s", line, column, problems[0].Message, test.line, test.column, test.message)
			}
		})
	}
}

// TestAllRefused verifies that reading continues after an unsupported expression, and
// that its consequences are not reported.
func TestAllRefused(t *testing.T) {
	tests := map[string]struct {
		text string
		want string // lines and columns
	}{
		"constants": {
			"const a = process.env.A;\nconst b = fetch('x');\nexport default { a: a, b, c: 1 }",
			"1:11 2:11",
		},
		"members": {"export default {\n a: process.env.A,\n b: [1, Date, x],\n c: { d: y } }", "2:5 3:9 3:15 4:10"},
		"the result of one": {
			"const a = process.env.A;\nconst { b } = a;\nconst c = [...b, `${a}`, a.x, a ? 1 : 2];\nexport default { " +
				"...a, c, d: c, e: z }",
			"1:11 4:36",
		},
		"in a function": {
			"const f = (x) => ({ a: x, b: process.env.B });\nexport default { a: f(1), b: f(2), c: q }",
			"1:30 2:39",
		},
		"and duplicates": {"export default {\n a: 1, a: 2,\n b: q,\n c: { d: 1, d: 2 } }", "2:8 3:5 4:13"},
		"an argument": {
			"import { defineMcp } from 'stax'; export default defineMcp({\n servers: { a: { command: q },\n b: { " +
				"command: r } } })",
			"2:27 3:16",
		},
		"then a wrong one": {"const a = q;\nexport default { a: 1 2 }", "1:11 2:23"},
		"imports": {
			"import fs, { a as b } from 'fs';\nimport './x';\nexport default { a: b, c: fs.d('e'), d: q }",
			"1:28 2:8 3:41",
		},
		"what is done": {
			"const a = [];\na.push(q);\na.b = { c: d };\n['x'].forEach((x) => {});\n(1);\nconsole.log(a)\nexport default " +
				"{ a, b: q }",
			"2:1 3:1 4:1 5:1 6:1 7:24",
		},
		"the export itself": {"const a = q;\nexport default a", "1:11"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			n, problems := read(test.text)
			var got []string
			for _, p := range problems {
				line, column := check.LineColumn([]byte(test.text), p.Offset)
				got = append(got, strconv.Itoa(line)+":"+strconv.Itoa(column))
			}
			if strings.Join(got, " ") != test.want || n != nil {
				t.Errorf("got %v, %q, %v, want %s", n, got, problems, test.want)
			}
		})
	}
}

// A script that would do too much is stopped by a limit, which the error names. Most of
// these would never finish without one.
func TestBounded(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"doubling text", "const a = 'xxxxxxxxxxxxxxxx';" + doubling("const %1 = %0 + %0;"), "too much text"},
		{"doubling lists", "const a = [1];" + doubling("const %1 = [...%0, ...%0];"), "lists that are too long"},
		{
			"calls of calls", "const f0 = x => x;" + strings.Join(nested(40), "") + "export default { a: f40(1) }",
			"too many steps",
		},
		{
			"calls of a long function",
			"function f() { return '" + strings.Repeat("x", 100_000) + "' }\nexport default {a: [" +
				strings.Repeat("f(),", 100_000) + "]}",
			"too many steps",
		},
		{"wide", "export default {" + strings.Repeat("a: 1, ", 100_000) + "}", "objects that are too large"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, problems := read(test.text)
			if len(problems) == 0 || !strings.Contains(problems[0].Message, test.want) {
				t.Errorf("problems %.200v, want first one that says %q", problems, test.want)
			}
		})
	}
}

func doubling(form string) string {
	var b strings.Builder
	name := "a"
	for range 60 {
		b.WriteString(strings.NewReplacer("%1", name+"a", "%0", name).Replace(form))
		name += "a"
	}
	return b.String() + "export default {}"
}

func nested(n int) (lines []string) {
	name := func(i int) string { return "f" + strconv.Itoa(i) }
	for i := 1; i <= n; i++ {
		lines = append(lines, "const "+name(i)+" = x => ["+name(i-1)+"(x), "+name(i-1)+"(x)];")
	}
	return lines
}

func TestDuplicate(t *testing.T) {
	text := "export default {\n  a: 1,\n  b: { c: 1, c: 2 } }"
	n, problems := read(text)
	if n == nil || len(problems) != 1 || !problems[0].Duplicate || problems[0].Offset != strings.LastIndex(text, "c:") {
		t.Errorf("got %v, %v", n, problems)
	}
	if _, at := n.Find("/b/c"); text[at] != 'c' {
		t.Errorf("the place of /b/c is %d", at)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("import {defineMcp} from 'stax'; const f = (a, {b}) => ({...a, [b]: `x${a.c}`}); export default " +
		"defineMcp({a: f({}, {b: 1})?.x ? 1 : [2]})"))
	fuzzbound.Fuzz(f, func(t *testing.T, text []byte) {
		if len(text) > 4096 {
			return
		}
		n, problems := read(string(text))
		if n == nil && len(problems) == 0 {
			t.Fatal("neither a value nor a problem")
		}
		for _, p := range problems {
			if p.Offset < 0 || p.Offset > len(text) {
				t.Fatalf("place %d of %d", p.Offset, len(text))
			}
		}
		if n != nil {
			if _, err := tree.FromJSON(n.AppendJSON(nil)); err != nil {
				t.Fatal(err)
			}
		}
	})
}
