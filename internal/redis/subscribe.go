package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/slipway-mcp/slipway/cluster"
)

// A subscription pings Redis, so that a connection that was lost silently is noticed. It counts pings
// instead of time: a replica that was suspended has sent none, and its connection may still be good.
const (
	pingEvery = 2 * time.Second
	maxSilent = 3 // pings without an answer
)

// subscription implements [cluster.Subscription] on a connection of its own.
type subscription struct {
	conn   redis.PubSubConn
	prefix string // of the channels
	stop   context.CancelFunc
	silent atomic.Int32 // pings since the last answer or message
}

// errSilent means that a connection was lost silently.
var errSilent = fmt.Errorf("no answer to %d pings, one each %v", maxSilent, pingEvery)

// Subscribe implements [cluster.Engine].
func (e *Engine) Subscribe(ctx context.Context, topics ...string) (cluster.Subscription, error) {
	current := e.conns.Load()
	c, err := e.dial(ctx)
	if err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(context.Background())
	s := &subscription{
		conn:   redis.PubSubConn{Conn: c},
		prefix: e.channel(""),
		stop:   stop,
	}
	channels := make([]any, len(topics))
	for i, topic := range topics {
		channels[i] = e.channel(topic)
	}
	err = s.conn.Subscribe(channels...)
	for range topics {
		if err != nil {
			break
		}
		switch answer := s.conn.ReceiveWithTimeout(callTimeout).(type) {
		case error:
			err = answer
		case redis.Message:
			err = errors.New("a message arrived before all topics were subscribed")
		}
	}
	if err != nil {
		_ = s.Close()
		return nil, fmt.Errorf("subscribe: %w", err)
	}
	go s.ping(running, current.replaced)
	return s, nil
}

// ping pings until the subscription is closed, and closes it when the server does not answer or has
// become the wrong one.
func (s *subscription) ping(ctx context.Context, replaced <-chan struct{}) {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-replaced:
			_ = s.Close()
			return
		case <-tick.C:
		}
		if s.silent.Add(1) > maxSilent {
			_ = s.Close()
			return
		}
		if s.conn.Ping("") != nil {
			return // Next fails as well
		}
	}
}

// Next implements [cluster.Subscription].
func (s *subscription) Next(ctx context.Context) (cluster.Event, error) {
	defer context.AfterFunc(ctx, func() { _ = s.Close() })()
	for {
		answer := s.conn.ReceiveWithTimeout(0) // ping limits it
		if err, ok := answer.(error); ok {
			switch {
			case ctx.Err() != nil:
				err = ctx.Err()
			case s.silent.Load() > maxSilent:
				err = errSilent
			}
			return cluster.Event{}, err
		}
		s.silent.Store(0)
		if answer, ok := answer.(redis.Message); ok {
			topic := strings.TrimPrefix(answer.Channel, s.prefix)
			switch {
			case len(answer.Data) == 0:
			case answer.Data[0] == 'k':
				return cluster.Event{Topic: topic, Key: topic + "/" + string(answer.Data[1:])}, nil
			case answer.Data[0] == 'm':
				return cluster.Event{Topic: topic, Message: answer.Data[1:]}, nil
			}
		}
	}
}

// Close implements [cluster.Subscription].
func (s *subscription) Close() error {
	s.stop()
	return s.conn.Close()
}
