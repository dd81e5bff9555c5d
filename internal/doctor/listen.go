package doctor

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/neterror"
	"github.com/slipway-mcp/slipway/stax"
)

// Listening is how the configuration file of a server has it listen.
type Listening struct {
	Document *stax.Document // the file
	Addr     string         // host and port
	Cert     string         // the file of the certificate, or ""
	Key      string         // the file of its private key
	// AddrAt and CertAt are the JSON pointers of the settings.
	AddrAt, CertAt string
}

// Listen checks that a server can listen at its address, and that its certificate can be
// used. The listener is closed at once.
func (d *Doctor) Listen(about string, l *Listening) {
	d.Add(about, "address", func(r check.Reporter) string {
		serve := "slipway serve --config " + d.quote(l.Document.Name)
		return d.tryAddress(l.Document.Reporter(r.Report).Under(l.AddrAt), l.Addr, serve)
	})
	if l.Cert == "" || l.Key == "" {
		return
	}
	d.Add(about, "certificate", func(r check.Reporter) string {
		return d.tryCertificate(l.Document.Reporter(r.Report).Under(l.CertAt), l)
	})
}

// tryAddress listens at an address for a moment. serve is the command that would listen
// there.
func (d *Doctor) tryAddress(r check.Reporter, addr, serve string) string {
	listening, err := d.opts.Listen("tcp", addr)
	host, _, _ := net.SplitHostPort(addr) // an invalid address cannot be listened at
	switch {
	case err == nil:
		_ = listening.Close() // nothing has connected
		return addr + " is free"
	case neterror.IsAddressInUse(err):
		by := listener(addr)
		if by == "" {
			by = "another process"
		}
		r.Add(rulePortBusy, "", serve+" --addr "+d.nextFree(addr), "%s listens on %s", by, addr)
		return addr + " is in use"
	case errors.Is(err, fs.ErrPermission):
		const unprivileged = "8079" // nextFree starts after it
		next := d.nextFree(net.JoinHostPort(host, unprivileged))
		r.Add(rulePortPrivileged, "", serve+" --addr "+next, "this user must not listen on %s: %v", addr, cause(err))
		return addr + " is not allowed"
	}
	_, port, _ := net.SplitHostPort(addr)
	local := net.JoinHostPort("127.0.0.1", port)
	r.Add(ruleAddress, "", serve+" --addr "+local, "cannot listen on %s: %v", addr, cause(err))
	return addr + " cannot be used"
}

// cause returns the reason of a network error without its address.
func cause(err error) error {
	var number syscall.Errno
	var name *net.DNSError
	switch {
	case errors.As(err, &number):
		return number
	case errors.As(err, &name):
		return errors.New(name.Err)
	}
	return err
}

// tryCertificate loads a certificate and its key, and checks its dates.
func (d *Doctor) tryCertificate(r check.Reporter, l *Listening) string {
	for _, file := range []string{l.Cert, l.Key} {
		if _, err := os.ReadFile(file); err != nil {
			hint := d.unlock(file, err)
			if errors.Is(err, fs.ErrNotExist) {
				hint = d.editAt(r)
			}
			r.Add(ruleServerCertificate, "", hint, "%s: %s", file, fsutil.Reason(err))
			return "unreadable"
		}
	}
	pair, err := tls.LoadX509KeyPair(l.Cert, l.Key)
	if err != nil {
		r.Add(ruleServerCertificate, "", d.editAt(r), "%s and %s: %v", l.Cert, filepath.Base(l.Key), err)
		return "unusable"
	}
	c := pair.Leaf
	now := time.Now()
	switch {
	case now.After(c.NotAfter):
		selfSigned := bytes.Equal(c.RawIssuer, c.RawSubject)
		r.Add(ruleServerCertificate, "", d.renew(l, selfSigned), "%s expired on %s", l.Cert,
			c.NotAfter.UTC().Format(time.DateOnly))
		return "expired"
	case now.Before(c.NotBefore):
		r.Add(ruleServerCertificate, "", d.clockHint(), "%s is valid from %s; the clock of this machine says %s", l.Cert,
			c.NotBefore.UTC().Format(time.DateOnly), now.UTC().Format(time.DateOnly))
		return "not valid yet"
	}
	until := c.NotAfter.UTC().Format(time.DateOnly)
	return fmt.Sprintf("of %s, valid until %s", strings.Join(names(c), ", "), until)
}

// renew returns how to renew an expired certificate.
func (d *Doctor) renew(l *Listening, selfSigned bool) string {
	switch {
	case strings.Contains(filepath.ToSlash(l.Cert), "/letsencrypt/"):
		return d.asRoot("sudo certbot renew")
	case selfSigned:
		cert := d.quote(l.Cert)
		return "openssl x509 -in " + cert + " -signkey " + d.quote(l.Key) + " -days 365 -out " + d.quote(l.Cert+".new") +
			" && mv " + d.quote(l.Cert+".new") + " " + cert
	}
	return "request a new certificate from its authority"
}
