package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"sync"
	"time"
)

// identity is the certificate of a replica: created by the process, and trusted because
// its hash is in the record of the replica. No authority has to issue it.
type identity struct {
	certificate tls.Certificate
	fingerprint string
}

func newIdentity() (*identity, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "slipway replica"},
		NotBefore:    time.Unix(0, 0),
		NotAfter:     time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC), // it lives as long as the process
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	return &identity{
		certificate: tls.Certificate{
			Certificate: [][]byte{der},
			PrivateKey:  key,
		},
		fingerprint: fingerprintOf(der),
	}, nil
}

func fingerprintOf(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

var errNotMember = errors.New("the certificate is not that of a replica")

// config returns a configuration that accepts the certificates for which known reports
// true.
func (id *identity) config(known func(fingerprint string) bool) *tls.Config {
	return &tls.Config{
		Certificates: []tls.Certificate{id.certificate},
		MinVersion:   tls.VersionTLS13,
		NextProtos:   []string{"http/1.1"},
		ClientAuth:   tls.RequireAnyClientCert,
		// The certificate is compared with the records of the cluster instead of a chain.
		InsecureSkipVerify: true,
		VerifyConnection: func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) == 0 || !known(fingerprintOf(state.PeerCertificates[0].Raw)) {
				return errNotMember
			}
			return nil
		},
	}
}

// listen returns a listener that accepts only replicas.
func (id *identity) listen(ln net.Listener, known func(fingerprint string) bool) net.Listener {
	limited := &limitedListener{
		Listener: ln,
		open:     make(map[string]int),
	}
	return tls.NewListener(limited, id.config(known))
}

// Limits of connections that the listener for replicas keeps, from one address and in
// all. A replica keeps 64 idle ones to each peer, and one for each forwarded request.
const (
	maxAddressConns = 4096
	maxConns        = 16384
)

// limitedListener closes connections beyond the limits. It counts those of strangers too,
// which differ from replicas only in their handshake.
type limitedListener struct {
	net.Listener

	mu   sync.Mutex
	open map[string]int // connections by address
	all  int
}

// Accept implements [net.Listener].
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		host, _, err := net.SplitHostPort(c.RemoteAddr().String())
		if err == nil && l.add(host) {
			return &limitedConn{
				Conn:    c,
				release: sync.OnceFunc(func() { l.remove(host) }),
			}, nil
		}
		_ = c.Close()
	}
}

func (l *limitedListener) add(host string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all >= maxConns || l.open[host] >= maxAddressConns {
		return false
	}
	l.all++
	l.open[host]++
	return true
}

func (l *limitedListener) remove(host string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all--
	if l.open[host]--; l.open[host] == 0 {
		delete(l.open, host)
	}
}

// limitedConn counts until it is closed.
type limitedConn struct {
	net.Conn

	release func()
}

// Close implements [net.Conn].
func (c *limitedConn) Close() error {
	c.release()
	return c.Conn.Close()
}

// transport returns a transport that connects only to m. It uses HTTP/1.1, because a
// stream then needs no goroutine at the owner of its session.
func (id *identity) transport(m Member) *http.Transport {
	dialer := &net.Dialer{Timeout: time.Second}
	return &http.Transport{
		DialContext:           dialer.DialContext,
		TLSClientConfig:       id.config(func(fingerprint string) bool { return fingerprint == m.Certificate }),
		TLSHandshakeTimeout:   2 * time.Second,
		MaxIdleConnsPerHost:   64,
		IdleConnTimeout:       time.Minute,
		DisableCompression:    true,
		ExpectContinueTimeout: time.Second,
	}
}
