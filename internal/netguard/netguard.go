// Package netguard prevents untrusted URLs from reaching the private network of the
// process that follows them. It checks the address of each connection when it is made,
// that is, after name resolution and redirects.
//
// Start with [Guard.Transport].
package netguard

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Guard determines which addresses may be connected to: those on the public internet, and
// those in Allow. The zero value allows only the former.
type Guard struct {
	Allow []netip.Prefix
	// Host is the host of a URL that the user typed, as [url.URL.Hostname] returns it. It
	// may be anywhere; redirects to other hosts are judged. Empty means none.
	Host string
	// Loopback also allows 127.0.0.1 and [::1] if the URL itself names this machine; see
	// [NamesLoopback]. Redirects are judged by their own URL.
	Loopback bool
	// Proxy returns the proxy for a request, or nil for none, as in http.Transport. Nil
	// means the proxy of the environment.
	Proxy func(*http.Request) (*url.URL, error)

	resolver *net.Resolver // for tests; nil is the system's
}

// BlockedError is the error for a refused address.
type BlockedError struct {
	Address netip.Addr // invalid if the dialed value is not an address
	Kind    string     // such as "a private network"
}

// Error implements the error interface.
func (e *BlockedError) Error() string {
	if !e.Address.IsValid() {
		return "the address is refused: it belongs to " + e.Kind
	}
	return fmt.Sprintf("the address %s is refused: it belongs to %s", e.Address, e.Kind)
}

// Judge returns a [*BlockedError] if connecting to an address is not allowed.
func (g *Guard) Judge(addr netip.Addr) error {
	addr = addr.WithZone("").Unmap()
	for _, p := range g.Allow {
		if p.Contains(addr) {
			return nil
		}
	}
	if kind := NotPublic(addr); kind != "" {
		return &BlockedError{
			Address: addr,
			Kind:    kind,
		}
	}
	return nil
}

// Control is a [net.Dialer.Control] function that checks the address of a connection just
// before it is made.
func (g *Guard) Control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return &BlockedError{Kind: "an unknown kind of address"}
	}
	return g.Judge(at.Addr())
}

// Transport returns a transport configured like from that refuses blocked addresses. It
// takes ownership of from and replaces its Proxy and DialContext.
//
// The user chooses the proxy, not the author of the URL, so the proxy may have any
// address. The guard cannot observe the connections of the proxy: an address in the URL
// is checked before the request is sent to the proxy, and names are left to the proxy.
func (g *Guard) Transport(from *http.Transport) http.RoundTripper {
	proxy := g.Proxy
	if proxy == nil {
		proxy = http.ProxyFromEnvironment
	}
	dialer := &net.Dialer{
		Timeout:   15 * time.Second,
		KeepAlive: 30 * time.Second,
		Resolver:  g.resolver,
	}
	direct := from
	proxied := from.Clone()
	proxied.DialContext = dialer.DialContext
	proxied.Proxy = proxy
	guarded := *dialer
	local := *dialer
	guarded.Control = g.Control
	local.Control = (&Guard{Allow: append(g.Allow[:len(g.Allow):len(g.Allow)], itself()...)}).Control
	direct.Proxy = nil
	direct.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(address)
		if err == nil && g.Loopback && isItself(host) {
			return local.DialContext(ctx, network, address)
		}
		return guarded.DialContext(ctx, network, address)
	}
	return &transport{
		guard:   g,
		proxy:   proxy,
		direct:  direct,
		proxied: proxied,
	}
}

// isTyped reports whether a URL is of the host that the user typed.
func (g *Guard) isTyped(u *url.URL) bool {
	return g.Host != "" && strings.EqualFold(u.Hostname(), g.Host)
}

// transport sends requests through the proxy if one applies, or else connects directly.
// proxied also reaches the host that the user typed, with or without a proxy.
type transport struct {
	guard           *Guard
	proxy           func(*http.Request) (*url.URL, error)
	direct, proxied *http.Transport
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.guard.isTyped(r.URL) {
		return t.proxied.RoundTrip(r)
	}
	by, err := t.proxy(r)
	if err != nil {
		return nil, refuse(r, err)
	}
	if by == nil {
		return t.direct.RoundTrip(r)
	}
	if err := t.guard.judgeHost(r.URL.Hostname()); err != nil {
		return nil, refuse(r, err)
	}
	return t.proxied.RoundTrip(r)
}

