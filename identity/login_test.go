package identity_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/internal/netguard"
	shell "github.com/slipway-mcp/slipway/internal/process"
	"github.com/slipway-mcp/slipway/internal/test/authtest"
	"github.com/slipway-mcp/slipway/internal/test/race"
)

// newStore returns a store in a new folder, with its key in a file.
func newStore(t *testing.T) *identity.Store {
	t.Helper()
	return identity.OpenStore(filepath.Join(t.TempDir(), "credentials"), &identity.StoreOptions{NoKeychain: true})
}

func newClient(store *identity.Store) *identity.Client {
	return identity.New(&identity.Options{Store: store})
}

// browse is a user whose browser follows the login at once.
func browse() *identity.Interaction {
	return &identity.Interaction{
		Show: func(*identity.Authorization) {},
		Open: func(ctx context.Context, address string) error {
			go func() {
				resp, err := http.Get(address)
				if err == nil {
					_ = resp.Body.Close()
				}
			}()
			return nil
		},
	}
}

func startServer(t *testing.T) *authtest.Server {
	t.Helper()
	s := authtest.Start(nil)
	t.Cleanup(s.Close)
	return s
}

func mustLogin(t *testing.T, c *identity.Client, s *authtest.Server) *identity.Login {
	t.Helper()
	l, err := c.Login(t.Context(), s.URL, &identity.LoginOptions{
		Interaction: browse(),
		Timeout:     10 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// request makes one request with credentials, and retries as client.Endpoint does.
func request(t *testing.T, k *identity.Credentials, s *authtest.Server) (status int, err error) {
	t.Helper()
	return send(t.Context(), k, s.URL)
}

func send(ctx context.Context, k *identity.Credentials, server string) (status int, err error) {
	for range 3 {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, server, strings.NewReader("{}"))
		if err != nil {
			return 0, err
		}
		if err := k.Authorize(r); err != nil {
			return 0, err
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			return 0, err
		}
		_ = resp.Body.Close()
		status = resp.StatusCode
		if status != http.StatusUnauthorized && status != http.StatusForbidden {
			return status, nil
		}
		retry, err := k.Refused(resp)
		if err != nil || !retry {
			return status, err
		}
	}
	return status, nil
}

func TestLogin(t *testing.T) {
	s := startServer(t)
	store := newStore(t)
	c := newClient(store)
	l := mustLogin(t, c, s)
	if l.Issuer != s.Issuer || strings.Join(l.Scopes, " ") != "read offline_access" || !l.Refreshable {
		t.Errorf("Login = %+v, want the issuer %s, the scopes of the challenge and offline_access", l, s.Issuer)
	}
	if status, err := request(t, c.Credentials(s.URL, nil), s); status != http.StatusOK || err != nil {
		t.Errorf("request = %d, %v, want 200", status, err)
	}
	// A second login uses the registration again, and replaces the first.
	mustLogin(t, newClient(store), s)
	if n := s.Count("register"); n != 1 {
		t.Errorf("%d registrations, want 1", n)
	}
	if all, err := c.Logins(); err != nil || len(all) != 1 {
		t.Errorf("Logins = %v, %v, want one", all, err)
	}
	text, err := os.ReadFile(store.Path())
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range append(s.Secrets(), s.URL, "refresh_token") {
		if strings.Contains(string(text), secret) {
			t.Errorf("the store contains %q in plain text", secret)
		}
	}
	revoked, err := c.Logout(t.Context(), s.URL)
	if !revoked || err != nil || s.Count("revoke") != 2 {
		t.Errorf("Logout = %v, %v with %d revocations, want true and 2", revoked, err, s.Count("revoke"))
	}
	if _, err := c.Logout(t.Context(), s.URL); !errors.Is(err, identity.ErrNoLogin) {
		t.Errorf("second Logout = %v, want ErrNoLogin", err)
	}
	_, err = request(t, c.Credentials(s.URL, nil), s)
	if need := new(identity.LoginRequiredError); !errors.As(err, &need) || strings.Join(need.Scopes, " ") != "read" {
		t.Errorf("request without a login: %v, want a LoginRequiredError with the scope read", err)
	}
}

// TestForgottenClient logs in with the registration of an earlier login, which the issuer has
// forgotten: a new one is registered once, and the login goes on.
func TestForgottenClient(t *testing.T) {
	for _, where := range []string{"token", "redirect"} {
		t.Run(where, func(t *testing.T) {
			s := startServer(t)
			c := newClient(newStore(t))
			mustLogin(t, c, s)
			s.ForgetClients(where)
			said := ""
			ui := browse()
			ui.Registering = func(issuer string) { said += issuer }
			if _, err := c.Login(t.Context(), s.URL, &identity.LoginOptions{Interaction: ui}); err != nil {
				t.Fatal(err)
			}
			if said != s.Issuer || s.Count("register") != 2 {
				t.Errorf("said %q with %d registrations, want %s once and 2", said, s.Count("register"), s.Issuer)
			}
		})
	}
	t.Run("always", func(t *testing.T) {
		s := startServer(t)
		c := newClient(newStore(t))
		mustLogin(t, c, s)
		s.ForgetClients("token")
		ui := browse()
		ui.Registering = func(string) {}
		show := ui.Show
		ui.Show = func(a *identity.Authorization) {
			show(a)
			s.ForgetClients("token")
		}
		_, err := c.Login(t.Context(), s.URL, &identity.LoginOptions{Interaction: ui})
		if answer := new(identity.ServerError); !errors.As(err, &answer) || answer.Code != "invalid_client" ||
			s.Count("register") != 2 {
			t.Errorf("Login = %v with %d registrations, want invalid_client after 2", err, s.Count("register"))
		}
	})
	t.Run("a new client", func(t *testing.T) {
		s := startServer(t)
		ui := browse()
		ui.Show = func(*identity.Authorization) { s.ForgetClients("token") }
		_, err := newClient(newStore(t)).Login(t.Context(), s.URL, &identity.LoginOptions{Interaction: ui})
		if err == nil || s.Count("register") != 1 {
			t.Errorf("Login = %v with %d registrations, want an error after 1", err, s.Count("register"))
		}
	})
	t.Run("on a page", func(t *testing.T) {
		s := startServer(t)
		c := newClient(newStore(t))
		mustLogin(t, c, s)
		s.ForgetClients("page")
		ctx, cancel := context.WithCancel(t.Context())
		ui := browse()
		open := ui.Open
		ui.Open = func(ctx context.Context, address string) error {
			defer cancel() // the user reads the error of the page
			return open(ctx, address)
		}
		if _, err := c.Login(ctx, s.URL, &identity.LoginOptions{Interaction: ui}); !errors.Is(err, context.Canceled) {
			t.Fatalf("Login = %v, want Canceled", err)
		}
		mustLogin(t, c, s)
		if n := s.Count("register"); n != 2 {
			t.Errorf("%d registrations, want 2", n)
		}
	})
}

func TestStepUp(t *testing.T) {
	s := startServer(t)
	c := newClient(newStore(t))
	mustLogin(t, c, s)
	s.Require("write")
	k := c.Credentials(s.URL, nil)
	_, err := request(t, k, s)
	var need *identity.LoginRequiredError
	if !errors.As(err, &need) || need.Repeated {
		t.Fatalf("request = %v, want a LoginRequiredError that is not repeated", err)
	}
	l, err := c.Login(t.Context(), s.URL, &identity.LoginOptions{
		Reason:      need,
		Interaction: browse(),
	})
	if err != nil || strings.Join(l.Scopes, " ") != "read offline_access write" {
		t.Fatalf("Login = %+v, %v, want the union of the scopes", l, err)
	}
	if status, err := request(t, c.Credentials(s.URL, nil), s); status != http.StatusOK || err != nil {
		t.Errorf("request = %d, %v, want 200", status, err)
	}
	s.Require("write", "read", "admin")
	if _, err := request(t, c.Credentials(s.URL, nil), s); !errors.As(err, &need) || need.Repeated {
		t.Errorf("request = %v, want a step-up for admin", err)
	}
	s.Require("write", "read", "admin")
	if _, err := c.Login(t.Context(), s.URL, &identity.LoginOptions{
		Reason:      need,
		Interaction: browse(),
	}); err != nil {
		t.Fatal(err)
	}
}

// TestHostile logs in where something is wrong: each attempt fails with a clear error,
// sends no token request that it must not send, and stores nothing.
func TestHostile(t *testing.T) {
	for _, tt := range []struct {
		fault authtest.Fault
		want  string
		// tokens is the number of token requests.
		tokens int
	}{
		{authtest.OtherIssuer, "is of another issuer, \"", 0},
		{authtest.OtherResource, "is for another resource", 0},
		{authtest.Redirects, "more than 3 redirects", 0},
		{authtest.PrivateServer, "refused", 0},
		{authtest.CloudMetadata, "refused", 0},
		{authtest.HugeDocument, "more than 512 KiB", 0},
		{authtest.ScriptAddress, "not a URL", 0},
		{authtest.FileAddress, "not an https URL", 0},
		{authtest.NoPKCE, "does not announce PKCE", 0},
		{authtest.NoRegistration, "does not register clients", 0},
		{authtest.WrongIssuer, "is of another issuer than", 0},
		{authtest.MissingIssuer, "does not name its issuer", 0},
		{authtest.Denied, "access_denied", 0},
		{authtest.Abandoned, "no answer from the browser in time", 0},
		{authtest.Slow, "no answer", 1},
		{authtest.Down, "503", 1},
		{authtest.NotJSON, "did not answer with a JSON object", 1},
		{authtest.LineBreak, "without a usable access_token", 1},
	} {
		t.Run(string(tt.fault), func(t *testing.T) {
			t.Parallel()
			s := startServer(t)
			s.Break(tt.fault)
			c := newClient(newStore(t))
			timeout := 10 * time.Second
			if tt.fault == authtest.Abandoned || tt.fault == authtest.Slow {
				timeout = 300 * time.Millisecond
			}
			_, err := c.Login(t.Context(), s.URL, &identity.LoginOptions{
				Interaction: browse(),
				Timeout:     timeout,
			})
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.ContainsAny(err.Error(), "\x1b\n") {
				t.Errorf("Login = %v, want an error with %q on one line", err, tt.want)
			}
			if n := s.Count("authorization_code"); n != tt.tokens {
				t.Errorf("%d token requests, want %d", n, tt.tokens)
			}
			if all, err := c.Logins(); err != nil || len(all) > 0 {
				t.Errorf("Logins = %v, %v, want none", all, err)
			}
			for _, secret := range s.Secrets() {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("the error contains a secret")
				}
			}
			if tt.want == "refused" && !errors.As(err, new(*netguard.BlockedError)) {
				t.Errorf("Login = %v, want a BlockedError", err)
			}
		})
	}
}

// TestTwoLogins runs two logins at once: neither takes the answer of the other.
func TestTwoLogins(t *testing.T) {
	s := startServer(t)
	store := newStore(t)
	failed := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := newClient(store).Login(t.Context(), s.URL, &identity.LoginOptions{
				Interaction: browse(),
				Timeout:     20 * time.Second,
			})
			failed <- err
		}()
	}
	for range 2 {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	c := newClient(store)
	if all, err := c.Logins(); err != nil || len(all) != 1 {
		t.Errorf("Logins = %v, %v, want one", all, err)
	}
	if status, err := request(t, c.Credentials(s.URL, nil), s); status != http.StatusOK || err != nil {
		t.Errorf("request = %d, %v, want 200", status, err)
	}
}

