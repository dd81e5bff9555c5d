package stax_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/stax"
)

// TestRuleOfAuth violates the rule of auth.
func TestRuleOfAuth(t *testing.T) {
	for auth, rule := range map[string]string{
		`{}`:                              "stax/auth",
		`{"kind": "password"}`:            "stax/auth",
		`{"kind": "oauth", "by": "team"}`: "stax/auth",
		`{"kind": "client", "by": "user", "clientId": "x", "clientSecret": {"secret": "S"}}`: "stax/auth",
		`{"kind": "client", "clientId": "x"}`:                                                "stax/auth",
		`{"kind": "jwt-bearer", "clientId": "x"}`:                                            "stax/auth",
		`{"kind": "id-jag", "clientId": "x", "token": {"secret": "S"}}`:                      "stax/auth",
		`{"kind": "oauth", "resource": "https://x"}`:                                         "stax/auth",
		`{"kind": "oauth", "header": "X-Key"}`:                                               "stax/auth",
		`{"kind": "oauth", "scopes": ["a b"]}`:                                               "stax/auth",
		`{"kind": "header", "header": "X-Key", "value": "plain"}`:                            "stax/auth",
		`{"kind": "header", "header": "host", "value": "{KEY}"}`:                             "stax/auth",
		`{"kind": "header", "header": "Mcp-Session-Id", "value": "{KEY}"}`:                   "stax/auth",
		`{"kind": "header", "value": "{KEY}"}`:                                               "stax/auth",
		`{"kind": "oauth", "clientId": "x", "clientSecret": "hunter2"}`:                      "stax/secret-literal",
		`{"kind": "oauth", "clientId": "x", "clientSecret": {"secret": "a b"}}`:              "stax/secret-key",
		`{"kind": "oauth", "clientID": "x"}`:                                                 "stax/unknown-field",
		`{"kind": "oauth", "clientId": "x", "clientSecret": {"secret": "S"}}`:                "stax/auth-issuer",
		`{"kind": "exchange", "clientId": "x", "token": {"secret": "T"}}`:                    "stax/auth-issuer",
	} {
		_, report := stax.Parse("x.json", []byte(
			`{"servers": {"s": {"url": "https://x.example/mcp", "transport": "http", "auth": `+auth+`}}}`), nil)
		found := ruletest.Findings(report)
		if len(found) != 1 || found[0].Rule.ID != rule || !strings.HasPrefix(found[0].Pointer, "/servers/s/auth") {
			t.Errorf("%s: findings %v, want one of %s", auth, found, rule)
		}
		for _, f := range found {
			if strings.Contains(f.Message, "hunter2") {
				t.Errorf("%s: the finding contains the secret", auth)
			}
			if strings.Contains(f.Message, "the grant ") && strings.Contains(f.Hint, `"kind"`) {
				t.Errorf("%s: %s, with the hint %s", auth, f.Message, f.Hint)
			}
		}
	}
	_, report := stax.Parse("x.json", []byte(`{"servers": {"s": {"command": "x", "auth": {"kind": "oauth"}}}}`), nil)
	if found := ruletest.Findings(report); len(found) != 1 || found[0].Rule.ID != "stax/wrong-kind-field" {
		t.Errorf("auth of a local server: findings %v", found)
	}
}

// TestAuth reads valid settings, writes them as they were, and finds their secrets.
func TestAuth(t *testing.T) {
	for auth, keys := range map[string]string{
		`{"kind":"oauth"}`: "",
		`{"kind":"oauth","by":"user","issuer":"https://id.example","scopes":["a"],"clientId":"x"}`: "",
		`{"kind":"client","clientId":"x","clientKey":{"secret":"K"},"clientKeyId":"1"}`:            "K",
		`{"kind":"exchange","issuer":"https://id.example","clientId":"x","token":{"secret":"T"}}`:  "T",
		`{"kind":"id-jag","issuer":"https://id.example","clientId":"x","clientSecret":{"secret":"S"},` +
			`"token":{"secret":"T"},` +
			`"provider":{"issuer":"https://idp.example","clientId":"y","clientSecret":{"secret":"P"}}}`: "S T P",
		`{"kind":"id-jag","clientId":"x","token":{"secret":"T"},"audience":"https://id.example",` +
			`"provider":{"issuer":"https://idp.example","clientId":"y"}}`: "T",
		`{"kind":"header","header":"X-Key","value":"Key {K}"}`: "K",
	} {
		d, report := stax.Parse("x.json", []byte(
			`{"servers": {"s": {"url": "https://x.example/mcp", "transport": "http", "auth": `+auth+`}}}`), nil)
		if found := ruletest.Findings(report); len(found) > 0 {
			t.Errorf("%s: findings %v, want none", auth, found)
			continue
		}
		s := d.Config.Server("s")
		text, err := json.Marshal(s.Auth)
		if err != nil || string(text) != auth {
			t.Errorf("auth = %s, %v, want %s", text, err, auth)
		}
		if got := strings.Join(s.SecretKeys(), " "); got != keys {
			t.Errorf("%s: SecretKeys = %q, want %q", auth, got, keys)
		}
		m := stax.Merge(d)
		if b := m.BindingsOf(s); (len(b) > 0) != (s.Auth.Kind == stax.AuthHeader) {
			t.Errorf("%s: bindings %v", auth, b)
		}
	}
}

// The command of a login is complete, also for names that start like flags.
func TestLoginCommand(t *testing.T) {
	d, _ := stax.Parse("-x.json",
		[]byte(`{"servers": {"-s": {"url": "https://x.example/mcp", "auth": {"kind": "oauth"}}}}`), nil)
	m := stax.Merge(d)
	got := new(stax.Resolver).Login(m, d.Config.Server("-s")).Command
	if want := "slipway login ./-x.json -- -s"; got != want {
		t.Errorf("the command is %s, want %s", got, want)
	}
}

// TestHeaderAuthOfReplacedServer ensures that the definition of a server which replaces another one does not
// get the header that the other one logged in with.
func TestHeaderAuthOfReplacedServer(t *testing.T) {
	var documents []*stax.Document
	for _, text := range []string{
		`{"servers": {"s": {"url": "https://old.example/mcp", "transport": "http",
"auth": {"kind": "header", "header": "X-Api-Key", "value": "{OLD_KEY}"}}}, "secrets": ["OLD_KEY", "NEW_KEY"]}`,
		`{"servers": {"s": {"url": "https://new.example/mcp", "transport": "http", "secrets": ["NEW_KEY"]}},
"secrets": ["OLD_KEY", "NEW_KEY"]}`,
	} {
		d, report := stax.Parse("x.json", []byte(text), nil)
		if !report.OK(false) {
			t.Fatal(report.Findings())
		}
		documents = append(documents, d)
	}
	m := stax.Merge(documents...)
	if report := m.Check(); !report.OK(false) {
		t.Errorf("the new definition is refused: %v", report.Findings())
	}
	t.Setenv("NEW_KEY", "new-secret")
	target, err := (&stax.Resolver{}).Resolve(t.Context(), m, "s")
	if err != nil {
		t.Fatal(err)
	}
	if got := target.Endpoint.Header(); got.Get("Authorization") != "Bearer new-secret" || len(got) != 1 {
		t.Errorf("the server gets the headers %v, want its bearer token", slices.Sorted(maps.Keys(got)))
	}
}
