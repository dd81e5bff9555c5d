package cluster

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/internal/hophttp"
	"github.com/slipway-mcp/slipway/internal/order"
)

// Options configure a [Replica]. Nil and the zero value mean the defaults.
type Options struct {
	// Name is the name of the replica in logs; "" means the name of the host. Two replicas
	// may have the same one.
	Name string
	// Listen is the address for other replicas, as host:port. The host must be one at which
	// they reach this process, unless Advertise is set. "" means a free port of 127.0.0.1.
	Listen string
	// Advertise is the address at which other replicas connect, as host:port, if it is not that of Listen: that of a
	// mapped port, for example. "" means that of Listen.
	Advertise string
	// Lease is how long a replica that does not report counts as alive; 0 means 4 seconds.
	// It reports four times as often.
	Lease time.Duration
	// Wait is how long Join tries again if the engine fails, such as a NATS cluster that has no leader yet; 0 means
	// that it returns the first error. [ErrFormat] and [ErrRefused] are returned at once.
	Wait time.Duration
	// Logger receives messages for operators; nil discards them.
	Logger *slog.Logger
	// System replaces the network and the clocks of the machine.
	System System
}

// Member is a replica as it describes itself to the others.
type Member struct {
	// ID is unique to the process: its name, "@" and a random word.
	ID string `json:"id"`
	// Addr is where it accepts connections of other replicas.
	Addr string `json:"addr"`
	// Certificate is the hexadecimal SHA-256 of its certificate.
	Certificate string `json:"certificate"`
	// Started is when it joined.
	Started time.Time `json:"started"`
	// Version and Definitions are those of [Replica.Describe].
	Version     string `json:"version,omitempty"`
	Definitions string `json:"definitions,omitempty"`
	// Leaving is set by [Replica.Retire].
	Leaving bool `json:"leaving,omitempty"`
	// Departed is set by [Replica.Depart].
	Departed bool `json:"departed,omitempty"`
	// Adopts means that it hands its sessions over, and continues those of others.
	Adopts bool `json:"adopts,omitempty"`
	// Format is [Format] of its program; 0 if it is older than formats.
	Format int `json:"format"`
}

// Format is the version of what replicas write to the engine and exchange. Programs with the
// same format serve in one cluster. It grows with each change that the program before does not
// understand, and only such a change.
const Format = 1

// The records of a cluster. Members are in one group; the key has a group of its own.
const (
	memberGroup = "member"
	keyRecord   = "key/state"
	maxMembers  = 1000
	maxRecord   = 4 << 10
	// maxDescription bounds each string of Describe.
	maxDescription = 100
)

// ErrGone is the cause with which the context of a [Peer] ends.
var ErrGone = errors.New("the replica has stopped or does not report any more")

// ErrFormat is the error of [Join] in a cluster of replicas of another [Format].
var ErrFormat = errors.New("another cluster format")

// Replica is this process as a member of a cluster. It is safe for concurrent use.
type Replica struct {
	engine   Engine
	opts     Options
	id, addr string
	identity *identity
	listener net.Listener
	context  context.Context // of its goroutines; ends with stop
	stop     context.CancelFunc
	running  sync.WaitGroup
	seek     chan struct{} // of capacity 1: held while the engine is asked for members
	// reporting is of capacity 1, and held during a report. It guards the following fields.
	reporting chan struct{}
	// addressed is when the address was stored last.
	addressed       time.Time
	addressRevision uint64

	keysMu sync.Mutex // held while keys are passed on

	mu       sync.Mutex
	self     Member
	revision uint64 // of our record; 0 if it has expired
	peers    map[string]*Peer
	members  map[string]Member // the records of peers
	asked    time.Time         // when the newest known list of members was requested
	failing  bool
	// doubtful is until when missing records do not mean that replicas have left, because the
	// engine failed or lost data; they need the time of a lease to restore them.
	doubtful time.Time
	// until is the end of the lease in the current term, by the clocks of this process.
	until Instant
	term  uint64
	// heldSince is the first of the terms without a break between them: each later one has begun because another replica
	// may have adopted claims, although the lease was extended.
	heldSince uint64
	// extended is set while others have extended the lease, or this replica has because it knew none: another one
	// that has joined meanwhile may have adopted its claims.
	extended bool
	// termBegun is closed when the next term begins.
	termBegun chan struct{}
	// unsettled is until when this replica adopts nothing, because it has just joined, or
	// has granted a lease. adopting are the adoptions under way.
	unsettled time.Time
	adopting  int
	questions map[string]*question // by the id of the replica that is asked
	// keys are all that the record has, active those to use now.
	keys       keyRing
	active     [][]byte
	followKeys func([][]byte)
	handlers   handlers
}

