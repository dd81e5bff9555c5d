package serve_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/serve"
)

// writeCertificate writes a certificate for localhost with a serial number.
func writeCertificate(t *testing.T, files serve.TLSFiles, serial int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: time.Unix(0, 0), NotAfter: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	replace(t, files.Key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
	replace(t, files.Cert, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})))
}

// serial fails the test if the certificate of the server has another serial number.
func (r *running) serial(t *testing.T, want int64) {
	t.Helper()
	if got := serialOf(t, r.memory); got != want {
		t.Errorf("certificate %d, want %d", got, want)
	}
}

// serialOf returns the serial number of the certificate that a server on m presents.
func serialOf(t *testing.T, m *memory) int64 {
	t.Helper()
	raw, err := m.dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	conn := tls.Client(raw, &tls.Config{InsecureSkipVerify: true, Time: time.Now})
	if err := conn.HandshakeContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
}

func TestCertificateIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	files := serve.TLSFiles{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	writeCertificate(t, files, 1)
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		m := newMemory()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			done <- serve.Serve(ctx, m, newSource(), &serve.Options{
				TLS:    files,
				Logger: slog.New(slog.NewTextHandler(&log, nil)),
			})
		}()
		serial := func(when string, want int64) {
			t.Helper()
			if got := serialOf(t, m); got != want {
				t.Errorf("%s: certificate %d, want %d", when, got, want)
			}
		}
		serial("at first", 1)
		writeCertificate(t, files, 2)
		time.Sleep(time.Second)
		serial("a second after the change", 2)
		replace(t, files.Cert, "nonsense")
		time.Sleep(time.Second)
		serial("behind a broken file", 2)
		writeCertificate(t, files, 3)
		time.Sleep(time.Second)
		serial("behind a good file", 3)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		synctest.Wait()
		got := log.String()
		if !strings.Contains(got, "certificate not reloaded") || !strings.Contains(got, "endpoint=https://") {
			t.Errorf("log:\n%s", got)
		}
	})
}

// TestHTTP2 uses a session with a stream over HTTP/2.
func TestHTTP2(t *testing.T) {
	dir := t.TempDir()
	files := serve.TLSFiles{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	writeCertificate(t, files, 1)
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		src := newSource()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- serve.Serve(ctx, m, src, &serve.Options{TLS: files}) }()
		transport := &http.Transport{
			DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return m.dial(ctx) },
			TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
			ForceAttemptHTTP2: true,
		}
		defer transport.CloseIdleConnections()
		client := &http.Client{Transport: transport}
		send := func(method, body, session string) *http.Response {
			r, err := http.NewRequest(method, "https://localhost/mcp", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			if session != "" {
				r.Header.Set("Mcp-Session-Id", session)
			}
			got, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			if got.ProtoMajor != 2 {
				t.Fatalf("%s over %s, want HTTP/2", method, got.Proto)
			}
			return got
		}
		got := send("POST", initialize, "")
		_ = body(t, got)
		stream := send("GET", "", got.Header.Get("Mcp-Session-Id"))
		if ct := stream.Header.Get("Content-Type"); stream.StatusCode != 200 || ct != "text/event-stream" {
			t.Errorf("GET = %s %s, want an event stream", stream.Status, ct)
		}
		src.release <- struct{}{}
		if text := body(t, send("POST", call, got.Header.Get("Mcp-Session-Id"))); !strings.Contains(text, "done") {
			t.Errorf("call beside the stream = %s", text)
		}
		cancel()
		if _, err := io.ReadAll(stream.Body); err != nil {
			t.Errorf("the stream did not end in order: %v", err)
		}
		transport.CloseIdleConnections()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// authority issues certificates.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{t: t, key: key}
	a.cert = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Unix(0, 0), NotAfter: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	a.cert.Raw = a.sign(a.cert, key).Certificate[0]
	return a
}

// sign returns a certificate, which has a key.
func (a *authority) sign(template *x509.Certificate, key *ecdsa.PrivateKey) tls.Certificate {
	a.t.Helper()
	raw, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}
}

// issue returns a certificate of a client until a time.
func (a *authority) issue(name string, until time.Time) tls.Certificate {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	return a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotBefore: time.Unix(0, 0), NotAfter: until,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, key)
}

func (a *authority) pem() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}))
}

