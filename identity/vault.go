package identity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/internal/order"
	"github.com/slipway-mcp/slipway/internal/secrets"
	"github.com/slipway-mcp/slipway/mcp"
)

// Caller identifies a caller of a gateway: the issuer of its token, and the issuer's name for
// it.
type Caller struct {
	Issuer, Subject string
}

// CallerOf returns the caller that a principal is. ok is false for principals whose token is
// not from an issuer, such as those of a token list: they cannot prove in a browser who they
// are, so the vault has no logins of them. An issuer has no fragment (RFC 8414, section 2), so
// that names are unique.
func CallerOf(p *mcp.Principal) (c Caller, ok bool) {
	if p == nil ||
		p.Issuer == "" ||
		p.Subject == "" ||
		strings.ContainsAny(p.Issuer, callerSeparator+"#") {
		return Caller{}, false
	}
	return Caller{p.Issuer, p.Subject}, true
}

// callerSeparator is between the parts of a key. No URL contains it, so that keys of different
// callers differ.
const callerSeparator = "\n"

// key returns the principal of the records of a caller. It differs from all names of users of
// this machine.
func (c Caller) key() string { return c.Issuer + callerSeparator + c.Subject }

// String returns the name of the caller, as in [mcp.Principal].
func (c Caller) String() string { return c.Issuer + "#" + c.Subject }

// callerWith returns the caller with a key, or false for a user of this machine.
func callerWith(key string) (Caller, bool) {
	issuer, subject, ok := strings.Cut(key, callerSeparator)
	return Caller{issuer, subject}, ok
}

// Vault keeps the logins of the callers of a gateway, each for its caller alone, and asks
// callers to log in. It is safe for concurrent use.
//
// A caller who needs a login gets the address of a page of the gateway, see [Vault.Ask]. The
// page makes its user prove to be that caller, by a login at the caller's issuer, and then
// logs in to the server. Package serve has the page.
type Vault struct {
	// client logs in to servers, and proof are the settings of a login that proves who a caller is.
	client *Client
	proof  Settings
	log    *slog.Logger
	now    func() time.Time // for tests

	mu sync.Mutex // guards the following fields
	// host is the web server with the page.
	host *VaultHost
	// tickets are the open ones by ID, and states those that wait for an answer by its state.
	tickets, states map[string]*ticket
	// number is that of the last watcher.
	number   int
	watchers map[int]func(Caller, string)
	names    map[string]string // of servers by URL
	// connected are the logins that are known to be in the store. changes
	// counts those of this process, and ending how many calls of Disconnect are in progress.
	connected map[connectionKey]connectionState
	changes   int
	ending    int
	following bool // Follow has read the store

	// revoking limits the calls of revoke, and revocations waits for them.
	revoking    chan struct{}
	revocations sync.WaitGroup
}

// VaultOptions configure [NewVault].
type VaultOptions struct {
	// Client logs in; its own principal is not used. It is required.
	Client *Client
	// Proof is how to log in at the issuers of callers to find out who uses a browser: the
	// client, scopes, and what the issuer does not support. The zero value registers a client.
	Proof Settings
	// Logger logs who connects and disconnects; nil disables logging. Tokens and addresses of
	// pages are never logged.
	Logger *slog.Logger
}

// NewVault returns a vault. It asks no caller before [Vault.Serve].
func NewVault(o *VaultOptions) *Vault {
	v := &Vault{
		client:    o.Client,
		proof:     o.Proof,
		log:       o.Logger,
		now:       time.Now,
		tickets:   make(map[string]*ticket),
		states:    make(map[string]*ticket),
		watchers:  make(map[int]func(Caller, string)),
		names:     make(map[string]string),
		connected: make(map[connectionKey]connectionState),
		revoking:  make(chan struct{}, maxRevoking),
	}
	if v.log == nil {
		v.log = slog.New(slog.DiscardHandler)
	}
	return v
}

