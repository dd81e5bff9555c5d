package serve_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-jose/go-jose/v4"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/serve"
)

// TestJWTForAnotherPurpose verifies tokens that the issuer signed but that are not access
// tokens, although all other claims match.
func TestJWTForAnotherPurpose(t *testing.T) {
	key := ecKey(t, "ec")
	i := newIssuer(key)
	lax := i.verifier(t, nil)
	strict := i.verifier(t, func(o *serve.JWTOptions) { o.AccessTokensOnly = true })
	tests := []struct {
		name   string
		typ    jose.ContentType
		claims claimSet
		lax    bool
		strict bool
	}{
		{"an access token", "at+jwt", nil, true, true},
		{"its typ in full", "application/AT+JWT", nil, true, true},
		{"JWT", "JWT", nil, true, false},
		{"no typ", "", nil, true, false},
		{"a logout token", "logout+jwt", nil, false, false},
		{"a proof of possession", "dpop+jwt", nil, false, false},
		{"an ID token", "id_token", nil, false, false},
		{"an ID token, in full", "application/id_token+jwt", nil, false, false},
		{"a security event", "secevent+jwt", nil, false, false},
		{"an ID token that calls itself JWT", "JWT", claimSet{"at_hash": "x"}, false, false},
		{"an ID token without hashes", "JWT", claimSet{"nonce": "x", "scope": nil}, false, false},
		{"an access token with a nonce", "JWT", claimSet{"nonce": "x"}, true, false},
		{"and with scp", "JWT", claimSet{"nonce": "x", "scope": nil, "scp": []string{"read"}}, true, false},
		{"a logout token that calls itself JWT", "JWT",
			claimSet{"events": map[string]any{"http://schemas.openid.net/event/backchannel-logout": map[string]any{}}},
			false, false},
		{"a refresh token of Keycloak", "JWT", claimSet{"typ": "Refresh"}, false, false},
		{"an ID token of Keycloak", "JWT", claimSet{"typ": "ID"}, false, false},
		{"an access token of Keycloak", "JWT", claimSet{"typ": "Bearer"}, true, false},
		{"an ID token of Cognito", "JWT", claimSet{"token_use": "id"}, false, false},
		{"an access token of Cognito", "JWT", claimSet{"token_use": "access"}, true, false},
		{"bound by DPoP", "at+jwt", claimSet{"cnf": map[string]any{"jkt": "x"}}, false, false},
		{"bound by a certificate", "at+jwt", claimSet{"cnf": map[string]any{"x5t#S256": "x"}}, false, false},
		{"bound to nothing that is known", "at+jwt", claimSet{"cnf": "x"}, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			token := signedAs(t, jose.ES256, key, goodClaims(tt.claims), tt.typ)
			for name, v := range map[string]*serve.JWT{"lax": lax, "strict": strict} {
				want := name == "lax" && tt.lax || name == "strict" && tt.strict
				if _, err := v.Verify(t.Context(), token); (err == nil) != want || err != nil && !errors.Is(err, serve.ErrToken) {
					t.Errorf("%s: Verify = %v, want valid: %t", name, err, want)
				}
			}
		})
	}
}

// TestNewKeyWithinThePause presents a token with a new key right after another token made
// the server fetch the keys.
func TestNewKeyWithinThePause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old, fresh, bogus := ecKey(t, "old"), ecKey(t, "fresh"), ecKey(t, "bogus")
		i := newIssuer(old)
		h := serve.NewHandler(tools{}, &serve.Options{Auth: &serve.Auth{Verifiers: []serve.Verifier{i.verifier(t, nil)}}})
		call := func(key jose.JSONWebKey) int {
			return exchange(h, "POST", "/mcp", toolCall("look"), "Authorization",
				"Bearer "+signed(t, jose.ES256, key, goodClaims(nil))).Code
		}
		if status := call(old); status != http.StatusOK {
			t.Fatalf("the known key = %d", status)
		}
		i.publish(old, fresh)
		if status := call(fresh); status != http.StatusOK {
			t.Errorf("a new key = %d, want 200 after the pause", status)
		}
		if status := call(bogus); status != http.StatusUnauthorized {
			t.Errorf("a key that the issuer does not have = %d, want 401", status)
		}
	})
}

