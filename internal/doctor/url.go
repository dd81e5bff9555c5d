package doctor

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/internal/neterror"
	"github.com/slipway-mcp/slipway/internal/netguard"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/tap"
)

// clockSkew is the difference of clocks that is reported: tokens become invalid too early
// or are not valid yet.
const clockSkew = 2 * time.Minute

// URL checks the server at an http or https URL in steps: resolving the name, connecting,
// TLS, the handshake, and the clock. about names it without secrets. A site at the URL is
// recognized.
func (d *Doctor) URL(ctx context.Context, about, address string) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		d.Add(about, "URL", func(r check.Reporter) string {
			r.Add(ruleURL, "", "slipway doctor https://HOST/mcp", "not an http or https URL with a host")
			return ""
		})
		return
	}
	if proxy, err := http.ProxyFromEnvironment(&http.Request{URL: u}); err == nil && proxy != nil {
		d.Add(about, "proxy", func(r check.Reporter) string {
			r.Add(ruleProxy, "", d.assign("NO_PROXY", u.Hostname()), "requests go through the proxy %s",
				proxy.Host)
			return proxy.Host
		})
	}
	a := &attempt{
		d:     d,
		typed: d.quote(about),
		url:   u,
	}
	a.try(ctx, d.opener("live:"+address))
	if !a.recordSteps(about) {
		return
	}
	if site := d.site(ctx, a, address); site != nil {
		d.Add(about, "site", func(check.Reporter) string {
			return "StaticMCP site " + site.offers
		})
		return
	}
	a.found = d.otherPath(ctx, a)
	d.record(a.check(about, "handshake"))
	a.recordClock(about)
}

// usualPaths are where servers answer, relative to the host and to the typed path.
var usualPaths = []string{"/mcp", "/sse", "/api/mcp", "/v1/mcp", "/"}

// otherPath looks for a server at the usual paths of a host that answers a request with
// 404, 405 or a web page. It returns its URL without secrets, or "".
func (d *Doctor) otherPath(ctx context.Context, a *attempt) string {
	var status *client.StatusError
	isStatus := errors.As(a.err, &status) &&
		(status.Status == http.StatusNotFound || status.Status == http.StatusMethodNotAllowed)
	if a.err == nil || !isStatus && !a.webPage() {
		return ""
	}
	const patience = 3 * time.Second
	quick := &Doctor{opts: d.opts}
	quick.opts.Timeout = min(patience, d.opts.Timeout)
	tried := map[string]bool{a.url.Path: true}
	protected := ""
	for _, base := range []string{"", strings.TrimSuffix(a.url.Path, "/")} {
		for _, path := range usualPaths {
			if path = base + path; tried[path] {
				continue
			}
			tried[path] = true
			other := *a.url
			other.Path = path
			other.RawPath = ""
			try := &attempt{d: quick}
			try.try(ctx, d.opener("live:"+other.String()))
			shown := other.Scheme + "://" + other.Host + other.EscapedPath()
			switch {
			case try.err == nil:
				return shown
			case errors.As(try.err, &status) && status.Refused() && protected == "":
				protected = shown
			}
		}
	}
	return protected
}

// opener opens a source by its argument.
func (d *Doctor) opener(source string) func(context.Context, *client.Options) (mcp.Source, error) {
	return func(ctx context.Context, opts *client.Options) (mcp.Source, error) {
		return d.opts.Open(ctx, source, opts)
	}
}

// site opens the URL of a host that does not speak the protocol as a site. It returns nil if
// it is none.
func (d *Doctor) site(ctx context.Context, a *attempt, address string) *attempt {
	var status *client.StatusError
	answered := errors.As(a.err, &status) && !status.Refused() || a.webPage()
	if a.err == nil || !answered {
		return nil
	}
	site := &attempt{d: d}
	if site.try(ctx, d.opener("site:"+address)); site.err != nil {
		return nil
	}
	return site
}