// TestPastedCallback logs in without a browser on this machine. Answers of other logins are
// ignored, both pasted and at the callback.
func TestPastedCallback(t *testing.T) {
	s := startServer(t)
	lines := make(chan string, 4)
	var rejected []string
	ui := &identity.Interaction{
		Show: func(a *identity.Authorization) {
			resp, err := http.Get(a.Callback + "?state=forged&code=x&iss=" + url.QueryEscape(s.Issuer))
			if err != nil || resp.StatusCode != http.StatusBadRequest {
				t.Errorf("forged callback: %v, %v, want 400", resp, err)
			}
			client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
			resp, err = client.Get(a.URL)
			if err != nil {
				t.Error(err)
				return
			}
			lines <- "nonsense"
			lines <- a.Callback + "?code=other&state=other"
			lines <- resp.Header.Get("Location")
		},
		Paste: func(ctx context.Context) (string, error) {
			select {
			case line := <-lines:
				return line, nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		},
		Rejected: func(err error) { rejected = append(rejected, err.Error()) },
	}
	show := ui.Show
	ui.Show = func(a *identity.Authorization) { go show(a) } // as the login does not wait for it
	_, err := newClient(newStore(t)).Login(t.Context(), s.URL, &identity.LoginOptions{
		Interaction: ui,
		Timeout:     10 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(rejected) != 2 {
		t.Errorf("rejected %q, want two lines", rejected)
	}
}

func TestDevice(t *testing.T) {
	race.SkipSlow(t)
	s := startServer(t)
	c := newClient(newStore(t))
	l, err := c.Login(t.Context(), s.URL, &identity.LoginOptions{
		Settings: &identity.Settings{Grant: identity.Device},
		Interaction: &identity.Interaction{Show: func(a *identity.Authorization) {
			if a.UserCode != "WDJB-MJHT" {
				t.Errorf("the code is %q", a.UserCode)
			}
			time.AfterFunc(1500*time.Millisecond, s.Approve)
		}},
	})
	if err != nil || l.Grant != identity.Device {
		t.Fatalf("Login = %+v, %v", l, err)
	}
	if n := s.Count("urn:ietf:params:oauth:grant-type:device_code"); n < 2 {
		t.Errorf("%d polls, want the first to be answered with authorization_pending", n)
	}
}

// TestHintsAreSafeToPaste verifies that what a server chooses is a word of the commands in hints, whatever it is.
func TestHintsAreSafeToPaste(t *testing.T) {
	var s *httptest.Server
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/.well-known/oauth-protected-resource") {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprintf(w, `{"resource": "%s/$(id)", "authorization_servers": ["https://as.example/;id$(id)"]}`, s.URL)
	}))
	t.Cleanup(s.Close)
	_, err := newClient(newStore(t)).Login(t.Context(), s.URL+"/$(id)", &identity.LoginOptions{
		Settings:    &identity.Settings{Issuer: "https://other.example"},
		Interaction: browse(),
	})
	var setup *identity.SetupError
	want := "slipway login " + shell.ShellWord(s.URL+"/$(id)") +
		" --issuer " + shell.ShellWord("https://as.example/;id$(id)")
	if !errors.As(err, &setup) || !strings.HasSuffix(setup.Hint, want) {
		t.Errorf("Login = %v, want a SetupError with the hint %s", err, want)
	}
}

