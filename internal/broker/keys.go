package broker

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/slipway-mcp/slipway/identity"
)

// keyring are the secrets of a broker, as they are in the store.
type keyring struct {
	// Seal seals client IDs and forms, and Refresh authenticates refresh tokens. A new one would
	// make all of them invalid, so they do not rotate.
	Seal    []byte `json:"seal"`
	Refresh []byte `json:"refresh"`
	// Sign are the keys that sign access tokens, newest first.
	Sign []signingKey `json:"sign"`
}

// signingKey is a key for ES256.
type signingKey struct {
	Private []byte `json:"private"`
	// From is when it begins to sign. It is published before that, so that those who verify
	// tokens have it.
	From time.Time `json:"from"`
}

// How signing keys rotate.
const (
	signFor      = 90 * 24 * time.Hour
	publishAhead = time.Hour
	publishAfter = 24 * time.Hour // more than the life of a token
	secretBytes  = 32
)

// kind returns the kind of the entries of the broker in the store: those of another issuer are
// apart.
func (b *Broker) kind(of string) string { return "broker " + of + " " + b.opts.Issuer }

// keyringKey is the name of the only keyring among the records of its kind in the store.
const keyringKey = "1"

// keys returns the secrets, which are created if there are none, and rotated if it is time.
func (b *Broker) keys(ctx context.Context) (*keyring, error) {
	raw, err := b.opts.Store.Read(b.kind("keys"), keyringKey)
	if err != nil {
		return nil, err
	}
	if k, ok := parseKeys(raw); ok && !k.due(b.now()) {
		return k, nil
	}
	var k *keyring
	err = b.opts.Store.Update(ctx, b.kind("keys"), func(all map[string]json.RawMessage) error {
		current, ok := parseKeys(all[keyringKey])
		if !ok {
			if all[keyringKey] != nil {
				return errors.New("the keys for signing in are damaged")
			}
			current = newKeyring()
		}
		if k = current; k.due(b.now()) {
			k.rotate(b.now())
		}
		text, err := json.Marshal(k)
		all[keyringKey] = text
		return err
	})
	return k, err
}

// newKeyring returns two random keys. Tokens and pages that were sealed with other keys are invalid
// from then on.
func newKeyring() *keyring {
	return &keyring{
		Seal:    newSecret(),
		Refresh: newSecret(),
	}
}

func newSecret() []byte {
	secret := make([]byte, secretBytes)
	_, _ = rand.Read(secret) // never fails: it exits the program instead
	return secret
}

// parseKeys reads a stored keyring, and reports whether it is complete. Damaged keys count as
// missing, so the caller replaces them.
func parseKeys(raw json.RawMessage) (*keyring, bool) {
	k := &keyring{}
	if raw == nil ||
		json.Unmarshal(raw, k) != nil ||
		len(k.Seal) != secretBytes ||
		len(k.Refresh) != secretBytes {
		return nil, false
	}
	return k, true
}

// due reports whether a new signing key is needed.
func (k *keyring) due(now time.Time) bool {
	return len(k.Sign) == 0 || now.Sub(k.Sign[0].From) > signFor-publishAhead
}

// rotate adds a signing key, and removes those that no valid token was signed with.
func (k *keyring) rotate(now time.Time) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err) // never fails
	}
	scalar, err := private.Bytes()
	if err != nil {
		panic(err) // never fails for a key that was generated
	}
	from := now
	if len(k.Sign) > 0 {
		from = now.Add(publishAhead)
	}
	kept := []signingKey{{scalar, from}}
	for i, old := range k.Sign {
		if i == 0 || now.Sub(k.Sign[i-1].From) < publishAfter {
			kept = append(kept, old)
		}
	}
	k.Sign = kept
}

// private returns the key, and id its kid.
func (s *signingKey) private() (key *ecdsa.PrivateKey, id string, err error) {
	if key, err = ecdsa.ParseRawPrivateKey(elliptic.P256(), s.Private); err != nil {
		return nil, "", errors.New("a key for signing in is damaged")
	}
	point, err := key.PublicKey.Bytes()
	if err != nil {
		return nil, "", err
	}
	sum := sha256.Sum256(point)
	return key, base64.RawURLEncoding.EncodeToString(sum[:9]), nil
}

// sign returns a signed access token (RFC 9068).
func (k *keyring) sign(claims map[string]any, now time.Time) (string, error) {
	for i := range k.Sign {
		if k.Sign[i].From.After(now) && i < len(k.Sign)-1 {
			continue
		}
		key, id, err := k.Sign[i].private()
		if err != nil {
			return "", err
		}
		return identity.SignJWT(key, id, "at+jwt", claims)
	}
	return "", errors.New("no signing key")
}

// Keys returns the public keys that verify access tokens, as a JWK set (RFC 7517).
func (b *Broker) Keys(ctx context.Context) ([]byte, error) {
	k, err := b.keys(ctx)
	if err != nil {
		return nil, err
	}
	set := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{}}
	for i := range k.Sign {
		key, id, err := k.Sign[i].private()
		if err != nil {
			return nil, err
		}
		set.Keys = append(set.Keys, jose.JSONWebKey{
			Key:       &key.PublicKey,
			KeyID:     id,
			Algorithm: string(jose.ES256),
			Use:       "sig",
		})
	}
	return json.Marshal(set)
}

// sealer returns AES-256-GCM with the key for sealing. Each message gets a random nonce, which is
// stored in front of the text.
func (k *keyring) sealer() cipher.AEAD {
	block, err := aes.NewCipher(k.Seal)
	if err != nil {
		panic(err) // a key of 32 bytes is always accepted
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // never fails for AES
	}
	return aead
}

// seal encrypts and authenticates a value. context is its kind.
func (k *keyring) seal(context string, value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // only texts, numbers and lists are sealed
	}
	return k.sealer().Seal(nil, nil, text, []byte(context))
}

// open reads a sealed value of a kind, and reports whether it is one.
func (k *keyring) open(context string, sealed []byte, into any) bool {
	text, err := k.sealer().Open(nil, nil, sealed, []byte(context))
	return err == nil && json.Unmarshal(text, into) == nil
}

// authenticate returns a code by which a refresh token of this broker is recognized.
func (k *keyring) authenticate(text string) string {
	mac := hmac.New(sha256.New, k.Refresh)
	mac.Write([]byte(text))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
