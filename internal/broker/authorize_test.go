package broker_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/internal/broker"
)

// TestSignIn signs a user in, and uses and revokes the tokens.
func TestSignIn(t *testing.T) {
	w := start(t, nil)
	id := w.register(redirect)
	alice := w.browser("alice")
	shown := alice.open(w.base + broker.AuthorizePath + "?" + w.request(id, "scope", "write unknown").Encode())
	for _, want := range []string{
		`"Resource":"` + w.base + `/mcp"`, `"Scopes":["write"]`, `"Redirect":"127.0.0.1:7777"`, `"Loopback":true`,
		`"ClientHost":""`,
	} {
		if !strings.Contains(shown.text, want) {
			t.Errorf("page %s, want %s", shown.text, want)
		}
	}
	if w.provider.Count("authorization_code") != 0 {
		t.Error("the provider was asked before the user consented")
	}
	back := alice.decide(shown, broker.Allow, nil)
	if back.client == nil || back.client.Host != "127.0.0.1:7777" || back.client.Path != "/callback" {
		t.Fatalf("returned %+v", back)
	}
	code := back.client.Query().Get("code")
	tokens := w.form(broker.TokenPath, exchange(id, code, "resource", w.base+"/mcp"))
	if tokens.Status != http.StatusOK || tokens.Scope != "write" {
		t.Fatalf("tokens: %+v", tokens)
	}
	claims := claimsOf(t, tokens.Access)
	for name, want := range map[string]any{
		"iss": w.base, "aud": w.base + "/mcp", "sub": "alice", "scope": "write", "idp": w.provider.Issuer,
	} {
		if claims[name] != want {
			t.Errorf("claim %s = %v, want %v", name, claims[name], want)
		}
	}
	if life := claims["exp"].(float64) - claims["iat"].(float64); life != 900 || tokens.ExpiresIn != 900 {
		t.Errorf("life %v, expires_in %d, want 900", life, tokens.ExpiresIn)
	}
	for _, token := range w.provider.Secrets() {
		if token == tokens.Access || token == tokens.Refresh {
			t.Error("the client got a token of the provider")
		}
	}
	next := w.refresh(id, tokens.Refresh)
	if next.Status != http.StatusOK || next.Refresh == tokens.Refresh || w.provider.Count("refresh_token") != 1 {
		t.Fatalf("refreshed: %+v", next)
	}
	if !w.active(next.Access) {
		t.Error("the session is not active")
	}
	if a := w.form(broker.RevokePath, url.Values{
		"client_id": {id},
		"token":     {next.Refresh},
	}); a.Status != http.StatusOK {
		t.Errorf("revoked: %+v", a)
	}
	if w.active(next.Access) || w.refresh(id, next.Refresh).Error != "invalid_grant" {
		t.Error("the tokens are valid after they were revoked")
	}
	if !w.happened(broker.SignedIn) || !w.happened(broker.Refreshed) || !w.happened(broker.Revoked) {
		t.Errorf("events %v", w.events)
	}
}

