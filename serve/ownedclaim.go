package serve

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
)

// ownedClaim is a record in the engine that this replica owns, see [cluster.Claim]. There is one for each
// session, so it is small: what can be computed is not in it.
type ownedClaim struct {
	// writing is not nil while the record is written, and closed afterwards; it guards the following fields.
	// It is not a mutex, because the engine may take long and a request that waits may be cancelled.
	writing  atomic.Pointer[chan struct{}]
	revision uint64
	written  int64 // Unix nanoseconds
	// term is that of the replica when it last wrote the record.
	term atomic.Uint64

	// attempted is set once the record may exist, so that another replica could adopt it.
	attempted atomic.Bool
	// lost is set once another replica owns the record: nothing is answered for it any more.
	lost atomic.Bool
	over bool // nothing writes the record any more; writing guards it
}

// lock waits until the record is not being written, or ctx ends.
func (c *ownedClaim) lock(ctx context.Context) error {
	mine := make(chan struct{})
	for !c.writing.CompareAndSwap(nil, &mine) {
		theirs := c.writing.Load()
		if theirs == nil {
			continue
		}
		select {
		case <-*theirs:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// unlock ends a write and wakes those that wait for it.
func (c *ownedClaim) unlock() { close(*c.writing.Swap(nil)) }

// sinceWritten returns the time since the record was written, and a long time if the clock was set back meanwhile:
// the engine counts on its own clock until it deletes the record. c is locked.
func (c *ownedClaim) sinceWritten() time.Duration {
	if since := time.Since(time.Unix(0, c.written)); since >= 0 {
		return since
	}
	return math.MaxInt64
}

// usedSinceWritten reports whether what the record is for was used after the record was written. It compares times
// that have passed, because the date in used may be one of before the clock was set. c is locked.
func (c *ownedClaim) usedSinceWritten(used time.Time) bool {
	return time.Since(used) < c.sinceWritten()
}

// adopted sets what is known of a record that this replica has just adopted.
func (c *ownedClaim) adopted(revision, term uint64) {
	c.revision = revision
	c.written = time.Now().UnixNano()
	c.attempted.Store(true)
	c.term.Store(term)
}

// write writes the record. The error is [cluster.ErrLost] if another replica has adopted it. c is locked.
func (c *ownedClaim) write(
	ctx context.Context, r *cluster.Replica, key string, value []byte, ttl time.Duration,
) error {
	term := r.Term()
	if term == 0 {
		return errNoLease
	}
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	c.attempted.Store(true)
	c.term.CompareAndSwap(0, term)
	revision, err := r.WriteClaim(ctx, key, value, c.revision, c.term.Load(), ttl)
	switch {
	case err == nil:
		c.adopted(revision, term)
	case errors.Is(err, cluster.ErrLost):
		c.lost.Store(true)
	}
	return err
}

// heldBy reports whether a replica certainly owns the record now.
func (c *ownedClaim) heldBy(r *cluster.Replica) bool {
	if c.lost.Load() {
		return false
	}
	if !c.attempted.Load() {
		return true // no other replica can know it
	}
	term := r.Term()
	return term != 0 && term == c.term.Load()
}
