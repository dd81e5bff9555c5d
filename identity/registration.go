package identity

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/slipway-mcp/slipway/internal/secrets"
)

// Authentication methods of clients at the token endpoint.
const (
	authNone  = "none"
	authBasic = "client_secret_basic"
	authPost  = "client_secret_post"
	authKey   = "private_key_jwt"
)

// registration is our client at one issuer. It is stored, and must not be shown to another
// issuer.
type registration struct {
	ID     string `json:"id"`
	Secret string `json:"secret,omitempty"`
	// Key is a private key in PEM form, and KeyID its kid.
	Key   string `json:"key,omitempty"`
	KeyID string `json:"keyId,omitempty"`
	// Method is the authentication method that the registration returned, or empty.
	Method string `json:"method,omitempty"`
	// Redirect is the callback address that was registered, if the client was.
	Redirect string `json:"redirect,omitempty"`
	// Expires is when the secret expires; zero means never.
	Expires time.Time `json:"expires,omitzero"`
}

// method returns the authentication method to use with a server that supports these; nil
// means that it does not say.
func (r *registration) method(supported []string) string {
	switch {
	case r.Key != "":
		return authKey
	case r.Method == authNone || r.Secret == "":
		return authNone
	case r.Method == authBasic || r.Method == authPost:
		return r.Method
	}
	for _, method := range []string{authBasic, authPost, authNone} {
		if slices.Contains(supported, method) {
			return method
		}
	}
	return authBasic // RFC 8414: the default
}

// assertion returns a signed JWT that authenticates the client at an issuer (RFC 7523,
// section 3).
func (r *registration) assertion(issuer string, now time.Time) (string, error) {
	key, err := parseKey(r.Key)
	if err != nil {
		return "", err
	}
	return sign(key, r.KeyID, "JWT", nil, map[string]any{
		"iss": r.ID,
		"sub": r.ID,
		"aud": issuer,
		"jti": rand.Text(),
		"iat": now.Unix(),
		"exp": now.Add(time.Minute).Unix(),
	})
}

// parseKey reads a private key in PEM form. Its errors do not quote it.
func parseKey(text string) (crypto.Signer, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("the client key is not in PEM form")
	}
	var key any
	var err error
	switch block.Type {
	case "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(block.Bytes)
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	default:
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	}
	signer, ok := key.(crypto.Signer)
	if err != nil || !ok {
		return nil, errors.New("the client key is not an EC, RSA or Ed25519 private key")
	}
	return signer, nil
}

// algorithmOf returns the signature algorithm for a key.
func algorithmOf(key crypto.Signer) (jose.SignatureAlgorithm, error) {
	switch k := key.(type) {
	case *ecdsa.PrivateKey:
		switch k.Curve.Params().BitSize {
		case 256:
			return jose.ES256, nil
		case 384:
			return jose.ES384, nil
		case 521:
			return jose.ES512, nil
		}
	case *rsa.PrivateKey:
		if k.N.BitLen() >= 2048 {
			return jose.RS256, nil
		}
	case ed25519.PrivateKey:
		return jose.EdDSA, nil
	}
	return "", errors.New("the client key is too weak or of an unsupported type")
}

// SignJWT returns a JWT with these claims that is signed with a key. keyID is its kid, and kind its
// typ.
func SignJWT(key crypto.Signer, keyID, kind string, claims map[string]any) (string, error) {
	return sign(key, keyID, kind, nil, claims)
}

// sign returns a signed JWT. embed, if not nil, is the public key to put into its header.
func sign(
	key crypto.Signer,
	keyID, kind string,
	embed *jose.JSONWebKey,
	claims map[string]any,
) (string, error) {
	alg, err := algorithmOf(key)
	if err != nil {
		return "", err
	}
	opts := (&jose.SignerOptions{}).WithType(jose.ContentType(kind))
	if embed != nil {
		opts = opts.WithHeader("jwk", embed)
	}
	if keyID != "" {
		opts = opts.WithHeader("kid", keyID)
	}
	signer, err := jose.NewSigner(jose.SigningKey{
		Algorithm: alg,
		Key:       key,
	}, opts)
	if err != nil {
		return "", err
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		return "", err
	}
	return signed.CompactSerialize()
}

