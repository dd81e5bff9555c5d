package serve

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"sync/atomic"
)

// TLSFiles are the PEM files of a certificate. When they change, they are read again
// within a second, without a restart; if they are then invalid, that is logged and the
// old certificate stays in use.
type TLSFiles struct {
	// Cert is the certificate with its chain, Key the private key.
	Cert, Key string
}

// Check returns an error if the files cannot be read or do not match.
func (f TLSFiles) Check() error {
	_, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	return err
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
	pair  atomic.Pointer[tls.Certificate]
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
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"h2", "http/1.1"},
		GetCertificate: c.get,
	}
}

// prepare reads the certificate of other files, and returns a function that uses it from
// now on.
func (c *certificate) prepare(files TLSFiles) (use func(), err error) {
	w := &watchedPair{
		files: files,
		watch: newFileWatch(files.Cert, files.Key),
	}
	if err := w.load(); err != nil {
		return nil, err
	}
	return func() { c.current.Store(w) }, nil
}

// load reads the pair. On an error, the previous one stays in use.
func (w *watchedPair) load() error {
	pair, err := tls.LoadX509KeyPair(w.files.Cert, w.files.Key)
	if err != nil {
		return fmt.Errorf("certificate: %w", err)
	}
	w.pair.Store(&pair)
	return nil
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
