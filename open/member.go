package open

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/compose"
	"github.com/slipway-mcp/slipway/stax"
)

// member is one server of a fleet.
type member struct {
	name   string
	print  fingerprint
	part   *compose.Retirable
	server atomic.Pointer[client.Source] // nil while it must not be started

	first     chan struct{} // closed once it has been started, has failed, or is no longer waited for
	tried     func()        // closes first
	patience  *time.Timer   // reports a slow start, or nil
	up        atomic.Bool   // it has been started once, or its catalog is cached
	placed    chan struct{} // closed when it has joined after its start or was set aside
	place     func()        // closes placed
	changed   atomic.Bool   // its catalog changed since it was shown
	collision string        // the reported reason it is set aside
	cache     string        // the file of its cached catalog, or ""
	saved     string        // the version of the cached catalog
	// inherited lists resources that clients had subscribed to on the server it replaced.
	// It is set before the member itself is retired.
	inherited []string
	resting   bool // it was started only to fetch its catalog, and may stop then
}

// fingerprint identifies a definition together with its resolved secrets.
type fingerprint [sha256.Size]byte

// fingerprintOf resolves a server like [stax.Resolver.Open], and returns the same errors.
func fingerprintOf(ctx context.Context, r *stax.Resolver, m *stax.Merged, s *stax.Server) (fingerprint, error) {
	sum := sha256.New()
	enc := json.NewEncoder(sum) // quotes delimit each value
	note := func(v any) { _ = enc.Encode(v) }
	definition, err := s.MarshalJSON()
	if err != nil {
		return fingerprint{}, err
	}
	note(json.RawMessage(definition))
	note(m.Config.OverridesOf(s.Name))
	if s.Remote() {
		e, err := r.Endpoint(ctx, m, s.Name)
		if err != nil {
			return fingerprint{}, err
		}
		note(e.URL)
		note(map[string][]string(e.Header()))
		note(e.Networks)
		return fingerprint(sum.Sum(nil)), nil
	}
	l, err := r.Launch(ctx, m, s.Name)
	if err != nil {
		return fingerprint{}, err
	}
	note([]string{l.Path, l.Dir})
	note(l.Args)
	note(l.Env)
	for _, secrets := range []map[string]stax.Secret{l.Secrets, l.Files} {
		for _, key := range slices.Sorted(maps.Keys(secrets)) {
			note([]string{key, secrets[key].Reveal()})
		}
		note(nil)
	}
	return fingerprint(sum.Sum(nil)), nil
}

// start opens a server without waiting for it. old is the one it will replace, or nil.
func (f *fleet) start(
	ctx context.Context,
	r *stax.Resolver,
	merged *stax.Merged,
	s *stax.Server,
	print fingerprint,
	old *member,
) (*member, error) {
	m := &member{name: s.Name, print: print, first: make(chan struct{}), placed: make(chan struct{})}
	m.tried = sync.OnceFunc(func() { close(m.first) })
	m.place = sync.OnceFunc(func() { close(m.placed) })
	m.patience = f.waitFor(m, time.Duration(s.ConnectTimeoutMS)*time.Millisecond)
	var o client.Options
	if f.live.Source != nil {
		o = *f.live.Source
	}
	o.Name, o.Optional, o.Log, o.Opened = s.Name, true, f.listen(m, o.Log), opened(m, o.Opened)
	if old != nil {
		o.Succeeds = old.server.Load()
	}
	if !s.Remote() {
		o.IdleStop = f.opts.IdleStop
	}
	if o.Lazy = f.opts.Lazy; o.Lazy {
		m.cache = cacheFile(f.opts.CacheDir, s)
		if o.Catalog = remembered(m.cache); o.Catalog != nil {
			m.saved = o.Catalog.Version()
			m.up.Store(true)
			m.tried()
		}
	}
	src, err := r.Open(ctx, merged, s.Name, &stax.OpenOptions{Live: &o, Stderr: f.live.stderr(s.Name)})
	if err != nil {
		m.stopWaiting()
		return nil, err
	}
	m.part = compose.NewRetirable(src)
	if m.server.Load() == nil { // it must not be started for now: there is nothing to wait for
		m.up.Store(true)
		m.tried()
	}
	if o.Lazy && o.Catalog == nil {
		m.resting = true
		_, _ = src.Catalog(ctx) // starts it; listen handles the outcome
	}
	return m, nil
}