// TestSecretsAreForNamedIssuers verifies that a server cannot collect secrets by naming an authorization server of its
// own: they go to an issuer that the user has named, or to which an earlier login has sent one of the kind. A signed
// assertion of the client is useless elsewhere.
func TestSecretsAreForNamedIssuers(t *testing.T) {
	secret := func(context.Context) (string, error) { return "s:cret", nil }
	token := func(context.Context) (string, error) { return "subject-0123456789", nil }
	for name, settings := range map[string]identity.Settings{
		"secret of a person's login": {
			Client: identity.ClientSettings{ID: "fixed id", Secret: secret},
		},
		"client secret": {
			Grant:  identity.ClientCredentials,
			Client: identity.ClientSettings{ID: "fixed id", Secret: secret},
		},
		"assertion": {
			Grant:    identity.JWTBearer,
			Client:   identity.ClientSettings{ID: "fixed id"},
			Exchange: identity.ExchangeSettings{Token: token},
		},
		"subject token": {
			Grant:    identity.TokenExchange,
			Client:   identity.ClientSettings{ID: "fixed id"},
			Exchange: identity.ExchangeSettings{Token: token, TokenType: "id_token"},
		},
		"assertion for another issuer": {
			Grant:  identity.IdentityAssertion,
			Client: identity.ClientSettings{ID: "fixed id"},
			Exchange: identity.ExchangeSettings{
				Token:    token,
				Audience: "https://other.example",
				Issuer:   "https://idp.example",
				ClientID: "idp",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startServer(t)
			c := newClient(newStore(t))
			_, err := c.Login(t.Context(), s.URL, &identity.LoginOptions{Settings: &settings, Interaction: browse()})
			var setup *identity.SetupError
			if !errors.As(err, &setup) || !strings.Contains(setup.Text, s.Issuer) ||
				setup.Hint != "if it is for that issuer, repeat the command with --issuer "+s.Issuer {
				t.Errorf("Login = %v, want a SetupError that names %s, and a hint with it", err, s.Issuer)
			}
			if (settings.UnboundSecret() == "") != (settings.Exchange.Audience != "") {
				t.Errorf("UnboundSecret = %q, audience %q", settings.UnboundSecret(), settings.Exchange.Audience)
			}
			if n := len(s.Forms()); n > 0 {
				t.Errorf("%d requests to an issuer that only the server names: %v", n, s.Forms())
			}
		})
	}
	t.Run("client key", func(t *testing.T) {
		s := startServer(t)
		private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		der, err := x509.MarshalPKCS8PrivateKey(private)
		if err != nil {
			t.Fatal(err)
		}
		key := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
		_, err = newClient(newStore(t)).Login(t.Context(), s.URL, &identity.LoginOptions{Settings: &identity.Settings{
			Grant: identity.ClientCredentials,
			Client: identity.ClientSettings{
				ID:  "fixed id",
				Key: func(context.Context) (string, error) { return string(key), nil },
			},
		}})
		if errors.As(err, new(*identity.SetupError)) {
			t.Errorf("Login with a key = %v, want no question about the issuer", err)
		}
	})
	t.Run("known client", func(t *testing.T) {
		s := startServer(t)
		c := newClient(newStore(t))
		settings := &identity.Settings{
			Grant:  identity.ClientCredentials,
			Issuer: s.Issuer,
			Client: identity.ClientSettings{ID: "fixed id", Secret: secret},
		}
		for range 2 {
			if _, err := c.Login(t.Context(), s.URL, &identity.LoginOptions{Settings: settings}); err != nil {
				t.Errorf("Login with the issuer %q = %v", settings.Issuer, err)
			}
			settings.Issuer = ""
		}
	})
}

