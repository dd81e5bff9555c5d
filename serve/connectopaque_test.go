package serve_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/serve"
)

// startOpaque starts a gateway whose callers have opaque tokens.
func startOpaque(t *testing.T) *vaultWorld {
	t.Helper()
	return startVault(t, func(o *serve.Options) {
		// The provider is that of JSON Web Tokens, which the options name.
		company := o.Auth.AuthorizationServers[0]
		v, err := serve.NewIntrospection(&serve.IntrospectionOptions{
			Issuer: company, URL: company + "/introspect", Audience: []string{o.PublicURL + "/mcp"},
			ClientID: "gateway", Secret: func(context.Context) (string, error) { return "secret", nil },
			Remember: time.Nanosecond,
		})
		if err != nil {
			t.Fatal(err)
		}
		o.Auth.Verifiers[0] = v
	})
}

// TestConnectOpaque: callers with opaque tokens prove on the page who they are, at the issuer that
// is asked about their tokens, and log in. Another user's page ends there.
func TestConnectOpaque(t *testing.T) {
	w := startOpaque(t)
	w.company.IssueOpaque()
	alice := w.caller("alice", mcp.Version20251125, nil)
	text, failed := callText(t, alice, "connect_notes")
	address := addressIn.FindString(text)
	if !failed || address == "" {
		t.Fatalf("connect_notes = %q, want an address", text)
	}
	status, shown := page(t, w.browser("mallory"), address, "prove")
	if status != http.StatusForbidden || strings.Contains(shown, "notes") {
		t.Errorf("the page of another user = %d %s, want 403 without the server", status, shown)
	}
	w.connect(w.browser("alice"), address)
	toolsWith(t, alice, "notes_of_up-alice")
	if text, failed := callText(t, alice, "whoami"); failed || text != "up-alice" {
		t.Errorf("whoami = %q, want up-alice", text)
	}
	bob := w.caller("bob", mcp.Version20251125, nil)
	if text, failed := callText(t, bob, "connect_notes"); !failed || !addressIn.MatchString(text) {
		t.Errorf("connect_notes of bob = %q, want an address to log in", text)
	}
}
