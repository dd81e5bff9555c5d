package serve_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/internal/broker"
	"github.com/slipway-mcp/slipway/internal/test/authtest"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/serve"
)

// who is a source whose tool answers with its caller.
type who struct{ mcp.Unimplemented }

func (who) Catalog(context.Context) (*mcp.Catalog, error) {
	return &mcp.Catalog{
		Server: mcp.Implementation{Name: "who", Version: "1"},
		Tools: []mcp.Tool{{
			Name:        "whoami",
			InputSchema: json.RawMessage(`{"type":"object"}`),
			Origins:     []mcp.Origin{{Source: "who", Name: "whoami"}},
		}},
	}, nil
}

func (who) CallTool(ctx context.Context, _ *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	p := *mcp.PrincipalFrom(ctx)
	text, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(string(text))}}, nil
}

// brokerWorld is a server that signs users in at a provider.
type brokerWorld struct {
	t        *testing.T
	provider *authtest.Provider
	server   *httptest.Server
	handler  *serve.Handler
	base     string
	client   string // the ID of a registered client
	log      *serve.Audit
	audit    *lockedText
}

// lockedText is a buffer for several goroutines.
type lockedText struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(p)
}

const brokerRedirect = "http://127.0.0.1:7777/callback"

func startBroker(t *testing.T, o *serve.BrokerOptions, claims *serve.ClaimOptions) *brokerWorld {
	t.Helper()
	w := &brokerWorld{
		t:        t,
		provider: authtest.StartProvider(),
		server:   httptest.NewUnstartedServer(nil),
		audit:    &lockedText{},
	}
	t.Cleanup(w.provider.Close)
	w.base = "http://" + w.server.Listener.Addr().String()
	store := identity.OpenStore(filepath.Join(t.TempDir(), "sign-ins"), &identity.StoreOptions{NoKeychain: true})
	var err error
	o.PublicURL = w.base
	o.Store = store
	o.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	if o.Provider, err = identity.NewProvider(identity.New(&identity.Options{Store: store}), &identity.ProviderOptions{
		Issuer: w.provider.Issuer,
		Client: identity.ClientSettings{ID: "gateway"},
	}); err != nil {
		t.Fatal(err)
	}
	b, err := serve.NewBroker(o)
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := b.Verifier(claims)
	if err != nil {
		t.Fatal(err)
	}
	audit, err := serve.NewAudit(w.audit, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = audit.Close() })
	w.log = audit
	w.handler = serve.NewHandler(who{}, &serve.Options{
		PublicURL: w.base,
		Auth: &serve.Auth{
			Verifiers:            []serve.Verifier{verifier},
			Scopes:               []string{"read"},
			ToolScopes:           map[string][]string{"whoami": {"who"}},
			AuthorizationServers: []string{b.Issuer()},
		},
		Features: serve.Features{Endpoints: []serve.Endpoint{{
			Name:   "support",
			Items:  []string{"who"},
			Scopes: []string{"support"},
		}}},
		Live:      serve.Live{Broker: b},
		Reporting: serve.Reporting{Audit: audit},
	})
	w.server.Config.Handler = w.handler
	w.server.Start()
	t.Cleanup(w.server.Close)
	var registered struct {
		ID string `json:"client_id"`
	}
	resp, err := http.Post(w.base+broker.RegisterPath, "application/json",
		strings.NewReader(`{"client_name":"<b>Test</b>","redirect_uris":["`+brokerRedirect+`"]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&registered); err != nil || registered.ID == "" {
		t.Fatalf("registration: %d %v", resp.StatusCode, err)
	}
	w.client = registered.ID
	return w
}

// getText returns the body of a page of the server, asked for with the headers.
func (w *brokerWorld) getText(path string, headers ...string) string {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, w.base+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

// signIn signs a user in, and returns the page and the parameters with which the browser returns.
func (w *brokerWorld) signIn(user, resource, scope string) (page string, answer url.Values) {
	w.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	at, err := url.Parse(w.base)
	if err != nil {
		w.t.Fatal(err)
	}
	jar.SetCookies(at, []*http.Cookie{{
		Name:  authtest.UserCookie,
		Value: user,
	}})
	browser := &http.Client{
		Jar: jar,
		CheckRedirect: func(r *http.Request, _ []*http.Request) error {
			if strings.HasPrefix(r.URL.String(), brokerRedirect) {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}
	sum := sha256.Sum256([]byte(brokerVerifier))
	q := url.Values{
		"response_type":         {"code"},
		"client_id":             {w.client},
		"redirect_uri":          {brokerRedirect},
		"state":                 {"s"},
		"code_challenge":        {base64.RawURLEncoding.EncodeToString(sum[:])},
		"code_challenge_method": {"S256"},
		"resource":              {w.base + resource},
		"scope":                 {scope},
	}
	resp, err := browser.Get(w.base + broker.AuthorizePath + "?" + q.Encode())
	if err != nil {
		w.t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		w.t.Fatal(err)
	}
	form := regexp.MustCompile(`name="request" value="([^"]*)"`).FindSubmatch(text)
	if form == nil {
		w.t.Fatalf("page %s", text)
	}
	resp, err = browser.PostForm(w.base+broker.AuthorizePath, url.Values{
		"request":  {html.UnescapeString(string(form[1]))},
		"decision": {"allow"},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	resp.Body.Close()
	back, err := resp.Location()
	if err != nil {
		w.t.Fatalf("%d: %v", resp.StatusCode, err)
	}
	return string(text), back.Query()
}

const brokerVerifier = "a-verifier-of-43-characters-0123456789-abcdefg"

// token returns an access token of a user.
func (w *brokerWorld) token(user, resource, scope string) string {
	w.t.Helper()
	_, answer := w.signIn(user, resource, scope)
	resp, err := http.PostForm(w.base+broker.TokenPath, url.Values{
		"grant_type":    {"authorization_code"},
		"client_id":     {w.client},
		"code":          {answer.Get("code")},
		"redirect_uri":  {brokerRedirect},
		"code_verifier": {brokerVerifier},
		"resource":      {w.base + resource},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	var tokens struct {
		Access string `json:"access_token"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&tokens); err != nil || tokens.Access == "" {
		w.t.Fatalf("no token: %d, answer %v", resp.StatusCode, answer)
	}
	return tokens.Access
}

// call calls whoami, and returns the status and the caller.
func (w *brokerWorld) call(path, token string) (status int, p mcp.Principal) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.base+path, strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"whoami","arguments":{}}}`))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct {
		Result struct {
			Content []struct{ Text string }
		}
	}
	if json.NewDecoder(resp.Body).Decode(&answer) == nil && len(answer.Result.Content) > 0 {
		_ = json.Unmarshal([]byte(answer.Result.Content[0].Text), &p) // compared by the caller
	}
	return resp.StatusCode, p
}

// TestBroker signs a user in at the server, and calls a tool.
func TestBroker(t *testing.T) {
	claims := &serve.ClaimOptions{
		Groups: []string{"groups"},
		Roles:  []string{"realm.roles"},
		Tenant: "tid",
		Other:  map[string][]string{"department": {"dep"}, "a.b": {"nickname"}},
	}
	w := startBroker(t, &serve.BrokerOptions{}, claims)
	w.provider.SetClaims("alice", map[string]any{
		"groups": []string{"staff", "admins"},
		"realm":  map[string]any{"roles": []string{"editor"}},
		"tid":    "t1",
		"dep":    "sales",
		"email":  "alice@example.com",
	})
	var resource struct {
		Resource string   `json:"resource"`
		Servers  []string `json:"authorization_servers"`
	}
	if err := json.Unmarshal([]byte(w.getText("/.well-known/oauth-protected-resource/mcp")), &resource); err != nil ||
		!slices.Equal(resource.Servers, []string{w.base}) || resource.Resource != w.base+"/mcp" {
		t.Errorf("resource %+v, %v", resource, err)
	}
	for _, path := range []string{"/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"} {
		var m broker.Metadata
		if err := json.Unmarshal([]byte(w.getText(path)), &m); err != nil || m.Issuer != w.base || !m.IssuerInResponse ||
			!m.ClientDocuments || !slices.Equal(m.ChallengeMethods, []string{"S256"}) ||
			!slices.Equal(m.Scopes, []string{"read", "support", "who"}) || m.TokenEndpoint != w.base+"/oauth/token" {
			t.Errorf("%s: %+v, %v", path, m, err)
		}
	}
	if keys := w.getText(broker.KeysPath); !strings.Contains(keys, `"kty":"EC"`) || strings.Contains(keys, `"d":`) {
		t.Errorf("keys %s", keys)
	}
	page, _ := w.signIn("alice", "/mcp", "read who")
	for _, want := range []string{"&lt;b&gt;Test&lt;/b&gt;", "127.0.0.1:7777 (a program on this computer)", "read who",
		w.base + "/mcp", "This name is not verified"} {
		if !strings.Contains(page, want) {
			t.Errorf("page %s, want %q", page, want)
		}
	}
	if strings.Contains(page, "<b>") {
		t.Errorf("page %s", page)
	}
	token := w.token("alice", "/mcp", "read who")
	status, p := w.call("/mcp", token)
	if status != http.StatusOK || p.Name != w.provider.Issuer+"#alice" || p.Issuer != w.provider.Issuer ||
		p.Subject != "alice" || !slices.Equal(p.Groups, []string{"staff", "admins"}) ||
		!slices.Equal(p.Roles, []string{"editor"}) || p.Tenant != "t1" ||
		fmt.Sprint(p.Claims) != "map[a.b:[alice] department:[sales]]" || !slices.Equal(p.Scopes, []string{"read", "who"}) {
		t.Errorf("%d, caller %+v", status, p)
	}
	// Scopes and endpoints.
	if status, _ := w.call("/mcp", w.token("alice", "/mcp", "read")); status != http.StatusForbidden {
		t.Errorf("without the scope of the tool: %d", status)
	}
	if status, _ := w.call("/mcp/support", token); status != http.StatusUnauthorized {
		t.Errorf("a token for /mcp at another endpoint: %d", status)
	}
	support := w.token("alice", "/mcp/support", "read who support")
	if status, _ := w.call("/mcp/support", support); status != http.StatusOK {
		t.Errorf("a token for /mcp/support: %d", status)
	}
	if status, _ := w.call("/mcp", support); status != http.StatusUnauthorized {
		t.Errorf("a token for /mcp/support at /mcp: %d", status)
	}
	if metrics := w.getText("/metrics", "Authorization", "Bearer "+token); !strings.Contains(metrics,
		`slipway_sign_in_events_total{event="signed_in"} 4`) {
		t.Errorf("metrics %s", metrics)
	}
	// A token is not valid after its session has ended, although it was used before.
	resp, err := http.PostForm(w.base+broker.RevokePath, url.Values{
		"client_id": {w.client},
		"token":     {token},
	})
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp, err)
	}
	resp.Body.Close()
	if status, _ := w.call("/mcp", token); status != http.StatusUnauthorized {
		t.Errorf("a token whose session has ended: %d", status)
	}
	if status, _ := w.call("/mcp/support", support); status != http.StatusOK {
		t.Errorf("another session: %d", status)
	}
}

