package cluster

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"maps"
	"net"
	"slices"
	"time"
)

// A replica that the engine has forgotten may hold its lease all the same: it was cut off together with others, which
// grant it leases without knowing that a third replica reaches the engine, or the engine has lost data. So an adopter
// asks the owner itself, at the address that it has left in the engine. The owner need not know the adopter, and
// answers in the handshake: by the protocol that it chooses, which its certificate signs.

// addressGroup is the group of the addresses of replicas, which outlive their leases.
const addressGroup = "address"

const (
	// addressLife is how long the address of a replica that was killed stays in the engine: longer than its claims
	// are worth adopting.
	addressLife = 24 * time.Hour
	// leasedProtocol is what an adopter offers instead of a request, and an owner chooses while it has its lease.
	// The owner refuses such connections in any case.
	leasedProtocol = "slipway-leased"
	// askTimeout bounds how long an owner may take to answer, and a quarter of the lease does.
	askTimeout = time.Second
)

// address is a record of addressGroup.
type address struct {
	Addr        string `json:"addr"`
	Certificate string `json:"certificate"`
}

// keepAddress stores the address of this replica, if that is due or the engine may have lost it. One report at a time
// calls it.
func (r *Replica) keepAddress(ctx context.Context, lost bool) error {
	if !lost && !r.addressed.IsZero() && r.now().Sub(r.addressed) < addressLife/4 {
		return nil
	}
	value, err := json.Marshal(address{
		Addr:        r.addr,
		Certificate: r.identity.fingerprint,
	})
	if err != nil {
		return err
	}
	key := addressGroup + "/" + r.id
	next, err := r.engine.Create(ctx, key, value, addressLife)
	if errors.Is(err, ErrConflict) {
		var stored Record
		if stored, err = r.engine.Get(ctx, key); err == nil {
			next, err = r.engine.Update(ctx, key, value, stored.Revision, addressLife)
		}
	}
	if err == nil {
		r.addressed, r.addressRevision = r.now(), next
	}
	return err
}

// question is whether another replica has its lease. leased and err are valid once answered is closed.
type question struct {
	answered chan struct{}
	leased   bool
	err      error
	// until is when the replica is asked again; zero until it has answered or failed to. r.mu guards it.
	until time.Time
}

// current reports whether callers share the question. The time counts from its end: otherwise a replica that does not
// answer would be asked again by each caller.
func (q *question) current(now time.Time) bool { return q.until.IsZero() || now.Before(q.until) }

// leases asks another replica whether it has its lease. One that does not answer has none, as far as this replica can
// know; it was suspended, is cut off from this one too, or is of a release that does not answer. Callers share a
// question until a quarter of the lease after its answer, or after there was none.
func (r *Replica) leases(ctx context.Context, id string) (bool, error) {
	q, first := r.question(id)
	if first {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(r.opts.Lease/4, askTimeout))
		defer cancel()
		q.leased, q.err = r.askLease(limited, id)
		r.mu.Lock()
		q.until = r.now().Add(r.opts.Lease / 4)
		r.mu.Unlock()
		close(q.answered)
	}
	select {
	case <-q.answered:
		return q.leased, q.err
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// question returns the current question to a replica, and whether the caller has to ask it.
func (r *Replica) question(id string) (q *question, first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if q = r.questions[id]; q != nil && q.current(now) {
		return q, false
	}
	maps.DeleteFunc(r.questions, func(_ string, old *question) bool { return !old.current(now) })
	q = &question{answered: make(chan struct{})}
	r.questions[id] = q
	return q, true
}

// askLease asks another replica whether it has its lease.
func (r *Replica) askLease(ctx context.Context, id string) (bool, error) {
	stored, err := r.engine.Get(ctx, addressGroup+"/"+id)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var a address
	if len(stored.Value) > maxRecord || json.Unmarshal(stored.Value, &a) != nil {
		return false, nil
	}
	config := r.identity.config(func(fingerprint string) bool { return fingerprint == a.Certificate }, ErrReplaced)
	config.NextProtos = []string{leasedProtocol, "http/1.1"}
	c, err := handshake(ctx, config, func() (net.Conn, error) { return r.opts.System.Dial(ctx, "tcp", a.Addr) })
	if err != nil {
		return false, nil
	}
	defer c.Close()
	secure, ok := c.(*tls.Conn)
	return ok && secure.ConnectionState().NegotiatedProtocol == leasedProtocol, nil
}

// answerLeases makes the configuration of a listener answer other replicas.
func (r *Replica) answerLeases(config *tls.Config) {
	released := config.Clone()
	released.VerifyConnection = func(tls.ConnectionState) error { return errNotMember }
	leased := released.Clone()
	leased.NextProtos = []string{leasedProtocol}
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		switch {
		case !slices.Contains(hello.SupportedProtos, leasedProtocol):
			return nil, nil
		case r.Term() != 0:
			return leased, nil
		}
		return released, nil
	}
}
