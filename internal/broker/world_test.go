package broker_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
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
	"time"

	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/internal/broker"
	"github.com/slipway-mcp/slipway/internal/test/authtest"
	"github.com/slipway-mcp/slipway/mcp"
)

// world is a broker in front of a provider.
type world struct {
	t        *testing.T
	provider *authtest.Provider
	store    *identity.Store
	broker   *broker.Broker
	base     string

	mu     sync.Mutex // guards the following fields
	now    time.Time
	events []string
	denied map[string]bool // subjects that may not use the gateway
}

// The redirect of clients, and a verifier with its challenge.
const (
	redirect = "http://127.0.0.1:7777/callback"
	verifier = "a-verifier-of-43-characters-0123456789-abcdefg"
)

func challengeOf(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

func start(t *testing.T, change func(*broker.Options)) *world {
	t.Helper()
	w := &world{
		t:        t,
		provider: authtest.StartProvider(),
		store:    identity.OpenStore(filepath.Join(t.TempDir(), "sign-ins"), &identity.StoreOptions{NoKeychain: true}),
		now:      time.Now(),
		denied:   map[string]bool{},
	}
	t.Cleanup(w.provider.Close)
	server := httptest.NewUnstartedServer(nil)
	w.base = "http://" + server.Listener.Addr().String()
	w.broker = w.open(change)
	server.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { w.broker.ServeHTTP(rw, r) })
	server.Start()
	t.Cleanup(server.Close)
	return w
}

