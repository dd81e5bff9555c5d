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
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
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
	// single means that there is one user, who approves at once, and that clients are native
	// and registered. Such a provider does what the standards permit and is rarely seen.
	single bool
	opaque bool // access tokens are random texts; guarded by mu

	mu    sync.Mutex // guards the following fields
	key   *ecdsa.PrivateKey
	keyID int
	fault Fault
	life  time.Duration
	// leeway is how long a token is accepted after its life.
	leeway time.Duration
	// codes, access and refresh are what has been issued, also what is spent.
	codes, access, refresh map[string]*issued
	devices                map[string]bool // by device code: approved
	clients                map[string]bool
	forgotten              map[string]string // where they are refused, by client
	hold                   <-chan struct{}   // revocations wait for it; nil does not
	counts                 map[string]int
	forms                  []url.Values // of the token endpoint
	openID                 openID
}

// UserCookie is the name of the cookie with the user of a browser.
const UserCookie = "user"

// singleUser is the user of a provider with only one.
const singleUser = "user"

// issued is a code or a token of a user.
type issued struct {
	user, client, redirect, challenge, resource, scope, nonce string

	expires time.Time
	leeway  time.Duration
	family  *family
	used    bool
}

// family is what one login has issued.
type family struct{ revoked bool }

// valid reports whether a token is for a resource. The caller holds the lock of the provider.
func (t *issued) valid(resource string) bool {
	return t != nil &&
		!t.family.revoked &&
		t.resource == resource &&
		time.Now().Before(t.expires.Add(t.leeway))
}

// StartProvider starts a provider.
func StartProvider() *Provider {
	p := newProvider(false)
	mux := http.NewServeMux()
	p.serve(mux, "")
	p.web = httptest.NewServer(mux)
	p.Issuer = p.web.URL
	return p
}

// newProvider returns a provider without a server. A single one has one user, and requires
// registered clients.
func newProvider(single bool) *Provider {
	p := &Provider{
		single:    single,
		life:      time.Hour,
		codes:     map[string]*issued{},
		access:    map[string]*issued{},
		refresh:   map[string]*issued{},
		devices:   map[string]bool{},
		clients:   map[string]bool{},
		forgotten: map[string]string{},
		counts:    map[string]int{},
	}
	p.RotateKey()
	return p
}

// RotateKey replaces the key that signs tokens. The previous one is no longer published.
func (p *Provider) RotateKey() {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err) // never fails
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.key = key
	p.keyID++
}

// serve adds the endpoints below a path.
func (p *Provider) serve(mux *http.ServeMux, path string) {
	mux.HandleFunc("GET /.well-known/oauth-authorization-server"+path, p.metadata)
	mux.HandleFunc("GET "+path+"/keys", p.keys)
	mux.HandleFunc("GET "+path+"/userinfo", p.userInfo)
	mux.HandleFunc("POST "+path+"/register", p.register)
	mux.HandleFunc("GET "+path+"/authorize", p.authorize)
	mux.HandleFunc("POST "+path+"/login", p.login)
	mux.HandleFunc("POST "+path+"/token", p.token)
	mux.HandleFunc("POST "+path+"/device", p.device)
	mux.HandleFunc("POST "+path+"/revoke", p.revoke)
	mux.HandleFunc("POST "+path+"/introspect", p.introspect)
}

// IssueOpaque makes access tokens that are issued from now on random texts.
func (p *Provider) IssueOpaque() { p.set(func() { p.opaque = true }) }

// introspect answers a question about a token (RFC 7662).
func (p *Provider) introspect(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.access[r.PostFormValue("token")]
	if t == nil || !t.valid(t.resource) {
		writeJSON(w, http.StatusOK, map[string]any{"active": false})
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"active": true, "iss": p.Issuer, "sub": t.user, "aud": t.resource, "client_id": t.client, "scope": t.scope,
		"exp": t.expires.Unix() + 1,
	})
}

