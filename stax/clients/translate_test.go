package clients_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/stax/clients"
)

// TestTranslate covers the peculiarities of single clients: the written entry and the
// reported losses.
func TestTranslate(t *testing.T) {
	const optional = "secrets: [{key: T, required: false}]\n"
	tests := map[string]struct{ client, server, more, want, lost string }{
		"goose needs a description": {"goose", "{url: 'https://x.example', transport: http}", "",
			`{"name":"s","type":"streamable_http","enabled":true,"description":"","uri":"https://x.example"}`, ""},
		"goose has a description": {"goose", "{command: x, description: d}", "",
			`{"name":"s","type":"stdio","enabled":true,"description":"d","cmd":"x","args":[]}`, ""},
		"goose puts variables into headers": {
			"goose",
			"{url: 'https://x.example', transport: http, secrets: [T]}",
			"secrets: [T]\n",
			`{"name":"s","type":"streamable_http","enabled":true,"description":"","uri":"https://x.example",` +
				`"headers":{"Authorization":"Bearer ${T}"},"env_keys":["T"]}`,
			"",
		},
		"goose needs its variables": {"goose", "{command: x, secrets: [T]}", optional,
			`{"name":"s","type":"stdio","enabled":true,"description":"","cmd":"x","args":[],"env_keys":["T"]}`,
			"does not start the server without T"},
		"goose refuses variables": {"goose", "{command: x, env: {Path: /x, A: b}}", "",
			`{"name":"s","type":"stdio","enabled":true,"description":"","cmd":"x","args":[],"envs":{"A":"b"}}`,
			"refuses the variable Path"},
		"goose takes no tools for all": {"goose", "{command: x, enabledTools: []}", "",
			`{"name":"s","type":"stdio","enabled":true,"description":"","cmd":"x","args":[]}`, "empty list"},
		"zed loads nothing without arguments": {"zed", "{command: x}", "", `{"command":"x","args":[]}`, ""},
		"a value in an argument": {
			"codex",
			"{command: x, args: [--api-key, hunter2222]}",
			"",
			`{"command":"x","args":["--api-key","hunter2222"]}`,
			"value of a secret in its file",
		},
		"a value in an address": {
			"cursor",
			"{url: 'https://x.example/?api_key=hunter2222', transport: http}",
			"",
			`{"url":"https://x.example/?api_key=hunter2222"}`,
			"value of a secret in its file",
		},
		"codex needs its token": {"codex", "{url: 'https://x.example', transport: http, secrets: [T]}", optional,
			`{"url":"https://x.example","bearer_token_env_var":"T"}`, "does not start the server without T"},
		"codex passes variables": {"codex", "{command: x, secrets: [T]}", optional, `{"command":"x","env_vars":["T"]}`, ""},
		"codex has no tools":     {"codex", "{command: x, enabledTools: []}", "", `{"command":"x","enabled_tools":[]}`, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c, _ := clients.ByID(test.client)
			entries, report := clients.Translate(c, definitions(t, "servers:\n  s: "+test.server+"\n"+test.more),
				&clients.Options{OS: "linux"})
			if diff := cmp.Diff(test.want, string(entries[0].Value.AppendJSON(nil))); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			lost := ""
			for _, f := range ruletest.Findings(report) {
				lost += fmt.Sprintln(f.Message)
			}
			if (lost == "") != (test.lost == "") || !strings.Contains(lost, test.lost) {
				t.Errorf("it says %q, want %q", lost, test.lost)
			}
		})
	}
}
