package identity

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// maxNonce is the maximum length of a nonce of a server.
const maxNonce = 1 << 10

// proofKey is the key to which tokens are bound (RFC 9449), with the nonces of servers. It
// is safe for concurrent use.
type proofKey struct {
	key *ecdsa.PrivateKey
	// stored is the key as it was read from the store, or empty.
	stored string

	mu     sync.Mutex // guards nonces
	nonces map[string]string
}

// newProofKey returns a new key.
func newProofKey() (*proofKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	return &proofKey{key: key}, nil
}

// parseProofKey reads a stored key.
func parseProofKey(text string) (*proofKey, error) {
	signer, err := parseKey(text)
	if err != nil {
		return nil, err
	}
	key, ok := signer.(*ecdsa.PrivateKey)
	if !ok {
		return nil, errors.New("the stored key of the login is not an EC key")
	}
	return &proofKey{
		key:    key,
		stored: text,
	}, nil
}

// encode returns the key for the store.
func (k *proofKey) encode() (string, error) {
	der, err := x509.MarshalECPrivateKey(k.key)
	if err != nil {
		return "", err
	}
	return string(pem.EncodeToMemory(&pem.Block{
		Type:  "EC PRIVATE KEY",
		Bytes: der,
	})), nil
}

// prove returns a proof for one request. access is the token that it presents, or empty.
func (k *proofKey) prove(method, address, access string, now time.Time) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	claims := map[string]any{
		"jti": rand.Text(),
		"htm": method,
		"htu": originOf(u) + u.EscapedPath(),
		"iat": now.Unix(),
	}
	if access != "" {
		hash := sha256.Sum256([]byte(access))
		claims["ath"] = base64.RawURLEncoding.EncodeToString(hash[:])
	}
	k.mu.Lock()
	nonce := k.nonces[originOf(u)]
	k.mu.Unlock()
	if nonce != "" {
		claims["nonce"] = nonce
	}
	return sign(k.key, "", "dpop+jwt", &jose.JSONWebKey{Key: k.key.Public()}, claims)
}

// remember keeps the nonce of a response for the next proof to that server, and reports
// whether it is a new one.
func (k *proofKey) remember(address string, h http.Header) bool {
	nonce := h.Get("DPoP-Nonce")
	u, err := url.Parse(address)
	if err != nil || nonce == "" || len(nonce) > maxNonce {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.nonces == nil {
		k.nonces = map[string]string{}
	}
	changed := k.nonces[originOf(u)] != nonce
	k.nonces[originOf(u)] = nonce
	return changed
}
