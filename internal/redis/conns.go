package redis

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

// conns are the connections to the server that accepts writes at present. When it does not any more, they are replaced:
// the pool would use them again, as such an answer does not end a connection.
type conns struct {
	pool *redis.Pool
	// kept is until when they are not replaced. It is zero for the first connections.
	kept time.Time
	// replaced is closed when other connections replace these.
	replaced chan struct{}
}

// replaceEvery is how often connections are replaced at most: subscriptions end with them.
const replaceEvery = time.Second

func (e *Engine) newConns() *conns {
	return &conns{
		pool: &redis.Pool{
			DialContext: e.dial,
			MaxIdle:     maxIdle,
			MaxActive:   maxActive,
			Wait:        true,
			IdleTimeout: time.Minute,
		},
		replaced: make(chan struct{}),
	}
}

// do calls f with a connection. If the server has become the wrong one, it connects to another server, at addresses
// that are resolved again, and calls f a second time: the first one had no effect. That happens once per replaceEvery;
// other requests meanwhile get the error.
func (e *Engine) do(ctx context.Context, f func(redis.Conn) error) error {
	current := e.conns.Load()
	err := current.do(ctx, f)
	wrong := wrongServer(err)
	if !wrong && !errors.As(err, new(noConnError)) {
		return err
	}
	if now := time.Now(); wrong && !now.Before(current.kept) {
		next := e.newConns()
		next.kept = now.Add(replaceEvery)
		if e.conns.CompareAndSwap(current, next) {
			close(current.replaced)
			_ = current.pool.Close() // those in use are closed when they return
		}
	}
	next := e.conns.Load()
	if next == current {
		return err
	}
	return next.do(ctx, f)
}

func (c *conns) do(ctx context.Context, f func(redis.Conn) error) error {
	conn, err := c.pool.GetContext(ctx)
	if err != nil {
		return noConnError{err}
	}
	defer conn.Close()
	return f(conn)
}

// noConnError is the error of a request for which there was no connection.
type noConnError struct{ error }

func (e noConnError) Unwrap() error { return e.error }

// wrongServer reports whether a server refuses requests because it has become a copy, which may also load the data of
// the new master or have lost it. Other refusals end no connections: the server is still the master when too few
// copies acknowledge its writes (NOREPLICAS), and any server of a Redis cluster answers CLUSTERDOWN. The code is the
// first word of an answer; Redis 6 puts that of a command of a script further back.
func wrongServer(err error) bool {
	var answer redis.Error
	if !errors.As(err, &answer) {
		return false
	}
	codes := []string{"READONLY", "LOADING", "MASTERDOWN", "UNBLOCKED"}
	return slices.ContainsFunc(codes, func(code string) bool {
		return strings.HasPrefix(string(answer), code+" ") || strings.Contains(string(answer), ": -"+code+" ")
	})
}