// open returns a broker with the store of the world.
func (w *world) open(change func(*broker.Options)) *broker.Broker {
	w.t.Helper()
	logins := identity.New(&identity.Options{Store: w.store})
	provider, err := identity.NewProvider(logins, &identity.ProviderOptions{
		Issuer: w.provider.Issuer,
		Client: identity.ClientSettings{ID: "gateway"},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	o := &broker.Options{
		Issuer:   w.base,
		Provider: provider,
		Store:    w.store,
		Resources: func() []broker.Resource {
			return []broker.Resource{
				{
					ID:        w.base + "/mcp",
					Required:  []string{"read"},
					Supported: []string{"read", "write"},
				},
				{ID: w.base + "/mcp/support"},
			}
		},
		User: func(u *identity.User) (*mcp.Principal, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.denied[u.Subject] {
				return nil, &broker.RefusedError{Text: "not this account"}
			}
			return &mcp.Principal{
				Name:    w.provider.Issuer + "#" + u.Subject,
				Issuer:  w.provider.Issuer,
				Subject: u.Subject,
			}, nil
		},
		Redirects: []string{"https://app.example.com", "https://other.example.com/cb", "cursor:"},
		Render: func(rw http.ResponseWriter, status int, p *broker.Page) {
			rw.WriteHeader(status)
			fmt.Fprintln(rw, p.Heading, p.Problem)
			if p.Consent != nil {
				text, _ := json.Marshal(p.Consent) // only texts
				fmt.Fprintf(rw, "%s\n<form>%s</form>", text, html.EscapeString(p.Consent.Form))
			}
		},
		Record: func(e *broker.Event) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.events = append(w.events, e.What)
		},
		Logger: slog.New(slog.NewTextHandler(w.t.Output(), nil)),
	}
	if change != nil {
		change(o)
	}
	b, err := broker.New(o)
	if err != nil {
		w.t.Fatal(err)
	}
	broker.SetClock(b, func() time.Time {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.now
	})
	return b
}

// pass moves the clock of the broker.
func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func (w *world) deny(subject string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.denied[subject] = true
}

// happened reports whether there was an event.
func (w *world) happened(what string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Contains(w.events, what)
}

// answer is what an endpoint answers.
type answer struct {
	Status      int
	ID          string   `json:"client_id"`
	Redirects   []string `json:"redirect_uris"`
	Access      string   `json:"access_token"`
	Refresh     string   `json:"refresh_token"`
	ExpiresIn   int      `json:"expires_in"`
	Scope       string   `json:"scope"`
	Error       string   `json:"error"`
	Description string   `json:"error_description"`
}

// post sends a form or a document.
func (w *world) post(path, kind, body string) *answer {
	w.t.Helper()
	resp, err := http.Post(w.base+path, kind, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	a := &answer{Status: resp.StatusCode}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	_ = json.Unmarshal(text, a) // not all answers have a body
	return a
}

func (w *world) form(path string, form url.Values) *answer {
	w.t.Helper()
	return w.post(path, "application/x-www-form-urlencoded", form.Encode())
}

// register registers a client.
func (w *world) register(redirects ...string) string {
	w.t.Helper()
	body, err := json.Marshal(map[string]any{
		"client_name":   "Test <b>client</b>",
		"redirect_uris": redirects,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	a := w.post(broker.RegisterPath, "application/json", string(body))
	if a.Status != http.StatusCreated {
		w.t.Fatalf("registration: %+v", a)
	}
	return a.ID
}

// request returns the parameters of a request for a code, with changes; an empty one is removed.
func (w *world) request(id string, changes ...string) url.Values {
	q := url.Values{
		"response_type":         {"code"},
		"client_id":             {id},
		"redirect_uri":          {redirect},
		"state":                 {"a state"},
		"code_challenge":        {challengeOf(verifier)},
		"code_challenge_method": {"S256"},
		"resource":              {w.base + "/mcp"},
		"scope":                 {"read"},
	}
	for i := 0; i+1 < len(changes); i += 2 {
		if q.Set(changes[i], changes[i+1]); changes[i+1] == "" {
			q.Del(changes[i])
		}
	}
	return q
}

// browser is the browser of a user, who is signed in at the provider.
type browser struct {
	*http.Client
	w *world
}

func (w *world) browser(user string) *browser {
	jar, err := cookiejar.New(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	at, err := url.Parse(w.provider.Issuer)
	if err != nil {
		w.t.Fatal(err)
	}
	jar.SetCookies(at, []*http.Cookie{{
		Name:  authtest.UserCookie,
		Value: user,
	}})
	return &browser{&http.Client{
		Jar: jar,
		CheckRedirect: func(r *http.Request, _ []*http.Request) error {
			if "http://"+r.URL.Host != w.base && "http://"+r.URL.Host != w.provider.Issuer {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}, w}
}

// page is what a browser shows: a page, or the address of a client.
type page struct {
	status int
	text   string
	client *url.URL // nil for a page
}

func (b *browser) do(req *http.Request) *page {
	b.w.t.Helper()
	resp, err := b.Do(req)
	if err != nil {
		b.w.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.w.t.Fatal(err)
	}
	p := &page{
		status: resp.StatusCode,
		text:   string(text),
	}
	if to := resp.Header.Get("Location"); to != "" {
		if p.client, err = url.Parse(to); err != nil {
			b.w.t.Fatal(err)
		}
	}
	return p
}

func (b *browser) open(address string) *page {
	b.w.t.Helper()
	req, err := http.NewRequestWithContext(b.w.t.Context(), http.MethodGet, address, nil)
	if err != nil {
		b.w.t.Fatal(err)
	}
	return b.do(req)
}

// visit opens the page for a request in the browser of alice.
func (w *world) visit(q url.Values) *page {
	w.t.Helper()
	return w.browser("alice").open(w.base + broker.AuthorizePath + "?" + q.Encode())
}

// formIn returns the hidden field of a page.
func (p *page) formIn() string {
	found := regexp.MustCompile(`<form>(.*)</form>`).FindStringSubmatch(p.text)
	if found == nil {
		return ""
	}
	return html.UnescapeString(found[1])
}

// decide sends the form of a page.
func (b *browser) decide(p *page, decision string, change func(*http.Request)) *page {
	b.w.t.Helper()
	form := url.Values{
		broker.FormField:     {p.formIn()},
		broker.DecisionField: {decision},
	}
	req, err := http.NewRequestWithContext(b.w.t.Context(), http.MethodPost, b.w.base+broker.AuthorizePath,
		strings.NewReader(form.Encode()))
	if err != nil {
		b.w.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if change != nil {
		change(req)
	}
	return b.do(req)
}

// signIn signs a user in, and returns the parameters with which the browser returns to the client.
func (b *browser) signIn(q url.Values) url.Values {
	b.w.t.Helper()
	p := b.open(b.w.base + broker.AuthorizePath + "?" + q.Encode())
	if p.client == nil {
		p = b.decide(p, broker.Allow, nil)
	}
	if p.client == nil {
		b.w.t.Fatalf("no answer for the client: %d %s", p.status, p.text)
	}
	answer := p.client.Query()
	if answer.Get("iss") != b.w.base || answer.Get("state") != q.Get("state") {
		b.w.t.Errorf("answer %v, want iss and state", answer)
	}
	return answer
}

// exchange returns the parameters that exchange a code, with changes.
func exchange(id, code string, changes ...string) url.Values {
	form := url.Values{
		"grant_type":    {"authorization_code"},
		"client_id":     {id},
		"code":          {code},
		"redirect_uri":  {redirect},
		"code_verifier": {verifier},
	}
	for i := 0; i+1 < len(changes); i += 2 {
		form.Set(changes[i], changes[i+1])
	}
	return form
}

// session signs a user in, and returns the client and its first tokens.
func (w *world) session(user string) (id string, tokens *answer) {
	w.t.Helper()
	id = w.register(redirect)
	code := w.browser(user).signIn(w.request(id)).Get("code")
	tokens = w.form(broker.TokenPath, exchange(id, code))
	if tokens.Status != http.StatusOK || tokens.Access == "" || tokens.Refresh == "" {
		w.t.Fatalf("tokens: %+v", tokens)
	}
	return id, tokens
}

func (w *world) refresh(id, token string) *answer {
	w.t.Helper()
	return w.form(broker.TokenPath, url.Values{
		"grant_type":    {"refresh_token"},
		"client_id":     {id},
		"refresh_token": {token},
	})
}

// claimsOf returns the claims of an access token.
func claimsOf(t *testing.T, token string) map[string]any {
	t.Helper()
	payload, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	if err != nil {
		t.Fatal(err)
	}
	var claims map[string]any
	if err := json.Unmarshal(payload, &claims); err != nil {
		t.Fatal(err)
	}
	return claims
}

// active reports whether the session of a token has not ended.
func (w *world) active(token string) bool {
	w.t.Helper()
	active, err := w.broker.Active(claimsOf(w.t, token)["sid"].(string))
	if err != nil {
		w.t.Fatal(err)
	}
	return active
}
