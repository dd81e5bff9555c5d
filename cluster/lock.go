package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"time"
)

// lockGroup is the group of the records of locks.
const lockGroup = "lock"

// The lease of a lock: how long it outlives a replica that was killed, and how often it is
// renewed.
const (
	lockLease = 15 * time.Second
	lockRenew = 4 * time.Second
	lockPoll  = 50 * time.Millisecond
)

// Lock takes the lock with a name, which one replica holds at a time, until unlock. If its
// replica is killed, it is free after 15 seconds. If wait is not set, ok is false while another
// one holds it; otherwise Lock waits until ctx ends. A replica that was suspended for longer
// than that may still believe to hold the lock: guard what it protects by revisions as well.
func (r *Replica) Lock(ctx context.Context, name string, wait bool) (unlock func(), ok bool, err error) {
	l := &lock{
		replica: r,
		key:     lockGroup + "/" + name,
		value:   r.id + " " + rand.Text(),
	}
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		err := l.take(ctx)
		if err == nil {
			break
		}
		if !errors.Is(err, ErrConflict) {
			return nil, false, err
		}
		if !wait {
			return nil, false, nil
		}
		pause.Reset(lockPoll)
		select {
		case <-ctx.Done():
			return nil, false, ctx.Err()
		case <-pause.C:
		}
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.renew(ctx)
	}()
	return func() {
		stop()
		<-done
		ctx, cancel := context.WithTimeout(context.Background(), r.opts.Lease)
		defer cancel()
		l.free(ctx)
	}, true, nil
}

// lock is one acquisition of a lock. One goroutine at a time uses it.
type lock struct {
	replica *Replica
	key     string
	// value differs from that of any other acquisition, so that a record shows who has written it after an answer was
	// lost.
	value    string
	revision uint64
}

// take takes the lock. The error is [ErrConflict] if another acquisition has it.
func (l *lock) take(ctx context.Context) error {
	revision, err := l.replica.engine.Create(ctx, l.key, []byte(l.value), lockLease)
	if err == nil {
		l.revision = revision
		return nil
	}
	if !errors.Is(err, ErrConflict) && l.read(ctx) == nil {
		return nil // the answer was lost
	}
	return err
}

// read reads the revision of the lock, which the record has after an answer was lost. The error is [ErrConflict] if
// another acquisition has the lock, and [ErrNotFound] if none has.
func (l *lock) read(ctx context.Context) error {
	stored, err := l.replica.engine.Get(ctx, l.key)
	switch {
	case err != nil:
		return err
	case string(stored.Value) != l.value:
		return ErrConflict
	}
	l.revision = stored.Revision
	return nil
}

// renew renews the lock until ctx ends, or another acquisition has it.
func (l *lock) renew(ctx context.Context) {
	tick := time.NewTicker(lockRenew)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.replica.opts.Lease)
		err := l.extend(limited)
		cancel()
		if errors.Is(err, ErrConflict) {
			l.replica.opts.Logger.Warn("lock lost: the cluster engine did not renew it in time", "lock", l.key)
			return
		}
	}
}

// extend renews the lock once. A lock that has expired is taken again, if it is free. The error is [ErrConflict] if
// another acquisition has it.
func (l *lock) extend(ctx context.Context) error {
	err := l.update(ctx)
	if !errors.Is(err, ErrConflict) {
		return err
	}
	switch err = l.read(ctx); {
	case errors.Is(err, ErrNotFound):
		return l.take(ctx)
	case err != nil:
		return err
	}
	return l.update(ctx)
}

func (l *lock) update(ctx context.Context) error {
	revision, err := l.replica.engine.Update(ctx, l.key, []byte(l.value), l.revision, lockLease)
	if err == nil {
		l.revision = revision
	}
	return err
}

// free frees the lock. If that fails, it expires.
func (l *lock) free(ctx context.Context) {
	err := l.replica.engine.Delete(ctx, l.key, l.revision)
	if errors.Is(err, ErrConflict) && l.read(ctx) == nil {
		_ = l.replica.engine.Delete(ctx, l.key, l.revision)
	}
}