// Peer is another replica.
type Peer struct {
	// ID, Addr and Certificate are those of its [Member].
	ID, Addr, Certificate string

	transport *hophttp.Transport
	ctx       context.Context // ends with the peer
	gone      context.CancelCauseFunc
}

// Transport returns the transport for requests to the peer: mutually authenticated
// connections that are kept. It is shared by all callers. The error of a request that was not sent
// is that of a dial.
func (p *Peer) Transport() http.RoundTripper { return p.transport }

// Canceler cancels a request of [Peer.Send] with a cause. The zero value is ready for one request.
type Canceler = hophttp.Canceler

// Send is RoundTrip of the transport, with header fields whose names begin with Slipway-: those of req are not sent.
// stop, which may be nil, cancels the request as its context does.
func (p *Peer) Send(req *http.Request, added [][2]string, stop *Canceler) (*http.Response, error) {
	return p.transport.Send(req, added, stop)
}

// Context returns a context that ends when the peer leaves the cluster or its lease ends,
// with the cause [ErrGone].
func (p *Peer) Context() context.Context { return p.ctx }

// Join makes this process a replica. It opens the listener, creates the keys of the cluster
// if this is its first member, and reports until [Replica.Leave] is called.
func Join(ctx context.Context, engine Engine, opts *Options) (*Replica, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Name == "" {
		o.Name, _ = os.Hostname() // the random word suffices
	}
	o.Listen = cmp.Or(o.Listen, "127.0.0.1:0")
	o.Lease = cmp.Or(max(o.Lease, 0), 4*time.Second)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.System = o.System.withDefaults()
	r := &Replica{
		engine: engine,
		opts:   o,
		id:     o.Name + "@" + rand.Text()[:12],
		seek:   make(chan struct{}, 1),
		peers:  make(map[string]*Peer),

		questions: make(map[string]*question),
		reporting: make(chan struct{}, 1),

		termBegun: make(chan struct{}),
	}
	var err error
	if r.identity, err = newIdentity(); err != nil {
		return nil, err
	}
	ln, err := o.System.Listen(ctx, o.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen for other replicas: %w", err)
	}
	r.addr = cmp.Or(o.Advertise, ln.Addr().String())
	r.self = Member{
		Adopts:      true,
		ID:          r.id,
		Addr:        r.addr,
		Certificate: r.identity.fingerprint,
		Started:     o.System.Now().Date.UTC().Truncate(time.Second),
		Format:      Format,
	}
	config := r.identity.config(r.knows, errNotMember)
	r.answerLeases(config)
	r.listener = listen(ln, config)
	if err := r.beginWithin(ctx); err != nil {
		_ = ln.Close()
		return nil, err
	}
	return r, nil
}

// Limits of the pauses in which Join waits for the engine, and how often it logs the same reason.
const (
	firstRetry = 250 * time.Millisecond
	lastRetry  = 2 * time.Second
	logRetries = 10 * time.Second
)

