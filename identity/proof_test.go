package identity_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/internal/test/authtest"
)

// TestCheckProof: what an issuer lacks for a proof in a browser is a matter of setup, with the next
// step. An issuer that cannot be asked lacks nothing for certain.
func TestCheckProof(t *testing.T) {
	p := authtest.StartProvider()
	t.Cleanup(p.Close)
	c := identity.New(&identity.Options{
		Store: identity.OpenStore(filepath.Join(t.TempDir(), "credentials"), &identity.StoreOptions{NoKeychain: true}),
	})
	const callback = "https://gateway.example/connect/callback"
	known := &identity.Settings{}
	known.Client.ID = "gateway"
	for _, tt := range []struct {
		fault      authtest.Fault
		settings   *identity.Settings
		text, hint string // of a SetupError, if not empty
	}{
		{"", nil, "", ""},
		{authtest.NoRegistration, known, "", ""},
		{authtest.NoRegistration, nil, "does not register clients", callback + ", and pass --connect-client-id ID"},
		{authtest.NoLoginPage, known, "has no authorization_endpoint", "--sign-in"},
		{authtest.NoPKCE, known, "PKCE", ""},
	} {
		p.Break(tt.fault)
		err := c.CheckProof(t.Context(), p.Issuer, &identity.BeginOptions{Redirect: callback, Settings: tt.settings})
		var setup *identity.SetupError
		if isSetup := errors.As(err, &setup); isSetup != (tt.text != "") || !isSetup && err != nil {
			t.Errorf("%q: %v, want %q", tt.fault, err, tt.text)
			continue
		}
		if setup != nil && (!strings.Contains(setup.Text, tt.text) || !strings.Contains(setup.Hint, tt.hint)) {
			t.Errorf("%q: %q with the hint %q, want %q and %q", tt.fault, setup.Text, setup.Hint, tt.text, tt.hint)
		}
	}
	check := func(issuer string) (certain bool) {
		t.Helper()
		err := c.CheckProof(t.Context(), issuer, &identity.BeginOptions{Redirect: callback})
		if err == nil {
			t.Errorf("%s has a login page", issuer)
		}
		var setup *identity.SetupError
		return errors.As(err, &setup)
	}
	p.Break(authtest.MetadataDown)
	if check(p.Issuer) {
		t.Error("an issuer that is down lacks something for certain")
	}
	bare := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(bare.Close)
	if !check(bare.URL) {
		t.Error("an issuer without metadata is expected to recover")
	}
}
