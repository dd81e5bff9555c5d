package edge

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/internal/schema"
)

// runPatterns runs a script of Node.js with the functions of pattern.js and argumentsOf, and input as a constant. Its
// result is decoded into output.
func runPatterns(t *testing.T, script string, input, output any) {
	t.Helper()
	node := os.Getenv(nodeVariable)
	if node == "" {
		t.Skip("scripts/edge names the runtimes")
	}
	folder, err := filepath.Abs("js")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const head = `
const { matchesPattern, newBudget, TooMuchWork } = await import(process.argv[1] + '/pattern.js');
const { readArguments, readParams } = await import(process.argv[1] + '/arguments.js');
const input = JSON.parse(process.argv[2]);
`
	cmd := exec.CommandContext(ctx, node, "--input-type=module", "--eval", head+script, "file://"+folder, string(text))
	cmd.Stderr = os.Stderr
	got, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(got, output); err != nil {
		t.Fatal(err)
	}
}

// TestPatterns compares the patterns of the endpoint with those of the package schema, which "slipway serve" uses, also
// for texts with which a RegExp of JavaScript takes years.
func TestPatterns(t *testing.T) {
	patterns := []string{
		`^(a+)+$`, `^(a|aa)+$`, `^([a-zA-Z0-9_.-]+)*@x$`, `^a{2,4}$`, `a{3}`, `^[a-z]+(\.[a-z]+)*$`, `(a|b)*c`,
		`^\d{4}-\d{2}-\d{2}$`, `\bfoo\b`, `x?y+z*`, `^$`, ``, `[^a-c]`, `^(?:ab|cd){1,3}?$`, `^\p{L}+$`, `^.{2}$`,
		`(?<n>a)b`, `\.`, `a|`, `(|a)b`, `^((a*)*)*$`, `[\]x]+`, `\x61`, `^\S+\s?\S*$`, `a{0}b`, `^a{2,}$`, `\Bb`,
		`(?=a)b`, `(?<!a)b`, `(a)\1`, `[`, `a**`, `(`, `)`, `*a`, `(?<a$>x)`, `^(((a{9}){9}){9}){9}$`,
		`^.{1,512}$`, `^\w{1,1000}$`, `^.{0,600}$`, `^(a|b){500}$`, `^(a|b|c|d|e|f){900}$`, `^\w{1,1001}$`, `a{3,2}`,
		`^(){1000}$`, `^(){100000000}$`, `(){999999999999}`, `^(.{900}){10}$`, `^(.{1000})(.{1000}){9}$`,
		`^((a{30}){30})?$`,
		`^(.{1000}){1}(.{1000})(.{1000})(.{1000})(.{1000})(.{1000})(.{1000})(.{1000})(.{1000})(.{1000})$`,
		`^.$`, `^\s$`, `^\S$`, `^[\s]$`, `^[^\S]$`, `^[\w-.]+$`, `^[\w\-.@]+$`, `^\@\-\_$`, `^{x}$`, `^]$`, `^a{,2}$`,
		`^a{01}$`, `^*a`, `^[]$`, `^[^]$`, `\ud800`, `^[\ud83d\ude00]$`, `^\ud83d\ude00$`, `^\u{1f600}$`, `\p{Emoji}`,
		`^\p{Letter}$`, `^\p{Script=Greek}$`, `^\P{Lu}$`, `\q`, `^[\b]$`, `^\cA$`, `[z-a]`, `^(?:a|[b-d]|\.){2}$`,
		`^(\w{1,1000}\s\w{1,1000}\s\w{1,1000})+$`, `^(\w{1,330}\s\w{1,330}\s\w{1,330}\s\w{1,330}){3,}$`,
		`^(?:(?:a+)+b*)+$`,
		`^(?:){1000}!`, `(?:){10000}`, `^((a?)*b?)*$`, `^(?:a{0}|b)+$`,
		// What Go supports and ECMA-262 does not, or not without a flag.
		`(?i)^abc$`, `(?i:abc)`, `^(?i:a(?-i:b)c|x)y$`, `^a(?i)b|^c$`, `^(a(?i))b$`, `(?m)^b$`, `(?m:^)b$`, `(?s).`,
		`(?U)^a+$`,
		`(?i)^k+$`, `(?i)^\w$`, `(?i)^\W$`, `(?i)^[^k]$`, `(?i)^[j-l]$`, `(?i)^\P{Lu}$`, `(?i)^\p{Lu}$`,
		`(?i)^[^\P{Lu}]$`, `(?i)^ß$`,
		`(?i)^i$`, `(?i)^ı$`, `(?i)^θ$`, `(?i)^(?:a|b|[^\D])$`, `(?i)(?-i)^a$`, `(?i-)a`, `(?x)a`, `(?#a)`, `a(?i)*`,
		`(?i)*`, `a*(?i)+b`,
		`(?P<n>a)`, `(?P<>a)`, `(?P=n)`, `(?<ä>a)`, `\A[ab]\z`, `a\Z`, `^\pL$`, `^\PL$`, `^\pl$`, `\pX`,
		`^\p{Greek}$`, `^\p{greek}$`,
		`^\p{letter}$`, `^\p{uppercase letter}$`, `^\p{^Lu}$`, `^\P{^Lu}$`, `^\p{Any}$`, `^\p{ascii}$`,
		`^\P{Assigned}$`, `^\p{LC}$`,
		`^\p{sc=Latn}$`, `^\p{sc=Latin}$`, `^\p{sc=latin}$`, `^\p{sc=Lu}$`, `^\p{gc=Lu}$`, `^\p{gc=Latin}$`,
		`^\p{gc=letter}$`,
		`^\p{scx=Greek}$`, `^\p{Script_Extensions=Greek}$`, `\p{Old_Italic}`, `\p{Script=Old_Italic}`,
		`\p{constructor}`,
		`^\x{41}$`, `^[\x{3b1}\u{3b2}]$`, `\x{}`, `\x{110000}`, `\u{d800}`, `\x{DE00}`, `\x4`, `^\Qa.b\E+$`, `^\Q{x}`,
		`a\Q\E*b`, `\E`, `a\`,
		`^[[:alpha:]-]+$`, `^[[:^digit:]]$`, `^[^[:space:]x]$`, `[[:foo:]]`, `[[:constructor:]]`, `^[[:punct:]]+$`,
		`^[[:].$`,
		`^[\s-x]$`, `^[-\s]$`, `^[\w-\s]$`, `[\t-\s]`, `[a-\d]`, `^[\d-]$`, `^[--/]$`, `^[\b-\t]$`, `\8`, `\k<a>`,
		`\\`, `^\0$`,
	}
	texts := []string{
		"", "a", "aa", "aaa", "aaaaa", "ab", "abcd", "b", "c", "aab", "2026-01-02", "2026-1-2", "a foo b", "afoob",
		"xyz",
		"x", "abc.def", "abc.", "u@x", "!!!", "ABC", "Abc", "aBc", "XY", "aB", "C", "K", "k", "\u212a", "Kk\u212a",
		"s", "S", "\u017f",
		"ß", "\u1e9e", "i", "I", "ı", "İ", "θ", "ϑ", "ϴ", "Θ", "β", "\u0342", "\U00010300", "a\nb", "a.b", "a.bb",
		"\\", "\x00", "8", "[\r", "[a",
		"ǅ", "\ufffd", "\u0378", "\u2003", "\t", "ü", "😀", "😀😀", "a b", "a  b", "]x", ".", "abb",
		"\r", "\n", "\u2028", "\u00a0", "\ufeff", "\u200b", "\b", "\x01", "α", "A", "-", "a-b.c", "@-_", "{x}", "]",
		"a{,2}",
		strings.Repeat("a", 500), strings.Repeat("x", 513), strings.Repeat("a", 1001), strings.Repeat("é", 300),
		strings.Repeat("a", 40) + "!", strings.Repeat("a", 1000) + "!",
	}
	var got [][]bool
	runPatterns(t, `
const [patterns, texts] = input;
const accepts = (p, t) => {
  try {
    return matchesPattern(p, t, newBudget());
  } catch (e) {
    if (!(e instanceof TooMuchWork)) throw e;
    return false;
  }
};
console.log(JSON.stringify(patterns.map((p) => texts.map((t) => accepts(p, t)))));
`, [][]string{patterns, texts}, &got)
	for i, pattern := range patterns {
		compiled := compilePattern(t, pattern)
		for j, text := range texts {
			value, err := json.Marshal(text)
			if err != nil {
				t.Fatal(err)
			}
			if want := compiled.Accepts(value); got[i][j] != want {
				t.Errorf("pattern %q and text %.40q: %v, want %v", pattern, text, got[i][j], want)
			}
		}
	}
}

// compilePattern returns a schema with the pattern.
func compilePattern(t *testing.T, pattern string) *schema.Schema {
	t.Helper()
	source, err := json.Marshal(map[string]string{"pattern": pattern})
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := schema.Compile(source)
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

// TestPatternDifferences has the patterns that Go checks and the endpoint does not: its comment lists them.
func TestPatternDifferences(t *testing.T) {
	patterns := map[string]string{
		"common prefixes": `^(?:abcdef|abcdeg){900}$`,
		"nesting":         "^" + strings.Repeat("(?:", 1001) + "a" + strings.Repeat(")", 1001) + "$",
	}
	for name, pattern := range patterns {
		var accepted bool
		runPatterns(t, `console.log(matchesPattern(input, '!', newBudget()));`, pattern, &accepted)
		if !accepted || compilePattern(t, pattern).Accepts([]byte(`"!"`)) {
			t.Errorf("%s: the endpoint and Go are the same now: move the pattern to TestPatterns", name)
		}
	}
}

// TestCompiledPatterns verifies that compiled patterns are kept up to a number of states: many small ones, or a few
// large ones.
func TestCompiledPatterns(t *testing.T) {
	var got struct{ Small, Large, Again int } // steps
	runPatterns(t, `
const steps = (pattern) => {
  const budget = newBudget();
  const before = budget.steps;
  matchesPattern(pattern, 'a', budget);
  return before - budget.steps;
};
const first = '^a0|a$';
steps(first);
for (let i = 1; i < 500; i++) steps('^a' + i + '|a$');
const Small = steps(first);
const large = (i) => '^b' + i + '.{1,900}.{1,900}.{1,900}|a$';
for (let i = 0; i < 5; i++) steps(large(i));
const Large = steps(large(0));
for (let i = 5; i < 50; i++) steps(large(i));
console.log(JSON.stringify({ Small, Large, Again: steps(large(0)) }));
`, nil, &got)
	if got.Small > 100 || got.Large > 100 || got.Again < 10_000 {
		t.Errorf("%+v, want patterns kept up to a limit", got)
	}
}

// TestTooMuchWork verifies that the client learns why a value is refused, also if it has more problems than are shown.
func TestTooMuchWork(t *testing.T) {
	var got string
	runPatterns(t, `
const inputSchema = JSON.stringify({ properties: { a: { items: { pattern: '[a-z]{1,400}!' } } } });
const tool = { name: 't', inputSchema, params: readParams(inputSchema) };
try {
  readArguments(tool, JSON.stringify({ a: Array(200).fill('x'.repeat(300)) }), newBudget());
} catch (e) {
  console.log(JSON.stringify(e.message));
}
`, nil, &got)
	want := regexp.MustCompile(`^[^;]*(a\[\d+\]: must match [^;]*; ){16}too much work to check against the schema; ` +
		`and [1-9]\d* more$`)
	if !want.MatchString(got) {
		t.Errorf("%s, want 16 problems and the reason", got)
	}
}

// TestPatternBudget verifies that all values of a request spend one budget, that each pattern is compiled once, and
// that nothing is accepted when the budget is spent.
func TestPatternBudget(t *testing.T) {
	var got struct {
		Errors  []string // of calls with an expensive value, and of one with a cheap value that matches
		Fresh   string   // of the cheap value in another request
		Strings int      // the steps of an array of 16,000 short strings
		Known   int      // the steps of a value with a pattern that is known
	}
	runPatterns(t, `
const tool = (property) => {
  const inputSchema = JSON.stringify({ type: 'object', properties: { a: property } });
  return { name: 't', inputSchema, params: readParams(inputSchema) };
};
const error = (property, value, budget) => {
  try {
    readArguments(tool(property), JSON.stringify({ a: value }), budget);
    return '';
  } catch (e) {
    return e.message;
  }
};
const costly = { pattern: '[a-z]{1,400}!' };
const cheap = { pattern: '^a$' };
const budget = newBudget();
const Errors = [];
for (let i = 0; i < 30; i++) Errors.push(error(costly, 'x'.repeat(1000), budget));
Errors.push(error(cheap, 'a', budget));
const spent = (property, value) => {
  const budget = newBudget();
  const before = budget.steps;
  if (error(property, value, budget) !== '') throw new Error('refused');
  return before - budget.steps;
};
const large = { pattern: '^a|b.{1,900}$' };
const host = '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?([.][a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$';
spent(large, 'a');
console.log(JSON.stringify({
  Errors, Fresh: error(cheap, 'a', newBudget()),
  Strings: spent({ items: { pattern: host } }, Array(16000).fill('a')), Known: spent(large, 'a'),
}));
`, nil, &got)
	tooMuch := func(text string) bool { return strings.Contains(text, "too much work") }
	n := slices.IndexFunc(got.Errors, tooMuch)
	if n < 1 || !strings.Contains(got.Errors[0], "must match") || got.Fresh != "" ||
		slices.ContainsFunc(got.Errors[n:], func(text string) bool { return !tooMuch(text) }) {
		t.Errorf("%+v, want values refused for the budget once it is spent, and not with another", got)
	}
	if got.Strings > 500_000 || got.Known > 100 {
		t.Errorf("%+v, want each pattern compiled once", got)
	}
}
