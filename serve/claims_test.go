package serve_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/serve"
)

func TestClaims(t *testing.T) {
	many := make([]string, 1001)
	for i := range many {
		many[i] = fmt.Sprint("group-", i)
	}
	groups := func(paths ...string) serve.ClaimOptions { return serve.ClaimOptions{Groups: paths} }
	dev := &mcp.Principal{Groups: []string{"dev"}}
	for name, tt := range map[string]struct {
		claims claimSet
		opts   serve.ClaimOptions
		want   *mcp.Principal // its mapped claims; nil means that the token is not valid
	}{
		"array":         {claimSet{"g": []string{"dev", "dev"}}, groups("g"), dev},
		"string":        {claimSet{"g": "not dev"}, groups("g"), &mcp.Principal{Groups: []string{"not dev"}}},
		"not mapped":    {claimSet{"g": []string{"dev"}}, serve.ClaimOptions{}, &mcp.Principal{}},
		"absent":        {nil, groups("g"), &mcp.Principal{}},
		"null":          {claimSet{"g": []any{nil, "dev"}}, groups("g"), dev},
		"two paths":     {claimSet{"a": "x", "b": "y"}, groups("a", "b"), &mcp.Principal{Groups: []string{"x", "y"}}},
		"tenant":        {claimSet{"tid": "t1"}, serve.ClaimOptions{Tenant: "tid"}, &mcp.Principal{Tenant: "t1"}},
		"two tenants":   {claimSet{"tid": []string{"t1", "t2"}}, serve.ClaimOptions{Tenant: "tid"}, nil},
		"too many":      {claimSet{"g": many}, groups("g"), nil},
		"too large":     {claimSet{"g": strings.Repeat("x", 65<<10)}, groups("g"), nil},
		"left out":      {claimSet{"_claim_names": claimSet{"g": "src1"}}, groups("g"), nil},
		"left out, not": {claimSet{"_claim_names": claimSet{"g": "src1"}, "h": "dev"}, groups("h"), dev},
		"numbers": {
			claimSet{"n": []any{7, true}},
			serve.ClaimOptions{Other: map[string][]string{"n": {"n"}}},
			&mcp.Principal{Claims: map[string][]string{"n": {"7", "true"}}},
		},
		"nested": {
			claimSet{"realm_access": claimSet{"roles": []string{"admin"}}},
			serve.ClaimOptions{Roles: []string{"realm_access.roles"}},
			&mcp.Principal{Roles: []string{"admin"}},
		},
		"any member": {
			claimSet{"resource_access": claimSet{"b": claimSet{"roles": []string{"w"}}, "a": claimSet{"roles": "r"}}},
			serve.ClaimOptions{Roles: []string{"resource_access.*.roles"}},
			&mcp.Principal{Roles: []string{"r", "w"}},
		},
		"objects in an array": {claimSet{"g": []claimSet{{"name": "dev"}, {"id": 1}}}, groups("g.name"), dev},
		"a name with dots": {
			claimSet{"https://example.com/groups": []string{"dev"}}, groups("https://example.com/groups"), dev,
		},
	} {
		t.Run(name, func(t *testing.T) {
			ec := ecKey(t, "ec")
			v := newIssuer(ec).verifier(t, func(o *serve.JWTOptions) { o.Claims = tt.opts })
			p, err := v.Verify(t.Context(), signed(t, jose.ES256, ec, goodClaims(tt.claims)))
			if tt.want == nil {
				if !errors.Is(err, serve.ErrToken) {
					t.Errorf("Verify = %+v, %v, want ErrToken", p, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if p.Issuer != issuerURL || p.Subject != "ann" {
				t.Errorf("issuer and subject = %q, %q", p.Issuer, p.Subject)
			}
			got := &mcp.Principal{Groups: p.Groups, Roles: p.Roles, Tenant: p.Tenant, Claims: p.Claims}
			if diff := cmp.Diff(got, tt.want); diff != "" {
				t.Errorf("the claims differ (-got +want):\n%s", diff)
			}
		})
	}
}

func TestTokensWithoutAudienceOrSubject(t *testing.T) {
	ec := ecKey(t, "ec")
	strict := newIssuer(ec).verifier(t, nil)
	lenient := newIssuer(ec).verifier(t, func(o *serve.JWTOptions) {
		o.Claims = serve.ClaimOptions{AllowNoAudience: true, AllowNoSubject: true}
	})
	for name, tt := range map[string]struct {
		claims claimSet
		holder string // "" means that it is refused even with the options
	}{
		"no audience":      {claimSet{"aud": nil}, "ann"},
		"another audience": {claimSet{"aud": "https://other.example.com"}, ""},
		"no subject":       {claimSet{"sub": nil, "client_id": "cron"}, "cron"},
		"azp":              {claimSet{"sub": nil, "azp": "cron"}, "cron"},
		"neither":          {claimSet{"sub": nil}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			token := signed(t, jose.ES256, ec, goodClaims(tt.claims))
			if p, err := strict.Verify(t.Context(), token); !errors.Is(err, serve.ErrToken) {
				t.Errorf("without the options: %+v, %v", p, err)
			}
			p, err := lenient.Verify(t.Context(), token)
			switch {
			case tt.holder == "" && !errors.Is(err, serve.ErrToken):
				t.Errorf("with the options: %+v, %v", p, err)
			case tt.holder != "" && (err != nil || p.Subject != tt.holder):
				t.Errorf("with the options: %+v, %v, want %s", p, err, tt.holder)
			}
		})
	}
}

// TestSeveralIssuers: each token is verified with the keys of its own issuer, and makes no
// other issuer fetch keys.
func TestSeveralIssuers(t *testing.T) {
	t.Parallel()
	one, two := ecKey(t, "one"), ecKey(t, "two")
	first, second := newIssuer(one), newIssuer(two)
	a := &serve.Auth{Verifiers: []serve.Verifier{
		first.verifier(t, nil),
		second.verifier(t, func(o *serve.JWTOptions) { o.Issuer = "https://partner.example.com" }),
	}}
	var got *mcp.Principal
	h := serve.NewHandler(whoCalls{caller: &got}, &serve.Options{Auth: a})
	ask := func(token string) int {
		r := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(
			`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
		r.Host = "localhost"
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	partner := goodClaims(claimSet{"iss": "https://partner.example.com"})
	if status := ask(signed(t, jose.ES256, two, partner)); status != 200 || got.Issuer != "https://partner.example.com" {
		t.Errorf("a token of the second issuer: status %d, principal %+v", status, got)
	}
	if len(first.fetches) > 0 {
		t.Errorf("the first issuer was asked for a token of the second: %v", first.fetches)
	}
	if status := ask(signed(t, jose.ES256, one, partner)); status != http.StatusUnauthorized &&
		status != http.StatusServiceUnavailable {
		t.Errorf("a token of the second issuer signed by the first: status %d", status)
	}
	if status := ask(signed(t, jose.ES256, one, goodClaims(nil))); status != 200 || got.Issuer != issuerURL {
		t.Errorf("a token of the first issuer: status %d, principal %+v", status, got)
	}
}

// whoCalls is a Source that records its caller.
type whoCalls struct {
	tools
	caller **mcp.Principal
}

func (w whoCalls) Catalog(ctx context.Context) (*mcp.Catalog, error) {
	*w.caller = mcp.PrincipalFrom(ctx)
	return w.tools.Catalog(ctx)
}

func TestTrustProxy(t *testing.T) {
	for name, tt := range map[string]struct {
		from string
		want int // status of the second request, from another client
	}{
		"proxy":    {"10.1.2.3:4", http.StatusOK},
		"stranger": {"192.0.2.1:4", http.StatusTooManyRequests},
	} {
		o := &serve.Options{Limits: serve.Limits{Rate: 0.001, Burst: 1}}
		o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
		h := serve.NewHandler(tools{}, o)
		status := 0
		for _, client := range []string{"198.51.100.1", "198.51.100.2"} {
			r := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(
				`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
			r.Host, r.RemoteAddr = "localhost", tt.from
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("X-Forwarded-For", client)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			status = w.Code
		}
		if status != tt.want {
			t.Errorf("%s: status %d, want %d", name, status, tt.want)
		}
	}
}
