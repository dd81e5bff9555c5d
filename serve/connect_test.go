package serve_test

import (
	"context"
	"encoding/json"
	"fmt"
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
	"time"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/internal/test/authtest"
	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/serve"
	"github.com/slipway-mcp/slipway/stax"
)

// notes is an upstream server whose tools depend on the user: whoami, and notes_of_USER.
type notes struct{ mcp.Unimplemented }

func userOf(ctx context.Context) string { return mcp.RequestFrom(ctx).Header().Get("X-User") }

func (notes) Catalog(ctx context.Context) (*mcp.Catalog, error) {
	cat := &mcp.Catalog{Server: mcp.Implementation{Name: "notes", Version: "1"}}
	for _, name := range []string{"whoami", "notes_of_" + userOf(ctx)} {
		cat.Tools = append(cat.Tools, mcp.Tool{
			Name:        name,
			InputSchema: json.RawMessage(`{"type":"object"}`),
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
		})
	}
	return cat, nil
}

func (notes) CallTool(ctx context.Context, _ *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(userOf(ctx))}}, nil
}

// vaultWorld is a gateway in front of an upstream server that each caller uses with a login of
// their own. The company's provider issues the tokens of callers, and another one those for
// the upstream, where a user has another name.
type vaultWorld struct {
	t                 *testing.T
	company, upstream *authtest.Provider
	gateway, server   *httptest.Server
	vault             *identity.Vault
	store             *identity.Store
	upstreamURL       string
}

// startVaultServers starts everything but the gateway.
func startVaultServers(t *testing.T) *vaultWorld {
	t.Helper()
	w := &vaultWorld{
		t:        t,
		company:  authtest.StartProvider(),
		upstream: authtest.StartProvider(),
	}
	t.Cleanup(w.company.Close)
	t.Cleanup(w.upstream.Close)
	w.server = httptest.NewUnstartedServer(nil)
	base := "http://" + w.server.Listener.Addr().String()
	w.server.Config.Handler = w.upstream.Protect(func() string { return base },
		mcpserver.New(notes{}, nil).HTTPHandler(nil))
	w.server.Start()
	t.Cleanup(w.server.Close)
	w.upstreamURL = base + "/mcp"
	return w
}

