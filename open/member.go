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

	"github.com/slipway-mcp/slipway/compose"
	"github.com/slipway-mcp/slipway/live"
	"github.com/slipway-mcp/slipway/stax"
)

// member is one server of a fleet.
type member struct {
	name   string
	print  fingerprint
	part   *compose.Retirable
	server atomic.Pointer[live.Source] // nil as long as it must not be started

	first     chan struct{} // closed when it has been started once, or is not waited for
	tried     func()        // closes first
	patience  *time.Timer   // reports that it takes long to start, or nil
	up        atomic.Bool   // it has been started once, or what it offers is known
	placed    chan struct{} // closed when it has joined after its start or was set aside
	place     func()        // closes placed
	changed   atomic.Bool   // what it offers, since it was shown
	collision string        // why it is set aside, as it was told
	cache     string        // the file where what it offers is remembered, or ""
	saved     string        // the version of the catalog in there
	// inherited are resources that clients wanted the one to tell of whose place it
	// took. Set before it is retired itself.
	inherited []string
	resting   bool // it was started to learn what it offers, and may rest then
}

// fingerprint stands for a definition and the secrets that it has found.
type fingerprint [sha256.Size]byte

// fingerprintOf resolves a server as [stax.Resolver.Open] does. Its errors are
// those that Open would have.
func fingerprintOf(ctx context.Context, r *stax.Resolver, m *stax.Merged, s *stax.Server) (fingerprint, error) {
	sum := sha256.New()
	enc := json.NewEncoder(sum) // of each its length is known by its quotes
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

// start opens a server, and does not wait for it. old is the one whose place it
// is to take, or nil.
func (f *fleet) start(ctx context.Context, r *stax.Resolver, merged *stax.Merged, s *stax.Server, print fingerprint, old *member) (*member, error) {
	m := &member{name: s.Name, print: print, first: make(chan struct{}), placed: make(chan struct{})}
	m.tried = sync.OnceFunc(func() { close(m.first) })
	m.place = sync.OnceFunc(func() { close(m.placed) })
	m.patience = f.waitFor(m, time.Duration(s.ConnectTimeoutMS)*time.Millisecond)
	var o live.Options
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
	if m.server.Load() == nil { // it may be some day; until then there is nothing to wait for
		m.up.Store(true)
		m.tried()
	}
	if o.Lazy && o.Catalog == nil {
		m.resting = true
		_, _ = src.Catalog(ctx) // has it started; what comes of it is told to listen
	}
	return m, nil
}

// waitFor has a server reported that takes long to start at first, and others be served
// without it. limit is when its start fails, 0 if its definition says nothing. Nobody
// is served without the only server; requests wait for its start, whatever comes of it.
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
		return nil // that it failed is reported then
	}
	return time.AfterFunc(after, func() {
		select {
		case <-m.first:
		default:
			f.opts.trouble(m.name, errors.New("it is not there yet; requests still wait for it"))
		}
	})
}

// impatient has the others be served without a server that is being started still.
func (f *fleet) impatient(m *member) {
	select {
	case <-m.first:
	default:
		f.opts.trouble(m.name, errors.New("it is not there yet, and not waited for any longer"))
		m.tried()
		f.poke()
	}
}

// opened has m know its server, and whoever wants to be told as well.
func opened(m *member, also func(*live.Source) func()) func(*live.Source) func() {
	return func(s *live.Source) func() {
		m.server.CompareAndSwap(nil, s) // the first; others are its processes for single clients
		if also == nil {
			return nil
		}
		return also(s)
	}
}

// listen returns what is told of what happens to a server. It does not wait.
func (f *fleet) listen(m *member, also func(live.Event)) func(live.Event) {
	return func(e live.Event) {
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

// stopWaiting stops the report that the server takes long to start.
func (m *member) stopWaiting() {
	if m.patience != nil {
		m.patience.Stop()
	}
}

// close ends a server.
func (m *member) close() {
	m.stopWaiting()
	if c, ok := m.part.Source.(io.Closer); ok {
		_ = c.Close() // nobody is left to tell
	}
}

// idle reports whether nothing is in flight to the server: not even a call that
// waits for its client to come again.
func (m *member) idle() bool { return m.state().InFlight == 0 }

// state is how the server is, all zero if it must not be started.
func (m *member) state() live.State {
	if s := m.server.Load(); s != nil {
		return s.State()
	}
	return live.State{}
}

// subscribed returns the resources that clients want the server to tell of, sorted.
func (m *member) subscribed() []string {
	if s := m.server.Load(); s != nil {
		return s.Subscribed()
	}
	return nil
}

// memory is a source of secrets that is asked for each key once, as asking may
// start a program or have somebody touch a key. Once it has forgotten it remembers
// nothing any more: whoever keeps it wants to know what a secret is now.
type memory struct {
	source stax.Source
	mu     sync.Mutex
	known  map[string]found // nil once it has forgotten
}

type found struct {
	secret stax.Secret
	ok     bool
	err    error
}

// remembering returns a resolver with the sources of r, each asked only once for
// each key until forget is called.
func remembering(r *stax.Resolver) (copy *stax.Resolver, forget func()) {
	copied := *r
	copied.Sources = nil
	var memories []*memory
	for _, s := range sourcesOf(r) {
		m := &memory{source: s, known: make(map[string]found)}
		copied.Sources, memories = append(copied.Sources, m), append(memories, m)
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

// String implements [stax.Source].
func (m *memory) String() string { return m.source.String() }

// Lookup implements [stax.Source].
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