// Close stops the provider.
func (p *Provider) Close() { p.web.CloseClientConnections(); p.web.Close() }

// Break makes the provider misbehave; "" repairs it.
func (p *Provider) Break(f Fault) { p.set(func() { p.fault = f }) }

// SetLife sets the life of access tokens that are issued from now on.
func (p *Provider) SetLife(d time.Duration) { p.set(func() { p.life = d }) }

// SetLeeway sets how long access tokens that are issued from now on are accepted after their life, as servers do
// for clocks that differ. With a short life, clients refresh often; without leeway, a token could also
// expire on the way of a request to the server, for as long as the machine is busy.
func (p *Provider) SetLeeway(d time.Duration) { p.set(func() { p.leeway = d }) }

// Approve approves all device logins that wait.
func (p *Provider) Approve() {
	p.set(func() {
		for code := range p.devices {
			p.devices[code] = true
		}
	})
}

// RevokeAll makes all tokens and refresh tokens invalid.
func (p *Provider) RevokeAll() { p.revokeIf(func(*issued) bool { return true }) }

// Revoke makes all tokens of a user invalid.
func (p *Provider) Revoke(user string) {
	p.revokeIf(func(t *issued) bool {
		return t.user == user
	})
}

// revokeIf revokes the matching tokens, each with its whole family.
func (p *Provider) revokeIf(matches func(*issued) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, list := range []map[string]*issued{p.access, p.refresh} {
		for _, t := range list {
			if matches(t) {
				t.family.revoked = true
			}
		}
	}
}

// ExpireAccess makes all access tokens invalid, but no refresh token.
func (p *Provider) ExpireAccess() { p.set(func() { clear(p.access) }) }

// Count returns how often something happened: "register", "authorize", "revoke", a request
// with a grant type, or "reuse" of a refresh token.
func (p *Provider) Count(what string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts[what]
}

// Forms returns the requests to the token endpoint.
func (p *Provider) Forms() []url.Values {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.forms)
}

// Secrets returns all tokens and codes that were issued: none may be printed.
func (p *Provider) Secrets() (all []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, list := range []map[string]*issued{p.codes, p.access, p.refresh} {
		all = slices.AppendSeq(all, maps.Keys(list))
	}
	return all
}

// set runs do with the lock.
func (p *Provider) set(do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	do()
}

// has reports whether f is the current fault.
func (p *Provider) has(f Fault) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fault == f
}

