package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/slipway-mcp/slipway/internal/base64url"
	"github.com/slipway-mcp/slipway/internal/broker"
	"github.com/slipway-mcp/slipway/mcp"
)

// JWTOptions configure [NewJWT]. Issuer and Audience are required. Tokens of several issuers
// need one [JWT] each.
type JWTOptions struct {
	// Issuer is the required iss of tokens, and where they come from.
	Issuer string
	// Audience lists the accepted audiences: the aud of a token must contain one of these
	// (RFC 8707); otherwise a token for another server would be accepted here. It is usually
	// the address of the endpoint, such as https://mcp.example.com/mcp.
	Audience []string
	// JWKSURL is where the issuer publishes its keys; "" reads the address from the issuer's
	// metadata (RFC 8414, or OpenID Connect Discovery). It must be https, except for
	// loopback addresses.
	JWKSURL string
	// Keys, if not nil, returns the keys as a JWK set, and nothing is fetched.
	Keys func(ctx context.Context) ([]byte, error)
	// Algorithms are the accepted signature algorithms; nil means EdDSA and all of ES, PS
	// and RS. Others, such as none and those with a shared secret, are not supported.
	Algorithms []string
	// Claims names the claims that become part of the principal.
	Claims ClaimOptions
	// AccessTokensOnly accepts only tokens whose typ is at+jwt (RFC 9068). Otherwise typ may
	// also be JWT or missing, as with many issuers.
	AccessTokensOnly bool
	// Leeway is the tolerated clock difference; 0 means 30 seconds.
	Leeway time.Duration

	// Refresh is the age at which keys are fetched again, in the background; 0 means 15
	// minutes. Until that succeeds, they stay in use up to the age Stale; 0 means 24 hours.
	Refresh, Stale time.Duration
	// Pause is the minimum time between two fetches, however many tokens with unknown keys
	// arrive, and ten times that after a failed one; 0 means 1 second. Up to 256 requests
	// with such tokens wait for the fetch, and 32 of one address (for IPv6, one /64 network)
	// unless there are no keys yet; more are asked to come back.
	Pause time.Duration
	// Timeout bounds a fetch; 0 means 5 seconds.
	Timeout time.Duration
	// Client makes the fetches; nil means http.DefaultClient.
	Client *http.Client
}

// JWT is a [Verifier] for JSON Web Tokens of one issuer (RFC 7519, RFC 9068). The
// principal's name is the issuer, "#" and the token's sub; its scopes are those of the scope
// or scp claim, and the rest is as [ClaimOptions] says.
type JWT struct {
	opts  JWTOptions
	paths *claimPaths
	// algorithms are those that the options permit. The header of a token never widens
	// them (RFC 8725, section 3.1).
	algorithms []jose.SignatureAlgorithm
	keys       *keySet
	seen       verified
	// broker, if not nil, issues the tokens.
	broker *broker.Broker
}

var _ Verifier = (*JWT)(nil)

// allowedAlgorithms returns the algorithms whose signatures are verified with a public
// key.
func allowedAlgorithms() []jose.SignatureAlgorithm {
	return []jose.SignatureAlgorithm{
		jose.EdDSA, jose.ES256, jose.ES384, jose.ES512,
		jose.PS256, jose.PS384, jose.PS512, jose.RS256, jose.RS384, jose.RS512,
	}
}

