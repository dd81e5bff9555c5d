package identity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/process"
	"github.com/slipway-mcp/slipway/internal/secrets"
)

// maxServers is how many authorization servers of a resource are tried.
const maxServers = 5

// resourceMetadata is the part of a protected resource's metadata that is used (RFC 9728,
// section 2).
type resourceMetadata struct {
	Resource string `json:"resource"`
	// AuthorizationServers are issuers, of which at most maxServers are considered.
	AuthorizationServers []string `json:"authorization_servers"`
	ScopesSupported      []string `json:"scopes_supported"`
	DPoPRequired         bool     `json:"dpop_bound_access_tokens_required"`
}

// serverMetadata is the part of an authorization server's metadata that is used (RFC 8414,
// section 2, and its extensions).
type serverMetadata struct {
	Issuer                string   `json:"issuer"`
	AuthorizationEndpoint string   `json:"authorization_endpoint"`
	TokenEndpoint         string   `json:"token_endpoint"`
	RegistrationEndpoint  string   `json:"registration_endpoint"`
	RevocationEndpoint    string   `json:"revocation_endpoint"`
	DeviceEndpoint        string   `json:"device_authorization_endpoint"`
	UserInfoEndpoint      string   `json:"userinfo_endpoint"`
	ScopesSupported       []string `json:"scopes_supported"`
	ChallengeMethods      []string `json:"code_challenge_methods_supported"`
	AuthMethods           []string `json:"token_endpoint_auth_methods_supported"`
	AuthSigningAlgorithms []string `json:"token_endpoint_auth_signing_alg_values_supported"`
	DPoPAlgorithms        []string `json:"dpop_signing_alg_values_supported"`
	// IssuerInResponse requires the parameter iss in answers (RFC 9207), and
	// ClientDocumentSupported permits the URL of a document as a client ID.
	IssuerInResponse        bool `json:"authorization_response_iss_parameter_supported"`
	ClientDocumentSupported bool `json:"client_id_metadata_document_supported"`
}

// discovery is what a server and its metadata say about logins.
type discovery struct {
	// resource is the value of the resource parameter.
	resource string
	// scopes are those of the protected resource.
	scopes []string
	// dpop reports that the resource accepts only bound tokens.
	dpop bool
	// server is the metadata of the chosen authorization server.
	server serverMetadata
	// assumed reports that the authorization server has no metadata, so that its endpoints
	// are those of the 2025-03-26 specification.
	assumed bool
}

