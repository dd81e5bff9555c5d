package stax_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/stax"
)

// The clauses of the definition format, C1 to C24 in the order of its text.
// launch_test.go covers those about starting servers, package clients those about the
// configuration of other programs.

// server returns a document with one server called s.
func server(members string) string { return `{"servers":  {"s": {` + members + `}}}` }

// found returns the findings of Parse and Merge for JSON texts, one per line: rule,
// severity, position and pointer. Notes are omitted.
func found(t *testing.T, texts ...string) []string {
	t.Helper()
	all := &check.Report{}
	var docs []*stax.Document
	for _, text := range texts {
		d, report := stax.Parse("x.json", []byte(text), nil)
		all.Add(ruletest.Findings(report)...)
		docs = append(docs, d)
	}
	all.Add(ruletest.Findings(stax.Merge(docs...).Check())...)
	var out []string
	for _, f := range ruletest.Findings(all) {
		if f.Severity != check.Note {
			out = append(out,
				fmt.Sprintf("%s %s %d:%d %s", strings.TrimPrefix(f.Rule.ID, "stax/"), f.Severity, f.Line, f.Column,
					f.Pointer))
		}
		if f.Line == 0 || f.Column == 0 || f.File != "x.json" || f.Hint == "" {
			t.Errorf("no place or no hint: %v", f)
		}
	}
	return out
}

// expect compares findings with the wanted lines, in the format of found.
func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestC1NamesAreUnique(t *testing.T) {
	expect(t, found(t, `{"servers": {"a": {"command": "x"},
 "a": {"command": "y"}}}`), "duplicate-name error 2:2 /servers/a")
	expect(t, found(t, `{"servers": {"a": {"command": 1},
 "a": {"command": "y"}}}`), "type error 1:20 /servers/a/command", "duplicate-name error 2:2 /servers/a")
	expect(t, found(t, server(`"command": "x", "env": {"A": "1", "A": "2"}`)),
		"duplicate-name error 1:55 /servers/s/env/A")
}

func TestC2ExactlyOneKind(t *testing.T) {
	expect(t, found(t, server(`"command": "x"`)))
	expect(t, found(t, server(`"url": "https://x.example", "transport": "sse"`)))
	expect(t, found(t, server(`"command": "x", "url": "https://x.example", "transport": "http"`)),
		"kind error 1:15 /servers/s")
	expect(t, found(t, server(`"description": "x"`)), "kind error 1:15 /servers/s")
	expect(t, found(t, server(`"url": "https://x.example"`)), "kind error 1:15 /servers/s/transport")
	expect(t, found(t, server(`"url": "https://x.example", "transport": "streamable-http"`)),
		"transport error 1:49 /servers/s/transport")
	expect(t, found(t, server(`"command": "x", "transport": "http"`)), "wrong-kind-field error 1:37 /servers/s/transport")
	expect(t, found(t, server(`"command": "x", "headers": {}`)), "wrong-kind-field error 1:37 /servers/s/headers")
	expect(t, found(t, server(`"url": "https://x.example", "transport": "http", "args": []`)),
		"wrong-kind-field error 1:70 /servers/s/args")
	expect(t, found(t, server(`"command": ""`)), "command error 1:21 /servers/s/command")
}

func TestC3NoSecretValues(t *testing.T) {
	const value = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
	text := `{"servers": {"s": {"command": "x",
 "env": {"GITHUB_TOKEN": "` + value + `",
  "MODE": "fast"}, "args": ["--token=` + value + `"]},
 "r": {"url": "https://user:hunter2222@x.example/?api_key=` + value + `", "transport": "http",
  "headers": {"Authorization": "Bearer ` + value + `", "x-team": "platform"}}}}`
	expect(t, found(t, text),
		"secret-literal error 2:10 /servers/s/env/GITHUB_TOKEN",
		"secret-literal warning 3:29 /servers/s/args/0",
		"secret-literal warning 4:8 /servers/r/url",
		"secret-literal warning 4:8 /servers/r/url",
		"secret-literal error 5:15 /servers/r/headers/Authorization")
	_, report := stax.Parse("x.json", []byte(text), nil)
	out, err := json.Marshal(ruletest.Findings(report))
	if err != nil || strings.Contains(string(out), value) || strings.Contains(string(out), "hunter2222") {
		t.Errorf("a value is printed: %s, %v", out, err)
	}
}