// TestLoginsVouchForTheirSecretsOnly verifies that an earlier login does not vouch for the issuer of a secret that it
// did not present itself.
func TestLoginsVouchForTheirSecretsOnly(t *testing.T) {
	secret := func(context.Context) (string, error) { return "s:cret", nil }
	public := identity.Settings{Client: identity.ClientSettings{ID: "fixed id"}}
	private := identity.Settings{
		Grant:  identity.ClientCredentials,
		Client: identity.ClientSettings{ID: "fixed id", Secret: secret},
	}
	assertion := identity.Settings{
		Grant:    identity.JWTBearer,
		Client:   identity.ClientSettings{ID: "fixed id"},
		Exchange: identity.ExchangeSettings{Token: secret},
	}
	subject := assertion
	subject.Grant = identity.TokenExchange
	subject.Exchange = identity.ExchangeSettings{
		Token:     func(context.Context) (string, error) { return "subject-0123456789", nil },
		TokenType: "id_token",
		Audience:  "crm",
	}
	subject.Client.Secret = secret
	for name, tt := range map[string]struct {
		earlier, later identity.Settings
		named, refused bool
	}{
		"public client, then its secret":      {earlier: public, later: private, refused: true},
		"public client, then an assertion":    {earlier: public, later: assertion, refused: true},
		"public client, then a subject token": {earlier: public, later: subject, refused: true},
		"client secret, then a subject token": {earlier: private, later: subject, named: true, refused: true},
		"client secret, then again":           {earlier: private, later: private, named: true},
		"subject token, then again":           {earlier: subject, later: subject, named: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startServer(t)
			c := newClient(newStore(t))
			if tt.named {
				tt.earlier.Issuer = s.Issuer
			}
			_, err := c.Login(t.Context(), s.URL, &identity.LoginOptions{Settings: &tt.earlier, Interaction: browse()})
			if err != nil {
				t.Fatalf("earlier login: %v", err)
			}
			before := len(s.Forms())
			_, err = c.Login(t.Context(), s.URL, &identity.LoginOptions{Settings: &tt.later, Interaction: browse()})
			if got := errors.As(err, new(*identity.SetupError)); got != tt.refused {
				t.Errorf("Login = %v, want it refused: %v", err, tt.refused)
			}
			if n := len(s.Forms()) - before; tt.refused && n > 0 {
				t.Errorf("%d requests to an issuer that only the server names: %v", n, s.Forms()[before:])
			}
		})
	}
}

