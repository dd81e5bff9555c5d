package cluster

import (
	"bytes"
	"context"
	"errors"
	"time"
)

// A claim is a record that one replica owns at a time, such as a session. Its value is the id of
// the owner and, after a line feed, what another replica needs to continue.
//
// A replica owns what it has claimed in its current term, which lasts as long as it holds its
// lease without a gap. It knows the end of its lease by its own clock, early enough that no other
// replica has seen it expire by then, so a replica that was suspended or cut off stops in time.
// In a new term it writes each claim again before it uses it: the write fails if another
// replica has adopted the claim meanwhile.
//
// An adopter writes the revision that it has read, after the engine has confirmed that the owner
// has no lease, and the owner has not denied it. If the engine cannot confirm that, no replica adopts.

// Claim is the content of a claim.
type Claim struct {
	// Owner is the id of a replica.
	Owner string
	Value []byte
	// Revision is the fencing token: it grows with each write.
	Revision uint64
}

// ErrOwned means that the owner of a claim has its lease, or that it cannot be known.
var ErrOwned = errors.New("the owner may be alive")

// ErrLost means that another replica owns a claim, or may have owned it.
var ErrLost = errors.New("another replica owns it")

// leftGroup is the group of the records of replicas that have left in order.
const leftGroup = "left"

// Term returns the number of the current term of this replica, or 0 while it does not hold its
// lease.
func (r *Replica) Term() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.leasedLocked() {
		return 0
	}
	return r.term
}

// leasedLocked reports whether the lease has not ended. It compares both clocks, because the one
// that only grows may stand still while the machine sleeps. r.mu is held.
func (r *Replica) leasedLocked() bool {
	return r.opts.System.Now().before(r.until)
}

// AwaitTerm is Term for a replica that may just have been suspended: it waits until the lease has
// been renewed, or ctx ends.
func (r *Replica) AwaitTerm(ctx context.Context) uint64 {
	r.mu.Lock()
	begun := r.termBegun
	r.mu.Unlock()
	if term := r.Term(); term != 0 {
		return term
	}
	select {
	case <-begun:
	case <-ctx.Done():
	}
	return r.Term()
}

// renewedLocked records that the engine has renewed the lease by a request that began then. lapsed means that the
// record may have been missing, so another replica may have adopted claims if the lease was extended meanwhile.
// r.mu is held.
func (r *Replica) renewedLocked(began Instant, lapsed bool) {
	held := r.leasedLocked()
	begins := !held || r.extended && lapsed
	r.extended = false
	if begins {
		r.term++
		if !held {
			r.heldSince = r.term
		}
		close(r.termBegun)
		r.termBegun = make(chan struct{})
	}
	// Clocks may differ by an eighth in speed.
	r.extendLocked(began.add(r.opts.Lease - r.opts.Lease/8))
}

// Expiring reports whether the lease ends soon, because the engine does not renew it.
func (r *Replica) Expiring() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.expiringLocked()
}

func (r *Replica) expiringLocked() bool {
	return r.until.Running.Sub(r.now()) < r.opts.Lease/2
}

// extendLocked moves the end of the lease, unless it is later already. r.mu is held.
func (r *Replica) extendLocked(until Instant) {
	if until.Running.After(r.until.Running) {
		r.until = until
	}
}

// Grant promises a replica whose lease the engine does not renew that this one does not adopt
// anything for the time of a lease. It returns false if this replica reaches the engine: the other
// one is then cut off, and has to stop.
func (r *Replica) Grant() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.expiringLocked() || r.adopting > 0 {
		return false
	}
	if until := r.now().Add(r.opts.Lease); until.After(r.unsettled) {
		r.unsettled = until
	}
	return true
}

// Extend extends the lease, because all other replicas that this one knows have granted it after that time. One that
// it does not know may have joined. So what this replica has claimed is written again once it sees such a one, or the
// engine is back.
func (r *Replica) Extend(asked Instant) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.leasedLocked() {
		r.extended = true
		r.extendLocked(asked.add(r.opts.Lease / 2))
	}
}

// Now reads the clocks of this replica, for [Replica.Extend].
func (r *Replica) Now() Instant { return r.opts.System.Now() }

// Lease returns how long a replica that does not report counts as alive.
func (r *Replica) Lease() time.Duration { return r.opts.Lease }

// Certain reports whether a claim that the engine does not have does not exist. It is false for the time of a lease
// after the engine has failed or lost data: meanwhile, replicas write their claims again.
func (r *Replica) Certain() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.failing && r.now().After(r.doubtful)
}

// ReadClaim reads a claim from the engine, or returns [ErrNotFound].
func (r *Replica) ReadClaim(ctx context.Context, key string) (Claim, error) {
	stored, err := r.engine.Get(ctx, key)
	if err != nil {
		return Claim{}, err
	}
	owner, value, _ := bytes.Cut(stored.Value, []byte{'\n'})
	return Claim{
		Owner:    string(owner),
		Value:    value,
		Revision: stored.Revision,
	}, nil
}