// beginWithin calls begin until it succeeds, or the time for that is over.
func (r *Replica) beginWithin(ctx context.Context) error {
	until := time.Now().Add(r.opts.Wait)
	var logged time.Time
	reason := ""
	for pause := firstRetry; ; pause = min(2*pause, lastRetry) {
		err := r.begin(ctx)
		permanent := errors.Is(err, ErrFormat) || errors.Is(err, ErrRefused)
		if err == nil || permanent || ctx.Err() != nil || time.Now().Add(pause).After(until) {
			return err
		}
		if err.Error() != reason || time.Since(logged) > logRetries {
			reason, logged = err.Error(), time.Now()
			r.opts.Logger.Warn("cluster engine not ready, retrying", "error", err,
				"giving_up_in", time.Until(until).Round(time.Second))
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
	}
}

// begin subscribes, so that no change is missed, reads the cluster and reports to it.
func (r *Replica) begin(ctx context.Context) error {
	sub, err := r.subscribe(ctx)
	if err != nil {
		return err
	}
	err = r.compatible(ctx)
	if err == nil {
		err = r.report(ctx)
	}
	if err == nil {
		// One of another format may have joined meanwhile: whichever reports last withdraws.
		if err = r.compatible(ctx); err != nil {
			_ = r.engine.Delete(ctx, memberGroup+"/"+r.id, r.revision) // they expire otherwise
			_ = r.engine.Delete(ctx, addressGroup+"/"+r.id, r.addressRevision)
		}
	}
	if err == nil && len(r.Keys()) == 0 { // another replica has created them meanwhile
		err = r.syncKeys(ctx)
	}
	if err != nil {
		_ = sub.Close()
		return err
	}
	r.mu.Lock()
	r.unsettled = r.now().Add(r.opts.Lease)
	r.mu.Unlock()
	r.context, r.stop = context.WithCancel(context.WithoutCancel(ctx))
	r.running.Go(func() { r.run(r.context) })
	r.running.Go(func() { r.follow(r.context, sub) })
	return nil
}

// Go runs f in a goroutine until it returns. Its context ends with [Replica.Leave], which waits for it.
func (r *Replica) Go(f func(ctx context.Context)) {
	r.running.Go(func() { f(r.context) })
}

// ID returns the id of this replica, which differs from those of all other processes.
func (r *Replica) ID() string { return r.id }

// Addr returns the address at which other replicas connect.
func (r *Replica) Addr() string { return r.addr }

// Listener returns the listener for requests of other replicas. It accepts only members of
// the cluster. The caller serves HTTP/1.1 on it; Leave closes it.
func (r *Replica) Listener() net.Listener { return r.listener }

// compatible returns an error if a replica of another format is in the cluster.
func (r *Replica) compatible(ctx context.Context) error {
	records, err := r.engine.List(ctx, memberGroup)
	if err != nil {
		return err
	}
	for _, record := range records {
		var m Member
		if len(record.Value) > maxRecord || json.Unmarshal(record.Value, &m) != nil {
			return fmt.Errorf("the record %s is not of a replica", record.Key)
		}
		if m.Format != Format && !m.Departed {
			return fmt.Errorf("%w: replica %s has %d, this program %d", ErrFormat, m.ID, m.Format, Format)
		}
	}
	return nil
}

// Members returns this replica and the others that are alive, ordered by id.
func (r *Replica) Members() []Member {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := []Member{r.self}
	for _, m := range r.members {
		all = append(all, m)
	}
	order.By(all, func(a, b Member) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// Self returns this replica.
func (r *Replica) Self() Member {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.self
}

// Describe publishes which version the process is and a digest of the definitions that it
// serves, with the next report. Both are for operators.
func (r *Replica) Describe(version, definitions string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.self.Version = version[:min(len(version), maxDescription)]
	r.self.Definitions = definitions[:min(len(definitions), maxDescription)]
}

// Peers returns the other replicas that are alive, in any order.
func (r *Replica) Peers() []*Peer {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.peers))
}

// Connected reports whether the engine answered the last time.
func (r *Replica) Connected() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.failing
}

// Find returns the replica with that id, or nil if it is not alive or about to leave. For an
// unknown id it asks the engine, at most ten times a second, because the replica may have just
// joined.
func (r *Replica) Find(ctx context.Context, id string) *Peer {
	_ = r.search(ctx, func(p *Peer) bool { return p.ID == id })
	return r.Known(id)
}

// Known is Find without the engine.
func (r *Replica) Known(id string) *Peer {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.members[id].Leaving {
		return nil
	}
	return r.peers[id]
}

