package identity_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/internal/netguard"
	"github.com/slipway-mcp/slipway/internal/test/authtest"
)

// TestClientDocument fetches documents of clients that are not as they must be.
func TestClientDocument(t *testing.T) {
	valid := func(id string) string {
		text, err := json.Marshal(map[string]any{
			"client_id":     id,
			"client_name":   "Example",
			"redirect_uris": []string{"http://127.0.0.1/cb"},
		})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	var server *httptest.Server
	server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := server.URL + r.URL.Path
		if len(r.Cookies()) > 0 || r.Header.Get("Authorization") != "" {
			t.Error("the request has credentials")
		}
		switch r.URL.Path {
		case "/other":
			_, _ = w.Write([]byte(valid(server.URL + "/valid")))
		case "/redirect":
			http.Redirect(w, r, server.URL+"/valid", http.StatusFound)
		case "/huge":
			_, _ = w.Write([]byte(valid(id) + strings.Repeat(" ", 6<<10)))
		case "/missing":
			http.NotFound(w, r)
		case "/text":
			_, _ = w.Write([]byte("not JSON"))
		default:
			_, _ = w.Write([]byte(valid(id)))
		}
	}))
	defer server.Close()
	transport := server.Client().Transport
	doc, err := identity.FetchClientDocumentBy(t.Context(), server.URL+"/valid", transport)
	if err != nil || doc.Name != "Example" || len(doc.RedirectURIs) != 1 {
		t.Fatalf("%+v, %v", doc, err)
	}
	for _, path := range []string{"/other", "/redirect", "/huge", "/missing", "/text", "", "/"} {
		if doc, err := identity.FetchClientDocumentBy(t.Context(), server.URL+path, transport); err == nil {
			t.Errorf("%q: %+v", path, doc)
		}
	}
	// Without an option, this machine and private networks are not reached.
	for _, id := range []string{server.URL + "/valid", "https://10.0.0.1/x", "https://169.254.169.254/x"} {
		var blocked *netguard.BlockedError
		if _, err := identity.FetchClientDocument(t.Context(), id, nil); !errors.As(err, &blocked) {
			t.Errorf("%s: %v, want a blocked address", id, err)
		}
	}
	if _, err := identity.FetchClientDocument(t.Context(), "http://example.com/x", nil); err == nil {
		t.Error("a document was fetched over http")
	}
}

// plainProvider is a provider without OpenID Connect, like GitHub: its errors have the status 200.
func plainProvider(t *testing.T) (server *httptest.Server, user *string) {
	t.Helper()
	user = new(string)
	*user = `{"id":17,"login":"alice"}`
	challenge := ""
	mux := http.NewServeMux()
	mux.HandleFunc("GET /authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if q.Has("nonce") || q.Has("scope") || q.Has("resource") {
			t.Errorf("request %v", q)
		}
		challenge = q.Get("code_challenge")
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{
			"code":  {"c"},
			"state": {q.Get("state")},
		}.Encode(), http.StatusFound)
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
		id, secret, _ := r.BasicAuth()
		w.Header().Set("Content-Type", "application/json")
		if r.PostFormValue("code") != "c" || id != "gw" || secret != "s" ||
			challenge != base64.RawURLEncoding.EncodeToString(sum[:]) {
			_, _ = w.Write([]byte(`{"error":"bad_verification_code","error_description":"incorrect"}`))
			return
		}
		_, _ = w.Write([]byte(`{"access_token":"at","token_type":"bearer","scope":""}`))
	})
	mux.HandleFunc("GET /user", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer at" || *user == "" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(*user))
	})
	server = httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server, user
}

// TestPlainProvider signs a user in at a provider without OpenID Connect, whose tokens do not
// expire.
func TestPlainProvider(t *testing.T) {
	server, user := plainProvider(t)
	store := identity.OpenStore(filepath.Join(t.TempDir(), "c"), &identity.StoreOptions{NoKeychain: true})
	options := identity.ProviderOptions{
		Issuer: server.URL,
		Client: identity.ClientSettings{
			ID:     "gw",
			Secret: func(context.Context) (string, error) { return "s", nil },
		},
		Authorize: server.URL + "/authorize",
		Token:     server.URL + "/token",
		UserInfo:  server.URL + "/user",
		Subject:   "id",
	}
	client := identity.New(&identity.Options{Store: store})
	provider, err := identity.NewProvider(client, &options)
	if err != nil {
		t.Fatal(err)
	}
	const redirect = "http://127.0.0.1:1/oauth/callback"
	login := func() (*identity.SignIn, url.Values) {
		t.Helper()
		s, err := provider.Begin(t.Context(), redirect)
		if err != nil {
			t.Fatal(err)
		}
		browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}}
		resp, err := browser.Get(s.URL())
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		back, err := resp.Location()
		if err != nil {
			t.Fatal(err)
		}
		return s, back.Query()
	}
	s, q := login()
	u, err := s.Finish(t.Context(), q)
	if err != nil || u.Subject != "17" || string(u.Claims["login"]) != `"alice"` || u.Tokens.Lifetime != 0 {
		t.Fatalf("%+v, %v", u, err)
	}
	s, q = login()
	q.Set("code", "x")
	var answered *identity.ServerError
	if _, err := s.Finish(t.Context(), q); !errors.As(err, &answered) || answered.Code != "bad_verification_code" {
		t.Errorf("error %v", err)
	}
	// The user is asked for again, by the user info endpoint.
	known := &identity.Known{
		Redirect: redirect,
		Subject:  "17",
		Tokens:   u.Tokens,
	}
	save := func(identity.UserTokens) error { return nil }
	if u, err := provider.Refresh(t.Context(), known, save); err != nil || u.Subject != "17" {
		t.Errorf("%+v, %v", u, err)
	}
	*user = `{"id":18,"login":"alice"}` // another account with the same name
	if _, err := provider.Refresh(t.Context(), known, save); !errors.Is(err, identity.ErrUserGone) {
		t.Errorf("another account: %v", err)
	}
	*user = ""
	if _, err := provider.Refresh(t.Context(), known, save); !errors.Is(err, identity.ErrUserGone) {
		t.Errorf("no account: %v", err)
	}
	for name, change := range map[string]func(*identity.ProviderOptions){
		"one endpoint": func(o *identity.ProviderOptions) { o.Authorize, o.UserInfo = "", "" },
		"http":         func(o *identity.ProviderOptions) { o.Issuer = "http://id.example.com" },
		"javascript":   func(o *identity.ProviderOptions) { o.Authorize = "javascript:alert(1)" },
		"query":        func(o *identity.ProviderOptions) { o.Issuer += "?x" },
		"GitHub without ID": func(o *identity.ProviderOptions) {
			*o = identity.ProviderOptions{Issuer: "https://github.com"}
		},
	} {
		changed := options
		change(&changed)
		if _, err := identity.NewProvider(client, &changed); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for issuer, public := range map[string]bool{
		"https://github.com": true, "https://accounts.google.com": true, "https://github.com.evil.example": false,
		"https://login.microsoftonline.com/t/v2.0": false,
	} {
		if identity.IsPublicProvider(issuer) != public {
			t.Errorf("%s: want public %v", issuer, public)
		}
	}
}

