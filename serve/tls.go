package serve

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/mcp"
)

// TLSFiles are the PEM files of a certificate. When they change, they are read again
// within a second, without a restart; if they are then invalid, that is logged and the
// old certificate stays in use.
type TLSFiles struct {
	// Cert is the certificate with its chain, Key the private key.
	Cert, Key string
	// ClientCA, if not empty, has the authorities that issue the certificates of clients: each
	// connection needs one. Without Auth, the certificate is the caller, whose name is its first
	// URI, DNS name or email address, or else its subject, after "cert#". It requires Cert, and
	// does not work in a cluster.
	ClientCA string
}

// Check returns an error if the files cannot be read or do not match.
func (f TLSFiles) Check() error {
	_, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err == nil {
		_, err = f.authorities()
	}
	return err
}

// authorities returns those of ClientCA, or nil without it.
func (f TLSFiles) authorities() (*x509.CertPool, error) {
	if f.ClientCA == "" {
		return nil, nil
	}
	text, err := fsutil.ReadText(f.ClientCA, maxDocument)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", f.ClientCA, fsutil.Reason(err))
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s: no PEM certificate", f.ClientCA)
	}
	return pool, nil
}

// authenticates reports whether callers are identified.
func (o *Options) authenticates() bool { return o.Auth != nil || o.TLS.ClientCA != "" }

// checkClientCA returns an error for authorities of clients that no connection would be verified
// against. Replicas forward requests over connections of their own.
func (o *Options) checkClientCA() error {
	switch {
	case o.TLS.ClientCA == "":
		return nil
	case o.TLS.Cert == "":
		return errors.New("certificates of clients require a certificate of the server")
	case o.Cluster != nil:
		return errors.New("certificates of clients do not work in a cluster")
	}
	return nil
}

// errNoHolder means that a certificate has no name, or one that is too long.
var errNoHolder = errors.New("the certificate names no caller")

// certificateHolder returns the caller whose certificate a connection has verified, or nil if it
// did not need one.
func certificateHolder(state *tls.ConnectionState) (*mcp.Principal, error) {
	if state == nil || len(state.VerifiedChains) == 0 {
		return nil, nil
	}
	cert := state.VerifiedChains[0][0]
	name := cert.Subject.String()
	switch {
	case len(cert.URIs) > 0:
		name = cert.URIs[0].String()
	case len(cert.DNSNames) > 0:
		name = cert.DNSNames[0]
	case len(cert.EmailAddresses) > 0:
		name = cert.EmailAddresses[0]
	}
	switch {
	case name == "" || len(name) >= maxName:
		return nil, errNoHolder
	case time.Now().After(cert.NotAfter): // a connection can outlive it
		return nil, errors.New("the certificate has expired")
	}
	return &mcp.Principal{
		Name:    "cert#" + name,
		Issuer:  "cert",
		Subject: name,
		Expires: cert.NotAfter,
	}, nil
}

// certificate is a certificate that is reloaded when its files change.
type certificate struct {
	log     *slog.Logger
	current atomic.Pointer[watchedPair]
}

// watchedPair is a certificate with the files that it comes from.
type watchedPair struct {
	files TLSFiles
	watch *fileWatch
	// pair is the certificate of the last files that were valid.
	pair atomic.Pointer[tls.Certificate]
	// clients are the authorities of clients, or nil.
	clients atomic.Pointer[x509.CertPool]
}

// open returns a certificate from the files.
func (f TLSFiles) open(log *slog.Logger) (*certificate, error) {
	c := &certificate{log: log}
	use, err := c.prepare(f)
	if err != nil {
		return nil, err
	}
	use()
	return c, nil
}

// config returns a TLS configuration for a server with that certificate. It supports
// HTTP/2 and HTTP/1.1.
func (c *certificate) config() *tls.Config {
	config := &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"h2", "http/1.1"},
		GetCertificate: c.get,
	}
	if !c.verifiesClients() {
		return config
	}
	config.ClientAuth = tls.RequireAndVerifyClientCert
	config.ClientCAs = x509.NewCertPool() // accepts none, if GetConfigForClient did not apply
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		if _, err := c.get(hello); err != nil {
			return nil, err
		}
		own := config.Clone()
		own.GetConfigForClient = nil
		if pool := c.current.Load().clients.Load(); pool != nil {
			own.ClientCAs = pool
		}
		return own, nil
	}
	return config
}

// verifiesClients reports whether connections need certificates of clients, which config decides
// once.
func (c *certificate) verifiesClients() bool {
	return c != nil && c.current.Load().files.ClientCA != ""
}

// prepare reads the certificate of other files, and returns a function that uses it from
// now on.
func (c *certificate) prepare(files TLSFiles) (use func(), err error) {
	w := &watchedPair{
		files: files,
		watch: newFileWatch(files.all()...),
	}
	if err := w.load(); err != nil {
		return nil, err
	}
	return func() { c.current.Store(w) }, nil
}

// load reads the pair. On an error, the previous one stays in use.
func (w *watchedPair) load() error {
	pair, err := tls.LoadX509KeyPair(w.files.Cert, w.files.Key)
	switch {
	case errors.As(err, new(*fs.PathError)):
		return fmt.Errorf("certificate: %w", err)
	case err != nil: // which names no file
		return fmt.Errorf("certificate %s, key %s: %w", w.files.Cert, w.files.Key, err)
	}
	clients, err := w.files.authorities()
	if err != nil {
		return fmt.Errorf("authorities of clients: %w", err)
	}
	w.pair.Store(&pair)
	w.clients.Store(clients)
	return nil
}

// all returns the files.
func (f TLSFiles) all() []string {
	if f.ClientCA == "" {
		return []string{f.Cert, f.Key}
	}
	return []string{f.Cert, f.Key, f.ClientCA}
}

// get returns the certificate for a handshake. It looks for changed files at most once in
// a while.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	w := c.current.Load()
	w.watch.refresh(func() {
		if err := w.load(); err != nil {
			c.log.Error("certificate not reloaded, keeping the previous one", "error", err)
		} else {
			c.log.Info("certificate reloaded")
		}
	})
	return w.pair.Load(), nil
}