// TestBrokerProvider uses a token after the server has begun to use another provider.
func TestBrokerProvider(t *testing.T) {
	o := &serve.BrokerOptions{}
	w := startBroker(t, o, &serve.ClaimOptions{})
	token := w.token("alice", "/mcp", "read who")
	verify := func(issuer string) error {
		t.Helper()
		var err error
		if o.Provider, err = identity.NewProvider(identity.New(&identity.Options{Store: o.Store}), &identity.ProviderOptions{
			Issuer: issuer,
			Client: identity.ClientSettings{ID: "gateway"},
		}); err != nil {
			t.Fatal(err)
		}
		b, err := serve.NewBroker(o)
		if err != nil {
			t.Fatal(err)
		}
		v, err := b.Verifier(&serve.ClaimOptions{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = v.Verify(t.Context(), token)
		return err
	}
	if err := verify(w.provider.Issuer); err != nil {
		t.Errorf("after a restart: %v", err)
	}
	if err := verify("https://id.example.com"); !errors.Is(err, serve.ErrToken) {
		t.Errorf("with another provider: %v", err)
	}
}

// TestConnectSignIn proves who opens the page that connects by the login at the gateway: its provider
// issues no tokens for the gateway.
func TestConnectSignIn(t *testing.T) {
	w := startVault(t, func(o *serve.Options) {
		store := identity.OpenStore(filepath.Join(t.TempDir(), "sign-ins"), &identity.StoreOptions{NoKeychain: true})
		options := &identity.ProviderOptions{
			Issuer: o.Auth.AuthorizationServers[0],
			Client: identity.ClientSettings{ID: "gateway"},
		}
		provider, err := identity.NewProvider(identity.New(&identity.Options{Store: store}), options)
		if err != nil {
			t.Fatal(err)
		}
		if o.Broker, err = serve.NewBroker(&serve.BrokerOptions{
			PublicURL: o.PublicURL,
			Provider:  provider,
			Store:     store,
		}); err != nil {
			t.Fatal(err)
		}
	})
	alice := w.caller("alice", mcp.Version20260728, nil)
	text, _ := callText(t, alice, "connect_notes")
	address := addressIn.FindString(text)
	if status, text := page(t, w.browser("bob"), address, "prove"); status != http.StatusForbidden ||
		!strings.Contains(text, "another user") {
		t.Errorf("bob proves to be bob: %d %s, want 403", status, text)
	}
	w.connect(w.browser("alice"), address)
	if text, failed := callText(t, alice, "connect_notes"); failed {
		t.Errorf("connect_notes after the login = %q, want success", text)
	}
	if n := w.company.Count("userinfo"); n != 2 {
		t.Errorf("the provider was asked %d times who signs in, want 2", n)
	}
}

// TestBrokerAllow restricts who may sign in.
func TestBrokerAllow(t *testing.T) {
	w := startBroker(t, &serve.BrokerOptions{Allow: map[string][]string{
		"hd":    {"example.com", "example.org"},
		"email": {"alice@example.com", "eve@example.com"},
	}}, &serve.ClaimOptions{})
	for user, claims := range map[string]map[string]any{
		"alice":    {"hd": "example.org", "email": "alice@example.com", "email_verified": true},
		"empty":    {},
		"stranger": {"hd": "evil.example", "email": "alice@example.com"},
		"partly":   {"hd": "example.com"},
		"eve":      {"hd": "example.com", "email": "eve@example.com", "email_verified": false},
		"mallory":  {"hd": "example.com", "email": "alice@example.com"}, // an address of her choice
	} {
		w.provider.SetClaims(user, claims)
		_, answer := w.signIn(user, "/mcp", "read")
		if permitted := answer.Has("code"); permitted != (user == "alice") {
			t.Errorf("%s: %v", user, answer)
		}
	}
	if err := w.log.Close(); err != nil {
		t.Fatal(err)
	}
	text := w.audit.String()
	for _, want := range []string{
		`"event":"sign_in","what":"signed_in","principal":"` + w.provider.Issuer + `#alice","client":"<b>Test</b>"`,
		`"event":"sign_in","what":"sign_in_refused"`, `"redirect":"127.0.0.1:7777"`, `"remote":"127.0.0.1:`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("audit log %s, want %s", text, want)
		}
	}
}

// TestBrokerClaimsRefused signs in a user whose groups the provider has left out.
func TestBrokerClaimsRefused(t *testing.T) {
	w := startBroker(t, &serve.BrokerOptions{}, &serve.ClaimOptions{Groups: []string{"groups"}})
	w.provider.SetClaims("alice", map[string]any{"_claim_names": map[string]string{"groups": "src1"}})
	if _, answer := w.signIn("alice", "/mcp", "read"); answer.Get("error") != "server_error" {
		t.Errorf("%v", answer)
	}
}
