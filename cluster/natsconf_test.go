package cluster_test

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
	"github.com/slipway-mcp/slipway/internal/nats"
	"github.com/slipway-mcp/slipway/internal/test/freeaddr"
	"github.com/slipway-mcp/slipway/internal/test/natstest"
)

// TestNATSConfiguration starts three NATS servers with examples/deploy/nats.conf: there is room for all
// streams with three copies, clients and servers without the passwords are refused, and clients learn
// no addresses. So does the file with its tls blocks.
func TestNATSConfiguration(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts three servers")
	}
	text, err := os.ReadFile(filepath.Join("..", "examples", "deploy", "nats.conf"))
	if err != nil {
		t.Fatal(err)
	}
	for _, scheme := range []string{"nats", "tls"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			text, trusted := string(text), (*x509.CertPool)(nil)
			if scheme == "tls" {
				text, trusted = enableTLS(t, text)
			}
			servers, route := startConfigured(t, text)
			urls := make([]string, len(servers))
			for i, s := range servers {
				urls[i] = scheme + "://slipway@" + s.Addr
			}
			open := func(urls, password string) *nats.Engine {
				opts := &nats.Options{Secret: func() (string, error) { return password, nil }}
				if trusted != nil {
					opts.TLS = &tls.Config{RootCAs: trusted}
				}
				e, err := nats.Open(urls, opts)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = e.Close() })
				return e
			}
			all := strings.Join(urls, ",")
			e := open(all, "p-clients")
			waitForNATS(t, e)
			for _, key := range []string{"key/state", "session/1"} { // one of each stream
				createPatiently(t, e, key)
			}
			for _, password := range []string{"", "p-routes"} {
				_, err := open(all, password).Get(t.Context(), "key/state")
				if !errors.Is(err, cluster.ErrRefused) {
					t.Errorf("password %q: %v, want %v", password, err, cluster.ErrRefused)
				}
			}
			if info := greeting(t, servers[0].Addr); strings.Contains(info, "connect_urls") {
				t.Errorf("clients learn addresses of other servers: %s", info)
			}
			refusesServer(t, route)
		})
	}
}

// startConfigured starts three servers with the text of nats.conf, whose addresses and folder it
// replaces. It returns the address for routes of the first, too.
func startConfigured(t *testing.T, text string) (servers []*natstest.Server, route string) {
	t.Helper()
	var addresses, routes []string
	for range 3 {
		addr := freeaddr.On(t)
		addresses = append(addresses, addr)
		routes = append(routes, "nats://route:p-routes@"+addr)
	}
	for i, forRoutes := range addresses {
		servers = append(servers, natstest.StartConfigured(t, func(addr, store string) string {
			own := text
			for old, replacement := range map[string]string{
				`"0.0.0.0:4222"`: addr,
				`"0.0.0.0:6222"`: forRoutes,
				"/var/lib/nats":  store,
			} {
				if !strings.Contains(own, old) {
					t.Fatalf("nats.conf does not contain %s", old)
				}
				own = strings.ReplaceAll(own, old, `"`+replacement+`"`)
			}
			return own
		},
			fmt.Sprint("NATS_NAME=nats-", i),
			"NATS_PASSWORD=p-clients",
			"NATS_ROUTE_PASSWORD=p-routes",
			"NATS_ROUTES=["+strings.Join(routes, ", ")+"]"))
	}
	return servers, addresses[0]
}

// createPatiently creates a record, as soon as its stream has a leader.
func createPatiently(t *testing.T, e *nats.Engine, key string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		_, err := e.Create(t.Context(), key, []byte("secret"), 0)
		if err == nil || errors.Is(err, cluster.ErrConflict) { // the answer to the first attempt was lost
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v", key, err)
		}
	}
}

// greeting returns the first line that a server sends to a client.
func greeting(t *testing.T, addr string) string {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return line
}

// refusesServer starts a server that knows the address for routes and no password: it must be refused,
// and its clients must not reach the records.
func refusesServer(t *testing.T, route string) {
	t.Helper()
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	file := filepath.Join(dir, "nats.conf")
	text := fmt.Sprintf("server_name: foreign\nlog_file: %q\ncluster { name: slipway, listen: %q, routes: [nats://%s] }\n",
		log, freeaddr.On(t), route)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	foreign := natstest.Start(t, "--config", file)
	eventually(t, "the foreign server to be refused", func() bool {
		said, err := os.ReadFile(log)
		return err == nil && strings.Contains(string(said), "Router connection closed")
	})
	e, err := nats.Open("nats://"+foreign.Addr, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if r, err := e.Get(ctx, "key/state"); err == nil {
		t.Errorf("a client of a foreign server read %q", r.Value)
	}
}

// enableTLS removes the "#" of the tls blocks, and returns the authority of their certificate.
func enableTLS(t *testing.T, text string) (string, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		NotAfter:              time.Now().Add(time.Hour),
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	enabled := strings.ReplaceAll(text, "#tls {", "tls {")
	if strings.Count(enabled, "\ntls {")+strings.Count(enabled, "\n  tls {") != 2 {
		t.Fatal("nats.conf has no tls blocks for clients and routes")
	}
	dir := t.TempDir()
	for name, content := range map[string][]byte{
		"cert.pem": certificate,
		"ca.pem":   certificate,
		"key.pem":  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}),
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		enabled = strings.ReplaceAll(enabled, "/etc/nats/"+name, path)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(certificate)
	return enabled, trusted
}