// TestClientCredentials obtains a token without a person, and another one when it has
// expired, also by a process that has no settings.
func TestClientCredentials(t *testing.T) {
	s := startServer(t)
	store := newStore(t)
	settings := &identity.Settings{
		Grant:  identity.ClientCredentials,
		Issuer: s.Issuer,
		Client: identity.ClientSettings{
			ID:     "fixed id",
			Secret: func(context.Context) (string, error) { return "s:cret\n", nil },
		},
	}
	k := newClient(store).Credentials(s.URL, settings)
	if status, err := request(t, k, s); status != http.StatusOK || err != nil {
		t.Fatalf("request = %d, %v, want 200", status, err)
	}
	s.ExpireAccess()
	other := newClient(store)
	time.Sleep(10 * time.Millisecond)
	if status, err := request(t, other.Credentials(s.URL, nil), s); err == nil && status == http.StatusOK {
		t.Error("a new token was refused and replaced at once, want an error about it")
	}
	if n := s.Count("client_credentials"); n != 1 {
		t.Errorf("%d token requests, want 1", n)
	}
}

func TestSettings(t *testing.T) {
	secret := func(context.Context) (string, error) { return "x", nil }
	for name, s := range map[string]identity.Settings{
		"unknown grant":         {Grant: "password"},
		"secret without ID":     {Client: identity.ClientSettings{Secret: secret}},
		"client without secret": {Grant: identity.ClientCredentials, Client: identity.ClientSettings{ID: "x"}},
		"secret and key":        {Client: identity.ClientSettings{ID: "x", Secret: secret, Key: secret}},
		"no assertion":          {Grant: identity.JWTBearer, Client: identity.ClientSettings{ID: "x"}},
		"no subject token":      {Grant: identity.TokenExchange, Client: identity.ClientSettings{ID: "x"}},
		"no identity provider":  {Grant: identity.IdentityAssertion, Client: identity.ClientSettings{ID: "x"}},
		"invalid scope":         {Scopes: []string{"a b"}},
		"invalid port":          {CallbackPort: 70000},
		"unknown type of a token": {
			Grant:    identity.TokenExchange,
			Client:   identity.ClientSettings{ID: "x"},
			Exchange: identity.ExchangeSettings{Token: secret, TokenType: "x"},
		},
	} {
		if err := s.Check(); err == nil {
			t.Errorf("%s: Check = nil, want an error", name)
		}
	}
	if _, err := newClient(newStore(t)).Login(t.Context(), "http://example.com/mcp", nil); err == nil ||
		!strings.Contains(err.Error(), "not https") {
		t.Errorf("Login over http = %v, want an error", err)
	}
}

