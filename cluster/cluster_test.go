package cluster_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
	"github.com/slipway-mcp/slipway/internal/nats"
	"github.com/slipway-mcp/slipway/internal/redis"
	"github.com/slipway-mcp/slipway/internal/test/natstest"
	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/internal/test/redistest"
)

func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "8") // the tests wait more than they compute
	os.Exit(m.Run())
}

// engines returns a constructor of each driver. Redis is tested if the machine has it. The
// NATS server is built.
func engines() map[string]func(t *testing.T) cluster.Engine {
	return map[string]func(t *testing.T) cluster.Engine{
		"memory": func(*testing.T) cluster.Engine { return cluster.NewMemory() },
		"redis":  startRedis,
		"nats":   startNATS,
	}
}

func startRedis(t *testing.T) cluster.Engine {
	t.Helper()
	e, _ := startRedisAt(t)
	return e
}

func startNATS(t *testing.T) cluster.Engine {
	t.Helper()
	return openNATS(t, nil, natstest.Start(t))
}

// openNATS opens the engine of servers, without connecting to it.
func openNATS(t *testing.T, opts *nats.Options, servers ...*natstest.Server) *nats.Engine {
	t.Helper()
	var urls []string
	for _, s := range servers {
		urls = append(urls, "nats://"+s.Addr+"?name=test")
	}
	e, err := nats.Open(strings.Join(urls, ","), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// startRedisAt starts Redis and returns its address too.
func startRedisAt(t *testing.T) (e *redis.Engine, addr string) {
	t.Helper()
	addr = redistest.Start(t)
	e, err := redis.Open("redis://"+addr+"/0?name=test", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	eventually(t, "redis-server to answer", func() bool {
		_, err := e.List(t.Context(), "none")
		return err == nil
	})
	return e, addr
}

// eventually waits until holds returns true, for at most five seconds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("waited five seconds for %s", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestEngine guards the contract of Engine: a driver that misses a conflict, reuses a
// revision or keeps an expired record would fail.
func TestEngine(t *testing.T) {
	t.Parallel()
	for name, open := range engines() {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			e := open(t)
			if _, err := e.Get(ctx, "g/a"); !errors.Is(err, cluster.ErrNotFound) {
				t.Errorf("Get of a missing record: %v", err)
			}
			first, err := e.Create(ctx, "g/a", []byte("1\x00\xff"), 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := e.Create(ctx, "g/a", nil, 0); !errors.Is(err, cluster.ErrConflict) {
				t.Errorf("Create of an existing record: %v", err)
			}
			second, err := e.Update(ctx, "g/a", []byte("2"), first, 0)
			if err != nil || second <= first {
				t.Errorf("Update = %d, %v, want more than %d", second, err, first)
			}
			if _, err := e.Update(ctx, "g/a", []byte("3"), first, 0); !errors.Is(err, cluster.ErrConflict) {
				t.Errorf("Update with an old revision: %v", err)
			}
			if r, err := e.Get(ctx, "g/a"); err != nil || string(r.Value) != "2" || r.Revision != second || r.Key != "g/a" {
				t.Errorf("Get = %+v, %v", r, err)
			}
			if err := e.Delete(ctx, "g/a", first); !errors.Is(err, cluster.ErrConflict) {
				t.Errorf("Delete with an old revision: %v", err)
			}
			if err := e.Delete(ctx, "g/a", second); err != nil {
				t.Error(err)
			}
			third, err := e.Create(ctx, "g/a", []byte("again"), 0)
			if err != nil || third <= second {
				t.Errorf("Create after Delete = %d, %v, want more than %d", third, err, second)
			}
			lease := 300 * time.Millisecond
			leased, err := e.Create(ctx, "g/b", []byte("leased"), lease)
			if err != nil {
				t.Fatal(err)
			}
			if all, err := e.List(ctx, "g"); err != nil || len(all) != 2 {
				t.Errorf("List = %v, %v, want two records", all, err)
			}
			if all, err := e.List(ctx, "other"); err != nil || len(all) != 0 {
				t.Errorf("List of another group = %v, %v", all, err)
			}
			eventually(t, "the record to expire", func() bool {
				all, err := e.List(ctx, "g")
				return err == nil && len(all) == 1 && all[0].Key == "g/a"
			})
			if _, err := e.Update(ctx, "g/b", nil, leased, lease); !errors.Is(err, cluster.ErrConflict) {
				t.Errorf("Update of an expired record: %v", err)
			}
			contend(t, e)
			events(t, e)
		})
	}
}

// contend lets ten writers increment one record: only one of each revision may succeed.
func contend(t *testing.T, e cluster.Engine) {
	revision, err := e.Create(t.Context(), "g/raced", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	won := make(chan bool)
	for range 10 {
		go func() {
			_, err := e.Update(t.Context(), "g/raced", nil, revision, 0)
			won <- err == nil
		}()
	}
	winners := 0
	for range 10 {
		if <-won {
			winners++
		}
	}
	if winners != 1 {
		t.Errorf("%d writers replaced one revision, want 1", winners)
	}
}

// events guards messages and changes of records: each arrives once and in order, a renewal
// with the same value is no change, and topics do not mix.
func events(t *testing.T, e cluster.Engine) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	var subs []cluster.Subscription
	for range 3 {
		s, err := e.Subscribe(ctx, "watched", "talk")
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		subs = append(subs, s)
	}
	r, err := e.Create(ctx, "watched/a", []byte("1"), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{"1", "1", "2"} {
		if r, err = e.Update(ctx, "watched/a", []byte(value), r, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := e.Create(ctx, "other/a", nil, 0); err != nil {
		t.Fatal(err)
	}
	if err := e.Publish(ctx, "other", []byte("unseen")); err != nil {
		t.Error(err)
	}
	if err := e.Publish(ctx, "talk", []byte("k\x00\xff")); err != nil {
		t.Error(err)
	}
	if err := e.Delete(ctx, "watched/a", r); err != nil {
		t.Error(err)
	}
	if err := e.Publish(ctx, "talk", make([]byte, cluster.MaxMessage+1)); !errors.Is(err, cluster.ErrTooLarge) {
		t.Errorf("Publish of a large message: %v", err)
	}
	if err := e.Publish(ctx, "talk", []byte("last")); err != nil {
		t.Error(err)
	}
	const want = "watched watched/a ;watched watched/a ;talk  k\x00\xff;watched watched/a ;talk  last"
	for _, s := range subs {
		var got []string
		for range strings.Count(want, ";") + 1 {
			event, err := s.Next(ctx)
			if err != nil {
				t.Fatalf("after %q: %v", got, err)
			}
			got = append(got, event.Topic+" "+event.Key+" "+string(event.Message))
		}
		if strings.Join(got, ";") != want {
			t.Errorf("events %q, want %q", got, want)
		}
	}
	ended, end := context.WithCancel(ctx)
	end()
	if _, err := subs[0].Next(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("Next with a cancelled context: %v", err)
	}
	_ = subs[1].Close()
	if _, err := subs[1].Next(ctx); err == nil {
		t.Error("a closed subscription had an event")
	}
}

// TestRevisionsAfterLoss guards fencing tokens: revisions grow even if Redis loses its data.
func TestRevisionsAfterLoss(t *testing.T) {
	e, addr := startRedisAt(t)
	before, err := e.Create(t.Context(), "g/a", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("FLUSHALL\r\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	after, err := e.Create(t.Context(), "g/a", nil, 0)
	if err != nil || after <= before {
		t.Errorf("revision %d, %v after %d", after, err, before)
	}
}

// TestLeaveNoticed guards that a member that leaves is noticed at once, not with the next
// report, on both drivers.
func TestLeaveNoticed(t *testing.T) {
	for name, open := range engines() {
		t.Run(name, func(t *testing.T) {
			e := open(t)
			joinSlow := func() *cluster.Replica {
				r, err := cluster.Join(t.Context(), e, &cluster.Options{Lease: time.Hour})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = r.Leave(context.Background()) })
				return r
			}
			a, b := joinSlow(), joinSlow()
			eventually(t, "the new member", func() bool { return len(a.Members()) == 2 })
			if err := b.Leave(t.Context()); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the departure", func() bool { return len(a.Members()) == 1 })
		})
	}
}

// forgetful is an engine that has lost the records of members while lost is set.
type forgetful struct {
	cluster.Engine

	lost  atomic.Bool
	lists atomic.Int64 // while it was set
}

func (f *forgetful) List(ctx context.Context, group string) ([]cluster.Record, error) {
	if f.lost.Load() {
		f.lists.Add(1)
		return nil, nil
	}
	return f.Engine.List(ctx, group)
}

// TestLossKeepsPeers guards requests in flight when the engine is back without its data: a
// replica that has not restored its record yet is no replica that left.
func TestLossKeepsPeers(t *testing.T) {
	t.Parallel()
	race.SkipSlow(t)
	e := &forgetful{Engine: cluster.NewMemory()}
	a, b := join(t, e), join(t, e)
	peer := a.Find(t.Context(), b.ID())
	if peer == nil {
		t.Fatal("the other replica was not found")
	}
	e.lost.Store(true)
	eventually(t, "the loss to be seen", func() bool { return e.lists.Load() >= 4 })
	e.lost.Store(false)
	if peer.Context().Err() != nil || a.Find(t.Context(), b.ID()) != peer {
		t.Error("a replica was dropped because the engine had lost its data")
	}
	if err := b.Leave(t.Context()); err != nil {
		t.Error(err)
	}
	eventually(t, "the replica to be gone", func() bool { return peer.Context().Err() != nil })
}

// TestNews guards messages between replicas: once at each other replica, never at the sender.
func TestNews(t *testing.T) {
	e := cluster.NewMemory()
	var all []*cluster.Replica
	var got [3]atomic.Int64
	for i := range got {
		r := join(t, e)
		r.Handle("greeting", func(from string, data json.RawMessage) {
			if from != all[0].ID() || string(data) != `"hello"` {
				t.Errorf("%s from %s", data, from)
			}
			got[i].Add(1)
		}, func() { t.Error("messages were missed") })
		all = append(all, r)
	}
	for range 3 {
		if err := all[0].Publish(t.Context(), "greeting", "hello"); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the messages", func() bool { return got[1].Load() == 3 && got[2].Load() == 3 })
	if n := got[0].Load(); n != 0 {
		t.Errorf("the sender received %d of its messages", n)
	}
}

// TestMissedNews guards that a replica whose subscription has ended finds out that it may have missed messages, even if
// the engine answers nothing else when it subscribes again.
func TestMissedNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := cluster.NewMemory()
		e := &failing{Engine: memory}
		r := joinUnconnected(t, e)
		var missed atomic.Int64
		r.Handle("greeting", func(string, json.RawMessage) {}, func() { missed.Add(1) })
		e.silent.Store(true)
		memory.Lose()
		time.Sleep(2 * r.Lease())
		e.silent.Store(false)
		time.Sleep(2 * r.Lease())
		if n := missed.Load(); n != 1 {
			t.Errorf("reported %d times that messages were missed, want once", n)
		}
	})
}

// TestRotateKey guards that all replicas open ids with a new key before one seals with it,
// that previous keys open for a while, and that keep 0 ends them at once.
func TestRotateKey(t *testing.T) {
	e := cluster.NewMemory()
	if _, err := cluster.RotateKey(t.Context(), e, time.Hour); err == nil {
		t.Error("rotated the key of a cluster that has none")
	}
	a, b := join(t, e), join(t, e)
	var mu sync.Mutex
	var followed [][]byte
	b.FollowKeys(func(keys [][]byte) {
		mu.Lock()
		defer mu.Unlock()
		followed = keys
	})
	first := a.Keys()[0]
	done, err := cluster.RotateKey(t.Context(), e, time.Hour)
	if err != nil || done.Previous != 1 || !done.Seals.After(time.Now()) {
		t.Fatalf("RotateKey = %+v, %v", done, err)
	}
	eventually(t, "both replicas to open with the new key", func() bool {
		return len(a.Keys()) == 2 && len(b.Keys()) == 2
	})
	for _, r := range []*cluster.Replica{a, b, join(t, e)} {
		if keys := r.Keys(); string(keys[0]) != string(first) || cluster.KeyID(keys[1]) != done.Key {
			t.Error("a replica seals with the new key already")
		}
	}
	if done, err = cluster.RotateKey(t.Context(), e, 0); err != nil || done.Previous != 0 {
		t.Fatalf("RotateKey without keep = %+v, %v", done, err)
	}
	eventually(t, "the previous keys to end", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(followed) == 1 && cluster.KeyID(followed[0]) == done.Key
	})
	for range 8 {
		if _, err = cluster.RotateKey(t.Context(), e, time.Hour); err != nil {
			break
		}
	}
	if err == nil {
		t.Error("any number of keys can be in use")
	}
}

func join(t *testing.T, e cluster.Engine) *cluster.Replica {
	t.Helper()
	r, err := cluster.Join(t.Context(), e, &cluster.Options{
		Name:  "r",
		Lease: time.Second,
		Wait:  10 * time.Second, // a server that has just started may need longer than the lease for its stream
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Leave(context.Background()) })
	return r
}

// failing is an engine that cannot be written to while down is set, and does not answer while silent is.
type failing struct {
	cluster.Engine

	down, silent atomic.Bool
}

func (f *failing) List(ctx context.Context, group string) ([]cluster.Record, error) {
	if f.silent.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return f.Engine.List(ctx, group)
}

func (f *failing) Update(
	ctx context.Context, key string, value []byte, revision uint64, ttl time.Duration,
) (uint64, error) {
	if f.down.Load() {
		return 0, errors.New("down")
	}
	return f.Engine.Update(ctx, key, value, revision, ttl)
}

// TestMembership guards joining, leaving, one key for all, and an engine that fails.
func TestMembership(t *testing.T) {
	t.Parallel()
	race.SkipSlow(t)
	e := &failing{Engine: cluster.NewMemory()}
	a, b := join(t, e), join(t, e)
	if string(a.Keys()[0]) != string(b.Keys()[0]) || len(a.Keys()[0]) != 64 {
		t.Error("the replicas have different keys")
	}
	peer := a.Find(t.Context(), b.ID())
	if peer == nil {
		t.Fatal("a replica that has just joined was not found")
	}
	e.down.Store(true)
	eventually(t, "the failure to be noticed", func() bool { return !a.Connected() })
	if a.Find(t.Context(), b.ID()) == nil {
		t.Error("a replica was forgotten because the engine failed")
	}
	e.silent.Store(true)
	patient, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if a.Holder(patient, "unknown") != nil || patient.Err() != nil {
		t.Error("a search for a replica waited for an engine that does not answer")
	}
	e.silent.Store(false)
	e.down.Store(false)
	eventually(t, "the engine to be back", func() bool { return a.Connected() && len(a.Members()) == 2 })
	if err := b.Leave(t.Context()); err != nil {
		t.Error(err)
	}
	eventually(t, "the replica to be gone", func() bool { return peer.Context().Err() != nil })
	if !errors.Is(context.Cause(peer.Context()), cluster.ErrGone) {
		t.Errorf("cause %v", context.Cause(peer.Context()))
	}
}

// TestAdvertised guards replicas that others reach at another address than the one they listen at.
func TestAdvertised(t *testing.T) {
	t.Parallel()
	e := cluster.NewMemory()
	mapped, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer mapped.Close()
	first, err := cluster.Join(t.Context(), e, &cluster.Options{Advertise: mapped.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	defer first.Leave(t.Context())
	second, err := cluster.Join(t.Context(), e, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Leave(t.Context())
	peers := second.Peers()
	if len(peers) != 1 || peers[0].Addr != mapped.Addr().String() || first.Addr() != peers[0].Addr {
		t.Fatalf("peers %+v, want one at %v", peers, mapped.Addr())
	}
	go func() { // a mapped port
		from, err := mapped.Accept()
		if err != nil {
			return
		}
		defer from.Close()
		to, err := net.Dial("tcp", first.Listener().Addr().String())
		if err != nil {
			t.Error(err)
			return
		}
		defer to.Close()
		go func() { _, _ = io.Copy(from, to) }()
		_, _ = io.Copy(to, from)
	}()
	go func() {
		_ = http.Serve(first.Listener(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "served")
		}))
	}()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+peers[0].Addr+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := peers[0].Transport().RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, _ := io.ReadAll(resp.Body); string(text) != "served" {
		t.Errorf("through the mapped port: %q", text)
	}
}

// TestFormatRefused ensures that a replica does not join replicas of another format, also those that do not
// name one, and leaves no record there.
func TestFormatRefused(t *testing.T) {
	for _, member := range []string{`{"id":"old@1"}`, fmt.Sprintf(`{"id":"new@1","format":%d}`, cluster.Format+1), `[`} {
		e := cluster.NewMemory()
		if _, err := e.Create(t.Context(), "member/other", []byte(member), time.Minute); err != nil {
			t.Fatal(err)
		}
		_, err := cluster.Join(t.Context(), e, nil)
		if err == nil || errors.Is(err, cluster.ErrFormat) == (member == "[") {
			t.Errorf("with %s: %v", member, err)
		}
		if records, err := e.List(t.Context(), "member"); err != nil || len(records) != 1 {
			t.Errorf("with %s: %d records, %v", member, len(records), err)
		}
	}
}

// joining is an engine in which another member reports right after the first list of members.
type joining struct {
	cluster.Engine

	member string
	once   sync.Once
}

func (j *joining) List(ctx context.Context, group string) ([]cluster.Record, error) {
	records, err := j.Engine.List(ctx, group)
	j.once.Do(func() { _, _ = j.Engine.Create(ctx, "member/other", []byte(j.member), time.Minute) })
	return records, err
}

// TestFormatOfBothAtOnce ensures that replicas of two formats do not both join if they start at once.
func TestFormatOfBothAtOnce(t *testing.T) {
	memory := cluster.NewMemory()
	_, err := cluster.Join(t.Context(), &joining{Engine: memory, member: `{"id":"old@1"}`}, nil)
	if !errors.Is(err, cluster.ErrFormat) {
		t.Errorf("Join = %v, want ErrFormat", err)
	}
	if records, err := memory.List(t.Context(), "member"); err != nil || len(records) != 1 {
		t.Errorf("%d records, %v: the replica has not withdrawn", len(records), err)
	}
}

// TestKeyRestored guards against replicas with different keys after the engine lost its data.
func TestKeyRestored(t *testing.T) {
	e := cluster.NewMemory()
	a := join(t, e)
	r, err := e.Get(t.Context(), "key/state")
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Delete(t.Context(), "key/state", r.Revision); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the key to be restored", func() bool {
		r, err := e.Get(t.Context(), "key/state")
		return err == nil && string(r.Value) == string(a.Keys()[0])
	})
}

// TestStranger guards the connections between replicas: a process that is no member is
// refused by the listener, and refuses a server that is none.
func TestStranger(t *testing.T) {
	race.SkipSlow(t)
	a := join(t, cluster.NewMemory())
	other := cluster.NewMemory()
	stranger, decoy := join(t, other), join(t, other)
	go func() {
		for {
			c, err := a.Listener().Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 1)) // completes the handshake
			_ = c.Close()
		}
	}()
	peer := stranger.Find(t.Context(), decoy.ID())
	req := newRequest(t, a.Addr())
	if resp, err := peer.Transport().RoundTrip(req); err == nil {
		_ = resp.Body.Close()
		t.Error("a stranger was connected")
	}
}

