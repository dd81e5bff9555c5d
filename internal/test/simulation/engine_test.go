package simulation

import (
	"context"
	"errors"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
)

// engineName is the name of the host with the engine.
const engineName = "engine"

// engineLink is how a host reaches the engine: over a network in which requests and answers
// are delayed or lost.
type engineLink struct {
	host   *host
	engine *cluster.Memory
	trace  *trace
}

var _ cluster.Engine = (*engineLink)(nil)

// errEngineLost is the outcome of a request while the engine is unreachable: it may have been
// served.
var errEngineLost = errors.New("the connection to the engine was lost")

// travel waits for the time of a message in one direction.
func (e *engineLink) travel(ctx context.Context, from, to string) error {
	n := e.host.network
	for {
		hung, dead, changed := e.host.state()
		if dead {
			return errEngineLost
		}
		n.mu.Lock()
		blocked := hung || n.cutLocked(from, to)
		n.mu.Unlock()
		var arrived <-chan time.Time
		if !blocked {
			timer := time.NewTimer(n.delay(from, to))
			defer timer.Stop()
			arrived = timer.C
		}
		select {
		case <-arrived:
			return nil
		case <-changed:
			// A message under way is sent again.
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// exchange sends a request, which do performs, and waits for the answer. The request may have been
// performed when it fails.
func (e *engineLink) exchange(ctx context.Context, do func() error) error {
	if err := e.travel(ctx, e.host.name, engineName); err != nil {
		return err
	}
	err := do()
	if lost := e.travel(ctx, engineName, e.host.name); lost != nil {
		return lost
	}
	return err
}

// Get implements [cluster.Engine].
func (e *engineLink) Get(ctx context.Context, key string) (r cluster.Record, err error) {
	err = e.exchange(ctx, func() error {
		r, err = e.engine.Get(ctx, key)
		return err
	})
	return r, err
}

// Create implements [cluster.Engine].
func (e *engineLink) Create(
	ctx context.Context,
	key string,
	value []byte,
	ttl time.Duration,
) (rev uint64, err error) {
	err = e.exchange(ctx, func() error {
		rev, err = e.engine.Create(ctx, key, value, ttl)
		return err
	})
	return rev, err
}

// Update implements [cluster.Engine].
func (e *engineLink) Update(
	ctx context.Context, key string, value []byte, revision uint64, ttl time.Duration,
) (rev uint64, err error) {
	err = e.exchange(ctx, func() error {
		rev, err = e.engine.Update(ctx, key, value, revision, ttl)
		return err
	})
	return rev, err
}

// Delete implements [cluster.Engine].
func (e *engineLink) Delete(ctx context.Context, key string, revision uint64) error {
	return e.exchange(ctx, func() error { return e.engine.Delete(ctx, key, revision) })
}

// List implements [cluster.Engine].
func (e *engineLink) List(ctx context.Context, group string) (all []cluster.Record, err error) {
	err = e.exchange(ctx, func() error {
		all, err = e.engine.List(ctx, group)
		return err
	})
	return all, err
}

// Publish implements [cluster.Engine].
func (e *engineLink) Publish(ctx context.Context, topic string, message []byte) error {
	return e.exchange(ctx, func() error { return e.engine.Publish(ctx, topic, message) })
}

// Subscribe implements [cluster.Engine].
func (e *engineLink) Subscribe(ctx context.Context, topics ...string) (cluster.Subscription, error) {
	s := &engineSubscription{link: e}
	err := e.exchange(ctx, func() (err error) {
		s.Subscription, err = e.engine.Subscribe(ctx, topics...)
		return err
	})
	if err != nil && s.Subscription != nil {
		_ = s.Subscription.Close()
	}
	return s, err
}

// Close implements [cluster.Engine].
func (e *engineLink) Close() error { return nil }

// engineSubscription delays events. It ends when the engine cannot be reached, as a connection
// does that is probed.
type engineSubscription struct {
	cluster.Subscription

	link *engineLink
}

// Next implements [cluster.Subscription].
func (s *engineSubscription) Next(ctx context.Context) (cluster.Event, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		s.watch(ctx, cancel)
	}()
	event, err := s.Subscription.Next(ctx)
	if err == nil {
		err = s.link.travel(ctx, engineName, s.link.host.name)
	}
	if errors.Is(context.Cause(ctx), errEngineLost) {
		err = errEngineLost
	}
	cancel(nil)
	<-watching
	return event, err
}

// watch cancels when the engine cannot be reached.
func (s *engineSubscription) watch(ctx context.Context, cancel context.CancelCauseFunc) {
	n := s.link.host.network
	for {
		_, dead, changed := s.link.host.state()
		n.mu.Lock()
		cut := n.cutLocked(s.link.host.name, engineName)
		n.mu.Unlock()
		if dead || cut {
			cancel(errEngineLost)
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}