// TestLogoutRevokesAll lets the revocation of one token fail: the others are still revoked.
func TestLogoutRevokesAll(t *testing.T) {
	s := startServer(t)
	c := newClient(newStore(t))
	mustLogin(t, c, s)
	s.Break(authtest.RevokeDown)
	_, err := c.Logout(t.Context(), s.URL)
	if err == nil || !strings.Contains(err.Error(), "remain valid until they expire") ||
		strings.Count(err.Error(), "503") != 1 {
		t.Errorf("Logout = %v, want an error that the tokens remain valid, with the reason once", err)
	}
	if n := s.Count("revoke"); n != 2 {
		t.Errorf("%d revocations, want one for each token", n)
	}
	if all, err := c.Logins(); len(all) > 0 || err != nil {
		t.Errorf("Logins = %v, %v, want none", all, err)
	}
}

// TestMetadataDown answers 503 for the metadata. That it is absent would lead to the
// endpoints of 2025-03-26, and to a wrong hint.
func TestMetadataDown(t *testing.T) {
	s := startServer(t)
	s.Break(authtest.MetadataDown)
	_, err := newClient(newStore(t)).Login(t.Context(), s.URL, &identity.LoginOptions{Interaction: browse()})
	var answered *identity.ServerError
	if !errors.As(err, &answered) || answered.Status != http.StatusServiceUnavailable {
		t.Errorf("Login = %v, want the status 503", err)
	}
}

// TestSilentServer lets a server end the time of a login before there is anything to do in a browser.
func TestSilentServer(t *testing.T) {
	for name, start := range map[string]string{"no answer": "", "half a document": "{"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodGet {
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				_, _ = io.WriteString(w, start)
				if start != "" {
					_ = http.NewResponseController(w).Flush()
				}
				<-r.Context().Done()
			}))
			t.Cleanup(s.Close)
			_, err := newClient(newStore(t)).Login(t.Context(), s.URL, &identity.LoginOptions{
				Interaction: browse(),
				Timeout:     100 * time.Millisecond,
			})
			if err == nil || !strings.HasSuffix(err.Error(), ": no answer in time") || errors.Is(err, identity.ErrTimeout) {
				t.Errorf("Login = %v, want that the server did not answer", err)
			}
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Login = %v, want an error that wraps the end of its time", err)
			}
		})
	}
}