// TestRequests sends requests for a code that are not valid.
func TestRequests(t *testing.T) {
	w := start(t, nil)
	id := w.register(redirect, "cursor://callback", "https://app.example.com/cb")
	stranger := w.register("http://127.0.0.1/other")
	for name, test := range map[string]struct {
		changes []string
		code    string // of the error, which is sent to the client; "" means that it is shown
	}{
		"another path":         {[]string{"redirect_uri", "http://127.0.0.1:7777/callback2"}, ""},
		"another host":         {[]string{"redirect_uri", "http://localhost:7777/callback"}, ""},
		"another query":        {[]string{"redirect_uri", redirect + "?a=b"}, ""},
		"https for loopback":   {[]string{"redirect_uri", "https://127.0.0.1:7777/callback"}, ""},
		"a host that begins":   {[]string{"redirect_uri", "http://127.0.0.1.evil.example/callback"}, ""},
		"a user before host":   {[]string{"redirect_uri", "http://127.0.0.1:7777@evil.example/callback"}, ""},
		"another port":         {[]string{"redirect_uri", "https://app.example.com:8443/cb"}, ""},
		"javascript":           {[]string{"redirect_uri", "javascript:alert(1)"}, ""},
		"no redirect":          {[]string{"redirect_uri", ""}, ""},
		"no client":            {[]string{"client_id", ""}, ""},
		"unknown client":       {[]string{"client_id", "mcp-unknown"}, ""},
		"changed client":       {[]string{"client_id", id[:len(id)-4] + "AAAA"}, ""},
		"other client":         {[]string{"client_id", stranger}, ""},
		"huge client":          {[]string{"client_id", strings.Repeat("x", 4000)}, ""},
		"huge request":         {[]string{"nonce", strings.Repeat("x", 9000)}, ""},
		"token":                {[]string{"response_type", "token"}, "unsupported_response_type"},
		"no challenge":         {[]string{"code_challenge", ""}, "invalid_request"},
		"short challenge":      {[]string{"code_challenge", "abc"}, "invalid_request"},
		"plain":                {[]string{"code_challenge_method", "plain"}, "invalid_request"},
		"no method":            {[]string{"code_challenge_method", ""}, "invalid_request"},
		"no resource":          {[]string{"resource", ""}, "invalid_target"},
		"foreign resource":     {[]string{"resource", "https://other.example.com/mcp"}, "invalid_target"},
		"parent resource":      {[]string{"resource", w.base}, "invalid_target"},
		"unknown endpoint":     {[]string{"resource", w.base + "/mcp/other"}, "invalid_target"},
		"fragment":             {[]string{"response_mode", "fragment"}, "invalid_request"},
		"request object":       {[]string{"request", "x"}, "request_not_supported"},
		"request object's URI": {[]string{"request_uri", "https://evil.example/x"}, "request_not_supported"},
		"huge state":           {[]string{"state", strings.Repeat("x", 2000)}, "invalid_request"},
		"huge scope":           {[]string{"scope", strings.Repeat("x ", 2000)}, "invalid_scope"},
		"no interaction":       {[]string{"prompt", "none"}, "interaction_required"},
	} {
		t.Run(name, func(t *testing.T) {
			q := w.request(id, test.changes...)
			p := w.visit(q)
			if test.code == "" {
				if p.client != nil || p.status < 400 || p.formIn() != "" {
					t.Errorf("%d %s, redirected to %v", p.status, p.text, p.client)
				}
				return
			}
			if p.client == nil || p.client.Query().Get("error") != test.code || p.client.Query().Get("iss") != w.base {
				t.Errorf("%d %s, redirected to %v, want %s", p.status, p.text, p.client, test.code)
			}
		})
	}
	for _, twice := range []string{"client_id", "redirect_uri", "state", "code_challenge", "resource"} {
		q := w.request(id)
		q[twice] = append(q[twice], q.Get(twice))
		if p := w.visit(q); p.formIn() != "" {
			t.Errorf("%s twice: %s", twice, p.text)
		}
	}
	for _, valid := range []string{
		"http://127.0.0.1:1/callback", "http://127.0.0.1/callback", "cursor://callback", "https://app.example.com/cb",
	} {
		q := w.request(id, "redirect_uri", valid)
		if p := w.visit(q); p.formIn() == "" {
			t.Errorf("%s: %s", valid, p.text)
		}
	}
}

// TestScopes asks for scopes.
func TestScopes(t *testing.T) {
	w := start(t, nil)
	id := w.register(redirect)
	for asked, want := range map[string]string{
		"":            "read",
		"read":        "read",
		"write read":  "write read",
		"admin":       "read",
		"write admin": "write",
	} {
		code := w.browser("alice").signIn(w.request(id, "scope", asked)).Get("code")
		tokens := w.form(broker.TokenPath, exchange(id, code))
		if tokens.Scope != want {
			t.Errorf("%q: %q, want %q", asked, tokens.Scope, want)
		}
		if asked != "write read" {
			continue
		}
		form := url.Values{
			"grant_type":    {"refresh_token"},
			"client_id":     {id},
			"refresh_token": {tokens.Refresh},
			"scope":         {"read admin"},
		}
		if a := w.form(broker.TokenPath, form); a.Scope != "read" {
			t.Errorf("narrowed to %+v", a)
		}
	}
}