// NewJWT returns a verifier for the tokens of an issuer. opts is required, and copied.
// Nothing is fetched until [Serve] starts, or the first token arrives. The error is an issuer or JWKS URL that
// is neither https nor on this machine, a missing audience, or an algorithm that is not
// allowed.
func NewJWT(opts *JWTOptions) (*JWT, error) {
	v := &JWT{opts: *opts}
	o := &v.opts
	if _, err := secureURL(o.Issuer); err != nil {
		return nil, fmt.Errorf("issuer: %w", err)
	}
	if len(o.Audience) == 0 || slices.Contains(o.Audience, "") {
		return nil, errors.New("jwt: without an audience, tokens for other servers would be accepted")
	}
	var err error
	if v.paths, err = o.Claims.parse(); err != nil {
		return nil, fmt.Errorf("jwt: %w", err)
	}
	if o.JWKSURL != "" {
		if _, err := secureURL(o.JWKSURL); err != nil {
			return nil, fmt.Errorf("JWKS URL: %w", err)
		}
	}
	allowed := allowedAlgorithms()
	for _, name := range o.Algorithms {
		if !slices.Contains(allowed, jose.SignatureAlgorithm(name)) {
			return nil, fmt.Errorf("jwt: algorithm %q: want one of %v", name, allowed)
		}
		v.algorithms = append(v.algorithms, jose.SignatureAlgorithm(name))
	}
	if len(v.algorithms) == 0 {
		v.algorithms = allowed
	}
	o.Leeway = cmp.Or(max(o.Leeway, 0), 30*time.Second)
	o.Refresh = cmp.Or(max(o.Refresh, 0), 15*time.Minute)
	o.Stale = cmp.Or(max(o.Stale, 0), 24*time.Hour)
	o.Pause = cmp.Or(max(o.Pause, 0), time.Second)
	o.Timeout = cmp.Or(max(o.Timeout, 0), 5*time.Second)
	v.keys = newKeySet(o)
	v.seen.seed = maphash.MakeSeed()
	return v, nil
}

// Verify implements [Verifier].
func (v *JWT) Verify(ctx context.Context, token string) (*mcp.Principal, error) {
	if strings.Count(token, ".") != 2 {
		return nil, invalid("not a JWT")
	}
	now := time.Now()
	keys := v.keys.loaded(now)
	if keys != nil {
		if p, session := v.seen.get(token, keys, now); p != nil {
			if err := v.checkSession(session); err != nil {
				return nil, err
			}
			return p, nil
		}
	}
	if !isCanonical(token) {
		return nil, invalid("not in canonical base64url")
	}
	parsed, err := jwt.ParseSigned(token, v.algorithms)
	if err != nil || len(parsed.Headers) != 1 {
		return nil, invalid("not a JWT that is accepted here")
	}
	header := parsed.Headers[0]
	if err := v.checkType(header); err != nil {
		return nil, err
	}
	// A token of another issuer must not make this one fetch keys. The claim is verified below.
	var unverified struct {
		Issuer string `json:"iss"`
	}
	if parsed.UnsafeClaimsWithoutVerification(&unverified) != nil || unverified.Issuer != v.opts.Issuer {
		return nil, invalid("not a token of %s", v.opts.Issuer)
	}
	// A token is verified against one version of the keys, even while new ones arrive.
	if keys == nil || !keys.has(header.KeyID) {
		if keys, err = v.keys.withID(ctx, header.KeyID); err != nil {
			return nil, err
		}
	}
	var c claims
	var all map[string]json.RawMessage
	err = checkSignature(parsed, keys.candidates(header), &c, &all)
	if err != nil && header.KeyID == "" {
		// The token does not name its key, so only its signature shows that the key is new.
		if keys, err = v.keys.newer(ctx, keys); err != nil {
			return nil, err
		}
		err = checkSignature(parsed, keys.candidates(header), &c, &all)
	}
	if err != nil {
		return nil, err
	}
	if err := v.checkClaims(&c, now); err != nil {
		return nil, err
	}
	p, err := v.principal(&c)
	if err != nil {
		return nil, err
	}
	if err := v.paths.apply(p, all); err != nil {
		return nil, err
	}
	if err := v.checkSession(c.Session); err != nil {
		return nil, err
	}
	v.seen.add(token, keys, p, c.Session, c.Expiry.Time())
	return p, nil
}

// checkSession returns an error if the session of a token of a broker has ended.
func (v *JWT) checkSession(id string) error {
	if v.broker == nil {
		return nil
	}
	active, err := v.broker.Active(id)
	if err == nil && !active {
		return invalid("its session has ended")
	}
	return err
}

// isCanonical reports whether each part of a token is the canonical encoding of its bytes
// (RFC 7515, section 2): without padding, line breaks or unused bits. A token then has a
// single form, by which logs and lists of revoked tokens can find it.
func isCanonical(token string) bool {
	for part := range strings.SplitSeq(token, ".") {
		if _, err := base64url.Decode(part); err != nil {
			return false
		}
	}
	return true
}