// VaultHost is the web server with the page of a vault.
type VaultHost struct {
	// Base is the address at which browsers reach it, such as https://mcp.example.com.
	Base string
	// Verify returns the holder of an access token for the gateway.
	Verify func(ctx context.Context, token string) (*mcp.Principal, error)
	// Resource returns the resource for which tokens of an issuer must be. ok is false if the
	// gateway does not accept that issuer.
	Resource func(issuer string) (resource string, ok bool)
	// Provider, if not nil, returns where callers of an issuer sign in, if the gateway itself is the
	// authorization server of their clients, or nil. They then prove there who they are.
	Provider func(issuer string) *Provider
	// Observe, if not nil, is called with each event. It must not block.
	Observe func(*Event)
}

// provider returns where callers of an issuer sign in at the gateway, or nil.
func (h *VaultHost) provider(issuer string) *Provider {
	if h.Provider == nil {
		return nil
	}
	return h.Provider(issuer)
}

// accepts reports whether callers of an issuer can prove who they are.
func (h *VaultHost) accepts(issuer string) bool {
	if h.provider(issuer) != nil {
		return true
	}
	_, ok := h.Resource(issuer)
	return ok
}

// Serve sets the web server with the page. Tickets that are open stay so.
func (v *Vault) Serve(host *VaultHost) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.host = host
}

// hosted returns the web server, or an error if there is none.
func (v *Vault) hosted() (*VaultHost, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.host == nil || v.host.Base == "" {
		return nil, errors.New("the gateway has no public URL at which its callers could log in")
	}
	return v.host, nil
}

// Name sets the name of a server, for lists and pages. Without one, they show its URL.
func (v *Vault) Name(server, name string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.names[canonicalResource(server)] = name
}

// nameOf returns the name of a server for pages: the configured one, or else its URL without
// secrets.
func (v *Vault) nameOf(server string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return cmp.Or(v.names[canonicalResource(server)], secrets.URL(server))
}

// Credentials returns the credentials of a caller for a server. Without a login of that caller
// they are empty. A login or logout of another process takes effect at the next request.
func (v *Vault) Credentials(c Caller, server string, settings *Settings) *Credentials {
	k := v.client.For(c.key()).Credentials(server, settings)
	k.follows = true
	k.observe = func(kind EventKind, issuer, reason string) {
		v.record(kind, c, server, issuer, reason)
	}
	return k
}

// Connected reports whether a caller has a login to a server that has not ended.
func (v *Vault) Connected(c Caller, server string) bool {
	login, _, err := v.client.store.followed(c.key(), server)
	if err != nil || login == nil || login.Ended != "" {
		return false
	}
	v.mu.Lock()
	_, known := v.connected[keyOf(c, server)]
	news := v.following && !known
	v.mu.Unlock()
	if news { // another process has just stored it: watchers must not notice later than callers
		v.reconcile(false)
	}
	return true
}

// Connection is a login of a caller.
type Connection struct {
	Caller Caller
	// Name is that of the server in its definitions, or empty if it is unknown.
	Name string
	Login
}

// Connections returns the logins of all callers, by caller and server.
func (v *Vault) Connections() ([]Connection, error) {
	all, err := v.client.Connections()
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := range all {
		all[i].Name = v.names[canonicalResource(all[i].Server)]
	}
	return all, err
}

// Connections returns the logins of the callers of gateways in the store, by caller and
// server.
func (c *Client) Connections() (all []Connection, err error) {
	_, stored, err := c.store.load()
	if err != nil {
		return nil, err
	}
	for _, e := range stored {
		if e.Login == nil {
			continue
		}
		if caller, ok := callerWith(e.Login.Principal); ok {
			all = append(all, Connection{
				Caller: caller,
				Login:  *e.Login.summary(),
			})
		}
	}
	order.By(all, func(a, b Connection) int {
		return cmp.Or(strings.Compare(a.Caller.String(), b.Caller.String()), strings.Compare(a.Server, b.Server))
	})
	return all, nil
}

