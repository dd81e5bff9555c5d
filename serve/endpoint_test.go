package serve_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"github.com/slipway-mcp/slipway/identity/policy"
	"github.com/slipway-mcp/slipway/mcp"
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

// TestEndpointOfASingleSource: a Source that is not joined has the names in SourceNames, with
// and without authentication, for endpoints and quotas.
func TestEndpointOfASingleSource(t *testing.T) {
	for _, auth := range []*serve.Auth{nil, companyTokens(t)} {
		o := &serve.Options{Auth: auth}
		o.SourceNames = []string{"harbour"}
		o.Endpoints = []serve.Endpoint{{Name: "views", Items: []string{"harbour/look"}}}
		quota, err := serve.ParseQuota("harbour/look=1/day")
		if err != nil {
			t.Fatal(err)
		}
		o.Limits.Quotas = []serve.Quota{quota}
		h := serve.NewHandler(tools{}, o)
		token := []string{"Authorization", "Bearer token-of-ann-0000"}
		if got := exchange(h, "POST", "/mcp/views", list, token...).Body.String(); !strings.Contains(got, `"look"`) ||
			strings.Contains(got, `"sink"`) {
			t.Errorf("auth %t: the endpoint lists %s, want look alone", auth != nil, got)
		}
		for n, want := range []int{http.StatusOK, http.StatusTooManyRequests} {
			if got := exchange(h, "POST", "/mcp/views", toolCall("look"), token...).Code; got != want {
				t.Errorf("auth %t: call %d has status %d, want %d", auth != nil, n, got, want)
			}
		}
	}
}

// growing is a company to which servers may be added later, as to that of a definitions file.
type growing struct{ company }

func (g growing) Catalog(ctx context.Context) (*mcp.Catalog, error) {
	cat, err := g.company.Catalog(ctx)
	cat = cat.Copy()
	cat.Growing = true
	return cat, err
}

// TestQuotaNames: a quota that matches no tool is a warning.
func TestQuotaNames(t *testing.T) {
	for text, want := range map[string]bool{
		"tikets/*=1/day": true, "tickets/x=1/day": true, "tickets/*=1/day": false, "run=1/day": false, "*=1/day": false,
	} {
		quota, err := serve.ParseQuota(text)
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		o := &serve.Options{}
		o.Addr = "127.0.0.1:0"
		o.Limits.Quotas = []serve.Quota{quota}
		o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
		ctx, cancel := context.WithCancel(t.Context())
		o.Observer.Started = func(*serve.Info) { cancel() }
		err = serve.Run(ctx, growing{company{servers: []string{"a", "tickets"}}}, o)
		cancel()
		if warned := strings.Contains(log.String(), "quota matches no tool"); err != nil || warned != want {
			t.Errorf("%s: %v, warned %t, want %t: %s", text, err, warned, want, &log)
		}
	}
}

// TestPolicyNames: a rule about a server, tool or prompt that does not exist is a warning.
func TestPolicyNames(t *testing.T) {
	for resource, want := range map[string]string{
		`== Tool::"tickets/run"`:             "",
		`== Prompt::"a/ask"`:                 "",
		`== Resource::"tickets/anything://"`: "",
		`in Server::"tickets"`:               "",
		`in Server::"tikets"`:                "names=tikets",
		`== Tool::"tickets/rnu"`:             "names=tickets/rnu",
		`== Resource::"b/x://y"`:             "names=b",
	} {
		rules := fmt.Sprintf("permit (principal, action, resource);\nforbid (principal, action, resource %s);", resource)
		set, err := policy.Parse("p.cedar", []byte(rules))
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		o := &serve.Options{}
		o.Addr = "127.0.0.1:0"
		o.Policy = serve.NewPolicy(set, nil)
		o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
		ctx, cancel := context.WithCancel(t.Context())
		o.Observer.Started = func(*serve.Info) { cancel() }
		err = serve.Run(ctx, growing{company{servers: []string{"a", "tickets"}}}, o)
		cancel()
		if err != nil || (want == "") != (log.Len() == 0) || !strings.Contains(log.String(), want) {
			t.Errorf("resource %s: %v, logged %s, want %q", resource, err, &log, want)
		}
	}
}

// TestEndpointNames: an endpoint that names no source is an error, and a pattern that matches
// nothing a warning.
func TestEndpointNames(t *testing.T) {
	for item, want := range map[string]string{
		"tikets/list": `endpoint support: no source is named "tikets": did you mean "tickets"?`,
		"other":       `endpoint support: no source is named "other": the sources are "a", "tickets"`,
		"tickets/x*":  "matches nothing",
		"tickets":     "",
		"a/a://item*": "",
		"a/ask":       "",
	} {
		var log bytes.Buffer
		o := &serve.Options{}
		o.Addr = "127.0.0.1:0"
		o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
		o.Endpoints = []serve.Endpoint{{Name: "support", Items: []string{item}}}
		ctx, cancel := context.WithCancel(t.Context())
		o.Observer.Started = func(*serve.Info) { cancel() }
		err := serve.Run(ctx, growing{company{servers: []string{"a", "tickets"}}}, o)
		cancel()
		var named *serve.EndpointError
		switch {
		case want == "" && (err != nil || log.Len() > 0):
			t.Errorf("%s: %v, log %s", item, err, &log)
		case want == "matches nothing" && (err != nil || !strings.Contains(log.String(), want)):
			t.Errorf("%s: %v, log %s; want a warning", item, err, &log)
		case strings.HasPrefix(want, "endpoint") && (!errors.As(err, &named) || err.Error() != want):
			t.Errorf("%s: %v, want %s", item, err, want)
		}
	}
}