// discover finds the authorization server of a server and its metadata. issuer, if not
// empty, is the one that the user selected.
func (w *web) discover(
	ctx context.Context,
	server, issuer string,
	d demand,
) (*discovery, error) {
	found := &discovery{dpop: d.dpop}
	doc, err := w.resource(ctx, server, d.metadata)
	switch {
	case errors.Is(err, errNoDocument) && d.metadata != "":
		return nil, fmt.Errorf("%s: no protected resource metadata at %s, which the server names",
			secrets.URL(server), secrets.URL(d.metadata))
	case errors.Is(err, errNoDocument):
		// Servers of older versions of the protocol are their own authorization servers.
		found.resource = canonicalResource(server)
		err := w.withoutResource(ctx, server, issuer, found)
		return found, err
	case err != nil:
		return nil, err
	}
	found.resource = doc.Resource
	found.scopes = mergeScopes(doc.ScopesSupported)
	found.dpop = found.dpop || doc.DPoPRequired
	issuers := doc.AuthorizationServers
	if issuer != "" {
		if len(issuers) > 0 && !slices.Contains(issuers, issuer) {
			return nil, &SetupError{
				Text: fmt.Sprintf("%s does not accept logins of %s", secrets.URL(server), secrets.URL(issuer)),
				Hint: "use one that it names: " + CommandFor(server) + " --issuer " +
					process.ShellWord(secrets.URL(issuers[0])),
			}
		}
		issuers = []string{issuer}
	}
	if len(issuers) == 0 {
		return nil, fmt.Errorf("%s: its metadata names no authorization server", secrets.URL(server))
	}
	// The first failure is reported: the server prefers its first issuer.
	var first error
	for _, candidate := range issuers[:min(len(issuers), maxServers)] {
		meta, err := w.authorizationServer(ctx, candidate)
		if err == nil {
			found.server = *meta
			return found, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// resource fetches and verifies the metadata of a protected resource: at the address that
// the server names, or else at the well-known addresses of its path and of its root.
func (w *web) resource(ctx context.Context, server, named string) (*resourceMetadata, error) {
	addresses := []string{named}
	if named == "" {
		addresses = resourceAddresses(server)
	}
	absent := errNoDocument
	for _, address := range addresses {
		var doc resourceMetadata
		err := w.getJSON(ctx, address, &doc)
		if errors.Is(err, errNoDocument) {
			continue
		}
		if isServerError(err) {
			absent = err
			continue
		}
		if err != nil {
			return nil, err
		}
		if !coversResource(doc.Resource, server) {
			return nil, fmt.Errorf("%s: the metadata at %s is for another resource, %q: nothing was sent to it",
				secrets.URL(server), secrets.URL(address), printable(doc.Resource))
		}
		return &doc, nil
	}
	return nil, absent
}

// isServerError reports whether a server answered, but not with a document. The addresses
// that follow may have one; if none has, it is unknown whether one exists.
func isServerError(err error) bool {
	var e *ServerError
	return errors.As(err, &e)
}

// resourceAddresses are the well-known addresses of a server's metadata, most specific
// first (RFC 9728, section 3.1).
func resourceAddresses(server string) []string {
	const wellKnown = "/.well-known/oauth-protected-resource"
	u, err := url.Parse(server)
	if err != nil {
		return nil
	}
	origin := u.Scheme + "://" + u.Host
	root := origin + wellKnown
	path := strings.TrimSuffix(u.EscapedPath(), "/")
	query := ""
	if u.RawQuery != "" {
		query = "?" + u.RawQuery
	}
	if path == "" && query == "" {
		return []string{root}
	}
	return []string{root + path + query, root}
}

// coversResource reports whether metadata of a resource applies to a server: they are
// equal, or the resource is a parent path on the same origin. RFC 9728 requires equality;
// many servers publish one document for a host.
func coversResource(resource, server string) bool {
	r, err := url.Parse(resource)
	if err != nil || r.Host == "" || r.Fragment != "" {
		return false
	}
	s, err := url.Parse(server)
	if err != nil || originOf(r) != originOf(s) {
		return false
	}
	if r.RawQuery != "" && r.RawQuery != s.RawQuery {
		return false
	}
	parent := strings.TrimSuffix(r.EscapedPath(), "/")
	path := strings.TrimSuffix(s.EscapedPath(), "/")
	return path == parent || strings.HasPrefix(path, parent+"/")
}

// originOf returns scheme, host and port of a URL, without the default port.
func originOf(u *url.URL) string {
	host := strings.ToLower(u.Host)
	scheme := strings.ToLower(u.Scheme)
	switch scheme {
	case "https":
		host = strings.TrimSuffix(host, ":443")
	case "http":
		host = strings.TrimSuffix(host, ":80")
	}
	return scheme + "://" + host
}

// canonicalResource returns the resource identifier of a server without metadata.
func canonicalResource(server string) string {
	u, err := url.Parse(server)
	if err != nil {
		return server
	}
	u.Scheme = strings.ToLower(u.Scheme)
	u.Host = strings.ToLower(u.Host)
	u.Fragment = ""
	if u.Path == "/" {
		u.Path = ""
	}
	return u.String()
}

// withoutResource finds the authorization server of a server without metadata: the issuer
// that the user selected, or as in 2025-03-26 the root of the server.
func (w *web) withoutResource(
	ctx context.Context,
	server, issuer string,
	found *discovery,
) error {
	u, err := url.Parse(server)
	if err != nil {
		return err
	}
	origin := u.Scheme + "://" + u.Host
	chosen := cmp.Or(issuer, origin)
	meta, err := w.authorizationServer(ctx, chosen)
	switch {
	case err == nil:
		found.server = *meta
		return nil
	case chosen != origin || !errors.Is(err, errNoDocument):
		return err
	}
	found.assumed = true
	found.server = serverMetadata{
		Issuer:                origin,
		AuthorizationEndpoint: origin + "/authorize",
		TokenEndpoint:         origin + "/token",
		RegistrationEndpoint:  origin + "/register",
	}
	return nil
}

// noMetadataError is errNoDocument with the issuer that has none.
type noMetadataError struct{ issuer string }

func (e *noMetadataError) Error() string {
	return secrets.URL(e.issuer) + " has no authorization server metadata"
}

// Is makes the error match errNoDocument, for callers that do not need the issuer.
func (e *noMetadataError) Is(target error) bool { return target == errNoDocument }

// authorizationServer fetches and verifies the metadata of an issuer.
func (w *web) authorizationServer(ctx context.Context, issuer string) (*serverMetadata, error) {
	if err := w.checkURL(issuer); err != nil {
		return nil, fmt.Errorf("authorization server: %w", err)
	}
	var absent error = &noMetadataError{issuer}
	for _, address := range MetadataAddresses(issuer) {
		var doc serverMetadata
		err := w.getJSON(ctx, address, &doc)
		if errors.Is(err, errNoDocument) {
			continue
		}
		if isServerError(err) {
			absent = err
			continue
		}
		if err != nil {
			return nil, err
		}
		// RFC 8414, section 3.3: a document of another issuer must not be used. Browsers and
		// libraries add a slash to an empty path, so nothing is normalized here.
		if doc.Issuer != issuer {
			return nil, fmt.Errorf("the metadata at %s is of another issuer, %q: it was not used",
				secrets.URL(address), printable(doc.Issuer))
		}
		if err := w.checkEndpoints(&doc); err != nil {
			return nil, fmt.Errorf("the metadata at %s: %w", secrets.URL(address), err)
		}
		return &doc, nil
	}
	return nil, absent
}

// MetadataAddresses returns the addresses of an issuer's metadata in the order of the
// specification: RFC 8414, then OpenID Connect Discovery with the path inserted and with
// it appended. Each address occurs once. The result is nil if the issuer is not a URL.
func MetadataAddresses(issuer string) []string {
	u, err := url.Parse(issuer)
	if err != nil {
		return nil
	}
	origin := u.Scheme + "://" + u.Host
	path := strings.TrimSuffix(u.EscapedPath(), "/")
	all := []string{
		origin + "/.well-known/oauth-authorization-server" + path,
		origin + "/.well-known/openid-configuration" + path,
	}
	if path != "" {
		all = append(all, origin+path+"/.well-known/openid-configuration")
	}
	return all
}

// checkEndpoints verifies the addresses of an authorization server before any is used.
func (w *web) checkEndpoints(doc *serverMetadata) error {
	if doc.TokenEndpoint == "" {
		return errors.New("token_endpoint is missing")
	}
	for name, address := range map[string]string{
		"authorization_endpoint":        doc.AuthorizationEndpoint,
		"token_endpoint":                doc.TokenEndpoint,
		"registration_endpoint":         doc.RegistrationEndpoint,
		"revocation_endpoint":           doc.RevocationEndpoint,
		"device_authorization_endpoint": doc.DeviceEndpoint,
		"userinfo_endpoint":             doc.UserInfoEndpoint,
	} {
		if address == "" {
			continue
		}
		if err := w.checkURL(address); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