// recordSteps records a check for each step below HTTP, and reports whether the host
// answered.
func (a *attempt) recordSteps(about string) (ok bool) {
	for _, name := range []string{"resolve", "connect", "tls"} {
		step := a.step(name)
		if step == nil {
			continue
		}
		if !a.d.Add(about, name, func(r check.Reporter) string {
			if step.Err == nil {
				return fmt.Sprintf("%s, in %s", step.Detail, step.Took.Round(10*time.Microsecond))
			}
			if !a.reportNetwork(r) {
				a.reportStep(r, step)
			}
			return "failed after " + step.Took.Round(10*time.Microsecond).String()
		}) {
			return false
		}
	}
	return true
}

// reportStep reports a step that failed for another reason than those of reportNetwork.
func (a *attempt) reportStep(r check.Reporter, step *tap.Event) {
	if step.Name == "tls" {
		r.Add(ruleTLS, "", "update the TLS settings of the server: clients need TLS 1.2 or later", "%v", step.Err)
		return
	}
	r.Add(ruleConnect, "", "check the network of this machine", "%v", step.Err)
}

// step returns a step of the first connection: the first that succeeded, or else failed.
func (a *attempt) step(name string) *tap.Event {
	var found *tap.Event
	for i := range a.steps {
		s := &a.steps[i]
		if s.Name == name && (found == nil || found.Err != nil && s.Err == nil) {
			found = s
		}
	}
	return found
}

// reportNetwork reports why a host could not be reached. It returns false if it was.
func (a *attempt) reportNetwork(r check.Reporter) bool {
	var name *net.DNSError
	var op *net.OpError
	err := a.err
	is := a.server.is()
	switch {
	case errors.As(err, &name):
		r.Add(ruleDNS, "", "check the spelling of "+name.Name+", and the network: ping "+name.Name,
			"%sthe name %s does not resolve: %s", is, name.Name, name.Err)
	case a.reportTLS(r):
	case errors.As(err, &op) && op.Op == "proxyconnect":
		r.Add(ruleConnect, "", "correct the proxy in HTTP_PROXY or HTTPS_PROXY; NO_PROXY lists hosts to reach without it",
			"%sthe proxy does not answer: %v", is, op.Err)
	case neterror.IsRefused(err):
		r.Add(ruleConnect, "", a.refusedHint(),
			"%s%s refuses connections: no program listens on the port", is, a.remote())
	case errors.As(err, &op) && op.Op == "dial":
		r.Add(ruleConnect, "", "check the port and the firewalls, and whether the host needs a VPN", "%s%v", is, op)
	default:
		return false
	}
	return true
}

// refusedHint returns how to get an answer at an address that refuses connections.
func (a *attempt) refusedHint() string {
	if a.url != nil &&
		netguard.IsLoopbackHost(a.url.Hostname()) &&
		a.url.Port() != "" {
		return "slipway serve SOURCE --addr " + a.url.Host
	}
	return "start the server, or correct the port of the URL"
}

// plainHint returns how to reach a port that does not speak TLS.
func (a *attempt) plainHint() string {
	if a.url == nil {
		return a.edit
	}
	return "slipway doctor " + a.d.quote("http://"+a.url.Host+a.url.EscapedPath())
}

// namedHint returns how to reach a host by a name of its certificate.
func (a *attempt) namedHint(c *x509.Certificate) string {
	for _, name := range names(c) {
		if a.url == nil || strings.ContainsAny(name, "* ") {
			continue
		}
		host := name
		if port := a.url.Port(); port != "" {
			host = net.JoinHostPort(name, port)
		}
		return "slipway doctor " + a.d.quote("https://"+host+a.url.EscapedPath())
	}
	return cmp.Or(a.edit, "use a name of the certificate in the URL")
}

// remote returns the address that was connected to.
func (a *attempt) remote() string {
	var op *net.OpError
	if errors.As(a.err, &op) && op.Addr != nil {
		return op.Addr.String()
	}
	return "the host"
}