// refuse returns err after closing the body of the request, as RoundTrip requires.
func refuse(r *http.Request, err error) error {
	if r.Body != nil {
		_ = r.Body.Close() // it is not read
	}
	return err
}

// CloseIdleConnections is called by [http.Client.CloseIdleConnections].
func (t *transport) CloseIdleConnections() {
	t.direct.CloseIdleConnections()
	t.proxied.CloseIdleConnections()
}

// judgeHost checks a host as far as possible without resolving it.
func (g *Guard) judgeHost(host string) error {
	if g.Loopback && isItself(host) {
		return nil
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return g.Judge(addr)
	}
	if name := strings.ToLower(strings.TrimSuffix(host, ".")); name == "localhost" ||
		strings.HasSuffix(name, ".localhost") {
		return g.Judge(netip.AddrFrom4([4]byte{127, 0, 0, 1}))
	}
	return nil
}

// Loopback returns the loopback addresses of this machine.
func Loopback() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
}

// NamesLoopback reports whether the host of a URL is localhost, 127.0.0.1 or [::1]. Other
// addresses of this machine, other spellings of these, and names that resolve to them do
// not count: it decides which names may reach this machine, where [IsLoopbackHost] decides
// whether a secret stays on it.
func NamesLoopback(address string) bool {
	u, err := url.Parse(address)
	return err == nil && isItself(u.Hostname())
}

// IsLoopbackHost reports whether a host, without port and brackets, is localhost or a loopback
// address in any spelling, where plain HTTP is safe. Names that resolve to one do not count.
func IsLoopbackHost(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
}

// privateDomains are top-level domains of this machine (RFC 6761) and of private networks.
var privateDomains = []string{"localhost", "local", "internal", "lan", "intranet"}

// IsPrivateHost reports whether a host, without port and brackets, is an address or a name of this
// machine or of a private network, such as 10.0.0.1, nas.local or a name without a dot. Other names
// that resolve to such an address do not count.
func IsPrivateHost(host string) bool {
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	if addr, err := netip.ParseAddr(name); err == nil {
		addr = addr.Unmap()
		return addr.IsLoopback() || addr.IsPrivate() || addr.IsLinkLocalUnicast() || addr.IsUnspecified()
	}
	top := name[strings.LastIndexByte(name, '.')+1:]
	return top == name || slices.Contains(privateDomains, top) || strings.HasSuffix(name, ".home.arpa")
}

// isItself reports whether a host is one of these names of this machine.
func isItself(host string) bool {
	return strings.EqualFold(host, "localhost") || host == "127.0.0.1" || host == "::1"
}

// itself returns the addresses of those names.
func itself() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("::1/128")}
}

// ParseNetwork returns the networks for a word: "private" for private networks
// (10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, fc00::/7), "loopback" for this machine,
// "any" for all addresses, a network such as 10.1.0.0/16, or one address.
func ParseNetwork(word string) ([]netip.Prefix, error) {
	switch word {
	case "private":
		return []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12"),
			netip.MustParsePrefix("192.168.0.0/16"), netip.MustParsePrefix("fc00::/7")}, nil
	case "loopback":
		return Loopback(), nil
	case "any":
		return []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}, nil
	}
	if addr, err := netip.ParseAddr(word); err == nil {
		addr = addr.WithZone("").Unmap()
		return []netip.Prefix{netip.PrefixFrom(addr, addr.BitLen())}, nil
	}
	p, err := netip.ParsePrefix(word)
	if err != nil {
		return nil, fmt.Errorf("%q is not a network: "+
			"want one such as 10.1.0.0/16, an address, private, loopback or any", word)
	}
	if p.Addr().Is4In6() {
		if p.Bits() < 96 {
			return nil, fmt.Errorf("%q mixes IPv4 and IPv6", word)
		}
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return []netip.Prefix{p.Masked()}, nil
}
