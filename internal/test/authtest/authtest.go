// Package authtest is an authorization server for tests ([Provider]), and one together with a
// protected MCP endpoint on one loopback address ([Server]). A [Fault] makes them misbehave.
package authtest

import (
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
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
	NoLoginPage    Fault = "no-login-page"   // there is no authorization endpoint
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

// Server is a protected MCP endpoint with a [Provider] that has one user, who approves at once.
type Server struct {
	*Provider

	// URL is the MCP endpoint.
	URL      string
	upstream http.Handler
	scopes   []string // that the endpoint requires; guarded by Provider.mu
}

// Start starts the servers. upstream answers authorized requests to the endpoint; nil
// answers 200.
func Start(upstream http.Handler) *Server {
	if upstream == nil {
		upstream = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "{}")
		})
	}
	s := &Server{
		Provider: newProvider(true),
		upstream: upstream,
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", s.serveMCP)
	mux.HandleFunc("GET /.well-known/oauth-protected-resource/mcp", s.resourceMetadata)
	mux.HandleFunc("GET /loop", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/loop?n="+rand.Text(), http.StatusFound)
	})
	s.serve(mux, "/as")
	s.web = httptest.NewUnstartedServer(mux)
	base := "http://" + s.web.Listener.Addr().String()
	s.URL = base + "/mcp"
	s.Issuer = base + "/as"
	s.web.Start() // last, because a client of an earlier server on this port may call at once
	return s
}

// Require sets the scopes that the endpoint requires.
func (s *Server) Require(scopes ...string) { s.set(func() { s.scopes = scopes }) }

// serveMCP refuses requests without a valid token of sufficient scope.
func (s *Server) serveMCP(w http.ResponseWriter, r *http.Request) {
	metadata := s.web.URL + "/.well-known/oauth-protected-resource/mcp"
	_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	s.mu.Lock()
	t := s.access[token]
	valid := t.valid(s.URL)
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

// resourceMetadata serves the metadata of the server (RFC 9728), or a document that a client must
// refuse.
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
