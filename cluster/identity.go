package cluster

import (
	"context"
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
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/internal/hophttp"
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

// ErrReplaced is the error of a connection to a [Peer] whose address belongs to another process, for example because
// the machine of the replica has started again. What was in flight at the replica is lost.
var ErrReplaced = errors.New("the address of the replica belongs to another process")

// config returns a configuration that accepts the certificates for which known reports
// true. Handshakes with others fail with refusal.
func (id *identity) config(known func(fingerprint string) bool, refusal error) *tls.Config {
	return &tls.Config{
		Certificates: []tls.Certificate{id.certificate},
		MinVersion:   tls.VersionTLS13,
		NextProtos:   []string{"http/1.1"},
		// Each record is a call of the system.
		DynamicRecordSizingDisabled: true,
		ClientAuth:                  tls.RequireAnyClientCert,
		// The certificate is compared with the records of the cluster instead of a chain.
		InsecureSkipVerify: true,
		VerifyConnection: func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) == 0 || !known(fingerprintOf(state.PeerCertificates[0].Raw)) {
				return refusal
			}
			return nil
		},
	}
}

// listen returns a listener that accepts only connections for which config does.
func listen(ln net.Listener, config *tls.Config) net.Listener {
	limited := &limitedListener{
		Listener: ln,
		open:     make(map[string]int),
	}
	return tls.NewListener(limited, config)
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

// NetConn returns the connection of the system, which can tell whether it has ended.
func (c *limitedConn) NetConn() net.Conn { return c.Conn }

// Close implements [net.Conn].
func (c *limitedConn) Close() error {
	c.release()
	return c.Conn.Close()
}

// transport returns a transport that connects only to m, by dial.
func (id *identity) transport(
	m Member, dial func(context.Context, string, string) (net.Conn, error),
) *hophttp.Transport {
	config := id.config(func(fingerprint string) bool { return fingerprint == m.Certificate }, ErrReplaced)
	return &hophttp.Transport{
		Dial: func(ctx context.Context) (net.Conn, error) {
			return handshake(ctx, config, func() (net.Conn, error) { return dial(ctx, "tcp", m.Addr) })
		},
	}
}

// handshakeTimeout bounds the time until another replica has authenticated itself.
const handshakeTimeout = 2 * time.Second

// handshake makes a connection to a replica. If the process at its address is another one, no connection to
// the replica was made: the error is that of a dial that failed, and wraps [ErrReplaced].
func handshake(ctx context.Context, config *tls.Config, dial func() (net.Conn, error)) (net.Conn, error) {
	raw, err := dial()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	c := tls.Client(raw, config)
	if err := c.HandshakeContext(ctx); err != nil {
		_ = raw.Close() // no part of a request was sent
		return nil, &net.OpError{
			Op:     "dial",
			Net:    "tcp",
			Source: raw.LocalAddr(),
			Addr:   raw.RemoteAddr(),
			Err:    err,
		}
	}
	return c, nil
}
