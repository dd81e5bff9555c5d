package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
)

// limitSharing makes limits count for all replicas: each keeps whole buckets and counters, and
// sends what its clients have used to the others, ten times a second, or at once if a client has
// used much since. No request waits for it. A replica that cannot be reached enforces the limits
// on its own.
type limitSharing struct {
	self    string
	limiter *limiter // nil if there is none
	quotas  *quotas  // nil if there are none
	peers   func() []usagePeer
	log     *slog.Logger
	wake    chan struct{} // of capacity 1: send before the next tick

	mu      sync.Mutex
	outbox  map[string]*usageOutbox // by replica
	number  uint64                  // of the last message of this replica
	applied map[string]uint64       // the number of the last message of each replica, by its id
	sending sync.WaitGroup
}

// usagePeer is another replica. send delivers a message to it.
type usagePeer struct {
	id   string
	send func(ctx context.Context, m *usageMessage) error
}

// usageOutbox is the usage that a replica has not received yet.
type usageOutbox struct {
	rates  map[clientKey]int
	quotas map[usageKey]quotaUsage
	busy   bool // a message is on its way
	// failed is a message that the replica may have received. It is sent again as it is, so that the replica
	// recognizes its number.
	failed *usageMessage
}

// Intervals and limits of messages about usage.
const (
	usageEvery       = 100 * time.Millisecond
	usagePause       = 2 * time.Millisecond // at least between urgent messages
	usageSlack       = 0.2                  // seconds of a rate that all replicas together may keep to themselves
	usageTimeout     = time.Second
	maxUsageEntries  = 5_000 // of each kind in a message
	maxOutbox        = 20_000
	maxUsageReplicas = 100
	maxUsageBody     = 8 << 20
	usagePath        = "/.slipway/usage"
)

// usageMessage is what clients have used at a replica.
type usageMessage struct {
	// From is the id of the replica, and Number grows with each of its messages; "" from a release without them.
	From   string `json:"from,omitempty"`
	Number uint64 `json:"number,omitempty"`

	Rates  []rateUsage  `json:"rates,omitempty"`
	Quotas []quotaUsage `json:"quotas,omitempty"`
}

// rateUsage is a number of tokens that a client has taken.
type rateUsage struct {
	usageClient

	Tokens int `json:"tokens"`
}

// usageClient is a clientKey in a message.
type usageClient struct {
	Principal string     `json:"principal,omitempty"`
	Addr      netip.Addr `json:"addr,omitzero"`
	// Other is the remote address of a client if it has no IP address.
	Other string `json:"other,omitempty"`
}

// usageClientOf returns a client in the form that replicas exchange; key is its inverse.
func usageClientOf(key clientKey) usageClient {
	return usageClient{
		Principal: key.principal,
		Addr:      key.addr,
		Other:     key.other,
	}
}

func (c *usageClient) key() clientKey {
	return clientKey{
		principal: c.Principal,
		addr:      c.Addr,
		other:     c.Other,
	}
}

// newLimitSharing returns nil if there is nothing to share.
func newLimitSharing(
	self string,
	l *limiter,
	q *quotas,
	peers func() []usagePeer,
	log *slog.Logger,
) *limitSharing {
	if l == nil && q == nil {
		return nil
	}
	s := &limitSharing{
		self:    self,
		limiter: l,
		quotas:  q,
		peers:   peers,
		log:     log,
		wake:    make(chan struct{}, 1),
		outbox:  make(map[string]*usageOutbox),
		applied: make(map[string]uint64),
	}
	s.shareRates(0)
	if q != nil {
		q.share(s.signal)
	}
	return s
}

// shareRates makes the limiter call signal when a client's usage cannot wait for the next tick.
// Until the others know of it, each of them admits as much again, so the more replicas there
// are, the less one keeps to itself.
func (s *limitSharing) shareRates(others int) {
	if s.limiter != nil {
		s.limiter.shared.Store(&limiterSharing{
			slack:  usageSlack / float64(others+1),
			urgent: s.signal,
		})
	}
}

// signal wakes the goroutine that sends. It never blocks: one pending signal is enough.
func (s *limitSharing) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run sends usage until ctx ends, and then the rest of it.
func (s *limitSharing) run(ctx context.Context) {
	tick := time.NewTicker(usageEvery)
	defer tick.Stop()
	pause := time.NewTimer(0)
	defer pause.Stop()
	for ctx.Err() == nil {
		s.flush(context.WithoutCancel(ctx))
		pause.Reset(usagePause)
		select {
		case <-ctx.Done():
		case <-pause.C:
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		case <-s.wake:
		}
	}
	s.sending.Wait()
	s.flush(context.WithoutCancel(ctx))
	s.sending.Wait()
}