// Messages and hints quote invalid values, and an invalid value may be a secret.
func TestNoMessageHoldsAToken(t *testing.T) {
	const value = "ghp_aB3dE5gH7jK9mN1pQ3sT5vW7xY9zA1bC3dE5"
	tests := map[string]struct{ text, rule string }{
		"as transport": {server(`"url": "https://x.example", "transport": "` + value + `"`), "transport"},
		"as version":   {`{"specVersion": "` + value + `", "servers": {"s": {"command": "x"}}}`, "spec-version"},
		"as key":       {server(`"command": "x", "secrets": ["` + value + `"]`), "secret-key"},
		"as kind": {
			`{"servers": {"s": {"command": "x"}}, "secrets": [{"key": "A", "kind": "` + value + `"}]}`,
			"secret-kind",
		},
		"as name": {`{"servers": {"` + value + `": {"description": "x"}}}`, "kind"},
		"in a tool": {
			server(`"command": "x", "enabledTools": ["` + value + `"], "disabledTools": ["` + value + `"]`),
			"tools-overlap",
		},
		"in a whole command line": {server(`"command": "npx -y x --token ` + value + `"`), "command-line"},
		"as command":              {server(`"command": "` + value + `"`), "secret-literal"},
		"in the folder":           {server(`"command": "x", "cwd": "/x/` + value + `"`), "secret-literal"},
		"in a description":        {server(`"command": "x", "description": "use ` + value + `"`), "secret-literal"},
		"in metadata":             {server(`"command": "x", "metadata": {"k": "` + value + `"}`), "secret-literal"},
		"in an unknown member":    {server(`"command": "x", "apiKey": "` + value + `"`), "secret-literal"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d, report := stax.Parse("x.json", []byte(test.text), nil)
			report.Merge(stax.Merge(d).Check())
			broken := false
			for _, f := range ruletest.Findings(report) {
				broken = broken || f.Rule.ID == "stax/"+test.rule
				if strings.Contains(f.Message+f.Hint, value) {
					t.Errorf("the value is shown: %s, %s", f.Message, f.Hint)
				}
			}
			if !broken {
				t.Errorf("no stax/%s in %v", test.rule, ruletest.Findings(report))
			}
		})
	}
	_, report := stax.Parse("x.json", []byte(server(`"command": "npx x --password hunter22"`)), nil)
	if out, _ := json.Marshal(ruletest.Findings(report)); strings.Contains(string(out), "hunter22") {
		t.Errorf("the value of a flag is shown: %s", out)
	}
}

func TestC4SecretsAreDeclared(t *testing.T) {
	low := `{"servers": {"s": {"command": "x", "secrets": ["A"]}}}`
	high := `{"servers": {}, "secrets": [{"key": "A"}]}`
	expect(t, found(t, low)) // no declarations: left to the file that has them
	expect(t, found(t, low, high), "no-servers warning 1:2 /servers")
	expect(t, found(t,
		`{"servers": {"s": {"command": "x", "secrets": ["A", "TOKE"]}}, "secrets": [{"key": "A"}, "TOKEN"]}`),
		"secret-undeclared error 1:53 /servers/s/secrets/1")
	expect(t, found(t, `{"servers": {"s": {"command": "x", "secrets": ["A"]}}, "secrets": []}`),
		"secret-undeclared error 1:48 /servers/s/secrets/0")
	d, _ := stax.Parse("x.json", []byte(low), nil)
	m := stax.Merge(d)
	declared, _ := stax.ParseSecrets("s.json", []byte(`[{"key": "B"}]`), nil)
	m.Add(declared)
	if m.Check().Count(check.Error) != 1 {
		t.Error("a secret that the declarations do not have is no error")
	}
}

