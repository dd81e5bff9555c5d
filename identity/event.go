package identity

import (
	"context"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/internal/secrets"
)

// EventKind is what has happened to a login of a caller.
type EventKind string

// The kinds of events.
const (
	// EventAsked: the caller got the address of a page on which to log in.
	EventAsked EventKind = "asked"
	// EventBegun: a browser proved to be the caller's and went to the login page of the server.
	EventBegun EventKind = "begun"
	// EventFinished: the login is stored.
	EventFinished EventKind = "finished"
	// EventRefused: a proof or a login failed, or another user opened the page.
	EventRefused EventKind = "refused"
	// EventRefreshFailed: the token could not be replaced. The login stays. It is repeated only
	// if the reason changes, or after a success.
	EventRefreshFailed EventKind = "refresh_failed"
	// EventEnded: the login was removed, or is no longer accepted.
	EventEnded EventKind = "ended"
	// EventNotRevoked: the tokens of a login that was removed remain valid until they expire.
	EventNotRevoked EventKind = "not_revoked"
)

// Event is a change of the login of a caller, for audit logs. It contains no secrets.
type Event struct {
	Kind   EventKind
	Caller Caller
	// Name is the name of the server in its definitions, or empty, and Server its URL.
	Name, Server string
	// Issuer is the authorization server, or empty if it is not known yet.
	Issuer string
	// Reason is why; it may contain text of the authorization server.
	Reason string
}

// connectionKey identifies the connection of a caller to a server.
type connectionKey struct {
	caller Caller
	server string // in its canonical form
}

// connectionState is what is known of a login in the store.
type connectionState struct {
	issuer, scopes string
	// own means that this process has stored it, and has not read it since.
	own bool
}

// keyOf returns the key of a connection. Different spellings of a server's URL have the same key.
func keyOf(c Caller, server string) connectionKey { return connectionKey{c, canonicalResource(server)} }

// record reports an event to the web server with the page.
func (v *Vault) record(kind EventKind, c Caller, server, issuer, reason string) {
	v.mu.Lock()
	key := keyOf(c, server)
	name := v.names[key.server]
	v.changes++
	switch kind {
	case EventFinished:
		v.connected[key] = connectionState{
			issuer: issuer,
			own:    true,
		}
	case EventEnded:
		delete(v.connected, key)
	}
	// observe is called without the lock, since it may use the vault.
	var observe func(*Event)
	if v.host != nil {
		observe = v.host.Observe
	}
	v.mu.Unlock()
	if observe == nil {
		return
	}
	if issuer != "" {
		issuer = secrets.URL(issuer)
	}
	observe(&Event{
		Kind:   kind,
		Caller: c,
		Name:   name,
		Server: secrets.URL(server),
		Issuer: issuer,
		Reason: reason,
	})
}

// followEach is how often Follow looks for changes by other processes.
const followEach = time.Second

// Follow notices the logins that other processes have stored or ended, such as other replicas
// and slipway logout, until ctx ends: it continues calls that wait for them, and reports those
// that ended. It checks the store once a second. In a cluster it repairs
// what the engine has, see [OpenSharedStore].
func (v *Vault) Follow(ctx context.Context) {
	tick := time.NewTicker(followEach)
	defer tick.Stop()
	var seen storeStamp
	for first := true; ; first = false {
		if shared := v.client.store.shared; shared != nil {
			shared.maintain(ctx)
		}
		if now := v.client.store.stamp(); first || !now.is(seen) {
			if v.reconcile(first) {
				seen = now
			}
		}
		select {
		case <-ctx.Done():
			if shared := v.client.store.shared; shared != nil {
				shared.finish()
			}
			return
		case <-tick.C:
		}
	}
}

// reconcile compares the store with the connections that are known, and reports whether it
// could. While this process ends connections itself, it reports them there. The first time,
// nothing is known yet.
func (v *Vault) reconcile(first bool) bool {
	v.mu.Lock()
	before := v.changes
	v.mu.Unlock()
	stored, err := v.client.Connections()
	if err != nil {
		return false
	}
	present := make(map[connectionKey]*Connection, len(stored))
	for i := range stored {
		present[keyOf(stored[i].Caller, stored[i].Server)] = &stored[i]
	}
	v.mu.Lock()
	if v.ending > 0 || v.changes != before {
		v.mu.Unlock()
		return false // the store was read before a change of this process
	}
	gone := make(map[connectionKey]string)
	for key, was := range v.connected {
		if present[key] == nil {
			gone[key] = was.issuer
		}
	}
	known := v.connected
	v.following = true
	v.connected = make(map[connectionKey]connectionState, len(present))
	var found []connectionKey
	for key, c := range present {
		if c.Ended != "" {
			continue
		}
		now := connectionState{
			issuer: c.Issuer,
			scopes: strings.Join(c.Scopes, " "),
		}
		v.connected[key] = now
		if was, ok := known[key]; !first && (!ok || !was.own && was != now) {
			found = append(found, key)
		}
	}
	v.mu.Unlock()
	for key, issuer := range gone {
		v.record(EventEnded, key.caller, key.server, issuer, "logged out by another process")
		v.tell(key.caller, key.server)
	}
	for _, key := range found {
		v.joinElsewhere(key)
		v.tell(key.caller, key.server)
	}
	return true
}

// beginEnding keeps reconcile from reporting what this process ends, until done is called.
func (v *Vault) beginEnding() (done func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.ending++
	return func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.ending--
		v.changes++
	}
}