// configured returns the registration that the settings name, or nil.
func configured(ctx context.Context, s *Settings) (*registration, error) {
	if s.Client.ID == "" {
		return nil, nil
	}
	r := &registration{
		ID:    s.Client.ID,
		KeyID: s.Client.KeyID,
	}
	var err error
	if r.Secret, err = s.Client.Secret.read(ctx, "client secret"); err != nil {
		return nil, err
	}
	if r.Key, err = s.Client.Key.read(ctx, "client key"); err != nil {
		return nil, err
	}
	if r.Key != "" {
		if _, err := parseKey(r.Key); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// isDocumentID reports whether a client ID is the address of a client ID metadata
// document.
func isDocumentID(id string) bool {
	u, err := url.Parse(id)
	return err == nil &&
		u.Scheme == "https" &&
		u.Host != "" &&
		u.Path != "" &&
		u.Path != "/" &&
		u.Fragment == ""
}

// clientMetadata is what a registration sends (RFC 7591, section 2).
type clientMetadata struct {
	ClientName   string   `json:"client_name"`
	RedirectURIs []string `json:"redirect_uris,omitempty"`
	GrantTypes   []string `json:"grant_types"`
	// ResponseTypes is not omitted if it is empty: that would mean "code", which requires an
	// address to return to (RFC 7591, section 2).
	ResponseTypes []string `json:"response_types"`
	AuthMethod    string   `json:"token_endpoint_auth_method"`
	// ApplicationType is native or web: OpenID Connect has other rules for the addresses of each.
	ApplicationType string `json:"application_type"`
	DPoPBound       bool   `json:"dpop_bound_access_tokens,omitempty"`
}

// register registers a native client (RFC 7591).
func (w *web) register(
	ctx context.Context,
	m *serverMetadata,
	c *clientMetadata,
) (*registration, error) {
	c.AuthMethod = registeredMethod(m.AuthMethods)
	body, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	resp, text, err := w.post(ctx, m.RegistrationEndpoint, "application/json", body, nil)
	if err != nil {
		return nil, err
	}
	// RFC 7591 requires 201, but some servers answer 200.
	if resp.StatusCode != http.StatusCreated && resp.StatusCode != http.StatusOK {
		failure := serverError(resp, text)
		hint := "register a client there yourself, and pass its ID with --client-id"
		if failure.Code == "invalid_redirect_uri" && len(c.RedirectURIs) > 0 {
			hint += ", and its callback port with --callback-port"
		}
		return nil, &SetupError{
			Text: fmt.Sprintf("%s refuses to register a client: %v", secrets.URL(m.Issuer), failure),
			Hint: hint,
		}
	}
	var answer struct {
		ID      string `json:"client_id"`
		Secret  string `json:"client_secret"`
		Method  string `json:"token_endpoint_auth_method"`
		Expires int64  `json:"client_secret_expires_at"`
	}
	if err := json.Unmarshal(text, &answer); err != nil || answer.ID == "" {
		return nil, fmt.Errorf("%s registered a client, but did not return its client_id", secrets.URL(m.Issuer))
	}
	r := &registration{
		ID:     answer.ID,
		Secret: answer.Secret,
		Method: answer.Method,
	}
	if len(c.RedirectURIs) > 0 {
		r.Redirect = c.RedirectURIs[0]
	}
	if answer.Secret != "" && answer.Expires > 0 {
		r.Expires = time.Unix(answer.Expires, 0)
	}
	return r, nil
}

// registeredMethod returns the authentication method to register: none, as a native
// client cannot keep a secret, unless the server supports only others.
func registeredMethod(supported []string) string {
	if len(supported) == 0 {
		return authNone
	}
	for _, method := range []string{authNone, authBasic, authPost} {
		if slices.Contains(supported, method) {
			return method
		}
	}
	return authNone
}
