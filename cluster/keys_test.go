package cluster_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
)

// cutOff is an engine that cannot be read while down is set.
type cutOff struct {
	cluster.Engine

	down atomic.Bool
}

func (c *cutOff) Get(ctx context.Context, key string) (cluster.Record, error) {
	if c.down.Load() {
		return cluster.Record{}, errors.New("down")
	}
	return c.Engine.Get(ctx, key)
}

// TestLeakedKey guards that a key which ended with keep 0 stays ended at all replicas: one that was cut off or
// suspended for longer than the key is remembered does not bring it back, and no clock delays its end.
func TestLeakedKey(t *testing.T) {
	for name, test := range map[string]struct {
		skew   time.Duration // of the replicas' clocks, compared with that of the operator
		absent time.Duration // for which a replica is cut off
	}{
		"a replica was cut off":               {absent: 2 * time.Hour},
		"the clock of the operator is behind": {skew: 90 * time.Minute},
		"the clock of the operator is ahead":  {skew: -10 * time.Minute},
		"all of it":                           {skew: -10 * time.Minute, absent: 2 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			memory := cluster.NewMemory()
			var offset atomic.Int64
			offset.Store(int64(test.skew))
			join := func(e cluster.Engine) *cluster.Replica {
				r, err := cluster.Join(t.Context(), e, &cluster.Options{
					Name:  "r",
					Lease: time.Second,
					System: cluster.System{Now: func() cluster.Instant {
						now := time.Now()
						return cluster.Instant{
							Running: now,
							Date:    now.Round(0).Add(time.Duration(offset.Load())),
						}
					}},
				})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = r.Leave(context.Background()) })
				return r
			}
			behind := &cutOff{Engine: memory}
			a, b := join(memory), join(behind)
			leaked := a.Keys()[0]
			behind.down.Store(test.absent > 0)
			done, err := cluster.RotateKey(t.Context(), memory, 0)
			if err != nil {
				t.Fatal(err)
			}
			eventually(t, "a replica to seal with the new key", func() bool {
				keys := a.Keys()
				return len(keys) == 1 && cluster.KeyID(keys[0]) == done.Key
			})
			offset.Add(int64(test.absent))
			behind.down.Store(false)
			eventually(t, "the other replica to seal with the new key", func() bool {
				return cluster.KeyID(b.Keys()[0]) == done.Key
			})
			// Each of them has reported after the other one.
			for range 2 {
				for _, r := range []*cluster.Replica{a, b} {
					if err := r.Retire(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
			}
			for _, r := range []*cluster.Replica{a, b, join(memory)} {
				if slices.ContainsFunc(r.Keys(), func(k []byte) bool { return string(k) == string(leaked) }) {
					t.Error("the leaked key is back")
				}
			}
		})
	}
}

// TestKeyRecordSize guards that the record of the keys stays within what programs accept that do not know the ends of
// keys, however often the key was replaced, and has the ends of the last 60.
func TestKeyRecordSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const key, limit, remembered = "key/state", 4 << 10, 60
		memory := cluster.NewMemory()
		if _, err := memory.Create(t.Context(), key, []byte(strings.Repeat("a", 64)), 0); err != nil {
			t.Fatal(err)
		}
		var ids []string
		for range 3 * remembered {
			time.Sleep(time.Second)
			done, err := cluster.RotateKey(t.Context(), memory, 0)
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, done.Key)
			stored, err := memory.Get(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			if len(stored.Value) > limit {
				t.Fatalf("the record has %d bytes after %d rotations, want at most %d", len(stored.Value), len(ids), limit)
			}
			ended := ids[max(0, len(ids)-1-remembered) : len(ids)-1]
			for _, id := range ended {
				if !strings.Contains(string(stored.Value), `"`+id+`":-`) {
					t.Fatalf("after %d rotations the record lacks the end of key %s", len(ids), id)
				}
			}
		}
	})
}