func TestC5ToolListsDoNotOverlap(t *testing.T) {
	expect(t, found(t, server(`"command": "x", "enabledTools": ["a", "b"], "disabledTools": ["c", "b"]`)),
		"tools-overlap error 1:88 /servers/s/disabledTools/1")
}

func TestC6DigestIsStrongest(t *testing.T) {
	ref := stax.RegistryRef{
		Registry: "official",
		Package:  "io.x/y",
		Version:  "1.2.0",
		Digest:   "sha256:" + strings.Repeat("a", 64),
	}
	if got, want := ref.String(), ref.Digest+", io.x/y@1.2.0 of official"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	expect(t, found(t, server(`"command": "x", "registryRef": {"package": "y", "digest": "sha256:abc"}`)),
		"digest warning 1:69 /servers/s/registryRef/digest")
	expect(t, found(t, server(`"command": "x", "registryRef": {"version": "1"}`)),
		"type error 1:37 /servers/s/registryRef/package")
}

func TestC7CommandIsNotResolved(t *testing.T) {
	expect(t, found(t, server(`"command": "no-such-program-anywhere"`)))
	expect(t, found(t, server(`"command": "/no/such/program"`)))
}

func TestC12ShellMarksAreReported(t *testing.T) {
	for command, rule := range map[string]string{
		"a | b; rm -rf /": "shell", "a > b": "shell", "$HOME/x": "shell", "~/x": "shell", "A=1 x": "shell", "`x`": "shell",
		"npx -y thing": "command-line", "npx": "", `C:\\Program Files (x86)\\node.exe`: "", "/opt/my app/bin": "",
	} {
		got := found(t, server(`"command": "`+command+`"`))
		if rule == "" {
			expect(t, got)
			continue
		}
		expect(t, got, rule+" warning 1:21 /servers/s/command")
	}
}

func TestC13DisabledServersAreKept(t *testing.T) {
	d, _ := stax.Parse("x.json", []byte(server(`"command": "x", "enabled": false`)), nil)
	out, err := json.Marshal(stax.Merge(d).Config)
	if err != nil || string(out) != `{"specVersion":"1.0.0","servers":{"s":{"command":"x","enabled":false}}}` {
		t.Errorf("got %s, %v", out, err)
	}
}

func TestC16C17MergeReplacesWhole(t *testing.T) {
	low, _ := stax.Parse("low.json",
		[]byte(`{"servers": {"a": {"command": "x", "env": {"K": "v"}, "enabled": false}, "b": {"command": "y"}}}`),
		nil)
	high, _ := stax.Parse("high.json",
		[]byte(`{"servers": {"c": {"command": "z"}, "a": {"url": "https://x.example", "transport": "http"}}}`), nil)
	m := stax.Merge(low, high)
	out, err := json.Marshal(m.Config)
	want := `{"specVersion":"1.0.0","servers":{"a":{"url":"https://x.example","transport":"http","enabled":true},` +
		`"b":{"command":"y","enabled":true},"c":{"command":"z","enabled":true}}}`
	if err != nil || string(out) != want {
		t.Errorf("got  %s, %v\nwant %s", out, err, want)
	}
	if from := m.From["a"]; len(from) != 2 || m.Origin("a") != high || m.Origin("b") != low {
		t.Errorf("a is from %v", from)
	}
}

func TestC22C23C24ProvenanceIsKeptAndShown(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0", 64)
	d, report := stax.Parse("x.json",
		[]byte(server(`"command": "x", "registryRef": {"registry": "official", "package": "io.x/y", "digest": "`+digest+
			`", "more": [1]}`)),
		nil)
	out, _ := json.Marshal(d.Config)
	if !strings.Contains(string(out),
		`"registryRef":{"registry":"official","package":"io.x/y","digest":"`+digest+`","more":[1]}`) {
		t.Errorf("registryRef is lost: %s", out)
	}
	shown := false
	for _, f := range ruletest.Findings(report) {
		shown = shown ||
			f.Rule.ID == "stax/provenance" && strings.Contains(f.Message, "registry: "+digest+", io.x/y of official")
	}
	if ref := d.Config.Server("s").RegistryRef; !shown || ref == nil || ref.Digest != digest {
		t.Errorf("shown %v, ref %+v", shown, ref)
	}
}