// TestClientCertificates: a client needs a certificate of an authority, and is its holder for
// handlers and policies. Authorities can be replaced.
func TestClientCertificates(t *testing.T) {
	dir := t.TempDir()
	files := serve.TLSFiles{
		Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem"), ClientCA: filepath.Join(dir, "ca.pem"),
	}
	writeCertificate(t, files, 1)
	ours, others := newAuthority(t, "ours"), newAuthority(t, "others")
	replace(t, files.ClientCA, ours.pem())
	later := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	ann, bob := ours.issue("ann", later), ours.issue("bob", later)
	expired, stranger := ours.issue("old", time.Unix(1, 0)), others.issue("eve", later)
	nameless := ours.issue(strings.Repeat("n", 600), later)
	brief := ours.issue("ann", time.Date(2000, 1, 1, 1, 0, 0, 0, time.UTC)) // an hour after the start of a bubble
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		o := &serve.Options{TLS: files}
		o.Policy = policyOf(t, `permit (principal == User::"cert#CN=ann", action, resource);`, nil)
		go func() { done <- serve.Serve(ctx, m, tools{}, o) }()
		open := func(once bool, certs ...tls.Certificate) *http.Client {
			return &http.Client{Transport: &http.Transport{
				DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
					raw, err := m.dial(ctx)
					if err != nil {
						return nil, err
					}
					return tls.Client(raw, &tls.Config{InsecureSkipVerify: true, Certificates: certs, Time: time.Now}), nil
				},
				DisableKeepAlives: once,
			}}
		}
		post := func(client *http.Client) string {
			resp, err := client.Post("https://localhost/mcp", "application/json", strings.NewReader(toolCall("look")))
			if err != nil {
				return "no connection"
			}
			defer resp.Body.Close()
			text, err := io.ReadAll(resp.Body)
			if err != nil {
				return "no connection"
			}
			return string(text)
		}
		call := func(certs ...tls.Certificate) string {
			client := open(true, certs...)
			defer client.CloseIdleConnections()
			return post(client)
		}
		check := func(name, want string, certs ...tls.Certificate) {
			t.Helper()
			if got := call(certs...); !strings.Contains(got, want) {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}
		check("ann", "look by cert#CN=ann", ann)
		check("bob", "denied by policy", bob)
		check("without a certificate", "no connection")
		check("expired", "no connection", expired)
		check("of another authority", "no connection", stranger)
		check("whose name is too long", "the certificate names no caller", nameless)
		kept := open(false, brief)
		defer kept.CloseIdleConnections()
		if got := post(kept); !strings.Contains(got, "look by cert#CN=ann") {
			t.Errorf("before it expires: %s", got)
		}
		for range 60 { // the connection is not idle for longer than the server keeps it
			time.Sleep(time.Minute + time.Second)
			_ = post(kept)
		}
		if got := post(kept); !strings.Contains(got, "the certificate has expired") {
			t.Errorf("after it has expired, on the same connection: %s", got)
		}
		replace(t, files.ClientCA, others.pem())
		time.Sleep(time.Second)
		check("of a replaced authority", "no connection", ann)
		check("of the new authority", "denied by policy", stranger)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestClientCertificatesCannotBePretended ensures that authorities of clients that no connection is
// verified against do not count as authentication.
func TestClientCertificatesCannotBePretended(t *testing.T) {
	dir := t.TempDir()
	files := serve.TLSFiles{
		Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem"), ClientCA: filepath.Join(dir, "ca.pem"),
	}
	writeCertificate(t, files, 1)
	replace(t, files.ClientCA, newAuthority(t, "ours").pem())
	err := serve.Run(t.Context(), newSource(), &serve.Options{
		Addr: "192.0.2.7:0",
		TLS:  serve.TLSFiles{ClientCA: files.ClientCA},
	})
	if err == nil || !strings.Contains(err.Error(), "require a certificate of the server") {
		t.Errorf("Run without TLS: %v", err)
	}
	plain := serve.TLSFiles{Cert: files.Cert, Key: files.Key}
	for name, tt := range map[string]struct{ running, applied serve.TLSFiles }{
		"TLS without authorities": {plain, files},
		"no TLS":                  {serve.TLSFiles{}, files},
		"authorities":             {files, plain},
	} {
		t.Run(name, func(t *testing.T) {
			control := exposed(t, tt.running)
			if err := control.Apply(t.Context(), &serve.Options{TLS: tt.applied}); err == nil {
				t.Error("tokens were replaced by certificates that are not verified")
			}
		})
	}
}
