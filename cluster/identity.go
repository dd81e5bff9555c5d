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
	return tls.NewListener(ln, id.config(known))
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
