package js_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/js"
)

// project returns the files of a project whose script is main.mjs.
func project(files map[string]string) fstest.MapFS {
	all := fstest.MapFS{}
	for name, text := range files {
		all[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return all
}

func readProject(files map[string]string) *js.Script {
	return js.Read([]byte(files["main.mjs"]), &js.Options{Files: project(files), Name: "main.mjs"})
}

// javaScript are scripts whose value is the one that Node prints.
func javaScript() map[string]struct {
	files map[string]string
	want  string
} {
	type files = map[string]string
	return map[string]struct {
		files map[string]string
		want  string
	}{
		"negative zero": {
			files{"main.mjs": "export default { a: -0, b: `${-0}`, c: 0 * -1, [-0]: 1 }"},
			`{"0":1,"a":0,"b":"0","c":0}`,
		},
		"order of indexes": {
			files{"main.mjs": `const o = { b: 1, 2: 1, a: 1, "10": 1, 1: 1, "01": 1, "4294967295": 1, "4294967294": 1, ` +
				`...{ 0: 1 } };
export default { o, keys: Object.keys(o), from: Object.fromEntries([["z", 1], ["3", 1]]) }`},
			`{"o":{"0":1,"1":1,"2":1,"10":1,"4294967294":1,"b":1,"a":1,"01":1,"4294967295":1},` +
				`"keys":["0","1","2","10","4294967294","b","a","01","4294967295"],"from":{"3":1,"z":1}}`,
		},
		"line ends of templates": {
			files{"main.mjs": "export default { a: `x\r\ny\rz\nw`, b: `x\\\r\ny`, c: 'x\\\ry', d: `\r\n\r\n` }"},
			`{"a":"x\ny\nz\nw","b":"xy","c":"xy","d":"\n\n"}`,
		},
		"numbers": {
			files{"main.mjs": "export default [1e21, 1.5e-7, 0.1 + 0.2, 123456789012345680000, 0x1F, 1_000, .5, " +
				"`${1e21}`, 7 % 4, -7 % 4]"},
			`[1e+21,1.5e-7,0.30000000000000004,123456789012345680000,31,1000,0.5,"1e+21",3,-3]`,
		},
		"named imports": {
			files{
				"main.mjs": `import { host, npx as run } from "./lib/helper.mjs"; export default { host, a: run("p"), ` +
					`b: run("q", 2) }`,
				"lib/helper.mjs": "export const host = 'example.com', port = 1; const base = { host };\nexport function " +
					"npx(name, n = port) { return { ...base, name, n }; }",
			},
			`{"host":"example.com","a":{"host":"example.com","name":"p","n":1},"b":{"host":"example.com","name":"q","n":2}}`,
		},
		"default and namespace": {
			files{
				"main.mjs": `import make, * as all from "./a.mjs"; export default { a: make(2), b: all.two, c: all.none ?? null }`,
				"a.mjs":    `const x = 2; export { x as two }; export default (n) => ({ n, x });`,
			},
			`{"a":{"n":2,"x":2},"b":2,"c":null}`,
		},
		"of an import": {
			files{
				"main.mjs": `import { a, b, c, rest } from "./a.mjs"; export default { a, b, c, d: rest.d }`,
				"a.mjs": `export * from "./b/b.mjs"; export { c } from "./b/c.mjs"; export * as rest from "./b/c.mjs"; ` +
					`export const b = "mine";`,
				"b/b.mjs": `import { c } from "./c.mjs"; export const a = c + 1, b = "theirs";`,
				"b/c.mjs": `export const c = 1, d = [c];`,
			},
			`{"a":2,"b":"mine","c":1,"d":[1]}`,
		},
		"JSON": {
			files{
				"main.mjs": `import data from "./data.json" with { type: "json" }; export default { ...data, n: ` +
					`data.list.length }`,
				"data.json": `{"b": 1, "2": [1.50, -0, 1e3], "1": {"z": null, "0": true}, "list": ["a", "é\n"]}`,
			},
			`{"1":{"0":true,"z":null},"2":[1.50,-0,1e3],"b":1,"list":["a","é\n"],"n":2}`,
		},
		"functions across files": {
			files{
				"main.mjs": `import { each } from "./a.mjs"; const k = 10; export default each([1, 2], (n) => n + k)`,
				"a.mjs":    `const k = 100; export const each = (list, f) => ({ sums: list.map((n) => f(n)), own: k });`,
			},
			`{"sums":[11,12],"own":100}`,
		},
		"byte order mark and script line": {
			files{"main.mjs": `import { a } from "./a.mjs"; export default a`,
				"a.mjs": "#!/usr/bin/env node\nexport const a = { x: 1 }"},
			`{"x":1}`,
		},
	}
}

func TestImports(t *testing.T) {
	for name, test := range javaScript() {
		t.Run(name, func(t *testing.T) {
			script := readProject(test.files)
			got := ""
			if script.Root != nil {
				got = string(script.Root.AppendJSON(nil))
			}
			if got != test.want || len(script.Problems) > 0 {
				t.Errorf("Read = %s, %v\nwant   %s", got, script.Problems, test.want)
			}
			if len(script.Imports) != len(test.files)-1 {
				t.Errorf("the imports are %q", script.Imports)
			}
		})
	}
}

// TestNode compares the expected values of TestImports with what Node prints.
func TestNode(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no node")
	}
	dir, names := t.TempDir(), []string{}
	for name, test := range javaScript() {
		folder := fmt.Sprintf("case%d", len(names))
		names = append(names, name)
		for file, text := range test.files {
			path := filepath.Join(dir, folder, file)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	run := fmt.Sprintf(`for (let i = 0; i < %d; i++) {
	console.log(JSON.stringify((await import("./case" + i + "/main.mjs")).default));
}`, len(names))
	if err := os.WriteFile(filepath.Join(dir, "run.mjs"), []byte(run), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(node, "run.mjs")
	command.Dir = dir
	out, err := command.Output()
	if err != nil {
		t.Skipf("this node cannot run the scripts: %v", err)
	}
	for i, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		test := javaScript()[names[i]]
		script := readProject(test.files)
		if script.Root == nil {
			t.Errorf("%s: %v", names[i], script.Problems)
			continue
		}
		if got := normalized(t, script); got != line {
			t.Errorf("%s: Read = %s\nNode prints %s", names[i], got, line)
		}
	}
}

// normalized returns a value with the numbers of a JSON file as JavaScript writes them.
func normalized(t *testing.T, script *js.Script) string {
	again := js.Read([]byte("export default "+string(script.Root.AppendJSON(nil))), nil)
	if again.Root == nil {
		t.Fatal(again.Problems)
	}
	return string(again.Root.AppendJSON(nil))
}

func TestCommonJS(t *testing.T) {
	script := readProject(map[string]string{
		"main.mjs": `const { a } = require("./lib"); const { b } = require("./esm.js"); module.exports = { a, ` +
			`b, c: require("./c.json").c }`,
		"lib/index.cjs":  `module.exports = { a: 1 };`,
		"esm.ts":         `export const b: number = 2;`,
		"c.json":         `{"c": 3}`,
		"unused/bad.mjs": `while (true) {}`,
	})
	if script.Root == nil || string(script.Root.AppendJSON(nil)) != `{"a":1,"b":2,"c":3}` {
		t.Fatalf("got %v, %v", script.Root, script.Problems)
	}
}

func TestTypesOfFiles(t *testing.T) {
	script := readProject(map[string]string{
		"main.mjs": `import { type A, B, make } from "./types"; import type { C } from "./none"; const a: B = ` +
			`make(1); export default { a } satisfies A`,
		"types.ts": `export interface A { a: B } export type B = { n: number }; export type { D } from "./none"; ` +
			`export const make = (n: number): B => ({ n });`,
	})
	if script.Root == nil || string(script.Root.AppendJSON(nil)) != `{"a":{"n":1}}` {
		t.Fatalf("got %v, %v", script.Root, script.Problems)
	}
}

func TestImportsRefused(t *testing.T) {
	many := map[string]string{"main.mjs": "", "big.json": `"` + strings.Repeat("x", 4<<20) + `"`}
	for i := range 70 {
		many["main.mjs"] += fmt.Sprintf("import a%d from './m%d.mjs';\n", i, i)
		many[fmt.Sprintf("m%d.mjs", i)] = "export default 1"
		many[fmt.Sprintf("deep%d.mjs", i)] = fmt.Sprintf("import a from './deep%d.mjs'; export default a", i+1)
	}
	many["main.mjs"] += "export default {}"
	with := func(main string) map[string]string {
		files := map[string]string{"main.mjs": main}
		for name, text := range many {
			if name != "main.mjs" {
				files[name] = text
			}
		}
		return files
	}
	tests := map[string]struct {
		files map[string]string
		want  []string // "line:column message"
	}{
		"missing": {with(`import a from "./none"; export default { a }`),
			[]string{"1:15 cannot import \"./none\": the file does not exist"}},
		"outside": {with("\nimport a from '../a'; export default { a }"),
			[]string{"2:15 cannot import \"../a\": the file is outside"}},
		"package": {with(`import a from "lodash"; export default { a }`),
			[]string{"1:15 cannot import \"lodash\": only \"stax\""}},
		"absolute": {with(`import a from "/etc/hosts"; export default { a }`),
			[]string{"1:15 cannot import \"/etc/hosts\": only \"stax\""}},
		"number": {many, []string{"65:17 cannot import \"./m64.mjs\": more than", "66:17 ", "67:17 ", "68:17 ", "69:17 ",
			"70:17 "}},
		"depth": {with(`import a from "./deep0.mjs"; export default { a }`),
			[]string{"1:15 deep15.mjs:1:15: cannot import \"./deep16.mjs\": more than"}},
		"bytes": {with(`import a from "./big.json"; export default { a }`),
			[]string{"1:15 cannot import \"./big.json\": the imported files have more than 4 MiB"}},
		"cycle": {map[string]string{
			"main.mjs": `import a from "./a.mjs"; export default { a }`,
			"a.mjs":    "\nimport b from './b.mjs'; export default b",
			"b.mjs":    "import a from './a.mjs'; export default a",
		}, []string{`1:15 b.mjs:1:15: cannot import "./a.mjs": import cycle: a.mjs → b.mjs → a.mjs`}},
		"itself": {map[string]string{"main.mjs": `import a from "./main.mjs"; export default { a }`},
			[]string{`1:15 cannot import "./main.mjs": import cycle: main.mjs → main.mjs`}},
		"a fault in a file": {map[string]string{
			"main.mjs": "import a from './a.mjs';\nexport default { a, b }",
			"a.mjs":    "const x = 1;\nexport default { x, y: process.env.Y }",
		}, []string{"1:15 a.mjs:2:24: process is not declared", "2:21 b is not declared"}},
		"a fault in JSON": {map[string]string{
			"main.mjs": "import a from './a.json';\nexport default { a }",
			"a.json":   "{\n  \"a\": 1,\n}",
		}, []string{"1:15 a.json:2:9: JSON does not allow a trailing comma"}},
		"an open template": {map[string]string{
			"main.mjs": "import { a } from './a.mjs';\nexport default { a: `${a}`, b: `",
			"a.mjs":    "export const a = 1; // `",
		}, []string{"2:32 unterminated template"}},
		"a prototype": {map[string]string{"main.mjs": `export default { a: 1, __proto__: { b: 2 } }`},
			[]string{"1:24 the name __proto__ is not supported"}},
		"a module as value": {map[string]string{
			"main.mjs": "import * as a from './a.mjs';\nexport default { a }",
			"a.mjs":    "export const a = 1",
		}, []string{`2:18 "a" is a function`}},
		"nested doubling": {map[string]string{
			"main.mjs": strings.TrimSuffix(doubling("const %1 = [%0, %0];"), "export default {}") +
				"export default { x: a" + strings.Repeat("a", 60) + " }",
		}, []string{"1:1 the script builds objects that are too large"}},
	}
	tests["nested doubling"].files["main.mjs"] = "const a = 1;" + tests["nested doubling"].files["main.mjs"]
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			script := readProject(test.files)
			if script.Root != nil || len(script.Problems) != len(test.want) {
				t.Fatalf("Read = %v, %v, want %q", script.Root, script.Problems, test.want)
			}
			for i, p := range script.Problems {
				line, column := check.LineColumn([]byte(test.files["main.mjs"]), p.Offset)
				if got := fmt.Sprintf("%d:%d %s", line, column, p.Message); !strings.HasPrefix(got, test.want[i]) {
					t.Errorf("problem %s, want %s", got, test.want[i])
				}
			}
		})
	}
}

// TestPlacesOfImports verifies that a value of another file is where it is imported, and
// that its duplicate names are reported there.
func TestPlacesOfImports(t *testing.T) {
	main := "import a from './a.json';\nexport default { b: { c: 1 }, a }"
	script := readProject(map[string]string{"main.mjs": main, "a.json": "\n\n{\"x\": 1, \"y\": {\"z\": 1, \"z\": 2}}"})
	if script.Root == nil || len(script.Problems) != 1 || !script.Problems[0].Duplicate ||
		script.Problems[0].Offset != strings.Index(main, "'./a") || !strings.HasPrefix(script.Problems[0].Message,
		"a.json:3:24: ") {
		t.Fatalf("got %v, %v", script.Root, script.Problems)
	}
	if !json.Valid(script.Root.AppendJSON(nil)) {
		t.Error("no JSON")
	}
	for pointer, want := range map[string]string{"/a": "a }", "/a/x": "'./a", "/a/y/z": "'./a", "/b/c": "c: 1"} {
		if n, at := script.Root.Find(pointer); n == nil || !strings.HasPrefix(main[at:], want) {
			t.Errorf("%s is at %.10q, want %q", pointer, main[at:], want)
		}
	}
}
