package cluster

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"time"
)

// newsTopic is the topic of messages between replicas.
const newsTopic = "news"

// news is a message between replicas.
type news struct {
	From string          `json:"from"`
	Kind string          `json:"kind"`
	Data json.RawMessage `json:"data"`
}

// handlers receive messages. The functions are called one at a time and must not wait.
type handlers struct {
	kinds map[string]func(from string, data json.RawMessage)
	// missed is called when messages may have been lost.
	missed []func()
}

// Handle registers the function for messages of a kind, and one that is called when
// messages may have been lost, because the engine or the connection to it failed. Both
// are called one at a time and must not wait. They are called until [Replica.Leave].
func (r *Replica) Handle(kind string, receive func(from string, data json.RawMessage), missed func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.handlers.kinds == nil {
		r.handlers.kinds = make(map[string]func(string, json.RawMessage))
	}
	r.handlers.kinds[kind] = receive
	r.handlers.missed = append(r.handlers.missed, missed)
}

// Publish sends a message to all other replicas. Encoded, it may have [MaxMessage] bytes.
func (r *Replica) Publish(ctx context.Context, kind string, data any) error {
	raw, err := json.Marshal(data)
	if err != nil {
		return err
	}
	message, err := json.Marshal(news{
		From: r.id,
		Kind: kind,
		Data: raw,
	})
	if err != nil {
		return err
	}
	return r.engine.Publish(ctx, newsTopic, message)
}

// subscribe subscribes to everything that replicas follow.
func (r *Replica) subscribe(ctx context.Context) (Subscription, error) {
	ctx, cancel := context.WithTimeout(ctx, r.opts.Lease)
	defer cancel()
	return r.engine.Subscribe(ctx, memberGroup, groupOf(keyRecord), newsTopic)
}

// backoff computes the pauses between attempts to subscribe. After each, everything is listed again, so if
// subscriptions keep failing soon, the pauses grow from an eighth of the lease to two leases.
type backoff struct{ lease, longest time.Duration }

func (r *Replica) newBackoff() *backoff {
	return &backoff{
		lease:   r.opts.Lease,
		longest: r.opts.Lease / 8,
	}
}

// ended notes how long a subscription has lasted.
func (b *backoff) ended(lasted time.Duration) {
	if lasted < b.lease {
		b.longest = min(2*b.longest, 2*b.lease)
	} else {
		b.longest = b.lease / 8
	}
}

// wait waits for up to longest, and at least four fifths of it: an engine that restarts ends the
// subscriptions of all replicas at once, and they should not all return at once.
func (b *backoff) wait(ctx context.Context) error {
	pause := time.NewTimer(b.longest - rand.N(b.longest/5+1))
	defer pause.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-pause.C:
		return nil
	}
}

// follow receives events until ctx ends, and subscribes again after a failure.
func (r *Replica) follow(ctx context.Context, sub Subscription) {
	pauses := r.newBackoff()
	for {
		if sub != nil {
			began := r.now()
			err := r.receive(ctx, sub)
			_ = sub.Close()
			pauses.ended(r.now().Sub(began))
			if ctx.Err() == nil {
				r.doubt(pauses.longest + r.opts.Lease)
				r.opts.Logger.Warn("cluster events interrupted", "error", err)
			}
		}
		if pauses.wait(ctx) != nil {
			return
		}
		r.doubt(pauses.longest + 2*r.opts.Lease) // to subscribe may take a lease, and fail
		var err error
		if sub, err = r.subscribe(ctx); err != nil {
			sub = nil
			continue
		}
		r.doubt(r.opts.Lease)
		r.mu.Lock()
		missed := r.handlers.missed
		r.mu.Unlock()
		for _, f := range missed {
			f()
		}
		if r.within(ctx, r.refresh) == nil { // otherwise the report tries again
			_ = r.within(ctx, r.syncKeys)
		}
	}
}

// doubt makes missing records mean nothing for a time: a replica without a subscription does not notice that the
// engine lost its data, and for a lease after it, others may not have written their records again.
func (r *Replica) doubt(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.doubtful = r.now().Add(d)
}

// doubtAgain makes missing records mean nothing until a lease after since, or for longer if they do already. The
// caller holds the lock.
func (r *Replica) doubtAgain(since time.Time) {
	if until := since.Add(r.opts.Lease); until.After(r.doubtful) {
		r.doubtful = until
	}
}

// receive handles events until the subscription fails. What an event leaves unread for a
// failure is read with the next report.
func (r *Replica) receive(ctx context.Context, sub Subscription) error {
	for {
		e, err := sub.Next(ctx)
		if err != nil {
			return err
		}
		switch e.Topic {
		case memberGroup:
			if e.Key != memberGroup+"/"+r.id {
				_ = r.within(ctx, r.refresh)
			}
		case groupOf(keyRecord):
			_ = r.within(ctx, r.syncKeys)
		case newsTopic:
			r.dispatch(e.Message)
		}
	}
}

// within calls f with the time limit of a report.
func (r *Replica) within(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, r.opts.Lease)
	defer cancel()
	return f(ctx)
}

func (r *Replica) dispatch(message []byte) {
	var n news
	if len(message) > MaxMessage || json.Unmarshal(message, &n) != nil || n.From == r.id {
		return
	}
	r.mu.Lock()
	receive := r.handlers.kinds[n.Kind]
	r.mu.Unlock()
	if receive != nil { // otherwise it is of a later version
		receive(n.From, n.Data)
	}
}
