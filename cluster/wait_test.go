package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
)

// leaderless is an engine that cannot store anything for a number of calls, such as NATS before it has a leader.
type leaderless struct {
	cluster.Engine

	left atomic.Int64
}

var errLeaderless = errors.New("there is no leader")

func (l *leaderless) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (uint64, error) {
	if l.left.Add(-1) >= 0 {
		return 0, errLeaderless
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