// TestProviderCheck ensures that what keeps users from signing in is known before the first tries.
func TestProviderCheck(t *testing.T) {
	p := authtest.StartProvider()
	defer p.Close()
	for _, test := range []struct {
		fault      authtest.Fault
		path, id   string
		want, hint string
		missing    bool
	}{
		{id: "x"},
		{},
		{fault: authtest.NoRegistration, id: "x"},
		{fault: authtest.NoRegistration, want: "does not register clients by itself", hint: "--sign-in-client-id",
			missing: true},
		{path: "/other", want: "has no metadata", hint: "exactly as the provider states it", missing: true},
		{fault: authtest.NoLoginPage, id: "x", want: "no authorization_endpoint"},
		{fault: authtest.MetadataDown, id: "x", want: "503"},
	} {
		p.Break(test.fault)
		provider, err := identity.NewProvider(identity.New(&identity.Options{}), &identity.ProviderOptions{
			Issuer: p.Issuer + test.path,
			Client: identity.ClientSettings{ID: test.id},
		})
		if err != nil {
			t.Fatal(err)
		}
		err = provider.Check(t.Context(), "https://mcp.example.com/oauth/callback")
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q %s: %v, want %q", test.fault, test.path, err, test.want)
		}
		var setup *identity.SetupError
		if errors.As(err, &setup) != test.missing || setup != nil && !strings.Contains(setup.Hint, test.hint) {
			t.Errorf("%q %s: %#v, want a hint with %q", test.fault, test.path, err, test.hint)
		}
	}
}

// TestProviderVerifiedEmail guards the claim "email": users and administrators of some providers choose it.
func TestProviderVerifiedEmail(t *testing.T) {
	const entra = "https://login.microsoftonline.com/tenant/v2.0"
	for _, tt := range []struct {
		issuer, userInfo, claims string
		want                     bool
	}{
		{"https://id.example.com", "", `{"email_verified": true}`, true},
		{"https://id.example.com", "", `{"email_verified": "true"}`, true},
		{"https://id.example.com", "", `{"email_verified": false}`, false},
		{"https://id.example.com", "", `{"email_verified": 1}`, false},
		{"https://id.example.com", "", `{"xms_edov": true}`, false},
		{"https://id.example.com", "", `{}`, false},
		{"https://accounts.google.com", "", `{"email_verified": true}`, true},
		{"https://accounts.google.com", "", `{}`, false},
		{"https://github.com", "", `{}`, true},
		{"https://github.com", "https://proxy.example.com/user", `{}`, false},
		{"https://github.com.example.com", "", `{}`, false},
		{entra, "", `{}`, false},
		{entra, "", `{"email_verified": true}`, false},
		{entra, "", `{"xms_edov": true}`, true},
		{entra, "", `{"xms_edov": "1"}`, true},
		{entra, "", `{"xms_edov": false}`, false},
	} {
		o := &identity.ProviderOptions{
			Issuer: tt.issuer,
			Client: identity.ClientSettings{ID: "gateway"},
		}
		if tt.userInfo != "" {
			o.Authorize, o.Token, o.UserInfo = tt.userInfo, tt.userInfo, tt.userInfo
		}
		p, err := identity.NewProvider(&identity.Client{}, o)
		if err != nil {
			t.Fatalf("%s: %v", tt.issuer, err)
		}
		var claims map[string]json.RawMessage
		if err := json.Unmarshal([]byte(tt.claims), &claims); err != nil {
			t.Fatal(err)
		}
		if got := p.VerifiedEmail(claims); got != tt.want {
			t.Errorf("%s %s with %s: verified %t, want %t", tt.issuer, tt.userInfo, tt.claims, got, tt.want)
		}
	}
}
