package authtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync"
	"time"
)

// Provider is an authorization server with several users, whose access tokens are JSON Web
// Tokens. The user of a browser is in the cookie [UserCookie]; without it, the login page has a
// form that sets it.
type Provider struct {
	// Issuer is the URL of the provider.
	Issuer string
	web    *httptest.Server
	key    *ecdsa.PrivateKey

	mu     sync.Mutex // guards the following fields
	life   time.Duration
	codes  map[string]*grantOf
	access map[string]*grantOf
	spent  map[string]*grantOf // refresh tokens, also those that are spent
	counts map[string]int
}

// UserCookie is the name of the cookie with the user of a browser.
const UserCookie = "user"

// grantOf is a code or a token of a user.
type grantOf struct {
	user, client, redirect, challenge, resource, scope string
	expires                                            time.Time
	family                                             *family
	used                                               bool
}

// StartProvider starts a provider.
func StartProvider() *Provider {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err) // never fails
	}
	p := &Provider{
		key:    key,
		life:   time.Hour,
		codes:  map[string]*grantOf{},
		access: map[string]*grantOf{},
		spent:  map[string]*grantOf{},
		counts: map[string]int{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", p.metadata)
	mux.HandleFunc("GET /keys", p.keys)
	mux.HandleFunc("POST /register", p.register)
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /login", p.login)
	mux.HandleFunc("POST /token", p.token)
	mux.HandleFunc("POST /revoke", p.revoke)
	p.web = httptest.NewServer(mux)
	p.Issuer = p.web.URL
	return p
}

// Close stops the provider.
func (p *Provider) Close() { p.web.CloseClientConnections(); p.web.Close() }

// SetLife sets the life of access tokens that are issued from now on.
func (p *Provider) SetLife(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.life = d
}

// Count returns how often something happened: "register", "code", "refresh", "reuse" of a
// refresh token, or "revoke".
func (p *Provider) Count(what string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts[what]
}

// Tokens returns all tokens that were issued.
func (p *Provider) Tokens() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append(slices.Collect(maps.Keys(p.access)), slices.Collect(maps.Keys(p.spent))...)
}

// Token returns a token of a user for a resource, as a client would have obtained it.
func (p *Provider) Token(user, resource string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.issueLocked(&grantOf{
		user:     user,
		resource: resource,
		client:   "test",
		family:   &family{},
	}, time.Hour)
}

// User returns the user whose valid token for a resource this is, or "".
func (p *Provider) User(token, resource string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	g := p.access[token]
	if g == nil || g.family.revoked || g.resource != resource || time.Now().After(g.expires) {
		return ""
	}
	return g.user
}

// Revoke makes all tokens of a user invalid.
func (p *Provider) Revoke(user string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, list := range []map[string]*grantOf{p.access, p.spent} {
		for _, g := range list {
			if g.user == user {
				g.family.revoked = true
			}
		}
	}
}

// Protect returns an endpoint at base that only users of the provider reach. next gets the
// user in the header X-User.
func (p *Provider) Protect(base func() string, next http.Handler) http.Handler {
	mux := http.NewServeMux()
	const metadata = "/.well-known/oauth-protected-resource/mcp"
	mux.HandleFunc("GET "+metadata, func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]any{
			"resource":              base() + "/mcp",
			"authorization_servers": []string{p.Issuer},
		})
	})
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		token := r.Header.Get("Authorization")
		user := ""
		if len(token) > len("Bearer ") {
			user = p.User(token[len("Bearer "):], base()+"/mcp")
		}
		if user == "" {
			w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer resource_metadata=%q, scope="notes"`, base()+metadata))
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		r.Header.Set("X-User", user)
		next.ServeHTTP(w, r)
	})
	return mux
}

func (p *Provider) metadata(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{
		"issuer":                                         p.Issuer,
		"authorization_endpoint":                         p.Issuer + "/authorize",
		"token_endpoint":                                 p.Issuer + "/token",
		"registration_endpoint":                          p.Issuer + "/register",
		"revocation_endpoint":                            p.Issuer + "/revoke",
		"jwks_uri":                                       p.Issuer + "/keys",
		"code_challenge_methods_supported":               []string{"S256"},
		"token_endpoint_auth_methods_supported":          []string{"none"},
		"authorization_response_iss_parameter_supported": true,
	})
}

func (p *Provider) keys(w http.ResponseWriter, _ *http.Request) {
	point, err := p.key.PublicKey.Bytes()
	if err != nil {
		http.Error(w, "no key", http.StatusInternalServerError)
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"keys": []map[string]string{{
		"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": "1",
		"x": base64.RawURLEncoding.EncodeToString(point[1:33]),
		"y": base64.RawURLEncoding.EncodeToString(point[33:]),
	}}})
}

func (p *Provider) register(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	p.counts["register"]++
	p.mu.Unlock()
	writeJSON(w, http.StatusCreated, map[string]any{
		"client_id":                  "client-" + rand.Text(),
		"token_endpoint_auth_method": "none",
	})
}

// authorize approves for the user of the browser, or asks for one.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	back, err := url.Parse(q.Get("redirect_uri"))
	if err != nil || q.Get("code_challenge_method") != "S256" || q.Get("resource") == "" {
		http.Error(w, "invalid request", http.StatusBadRequest)
		return
	}
	cookie, err := r.Cookie(UserCookie)
	if err != nil {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<form method="post" action="/login"><input name="user"><input type="hidden" name="to" value="%s">`+
			`<button>Log in</button></form>`, html.EscapeString(r.URL.RequestURI()))
		return
	}
	code := "code-" + rand.Text()
	p.mu.Lock()
	p.codes[code] = &grantOf{
		user:      cookie.Value,
		client:    q.Get("client_id"),
		redirect:  q.Get("redirect_uri"),
		challenge: q.Get("code_challenge"),
		resource:  q.Get("resource"),
		scope:     q.Get("scope"),
		family:    &family{},
	}
	p.mu.Unlock()
	back.RawQuery = url.Values{
		"state": {q.Get("state")},
		"iss":   {p.Issuer},
		"code":  {code},
	}.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