// waitFor reports a server whose first start is slow, and lets the others be served
// without it. limit is when its start fails, or 0 if its definition sets no limit. If it
// is the only server, requests keep waiting for the outcome of its start.
func (f *fleet) waitFor(m *member, limit time.Duration) *time.Timer {
	after := f.opts.Settle
	if f.opts.Background {
		after = slowStart
	}
	switch {
	case !f.starting.alone:
		if limit > 0 {
			after = min(after, limit)
		}
		return time.AfterFunc(after, func() { f.impatient(m) })
	case limit > 0 && limit <= after:
		return nil // the failure itself will be reported
	}
	return time.AfterFunc(after, func() {
		select {
		case <-m.first:
		default:
			f.opts.trouble(m.name, errors.New("it is not there yet; requests still wait for it"))
		}
	})
}

// impatient lets the others be served without a server that is still starting.
func (f *fleet) impatient(m *member) {
	select {
	case <-m.first:
	default:
		f.opts.trouble(m.name, errors.New("it is not there yet, and not waited for any longer"))
		m.tried()
		f.poke()
	}
}

// opened sets the server of m when it is opened, and calls also.
func opened(m *member, also func(*client.Source) func()) func(*client.Source) func() {
	return func(s *client.Source) func() {
		m.server.CompareAndSwap(nil, s) // the first one; later ones are processes for single clients
		if also == nil {
			return nil
		}
		return also(s)
	}
}

// listen returns a callback for the events of a server. The callback does not block.
func (f *fleet) listen(m *member, also func(client.Event)) func(client.Event) {
	return func(e client.Event) {
		if also != nil {
			also(e)
		}
		switch e.What {
		case "started":
			m.up.Store(true)
			m.tried()
			f.poke()
		case "changed":
			m.changed.Store(true)
			f.poke()
		case "failed":
			select {
			case <-m.first:
			default:
				f.opts.trouble(m.name, e.Err)
				m.tried()
				f.poke()
			}
		}
	}
}

// stopWaiting cancels the report of a slow start.
func (m *member) stopWaiting() {
	if m.patience != nil {
		m.patience.Stop()
	}
}

// close stops a server.
func (m *member) close() {
	m.stopWaiting()
	if c, ok := m.part.Source.(io.Closer); ok {
		_ = c.Close() // there is no one left to report an error to
	}
}

// idle reports whether nothing is in flight to the server, including calls that wait for
// their client to retry.
func (m *member) idle() bool { return m.state().InFlight == 0 }

// state returns the state of the server, or the zero value if it must not be started.
func (m *member) state() client.State {
	if s := m.server.Load(); s != nil {
		return s.State()
	}
	return client.State{}
}

// subscribed returns the resources that clients subscribed to on the server, sorted.
func (m *member) subscribed() []string {
	if s := m.server.Load(); s != nil {
		return s.Subscribed()
	}
	return nil
}

// memory is a secret source that looks up each key once, as a lookup may start a program
// or require a hardware key. After forget it no longer caches, so that later lookups
// return current values.
type memory struct {
	source stax.SecretStore
	mu     sync.Mutex
	known  map[string]found // nil after forget
}

type found struct {
	secret stax.Secret
	ok     bool
	err    error
}

// remembering returns a resolver with the sources of r, each queried only once per key
// until forget is called.
func remembering(r *stax.Resolver) (copy *stax.Resolver, forget func()) {
	copied := *r
	copied.Stores = nil
	var memories []*memory
	for _, s := range storesOf(r) {
		m := &memory{source: s, known: make(map[string]found)}
		copied.Stores, memories = append(copied.Stores, m), append(memories, m)
	}
	return &copied, func() {
		for _, m := range memories {
			m.forget()
		}
	}
}

func (m *memory) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known = nil
}

// String implements [stax.SecretStore].
func (m *memory) String() string { return m.source.String() }

// Lookup implements [stax.SecretStore].
func (m *memory) Lookup(ctx context.Context, key string) (stax.Secret, bool, error) {
	m.mu.Lock()
	if m.known == nil {
		m.mu.Unlock()
		return m.source.Lookup(ctx, key)
	}
	defer m.mu.Unlock()
	k, ok := m.known[key]
	if !ok {
		k.secret, k.ok, k.err = m.source.Lookup(ctx, key)
		m.known[key] = k
	}
	return k.secret, k.ok, k.err
}
