// Package authtest is an authorization server and a protected MCP endpoint for tests, in
// one process and on one loopback address. A [Fault] makes them misbehave.
package authtest

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// Fault is a way to misbehave.
type Fault string

// The faults.
const (
	OtherIssuer    Fault = "other-issuer"    // the metadata names another issuer
	OtherResource  Fault = "other-resource"  // the metadata is of another resource
	Redirects      Fault = "redirects"       // the metadata redirects without end
	PrivateServer  Fault = "private"         // the authorization server has a private address
	CloudMetadata  Fault = "cloud-metadata"  // it is the metadata service of a cloud
	HugeDocument   Fault = "huge"            // the metadata has 10 MB
	ScriptAddress  Fault = "javascript"      // the authorization endpoint is javascript:
	FileAddress    Fault = "file"            // the authorization endpoint is file:
	Slow           Fault = "slow"            // the token endpoint never answers
	Down           Fault = "down"            // the token endpoint answers 503
	NoPKCE         Fault = "no-pkce"         // PKCE is not announced
	NoRegistration Fault = "no-registration" // no dynamic registration
	WrongIssuer    Fault = "iss-wrong"       // the callback has another iss
	MissingIssuer  Fault = "iss-missing"     // the callback lacks the announced iss
	Denied         Fault = "denied"          // the user denies the login
	Abandoned      Fault = "abandoned"       // the user closes the page
	NotJSON        Fault = "not-json"        // the token endpoint answers with HTML
	LineBreak      Fault = "line-break"      // the token has a line break
	BoundToken     Fault = "bound-token"     // the token endpoint answers with the type DPoP
	MetadataDown   Fault = "metadata-down"   // the metadata of the authorization server answers 503
	RevokeDown     Fault = "revoke-down"     // the revocation endpoint answers 503
)

// Server is a protected MCP endpoint and its authorization server.
type Server struct {
	// URL is the MCP endpoint, and Issuer the authorization server.
	URL, Issuer string
	web         *httptest.Server
	upstream    http.Handler

	mu     sync.Mutex // guards the following fields
	fault  Fault
	life   time.Duration
	scopes []string // that the endpoint requires
	// codes, access and refresh are what has been issued.
	codes, access, refresh map[string]*issued
	devices                map[string]bool // by device code: approved
	clients                map[string]bool
	counts                 map[string]int
	forms                  []url.Values // of the token endpoint
}

// issued is a code or a token.
type issued struct {
	client, challenge, redirect, scope string
	expires                            time.Time
	family                             *family
	used                               bool
}

// family is what one login has issued.
type family struct{ revoked bool }

// Start starts the servers. upstream answers authorized requests to the endpoint; nil
// answers 200.
func Start(upstream http.Handler) *Server {
	if upstream == nil {
		upstream = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") })
	}
	s := &Server{
		upstream: upstream,
		life:     time.Hour,
		codes:    map[string]*issued{},
		access:   map[string]*issued{},
		refresh:  map[string]*issued{},
		devices:  map[string]bool{},
		clients:  map[string]bool{},
		counts:   map[string]int{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", s.serveMCP)
	mux.HandleFunc("GET /.well-known/oauth-protected-resource/mcp", s.resourceMetadata)
	mux.HandleFunc("GET /.well-known/oauth-authorization-server/as", s.serverMetadata)
	mux.HandleFunc("POST /as/register", s.register)
	mux.HandleFunc("GET /as/authorize", s.authorize)
	mux.HandleFunc("POST /as/token", s.token)
	mux.HandleFunc("POST /as/device", s.device)
	mux.HandleFunc("POST /as/revoke", s.revoke)
	mux.HandleFunc("GET /loop", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/loop?n="+rand.Text(), http.StatusFound)
	})
	s.web = httptest.NewUnstartedServer(mux)
	base := "http://" + s.web.Listener.Addr().String()
	s.URL = base + "/mcp"
	s.Issuer = base + "/as"
	s.web.Start() // last, because a client of an earlier server on this port may call at once
	return s
}

// Close stops the servers.
func (s *Server) Close() { s.web.CloseClientConnections(); s.web.Close() }

// Break makes the servers misbehave; "" repairs them.
func (s *Server) Break(f Fault) { s.set(func() { s.fault = f }) }

// SetLife sets the life of access tokens that are issued from now on.
func (s *Server) SetLife(d time.Duration) { s.set(func() { s.life = d }) }

// Require sets the scopes that the endpoint requires.
func (s *Server) Require(scopes ...string) { s.set(func() { s.scopes = scopes }) }

// Approve approves all device logins that wait.
func (s *Server) Approve() {
	s.set(func() {
		for code := range s.devices {
			s.devices[code] = true
		}
	})
}

// RevokeAll makes all tokens and refresh tokens invalid.
func (s *Server) RevokeAll() {
	s.set(func() {
		for _, list := range []map[string]*issued{s.access, s.refresh} {
			for _, t := range list {
				t.family.revoked = true
			}
		}
	})
}

// ExpireAccess makes all access tokens invalid, but no refresh token.
func (s *Server) ExpireAccess() { s.set(func() { clear(s.access) }) }

// Count returns how often something happened: "register", "authorize", "revoke", a grant
// type, or "reuse" of a refresh token.
func (s *Server) Count(what string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[what]
}

// Forms returns the requests to the token endpoint.
func (s *Server) Forms() []url.Values {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.forms)
}