// source opens the upstream with the logins that callers have in a store.
func (w *vaultWorld) source(store *identity.Store) (src mcp.Source, vault *identity.Vault) {
	t := w.t
	t.Helper()
	logins := identity.New(&identity.Options{Store: store})
	vault = identity.NewVault(&identity.VaultOptions{
		Client: logins,
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	doc, report := stax.Parse("servers.json", []byte(fmt.Sprintf(
		`{"servers":{"notes":{"url":%q,"transport":"http","auth":{"kind":"oauth","by":"user"}}}}`, w.upstreamURL)), nil)
	if doc == nil {
		t.Fatalf("definitions: %v", report)
	}
	resolver := &stax.Resolver{
		Identity: logins,
		Vault:    vault,
		Shared:   true,
	}
	opened, err := resolver.Open(t.Context(), stax.Merge(doc), "notes", &stax.OpenOptions{
		Live: &client.Options{Name: "notes"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	return opened, vault
}

func startVault(t *testing.T, change func(*serve.Options)) *vaultWorld {
	t.Helper()
	w := startVaultServers(t)
	w.store = identity.OpenStore(filepath.Join(t.TempDir(), "credentials"), &identity.StoreOptions{NoKeychain: true})
	var src mcp.Source
	src, w.vault = w.source(w.store)
	w.gateway = httptest.NewUnstartedServer(nil)
	o := w.options("http://"+w.gateway.Listener.Addr().String(), w.vault)
	if change != nil {
		change(o)
	}
	w.gateway.Config.Handler = serve.NewHandler(src, o)
	w.gateway.Start()
	t.Cleanup(w.gateway.Close)
	return w
}

// options returns those of a gateway at a public URL.
func (w *vaultWorld) options(public string, vault *identity.Vault) *serve.Options {
	t := w.t
	t.Helper()
	jwt, err := serve.NewJWT(&serve.JWTOptions{
		Issuer:   w.company.Issuer,
		Audience: []string{public + "/mcp"},
		Pause:    time.Millisecond, // keys may change during a test
	})
	if err != nil {
		t.Fatal(err)
	}
	return &serve.Options{
		PublicURL: public,
		Auth: &serve.Auth{
			Verifiers:            []serve.Verifier{jwt, testTokens(t)},
			AuthorizationServers: []string{w.company.Issuer},
		},
		Live: serve.Live{Vault: vault},
	}
}

// browser is one whose user is known at both providers.
func (w *vaultWorld) browser(user string) *http.Client {
	jar, err := cookiejar.New(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return &http.Client{
		Jar:       jar,
		Transport: userTransport{w, user},
	}
}

// userTransport sends each provider its own cookie: a jar does not distinguish ports.
type userTransport struct {
	world *vaultWorld
	user  string
}

func (t userTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	name := ""
	switch "http://" + r.URL.Host {
	case t.world.company.Issuer:
		name = t.user
	case t.world.upstream.Issuer:
		name = "up-" + t.user
	default:
		return http.DefaultTransport.RoundTrip(r)
	}
	own := r.Clone(r.Context())
	own.Header.Set("Cookie", authtest.UserCookie+"="+name)
	return http.DefaultTransport.RoundTrip(own)
}

// page requests a page: with a step, by sending its form.
func page(t *testing.T, browser *http.Client, address, step string) (status int, text string) {
	t.Helper()
	var resp *http.Response
	var err error
	if step == "" {
		resp, err = browser.Get(address)
	} else {
		resp, err = browser.PostForm(address, url.Values{"step": {step}})
	}
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// connect follows an address to the end.
func (w *vaultWorld) connect(browser *http.Client, address string) {
	w.t.Helper()
	if status, text := page(w.t, browser, address, ""); status != http.StatusOK || strings.Contains(text, "notes") {
		w.t.Fatalf("the page before the proof = %d %s, want a page without the server", status, text)
	}
	status, text := page(w.t, browser, address, "prove")
	host := strings.TrimPrefix(w.server.URL, "http://")
	if status != http.StatusOK || !strings.Contains(text, "notes") || !strings.Contains(text, host) {
		w.t.Fatalf("the page after the proof = %d %s, want the server and its host", status, text)
	}
	status, text = page(w.t, browser, address, "join")
	if status != http.StatusOK || !strings.Contains(text, "You are logged in") {
		w.t.Fatalf("the page after the login = %d %s, want the end", status, text)
	}
}

// caller returns an MCP client of a user. Questions are answered by answer; nil means that it
// cannot be asked.
func (w *vaultWorld) caller(user string, v mcp.Version, answer func(address string) string) *client.Source {
	w.t.Helper()
	o := &client.Options{
		Version:   v,
		Questions: client.Questions{Capabilities: json.RawMessage(`{}`)},
	}
	if answer != nil {
		o.Questions.Capabilities = json.RawMessage(`{"elicitation":{"url":{}}}`)
		o.Questions.Answer = func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
			var asked mcp.ElicitParams
			if err := json.Unmarshal(params, &asked); err != nil || method != "elicitation/create" || asked.Mode != "url" {
				w.t.Errorf("question %s %s, want an elicitation by URL", method, params)
			}
			return json.RawMessage(`{"action":"` + answer(asked.URL) + `"}`), nil
		}
	}
	c, err := client.Open(w.t.Context(), &client.Endpoint{
		URL:    w.gateway.URL + "/mcp",
		Header: http.Header{"Authorization": {"Bearer " + w.company.Token(user, w.gateway.URL+"/mcp")}},
	}, o)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = c.Close() })
	return c
}

// callText returns the text of a result, or of an error.
func callText(t *testing.T, c *client.Source, tool string) (text string, failed bool) {
	t.Helper()
	result, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool})
	if err != nil {
		return err.Error(), true
	}
	var decoded struct {
		Content []mcp.Content `json:"content"`
		IsError bool          `json:"isError"`
	}
	if err := json.Unmarshal(result.Raw.Bytes(), &decoded); err != nil || len(decoded.Content) == 0 {
		t.Fatalf("result %s: %v", result.Raw.Bytes(), err)
	}
	return decoded.Content[0].Text, decoded.IsError
}

// toolsWith returns the names of the tools that a client sees once they include one of them.
func toolsWith(t *testing.T, c *client.Source, want string) []string {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		cat, err := c.Catalog(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for i := range cat.Tools {
			names = append(names, cat.Tools[i].Name)
		}
		if slices.Contains(names, want) {
			return names
		}
		if time.Now().After(end) {
			t.Fatalf("tools = %v, want %s", names, want)
		}
	}
}

var addressIn = regexp.MustCompile(`http://[^ "]+/connect/[A-Z2-7]{26}(-[A-Z2-7]{8})?`)

// TestConnectByURL logs in callers whose clients can be asked to open a URL, in both eras.
func TestConnectByURL(t *testing.T) {
	for _, v := range []mcp.Version{mcp.Version20251125, mcp.Version20260728} {
		t.Run(v.String(), func(t *testing.T) {
			w := startVault(t, nil)
			browser := w.browser("alice")
			asked := 0
			alice := w.caller("alice", v, func(address string) string {
				asked++
				w.connect(browser, address)
				return "accept"
			})
			if names := toolsWith(t, alice, "connect_notes"); len(names) != 1 {
				t.Errorf("tools before the login = %v, want connect_notes alone", names)
			}
			if text, failed := callText(t, alice, "connect_notes"); failed || !strings.Contains(text, "logged in") {
				t.Fatalf("connect_notes = %q, want that the user is logged in", text)
			}
			toolsWith(t, alice, "notes_of_up-alice")
			if text, failed := callText(t, alice, "whoami"); failed || text != "up-alice" || asked != 1 {
				t.Errorf("whoami = %q after %d questions, want up-alice after one", text, asked)
			}
			// The login ends at the upstream. The next call asks again, and goes on.
			w.upstream.Revoke("up-alice")
			if text, failed := callText(t, alice, "whoami"); failed || text != "up-alice" || asked != 2 {
				t.Errorf("whoami = %q after %d questions, want up-alice after two", text, asked)
			}
			w.upstream.Revoke("up-alice")
			decline := w.caller("alice", v, func(string) string { return "decline" })
			if text, failed := callText(t, decline, "whoami"); !failed || !strings.Contains(text, "declined") {
				t.Errorf("whoami = %q, want that the user declined", text)
			}
		})
	}
}

// TestConnectByAddress logs in callers whose clients cannot be asked.
func TestConnectByAddress(t *testing.T) {
	for _, v := range []mcp.Version{mcp.Version20250326, mcp.Version20250618, mcp.Version20251125, mcp.Version20260728} {
		t.Run(v.String(), func(t *testing.T) {
			w := startVault(t, nil)
			alice := w.caller("alice", v, nil)
			text, failed := callText(t, alice, "connect_notes")
			address := addressIn.FindString(text)
			if !failed || address == "" {
				t.Fatalf("connect_notes = %q, want an error with an address", text)
			}
			w.connect(w.browser("alice"), address)
			if text, failed := callText(t, alice, "connect_notes"); failed {
				t.Errorf("connect_notes after the login = %q, want success", text)
			}
			toolsWith(t, alice, "notes_of_up-alice")
			if text, _ := callText(t, alice, "whoami"); text != "up-alice" {
				t.Errorf("whoami = %q, want up-alice", text)
			}
			if status, _ := page(t, w.browser("alice"), address, "prove"); status != http.StatusNotFound {
				t.Errorf("a second use of the address = %d, want 404", status)
			}
		})
	}
}

// TestConnectStrangers opens the address of a caller as another user.
func TestConnectStrangers(t *testing.T) {
	w := startVault(t, nil)
	alice := w.caller("alice", mcp.Version20260728, nil)
	text, _ := callText(t, alice, "connect_notes")
	address := addressIn.FindString(text)
	bob := w.browser("bob")
	if status, text := page(t, bob, address, "prove"); status != http.StatusForbidden || strings.Contains(text, "notes") {
		t.Errorf("bob proves to be bob: %d %s, want 403 without the server", status, text)
	}
	for _, step := range []string{"join", "other", "prove&step=join"} {
		if status, _ := page(t, bob, address, step); status != http.StatusForbidden {
			t.Errorf("bob continues with %q: %d, want 403", step, status)
		}
	}
	// Alice proves who she is. Another browser does not continue what hers has begun.
	browser := w.browser("alice")
	if status, text := page(t, browser, address, "prove"); status != http.StatusOK || !strings.Contains(text, "notes") {
		t.Fatalf("alice proves to be alice: %d %s, want the page with the server", status, text)
	}
	if status, text := page(t, bob, address, ""); status != http.StatusOK || strings.Contains(text, "notes") {
		t.Errorf("bob sees %d %s, want the page without the server", status, text)
	}
	at := *bob
	at.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if status, _ := page(t, &at, address, "join"); status != http.StatusForbidden {
		t.Errorf("bob logs in for alice: %d, want 403 at once", status)
	}
	// The answer for alice, in the browser of bob.
	stop := *browser
	stop.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(r.URL.String(), w.gateway.URL+"/connect/callback") {
			return http.ErrUseLastResponse
		}
		return nil
	}
	resp, err := stop.PostForm(address, url.Values{"step": {"join"}})
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	answer := resp.Header.Get("Location")
	if !strings.Contains(answer, "code=") {
		t.Fatalf("the login leads to %q, want the callback", answer)
	}
	for name, foreign := range map[string]*http.Client{"bob": bob, "an unknown user": {}} {
		if status, _ := page(t, foreign, answer, ""); status != http.StatusForbidden {
			t.Errorf("the answer in the browser of %s: %d, want 403", name, status)
		}
	}
	status, text := page(t, browser, answer, "")
	if status != http.StatusOK || !strings.Contains(text, "You are logged in") {
		t.Errorf("the answer in the browser of alice: %d %s, want the end", status, text)
	}
	if status, _ := page(t, browser, answer, ""); status != http.StatusNotFound {
		t.Errorf("the answer a second time: %d, want 404", status)
	}
	// Pages of other sites cannot send the forms.
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader("step=prove"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	if resp, err = http.DefaultClient.Do(r); err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden || resp.Header.Get("X-Frame-Options") != "DENY" ||
		!strings.Contains(resp.Header.Get("Content-Security-Policy"), "frame-ancestors 'none'") {
		t.Errorf("a form of another site: %d %v, want 403, and no frames", resp.StatusCode, resp.Header)
	}
}

// TestConnectNeedsAnIssuer serves callers that cannot prove in a browser who they are.
func TestConnectNeedsAnIssuer(t *testing.T) {
	w := startVault(t, nil)
	c, err := client.Open(t.Context(), &client.Endpoint{
		URL:    w.gateway.URL + "/mcp",
		Header: http.Header{"Authorization": {"Bearer " + adminToken}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if text, failed := callText(t, c, "connect_notes"); !failed || !strings.Contains(text, "token of an issuer") {
		t.Errorf("connect_notes of a caller in the token list = %q, want an error that names the issuer", text)
	}
	if n := w.upstream.Count("authorization_code"); n != 0 {
		t.Errorf("%d logins, want none", n)
	}
}

// TestConnectionsStayApart lets two callers use the server at once, while their tokens expire
// all the time: each call is made as its caller, and no refresh token is used twice.
func TestConnectionsStayApart(t *testing.T) {
	t.Parallel()
	race.SkipSlow(t)
	w := startVault(t, nil)
	w.upstream.SetLife(300 * time.Millisecond)
	w.upstream.SetLeeway(time.Hour)
	users := []string{"alice", "bob"}
	var all sync.WaitGroup
	for _, user := range users {
		c := w.caller(user, mcp.Version20260728, nil)
		text, _ := callText(t, c, "connect_notes")
		w.connect(w.browser(user), addressIn.FindString(text))
		if text, failed := callText(t, c, "connect_notes"); failed {
			t.Fatal(text)
		}
		for worker := range 4 {
			version := []mcp.Version{mcp.Version20260728, mcp.Version20251125}[worker%2]
			own := w.caller(user, version, nil)
			all.Go(func() {
				for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
					if text, failed := callText(t, own, "whoami"); failed || text != "up-"+user {
						t.Errorf("whoami of %s = %q", user, text)
						return
					}
					cat, err := own.Catalog(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					for i := range cat.Tools {
						if name, ok := strings.CutPrefix(cat.Tools[i].Name, "notes_of_"); ok && name != "up-"+user {
							t.Errorf("%s sees the tool of %s", user, name)
							return
						}
					}
				}
			})
		}
	}
	all.Wait()
	if n := w.upstream.Count("reuse"); n != 0 {
		t.Errorf("%d refresh tokens were used twice", n)
	}
	if n := w.upstream.Count("refresh_token"); n < 4 {
		t.Errorf("%d refreshes, want some", n)
	}
	// A caller who is not connected sees no tool of the others.
	carol := w.caller("carol", mcp.Version20260728, nil)
	if names := toolsWith(t, carol, "connect_notes"); len(names) != 1 {
		t.Errorf("carol sees %v", names)
	}
	if text, failed := callText(t, carol, "whoami"); !failed || strings.Contains(text, "up-") {
		t.Errorf("whoami of carol = %q", text)
	}
}

// TestConnections lists and ends connections.
func TestConnections(t *testing.T) {
	race.SkipSlow(t)
	w := startVault(t, nil)
	admin := httptest.NewServer(serve.AdminHandler(w.gateway.Config.Handler.(*serve.Handler)))
	t.Cleanup(admin.Close)
	clients := make(map[string]*client.Source)
	for _, user := range []string{"alice", "bob"} {
		clients[user] = w.caller(user, mcp.Version20260728, nil)
		text, _ := callText(t, clients[user], "connect_notes")
		w.connect(w.browser(user), addressIn.FindString(text))
		if text, failed := callText(t, clients[user], "connect_notes"); failed {
			t.Fatal(text)
		}
		toolsWith(t, clients[user], "whoami")
	}
	request := func(method, path string) (status int, text string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, admin.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(body)
	}
	status, text := request(http.MethodGet, "/connections")
	var list struct{ Connections []serve.Connection }
	if err := json.Unmarshal([]byte(text), &list); err != nil || status != http.StatusOK || len(list.Connections) != 2 {
		t.Fatalf("GET /connections = %d %s, want two", status, text)
	}
	first := list.Connections[0]
	if first.Principal != w.company.Issuer+"#alice" || first.Server != "notes" || first.URL != w.upstreamURL ||
		first.Issuer != w.upstream.Issuer || !slices.Equal(first.Scopes, []string{"notes"}) || first.Expires.IsZero() {
		t.Errorf("connection = %+v, want that of alice", first)
	}
	for _, token := range w.upstream.Secrets() {
		if strings.Contains(text, token) {
			t.Error("the list contains a token")
		}
	}
	query := url.Values{"principal": {first.Principal}, "server": {"notes"}}.Encode()
	for method, from := range map[string]string{
		http.MethodGet:    "10.0.0.9:50000",  // a Prometheus, say
		http.MethodDelete: "127.0.0.1:50000", // a proxy
	} {
		r := httptest.NewRequest(method, "http://10.0.0.1:9090/connections?"+query, nil)
		r.RemoteAddr = from
		r.Header.Set("X-Forwarded-For", "10.0.0.9")
		answer := httptest.NewRecorder()
		admin.Config.Handler.ServeHTTP(answer, r)
		if text := answer.Body.String(); answer.Code != http.StatusForbidden || strings.Contains(text, first.Principal) {
			t.Errorf("%s from another machine = %d %s, want 403", method, answer.Code, text)
		}
	}
	if status, text := request(http.MethodDelete, "/connections"); status != http.StatusBadRequest {
		t.Errorf("DELETE without a principal = %d %s, want 400", status, text)
	}
	status, text = request(http.MethodDelete, "/connections?"+query)
	if status != http.StatusOK || text != `{"ended":1}`+"\n" {
		t.Errorf("DELETE = %d %s, want one that ended", status, text)
	}
	if status, _ := request(http.MethodDelete, "/connections?"+query); status != http.StatusNotFound {
		t.Errorf("a second DELETE = %d, want 404", status)
	}
	if err := w.vault.Close(); err != nil {
		t.Fatal(err)
	}
	if n := w.upstream.Count("revoke"); n == 0 {
		t.Error("no token was revoked")
	}
	if text, failed := callText(t, clients["alice"], "whoami"); !failed {
		t.Errorf("whoami of alice = %q, want an error", text)
	}
	if text, _ := callText(t, clients["bob"], "whoami"); text != "up-bob" {
		t.Errorf("whoami of bob = %q, want up-bob", text)
	}
}

// TestConnectInSeveralTabs connects to one server in two tabs, while a stranger interferes: the
// newest browser that began counts, and what another one has proved is void.
func TestConnectInSeveralTabs(t *testing.T) {
	w := startVault(t, nil)
	alice := w.caller("alice", mcp.Version20260728, nil)
	text, _ := callText(t, alice, "connect_notes")
	address := addressIn.FindString(text)
	browser := w.browser("alice")
	for range 2 { // the second tab
		if status, text := page(t, browser, address, "prove"); status != http.StatusOK || !strings.Contains(text, "notes") {
			t.Fatalf("the proof = %d %s", status, text)
		}
	}
	bob := w.browser("bob")
	if status, _ := page(t, bob, address, "prove"); status != http.StatusForbidden {
		t.Errorf("bob proves to be bob: %d, want 403", status)
	}
	if status, text := page(t, browser, address, ""); status != http.StatusOK || strings.Contains(text, "notes") {
		t.Errorf("the page of alice = %d %s, want that she has to prove again", status, text)
	}
	w.connect(browser, address)
	status, text := page(t, browser, address, "")
	if status != http.StatusOK || !strings.Contains(text, "You are logged in") {
		t.Errorf("the page after the login = %d %s, want the end", status, text)
	}
	if status, _ := page(t, bob, address, "prove"); status != http.StatusNotFound {
		t.Errorf("bob begins again: %d, want 404", status)
	}
	if text, _ := callText(t, alice, "connect_notes"); !strings.Contains(text, "logged in") {
		t.Errorf("connect_notes = %q, want success", text)
	}
}