// TestConsent answers the page in other ways than its user does.
func TestConsent(t *testing.T) {
	w := start(t, nil)
	id := w.register(redirect)
	ask := func(b *browser) *page { return b.open(w.base + broker.AuthorizePath + "?" + w.request(id).Encode()) }
	refused := func(t *testing.T, p *page) {
		t.Helper()
		if p.client != nil || p.status < 400 {
			t.Errorf("%d %s, redirected to %v", p.status, p.text, p.client)
		}
		if w.provider.Count("authorization_code") != 0 {
			t.Error("the user was signed in")
		}
	}
	foreign := func(t *testing.T, p *page) {
		t.Helper()
		refused(t, p)
		if !strings.Contains(p.text, "shown in another browser") { // and not only the answer of the provider
			t.Errorf("page %s", p.text)
		}
	}
	t.Run("another browser", func(t *testing.T) {
		foreign(t, w.browser("alice").decide(ask(w.browser("mallory")), broker.Allow, nil))
	})
	t.Run("another browser with a cookie", func(t *testing.T) {
		alice := w.browser("alice")
		ask(alice)
		foreign(t, alice.decide(ask(w.browser("mallory")), broker.Allow, nil))
	})
	t.Run("another site", func(t *testing.T) {
		alice := w.browser("alice")
		refused(t, alice.decide(ask(alice), broker.Allow, func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", "cross-site")
		}))
	})
	t.Run("another origin", func(t *testing.T) {
		alice := w.browser("alice")
		refused(t, alice.decide(ask(alice), broker.Allow, func(r *http.Request) {
			r.Header.Set("Origin", "https://evil.example")
		}))
	})
	t.Run("late", func(t *testing.T) {
		alice := w.browser("alice")
		p := ask(alice)
		w.pass(11 * time.Minute)
		refused(t, alice.decide(p, broker.Allow, nil))
	})
	t.Run("changed", func(t *testing.T) {
		alice := w.browser("alice")
		p := ask(alice)
		p.text = "<form>" + p.formIn()[1:] + "</form>"
		refused(t, alice.decide(p, broker.Allow, nil))
	})
	t.Run("declined", func(t *testing.T) {
		alice := w.browser("alice")
		p := alice.decide(ask(alice), broker.Deny, nil)
		if p.client == nil || p.client.Query().Get("error") != "access_denied" || !w.happened(broker.Declined) {
			t.Errorf("%d %s %v", p.status, p.text, p.client)
		}
		refused(t, &page{status: 400})
	})
	t.Run("no decision", func(t *testing.T) {
		alice := w.browser("alice")
		if p := alice.decide(ask(alice), "", nil); p.client.Query().Get("error") != "access_denied" {
			t.Errorf("%v", p.client)
		}
	})
	t.Run("twice", func(t *testing.T) {
		alice := w.browser("alice")
		p := ask(alice)
		if back := alice.decide(p, broker.Allow, nil); back.client == nil || back.client.Query().Get("code") == "" {
			t.Fatalf("%d %s", back.status, back.text)
		}
		if back := alice.decide(p, broker.Allow, nil); back.client != nil || back.status != http.StatusForbidden {
			t.Errorf("%d %s", back.status, back.text)
		}
	})
	if headers := w.headers(id); headers.Get("X-Frame-Options") != "DENY" ||
		!strings.Contains(headers.Get("Content-Security-Policy"), "frame-ancestors 'none'") ||
		headers.Get("Cache-Control") != "no-store" {
		t.Errorf("headers %v", headers)
	}
}

// headers returns the headers of the page.
func (w *world) headers(id string) http.Header {
	w.t.Helper()
	resp, err := http.Get(w.base + broker.AuthorizePath + "?" + w.request(id).Encode())
	if err != nil {
		w.t.Fatal(err)
	}
	resp.Body.Close()
	return resp.Header
}

