package identity_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
)

func TestChallenge(t *testing.T) {
	for _, tt := range []struct {
		name   string
		values []string
		want   identity.Challenge
	}{
		{"none", nil, identity.Challenge{}},
		{"scheme alone", []string{"Bearer"}, identity.Challenge{}},
		{"plain", []string{`Bearer resource_metadata="https://x/m", scope="a b a", error="invalid_token"`},
			identity.Challenge{Metadata: "https://x/m", Scopes: []string{"a", "b"}, Code: "invalid_token"}},
		{"case and spaces", []string{`  bEARER  Scope = "a" ,  RESOURCE_METADATA = https `},
			identity.Challenge{Metadata: "https", Scopes: []string{"a"}}},
		{"quoted pairs", []string{`Bearer realm="a \"quoted, scope=\"x\" ", scope="b"`},
			identity.Challenge{Scopes: []string{"b"}}},
		{"several in one header", []string{`Negotiate abc==, Basic realm="x", Bearer scope="a"`},
			identity.Challenge{Scopes: []string{"a"}}},
		{"token68 at the end", []string{`Bearer scope="a", Negotiate`}, identity.Challenge{Scopes: []string{"a"}}},
		{"several headers", []string{`Basic realm="x", scope="no"`, `Bearer error=insufficient_scope`, `Bearer scope="a"`},
			identity.Challenge{Code: "insufficient_scope", Scopes: []string{"a"}}},
		{"DPoP alone", []string{`DPoP algs="ES256", resource_metadata="m"`}, identity.Challenge{Metadata: "m", DPoP: true}},
		{"DPoP or Bearer", []string{`DPoP algs="ES256", Bearer scope="a"`}, identity.Challenge{Scopes: []string{"a"}}},
		{"without an end", []string{`Bearer scope="a`}, identity.Challenge{}},
		{"empty members", []string{`,, Bearer ,scope="a",,`}, identity.Challenge{Scopes: []string{"a"}}},
		{"invalid scopes", []string{"Bearer scope=\"a \x01 b\""}, identity.Challenge{Scopes: []string{"a", "b"}}},
		{"binary", []string{"\x00\xff=\"", `Bearer scope="a"`}, identity.Challenge{Scopes: []string{"a"}}},
	} {
		if diff := cmp.Diff(tt.want, identity.ParseChallenge(tt.values...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func FuzzChallenge(f *testing.F) {
	f.Add(`Bearer realm="x", scope="a b", Negotiate abc==`)
	f.Add(strings.Repeat(`Bearer a="b",`, 100))
	fuzzbound.Fuzz(f, func(t *testing.T, value string) {
		c := identity.ParseChallenge(value)
		for _, scope := range c.Scopes {
			if strings.ContainsAny(scope, " \"\\\n\x00") {
				t.Errorf("%q has the scope %q", value, scope)
			}
		}
	})
}

func TestMetadataAddresses(t *testing.T) {
	for issuer, want := range map[string][]string{
		"https://x/t1": {"https://x/.well-known/oauth-authorization-server/t1",
			"https://x/.well-known/openid-configuration/t1", "https://x/t1/.well-known/openid-configuration"},
		"https://x/t1/": {"https://x/.well-known/oauth-authorization-server/t1",
			"https://x/.well-known/openid-configuration/t1", "https://x/t1/.well-known/openid-configuration"},
		"https://x:8443": {"https://x:8443/.well-known/oauth-authorization-server",
			"https://x:8443/.well-known/openid-configuration"},
		"https://x/": {"https://x/.well-known/oauth-authorization-server", "https://x/.well-known/openid-configuration"},
	} {
		if diff := cmp.Diff(want, identity.MetadataAddresses(issuer)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", issuer, diff)
		}
	}
	for server, want := range map[string][]string{
		"https://x/a/mcp": {"https://x/.well-known/oauth-protected-resource/a/mcp",
			"https://x/.well-known/oauth-protected-resource"},
		"https://x/mcp?t=1": {"https://x/.well-known/oauth-protected-resource/mcp?t=1",
			"https://x/.well-known/oauth-protected-resource"},
		"https://x/": {"https://x/.well-known/oauth-protected-resource"},
	} {
		if diff := cmp.Diff(want, identity.ResourceAddresses(server)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", server, diff)
		}
	}
}

func TestCoversResource(t *testing.T) {
	for _, tt := range []struct {
		resource, server string
		want             bool
	}{
		{"https://x/mcp", "https://x/mcp", true},
		{"https://x/mcp/", "https://x/mcp", true},
		{"https://x", "https://x/mcp", true},
		{"https://X:443/", "https://x/mcp", true},
		{"https://x/mc", "https://x/mcp", false},
		{"https://x/mcp/a", "https://x/mcp", false},
		{"http://x/mcp", "https://x/mcp", false},
		{"https://x:8443/mcp", "https://x/mcp", false},
		{"https://x.evil/mcp", "https://x/mcp", false},
		{"https://evil@x/mcp", "https://x/mcp", true},
		{"https://x/mcp#a", "https://x/mcp", false},
		{"https://x/mcp?a=1", "https://x/mcp?a=2", false},
		{"", "https://x/mcp", false},
		{"urn:x", "https://x/mcp", false},
	} {
		if got := identity.CoversResource(tt.resource, tt.server); got != tt.want {
			t.Errorf("CoversResource(%q, %q) = %t, want %t", tt.resource, tt.server, got, tt.want)
		}
	}
}
