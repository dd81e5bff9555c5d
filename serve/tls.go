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
	files   TLSFiles
	watch   *fileWatch
	log     *slog.Logger
	current atomic.Pointer[tls.Certificate]
}

// config returns a TLS configuration for a server with that certificate. It supports
// HTTP/2 and HTTP/1.1.
func (f TLSFiles) config(log *slog.Logger) (*tls.Config, error) {
	c := &certificate{
		files: f,
		log:   log,
		watch: newFileWatch(f.Cert, f.Key),
	}
	if err := c.load(); err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"h2", "http/1.1"},
		GetCertificate: c.get,
	}, nil
}

func (c *certificate) load() error {
	pair, err := tls.LoadX509KeyPair(c.files.Cert, c.files.Key)
	if err != nil {
		return fmt.Errorf("certificate: %w", err)
	}
	c.current.Store(&pair)
	return nil
}

func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.watch.refresh(c.reload)
	return c.current.Load(), nil
}

func (c *certificate) reload() {
	if err := c.load(); err != nil {
		c.log.Error("the certificate stays as it was", "error", err)
	} else {
		c.log.Info("certificate read again")
	}
}
