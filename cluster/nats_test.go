package cluster_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/slipway-mcp/slipway/cluster"
	"github.com/slipway-mcp/slipway/internal/nats"
	"github.com/slipway-mcp/slipway/internal/test/natstest"
)

// TestNATSRestart kills the NATS server and starts it again, with its data and without:
// replicas keep each other and the key, and revisions grow.
func TestNATSRestart(t *testing.T) {
	t.Parallel()
	s := natstest.Start(t)
	e := openNATS(t, nil, s)
	a, b := join(t, openNATS(t, nil, s)), join(t, openNATS(t, nil, s))
	eventually(t, "both replicas", func() bool { return len(a.Members()) == 2 && len(b.Members()) == 2 })
	key := string(a.Keys()[0])
	peer := a.Find(t.Context(), b.ID())
	var last uint64
	for _, empty := range []bool{false, true} {
		revision, err := e.Create(t.Context(), fmt.Sprint("g/", empty), []byte("kept"), 0)
		if err != nil || revision <= last {
			t.Fatalf("revision %d, %v after %d", revision, err, last)
		}
		last = revision
		s.Kill()
		eventually(t, "the failure to be noticed", func() bool { return !a.Connected() && !b.Connected() })
		if len(a.Members()) != 2 {
			t.Error("a replica was forgotten because the engine failed")
		}
		eventually(t, "an error that says what has failed", func() bool {
			_, err := e.Get(t.Context(), "g/other")
			return err != nil && strings.HasSuffix(err.Error(), ": the connection was lost")
		})
		if empty {
			s.Empty(t)
		}
		s.Run(t)
		eventually(t, "the engine to be back", func() bool {
			_, err := e.Get(t.Context(), "g/other") // each connects again at another time
			return a.Connected() && b.Connected() && errors.Is(err, cluster.ErrNotFound)
		})
		r, err := e.Get(t.Context(), fmt.Sprint("g/", empty))
		switch {
		case empty && !errors.Is(err, cluster.ErrNotFound):
			t.Errorf("an empty server returned %v, %v", r, err)
		case !empty && (err != nil || string(r.Value) != "kept" || r.Revision != revision):
			t.Errorf("after a restart: %v, %v", r, err)
		}
		eventually(t, "the key", func() bool {
			r, err := e.Get(t.Context(), "key/state")
			return err == nil && string(r.Value) == key
		})
	}
	after, err := e.Create(t.Context(), "g/after", nil, 0)
	if err != nil || after <= last {
		t.Errorf("revision %d, %v after %d", after, err, last)
	}
	if peer.Context().Err() != nil || a.Find(t.Context(), b.ID()) != peer {
		t.Error("a replica was dropped because the engine had lost its data")
	}
}

// TestNATSCluster kills each server of a NATS cluster in turn, so also the leader: no write
// that was acknowledged is lost, and replicas stay.
func TestNATSCluster(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts three servers")
	}
	servers := natstest.StartCluster(t, 3)
	e := openNATS(t, nil, servers...)
	waitForNATS(t, e)
	a, b := joinPatiently(t, openNATS(t, nil, servers...)), joinPatiently(t, openNATS(t, nil, servers...))
	peer := a.Find(t.Context(), b.ID())
	if peer == nil {
		t.Fatal("the other replica was not found")
	}
	revision, err := e.Create(t.Context(), "g/counter", []byte("0"), 0)
	if err != nil {
		t.Fatal(err)
	}
	writes := 0
	for _, s := range servers {
		s.Kill()
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			next, err := e.Update(t.Context(), "g/counter", fmt.Append(nil, writes+1), revision, 0)
			if err == nil {
				if next <= revision {
					t.Errorf("revision %d after %d", next, revision)
				}
				writes, revision = writes+1, next
				break
			}
			// A write whose answer was lost may have been stored.
			if r, err := e.Get(t.Context(), "g/counter"); err == nil && string(r.Value) == fmt.Sprint(writes+1) {
				writes, revision = writes+1, r.Revision
				break
			} else if err == nil && (string(r.Value) != fmt.Sprint(writes) || r.Revision != revision) {
				t.Fatalf("the record is %s at %d, want %d at %d", r.Value, r.Revision, writes, revision)
			}
			if time.Now().After(deadline) {
				t.Fatalf("no write after a server was killed: %v", err)
			}
		}
		s.Run(t)
		waitForNATS(t, e)
		r, err := e.Get(t.Context(), "g/counter")
		if err != nil || string(r.Value) != fmt.Sprint(writes) {
			t.Errorf("the record is %s, %v, want %d", r.Value, err, writes)
		}
	}
	if peer.Context().Err() != nil {
		t.Error("a replica was dropped while the engine failed over")
	}
}