// Disconnect ends the connections of a caller, in the form of [Caller.String], to a server,
// given by its name or URL; an empty server means all. Without one, the error matches
// [ErrNoLogin]. The tokens are revoked in the background, see [Vault.Close]; a failure is an
// event.
func (v *Vault) Disconnect(ctx context.Context, caller, server string) (ended int, err error) {
	all, err := v.Connections()
	if err != nil {
		return 0, err
	}
	defer v.beginEnding()()
	removed, err := v.client.disconnect(ctx, all, caller, server, func(c *Connection) {
		ended++
		v.log.Info("caller disconnected", "principal", c.Caller.String(), "server", v.nameOf(c.Server))
		v.record(EventEnded, c.Caller, c.Server, c.Issuer, "ended by an operator")
		v.tell(c.Caller, c.Server)
	})
	v.revoke(removed)
	return ended, err
}

// revoke revokes the tokens of logins that were removed, in the background.
func (v *Vault) revoke(removed []*record) {
	notRevoked := func(r *record, err error) {
		if c, ok := callerWith(r.Principal); ok && err != nil {
			v.record(EventNotRevoked, c, r.Server, r.Issuer, err.Error())
		}
	}
	select {
	case v.revoking <- struct{}{}:
	default:
		for _, r := range removed {
			notRevoked(r, errors.New("too many revocations at once"))
		}
		return
	}
	v.revocations.Go(func() {
		defer func() { <-v.revoking }()
		for i, err := range v.client.revokeAll(context.Background(), removed) {
			notRevoked(removed[i], err)
		}
	})
}

// Close waits until the tokens of logins that [Vault.Disconnect] has ended are revoked, which
// takes at most 10 seconds. Its error is nil.
func (v *Vault) Close() error {
	v.revocations.Wait()
	return nil
}

// Disconnect is [Vault.Disconnect] for programs that are not the gateway: it waits until the
// tokens are revoked, for at most 10 seconds. The server is given by its URL. Gateways that use
// the same store notice at the next request.
func (c *Client) Disconnect(ctx context.Context, caller, server string) (ended int, err error) {
	all, err := c.Connections()
	if err != nil {
		return 0, err
	}
	removed, err := c.disconnect(ctx, all, caller, server, func(*Connection) { ended++ })
	if failed := errors.Join(c.revokeAll(ctx, removed)...); failed != nil {
		err = errors.Join(err, notRevoked(failed))
	}
	return ended, err
}

// disconnect removes the logins of a caller to a server, calls done for each, and returns them:
// their tokens remain to be revoked. If the store fails, it returns those removed before.
func (c *Client) disconnect(
	ctx context.Context, all []Connection, caller, server string, done func(*Connection),
) (removed []*record, err error) {
	for i := range all {
		one := &all[i]
		if one.Caller.String() != caller ||
			server != "" && server != one.Name && !SameServer(server, one.Server) {
			continue
		}
		logins, err := c.store.removeLogins(ctx, one.Caller.key(), one.Server)
		if err != nil {
			return removed, err
		}
		if len(logins) > 0 {
			removed = append(removed, logins...)
			done(one)
		}
	}
	if len(removed) == 0 {
		return nil, fmt.Errorf("%s: %w", caller, ErrNoLogin)
	}
	return removed, nil
}

// Watch calls changed when a caller has connected to a server or disconnected from it, until
// stop.
func (v *Vault) Watch(changed func(c Caller, server string)) (stop func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.number++
	id := v.number
	v.watchers[id] = changed
	return func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		delete(v.watchers, id)
	}
}

// tell calls the watchers after a login of a caller changed. It calls them without the lock, since
// they may use the vault.
func (v *Vault) tell(c Caller, server string) {
	v.mu.Lock()
	watchers := make([]func(Caller, string), 0, len(v.watchers))
	for _, changed := range v.watchers {
		watchers = append(watchers, changed)
	}
	v.mu.Unlock()
	for _, changed := range watchers {
		changed(c, server)
	}
}
