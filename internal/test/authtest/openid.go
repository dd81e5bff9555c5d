package authtest

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// openID is what a provider says about its users by OpenID Connect. It is guarded by the lock of
// the provider.
type openID struct {
	claims map[string]map[string]any // of ID tokens, by user
	fault  string
}

// SetClaims sets the additional claims of the ID tokens of a user.
func (p *Provider) SetClaims(user string, claims map[string]any) {
	p.set(func() {
		if p.openID.claims == nil {
			p.openID.claims = map[string]map[string]any{}
		}
		p.openID.claims[user] = claims
	})
}

// BreakID makes the nonce, aud, iss, sub or exp of ID tokens wrong, or all ID tokens missing; ""
// repairs them.
func (p *Provider) BreakID(fault string) { p.set(func() { p.openID.fault = fault }) }

// isOpenID reports whether a request is one of OpenID Connect, which needs no resource.
func isOpenID(scope string) bool { return slices.Contains(strings.Fields(scope), "openid") }

// idTokenLocked returns an ID token.
func (p *Provider) idTokenLocked(g *issued) string {
	claims := map[string]any{
		"iss": p.Issuer,
		"sub": g.user,
		"aud": g.client,
		"exp": time.Now().Add(time.Minute).Unix(),
	}
	if g.nonce != "" {
		claims["nonce"] = g.nonce
	}
	maps.Copy(claims, p.openID.claims[g.user])
	switch fault := p.openID.fault; fault {
	case "exp":
		claims["exp"] = time.Now().Add(-time.Hour).Unix()
	case "nonce", "aud", "iss", "sub":
		claims[fault] = "another"
	}
	return p.sign("JWT", claims)
}

// userInfo describes the user of a token.
func (p *Provider) userInfo(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts["userinfo"]++
	t := p.access[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	if t == nil || !t.valid(t.resource) {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"sub":      t.user,
		"nickname": t.user,
	})
}
