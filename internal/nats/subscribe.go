package nats

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/slipway-mcp/slipway/cluster"
)

// maxEvents is how many events wait for a subscriber; then its subscription ends.
const maxEvents = 1024

// subscription implements [cluster.Subscription].
type subscription struct {
	engine *Engine
	topics []string
	// events receives from all subs, so that they stay in order.
	events chan *nats.Msg
	subs   []*nats.Subscription
	// last is the sequence of the newest write that was received.
	last uint64

	once sync.Once
	done chan struct{}
	err  error // once done is closed
}

// Subscribe implements [cluster.Engine].
func (e *Engine) Subscribe(ctx context.Context, topics ...string) (cluster.Subscription, error) {
	nc, err := e.connection(ctx)
	if err != nil {
		return nil, err
	}
	s := &subscription{
		engine: e,
		topics: slices.Clone(topics),
		events: make(chan *nats.Msg, maxEvents),
		done:   make(chan struct{}),
	}
	e.mu.Lock()
	e.subscriptions[s] = struct{}{}
	e.mu.Unlock()
	subjects := []string{e.stream + ".changed.>"}
	for _, topic := range topics {
		subjects = append(subjects, e.stream+".message."+escape(topic))
	}
	for _, subject := range subjects {
		sub, err := nc.ChanSubscribe(subject, s.events)
		if err != nil {
			_ = s.Close()
			return nil, err
		}
		s.subs = append(s.subs, sub)
	}
	// The leader of the stream answers on the way on which it has learned of the subscription,
	// so it republishes all later writes to it.
	a, err := e.ask(ctx, "STREAM.INFO", nil)
	if err == nil {
		err = flush(ctx, nc)
	}
	if err != nil {
		_ = s.Close()
		return nil, err
	}
	s.last = a.State.LastSeq
	return s, nil
}

// Next implements [cluster.Subscription].
func (s *subscription) Next(ctx context.Context) (cluster.Event, error) {
	for {
		select {
		case <-s.done:
			return cluster.Event{}, s.err
		default:
		}
		select {
		case <-ctx.Done():
			return cluster.Event{}, ctx.Err()
		case <-s.done:
			return cluster.Event{}, s.err
		case msg := <-s.events:
			event, ok, err := s.event(msg)
			if ok || err != nil {
				return event, err
			}
		}
	}
}

// event converts a message; ok reports whether the subscriber wants it.
func (s *subscription) event(msg *nats.Msg) (e cluster.Event, ok bool, err error) {
	for _, sub := range s.subs {
		if n, err := sub.Dropped(); err == nil && n > 0 {
			return e, false, errors.New("the subscription received events too slowly")
		}
	}
	if topic, ok := strings.CutPrefix(msg.Subject, s.engine.stream+".message."); ok {
		for _, t := range s.topics {
			if escape(t) == topic {
				return cluster.Event{Topic: t, Message: msg.Data}, true, nil
			}
		}
		return e, false, nil
	}
	sequence, err := strconv.ParseUint(msg.Header.Get("Nats-Sequence"), 10, 64)
	if err != nil {
		return e, false, errors.New("a change of a record has no sequence")
	}
	if sequence > s.last+1 {
		return e, false, errors.New("events of records were lost")
	}
	s.last = max(s.last, sequence)
	key, ok := keyOf(msg.Subject, s.engine.stream+".changed.")
	group, _, _ := strings.Cut(key, "/")
	if !ok || msg.Header.Get(renewedHeader) != "" || !slices.Contains(s.topics, group) {
		return e, false, nil
	}
	return cluster.Event{Topic: group, Key: key}, true, nil
}

var errSubscriptionEnded = errors.New("the subscription was closed")

// end makes Next return err.
func (s *subscription) end(err error) {
	s.once.Do(func() {
		s.err = errors.New("the subscription was interrupted")
		if err != nil {
			s.err = fmt.Errorf("the subscription was interrupted: %w", err)
		}
		close(s.done)
	})
}

// Close implements [cluster.Subscription].
func (s *subscription) Close() error {
	s.engine.mu.Lock()
	delete(s.engine.subscriptions, s)
	s.engine.mu.Unlock()
	s.end(errSubscriptionEnded)
	for _, sub := range s.subs {
		_ = sub.Unsubscribe() // fails if the connection has ended
	}
	return nil
}
