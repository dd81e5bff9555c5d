package cluster_test

import (
	"context"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/internal/redis"
	"github.com/slipway-mcp/slipway/internal/test/redistest"
)

// TestRedisFailover guards a planned failover, after which the demoted master keeps its connections and answers:
// requests continue at the new master, and subscriptions end, as messages may have been missed.
func TestRedisFailover(t *testing.T) {
	t.Parallel()
	for name, demote := range map[string]func(t *testing.T, from, to string){
		"FAILOVER": func(t *testing.T, from, to string) {
			host, port, _ := net.SplitHostPort(to)
			if answer := redistest.Command(t, from, "FAILOVER TO "+host+" "+port); answer != "+OK" {
				t.Skipf("this Redis has no FAILOVER: %s", answer)
			}
		},
		"REPLICAOF": func(t *testing.T, from, to string) {
			copyOf(t, to, "")
			copyOf(t, from, to)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, second := redistest.Start(t), redistest.Start(t)
			// Otherwise a copy waits five seconds for others.
			redistest.Command(t, first, "CONFIG SET repl-diskless-sync-delay 0")
			copyOf(t, second, first)
			e, err := redis.Open("redis://"+first+",redis://"+second, nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = e.Close() })
			sub, err := e.Subscribe(t.Context(), "g")
			if err != nil {
				t.Fatal(err)
			}
			defer sub.Close()
			revision, err := e.Create(t.Context(), "g/a", []byte("before"), 0)
			if err != nil {
				t.Fatal(err)
			}
			eventually(t, "the record at the copy", func() bool {
				return redistest.Command(t, second, "HEXISTS {slipway}:g/a v") == ":1"
			})
			demote(t, first, second)
			eventually(t, "the failover", func() bool { return role(t, first) != "master" })
			if _, err := e.Update(t.Context(), "g/a", []byte("after"), revision, 0); err != nil {
				t.Errorf("an update after the failover: %v", err)
			}
			if r, err := e.Get(t.Context(), "g/a"); err != nil || string(r.Value) != "after" {
				t.Errorf("the record is %q, %v", r.Value, err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			for err = nil; err == nil; { // what was sent before its end
				_, err = sub.Next(ctx)
			}
			if ctx.Err() != nil {
				t.Error("a subscription at the demoted master continues")
			}
		})
	}
}

// TestRedisWithoutCopies guards that subscriptions continue while a master refuses writes because it has no copies.
func TestRedisWithoutCopies(t *testing.T) {
	t.Parallel()
	e, addr := startRedisAt(t)
	sub, err := e.Subscribe(t.Context(), "g")
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	redistest.Command(t, addr, "CONFIG SET min-replicas-to-write 1")
	before := connections(t, addr)
	for range 10 {
		if _, err := e.Create(t.Context(), "g/a", nil, 0); err == nil || !strings.Contains(err.Error(), "NOREPLICAS") {
			t.Fatalf("a write without copies: %v", err)
		}
	}
	if n := connections(t, addr) - before - 1; n > 0 { // one is that of the command
		t.Errorf("%d new connections for ten refused writes", n)
	}
	if err := e.Publish(t.Context(), "g", []byte("hello")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if event, err := sub.Next(ctx); err != nil || string(event.Message) != "hello" {
		t.Errorf("got %q, %v", event.Message, err)
	}
}

// connections returns how many connections a server has accepted.
func connections(t *testing.T, addr string) int {
	t.Helper()
	answer := redistest.Command(t, addr, "EVAL \"return tonumber(string.match(redis.call('INFO', 'stats'), "+
		"'total_connections_received:(%d+)'))\" 0")
	n, err := strconv.Atoi(strings.TrimPrefix(answer, ":"))
	if err != nil {
		t.Fatalf("total_connections_received: %s", answer)
	}
	return n
}

// copyOf makes a server a copy of another one, or of none.
func copyOf(t *testing.T, addr, of string) {
	t.Helper()
	command := "REPLICAOF NO ONE"
	if host, port, err := net.SplitHostPort(of); err == nil {
		command = "REPLICAOF " + host + " " + port
	}
	if answer := redistest.Command(t, addr, command); !strings.HasPrefix(answer, "+OK") {
		t.Fatalf("%s: %s", command, answer)
	}
}

// role returns the role of a server.
func role(t *testing.T, addr string) string {
	t.Helper()
	if answer := redistest.Command(t, addr, "EVAL \"return redis.call('ROLE')[1]\" 0"); answer == "$6" {
		return "master"
	}
	return "copy"
}

// TestRedisForgetsNames guards that the names of expired records do not stay in Redis, although no replica lists most
// groups.
func TestRedisForgetsNames(t *testing.T) {
	t.Parallel()
	e, addr := startRedisAt(t)
	const many = 100
	create := func(prefix string, ttl time.Duration) {
		for i := range many {
			if _, err := e.Create(t.Context(), "session/"+prefix+strconv.Itoa(i), nil, ttl); err != nil {
				t.Fatal(err)
			}
		}
	}
	create("expired", time.Millisecond)
	create("current", time.Hour)
	answer := redistest.Command(t, addr, "SCARD {test}:session")
	names, err := strconv.Atoi(strings.TrimPrefix(answer, ":"))
	if err != nil || names < many || names > many+many/5 {
		t.Errorf("%s names, want those of %d records", answer, many)
	}
}