// checkType rejects tokens that the issuer signed for another purpose (RFC 9068, section
// 4): ID tokens, logout tokens, proofs of possession.
func (v *JWT) checkType(header jose.Header) error {
	value, given := header.ExtraHeaders[jose.HeaderType]
	typ, ok := value.(string)
	if given && !ok {
		return invalid("typ is not a string")
	}
	switch strings.TrimPrefix(strings.ToLower(typ), "application/") {
	case "at+jwt":
		return nil
	case "jwt", "":
		if !v.opts.AccessTokensOnly {
			return nil
		}
	}
	return invalid("typ %.40q is not that of an access token", typ)
}

// checkSignature reads the claims with the first key that has signed the token. all are the
// same claims by name.
func checkSignature(
	token *jwt.JSONWebToken, keys []jose.JSONWebKey, c *claims, all *map[string]json.RawMessage,
) error {
	for i := range keys {
		if token.Claims(keys[i].Key, c, all) == nil {
			return nil
		}
		*c = claims{}
		*all = nil
	}
	return invalid("not signed by a key of the issuer")
}

// checkClaims verifies issuer, audience and times, and rejects tokens that were issued
// for another purpose than access.
func (v *JWT) checkClaims(c *claims, now time.Time) error {
	if c.Expiry == nil {
		return invalid("no exp")
	}
	expected := jwt.Expected{
		Issuer:      v.opts.Issuer,
		AnyAudience: v.opts.Audience,
		Time:        now,
	}
	if v.opts.Claims.AllowNoAudience && len(c.Audience) == 0 {
		expected.AnyAudience = nil
	}
	err := c.ValidateWithLeeway(expected, v.opts.Leeway)
	switch {
	case errors.Is(err, jwt.ErrInvalidAudience):
		return invalid("its audience is %.200q, want one of %q", c.Audience, v.opts.Audience)
	case errors.Is(err, jwt.ErrExpired):
		return invalid("it expired at %s", c.Expiry.Time().UTC().Format(time.RFC3339))
	case errors.Is(err, jwt.ErrNotValidYet):
		return invalid("it is not valid before %s", c.NotBefore.Time().UTC().Format(time.RFC3339))
	case errors.Is(err, jwt.ErrIssuedInTheFuture):
		return invalid("it was issued in the future, at %s", c.IssuedAt.Time().UTC().Format(time.RFC3339))
	case err != nil:
		return invalid("%w", err)
	}
	switch {
	case given(c.Confirmation):
		return invalid("bound to a key by cnf, so it is not a bearer token")
	case given(c.AccessTokenHash), given(c.CodeHash), given(c.Events):
		return invalid("an ID token or a logout token")
	case given(c.Nonce) && !given(c.Scope) && !given(c.Scp):
		return invalid("an ID token: it has a nonce and no scopes")
	}
	for _, use := range []json.RawMessage{c.Typ, c.TokenUse} {
		if given(use) && !isAccessUse(use) {
			return invalid("its typ or token_use is not that of an access token")
		}
	}
	return nil
}

// given reports whether a token has a claim.
func given(raw json.RawMessage) bool {
	return len(raw) > 0 && string(raw) != "null"
}

// isAccessUse reports whether a claim that states the use of a token is that of an access
// token.
func isAccessUse(raw json.RawMessage) bool {
	var use string
	if json.Unmarshal(raw, &use) != nil {
		return false
	}
	return slices.Contains([]string{"access", "access_token", "at+jwt", "bearer", "jwt"}, strings.ToLower(use))
}

// claims are the claims used here.
type claims struct {
	jwt.Claims
	// ClientID is from RFC 9068, and AuthorizedParty what OpenID Connect has in its place.
	ClientID        string `json:"client_id"`
	AuthorizedParty string `json:"azp"`
	// Scope is a text of words (RFC 9068), and Scp what some issuers use in its place: a
	// text or a list.
	Scope json.RawMessage `json:"scope"`
	Scp   json.RawMessage `json:"scp"`

	// Claims of tokens other than plain access tokens.
	Confirmation    json.RawMessage `json:"cnf"`     // RFC 7800
	AccessTokenHash json.RawMessage `json:"at_hash"` // of ID tokens
	CodeHash        json.RawMessage `json:"c_hash"`  // of ID tokens
	Nonce           json.RawMessage `json:"nonce"`   // of ID tokens; some issuers also include it in access tokens
	Events          json.RawMessage `json:"events"`  // of logout tokens, RFC 8417
	Typ             json.RawMessage `json:"typ"`     // Keycloak: Bearer, ID, Refresh
	TokenUse        json.RawMessage `json:"token_use"`

	// Session and Provider are used in the tokens of a broker alone.
	Session  string `json:"sid"`
	Provider string `json:"idp"`
}

