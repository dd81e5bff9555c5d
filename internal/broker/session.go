package broker

import (
	"cmp"
	"context"
	"crypto/hmac"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/internal/order"
	"github.com/slipway-mcp/slipway/mcp"
)

// session is what a client got consent for: a chain of refresh tokens, of which the last one is
// valid. It is in the store.
type session struct {
	// Client is the digest of the ID of the client, ClientID what policies and logs call it, and
	// Name what it calls itself.
	Client   string   `json:"client"`
	ClientID string   `json:"clientId"`
	Name     string   `json:"name,omitempty"`
	Resource string   `json:"resource"`
	Scopes   []string `json:"scopes,omitempty"`

	// Issuer, Subject and the rest describe the caller.
	Issuer  string              `json:"issuer"`
	Subject string              `json:"subject"`
	Groups  []string            `json:"groups,omitempty"`
	Roles   []string            `json:"roles,omitempty"`
	Tenant  string              `json:"tenant,omitempty"`
	Claims  map[string][]string `json:"claims,omitempty"`
	// Tokens are those of the provider.
	Tokens identity.UserTokens `json:"tokens"`

	// Generation is the number of the valid refresh token, which was issued at Rotated.
	Generation int       `json:"generation"`
	Rotated    time.Time `json:"rotated"`
	Created    time.Time `json:"created"`
}

// Limits of sessions, which all fit into a store.
const (
	maxSessions          = 1900
	maxSessionsPerCaller = 32
	maxSessionBytes      = 96 << 10
	maxSessionsBytes     = 8 << 20
	// grace is how long the previous refresh token still gets the current one again: the answer
	// with it may be lost, or two requests of the client may overlap.
	grace = 30 * time.Second
)

// principalName returns the name of the user, as in [mcp.Principal].
func (s *session) principalName() string { return s.Issuer + "#" + s.Subject }

// describe replaces what is known about the caller.
func (s *session) describe(p *mcp.Principal) {
	s.Issuer = p.Issuer
	s.Subject = p.Subject
	s.Groups = p.Groups
	s.Roles = p.Roles
	s.Tenant = p.Tenant
	s.Claims = p.Claims
}

// parseSession reads a stored session. A missing one is nil without an error.
func parseSession(raw json.RawMessage) (*session, error) {
	if raw == nil {
		return nil, nil
	}
	s := &session{}
	if err := json.Unmarshal(raw, s); err != nil {
		return nil, errors.New("a stored session is damaged")
	}
	return s, nil
}

// session returns the session with an ID, or nil.
func (b *Broker) session(id string) (*session, error) {
	raw, err := b.opts.Store.Read(b.kind("session"), id)
	if err != nil {
		return nil, err
	}
	s, err := parseSession(raw)
	if s != nil && b.now().Sub(s.Rotated) > b.opts.SessionLife {
		return nil, nil
	}
	return s, err
}

// Active reports whether the session that an access token belongs to has not ended. It is called
// for each request.
func (b *Broker) Active(id string) (bool, error) {
	raw, err := b.opts.Store.Read(b.kind("session"), id)
	return raw != nil, err
}

// updateSessions changes the stored sessions. Afterwards it removes sessions that have ended, and
// the longest unused ones beyond the limits, but not the one with the ID kept.
func (b *Broker) updateSessions(
	ctx context.Context, kept string, change func(all map[string]json.RawMessage) error,
) error {
	return b.opts.Store.Update(ctx, b.kind("session"), func(all map[string]json.RawMessage) error {
		if err := change(all); err != nil {
			return err
		}
		return b.trim(all, kept)
	})
}

// trim is described at updateSessions.
func (b *Broker) trim(all map[string]json.RawMessage, kept string) error {
	type used struct {
		id, caller string
		at         time.Time
	}
	var oldest []used
	size := 0
	own := make(map[string]int)
	for id, raw := range all {
		s, err := parseSession(raw)
		if err != nil || s == nil || b.now().Sub(s.Rotated) > b.opts.SessionLife {
			delete(all, id)
			continue
		}
		if id == kept && len(raw) > maxSessionBytes {
			return fmt.Errorf("a session of %s has more than %d bytes: map fewer claims", s.principalName(), maxSessionBytes)
		}
		size += len(raw)
		own[s.principalName()]++
		oldest = append(oldest, used{id, s.principalName(), s.Rotated})
	}
	// The sessions that were used least recently are dropped first, until all limits hold.
	order.By(oldest, func(a, b used) int { return a.at.Compare(b.at) })
	for _, one := range oldest {
		crowded := own[one.caller] > maxSessionsPerCaller || len(all) > maxSessions || size > maxSessionsBytes
		if one.id == kept || !crowded {
			continue
		}
		size -= len(all[one.id])
		own[one.caller]--
		delete(all, one.id)
	}
	return nil
}

// addSession stores a new session.
func (b *Broker) addSession(ctx context.Context, id string, s *session) error {
	s.trimTokens()
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return b.updateSessions(ctx, id, func(all map[string]json.RawMessage) error {
		all[id] = text
		return nil
	})
}

// trimTokens drops the access token of the provider if a refresh token replaces it.
func (s *session) trimTokens() {
	if s.Tokens.Refresh != "" {
		s.Tokens.Access = ""
	}
}

