package stax_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/stax"
)

const compiled = `{"specVersion":"1.0.0","servers":{"github":{"command":"npx","args":["-y","pkg"],` +
	`"env":{"A":"1"},"secrets":["GITHUB_TOKEN"],"enabled":true},"old":{"url":"https://x.example/sse",` +
	`"transport":"sse","enabled":false}}}`

func TestFormats(t *testing.T) {
	texts := map[string]string{
		"x.json": `{"servers": {"github": {"command": "npx", "args": ["-y", "pkg"], "env": {"A": "1"}, "secrets": ` +
			`["GITHUB_TOKEN"]}, "old": {"url": "https://x.example/sse", "transport": "sse", "enabled": false}}}`,
		"x.jsonc": "// mine\n{\"servers\": {\"github\": {\"command\": \"npx\", \"args\": [\"-y\", \"pkg\",], \"env\": " +
			"{\"A\": \"1\"}, \"secrets\": [\"GITHUB_TOKEN\"]}, \"old\": {\"url\": \"https://x.example/sse\", \"transport\": " +
			"\"sse\", \"enabled\": false}}}",
		"x.yaml": "servers:\n  github:\n    command: npx\n    args: [-y, pkg]\n    env: {A: \"1\"}\n    secrets: " +
			"[GITHUB_TOKEN]\n  old:\n    url: https://x.example/sse\n    transport: sse\n    enabled: false\n",
		"x.toml": "[servers.github]\ncommand = 'npx'\nargs = ['-y', 'pkg']\nenv = {A = '1'}\nsecrets = " +
			"['GITHUB_TOKEN']\n[servers.old]\nurl = 'https://x.example/sse'\ntransport = 'sse'\nenabled = false\n",
		"x.ts": "import { defineMcp } from 'stax';\nconst npx = (pkg: string) => ({ command: 'npx', args: ['-y', " +
			"pkg] });\nexport default defineMcp({ servers: { github: { ...npx('pkg'), env: { A: '1' }, secrets: " +
			"['GITHUB_TOKEN'] }, old: { url: 'https://x.example/sse', transport: 'sse', enabled: false } } });\n",
	}
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			d, report := stax.Parse(name, []byte(text), nil)
			out, err := json.Marshal(d.Config)
			if err != nil || !report.OK(true) || string(out) != compiled {
				t.Errorf("got %s, %v, %v", out, err, ruletest.Findings(report))
			}
		})
	}
}

// Positions refer to the original text, in every format.
func TestPlaces(t *testing.T) {
	texts := map[string]struct {
		text         string
		line, column int
	}{
		"x.yaml": {"servers:\n  s:\n    command: x\n    comand: y\n", 4, 5},
		"x.toml": {"[servers.s]\ncommand = 'x'\ncomand = 'y'\n", 3, 1},
		"x.ts": {
			"import { defineMcp } from 'stax';\nconst base = { comand: 'y' };\nexport default defineMcp({ servers: { s: " +
				"{ command: 'x', ...base } } });",
			2,
			16,
		},
	}
	for name, test := range texts {
		t.Run(name, func(t *testing.T) {
			_, report := stax.Parse(name, []byte(test.text), nil)
			f := ruletest.Findings(report)
			if len(f) != 1 ||
				f[0].Rule.ID != "stax/unknown-field" ||
				f[0].Line != test.line ||
				f[0].Column != test.column ||
				f[0].Pointer != "/servers/s/comand" ||
				f[0].Hint != "did you mean command?" {
				t.Errorf("got %+v, want %d:%d", f, test.line, test.column)
			}
		})
	}
}

