package clients_test

import (
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/stax/clients"
)

// TestLogin renders servers that require a login: clients that log in themselves get its
// settings, all others a finding, for which Auto chooses the launcher.
func TestLogin(t *testing.T) {
	for _, tt := range []struct{ client, auth, want string }{
		{"claude-code", "{kind: oauth, clientId: app}", `"oauth": {`},
		{"opencode", "{kind: oauth, clientId: app, scopes: [a, b]}", `"scope": "a b"`},
		{"vscode", "{kind: oauth}", `"url": "https://x.example/mcp"`},
		{"claude-code", "{kind: oauth, scopes: [a]}", ""},
		{"vscode", "{kind: oauth, clientId: app}", ""},
		{"kiro", "{kind: oauth}", ""},
		{"claude-code", "{kind: client, clientId: app, clientSecret: {secret: KEY}}", ""},
	} {
		m := definitions(t, "secrets: [KEY]\nservers:\n"+
			"  a: {url: 'https://x.example/mcp', transport: http, auth: "+tt.auth+"}\n")
		c, _ := clients.ByID(tt.client)
		text, report, err := clients.Render(c, m, nil)
		if err != nil {
			t.Fatal(err)
		}
		lost := false
		for _, f := range ruletest.Findings(report) {
			lost = lost || f.Rule.ID == "stax/client-login" && f.Severity == check.Warning
		}
		if lost != (tt.want == "") || !strings.Contains(string(text), tt.want) {
			t.Errorf("%s with %s: lost is %t, want %q in\n%s", tt.client, tt.auth, lost, tt.want, text)
		}
		entries, _ := clients.Translate(c, m, &clients.Options{Via: clients.Auto, Sources: []string{"/m.yaml"}})
		if entries[0].Launched != lost {
			t.Errorf("%s with %s: launched is %t, want %t", tt.client, tt.auth, entries[0].Launched, lost)
		}
	}
}