// changeSession changes a stored session. change returns an error to leave it as it is. ok is
// false if it has ended.
func (b *Broker) changeSession(
	ctx context.Context,
	id string,
	change func(*session) error,
) (ok bool, err error) {
	err = b.updateSessions(ctx, id, func(all map[string]json.RawMessage) error {
		s, err := parseSession(all[id])
		if err != nil || s == nil {
			return err
		}
		ok = true
		if err := change(s); err != nil {
			return err
		}
		s.trimTokens()
		all[id], err = json.Marshal(s)
		return err
	})
	return ok, err
}

// endSession removes a session: its tokens are no longer valid, and those of the provider are
// revoked in the background.
func (b *Broker) endSession(ctx context.Context, r *http.Request, id string) error {
	var ended json.RawMessage
	err := b.opts.Store.Update(ctx, b.kind("session"), func(all map[string]json.RawMessage) error {
		ended = all[id]
		delete(all, id)
		return nil
	})
	s, damaged := parseSession(ended)
	if err == nil && damaged == nil && s != nil {
		b.revokeAtProvider(r.RemoteAddr, s)
	}
	return err
}

// Limits of revocations at the provider: how many calls of revokeAtProvider are in progress, and
// how long one takes, however many sessions have ended.
const (
	maxRevoking   = 16
	revokeTimeout = 10 * time.Second
)

// revokeAtProvider revokes the tokens of sessions that have ended together, as far as the
// provider supports that. It does not wait: an answer must not depend on the provider. The
// results are recorded, and [Broker.Close] waits for them.
func (b *Broker) revokeAtProvider(remote string, ended ...*session) {
	select {
	case b.revoking <- struct{}{}:
	default:
		for _, s := range ended {
			b.noteRevocation(remote, s, false, errors.New("too many revocations at once"))
		}
		return
	}
	b.revocations.Go(func() {
		defer func() { <-b.revoking }()
		ctx, cancel := context.WithTimeout(context.Background(), revokeTimeout)
		defer cancel()
		for _, s := range ended {
			revoked, err := b.opts.Provider.Revoke(ctx, &identity.Known{
				Redirect: b.opts.Issuer + CallbackPath,
				Subject:  s.Subject,
				Tokens:   s.Tokens,
			})
			b.noteRevocation(remote, s, revoked, err)
		}
	})
}

// noteRevocation records whether the tokens of a session were revoked, unless it has none or the
// provider has no revocation endpoint.
func (b *Broker) noteRevocation(remote string, s *session, revoked bool, err error) {
	event := &Event{
		What:      ProviderRevoked,
		Principal: s.principalName(),
		Client:    s.Name,
		Remote:    remote,
	}
	switch {
	case s.Tokens.Access == "" && s.Tokens.Refresh == "":
		return
	case err != nil:
		event.What = ProviderNotRevoked
		event.Reason = err.Error()
	case !revoked:
		return
	}
	b.note(event)
}

// Close waits until the tokens of sessions that have ended are revoked, which takes at most 10
// seconds.
func (b *Broker) Close() error {
	b.revocations.Wait()
	return nil
}

// refreshToken returns the refresh token of a session with a number. It contains nothing else,
// and is not stored.
func (k *keyring) refreshToken(id string, generation int) string {
	text := id + "." + strconv.Itoa(generation)
	return text + "." + k.authenticate(text)
}

// parseRefreshToken returns the session and the number of a refresh token of this broker.
func (k *keyring) parseRefreshToken(token string) (id string, generation int, ok bool) {
	if len(token) > 256 {
		return "", 0, false
	}
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "", 0, false
	}
	generation, err := strconv.Atoi(parts[1])
	if err != nil || !hmac.Equal([]byte(token), []byte(k.refreshToken(parts[0], generation))) {
		return "", 0, false
	}
	return parts[0], generation, true
}

// Session is a login of a client. It contains no secrets.
type Session struct {
	// Principal is the name of the caller, and Client what its client calls itself.
	Principal string `json:"principal"`
	Client    string `json:"client,omitempty"`
	// Resource is the URL of the endpoint, and Scopes are those that the user consented to.
	Resource string   `json:"resource"`
	Scopes   []string `json:"scopes,omitempty"`
	// Created is when the user signed in, and Used when the client last got a token.
	Created time.Time `json:"created"`
	Used    time.Time `json:"used"`
}

// Sessions returns the sessions of all callers, by caller and age.
func (b *Broker) Sessions() (all []Session, err error) {
	stored, err := b.opts.Store.ReadAll(b.kind("session"))
	if err != nil {
		return nil, err
	}
	for _, raw := range stored {
		s, err := parseSession(raw)
		if err != nil {
			return nil, err
		}
		all = append(all, Session{
			Principal: s.principalName(),
			Client:    s.Name,
			Resource:  s.Resource,
			Scopes:    s.Scopes,
			Created:   s.Created,
			Used:      s.Rotated,
		})
	}
	order.By(all, func(a, b Session) int {
		return cmp.Or(strings.Compare(a.Principal, b.Principal), a.Created.Compare(b.Created))
	})
	return all, nil
}

// End ends the sessions of a caller, whose name is as in [mcp.Principal]. The tokens of the
// provider are revoked in the background.
func (b *Broker) End(ctx context.Context, principal string) (ended int, err error) {
	var sessions []*session
	err = b.updateSessions(ctx, "", func(all map[string]json.RawMessage) error {
		for id, raw := range all {
			s, err := parseSession(raw)
			if err != nil {
				return err
			}
			if s.principalName() == principal {
				delete(all, id)
				sessions = append(sessions, s)
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	b.revokeAtProvider("", sessions...)
	return len(sessions), nil
}