// Token returns a token of a user for a resource, as a client would have obtained it.
func (p *Provider) Token(user, resource string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.issueLocked(&issued{
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
	if t := p.access[token]; t.valid(resource) {
		return t.user
	}
	return ""
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

// metadata serves the metadata of the provider (RFC 8414), changed by some faults.
func (p *Provider) metadata(w http.ResponseWriter, _ *http.Request) {
	if p.has(MetadataDown) {
		http.Error(w, "down", http.StatusServiceUnavailable)
		return
	}
	doc := map[string]any{
		"issuer":                                         p.Issuer,
		"authorization_endpoint":                         p.Issuer + "/authorize?tenant=1",
		"token_endpoint":                                 p.Issuer + "/token",
		"registration_endpoint":                          p.Issuer + "/register",
		"revocation_endpoint":                            p.Issuer + "/revoke",
		"jwks_uri":                                       p.Issuer + "/keys",
		"device_authorization_endpoint":                  p.Issuer + "/device",
		"userinfo_endpoint":                              p.Issuer + "/userinfo",
		"code_challenge_methods_supported":               []string{"plain", "S256"},
		"token_endpoint_auth_methods_supported":          []string{"none", "client_secret_basic", "client_secret_post"},
		"authorization_response_iss_parameter_supported": true,
	}
	if p.single {
		doc["scopes_supported"] = []string{"read", "write", "offline_access"}
	}
	switch {
	case p.has(OtherIssuer):
		doc["issuer"] = p.Issuer + "/"
	case p.has(ScriptAddress):
		doc["authorization_endpoint"] = "javascript:alert(1)"
	case p.has(FileAddress):
		doc["authorization_endpoint"] = "file:///etc/passwd"
	case p.has(NoLoginPage):
		delete(doc, "authorization_endpoint")
	case p.has(NoPKCE):
		delete(doc, "code_challenge_methods_supported")
	case p.has(NoRegistration):
		delete(doc, "registration_endpoint")
	}
	writeJSON(w, http.StatusOK, doc)
}

// keys serves the public key (RFC 7517). A point has the prefix 4 and two coordinates of 32 bytes.
func (p *Provider) keys(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	point, err := p.key.PublicKey.Bytes()
	if err != nil {
		http.Error(w, "no key", http.StatusInternalServerError)
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"keys": []map[string]string{{
		"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": fmt.Sprint(p.keyID),
		"x": base64.RawURLEncoding.EncodeToString(point[1:33]),
		"y": base64.RawURLEncoding.EncodeToString(point[33:]),
	}}})
}

// register registers a client (RFC 7591). Programs must say that they are native, and a client
// without addresses to return to must say that it has no response types.
func (p *Provider) register(w http.ResponseWriter, r *http.Request) {
	var doc map[string]any
	if json.NewDecoder(r.Body).Decode(&doc) != nil ||
		p.single && doc["application_type"] != "native" {
		oauthError(w, "invalid_client_metadata")
		return
	}
	types, stated := doc["response_types"].([]any)
	if returns := !stated || len(types) > 0; returns && doc["redirect_uris"] == nil {
		oauthError(w, "invalid_redirect_uri")
		return
	}
	id := "client-" + rand.Text()
	p.set(func() {
		p.counts["register"]++
		p.clients[id] = true
	})
	writeJSON(w, http.StatusCreated, map[string]any{
		"client_id":                  id,
		"token_endpoint_auth_method": "none",
	})
}

// ForgetClients forgets all registrations. where is the first to refuse them: "token" is the
// token endpoint, "redirect" the answer to the login page, and "page" that page itself.
func (p *Provider) ForgetClients(where string) {
	p.set(func() {
		for id := range p.clients {
			p.forgotten[id] = where
		}
		clear(p.clients)
	})
}

// authorize approves for the user of the browser, or asks for one.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	p.mu.Lock()
	forgotten := p.forgotten[q.Get("client_id")]
	known := !p.single || p.clients[q.Get("client_id")] || strings.HasPrefix(q.Get("client_id"), "fixed") ||
		forgotten == "token" || forgotten == "redirect"
	p.counts["authorize"]++
	p.mu.Unlock()
	back, err := url.Parse(q.Get("redirect_uri"))
	switch {
	case p.has(Abandoned):
		http.Error(w, "the login page", http.StatusOK)
		return
	case err != nil || !known || q.Get("tenant") != "1" || q.Get("resource") == "" && !isOpenID(q.Get("scope")) ||
		q.Get("code_challenge_method") != "S256":
		http.Error(w, "invalid request", http.StatusBadRequest)
		return
	}
	user := singleUser
	if !p.single {
		cookie, err := r.Cookie(UserCookie)
		if err != nil {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, `<form method="post" action="/login"><input name="user"><input type="hidden" name="to" value="%s">`+
				`<button>Log in</button></form>`, html.EscapeString(r.URL.RequestURI()))
			return
		}
		user = cookie.Value
	}
	code := "code-" + rand.Text()
	answer := url.Values{
		"state": {q.Get("state")},
		"iss":   {p.Issuer},
		"code":  {code},
	}
	switch {
	case p.has(WrongIssuer):
		answer.Set("iss", "https://evil.example")
	case p.has(MissingIssuer):
		answer.Del("iss")
	case p.has(Denied):
		answer.Del("code")
		answer.Set("error", "access_denied")
		answer.Set("error_description", "the user said\x1b[31m no")
	case forgotten == "redirect":
		answer.Del("code")
		answer.Set("error", "unauthorized_client")
	}
	p.set(func() {
		p.codes[code] = &issued{
			user:      user,
			client:    q.Get("client_id"),
			redirect:  q.Get("redirect_uri"),
			challenge: q.Get("code_challenge"),
			resource:  q.Get("resource"),
			scope:     q.Get("scope"),
			nonce:     q.Get("nonce"),
			expires:   time.Now().Add(time.Minute),
			family:    &family{},
		}
	})
	back.RawQuery = answer.Encode()
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

// SubjectToken is the ID token that the token endpoint exchanges for one of the audience "crm".
const SubjectToken = "subject-0123456789"

// token answers the token endpoint.
func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	form := r.PostForm
	grant := form.Get("grant_type")
	p.set(func() {
		p.counts[grant]++
		p.forms = append(p.forms, form)
	})
	switch {
	case p.has(Slow):
		<-r.Context().Done()
		return
	case p.has(Down):
		http.Error(w, "down", http.StatusServiceUnavailable)
		return
	case p.has(NotJSON):
		_, _ = io.WriteString(w, "<html>welcome</html>")
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.forgotten[form.Get("client_id")] != "" {
		writeJSON(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client"})
		return
	}
	switch grant {
	case "authorization_code":
		c := p.codes[form.Get("code")]
		hash := sha256.Sum256([]byte(form.Get("code_verifier")))
		if c == nil || c.used || c.redirect != form.Get("redirect_uri") || c.client != form.Get("client_id") ||
			c.challenge != base64.RawURLEncoding.EncodeToString(hash[:]) || c.resource != form.Get("resource") {
			oauthError(w, "invalid_grant")
			return
		}
		c.used = true
		p.answerLocked(w, c, true)
	case "refresh_token":
		t := p.refresh[form.Get("refresh_token")]
		if t != nil && t.used {
			p.counts["reuse"]++
			t.family.revoked = true
		}
		if t == nil || t.used || t.family.revoked || t.client != form.Get("client_id") ||
			t.resource != form.Get("resource") {
			oauthError(w, "invalid_grant")
			return
		}
		t.used = true
		p.answerLocked(w, t, true)
	case "client_credentials":
		id, secret, _ := r.BasicAuth()
		if id != "fixed%20id" && id != "fixed+id" || secret != "s%3Acret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		p.answerLocked(w, grantedTo(id, form, form.Get("scope")), false)
	case "urn:ietf:params:oauth:grant-type:token-exchange":
		const kind = "urn:ietf:params:oauth:token-type:"
		id, secret, _ := r.BasicAuth()
		if id != "fixed+id" || secret != "s%3Acret" || form.Get("subject_token") != SubjectToken ||
			form.Get("subject_token_type") != kind+"id_token" || form.Get("requested_token_type") != kind+"access_token" ||
			form.Get("audience") != "crm" {
			oauthError(w, "invalid_grant")
			return
		}
		p.answerLocked(w, grantedTo(id, form, form.Get("scope")), false)
	case "urn:ietf:params:oauth:grant-type:device_code":
		approved, known := p.devices[form.Get("device_code")]
		switch {
		case !known:
			oauthError(w, "expired_token")
		case !approved:
			oauthError(w, "authorization_pending")
		default:
			p.answerLocked(w, grantedTo(form.Get("client_id"), form, "read"), true)
		}
	default:
		oauthError(w, "unsupported_grant_type")
	}
}

// grantedTo returns what a client gets without a code.
func grantedTo(client string, form url.Values, scope string) *issued {
	return &issued{
		user:     singleUser,
		client:   client,
		resource: form.Get("resource"),
		scope:    scope,
		family:   &family{},
	}
}

// answerLocked answers with new tokens.
func (p *Provider) answerLocked(w http.ResponseWriter, g *issued, refreshable bool) {
	doc := map[string]any{
		"access_token": p.issueLocked(g, p.life),
		"token_type":   "Bearer",
		"expires_in":   p.life.Seconds(),
		"scope":        g.scope,
	}
	if p.single {
		doc["token_type"] = "bearer"
		doc["expires_in"] = fmt.Sprintf("%.3f", p.life.Seconds()) // a string, as some servers send
		delete(doc, "scope")
	}
	if isOpenID(g.scope) && p.openID.fault != "missing" {
		doc["id_token"] = p.idTokenLocked(g)
	}
	if p.fault == BoundToken {
		doc["token_type"] = "DPoP"
	}
	if refreshable {
		refresh := "refresh-" + rand.Text()
		next := *g
		next.used = false
		next.nonce = ""
		p.refresh[refresh] = &next
		doc["refresh_token"] = refresh
	}
	writeJSON(w, http.StatusOK, doc)
}

// device starts a device login (RFC 8628), which waits until Approve.
func (p *Provider) device(w http.ResponseWriter, _ *http.Request) {
	code := "device-" + rand.Text()
	p.set(func() { p.devices[code] = false })
	writeJSON(w, http.StatusOK, map[string]any{
		"device_code":      code,
		"user_code":        "WDJB-MJHT",
		"verification_uri": p.Issuer + "/activate",
		"expires_in":       60,
		"interval":         1,
	})
}

// issueLocked returns a signed access token.
func (p *Provider) issueLocked(g *issued, life time.Duration) string {
	now := time.Now()
	token := p.sign("at+jwt", map[string]any{
		"iss": p.Issuer, "sub": g.user, "aud": g.resource, "client_id": g.client, "scope": g.scope,
		"iat": now.Unix(), "exp": now.Add(life + p.leeway + time.Second).Unix(), "jti": rand.Text(),
	})
	if p.opaque {
		token = rand.Text()
	}
	if p.fault == LineBreak {
		token += "\r\nX-Injected: 1"
	}
	issued := *g
	issued.expires = now.Add(life)
	issued.leeway = p.leeway
	p.access[token] = &issued
	return token
}

// sign returns a signed JWT.
func (p *Provider) sign(kind string, claims map[string]any) string {
	encode := func(v map[string]any) string {
		text, _ := json.Marshal(v) // texts, numbers and lists always encode
		return base64.RawURLEncoding.EncodeToString(text)
	}
	signed := encode(map[string]any{"alg": "ES256", "typ": kind, "kid": fmt.Sprint(p.keyID)}) + "." + encode(claims)
	hash := sha256.Sum256([]byte(signed))
	r, s, err := ecdsa.Sign(rand.Reader, p.key, hash[:])
	if err != nil {
		panic(err) // never fails
	}
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// HoldRevocations makes the revocation endpoint wait until release is closed.
func (p *Provider) HoldRevocations(release <-chan struct{}) {
	p.set(func() { p.hold = release })
}

// revoke revokes a token (RFC 7009). Unknown tokens are no error.
func (p *Provider) revoke(w http.ResponseWriter, r *http.Request) {
	token := r.PostFormValue("token")
	p.mu.Lock()
	hold := p.hold
	p.mu.Unlock()
	if hold != nil {
		<-hold
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts["revoke"]++
	if p.fault == RevokeDown {
		http.Error(w, "down", http.StatusServiceUnavailable)
		return
	}
	for _, list := range []map[string]*issued{p.access, p.refresh} {
		if t := list[token]; t != nil {
			t.family.revoked = true
		}
	}
}

// oauthError answers 400 with an error code of RFC 6749, section 5.2.
func oauthError(w http.ResponseWriter, code string) {
	writeJSON(w, http.StatusBadRequest, map[string]string{"error": code})
}

// writeJSON answers with a document.
func writeJSON(w http.ResponseWriter, status int, doc any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(doc) // the client may be gone
}