// joinPatiently joins with the default lease.
func joinPatiently(t *testing.T, e cluster.Engine) *cluster.Replica {
	t.Helper()
	r, err := cluster.Join(t.Context(), e, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Leave(context.Background()) })
	return r
}

// waitForNATS waits until a NATS cluster has leaders.
func waitForNATS(t *testing.T, e *nats.Engine) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if _, err = e.List(t.Context(), "none"); err == nil {
			return
		}
	}
	t.Fatalf("the NATS cluster does not answer: %v", err)
}

// A valve is a TCP proxy that can stop copying without closing connections.
type valve struct {
	net.Listener

	mu sync.Mutex // held while the valve is closed
}

func openValve(t *testing.T, to string) *valve {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	v := &valve{Listener: ln}
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			s, err := net.Dial("tcp", to)
			if err != nil {
				_ = c.Close()
				continue
			}
			go v.copy(c, s)
			go v.copy(s, c)
		}
	}()
	return v
}

func (v *valve) copy(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		v.mu.Lock()
		//lint:ignore SA2001 this waits while the valve is closed
		v.mu.Unlock()
		if _, werr := to.Write(buf[:n]); err != nil || werr != nil {
			return
		}
	}
}

// TestNATSPartition cuts a replica off from its server, silently: its calls and subscriptions
// fail instead of waiting, and work again afterwards.
func TestNATSPartition(t *testing.T) {
	t.Parallel()
	s := natstest.Start(t)
	v := openValve(t, s.Addr)
	e, err := nats.Open("nats://"+v.Addr().String()+"?name=test", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	sub, err := e.Subscribe(t.Context(), "g")
	if err != nil {
		t.Fatal(err)
	}
	v.mu.Lock()
	_, createErr := e.Create(t.Context(), "g/a", nil, 0)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, err = sub.Next(ctx)
	v.mu.Unlock()
	if createErr == nil {
		t.Error("a write succeeded without a connection")
	}
	if err == nil || ctx.Err() != nil {
		t.Errorf("Next of a subscription whose connection is dead: %v", err)
	}
	eventually(t, "the engine to be back", func() bool {
		_, err := e.List(t.Context(), "g")
		return err == nil
	})
}

// TestNATSSecrets guards the ways to log in, and that a wrong secret is an error.
func TestNATSSecrets(t *testing.T) {
	t.Parallel()
	user, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	public, _ := user.PublicKey()
	seed, _ := user.Seed()
	wrong, _ := nkeys.CreateUser()
	wrongSeed, _ := wrong.Seed()
	signed, file := credentials(t)
	_, wrongFile := credentials(t)
	for name, c := range map[string]struct {
		config, user, secret, wrong string
	}{
		"password":         {`authorization { user: slipway, password: "s3cret" }`, "slipway@", "s3cret", "other"},
		"token":            {`authorization { token: "s3cret" }`, "", "s3cret", "other"},
		"nkey":             {`authorization { users: [ { nkey: ` + public + ` } ] }`, "", string(seed), string(wrongSeed)},
		"credentials file": {signed, "", file, wrongFile},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "nats.conf")
			if err := os.WriteFile(file, []byte(c.config), 0o600); err != nil {
				t.Fatal(err)
			}
			s := natstest.Start(t, "--config", file)
			for _, secret := range []string{c.secret, c.wrong, ""} {
				e, err := nats.Open("nats://"+c.user+s.Addr, &nats.Options{Secret: func() (string, error) { return secret, nil }})
				if err != nil {
					t.Fatal(err)
				}
				_, err = e.Create(t.Context(), "g/a", nil, time.Minute)
				_ = e.Close()
				if (err == nil) != (secret == c.secret) {
					t.Errorf("secret %t: %v", secret == c.secret, err)
				}
				if secret == c.wrong && !errors.Is(err, cluster.ErrRefused) {
					t.Errorf("wrong secret: %v, want %v", err, cluster.ErrRefused)
				}
				if err != nil && secret != "" && strings.Contains(err.Error(), secret) {
					t.Errorf("the error repeats the secret: %v", err)
				}
			}
		})
	}
}