// Holder returns the replica with that id, or nil if it is not alive, or has departed. Unlike Find,
// it returns one that is about to leave but still has its sessions.
func (r *Replica) Holder(ctx context.Context, id string) *Peer {
	p := r.search(ctx, func(p *Peer) bool { return p.ID == id })
	r.mu.Lock()
	defer r.mu.Unlock()
	if m := r.members[id]; p == nil || m.Departed || m.Leaving && !m.Adopts {
		return nil
	}
	return p
}

// Successor returns the replica that continues what this one releases under a name, or nil if
// there is none. usable rules replicas out; it must not call methods of r.
func (r *Replica) Successor(name string, usable func(*Peer) bool) *Peer {
	r.mu.Lock()
	defer r.mu.Unlock()
	var best *Peer
	highest := uint64(0)
	for id, p := range r.peers {
		if m := r.members[id]; m.Leaving || !m.Adopts || !usable(p) {
			continue
		}
		sum := sha256.Sum256([]byte(id + "\n" + name))
		if weight := binary.BigEndian.Uint64(sum[:]); best == nil || weight > highest {
			best, highest = p, weight
		}
	}
	return best
}

// Retire tells the others that this replica is about to leave: they do not find it any more, and
// what they have sent to it goes on. They know within milliseconds after Retire has returned, and
// within a quarter of the lease if an event of the engine is lost.
func (r *Replica) Retire(ctx context.Context) error {
	r.mu.Lock()
	r.self.Leaving = true
	r.mu.Unlock()
	return r.report(ctx)
}

// knows reports whether a certificate is that of a member.
func (r *Replica) knows(certificate string) bool {
	return r.search(context.Background(), func(p *Peer) bool { return p.Certificate == certificate }) != nil
}

// searchTimeout bounds how long a search waits for the engine, and for other searches.
const searchTimeout = time.Second

// search asks the engine if no known replica matches.
func (r *Replica) search(ctx context.Context, matches func(*Peer) bool) *Peer {
	if p := r.known(matches); p != nil {
		return p
	}
	ctx, cancel := context.WithTimeout(ctx, min(r.opts.Lease/2, searchTimeout))
	defer cancel()
	start := r.now()
	select {
	case r.seek <- struct{}{}:
	case <-ctx.Done():
		return nil
	}
	defer func() { <-r.seek }()
	if p := r.known(matches); p != nil {
		return p // another request has just asked
	}
	r.mu.Lock()
	asked := r.asked
	r.mu.Unlock()
	if asked.After(start) {
		return nil // another request has asked meanwhile, so one question answers all that wait
	}
	pause := time.NewTimer(r.opts.Lease/40 - r.now().Sub(asked))
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-ctx.Done():
		return nil
	}
	if err := r.refresh(ctx); err != nil {
		return nil
	}
	return r.known(matches)
}

func (r *Replica) known(matches func(*Peer) bool) *Peer {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.peers {
		if matches(p) {
			return p
		}
	}
	return nil
}

// run reports until ctx ends.
func (r *Replica) run(ctx context.Context) {
	tick := time.NewTicker(r.opts.Lease / 4)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		began := r.now()
		err := r.report(ctx)
		if errors.Is(err, context.DeadlineExceeded) && r.now().Sub(began) > r.opts.Lease*5/4 {
			err = r.report(ctx) // this process was suspended meanwhile, which says nothing about the engine
		}
		if ctx.Err() != nil {
			return
		}
		r.note(err)
		r.useKeys() // the time may have come to seal with another one
	}
}

// note logs when the engine fails and when it is back.
func (r *Replica) note(err error) {
	r.mu.Lock()
	changed := r.failing != (err != nil)
	r.failing = err != nil
	if err != nil {
		r.doubtAgain(r.now())
	}
	r.mu.Unlock()
	switch {
	case changed && err != nil:
		r.opts.Logger.Error("cluster engine failed, keeping the known replicas", "error", err)
	case changed:
		r.opts.Logger.Info("cluster engine is back")
	}
}