// flush adds the latest usage to what each replica is to receive, and sends it to those that
// do not receive a message already.
func (s *limitSharing) flush(ctx context.Context) {
	peers := s.peers()
	alive := make(map[string]bool, len(peers))
	for _, p := range peers {
		alive[p.id] = true
	}
	var rates map[clientKey]int
	var quotas map[usageKey]quotaUsage
	if s.limiter != nil {
		s.shareRates(len(peers))
		rates = s.limiter.spent()
	}
	if s.quotas != nil {
		s.quotas.setReplicas(alive)
		quotas = s.quotas.changes(s.self)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.outbox, func(id string, _ *usageOutbox) bool { return !alive[id] })
	maps.DeleteFunc(s.applied, func(id string, _ uint64) bool { return !alive[id] })
	for _, p := range peers {
		out := s.outbox[p.id]
		if out == nil {
			out = &usageOutbox{
				rates:  make(map[clientKey]int),
				quotas: make(map[usageKey]quotaUsage),
			}
			s.outbox[p.id] = out
			if s.quotas != nil {
				maps.Copy(out.quotas, s.quotas.everything(s.self, alive))
			}
		}
		out.add(rates, quotas)
		if !out.busy && !out.empty() {
			out.busy = true
			s.sending.Go(func() { s.send(ctx, p, out) })
		}
	}
}

func (o *usageOutbox) empty() bool { return len(o.rates)+len(o.quotas) == 0 && o.failed == nil }

// add merges usage. Beyond the limit, that of new clients is dropped: a replica that is
// slower than that enforces more on its own.
func (o *usageOutbox) add(rates map[clientKey]int, quotas map[usageKey]quotaUsage) {
	for key, tokens := range rates {
		if _, known := o.rates[key]; known || len(o.rates) < maxOutbox {
			o.rates[key] += tokens
		}
	}
	for key, u := range quotas {
		if _, known := o.quotas[key]; known || len(o.quotas) < maxOutbox {
			o.quotas[key] = u
		}
	}
}

// take removes the entries of the next message.
func (o *usageOutbox) take() *usageMessage {
	m := &usageMessage{}
	for key, tokens := range o.rates {
		if len(m.Rates) == maxUsageEntries {
			break
		}
		m.Rates = append(m.Rates, rateUsage{
			usageClient: usageClientOf(key),
			Tokens:      tokens,
		})
		delete(o.rates, key)
	}
	for key, u := range o.quotas {
		if len(m.Quotas) == maxUsageEntries {
			break
		}
		m.Quotas = append(m.Quotas, u)
		delete(o.quotas, key)
	}
	return m
}

// send sends what p is to receive. If that fails, the same message is sent again, unless p refuses it.
func (s *limitSharing) send(ctx context.Context, p usagePeer, out *usageOutbox) {
	ctx, cancel := context.WithTimeout(ctx, usageTimeout)
	defer cancel()
	s.mu.Lock()
	m := out.failed
	if m == nil {
		m = out.take()
		s.number++
		m.From, m.Number = s.self, s.number
	}
	out.failed = nil
	s.mu.Unlock()
	err := p.send(ctx, m)
	s.mu.Lock()
	defer s.mu.Unlock()
	out.busy = false
	if err == nil {
		return
	}
	s.log.Debug("usage not sent", "replica", p.id, "error", err)
	if !errors.Is(err, errUsageRefused) {
		out.failed = m
	}
}

// isNew reports whether a message was not received before: its sender sends it again if the answer was lost.
func (s *limitSharing) isNew(m *usageMessage) bool {
	if m.From == "" {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.Number <= s.applied[m.From] {
		return false
	}
	s.applied[m.From] = m.Number
	return true
}

// receive counts what clients have used at another replica.
func (s *limitSharing) receive(m *usageMessage) {
	if !s.isNew(m) {
		return
	}
	if s.limiter != nil {
		for i := range m.Rates {
			if u := &m.Rates[i]; u.Tokens > 0 {
				s.limiter.charge(u.key(), u.Tokens)
			}
		}
	}
	if s.quotas != nil {
		s.quotas.receive(s.self, m.Quotas)
	}
}

// usagePeers returns the other replicas of a cluster.
func (p *hop) usagePeers() []usagePeer {
	var all []usagePeer
	for _, peer := range p.replica.Peers() {
		all = append(all, usagePeer{
			id:   peer.ID,
			send: func(ctx context.Context, m *usageMessage) error { return sendUsage(ctx, peer, m) },
		})
	}
	return all
}

// errUsageRefused means that a replica does not accept a message, now or later.
var errUsageRefused = errors.New("the replica refuses the message")

// sendUsage sends a message to a replica.
func sendUsage(ctx context.Context, peer *cluster.Peer, m *usageMessage) error {
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+peer.Addr+usagePath, bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := peer.Transport().RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 4<<10) // so that the connection is kept
	switch {
	case resp.StatusCode == http.StatusNoContent:
		return nil
	case resp.StatusCode == http.StatusBadRequest:
		return errUsageRefused
	}
	return fmt.Errorf("status %d", resp.StatusCode)
}

// receiveUsage serves the messages of other replicas.
func (p *hop) receiveUsage(w http.ResponseWriter, r *http.Request) {
	var m usageMessage
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxUsageBody)).Decode(&m); err != nil {
		http.Error(w, "invalid usage", http.StatusBadRequest)
		return
	}
	if p.limits != nil {
		p.limits.receive(&m)
	}
	w.WriteHeader(http.StatusNoContent)
}
