package clients_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/stax"
	"github.com/slipway-mcp/slipway/stax/clients"
)

// Rendering definitions for a client and importing the result yields the same
// definitions, except for reported losses.
func TestImportReadsWhatRenderWrites(t *testing.T) {
	const text = `
servers:
  local: {command: npx, args: [-y, pkg], env: {MODE: fast}, secrets: [GITHUB_TOKEN]}
  http: {url: "https://mcp.example.com/mcp", transport: http, headers: {x-team: p}, secrets: [API_TOKEN]}
  sse: {url: "https://mcp.example.com/sse", transport: sse}
  bound: {url: "https://mcp.example.com/b", transport: http, secrets: [API_TOKEN, TENANT]}
secrets: [GITHUB_TOKEN, API_TOKEN, TENANT]
bindings: {bound: {X-Api-Key: "{API_TOKEN}", X-Tenant: "{TENANT}"}}
`
	m := definitions(t, text)
	for _, c := range clients.All() {
		t.Run(c.ID, func(t *testing.T) {
			rendered, report, err := clients.Render(&c, m, nil)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(path, rendered, 0o600); err != nil {
				t.Fatal(err)
			}
			got, found, err := clients.Import(&c, path)
			if err != nil || len(ruletest.Findings(found)) > 0 {
				t.Fatal(err, ruletest.Findings(found))
			}
			for _, s := range got.Config.Servers {
				if slicesContain(report, s.Name) || s.Name == "sse" && (c.ID == "cursor" || c.ID == "opencode") {
					continue // something was lost, or the client has one form for both
				}
				a, _ := json.Marshal(m.Config.Server(s.Name))
				b, _ := json.Marshal(&s)
				if diff := cmp.Diff(string(a), string(b)); diff != "" {
					t.Errorf("%s (-defined +imported):\n%s", s.Name, diff)
				}
			}
		})
	}
}

func slicesContain(report *check.Report, server string) bool {
	for _, f := range ruletest.Findings(report) {
		if strings.HasPrefix(f.Pointer, "/servers/"+server+"/") {
			return true
		}
	}
	return false
}

