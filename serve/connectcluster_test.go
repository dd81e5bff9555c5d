package serve_test

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/cluster"
	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/internal/redis"
	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/internal/test/redistest"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/serve"
)

// vaultCluster is several replicas of a gateway behind a balancer, which sends each request to
// the next one.
type vaultCluster struct {
	*vaultWorld

	engine   cluster.Engine
	mu       sync.Mutex // guards replicas
	replicas []*vaultReplica
	turn     atomic.Int64
}

type vaultReplica struct {
	host  string // of its own
	vault *identity.Vault
	stop  func()
}

func startVaultCluster(t *testing.T, engine cluster.Engine, n int) *vaultCluster {
	t.Helper()
	w := &vaultCluster{
		vaultWorld: startVaultServers(t),
		engine:     engine,
	}
	w.gateway = httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			to := &url.URL{
				Scheme: "http",
				Host:   "127.0.0.1:9", // none is left
			}
			w.mu.Lock()
			if len(w.replicas) > 0 {
				to.Host = w.replicas[int(w.turn.Add(1))%len(w.replicas)].host
			}
			w.mu.Unlock()
			r.SetURL(to)
			r.Out.Host = r.In.Host
		},
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
	})
	t.Cleanup(w.gateway.Close)
	for range n {
		w.start()
	}
	return w
}

// start adds a replica.
func (w *vaultCluster) start() *vaultReplica {
	t := w.t
	t.Helper()
	r, err := cluster.Join(t.Context(), w.engine, &cluster.Options{Lease: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := serve.OpenStateKeys("", r.Keys()...)
	if err != nil {
		t.Fatal(err)
	}
	store, err := identity.OpenSharedStore(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	src, vault := w.source(store)
	o := w.options(w.gateway.URL, vault)
	o.Server.Replica = r.ID()
	o.StateKeys = keys
	o.Cluster = r
	o.Connections = serve.Connections{DrainTimeout: time.Second}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serve.Serve(ctx, ln, src, o) }()
	one := &vaultReplica{
		host:  ln.Addr().String(),
		vault: vault,
	}
	one.stop = sync.OnceFunc(func() {
		w.mu.Lock()
		w.replicas = slices.DeleteFunc(w.replicas, func(r *vaultReplica) bool { return r == one })
		w.mu.Unlock()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		_ = r.Leave(context.Background())
	})
	t.Cleanup(one.stop)
	w.mu.Lock()
	w.replicas = append(w.replicas, one)
	w.mu.Unlock()
	return one
}

// at returns a client of a user at one replica.
func (w *vaultCluster) at(r *vaultReplica, user string) *client.Source {
	w.t.Helper()
	c, err := client.Open(w.t.Context(), &client.Endpoint{
		URL:    "http://" + r.host + "/mcp",
		Header: http.Header{"Authorization": {"Bearer " + w.company.Token(user, w.gateway.URL+"/mcp")}},
	}, &client.Options{Version: mcp.Version20260728})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = c.Close() })
	return c
}