// TestNATSTLS guards that a server with TLS is used, also by nats://, and verified.
func TestNATSTLS(t *testing.T) {
	t.Parallel()
	web := httptest.NewTLSServer(nil) // for its certificate of 127.0.0.1
	defer web.Close()
	pair := web.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	files := []string{filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")}
	for i, block := range []*pem.Block{
		{Type: "CERTIFICATE", Bytes: pair.Certificate[0]},
		{Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(files[i], pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := natstest.Start(t, "--tls", "--tlscert", files[0], "--tlskey", files[1])
	trusted := x509.NewCertPool()
	trusted.AddCert(web.Certificate())
	for _, c := range []struct {
		scheme string
		config *tls.Config
		works  bool
	}{
		{"tls", &tls.Config{RootCAs: trusted}, true},
		{"nats", &tls.Config{RootCAs: trusted}, true},
		{"tls", nil, false},
		{"nats", nil, false},
	} {
		e, err := nats.Open(c.scheme+"://"+s.Addr, &nats.Options{TLS: c.config})
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.Create(t.Context(), "g/"+c.scheme, nil, time.Minute)
		_ = e.Close()
		if (err == nil) != c.works || !c.works && !strings.Contains(err.Error(), "certificate") {
			t.Errorf("%s, with the certificate trusted: %t: %v", c.scheme, c.config != nil, err)
		}
	}
	plain := natstest.Start(t)
	e, err := nats.Open("tls://"+plain.Addr, &nats.Options{TLS: &tls.Config{RootCAs: trusted}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.Create(t.Context(), "g/a", nil, time.Minute); err == nil {
		t.Error("tls:// used a server without TLS")
	}
}

// credentials returns the configuration of a server whose users have signed credentials, and
// the credentials file of a user.
func credentials(t *testing.T) (config, file string) {
	t.Helper()
	var keys [4]nkeys.KeyPair
	var public [4]string
	for i, create := range []func() (nkeys.KeyPair, error){
		nkeys.CreateOperator, nkeys.CreateAccount, nkeys.CreateAccount, nkeys.CreateUser,
	} {
		var err error
		if keys[i], err = create(); err == nil {
			public[i], err = keys[i].PublicKey()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	sign := func(by, of int, claims string) string {
		encode := base64.RawURLEncoding.EncodeToString
		text := encode([]byte(`{"typ":"JWT","alg":"ed25519-nkey"}`)) + "." + encode(fmt.Appendf(nil,
			`{"jti":"X","iat":%d,"iss":%q,"sub":%q,"name":"test","nats":{%s,"version":2}}`,
			time.Now().Unix(), public[by], public[of], claims))
		signature, err := keys[by].Sign([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return text + "." + encode(signature)
	}
	const limits = `"limits":{"subs":-1,"data":-1,"payload":-1,"imports":-1,"exports":-1,"wildcards":true,"conn":-1,` +
		`"leaf":-1`
	const operator, system, account, user = 0, 1, 2, 3
	config = "operator: " + sign(operator, operator, `"type":"operator","system_account":"`+public[system]+`"`) + "\n" +
		"system_account: " + public[system] + "\nresolver: MEMORY\nresolver_preload: {\n" +
		public[system] + ": " + sign(operator, system, `"type":"account",`+limits+`}`) + "\n" +
		public[account] + ": " + sign(operator, account, `"type":"account",`+limits+
		`,"mem_storage":-1,"disk_storage":-1,"streams":-1,"consumer":-1}`) + "\n}\n"
	seed, err := keys[user].Seed()
	if err != nil {
		t.Fatal(err)
	}
	file = "-----BEGIN NATS USER JWT-----\n" +
		sign(account, user, `"type":"user","pub":{},"sub":{},"subs":-1,"data":-1,"payload":-1`) +
		"\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\n" + string(seed) +
		"\n------END USER NKEY SEED------\n"
	return config, file
}

// TestNATSForeignStream guards streams of others: one with the name of ours is not used, also
// if it can expire messages.
func TestNATSForeignStream(t *testing.T) {
	t.Parallel()
	for _, stream := range []string{
		`{"name":"slipway-test","subjects":["orders.>"]}`,
		`{"name":"slipway-test","subjects":["orders.>"],"allow_msg_ttl":true}`,
		`{"name":"slipway-test","subjects":["slipway-test.record.>"],"allow_msg_ttl":true,"max_msgs_per_subject":1}`,
	} {
		checkForeignStream(t, stream)
	}
}

func checkForeignStream(t *testing.T, stream string) {
	t.Helper()
	s := natstest.Start(t)
	c, err := net.Dial("tcp", s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = fmt.Fprintf(c, "CONNECT {\"verbose\":false}\r\nSUB in 1\r\n"+
		"PUB $JS.API.STREAM.CREATE.slipway-test in %d\r\n%s\r\n", len(stream), stream)
	if err != nil {
		t.Fatal(err)
	}
	var answer strings.Builder
	buf := make([]byte, 4096)
	for !strings.Contains(answer.String(), "create_response") {
		n, err := c.Read(buf)
		if err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		answer.Write(buf[:n])
	}
	e := openNATS(t, nil, s)
	_, err = e.Create(t.Context(), "g/a", nil, 0)
	if err == nil || !strings.Contains(err.Error(), "stream slipway-test") {
		t.Errorf("the stream %s of another program was used: %v", stream, err)
	}
}