// Requirements from the documents that accompany the format.
func TestSiblingClauses(t *testing.T) {
	tests := map[string]struct {
		text string
		want []string
	}{
		"a higher major version": {
			`{"specVersion": "2.0.0", "servers": {"s": {"command": "x"}}}`,
			[]string{"spec-version error 1:2 /specVersion"},
		},
		"a higher minor version": {
			`{"specVersion": "1.1.0", "servers": {"s": {"command": "x"}}}`,
			[]string{"spec-version warning 1:2 /specVersion"},
		},
		"no version": {
			`{"specVersion": "one", "servers": {"s": {"command": "x"}}}`,
			[]string{"spec-version error 1:2 /specVersion"},
		},
		"a number as version": {
			`{"specVersion": 1, "servers": {"s": {"command": "x"}}}`,
			[]string{"type error 1:2 /specVersion"},
		},
		"unknown fields": {
			`{"servers": {"s": {"command": "x", "comand": "y"}}, "more": 1}`,
			[]string{"unknown-field warning 1:36 /servers/s/comand", "unknown-field warning 1:53 /more"},
		},
		"a client's file": {
			`{"mcpServers": {"s": {"command": "x"}}}`,
			[]string{"servers error 1:1 /servers", "unknown-field warning 1:2 /mcpServers"},
		},
		"a list":            {`[]`, []string{"servers error 1:1 "}},
		"an empty object":   {`{}`, []string{"servers error 1:1 /servers"}},
		"a list of servers": {`{"servers": []}`, []string{"type error 1:2 /servers"}},
		"a server as text":  {`{"servers": {"s": "x"}}`, []string{"type error 1:14 /servers/s"}},
		"no name":           {`{"servers": {"": {"command": "x"}}}`, []string{"name error 1:14 /servers/"}},
		"a number in env": {server(`"command": "x", "env": {"A": 1}`),
			[]string{"type error 1:45 /servers/s/env/A"}},
		"one argument as text": {server(`"command": "x", "args": "y"`), []string{"type error 1:37 /servers/s/args"}},
		"null":                 {server(`"command": "x", "cwd": null`), []string{"type error 1:37 /servers/s/cwd"}},
		"enabled as text": {server(`"command": "x", "enabled": "true"`),
			[]string{"type error 1:37 /servers/s/enabled"}},
		"half a millisecond": {
			server(`"command": "x", "connectTimeoutMs": 0.5`),
			[]string{"type error 1:37 /servers/s/connectTimeoutMs"},
		},
		"no call timeout": {server(`"command": "x", "callTimeoutMs": 0`),
			[]string{"type error 1:37 /servers/s/callTimeoutMs"}},
		"a long hang timeout": {server(`"command": "x", "hangTimeoutMs": 86400001`),
			[]string{"type error 1:37 /servers/s/hangTimeoutMs"}},
		"no ping timeout": {server(`"command": "x", "pingTimeoutMs": 0`),
			[]string{"type error 1:37 /servers/s/pingTimeoutMs"}},
		"a long ping timeout": {server(`"command": "x", "pingTimeoutMs": 86400001`),
			[]string{"type error 1:37 /servers/s/pingTimeoutMs"}},
		"a timeout as text": {server(`"url": "https://x.example", "transport": "http", "hangTimeoutMs": "10s"`),
			[]string{"type error 1:70 /servers/s/hangTimeoutMs"}},
		"nested metadata": {
			server(`"command": "x", "metadata": {"a": {}}`),
			[]string{"type error 1:50 /servers/s/metadata/a"},
		},
		"a variable with =": {
			server(`"command": "x", "env": {"A=B": "c"}`),
			[]string{"env-name error 1:45 /servers/s/env/A=B"},
		},
		"a header with a line": {
			server(`"url": "https://x.example", "transport": "http", "headers": {"A": "b\nc"}`),
			[]string{"header error 1:82 /servers/s/headers/A"},
		},
		"another scheme": {
			server(`"url": "file:///etc", "transport": "http"`),
			[]string{"url error 1:21 /servers/s/url"},
		},
		"no host": {
			server(`"url": "https:///x", "transport": "http"`),
			[]string{"url error 1:21 /servers/s/url"},
		},
		"a relative url": {server(`"url": "/mcp", "transport": "http"`), []string{"url error 1:21 /servers/s/url"}},
		"a secret over http": {
			server(`"url": "http://x.example", "transport": "http", "secrets": ["A"]`),
			[]string{"plain-http warning 1:21 /servers/s/url"},
		},
		"several remote secrets": {
			server(`"url": "https://x.example", "transport": "http", "secrets": ["A", "B"]`),
			[]string{"secret-unbound warning 1:70 /servers/s/secrets"},
		},
		"a secret set statically": {
			server(`"command": "x", "env": {"A": "b"}, "secrets": ["A"]`),
			[]string{"secret-shadowed error 1:45 /servers/s/env/A"},
		},
		"a secret twice": {
			server(`"command": "x", "secrets": ["A", "A"]`),
			[]string{"duplicate-item warning 1:54 /servers/s/secrets/1"},
		},
		"a value for a key": {
			server(`"command": "x", "secrets": ["sk-ant-0123456789abcdefghij"]`),
			[]string{"secret-key error 1:49 /servers/s/secrets/0"},
		},
		"an expansion": {
			server(`"command": "x", "env": {"A": "${HOME}/x"}`),
			[]string{"reference warning 1:45 /servers/s/env/A"},
		},
		"a blank command": {server(`"command": "  "`), []string{"command error 1:21 /servers/s/command"}},
		"a tool without a name": {
			server(`"command": "x", "enabledTools": [""]`),
			[]string{"type error 1:54 /servers/s/enabledTools/0"},
		},
		"no tools": {
			server(`"command": "x", "enabledTools": []`),
			[]string{"no-tools warning 1:37 /servers/s/enabledTools"},
		},
		"a zero byte": {
			server(`"command": "x", "args": ["a\u0000"]`),
			[]string{"command error 1:21 /servers/s/command"},
		},
		"an undeclared binding": {
			`{"servers": {"s": {"command": "x"}}, "bindings": {"t": {"A": "{B}"}, "s": {"A": "{B}"}}}`,
			[]string{"binding error 1:57 /bindings/t/A", "binding error 1:76 /bindings/s/A"},
		},
		"a literal binding": {
			`{"servers": {"s": {"command": "x"}}, "bindings": {"s": {"Authorization": "Bearer abc"}}}`,
			[]string{"secret-literal error 1:57 /bindings/s/Authorization"},
		},
		"a value in declarations": {
			`{"servers": {"s": {"command": "x"}}, "secrets": [{"key": "A", "value": "x"}]}`,
			[]string{"secret-literal error 1:63 /secrets/0/value"},
		},
		"a kind of secret": {
			`{"servers": {"s": {"command": "x"}}, "secrets": [{"key": "A", "kind": "magic"}]}`,
			[]string{"secret-kind warning 1:63 /secrets/0/kind"},
		},
		"a secret declared twice": {
			`{"servers": {"s": {"command": "x"}}, "secrets": ["A", "A"]}`,
			[]string{"duplicate-name error 1:55 /secrets/1"},
		},
		"a comment": {"{\"servers\": {}} // x", []string{"servers error 1:1 /servers"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if name == "a comment" {
				expect(t, found(t, test.text), "syntax error 1:17 ")
				return
			}
			expect(t, found(t, test.text), test.want...)
		})
	}
}