// login sets the user of a browser.
func (p *Provider) login(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, &http.Cookie{
		Name:  UserCookie,
		Value: r.PostFormValue("user"),
	})
	http.Redirect(w, r, r.PostFormValue("to"), http.StatusSeeOther)
}

func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	form := r.PostForm
	p.mu.Lock()
	defer p.mu.Unlock()
	switch form.Get("grant_type") {
	case "authorization_code":
		g := p.codes[form.Get("code")]
		hash := sha256.Sum256([]byte(form.Get("code_verifier")))
		if g == nil || g.used || g.redirect != form.Get("redirect_uri") || g.client != form.Get("client_id") ||
			g.challenge != base64.RawURLEncoding.EncodeToString(hash[:]) || g.resource != form.Get("resource") {
			oauthError(w, "invalid_grant")
			return
		}
		g.used = true
		p.counts["code"]++
		p.answerLocked(w, g)
	case "refresh_token":
		g := p.spent[form.Get("refresh_token")]
		if g != nil && g.used {
			p.counts["reuse"]++
			g.family.revoked = true
		}
		if g == nil || g.used || g.family.revoked || g.client != form.Get("client_id") ||
			g.resource != form.Get("resource") {
			oauthError(w, "invalid_grant")
			return
		}
		g.used = true
		p.counts["refresh"]++
		p.answerLocked(w, g)
	default:
		oauthError(w, "unsupported_grant_type")
	}
}

// answerLocked answers with new tokens.
func (p *Provider) answerLocked(w http.ResponseWriter, g *grantOf) {
	refresh := "refresh-" + rand.Text()
	next := *g
	next.used = false
	p.spent[refresh] = &next
	writeJSON(w, http.StatusOK, map[string]any{
		"access_token":  p.issueLocked(g, p.life),
		"token_type":    "Bearer",
		"expires_in":    p.life.Seconds(),
		"refresh_token": refresh,
		"scope":         g.scope,
	})
}

// issueLocked returns a signed access token.
func (p *Provider) issueLocked(g *grantOf, life time.Duration) string {
	encode := func(v map[string]any) string {
		text, _ := json.Marshal(v) // strings and numbers always encode
		return base64.RawURLEncoding.EncodeToString(text)
	}
	now := time.Now()
	signed := encode(map[string]any{"alg": "ES256", "typ": "at+jwt", "kid": "1"}) + "." + encode(map[string]any{
		"iss": p.Issuer, "sub": g.user, "aud": g.resource, "client_id": g.client, "scope": g.scope,
		"iat": now.Unix(), "exp": now.Add(life + time.Second).Unix(), "jti": rand.Text(),
	})
	hash := sha256.Sum256([]byte(signed))
	r, s, err := ecdsa.Sign(rand.Reader, p.key, hash[:])
	if err != nil {
		panic(err) // never fails
	}
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	token := signed + "." + base64.RawURLEncoding.EncodeToString(signature)
	issued := *g
	issued.expires = now.Add(life)
	p.access[token] = &issued
	return token
}

func (p *Provider) revoke(w http.ResponseWriter, r *http.Request) {
	token := r.PostFormValue("token")
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts["revoke"]++
	for _, list := range []map[string]*grantOf{p.access, p.spent} {
		if g := list[token]; g != nil {
			g.family.revoked = true
		}
	}
	w.WriteHeader(http.StatusOK)
}