// WriteClaim writes a claim of this replica that has that revision, or a new one if it is 0. known
// is the term in which this replica has last written it. The error is [ErrLost] if another
// replica has adopted it; after that no attempt succeeds.
func (r *Replica) WriteClaim(
	ctx context.Context, key string, value []byte, revision, known uint64, ttl time.Duration,
) (uint64, error) {
	claim := append(append([]byte(r.id), '\n'), value...)
	if revision != 0 {
		next, err := r.engine.Update(ctx, key, claim, revision, ttl)
		if !errors.Is(err, ErrConflict) {
			return next, err
		}
	}
	stored, err := r.ReadClaim(ctx, key)
	switch {
	case errors.Is(err, ErrNotFound) && (revision == 0 || r.hasHeld(known)):
		// New, or lost by the engine: what another replica has adopted has a record until it has ended there.
		revision, err = r.engine.Create(ctx, key, claim, ttl)
	case errors.Is(err, ErrNotFound), err == nil && stored.Owner != r.id:
		return 0, ErrLost
	case err != nil:
		return 0, err
	default: // a write whose answer was lost
		revision, err = r.engine.Update(ctx, key, claim, stored.Revision, ttl)
	}
	if errors.Is(err, ErrConflict) {
		return 0, ErrLost
	}
	return revision, err
}

// hasHeld reports whether this replica has held its lease without a break since a term.
func (r *Replica) hasHeld(term uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.leasedLocked() && term >= r.heldSince
}

// DeleteClaim deletes a claim of this replica. It succeeds if there is none.
func (r *Replica) DeleteClaim(ctx context.Context, key string) error {
	c, err := r.ReadClaim(ctx, key)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil
	case err != nil:
		return err
	case c.Owner != r.id:
		return ErrLost
	}
	return r.engine.Delete(ctx, key, c.Revision)
}

// Adopt makes this replica the owner of a claim that it has just read, and returns its revision.
// releasedBy is the id of a replica that has asked this one to continue, or "". The error
// is [ErrOwned] unless the owner has released the claim, has left, or has lost its lease,
// and [ErrConflict] if another replica was faster.
func (r *Replica) Adopt(
	ctx context.Context, key string, c *Claim, releasedBy string, ttl time.Duration,
) (uint64, error) {
	if r.Term() == 0 {
		return 0, ErrOwned // this replica could not use it
	}
	if c.Owner != r.id && c.Owner != releasedBy {
		done, err := r.adoptFrom(ctx, c.Owner)
		if err != nil {
			return 0, err
		}
		defer done()
	}
	claim := append(append([]byte(r.id), '\n'), c.Value...)
	return r.engine.Update(ctx, key, claim, c.Revision, ttl)
}

// adoptFrom confirms that a replica has left or has no lease. This one grants no lease until
// done is called.
func (r *Replica) adoptFrom(ctx context.Context, owner string) (done func(), err error) {
	_, err = r.engine.Get(ctx, leftGroup+"/"+owner)
	if err == nil {
		return func() {}, nil
	}
	if !errors.Is(err, ErrNotFound) {
		return nil, err
	}
	r.mu.Lock()
	// After the engine has failed or lost data, others need the time of a lease to report.
	now := r.now()
	settled := !r.failing && now.After(r.doubtful) && now.After(r.unsettled)
	if settled {
		r.adopting++
	}
	r.mu.Unlock()
	if !settled {
		return nil, ErrOwned
	}
	done = func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.adopting--
	}
	_, err = r.engine.Get(ctx, memberGroup+"/"+owner)
	if !errors.Is(err, ErrNotFound) {
		done()
		if err == nil {
			err = ErrOwned
		}
		return nil, err
	}
	if _, err = r.engine.Get(ctx, memberGroup+"/"+r.id); err != nil {
		done() // the engine has lost data
		if errors.Is(err, ErrNotFound) {
			err = ErrOwned
		}
		return nil, err
	}
	leased, err := r.leases(ctx, owner)
	if leased {
		err = ErrOwned
	}
	if err != nil {
		done()
		return nil, err
	}
	return done, nil
}

// Depart declares that this replica uses none of its claims any more, so that others adopt them at
// once. It is part of [Replica.Leave].
func (r *Replica) Depart(ctx context.Context) error {
	if r.Self().Departed {
		return nil
	}
	_, err := r.engine.Create(ctx, leftGroup+"/"+r.id, []byte{'1'}, 4*r.opts.Lease)
	if errors.Is(err, ErrConflict) {
		err = nil
	}
	r.mu.Lock()
	r.until = Instant{}
	r.self.Departed = true
	r.mu.Unlock()
	return errors.Join(err, r.report(ctx))
}