// testVaultCluster logs in once behind a balancer, and uses the login at all replicas. lose
// makes the engine lose its data.
func testVaultCluster(t *testing.T, engine cluster.Engine, lose func()) {
	w := startVaultCluster(t, engine, 3)
	const life = 600 * time.Millisecond
	w.upstream.SetLife(life)
	w.upstream.SetLeeway(time.Hour)
	for user, v := range map[string]mcp.Version{"alice": mcp.Version20251125, "bob": mcp.Version20260728} {
		asked := make(map[string]bool)
		c := w.caller(user, v, func(address string) string {
			if !asked[address] {
				asked[address] = true
				w.connect(w.browser(user), address)
			}
			return "accept"
		})
		if text, failed := callText(t, c, "connect_notes"); failed || len(asked) != 1 {
			t.Fatalf("%s: connect_notes = %q after %d addresses, want success after one", user, text, len(asked))
		}
	}
	// A client that cannot be asked, whose repeated call is at another replica.
	carol := w.caller("carol", mcp.Version20260728, nil)
	text, _ := callText(t, carol, "connect_notes")
	address := addressIn.FindString(text)
	for range 3 {
		if text, _ := callText(t, carol, "connect_notes"); addressIn.FindString(text) != address {
			t.Errorf("connect_notes = %q, want the same address %s at each replica", text, address)
		}
	}
	w.connect(w.browser("carol"), address)
	if n := w.upstream.Count("authorization_code"); n != 3 {
		t.Errorf("%d logins, want one of each user", n)
	}
	for _, r := range w.replicas {
		for _, user := range []string{"alice", "bob", "carol"} {
			own := w.at(r, user)
			toolsWith(t, own, "notes_of_up-"+user)
			if text, failed := callText(t, own, "whoami"); failed || text != "up-"+user {
				t.Errorf("whoami of %s = %q", user, text)
			}
		}
	}

	// One refresh for all replicas.
	refreshed := w.upstream.Count("refresh_token")
	began := time.Now()
	var all sync.WaitGroup
	for _, r := range w.replicas {
		for range 2 {
			own := w.at(r, "alice")
			all.Go(func() {
				for time.Since(began) < 3*time.Second {
					if text, failed := callText(t, own, "whoami"); failed || text != "up-alice" {
						t.Errorf("whoami of alice = %q", text)
						return
					}
				}
			})
		}
	}
	all.Wait()
	if n := w.upstream.Count("reuse"); n != 0 {
		t.Errorf("%d refresh tokens were used twice", n)
	}
	most := int(time.Since(began)/(life*7/10)) + 2
	if n := w.upstream.Count("refresh_token") - refreshed; n < 3 || n > most {
		t.Errorf("%d refreshes in %v, want 3 to %d", n, time.Since(began), most)
	}

	// Logins outlive a loss of the engine's data, and a key that has leaked.
	w.upstream.SetLife(time.Hour)
	bob := w.at(w.replicas[0], "bob")
	if text, failed := callText(t, bob, "whoami"); failed {
		t.Fatal(text)
	}
	records, err := w.engine.List(t.Context(), "login")
	if err != nil || len(records) < 4 {
		t.Fatalf("records = %d, %v, want those of three logins", len(records), err)
	}
	lose()
	lost := len(records)
	records = nil
	restored := func() bool {
		_, err := w.engine.Get(t.Context(), "key/state")
		return err == nil && len(records) == lost
	}
	for end := time.Now().Add(10 * time.Second); !restored(); time.Sleep(20 * time.Millisecond) {
		if text, failed := callText(t, bob, "whoami"); failed {
			t.Fatalf("whoami of bob after the loss = %q", text)
		}
		if records, err = w.engine.List(t.Context(), "login"); err != nil || time.Now().After(end) {
			t.Fatalf("records = %d, %v, want %d again", len(records), err, lost)
		}
	}
	if _, err := cluster.RotateKey(t.Context(), w.engine, 0); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		records, err := w.engine.List(t.Context(), "login")
		if err != nil {
			t.Fatal(err)
		}
		keys := make(map[string]bool)
		for _, r := range records {
			if r.Key == "login/marker" {
				continue
			}
			keys[string(r.Value[:12])] = true
			for _, secret := range w.upstream.Secrets() {
				if strings.Contains(string(r.Value), secret) {
					t.Fatal("the engine has a token in plain text")
				}
			}
		}
		if id := cluster.KeyID([]byte(w.currentKey())); len(keys) == 1 && keys[id] {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the logins are sealed with %v after the rotation", keys)
		}
	}
	before := slices.Clone(w.replicas)
	fresh := w.start()
	for _, r := range before {
		r.stop()
	}
	for _, user := range []string{"alice", "bob", "carol"} {
		if text, failed := callText(t, w.at(fresh, user), "whoami"); failed || text != "up-"+user {
			t.Errorf("whoami of %s at a replica that started later = %q", user, text)
		}
	}

	// What one replica ends, all end.
	other := w.start()
	bob = w.at(other, "bob")
	toolsWith(t, bob, "notes_of_up-bob")
	ended, err := fresh.vault.Disconnect(t.Context(), w.company.Issuer+"#bob", "")
	if ended != 1 || err != nil {
		t.Fatalf("Disconnect = %d, %v, want one", ended, err)
	}
	toolsWith(t, bob, "connect_notes")
	if text, failed := callText(t, bob, "whoami"); !failed {
		t.Errorf("whoami of bob = %q, want an error", text)
	}
	if n := w.upstream.Count("authorization_code"); n != 3 {
		t.Errorf("%d logins in the end, want one of each user", n)
	}
}

// currentKey returns the key of the cluster that seals.
func (w *vaultCluster) currentKey() string {
	w.t.Helper()
	r, err := cluster.Join(w.t.Context(), w.engine, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = r.Leave(context.Background()) }()
	return string(r.Keys()[0])
}

func TestConnectInACluster(t *testing.T) {
	t.Parallel()
	race.SkipSlow(t)
	engine := cluster.NewMemory()
	testVaultCluster(t, engine, engine.Lose)
}

func TestConnectInAClusterOfRedis(t *testing.T) {
	t.Parallel()
	race.SkipSlow(t)
	addr := redistest.Start(t)
	engine, err := redis.Open("redis://"+addr+"/0", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close() })
	testVaultCluster(t, engine, func() {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		answer := make([]byte, 3)
		if _, err := io.WriteString(c, "FLUSHALL\r\n"); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, answer); err != nil || string(answer) != "+OK" {
			t.Fatalf("FLUSHALL = %q, %v", answer, err)
		}
	})
}