// TestURLs guards the parsing of addresses, and that no error repeats a password.
func TestURLs(t *testing.T) {
	for _, bad := range []string{
		"", "redis://", "http://h", "redis://h/x", "redis://u:hidden@h", "redis://h?password=hidden",
		"redis://h?name=a/b", "redis://a,redis://b?name=x", "redis://u:hidden@h:x",
	} {
		if _, err := redis.Open(bad, nil); err == nil {
			t.Errorf("Open(%q) succeeded", bad)
		} else if strings.Contains(err.Error(), "hidden") {
			t.Errorf("Open(%q) repeats the password: %v", bad, err)
		}
	}
	for _, bad := range []string{
		"", "nats://", "http://h", "nats://h/x", "nats://u:hidden@h", "nats://h?password=hidden",
		"nats://h?name=a/b", "nats://a,nats://b?name=x", "nats://a,nats://u@b", "nats://h?replicas=hidden",
		"nats://h?replicas=6",
	} {
		if _, err := nats.Open(bad, nil); err == nil {
			t.Errorf("Open(%q) succeeded", bad)
		} else if strings.Contains(err.Error(), "u:hidden") {
			t.Errorf("Open(%q) repeats the password: %v", bad, err)
		}
	}
	if _, err := nats.Open("nats://user@a,tls://user@b:7000?replicas=1", nil); err == nil {
		t.Error("the URLs differ in a parameter, and the second was ignored")
	}
	n, err := nats.Open("nats://user@a?replicas=1,tls://user@b:7000?replicas=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := n.Hosts(); len(got) != 2 || got[0] != "a:4222" || got[1] != "b:7000" {
		t.Errorf("Hosts = %v", got)
	}
	e, err := redis.Open("redis://a,rediss://user@b:7000/2", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := e.Hosts(); len(got) != 2 || got[0] != "a:6379" || got[1] != "b:7000" {
		t.Errorf("Hosts = %v", got)
	}
}

func newRequest(t *testing.T, addr string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+addr, nil)
	if err != nil {
		t.Fatal(err)
	}
	return req
}
