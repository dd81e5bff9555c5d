package serve_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"github.com/slipway-mcp/slipway/serve"
)

// at sends a request of 2026-07-28 to a path with a token.
func (a itemUse) at(h http.Handler, path, token string) *httptest.ResponseRecorder {
	params := a.params
	if params != "" {
		params += ","
	}
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(fmt.Sprintf(
		`{"jsonrpc":"2.0","id":1,"method":"%s","params":{%s"_meta":{"io.modelcontextprotocol/protocolVersion":`+
			`"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, a.method, params)))
	r.Host = "localhost"
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": a.method,
		"Mcp-Name": a.name, "Authorization": "Bearer " + token,
	} {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestEndpoints: each endpoint offers only its items, with its own scopes and policy, to
// tokens for it.
func TestEndpoints(t *testing.T) {
	ec := ecKey(t, "ec")
	o := &serve.Options{
		PublicURL: "https://mcp.example.com",
		Auth: &serve.Auth{
			Verifiers: []serve.Verifier{newIssuer(ec).verifier(t, func(o *serve.JWTOptions) {
				o.Audience = []string{"https://mcp.example.com/mcp"}
			})},
			AuthorizationServers: []string{issuerURL},
		},
	}
	o.Endpoints = []serve.Endpoint{
		{Name: "one", Items: []string{"a"}},
		{Name: "two", Items: []string{"b/run", "b/b://*"}, Scopes: []string{"two"}},
		{
			Name: "three", Items: []string{"a", "c"},
			Policy: policyOf(t, `@id("only-c") permit (principal, action, resource in Server::"c");`, nil),
		},
	}
	if err := o.Check(); err != nil {
		t.Fatal(err)
	}
	h := serve.NewHandler(company{servers: []string{"a", "b", "c"}}, o)
	token := func(endpoint, scope string) string {
		return signed(t, jose.ES256, ec, goodClaims(claimSet{
			"aud": "https://mcp.example.com/mcp" + endpoint, "scope": scope}))
	}
	for _, tt := range []struct {
		path, token string
		ask         itemUse
		status      int
		want, not   string
	}{
		{"/mcp", token("", ""), itemUse{"tools/list", "", ""}, 200, "c_run", ""},
		{"/mcp/one", token("/one", ""), itemUse{"tools/list", "", ""}, 200, "a_run", "b_run"},
		{"/mcp/one", token("/one", ""), itemUse{"resources/list", "", ""}, 200, "a://one", "b://one"},
		{"/mcp/one", token("/one", ""), asks("a")["call"], 200, "ran a_run", ""},
		{"/mcp/one", token("/one", ""), asks("b")["call"], 200, `unknown tool`, "ran"},
		{"/mcp/one", token("/one", ""), asks("b")["read"], 200, "not found", "read b"},
		{"/mcp/one", token("", ""), itemUse{"tools/list", "", ""}, 401, "", "a_run"},
		{"/mcp", token("/one", ""), itemUse{"tools/list", "", ""}, 401, "", "a_run"},
		{"/mcp/one", token("/two", "two"), itemUse{"tools/list", "", ""}, 401, "", "a_run"},
		{"/mcp/two", token("/two", ""), itemUse{"tools/list", "", ""}, 403, "scope", "b_run"},
		{"/mcp/two", token("/two", "two"), itemUse{"tools/list", "", ""}, 200, "b_run", "a_run"},
		{"/mcp/two", token("/two", "two"), itemUse{"prompts/list", "", ""}, 200, "prompts", "b_ask"},
		{"/mcp/two", token("/two", "two"), asks("b")["read"], 200, "read b://one", ""},
		{"/mcp/three", token("/three", ""), itemUse{"tools/list", "", ""}, 200, "c_run", "a_run"},
		{"/mcp/three", token("/three", ""), asks("a")["call"], 200, "no rule permits it", "ran"},
		{"/mcp/three", token("/three", ""), asks("c")["call"], 200, "ran c_run", ""},
		{"/mcp/none", token("", ""), itemUse{"tools/list", "", ""}, 404, "", "a_run"},
	} {
		w := tt.ask.at(h, tt.path, tt.token)
		body := w.Body.String()
		if w.Code != tt.status || !strings.Contains(body, tt.want) || tt.not != "" && strings.Contains(body, tt.not) {
			t.Errorf("%s %s %s: %d %s, want %d with %q and without %q", tt.path, tt.ask.method, tt.ask.name, w.Code,
				body, tt.status, tt.want, tt.not)
		}
	}
	w := itemUse{"tools/list", "", ""}.at(h, "/mcp/two", "x")
	metadata := "https://mcp.example.com/.well-known/oauth-protected-resource/mcp/two"
	if got := w.Header().Get("WWW-Authenticate"); !strings.Contains(got, metadata) {
		t.Errorf("the challenge of an endpoint is %q", got)
	}
	document := exchange(h, http.MethodGet, "/.well-known/oauth-protected-resource/mcp/two", "").Body.String()
	for _, want := range []string{`"resource":"https://mcp.example.com/mcp/two"`, `"scopes_supported":["two"]`} {
		if !strings.Contains(document, want) {
			t.Errorf("the metadata lacks %s: %s", want, document)
		}
	}
}
