package serve_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/internal/test/authtest"
	"github.com/slipway-mcp/slipway/mcp"
)

// TestConnectHostile opens the page of a login while a provider misbehaves: the page says that
// nothing was connected, no secret is shown, and once the provider is repaired, the same
// address works.
func TestConnectHostile(t *testing.T) {
	for _, tt := range []struct {
		fault authtest.Fault
		// token means that the fault is in the answer to a code.
		token bool
	}{
		{authtest.OtherIssuer, false},
		{authtest.ScriptAddress, false},
		{authtest.FileAddress, false},
		{authtest.NoPKCE, false},
		{authtest.MetadataDown, false},
		{authtest.WrongIssuer, false},
		{authtest.MissingIssuer, false},
		{authtest.Denied, false},
		{authtest.Down, true},
		{authtest.NotJSON, true},
		{authtest.LineBreak, true},
	} {
		t.Run(string(tt.fault), func(t *testing.T) {
			t.Parallel()
			w := startVault(t, nil)
			alice := w.caller("alice", mcp.Version20260728, nil)
			text, _ := callText(t, alice, "connect_notes")
			address := addressIn.FindString(text)
			browser := w.browser("alice")
			for _, provider := range []*authtest.Provider{w.company, w.upstream} {
				step := "prove"
				if provider == w.upstream {
					step = "join"
				}
				provider.Break(tt.fault)
				status, text := page(t, browser, address, step)
				if status < 400 || !strings.Contains(text, `role="alert"`) || strings.Contains(text, "javascript:") {
					t.Errorf("%s: %d %s, want a page with the problem", step, status, text)
				}
				for _, secret := range provider.Secrets() {
					if strings.Contains(text, secret) {
						t.Errorf("%s: the page contains a secret", step)
					}
				}
				if w.vault.Connected(identity.Caller{Issuer: w.company.Issuer, Subject: "alice"}, w.upstreamURL) {
					t.Errorf("%s: alice is connected", step)
				}
				provider.Break("")
				if step == "prove" {
					if status, text := page(t, browser, address, step); status != http.StatusOK {
						t.Fatalf("the proof after the repair: %d %s", status, text)
					}
				}
			}
			if status, text := page(t, browser, address, "join"); status != http.StatusOK {
				t.Fatalf("the login after the repair: %d %s", status, text)
			}
			if text, failed := callText(t, alice, "connect_notes"); failed {
				t.Errorf("connect_notes = %q, want success", text)
			}
			used := w.upstream.Count("authorization_code")
			if want := 1; !tt.token && used != want || tt.token && used != want+1 {
				t.Errorf("%d codes were exchanged at the server's provider", used)
			}
		})
	}
}

// TestConnectKeysRotated replaces the keys of the caller's issuer while its user logs in: the
// proof, which is signed with the new key, counts.
func TestConnectKeysRotated(t *testing.T) {
	w := startVault(t, nil)
	alice := w.caller("alice", mcp.Version20260728, nil) // the gateway has the first key now
	text, _ := callText(t, alice, "connect_notes")
	address := addressIn.FindString(text)
	w.company.RotateKey()
	w.connect(w.browser("alice"), address)
	again := w.caller("alice", mcp.Version20260728, nil)
	if text, failed := callText(t, again, "connect_notes"); failed {
		t.Errorf("connect_notes = %q, want success", text)
	}
}

// TestConnectAbandoned leaves a login in the middle, and begins again: the page of the provider
// that stays open cannot complete what another browser has begun since.
func TestConnectAbandoned(t *testing.T) {
	w := startVault(t, nil)
	alice := w.caller("alice", mcp.Version20260728, nil)
	text, _ := callText(t, alice, "connect_notes")
	address := addressIn.FindString(text)
	w.company.Break(authtest.Abandoned)
	if status, _ := page(t, w.browser("alice"), address, "prove"); status != http.StatusOK {
		t.Fatalf("the login page of the provider = %d", status)
	}
	w.company.Break("")
	w.connect(w.browser("alice"), address) // another browser, later
	if text, failed := callText(t, alice, "connect_notes"); failed {
		t.Errorf("connect_notes = %q, want success", text)
	}
}
