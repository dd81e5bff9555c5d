package redis

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"
)

// idle is a connection without a server.
type idle struct{ redis.Conn }

func (idle) Err() error { return nil }

func (idle) Close() error { return nil }

func (idle) Do(string, ...any) (any, error) { return nil, nil }

// TestReplaceConns guards that a server which refuses requests as a copy ends connections at most once a second, and
// that other refusals end none.
func TestReplaceConns(t *testing.T) {
	for answer, want := range map[redis.Error]int{
		"READONLY You can't write against a read only replica.":               2,
		"ERR user_script:8: -READONLY You can't write against a replica.":     2,
		"LOADING Redis is loading the dataset in memory":                      2,
		"MASTERDOWN Link with MASTER is down":                                 2,
		"UNBLOCKED force unblock from blocking operation":                     2,
		"NOREPLICAS Not enough good replicas to write.":                       0,
		"ERR user_script:8: -NOREPLICAS Not enough good replicas to write.":   0,
		"CLUSTERDOWN The cluster is down":                                     0,
		"OOM command not allowed when used memory > 'maxmemory'.":             0,
		"MISCONF Redis is configured to save RDB snapshots, but cannot do it": 0,
	} {
		t.Run(string(answer), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := &Engine{dial: func(context.Context) (redis.Conn, error) { return idle{}, nil }}
				e.conns.Store(e.newConns())
				replaced := 0
				for range 2 {
					for range 10 {
						before := e.conns.Load()
						if err := e.do(t.Context(), func(redis.Conn) error { return answer }); err != answer {
							t.Errorf("got %v", err)
						}
						if e.conns.Load() != before {
							replaced++
						}
					}
					time.Sleep(replaceEvery)
				}
				if replaced != want {
					t.Errorf("connections were replaced %d times, want %d", replaced, want)
				}
			})
		})
	}
}
