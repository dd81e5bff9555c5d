package mcpb

import (
	"fmt"
	"slices"
	"testing"

	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
)

func TestScanImports(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []string // name, and ? for lazy, ~ for optional, + for computed
	}{
		"static": {
			`import a from "a"; import 'b'; import * as c from "c"; import d, {e as f} from "@s/d/e.js"`,
			[]string{"a", "b", "c", "@s/d/e.js"},
		},
		"several lines": {
			"import {\n  a,\n  b\n} from \"./a.js\"\nexport { c } from './c.js'\nexport * from \"d\"\nexport * as e from 'e'",
			[]string{"./a.js", "./c.js", "d", "e"},
		},
		"own exports": {`export const from = "a"; export default function require() {}; export { x }; f("from")`, nil},
		"require": {
			`const a = require("a"), b = require('./b'); module.exports = require( "c" )`,
			[]string{"a", "./b", "c"},
		},
		"within functions": {`function f() { return require("a") } const g = () => import("b")`, []string{"a?", "b?"}},
		"within try":       {`try { require("a") } catch { require("b") } require("c")`, []string{"a~", "b?", "c"}},
		"comments": {
			"// require('a')\n/* import 'b' */ /** @type {import('c')} */ require('d') // import \"e\"",
			[]string{"d"},
		},
		"strings": {
			`const s = "require('a')"; const t = 'import "b"'; const u = "it's"; require("c")`,
			[]string{"c"},
		},
		"templates": {
			"const s = `require('a') ${require('b')} import 'c' ${`${x}}`} `; require('d')",
			[]string{"b", "d"},
		},
		"patterns": {
			`const r = /require("a")/.test(x) && /['"/]/g; const d = a / b; require("c") / 2`,
			[]string{"c"},
		},
		"pattern of a class": {`x = /[/"]/; require("a")`, []string{"a"}},
		"others of the name": {`a.require("b"); a.import("c"); import.meta.url; requires("e"); require()`, nil},
		"not closed":         {"const a = \"x\nrequire('b')\nconst c = `", []string{"b"}},
		"shebang":            {"#!/usr/bin/env node\nimport \"a\"", []string{"a"}},
		"nothing":            {"", nil},
		"cut off":            {"import {", nil},

		"at the top":    {`await import("a"); if (x) { await import("b") }`, []string{"a", "b?"}},
		"resolved":      {`require.resolve("a"); require.resolve(b)`, []string{"a?"}},
		"within arrows": {`const f = () => require("a"); Promise.resolve().then(() => m(require("b")))`, []string{"a?", "b"}},
		"giving up": {
			`try { require("a") } catch (e) { if (x) { y() } process.exit(1) } try { require("b") } catch { throw e }`,
			[]string{"a", "b"},
		},
		"handled": {`import("a").then(f).catch(g); import("b"); x.catch(y)`, []string{"a?~", "b?"}},
		"computed": {
			"require(a); import(b); require(\"./c/\" + d); import(`./e/${f}.js`); require(`g`); require('h' )",
			[]string{"+", "?+", "./c/+", "./e/?+", "g", "h"},
		},
		"made": {
			`import { createRequire } from "module"; const load = createRequire(import.meta.url); load("a"); load(b)`,
			[]string{"module", "a", "+"},
		},
		"made under another name": {
			`import { createRequire as make, x } from "module"; const load = make(f(x)); load("a")`, []string{"module", "a"},
		},
		"made by TypeScript": {
			`const m = require("module"); const load = (0, m.createRequire)(__filename); load("a")`, []string{"module", "a"},
		},
		"made and called": {`createRequire(import.meta.url)("a")`, []string{"a"}},
		"made, minified":  {`import{createRequire as t}from"module";const r=t(u);r("hello")`, []string{"?+", "module"}},
		"assigned":        {`const load = require; load("a"); module.require("b")`, []string{"a", "b"}},
		"not loaders": {
			`f("a"); typeof require; x = typeof require != "u" ? require : y; require.main; require.apply(t, a)`, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, i := range scanJavaScript([]byte(test.text)).found {
				word := i.name
				if i.lazy {
					word += "?"
				}
				if i.optional {
					word += "~"
				}
				if i.computed {
					word += "+"
				}
				got = append(got, word)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("scanJavaScript(%q).found = %q, want %q", test.text, got, test.want)
			}
		})
	}
}

func FuzzScanImports(f *testing.F) {
	for _, seed := range []string{
		"import a from 'a'", "`${", "/[/", "try{require('a')}", "export {", "import{{{{",
		"}}}}`", "/*",
	} {
		f.Add([]byte(seed))
		f.Add([]byte(fmt.Sprint(slices.Repeat([]string{seed}, 200))))
	}
	fuzzbound.Fuzz(f, func(t *testing.T, text []byte) {
		found := scanJavaScript(text).found
		if len(found) > len(text) {
			t.Errorf("%d imports in %d bytes", len(found), len(text))
		}
		for _, i := range found {
			if i.at < 0 || i.at+len(i.name) > len(text) {
				t.Errorf("%q at %d of %d", i.name, i.at, len(text))
			}
		}
	})
}