func TestUnreadable(t *testing.T) {
	tests := map[string]struct{ name, text, rule string }{
		"syntax":    {"x.yaml", "a: [", "stax/syntax"},
		"script":    {"x.ts", "export default fetch('x')", "stax/script"},
		"duplicate": {"x.toml", "[servers.a]\ncommand='x'\n[servers.a]\ncommand='y'\n", "stax/duplicate-name"},
		"in script": {"x.js", "export default {servers: {a: {command: 'x'}, a: {command: 'y'}}}",
			"stax/duplicate-name"},
		"size": {"x.json", strings.Repeat(" ", stax.MaxBytes+1), "stax/size"},
		"long name": {"x.json", `{"servers": {"` + strings.Repeat("s", 1025) + `": {"command": "x", "unknown": 1}}}`,
			"stax/size"},
		"long name below": {"x.ts", `export default {servers: {a: {command: "x", more: [{"` + strings.Repeat("s", 1025) +
			`": 1}]}}}`, "stax/size"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, report := stax.Parse(test.name, []byte(test.text), nil)
			f := ruletest.Findings(report)
			if len(f) != 1 || f[0].Rule.ID != test.rule || f[0].Severity != check.Error || f[0].Line == 0 {
				t.Errorf("got %+v, want %s", f, test.rule)
			}
		})
	}
}

func TestUnknownFieldsAreKept(t *testing.T) {
	text := `{"$schema": "x", "later": [1.50], "servers": {"s": {"command": "x", "more": {"b": 1, "a": ` +
		`9007199254740993}}}}`
	d, _ := stax.Parse("x.json", []byte(text), nil)
	out, err := json.Marshal(stax.Merge(d).Config)
	want := `{"specVersion":"1.0.0","servers":{"s":{"command":"x","enabled":true,"more":{"b":1,` +
		`"a":9007199254740993}}},"$schema":"x","later":[1.50]}`
	if err != nil || string(out) != want {
		t.Errorf("got  %s, %v\nwant %s", out, err, want)
	}
}