func TestImportKeepsNoValues(t *testing.T) {
	const value = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
	path := filepath.Join(t.TempDir(), "x.json")
	text := `{"mcpServers": {"a b": {"command": "x", "env": {"GITHUB_TOKEN": "` + value + `"}, "disabled": true, "odd": 1},
 "r": {"type": "http", "url": "https://x.example", "headers": {"Authorization": "Bearer ` + value +
		`", "X-Key": "pre ${K}"}}}}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, _ := clients.ByID("claude-code")
	got, report, err := clients.Import(c, path)
	if err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(&got.Config)
	want := `{"specVersion":"1.0.0","servers":{"a ` +
		`b":{"command":"x","secrets":["GITHUB_TOKEN"],"enabled":false},"r":{"url":"https://x.example",` +
		`"transport":"http","secrets":["R_TOKEN","K"],"enabled":true}},"secrets":[{"key":"GITHUB_TOKEN"},` +
		`{"key":"R_TOKEN"},{"key":"K"}],"bindings":{"r":{"Authorization":"Bearer {R_TOKEN}","X-Key":"pre {K}"}}}`
	if err != nil || string(out) != want {
		t.Errorf("got  %s, %v\nwant %s", out, err, want)
	}
	if got.Values["R_TOKEN"].Reveal() != value || report.Count(check.Warning) != 3 {
		t.Errorf("%v, %v", got.Values, ruletest.Findings(report))
	}
	for _, f := range ruletest.Findings(report) {
		if strings.Contains(f.Message+f.Hint, value) {
			t.Errorf("the value is printed: %v", f)
		}
	}
	if _, r := stax.Parse("x.json", out, nil); !r.OK(true) {
		t.Errorf("what is imported is not valid: %v", ruletest.Findings(r))
	}
}

// importText imports one file and returns the definitions in short form, without the
// constant parts, and the findings.
func importText(t *testing.T, client, text string) (*clients.Imported, string, *check.Report) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, _ := clients.ByID(client)
	got, report, err := clients.Import(c, path)
	if err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(&got.Config)
	if err != nil {
		t.Fatal(err)
	}
	if _, r := stax.Parse("x.json", out, nil); !r.OK(false) {
		t.Errorf("what is imported is not valid: %v", ruletest.Findings(r))
	}
	short := strings.NewReplacer(`"specVersion":"1.0.0",`, "", `,"enabled":true`, "").Replace(string(out))
	return got, short, report
}

func TestImport(t *testing.T) {
	const token = "gh" + "p_0123456789abcdefghijABCDEFGHIJ012345"
	tests := map[string]struct {
		client, text, want string
		says               string // text in a finding; empty: no finding
	}{
		"cline without a type": {
			"cline",
			`{"mcpServers":{"r":{"url":"https://x.example"}}}`,
			`{"servers":{"r":{"url":"https://x.example","transport":"sse"}}}`,
			"",
		},
		"librechat without a type": {
			"librechat",
			"mcpServers:\n  r: {url: 'https://x.example'}\n",
			`{"servers":{"r":{"url":"https://x.example","transport":"sse"}}}`,
			"",
		},
		"gemini without a type": {
			"gemini-cli",
			`{"mcpServers":{"r":{"url":"https://x.example"}}}`,
			`{"servers":{"r":{"url":"https://x.example","transport":"http"}}}`,
			"",
		},
		"gemini with a type": {
			"gemini-cli",
			`{"mcpServers":{"r":{"url":"https://x.example","type":"http"}}}`,
			`{"servers":{"r":{"url":"https://x.example","transport":"http"}}}`,
			"",
		},
		"another spelling": {
			"claude-code",
			`{"mcpServers":{"r":{"url":"https://x.example","type":"streamable-http"}}}`,
			`{"servers":{"r":{"url":"https://x.example","transport":"http"}}}`,
			"",
		},
		"windsurf": {
			"windsurf",
			`{"mcpServers":{"r":{"url":"https://x.example"}}}`,
			`{"servers":{"r":{"url":"https://x.example","transport":"sse"}}}`,
			"",
		},
		"websocket": {
			"claude-code",
			`{"mcpServers":{"r":{"type":"ws","url":"wss://x.example"}}}`,
			`{"servers":{}}`,
			"not http",
		},
		"an unknown type": {
			"claude-code",
			`{"mcpServers":{"r":{"type":"ws","url":"https://x.example"}}}`,
			`{"servers":{}}`,
			"no transport",
		},
		"goose, disabled": {
			"goose",
			"extensions:\n  x: {type: stdio, name: x, enabled: false, cmd: y, args: [], description: d}\n",
			`{"servers":{"x":{"command":"y","description":"d","enabled":false}}}`,
			"",
		},
		"goose, a header": {
			"goose",
			"extensions:\n  x: {type: streamable_http, name: x, description: '', enabled: true, uri: " +
				"'https://x.example', env_keys: [T], headers: {Authorization: 'Bearer ${T}'}}\n",
			`{"servers":{"x":{"url":"https://x.example","transport":"http","secrets":["T"]}},"secrets":[{"key":"T"}]}`,
			"",
		},
		"goose, a literal": {
			"goose",
			"extensions:\n  x: {type: stdio, name: x, enabled: true, cmd: y, args: [], envs: {A: '${B}'}}\n",
			`{"servers":{"x":{"command":"y","env":{"A":"${B}"}}}}`,
			"",
		},
		"goose, sse": {
			"goose",
			"extensions:\n  x: {type: sse, name: x, enabled: true, uri: 'https://x.example'}\n",
			`{"servers":{"x":{"url":"https://x.example","transport":"sse"}}}`,
			"",
		},
		"milliseconds": {
			"codex",
			"[mcp_servers.x]\ncommand='y'\nstartup_timeout_ms=2500\n",
			`{"servers":{"x":{"command":"y","connectTimeoutMs":2500}}}`,
			"",
		},
		"a token in the clear": {
			"codex",
			"[mcp_servers.x]\nurl='https://x.example'\nbearer_token='" + token + "'\n",
			`{"servers":{"x":{"url":"https://x.example","transport":"http","secrets":["X_TOKEN"]}},` +
				`"secrets":[{"key":"X_TOKEN"}]}`,
			"the file contains the value of X_TOKEN",
		},
		"inputs": {
			"vscode",
			`{"servers":{"g":{"command":"x","env":{"TOKEN":"${input:gh-token}"}}}}`,
			`{"servers":{"g":{"command":"x","secrets":["GH_TOKEN"]}},"secrets":[{"key":"GH_TOKEN","exposeAs":{"env":"TOKEN"}}]}`,
			"",
		},
		"an input in a header": {
			"vscode",
			`{"servers":{"g":{"type":"http","url":"https://x.example","headers":{"Authorization":"Bearer ${input:k}"}}}}`,
			`{"servers":{"g":{"url":"https://x.example","transport":"http","secrets":["k"]}},"secrets":[{"key":"k"}]}`,
			"",
		},
		"a dollar": {
			"copilot-cli",
			`{"mcpServers":{"g":{"command":"x","env":{"A":"$A"}}}}`,
			`{"servers":{"g":{"command":"x","secrets":["A"]}},"secrets":[{"key":"A"}]}`,
			"",
		},
		"a default": {
			"claude-code",
			`{"mcpServers":{"g":{"command":"x","env":{"A":"${A:-b}"}}}}`,
			`{"servers":{"g":{"command":"x","secrets":["A"]}},"secrets":[{"key":"A"}]}`,
			"the default of the variable A",
		},
		"two in a header": {
			"claude-code",
			`{"mcpServers":{"g":{"type":"http","url":"https://x.example","headers":{"X-A":"${A}:${B}"}}}}`,
			`{"servers":{"g":{"url":"https://x.example","transport":"http","secrets":["A","B"]}},"secrets":[{"key":"A"},` +
				`{"key":"B"}],"bindings":{"g":{"X-A":"{A}:{B}"}}}`,
			"",
		},
		"a reference and text": {
			"claude-code",
			`{"mcpServers":{"g":{"command":"x","env":{"A":"pre-${A}"}}}}`,
			`{"servers":{"g":{"command":"x","env":{"A":"pre-${A}"}}}}`,
			"variable A",
		},
		"one in an argument": {
			"cursor",
			`{"mcpServers":{"g":{"command":"x","args":["${workspaceFolder}"]}}}`,
			`{"servers":{"g":{"command":"x","args":["${workspaceFolder}"]}}}`,
			"argument",
		},
		"a literal elsewhere": {
			"claude-desktop",
			`{"mcpServers":{"g":{"command":"x","args":["${HOME}"]}}}`,
			`{"servers":{"g":{"command":"x","args":["${HOME}"]}}}`,
			"",
		},
		"two values": {
			"claude-code",
			`{"mcpServers":{"a":{"command":"x","env":{"API_KEY":"first-1234"}},"b":{"command":"x",` +
				`"env":{"API_KEY":"second-5678"}},"c":{"command":"x","env":{"API_KEY":"second-5678"}}}}`,
			`{"servers":{"a":{"command":"x","secrets":["API_KEY"]},"b":{"command":"x","secrets":["B_API_KEY"]},` +
				`"c":{"command":"x","secrets":["B_API_KEY"]}},"secrets":[{"key":"API_KEY"},{"key":"B_API_KEY",` +
				`"exposeAs":{"env":"API_KEY"}}]}`,
			"the value of B_API_KEY;",
		},
		"two variables": {
			"claude-code",
			`{"mcpServers":{"a":{"command":"x","env":{"X":"${T}"}},"b":{"command":"x","env":{"T":"${T}"}}}}`,
			`{"servers":{"a":{"command":"x","secrets":["T"]},"b":{"command":"x","secrets":["T"]}},"secrets":[{"key":"T",` +
				`"exposeAs":{"env":"X"}}]}`,
			"as X and not as T",
		},
		"a remote one first": {
			"claude-code",
			`{"mcpServers":{"a":{"type":"http","url":"https://x.example","headers":{"Authorization":"Bearer ` +
				`${T}"}},"b":{"command":"x","env":{"X":"${T}"}}}}`,
			`{"servers":{"a":{"url":"https://x.example","transport":"http","secrets":["T"]},"b":{"command":"x",` +
				`"secrets":["T"]}},"secrets":[{"key":"T","exposeAs":{"env":"X"}}]}`,
			"",
		},
		"secrets in arguments": {
			"claude-code",
			`{"mcpServers":{"a":{"command":"x","args":["--api-key","` + token + `","--token=hunter2222","-v"]}}}`,
			`{"servers":{"a":{"command":"x","args":["--api-key","\u003cA_API_KEY\u003e","--token=\u003cA_TOKEN\u003e",` +
				`"-v"],"secrets":["A_API_KEY","A_TOKEN"]}},"secrets":[{"key":"A_API_KEY"},{"key":"A_TOKEN"}]}`,
			"argument 2",
		},
		"a password in an address": {
			"claude-code",
			`{"mcpServers":{"a":{"type":"http","url":"https://u:hunter2222@x.example/p?a=b"}}}`,
			`{"servers":{"a":{"url":"https://x.example/p?a=b","transport":"http","secrets":["A_BASIC"]}},` +
				`"secrets":[{"key":"A_BASIC"}],"bindings":{"a":{"Authorization":"Basic {A_BASIC}"}}}`,
			"A_BASIC",
		},
		"a key in an address": {
			"claude-code",
			`{"mcpServers":{"a":{"type":"http","url":"https://x.example/p?api_key=hunter2222"}}}`,
			`{"servers":{"a":{"url":"https://x.example/p?api_key=\u003cA_API_KEY\u003e","transport":"http"}},` +
				`"secrets":[{"key":"A_API_KEY"}]}`,
			"A_API_KEY",
		},
		"a variable with a dash": {
			"claude-code",
			`{"mcpServers":{"a":{"command":"x","env":{"my-token":"` + token + `"}}}}`,
			`{"servers":{"a":{"command":"x","secrets":["MY_TOKEN"]}},"secrets":[{"key":"MY_TOKEN"}]}`,
			"gets MY_TOKEN",
		},
		"numbers": {
			"claude-code",
			`{"mcpServers":{"a":{"command":"x","args":["a",2],"env":{"N":1,"B":true}}}}`,
			`{"servers":{"a":{"command":"x","args":["a","2"],"env":{"B":"true","N":"1"}}}}`,
			"",
		},
		"null": {
			"claude-code",
			`{"mcpServers":{"a":{"command":"x","env":{"N":null}}}}`,
			`{"servers":{"a":{"command":"x"}}}`,
			"is null",
		},
		"a list of variables": {
			"claude-code",
			`{"mcpServers":{"a":{"command":"x","env":["N"]}}}`,
			`{"servers":{"a":{"command":"x"}}}`,
			"are a list",
		},
		"a command with arguments": {
			"claude-code",
			`{"mcpServers":{"a":{"command":["x","y"]}}}`,
			`{"servers":{"a":{"command":"x","args":["y"]}}}`,
			"",
		},
		"no command": {"claude-code", `{"mcpServers":{"a":{"command":""}}}`, `{"servers":{}}`, "command is empty"},
		"no name":    {"claude-code", `{"mcpServers":{"":{"command":"x"}}}`, `{"servers":{}}`, "its name"},
		"the launcher": {
			"claude-code",
			`{"mcpServers":{"a":{"command":"/opt/slipway","args":["config","run","m.yaml","a"]}}}`,
			`{"servers":{}}`,
			"slipway config run",
		},
		"zed, as it was": {
			"zed",
			`{"context_servers":{"a":{"source":"custom","command":{"path":"x","args":["y"],"env":{"A":"b"}}}}}`,
			`{"servers":{"a":{"command":"x","args":["y"],"env":{"A":"b"}}}}`,
			"",
		},
		"spaces in a reference": {
			"continue",
			"mcpServers:\n  - name: a\n    command: x\n    env: {K: '${{secrets.K}}'}\n",
			`{"servers":{"a":{"command":"x","secrets":["K"]}},"secrets":[{"key":"K"}]}`,
			"",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, got, report := importText(t, test.client, test.text)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			said := ""
			for _, f := range ruletest.Findings(report) {
				said += f.Message + "\n"
			}
			if (said == "") != (test.says == "") || !strings.Contains(said, test.says) {
				t.Errorf("it says %q, want %q", said, test.says)
			}
			if both := got + said; strings.Contains(both, token) ||
				strings.Contains(both, "hunter2222") ||
				strings.Contains(both, "first-1234") {
				t.Errorf("a value is printed: %s", both)
			}
		})
	}
}