// maxName bounds the name of a principal, which is stored with sessions.
const maxName = 512

// principal returns the holder of a token that has been verified.
func (v *JWT) principal(c *claims) (*mcp.Principal, error) {
	if v.broker != nil {
		// The caller is the same as with a token of the provider itself.
		if c.Issuer = c.Provider; c.Issuer != v.broker.Provider().Issuer() {
			return nil, invalid("its user signed in at another identity provider")
		}
	}
	return holderOf(c, &v.opts.Claims)
}

// holderOf returns the principal that claims are about.
func holderOf(c *claims, o *ClaimOptions) (*mcp.Principal, error) {
	client := cmp.Or(c.ClientID, c.AuthorizedParty)
	holder := c.Subject
	if o.AllowNoSubject {
		holder = cmp.Or(holder, client)
	}
	if holder == "" || len(c.Issuer)+len(holder) >= maxName || len(client) >= maxName {
		return nil, invalid("no sub, or one that is too long")
	}
	p := &mcp.Principal{
		Name:     c.Issuer + "#" + holder,
		Issuer:   c.Issuer,
		Subject:  holder,
		Client:   client,
		Audience: c.Audience,
		Scopes:   append(scopesIn(c.Scope), scopesIn(c.Scp)...),
	}
	if c.Expiry != nil {
		p.Expires = c.Expiry.Time()
	}
	return p, nil
}

// scopesIn reads scopes in the forms that issuers use: a string of words separated only
// by spaces (RFC 8693), or an array.
func scopesIn(raw json.RawMessage) []string {
	var words string
	if json.Unmarshal(raw, &words) == nil {
		return strings.FieldsFunc(words, func(r rune) bool { return r == ' ' })
	}
	var list []string
	if json.Unmarshal(raw, &list) == nil {
		return list
	}
	return nil
}

// verified caches valid tokens, so that a frequently used token is rarely verified again.
// It belongs to one version of the keys: tokens signed with a withdrawn key are no longer
// valid.
//
// Tokens are looked up by a hash with a secret seed, and compared only if the whole hash
// is equal, so the time it takes reveals nothing to an attacker who guesses tokens.
type verified struct {
	seed maphash.Seed
	mu   sync.RWMutex
	// keys are those that the tokens were verified with: new keys empty the cache.
	keys *keys
	byID map[uint64]remembered
}

// remembered is a token that was verified, until it expires.
type remembered struct {
	// token is compared in full, because hashes can collide.
	token     string
	principal *mcp.Principal
	session   string // of a broker
	until     time.Time
}

// maxVerified limits the tokens that are remembered. A forgotten token is verified again.
const maxVerified = 10_000

// get returns the principal of a token that was verified with the same keys and has not
// expired, or nil.
func (v *verified) get(token string, k *keys, now time.Time) (p *mcp.Principal, session string) {
	id := maphash.String(v.seed, token)
	v.mu.RLock()
	defer v.mu.RUnlock()
	if v.keys != k {
		return nil, ""
	}
	r, ok := v.byID[id]
	if ok && r.token == token && now.Before(r.until) {
		return r.principal, r.session
	}
	return nil, ""
}

// add stores a token that is valid until a time. The clone keeps the request's header from
// staying in memory.
func (v *verified) add(
	token string,
	k *keys,
	p *mcp.Principal,
	session string,
	until time.Time,
) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.keys != k || v.byID == nil {
		v.keys = k
		v.byID = make(map[uint64]remembered)
	}
	if len(v.byID) >= maxVerified {
		v.forget(time.Now())
	}
	v.byID[maphash.String(v.seed, token)] = remembered{strings.Clone(token), p, session, until}
}

// forget makes room: it drops expired tokens or, if there are none, a tenth of all
// tokens.
func (v *verified) forget(now time.Time) {
	before := len(v.byID)
	n := 0
	for id, r := range v.byID {
		if !now.Before(r.until) {
			delete(v.byID, id)
		}
	}
	if len(v.byID) < before {
		return
	}
	for id := range v.byID {
		if n++; n > maxVerified/10 {
			return
		}
		delete(v.byID, id)
	}
}