// TestCallback returns from the provider in other ways than a login does.
func TestCallback(t *testing.T) {
	w := start(t, nil)
	id := w.register(redirect)
	// pause consents, and returns the address to which the provider leads.
	pause := func(b *browser) string {
		t.Helper()
		p := b.open(w.base + broker.AuthorizePath + "?" + w.request(id).Encode())
		follow := b.CheckRedirect
		defer func() { b.CheckRedirect = follow }()
		b.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
			if r.URL.Path == broker.CallbackPath {
				return http.ErrUseLastResponse
			}
			return nil
		}
		p = b.decide(p, broker.Allow, nil)
		if p.client == nil {
			t.Fatalf("%d %s", p.status, p.text)
		}
		return p.client.String()
	}
	refused := func(t *testing.T, p *page) {
		t.Helper()
		if p.client != nil || p.status < 400 {
			t.Errorf("%d %s, redirected to %v", p.status, p.text, p.client)
		}
	}
	t.Run("another browser", func(t *testing.T) {
		mallory := w.browser("mallory")
		address := pause(mallory)
		refused(t, w.browser("alice").open(address))
		if p := mallory.open(address); p.client == nil || p.client.Query().Get("code") == "" {
			t.Errorf("the login of the browser that began is lost: %d %s", p.status, p.text)
		}
	})
	t.Run("another browser with a cookie", func(t *testing.T) {
		alice := w.browser("alice")
		pause(alice)
		refused(t, alice.open(pause(w.browser("mallory"))))
	})
	t.Run("mixed up states", func(t *testing.T) {
		alice := w.browser("alice")
		one, err := url.Parse(pause(alice))
		if err != nil {
			t.Fatal(err)
		}
		other, err := url.Parse(pause(alice))
		if err != nil {
			t.Fatal(err)
		}
		q := one.Query()
		q.Set("state", other.Query().Get("state"))
		one.RawQuery = q.Encode()
		if p := alice.open(one.String()); p.client == nil || p.client.Query().Get("error") == "" {
			t.Errorf("%d %s %v", p.status, p.text, p.client)
		}
	})
	t.Run("twice", func(t *testing.T) {
		alice := w.browser("alice")
		address := pause(alice)
		alice.open(address)
		refused(t, alice.open(address))
	})
	t.Run("unknown", func(t *testing.T) {
		refused(t, w.browser("alice").open(w.base+broker.CallbackPath+"?state=x&code=y"))
	})
	t.Run("another issuer", func(t *testing.T) {
		alice := w.browser("alice")
		address := strings.Replace(pause(alice), "iss="+url.QueryEscape(w.provider.Issuer),
			"iss=https%3A%2F%2Fevil.example", 1)
		if p := alice.open(address); p.client == nil || p.client.Query().Get("error") != "server_error" {
			t.Errorf("%d %s %v", p.status, p.text, p.client)
		}
	})
	t.Run("late", func(t *testing.T) {
		alice := w.browser("alice")
		address := pause(alice)
		w.pass(11 * time.Minute)
		refused(t, alice.open(address))
	})
	for _, fault := range []string{"nonce", "aud", "iss", "exp", "sub", "missing"} {
		t.Run("ID token with another "+fault, func(t *testing.T) {
			w.provider.BreakID(fault)
			defer w.provider.BreakID("")
			if q := w.browser("alice").signIn(w.request(id)); q.Get("error") != "server_error" || q.Has("code") {
				t.Errorf("%v", q)
			}
		})
	}
	t.Run("account refused", func(t *testing.T) {
		w.deny("eve")
		if q := w.browser("eve").signIn(w.request(id)); q.Get("error") != "access_denied" || !w.happened(broker.Refused) {
			t.Errorf("%v", q)
		}
	})
	t.Run("many", func(t *testing.T) {
		for range 210 {
			pause(w.browser("alice"))
		}
		if n := broker.Pending(w.broker); n > 200 {
			t.Errorf("%d logins of one address wait", n)
		}
	})
}