// report renews our record, restores what the engine may have lost, and reads the others'.
func (r *Replica) report(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.opts.Lease)
	defer cancel()
	select {
	case r.reporting <- struct{}{}:
		defer func() { <-r.reporting }()
	case <-ctx.Done():
		return ctx.Err()
	}
	began := r.opts.System.Now()
	key := memberGroup + "/" + r.id
	r.mu.Lock()
	revision := r.revision
	record, err := json.Marshal(r.self)
	r.mu.Unlock()
	if err != nil {
		return err
	}
	err = ErrConflict
	if revision != 0 {
		revision, err = r.engine.Update(ctx, key, record, revision, r.opts.Lease)
	}
	lapsed := errors.Is(err, ErrConflict)
	if lapsed { // new, or expired
		revision, err = r.engine.Create(ctx, key, record, r.opts.Lease)
	}
	if errors.Is(err, ErrConflict) {
		// An update whose answer was lost. It has renewed the lease at an unknown time, so the lease
		// is renewed again.
		var stored Record
		if stored, err = r.engine.Get(ctx, key); err == nil {
			revision, err = r.engine.Update(ctx, key, record, stored.Revision, r.opts.Lease)
		}
	}
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.revision = revision
	if !r.self.Departed {
		r.renewedLocked(began, lapsed)
	}
	r.mu.Unlock()
	if err := r.keepAddress(ctx, lapsed); err != nil {
		return fmt.Errorf("address of the replica: %w", err)
	}
	if err := r.syncKeys(ctx); err != nil {
		return fmt.Errorf("key of the cluster: %w", err)
	}
	return r.refresh(ctx)
}

// refresh reads the members.
func (r *Replica) refresh(ctx context.Context) error {
	began := r.now()
	leased := r.Term() != 0
	records, err := r.engine.List(ctx, memberGroup)
	if err != nil {
		return err
	}
	if len(records) > maxMembers {
		return fmt.Errorf("%d replicas, want at most %d", len(records), maxMembers)
	}
	alive := make(map[string]Member, len(records))
	for _, record := range records {
		var m Member
		if len(record.Value) > maxRecord || json.Unmarshal(record.Value, &m) != nil {
			continue
		}
		alive[m.ID] = m
	}
	_, complete := alive[r.id]
	delete(alive, r.id)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !complete && r.revision != 0 && leased {
		// Our record is missing, although it has not expired, so others may be.
		r.doubtAgain(began)
	}
	if began.Before(r.asked) {
		return nil // a newer list has arrived
	}
	r.asked = began
	for id, p := range r.peers {
		if _, ok := alive[id]; !ok && began.Before(r.doubtful) {
			alive[id] = r.members[id]
		} else if !ok {
			p.gone(ErrGone)
			p.transport.CloseIdleConnections()
			delete(r.peers, id)
			r.opts.Logger.Info("replica left", "replica", id)
		}
	}
	r.members = alive
	for id, m := range alive {
		if r.peers[id] == nil {
			if r.extended {
				r.until = Instant{} // until the engine begins another term
			}
			r.peers[id] = r.newPeer(m)
			r.opts.Logger.Info("replica joined", "replica", id, "address", m.Addr)
		}
	}
	return nil
}

func (r *Replica) newPeer(m Member) *Peer {
	p := &Peer{
		ID:          m.ID,
		Addr:        m.Addr,
		Certificate: m.Certificate,
		transport:   r.identity.transport(m, r.opts.System.Dial),
	}
	p.ctx, p.gone = context.WithCancelCause(context.Background())
	return p
}

// Leave deletes the record of this replica, so that the others notice at once, and closes
// the listener. ctx bounds the time for the engine.
func (r *Replica) Leave(ctx context.Context) error {
	r.stop()
	r.running.Wait()
	departed := r.Depart(ctx)
	r.mu.Lock()
	revision := r.revision
	for _, p := range r.peers {
		p.gone(ErrGone)
		p.transport.CloseIdleConnections()
	}
	r.mu.Unlock()
	_ = r.engine.Delete(ctx, addressGroup+"/"+r.id, r.addressRevision) // it expires otherwise
	err := r.engine.Delete(ctx, memberGroup+"/"+r.id, revision)
	if errors.Is(err, ErrConflict) { // it has expired
		err = nil
	}
	_ = r.listener.Close() // the server may have closed it
	return errors.Join(departed, err)
}
