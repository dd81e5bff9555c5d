package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/slipway-mcp/slipway/cluster"
)

// A subscription pings Redis, so that a connection that was lost silently is noticed.
const (
	pingEvery   = 2 * time.Second
	pingTimeout = 3 * pingEvery
)

// subscription implements [cluster.Subscription] on a connection of its own.
type subscription struct {
	conn   redis.PubSubConn
	prefix string // of the channels
	stop   context.CancelFunc
}

// Subscribe implements [cluster.Engine].
func (e *Engine) Subscribe(ctx context.Context, topics ...string) (cluster.Subscription, error) {
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
	go s.ping(running)
	return s, nil
}

// ping pings until the subscription is closed.
func (s *subscription) ping(ctx context.Context) {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
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
		switch answer := s.conn.ReceiveWithTimeout(pingTimeout).(type) {
		case error:
			if ctx.Err() != nil {
				return cluster.Event{}, ctx.Err()
			}
			return cluster.Event{}, answer
		case redis.Message:
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
