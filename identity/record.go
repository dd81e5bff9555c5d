package identity

import (
	"context"
	"hash/fnv"
	"slices"
	"strings"
	"time"
)

// record is a stored login: a token of one principal, issuer, client and resource.
type record struct {
	// Principal is whose login it is; empty means the user of this machine.
	Principal string `json:"principal,omitempty"`
	// Issuer issued the token, for Resource, to Client.
	Issuer   string       `json:"issuer"`
	Client   registration `json:"client"`
	Resource string       `json:"resource"`
	// Server is the URL that the token is sent to.
	Server string `json:"server"`
	// Grant is how the token was obtained.
	Grant Grant `json:"grant"`
	// Configured reports that the client was configured, not registered.
	Configured bool `json:"configured,omitempty"`

	// Requested are the scopes that were asked for, and Granted those of the token, if the
	// issuer named them.
	Requested []string `json:"requested,omitempty"`
	Granted   []string `json:"granted,omitempty"`

	// Access is the token, and Refresh gets the next one; it may be empty.
	Access  string `json:"access"`
	Refresh string `json:"refresh,omitempty"`
	// ProofKey is the key to which the token is bound, or empty.
	ProofKey string `json:"proofKey,omitempty"`
	// Obtained is when the token was obtained, and Lifetime how long it is valid; 0 means
	// until it is refused.
	Obtained time.Time     `json:"obtained"`
	Lifetime time.Duration `json:"lifetime,omitempty"`

	// TokenEndpoint, RevocationEndpoint and AuthMethods are from the metadata of the
	// issuer, and OmitResource from the settings.
	TokenEndpoint      string   `json:"tokenEndpoint"`
	RevocationEndpoint string   `json:"revocationEndpoint,omitempty"`
	AuthMethods        []string `json:"authMethods,omitempty"`
	OmitResource       bool     `json:"omitResource,omitempty"`

	// Ended is why the login needs to be repeated, or empty.
	Ended string `json:"ended,omitempty"`
}

// name returns the name of the entry.
func (r *record) name() string {
	return entryName("login", r.Principal, r.Issuer, r.Client.ID, r.Resource)
}

// scopes returns the scopes of the token, as far as they are known.
func (r *record) scopes() []string {
	if r.Granted != nil {
		return r.Granted
	}
	return r.Requested
}

// expires returns when the token expires; zero means that this is unknown.
func (r *record) expires() time.Time {
	if r.Lifetime == 0 {
		return time.Time{}
	}
	return r.Obtained.Add(r.Lifetime)
}

// expired reports whether the token has expired. If the clock was set back, the age is
// unknown, and the token counts as valid until it is refused.
func (r *record) expired(now time.Time) bool {
	return r.Lifetime > 0 && now.Sub(r.Obtained) >= r.Lifetime
}

// due reports whether the token should be refreshed ahead of its expiry: after 80 % of its
// life, and up to 5 % earlier so that several logins do not refresh at once.
func (r *record) due(now time.Time) bool {
	if r.Lifetime == 0 {
		return false
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(r.Access)) // never fails
	early := r.Lifetime / 20 * time.Duration(hash.Sum32()%100) / 100
	return now.Sub(r.Obtained) >= r.Lifetime/5*4-early
}

// set stores the tokens of an answer. A refresh token is kept if the answer has none.
func (r *record) set(t *token) {
	r.Access = t.access
	if t.refresh != "" {
		r.Refresh = t.refresh
	}
	if t.scopes != nil {
		r.Granted = t.scopes
	}
	r.Obtained = t.requested
	r.Lifetime = t.lifetime
	r.Ended = ""
}

// SameServer reports whether two URLs are the same server.
func SameServer(a, b string) bool { return canonicalResource(a) == canonicalResource(b) }

// login returns the newest login of a principal to a server, or nil.
func (s *Store) login(principal, server string) (*record, error) {
	_, all, err := s.load()
	if err != nil {
		return nil, err
	}
	return all.login(principal, server), nil
}

// login returns the newest login of a principal at a server, or nil. Several exist after a login at
// another issuer of the same server.
func (all contents) login(principal, server string) *record {
	var found *record
	for _, e := range all {
		r := e.Login
		if r == nil || r.Principal != principal || !SameServer(r.Server, server) {
			continue
		}
		if found == nil || r.Obtained.After(found.Obtained) {
			found = r
		}
	}
	return found
}

// logins returns all logins of a principal, by server.
func (s *Store) logins(principal string) ([]*record, error) {
	_, all, err := s.load()
	if err != nil {
		return nil, err
	}
	var found []*record
	for _, e := range all {
		if e.Login != nil && e.Login.Principal == principal {
			found = append(found, e.Login)
		}
	}
	slices.SortFunc(found, func(a, b *record) int {
		return strings.Compare(a.Server+" "+a.Issuer, b.Server+" "+b.Issuer)
	})
	return found, nil
}

// saveLogin stores a new login in place of earlier ones to the server, and returns these.
func (s *Store) saveLogin(ctx context.Context, r *record) (replaced []*record, err error) {
	err = s.update(ctx, func(all contents) bool {
		replaced = nil
		for name, e := range all {
			old := e.Login
			if old != nil &&
				old.Principal == r.Principal &&
				SameServer(old.Server, r.Server) {
				replaced = append(replaced, old)
				delete(all, name)
			}
		}
		all[r.name()] = entry{Login: r}
		return true
	})
	return replaced, err
}

// replaceLogin stores a changed login, unless it has been removed or replaced meanwhile.
func (s *Store) replaceLogin(ctx context.Context, r *record, used string) error {
	return s.update(ctx, func(all contents) bool {
		now := all[r.name()].Login
		if now == nil || now.Access != used {
			return false
		}
		all[r.name()] = entry{Login: r}
		return true
	})
}

// removeLogins removes the logins of a principal to a server and returns them.
func (s *Store) removeLogins(ctx context.Context, principal, server string) (removed []*record, err error) {
	err = s.update(ctx, func(all contents) bool {
		removed = nil
		for name, e := range all {
			r := e.Login
			if r != nil && r.Principal == principal && SameServer(r.Server, server) {
				removed = append(removed, r)
				delete(all, name)
			}
		}
		return len(removed) > 0
	})
	return removed, err
}
