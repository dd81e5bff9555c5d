package identity_test

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/internal/test/authtest"
)

const redirect = "http://127.0.0.1:9/connect/callback"

// answerOf opens a login page as a browser whose user approves, and returns the query of the
// answer.
func answerOf(t *testing.T, address string) url.Values {
	t.Helper()
	browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := browser.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	to, err := resp.Location()
	if err != nil || !strings.HasPrefix(to.String(), redirect+"?") {
		t.Fatalf("the login page answers %s with %v, %v, want a redirect to the callback", resp.Status, to, err)
	}
	return to.Query()
}

func mustBegin(t *testing.T, c *identity.Client, s *authtest.Server) *identity.Begun {
	t.Helper()
	b, err := c.Begin(t.Context(), s.URL, &identity.BeginOptions{Redirect: redirect})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBegin(t *testing.T) {
	s := startServer(t)
	store := newStore(t)
	mustLogin(t, newClient(store), s) // another callback, so another registration
	alice := newClient(store).For("alice")
	b := mustBegin(t, alice, s)
	a := b.Authorization()
	if a.Issuer != s.Issuer || a.Server != s.URL || a.Host == "" || strings.Join(a.Scopes, " ") != "read offline_access" {
		t.Errorf("Authorization = %+v, want the server, its issuer and scopes", a)
	}
	query := answerOf(t, a.URL)
	foreign := url.Values{"code": query["code"], "iss": query["iss"], "state": {"other"}}
	if _, err := b.Finish(t.Context(), foreign); !errors.Is(err, identity.ErrForeignAnswer) {
		t.Errorf("Finish with another state = %v, want ErrForeignAnswer", err)
	}
	l, err := b.Finish(t.Context(), query)
	if err != nil || l.Server != s.URL || !l.Refreshable {
		t.Fatalf("Finish = %+v, %v, want a login", l, err)
	}
	if _, err := b.Finish(t.Context(), query); err == nil {
		t.Error("a second Finish with the same code succeeds")
	}
	if status, err := request(t, alice.Credentials(s.URL, nil), s); status != http.StatusOK || err != nil {
		t.Errorf("request of alice = %d, %v, want 200", status, err)
	}
	if _, err := request(t, newClient(store).For("bob").Credentials(s.URL, nil), s); err == nil {
		t.Error("bob uses the login of alice")
	}
	// A second login uses the registration again; the one of the program stays.
	other := answerOf(t, mustBegin(t, alice, s).Authorization().URL)
	if _, err := mustBegin(t, alice, s).Finish(t.Context(), other); err == nil {
		t.Error("Finish accepts the answer of another login")
	}
	if n := s.Count("register"); n != 2 {
		t.Errorf("%d registrations, want one for each callback", n)
	}
}

func TestBeginRefused(t *testing.T) {
	s := startServer(t)
	c := newClient(newStore(t))
	for _, bad := range []string{"http://gateway.example/connect/callback", "gateway", ""} {
		if _, err := c.Begin(t.Context(), s.URL, &identity.BeginOptions{Redirect: bad}); err == nil {
			t.Errorf("Begin with the redirect %q succeeds", bad)
		}
	}
	s.Break(authtest.NoRegistration)
	_, err := c.Begin(t.Context(), s.URL, &identity.BeginOptions{Redirect: redirect})
	if setup := new(identity.SetupError); !errors.As(err, &setup) || !strings.Contains(setup.Hint, redirect) {
		t.Errorf("Begin without registration = %v, want a SetupError whose hint names the callback", err)
	}
	s.Break(authtest.NoPKCE)
	if _, err := c.Begin(t.Context(), s.URL, &identity.BeginOptions{Redirect: redirect}); err == nil {
		t.Error("Begin without PKCE succeeds")
	}
	for _, fault := range []authtest.Fault{authtest.WrongIssuer, authtest.MissingIssuer, authtest.Denied} {
		s.Break("")
		b := mustBegin(t, c, s)
		s.Break(fault)
		if l, err := b.Finish(t.Context(), answerOf(t, b.Authorization().URL)); err == nil {
			t.Errorf("%s: Finish = %+v, want an error", fault, l)
		}
	}
	if all, err := c.Logins(); err != nil || len(all) != 0 {
		t.Errorf("Logins = %v, %v, want none", all, err)
	}
}

func TestBeginProof(t *testing.T) {
	s := startServer(t)
	c := newClient(newStore(t))
	b, err := c.BeginProof(t.Context(), s.Issuer, s.URL, &identity.BeginOptions{
		Redirect: redirect,
		Settings: &identity.Settings{Scopes: []string{"read"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	token, err := b.FinishProof(t.Context(), answerOf(t, b.Authorization().URL))
	if err != nil || s.User(token, s.URL) == "" {
		t.Fatalf("FinishProof = %q, %v, want a token", token, err)
	}
	if all, err := c.Logins(); err != nil || len(all) != 0 {
		t.Errorf("Logins = %v, %v, want none: a proof is not stored", all, err)
	}
	if _, err := c.BeginProof(t.Context(), s.Issuer+"/", s.URL, &identity.BeginOptions{Redirect: redirect}); err == nil {
		t.Error("BeginProof accepts the metadata of another issuer")
	}
}