// reportTLS reports why a TLS connection failed. It returns false for other errors.
func (a *attempt) reportTLS(r check.Reporter) bool {
	var invalid x509.CertificateInvalidError
	var host x509.HostnameError
	var authority x509.UnknownAuthorityError
	var verification *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	err := a.err
	is := a.server.is()
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		a.reportExpired(r, invalid.Cert)
	case errors.As(err, &host):
		r.Add(ruleWrongHost, "", a.namedHint(host.Certificate), "%sthe certificate is for %s, not for %s", is,
			strings.Join(names(host.Certificate), ", "), host.Host)
	case errors.As(err, &authority):
		what := "its authority is not trusted on this machine"
		c := authority.Cert
		if c != nil && bytes.Equal(c.RawIssuer, c.RawSubject) {
			what = "it is self-signed"
		}
		r.Add(ruleAuthority, "", a.trustHint(),
			"%sthe certificate is not valid: %s; trust ca.pem only if it is of the server", is, what)
	case errors.As(err, &verification):
		r.Add(ruleTLS, "", "replace the certificate of the server", "%s%v", is, verification.Err)
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &record):
		r.Add(ruleTLS, "", a.plainHint(), "%sthe port does not speak TLS", is)
	default:
		return false
	}
	return true
}

// reportExpired reports a certificate that is not valid now, or a wrong clock.
func (a *attempt) reportExpired(r check.Reporter, c *x509.Certificate) {
	now := time.Now().UTC()
	is := a.server.is()
	day := func(t time.Time) string { return t.UTC().Format(time.DateOnly) }
	if now.Before(c.NotBefore) {
		r.Add(ruleExpired, "", a.d.clockHint(), "%sthe certificate is valid from %s; the clock of this machine says %s", is,
			day(c.NotBefore), day(now))
		return
	}
	r.Add(ruleExpired, "", "renew the certificate of the server; if the date is wrong: "+a.d.clockHint(),
		"%sthe certificate expired on %s; the clock of this machine says %s", is, day(c.NotAfter), day(now))
}

// names returns the hosts of a certificate.
func names(c *x509.Certificate) []string {
	all := c.DNSNames
	for _, ip := range c.IPAddresses {
		all = append(all, ip.String())
	}
	if len(all) == 0 {
		return []string{"no host"}
	}
	return all
}

// trustHint returns the command that trusts the certificate that the server presents.
func (a *attempt) trustHint() string {
	d := a.d
	switch d.opts.Place.OS {
	case "darwin":
		return a.fetchHint() + "security add-trusted-cert -k ~/Library/Keychains/login.keychain-db ca.pem"
	case "windows":
		return a.fetchHint() + "certutil -user -addstore Root ca.pem"
	}
	return a.fetchHint() + `export SSL_CERT_FILE="$PWD/ca.pem" NODE_EXTRA_CA_CERTS="$PWD/ca.pem"`
}

// fetchHint returns the beginning of a command: it writes the first certificate that the
// server presents to ca.pem.
func (a *attempt) fetchHint() string {
	host := a.remote()
	if a.url != nil {
		host = net.JoinHostPort(a.url.Hostname(), cmp.Or(a.url.Port(), "443"))
	}
	if a.d.opts.Place.OS == "windows" {
		return "openssl s_client -connect " + host + " <NUL | openssl x509 -out ca.pem && "
	}
	return "openssl s_client -connect " + host + " </dev/null | openssl x509 -out ca.pem && "
}

// clockHint returns how to set the clock.
func (d *Doctor) clockHint() string {
	switch d.opts.Place.OS {
	case "darwin":
		return "sudo sntp -sS time.apple.com"
	case "windows":
		return "w32tm /resync"
	}
	return "sudo timedatectl set-ntp true"
}

// recordClock compares the clock with the Date of the first response.
func (a *attempt) recordClock(about string) {
	for i := range a.heads {
		date, err := http.ParseTime(a.heads[i].Header.Get("Date"))
		if err != nil {
			continue
		}
		a.d.Add(about, "clock", func(r check.Reporter) string {
			difference := a.received.Sub(date)
			if difference.Abs() < clockSkew {
				return "agrees with the server"
			}
			word := "ahead of"
			if difference < 0 {
				word = "behind"
			}
			difference = difference.Round(time.Minute)
			r.Add(ruleClock, "", a.d.clockHint(),
				"the clock of this machine is %s %s that of the server, so tokens may be rejected", difference.Abs(), word)
			return fmt.Sprintf("%s %s the server", difference.Abs(), word)
		})
		return
	}
}