// Secrets returns all tokens and codes that were issued: none may be printed.
func (s *Server) Secrets() (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, list := range []map[string]*issued{s.codes, s.access, s.refresh} {
		for text := range list {
			all = append(all, text)
		}
	}
	return all
}

func (s *Server) set(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

func (s *Server) has(f Fault) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fault == f
}

// serveMCP refuses requests without a valid token of sufficient scope.
func (s *Server) serveMCP(w http.ResponseWriter, r *http.Request) {
	metadata := s.web.URL + "/.well-known/oauth-protected-resource/mcp"
	_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	s.mu.Lock()
	t := s.access[token]
	valid := t != nil && !t.family.revoked && time.Now().Before(t.expires)
	required := strings.Join(s.scopes, " ")
	enough := valid && !slices.ContainsFunc(s.scopes, func(scope string) bool {
		return !slices.Contains(strings.Fields(t.scope), scope)
	})
	s.mu.Unlock()
	switch {
	case !valid:
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="test, \"quoted\"", resource_metadata=%q, scope="read"`,
			metadata))
		w.WriteHeader(http.StatusUnauthorized)
	case !enough:
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(
			`Bearer error="insufficient_scope", resource_metadata=%q, scope=%q`, metadata, required))
		w.WriteHeader(http.StatusForbidden)
	default:
		s.upstream.ServeHTTP(w, r)
	}
}

func (s *Server) resourceMetadata(w http.ResponseWriter, r *http.Request) {
	resource := s.URL
	issuer := s.Issuer
	switch {
	case s.has(Redirects):
		http.Redirect(w, r, "/loop", http.StatusFound)
		return
	case s.has(HugeDocument):
		_, _ = io.WriteString(w, `{"resource":"`+s.URL+`","x":"`)
		_, _ = w.Write(slices.Repeat([]byte("a"), 10<<20))
		_, _ = io.WriteString(w, `"}`)
		return
	case s.has(OtherResource):
		resource = "https://evil.example/mcp"
	case s.has(PrivateServer):
		issuer = "https://10.1.2.3/as"
	case s.has(CloudMetadata):
		issuer = "https://169.254.169.254/latest"
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"resource":              resource,
		"authorization_servers": []string{issuer},
		"scopes_supported":      []string{"read", "write"},
	})
}

func (s *Server) serverMetadata(w http.ResponseWriter, _ *http.Request) {
	if s.has(MetadataDown) {
		http.Error(w, "down", http.StatusServiceUnavailable)
		return
	}
	doc := map[string]any{
		"issuer":                                         s.Issuer,
		"authorization_endpoint":                         s.Issuer + "/authorize?tenant=1",
		"token_endpoint":                                 s.Issuer + "/token",
		"registration_endpoint":                          s.Issuer + "/register",
		"revocation_endpoint":                            s.Issuer + "/revoke",
		"device_authorization_endpoint":                  s.Issuer + "/device",
		"code_challenge_methods_supported":               []string{"plain", "S256"},
		"scopes_supported":                               []string{"read", "write", "offline_access"},
		"token_endpoint_auth_methods_supported":          []string{"none", "client_secret_basic", "client_secret_post"},
		"authorization_response_iss_parameter_supported": true,
	}
	switch {
	case s.has(OtherIssuer):
		doc["issuer"] = s.Issuer + "/"
	case s.has(ScriptAddress):
		doc["authorization_endpoint"] = "javascript:alert(1)"
	case s.has(FileAddress):
		doc["authorization_endpoint"] = "file:///etc/passwd"
	case s.has(NoPKCE):
		delete(doc, "code_challenge_methods_supported")
	case s.has(NoRegistration):
		delete(doc, "registration_endpoint")
	}
	writeJSON(w, http.StatusOK, doc)
}

func (s *Server) register(w http.ResponseWriter, r *http.Request) {
	var doc map[string]any
	if json.NewDecoder(r.Body).Decode(&doc) != nil || doc["application_type"] != "native" {
		oauthError(w, "invalid_client_metadata")
		return
	}
	id := "client-" + rand.Text()
	s.set(func() {
		s.counts["register"]++
		s.clients[id] = true
	})
	writeJSON(w, http.StatusCreated, map[string]any{
		"client_id":                  id,
		"token_endpoint_auth_method": "none",
	})
}

