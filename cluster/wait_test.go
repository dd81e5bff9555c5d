package cluster_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
	"github.com/slipway-mcp/slipway/internal/redis"
	"github.com/slipway-mcp/slipway/internal/test/redistest"
)

// leaderless is an engine that cannot store anything for a number of calls, such as NATS before it has a leader.
type leaderless struct {
	cluster.Engine

	left atomic.Int64
	err  error // nil for errLeaderless
}

var errLeaderless = errors.New("there is no leader")

func (l *leaderless) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (uint64, error) {
	if l.left.Add(-1) >= 0 {
		return 0, cmp.Or(l.err, errLeaderless)
	}
	return l.Engine.Create(ctx, key, value, ttl)
}

// TestJoinWaits guards a replica that starts before its engine is ready: it joins once the engine is, and logs why it
// waits, once for each reason; or it returns the reason when the time is over.
func TestJoinWaits(t *testing.T) {
	var log bytes.Buffer
	e := &leaderless{Engine: cluster.NewMemory()}
	e.left.Store(2)
	r, err := cluster.Join(t.Context(), e, &cluster.Options{
		Wait:   time.Minute,
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Leave(context.Background()) })
	if n := len(r.Members()); n != 1 || r.Term() == 0 {
		t.Errorf("%d members, term %d after waiting", n, r.Term())
	}
	if n := strings.Count(log.String(), "cluster engine not ready, retrying"); n != 1 ||
		!strings.Contains(log.String(), errLeaderless.Error()) {
		t.Errorf("logged %d times: %s", n, log.String())
	}

	for _, wait := range []time.Duration{0, 300 * time.Millisecond} {
		e.left.Store(1 << 30)
		began := time.Now()
		_, err = cluster.Join(t.Context(), e, &cluster.Options{Wait: wait})
		if !errors.Is(err, errLeaderless) || time.Since(began) < wait/2 {
			t.Errorf("Join = %v after %v, want %v after %v", err, time.Since(began), errLeaderless, wait)
		}
	}
}

// TestJoinRefused guards a wrong password: no replica waits for it to become right.
func TestJoinRefused(t *testing.T) {
	t.Parallel()
	e := &leaderless{
		Engine: cluster.NewMemory(),
		err:    fmt.Errorf("host: %w", cluster.ErrRefused),
	}
	e.left.Store(1 << 30)
	began := time.Now()
	_, err := cluster.Join(t.Context(), e, &cluster.Options{Wait: time.Minute})
	if !errors.Is(err, cluster.ErrRefused) || time.Since(began) > 20*time.Second {
		t.Errorf("Join = %v after %v, want %v at once", err, time.Since(began), cluster.ErrRefused)
	}
}

// TestRedisRefused guards that wrong and missing passwords of Redis are recognized as such.
func TestRedisRefused(t *testing.T) {
	t.Parallel()
	addr := redistest.Start(t)
	open := func(password string) cluster.Engine {
		e, err := redis.Open("redis://"+addr, &redis.Options{Password: func() (string, error) { return password, nil }})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.Close() })
		return e
	}
	if answer := redistest.Command(t, addr, "CONFIG SET requirepass right"); answer != "+OK" {
		t.Fatalf("set a password: %q", answer)
	}
	for password, refused := range map[string]bool{"right": false, "wrong": true, "": true} {
		_, err := open(password).Create(t.Context(), "g/"+cmp.Or(password, "none"), nil, time.Minute)
		if errors.Is(err, cluster.ErrRefused) != refused || !refused && err != nil {
			t.Errorf("password %q: %v", password, err)
		}
	}
}
