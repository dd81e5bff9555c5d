package js_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/js"
	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
)

func TestModuleEnd(t *testing.T) {
	for _, test := range []struct{ statement, rest string }{
		{"import 'a.css'\n", "## Kept\n"},
		{"import A from './a'\n", "\ntext"},
		{"import A, {b as c} from \"a\";\n", "text"},
		{"import {\n  a,\n  b,\n} from './y';\n", "export const x = 1;\n"},
		{"import * as x\nfrom 'x'\n", "text"},
		{"import data from './d.json' with {type: 'json'};\n", "text"},
		{"import A from 'a'; ", "import B from 'b';\n"},
		{"export const smile = ':-(';\n", "\n## Kept\n"},
		{"export const f = \"f(x\"\n", "\n## Kept\n"},
		{"export const r = /\\(/;\n", "\n## Kept\n"},
		{"export const r = a / b / (c)\n", "text"},
		{"export const r = [/[/(]/g, 1]\n", "text"},
		{"export const t = `(${f(`{`)} (`\n", "\n## Kept\n"},
		{"export const a = 1 // it's (\n", "\ntext"},
		{"export const a = 1\n/* ( */\n", "\ntext"},
		{"export const a =\n\n  b\n  + c\n  .d()\n", "text"},
		{"export const a = f(b)\n  .c()\n", "- item\n"},
		{"export const a = b &&\n  c\n", "text"},
		{"export const H = ({children}) => (\n  <span style={{a: 'b'}}>Don't ( {children} {/* ' */}</span>\n);\n", "text"},
		{"export const H = () => <>a ( <b/> &nbsp; it's</>\n", "\n# Kept"},
		{"export const H = () =>\n  <img alt=\"it's\" src={require('./a.png').default} />\n", "\n# Kept"},
		{"export const a = x < y\n", "text"},
		{"export const a = {\n\n  b: <A b=<C/>>(</A>,\n\n}\n", "text"},
		{"export function F() {\n  return <p>It's {a ? <b>(</b> : null}</p>;\n}\n", "\ntext"},
		{"export default function ({children}) {\n\n  return children\n}\n", "text"},
		{"export default class extends A {\n}\n", "text"},
		{"export default Layout\n", "text"},
		{"export async function f() {}\n", "text"},
		{"export { a, b }\n", "text"},
		{"export { a }\nfrom 'x'\n", "text"},
		{"export * from './a'\n", "text"},
		{"export let n = 1.5\n", "text"},
		{"export type A =\n  | 'a'\n  | 'b'\n", "text"},
	} {
		end, err := js.ModuleEnd(test.statement + test.rest)
		if err != nil || end != len(test.statement) {
			t.Errorf("ModuleEnd(%q) = %d, %v, want %d", test.statement+test.rest, end, err, len(test.statement))
		}
	}
	for text, want := range map[string]error{
		"import duties rise":                            js.ErrNoStatement,
		"import it from the menu (see below":            js.ErrNoStatement,
		"export the table (as CSV":                      js.ErrNoStatement,
		"export default settings to a file (":           js.ErrNoStatement,
		"export default settings; then restart\n":       js.ErrNoStatement,
		"export const correctness (":                    js.ErrNoStatement,
		"export class names (":                          js.ErrNoStatement,
		"export const a = (\n\n## Kept\n":               js.ErrNoEnd,
		"export const a = 'it\n\n## Kept\n":             js.ErrNoEnd,
		"export const a = [)\n\n## Kept\n":              js.ErrNoEnd,
		"export const a = <b>text\n\n## Kept\n":         js.ErrNoEnd,
		"export function f() {\n\n## Kept\n":            js.ErrNoEnd,
		"import { a }\n\n## Kept\n":                     js.ErrNoStatement,
		"export const a = " + strings.Repeat("(", 1000): js.ErrNoEnd,
	} {
		if end, err := js.ModuleEnd(text); !errors.Is(err, want) || end != 0 {
			t.Errorf("ModuleEnd(%q) = %d, %v, want %v", text, end, err, want)
		}
	}
}

func FuzzModuleEnd(f *testing.F) {
	f.Add("export const a = <b c={`${d}`}>'{/* e */}</b>; // f\n")
	f.Add("import {a} from 'b'\nexport default /[(]/g")
	fuzzbound.Fuzz(f, func(t *testing.T, text string) {
		end, err := js.ModuleEnd(text)
		if end < 0 || end > len(text) || (err == nil) != (end > 0) {
			t.Errorf("ModuleEnd(%q) = %d, %v", text, end, err)
		}
	})
}