// TestWellKnownNeedsNoToken requests documents that a server with tokens does not have.
func TestWellKnownNeedsNoToken(t *testing.T) {
	auth := testAuth(t)
	auth.AuthorizationServers = nil
	for _, src := range []serve.Options{{Auth: auth}, {Auth: testAuth(t)}} {
		h := serve.NewHandler(tools{}, &src)
		for _, path := range []string{
			"/.well-known/oauth-authorization-server", "/.well-known/oauth-authorization-server/mcp",
			"/.well-known/openid-configuration", "/.well-known/anything/else",
		} {
			if w := exchange(h, "GET", path, ""); w.Code != http.StatusNotFound || w.Header().Get("WWW-Authenticate") != "" {
				t.Errorf("GET %s = %d %s, want 404", path, w.Code, strings.TrimSpace(w.Body.String()))
			}
		}
	}
}

// TestReasonOfRefusedToken ensures that the log says why a token is refused, and the answer does not.
func TestReasonOfRefusedToken(t *testing.T) {
	key := ecKey(t, "ec")
	i := newIssuer(key)
	other := i.verifier(t, func(o *serve.JWTOptions) { o.Issuer = "https://other.example.com" })
	both := []serve.Verifier{testAuth(t).Verifiers[0], other, i.verifier(t, nil)}
	for _, test := range []struct {
		claims claimSet
		reason string
	}{
		{claimSet{"aud": "api://wrong"}, `its audience is ["api://wrong"], want one of ["` + audience + `"]`},
		{claimSet{"exp": 1577836800}, "it expired at 2020-01-01T00:00:00Z"},
		{claimSet{"iss": "https://third.example.com"}, "not a token of " + issuerURL},
		{claimSet{"cnf": "x"}, "bound to a key by cnf"},
		{claimSet{"nbf": 4102444800}, "it is not valid before 2100-01-01T00:00:00Z"},
		{claimSet{"aud": slices.Repeat([]string{"api://long"}, 200)}, "its audience is"},
	} {
		var log, lines bytes.Buffer
		audit, err := serve.NewAudit(&lines, nil)
		if err != nil {
			t.Fatal(err)
		}
		h := serve.NewHandler(tools{}, &serve.Options{
			Auth:      &serve.Auth{Verifiers: both},
			Logger:    slog.New(slog.NewJSONHandler(&log, nil)),
			Reporting: serve.Reporting{Audit: audit},
		})
		token := signed(t, jose.ES256, key, goodClaims(test.claims))
		answer := exchange(h, "POST", "/mcp", list, "Authorization", "Bearer "+token)
		if err := audit.Close(); err != nil {
			t.Error(err)
		}
		got, _ := logLines(t, &log)[0]["reason"].(string)
		if !strings.HasPrefix(got, "the token is not valid: not a token of https://other.example.com; ") ||
			!strings.Contains(got, test.reason) {
			t.Errorf("%v: reason %q, want %q", test.claims, got, test.reason)
		}
		if len(got) > 600 {
			t.Errorf("%v: a reason of %d bytes", test.reason, len(got))
		}
		if !strings.Contains(lines.String(), `"reason":"the token is not valid: not a token of`) {
			t.Errorf("%v: audit log %s", test.claims, &lines)
		}
		if body := answer.Body.String(); answer.Code != http.StatusUnauthorized ||
			!strings.Contains(body, `"the token is not valid"`) {
			t.Errorf("%v: %d %s", test.claims, answer.Code, body)
		}
	}
}

// TestReasonOfForeignVerifier ensures that the log has no error text of a verifier of another package,
// which may contain the token.
func TestReasonOfForeignVerifier(t *testing.T) {
	var log bytes.Buffer
	h := serve.NewHandler(tools{}, &serve.Options{
		Auth:   &serve.Auth{Verifiers: []serve.Verifier{talkative{}}},
		Logger: slog.New(slog.NewJSONHandler(&log, nil)),
	})
	answer := exchange(h, "POST", "/mcp", list, "Authorization", "Bearer secret-token")
	if answer.Code != http.StatusUnauthorized || strings.Contains(log.String(), "secret-token") {
		t.Errorf("%d, %s", answer.Code, &log)
	}
}

// talkative is a Verifier whose errors contain the token.
type talkative struct{}

// Verify implements [serve.Verifier].
func (talkative) Verify(_ context.Context, token string) (*mcp.Principal, error) {
	return nil, fmt.Errorf("%w: unknown token %s", serve.ErrToken, token)
}