func TestSecretLiterals(t *testing.T) {
	tests := map[string]struct {
		name, value string
		secret      bool
	}{
		"a GitHub token":          {"X", "ghp_abcdefghijklmnopqrstuvwxyz0123456789", true},
		"behind a scheme":         {"X", "Bearer sk-ant-" + strings.Repeat("aB3", 8), true},
		"a JSON Web Token":        {"X", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJl", true},
		"a private key":           {"X", "-----BEGIN RSA PRIVATE KEY-----\nMIIE", true},
		"a connection string":     {"DATABASE_URL", "postgres://app:s3cr3tpw@db.example/app", true},
		"by name":                 {"API_KEY", "hello-world", true},
		"by name in camel case":   {"clientSecret", "hello-world", true},
		"a password":              {"DB_PASSWORD", "changeme", true},
		"chance":                  {"X", "q9Zr3LkV7mTw2NcYb8PdHx5J", true},
		"hexadecimal":             {"X", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b", true},
		"a reference":             {"API_KEY", "${API_KEY}", false},
		"a path":                  {"TOKEN", "/run/secrets/token", false},
		"an address":              {"TOKEN_SECRET", "https://id.example/token", false},
		"a number":                {"MAX_TOKENS", "4096", false},
		"many tokens":             {"TOKENS", "many of them", false},
		"a switch":                {"REQUIRE_TOKEN", "true", false},
		"words":                   {"X", "the-name-of-some-service-2024", false},
		"a package":               {"X", "@modelcontextprotocol/server-github", false},
		"a skeleton":              {"X", "sk-learn-toolkit-for-everyone", false},
		"a folder":                {"PWD", "/home/someone", false},
		"a URL without password":  {"DATABASE_URL", "postgres://db.example/app", false},
		"an address with a port":  {"URL", "https://api.github.com:443/v3", false},
		"a name of a key":         {"KEY", "value", false},
		"a UUID":                  {"PROJECT", "3f2504e0-4f89-41d3-9a0c-0305e82c3301", false},
		"an empty value":          {"TOKEN", "", false},
		"a placeholder in braces": {"TOKEN", "<your-token>", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			value, _ := json.Marshal(test.value)
			_, report := stax.Parse("x.json",
				[]byte(fmt.Sprintf(`{"servers": {"s": {"command": "x", "env": {%q: %s}}}}`, test.name, value)), nil)
			found := false
			for _, f := range ruletest.Findings(report) {
				found = found || f.Rule.ID == "stax/secret-literal"
				if test.value != "" && strings.Contains(f.Message+f.Hint, test.value) {
					t.Errorf("the value is printed: %v", f)
				}
			}
			if found != test.secret {
				t.Errorf("%s=%s: got %v, want %v", test.name, test.value, found, test.secret)
			}
		})
	}
}

func TestDefine(t *testing.T) {
	d, err := stax.Define(stax.Config{Servers: []stax.Server{{Name: "a", Command: "x", Args: []string{"-y"}}}})
	if err != nil || d.Config.Server("a").Command != "x" {
		t.Fatalf("got %v, %v", d, err)
	}
	_, err = stax.Define(stax.Config{
		Servers: []stax.Server{
			{Name: "a"},
			{Name: "b", Command: "x", EnabledTools: []string{"t"}, DisabledTools: []string{"t"}},
		},
	})
	if err == nil ||
		!strings.Contains(err.Error(), "/servers/a: ") ||
		!strings.Contains(err.Error(), "[stax/tools-overlap]") {
		t.Errorf("got %v, want both faults", err)
	}
	_, err = stax.Define(stax.Config{
		Servers: []stax.Server{{Name: "a", Command: "x"}, {Name: "a", Command: "y"}, {Name: "b"}},
	})
	if err == nil ||
		!strings.Contains(err.Error(), `the server "a" is defined twice`) ||
		!strings.Contains(err.Error(), "/servers/b: ") {
		t.Errorf("got %v, want the duplicate name and the fault of b", err)
	}
}

func ExampleDefine() {
	d, err := stax.Define(stax.Config{Servers: []stax.Server{
		{
			Name:    "github",
			Command: "npx",
			Args:    []string{"-y", "@modelcontextprotocol/server-github"},
			Secrets: []string{"GITHUB_TOKEN"},
		},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	text, _ := json.MarshalIndent(d.Config, "", "  ")
	fmt.Println(string(text))
	// Output:
	// {
	//   "specVersion": "1.0.0",
	//   "servers": {
	//     "github": {
	//       "command": "npx",
	//       "args": [
	//         "-y",
	//         "@modelcontextprotocol/server-github"
	//       ],
	//       "secrets": [
	//         "GITHUB_TOKEN"
	//       ],
	//       "enabled": true
	//     }
	//   }
	// }
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(compiled), uint8(1))
	f.Add([]byte("servers:\n  s: {command: x, secrets: [A, B], env: {A: 1}}\nsecrets: [A]\nbindings: {s: {A: "+
		"'{B}'}}\ntools: {s: {t: {name: u, title: '', x: 1}}, r: {t: {}}}"), uint8(3))
	f.Add([]byte("[servers.s]\nurl='https://a:b@c/?token=x'\ntransport='http'\nheaders={A='b'}\n"), uint8(4))
	f.Add([]byte("export default {servers: {s: {command: `x`, registryRef: {package: 'a', digest: 'b'}}}}"), uint8(5))
	fuzzbound.Fuzz(f, func(t *testing.T, text []byte, format uint8) {
		if len(text) > 4096 || format > 5 {
			return
		}
		d, report := stax.Parse("x", text, &stax.ParseOptions{Format: stax.Format(format)})
		s, _ := stax.ParseSecrets("x", text, &stax.ParseOptions{Format: stax.Format(format)})
		m := stax.Merge(d, d)
		m.Add(s)
		report.Add(ruletest.Findings(m.Check())...)
		for _, f := range ruletest.Findings(report) {
			if f.Line == 0 || f.Column == 0 || f.Message == "" {
				t.Fatalf("no place: %+v", f)
			}
		}
		if out, err := json.Marshal(m.Config); err != nil {
			t.Fatalf("%s, %v", out, err)
		}
	})
}