// Two secrets of the same name with different values, from two clients, stay separate.
func TestImportAdd(t *testing.T) {
	a, _, _ := importText(t, "claude-code",
		`{"mcpServers":{"a":{"command":"x","env":{"API_KEY":"first-1234"}},"same":{"command":"x"}}}`)
	b, _, _ := importText(t, "cursor",
		`{"mcpServers":{"b":{"command":"y","env":{"API_KEY":"second-5678"}},"same":{"command":"z",`+
			`"env":{"OTHER_TOKEN":"third-9999"}}}}`)
	report := &check.Report{}
	a.Add(b, report, "cursor.json")
	out, _ := json.Marshal(&a.Config)
	want := `{"specVersion":"1.0.0","servers":{"a":{"command":"x","secrets":["API_KEY"],"enabled":true},` +
		`"same":{"command":"x","enabled":true},"b":{"command":"y","secrets":["API_KEY_2"],"enabled":true}},` +
		`"secrets":[{"key":"API_KEY"},{"key":"API_KEY_2","exposeAs":{"env":"API_KEY"}}]}`
	if diff := cmp.Diff(want, string(out)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if a.Values["API_KEY"].Reveal() != "first-1234" ||
		a.Values["API_KEY_2"].Reveal() != "second-5678" ||
		len(a.Values) != 2 {
		t.Errorf("%d values", len(a.Values))
	}
	if report.Count(check.Warning) != 1 || !strings.Contains(ruletest.Findings(report)[0].Message, `"same"`) {
		t.Errorf("got %v", ruletest.Findings(report))
	}
}