// authorize approves at once, as if the user had a session.
func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	s.mu.Lock()
	known := s.clients[q.Get("client_id")] || strings.HasPrefix(q.Get("client_id"), "fixed")
	s.counts["authorize"]++
	s.mu.Unlock()
	back, err := url.Parse(q.Get("redirect_uri"))
	if err != nil || !known || q.Get("tenant") != "1" || q.Get("resource") == "" ||
		q.Get("code_challenge_method") != "S256" || s.has(Abandoned) {
		http.Error(w, "the login page", http.StatusOK)
		return
	}
	code := "code-" + rand.Text()
	answer := url.Values{
		"state": {q.Get("state")},
		"iss":   {s.Issuer},
		"code":  {code},
	}
	switch {
	case s.has(WrongIssuer):
		answer.Set("iss", "https://evil.example")
	case s.has(MissingIssuer):
		answer.Del("iss")
	case s.has(Denied):
		answer.Del("code")
		answer.Set("error", "access_denied")
		answer.Set("error_description", "the user said\x1b[31m no")
	}
	s.set(func() {
		s.codes[code] = &issued{
			client:    q.Get("client_id"),
			challenge: q.Get("code_challenge"),
			redirect:  q.Get("redirect_uri"),
			scope:     q.Get("scope"),
			expires:   time.Now().Add(time.Minute),
			family:    &family{},
		}
	})
	back.RawQuery = answer.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

// token answers the token endpoint.
func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	form := r.PostForm
	grant := form.Get("grant_type")
	s.set(func() {
		s.counts[grant]++
		s.forms = append(s.forms, form)
	})
	switch {
	case s.has(Slow):
		<-r.Context().Done()
		return
	case s.has(Down):
		http.Error(w, "down", http.StatusServiceUnavailable)
		return
	case s.has(NotJSON):
		_, _ = io.WriteString(w, "<html>welcome</html>")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch grant {
	case "authorization_code":
		c := s.codes[form.Get("code")]
		hash := sha256.Sum256([]byte(form.Get("code_verifier")))
		if c == nil || c.used || c.redirect != form.Get("redirect_uri") || c.client != form.Get("client_id") ||
			c.challenge != base64.RawURLEncoding.EncodeToString(hash[:]) || form.Get("resource") != s.URL {
			oauthError(w, "invalid_grant")
			return
		}
		c.used = true
		s.issue(w, c.client, c.scope, c.family, true)
	case "refresh_token":
		t := s.refresh[form.Get("refresh_token")]
		if t != nil && t.used {
			s.counts["reuse"]++
			t.family.revoked = true
		}
		if t == nil || t.used || t.family.revoked || t.client != form.Get("client_id") || form.Get("resource") != s.URL {
			oauthError(w, "invalid_grant")
			return
		}
		t.used = true
		s.issue(w, t.client, t.scope, t.family, true)
	case "client_credentials":
		id, secret, _ := r.BasicAuth()
		if id != "fixed%20id" && id != "fixed+id" || secret != "s%3Acret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		s.issue(w, id, form.Get("scope"), &family{}, false)
	case "urn:ietf:params:oauth:grant-type:device_code":
		approved, known := s.devices[form.Get("device_code")]
		switch {
		case !known:
			oauthError(w, "expired_token")
		case !approved:
			oauthError(w, "authorization_pending")
		default:
			s.issue(w, form.Get("client_id"), "read", &family{}, true)
		}
	default:
		oauthError(w, "unsupported_grant_type")
	}
}

// issue answers with new tokens. The caller holds the lock.
func (s *Server) issue(w http.ResponseWriter, client, scope string, f *family, refreshable bool) {
	t := &issued{
		client:  client,
		scope:   scope,
		expires: time.Now().Add(s.life),
		family:  f,
	}
	access := "access-" + rand.Text()
	if s.fault == LineBreak {
		access += "\r\nX-Injected: 1"
	}
	kind := "bearer"
	if s.fault == BoundToken {
		kind = "DPoP"
	}
	s.access[access] = t
	doc := map[string]any{
		"access_token": access,
		"token_type":   kind,
		"expires_in":   fmt.Sprintf("%.3f", s.life.Seconds()), // a string, as some servers send
	}
	if refreshable {
		next := *t
		refresh := "refresh-" + rand.Text()
		s.refresh[refresh] = &next
		doc["refresh_token"] = refresh
	}
	writeJSON(w, http.StatusOK, doc)
}

func (s *Server) device(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	code := "device-" + rand.Text()
	s.set(func() { s.devices[code] = false })
	writeJSON(w, http.StatusOK, map[string]any{
		"device_code":      code,
		"user_code":        "WDJB-MJHT",
		"verification_uri": s.Issuer + "/activate",
		"expires_in":       60,
		"interval":         1,
	})
}

func (s *Server) revoke(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts["revoke"]++
	if s.fault == RevokeDown {
		http.Error(w, "down", http.StatusServiceUnavailable)
		return
	}
	for _, list := range []map[string]*issued{s.access, s.refresh} {
		if t := list[r.PostForm.Get("token")]; t != nil {
			t.family.revoked = true
		}
	}
}

func oauthError(w http.ResponseWriter, code string) {
	writeJSON(w, http.StatusBadRequest, map[string]string{"error": code})
}

func writeJSON(w http.ResponseWriter, status int, doc any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(doc) // the client may be gone
}
